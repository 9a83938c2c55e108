"""From command-line overrides to a validated run: Hydra composes values, everything else is checked
here.

Hydra (1.3, composition and overrides only) merges the YAML of the chosen datasets, filters,
methods, negatives and tasks; component names are looked up in our registries, never by `_target_`.
All errors of a command are found at once, each with what exists and what was probably meant.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from gclbench.component.components import Components
from gclbench.component.registry import (
    DATASETS,
    FILTERS,
    KINDS,
    LAUNCHERS,
    METHODS,
    NEGATIVES,
    TASKS,
    UnknownName,
)
from gclbench.component.settings import bind, identity_of
from gclbench.config.composition import composed, has_yaml, offer
from gclbench.config.suggestion import GROUPS, unknown_key
from gclbench.tracking import chosen

OF_THE_COMMAND = ("runs_dir", "rerun", "launcher", "tracking")
"""Keys that a sweep has one value of."""

NO_PART_OF_A_RUN = (
    "seeds",
    "task",
    "runs_dir",
    "rerun",
    "device",
    "time_limit",
    "memory_limit",
    "checkpoint_every",
    "launcher",
    "tracking",
)
"""Keys that the command which repeats a run leaves out."""

RERUN = ("never", "failed", "all")
REMOVALS = {
    "filter": "filter=none applies no filter",
    "task": "task=[NAME,NAME] names the tasks to run",
}
"""What to write instead of `~KEY`."""


class ConfigErrors(ValueError):
    """Everything that is wrong with a command.

    Attributes:
        errors: one sentence each.
    """

    def __init__(self, errors: list[str]):
        super().__init__("\n".join(errors))
        self.errors = errors


@dataclass(frozen=True)
class Experiment:
    """One validated command without sweeps: components with their settings, seeds, and where things
    go.

    Attributes:
        settings: per kind (`dataset`, `filter`, `method`, `negatives`) `{"name": …, setting:
            value}`; per task name under `tasks` likewise.
        components: an instance of each, bound to its settings.
        device: `cpu`, `cuda`, …; as asked for where the launcher takes runs elsewhere.
        time_limit: seconds. memory_limit: GiB. checkpoint_every: seconds. None of them: no limit,
            no checkpoint.
        launcher: an instance; launcher_name: its name.
        tracking: name of a tracker, or None.
        overrides: the command's overrides without `NO_PART_OF_A_RUN`, to repeat it.
        tasks_chosen: whether the command named its tasks (else those that make sense for the method
            are run).
    """

    settings: dict[str, Any]
    components: Components
    seeds: tuple[int, ...]
    device: str
    runs_dir: str
    rerun: str
    time_limit: float | None
    overrides: tuple[str, ...]
    tasks_chosen: bool = field(default=False)
    memory_limit: float | None = None
    checkpoint_every: float | None = None
    launcher: Any = None
    launcher_name: str = "local"
    tracking: str | None = None


def load(overrides: list[str]) -> Experiment:
    """Composes and validates one command.

    Raises:
        ConfigErrors: with every error found.
    """
    errors: list[str] = []
    parsed = _parse(overrides, errors)
    values, settings = _compose(parsed, errors)
    if errors and not settings:
        # Only typed settings could be wrong besides, and checking takes the components and with
        # them torch, which takes seconds.
        raise ConfigErrors(errors)
    return _validate(values, parsed, errors)


def sweep(overrides: list[str]) -> list[list[str]]:
    """The commands that `-m` stands for: `a=1,2 b=x,y` becomes four, the last key changing fastest.

    Raises:
        ConfigErrors: when an override cannot be read.
    """
    errors: list[str] = []
    choices: list[list[str]] = []
    for override in _parse(overrides, errors, allow_sweeps=True):
        if not override.is_sweep_override():
            choices.append([str(override.input_line)])
            continue
        if override.key_or_group.partition(".")[0] in OF_THE_COMMAND:
            errors.append(
                f"'{override.input_line}' names several values, and a sweep has one"
                f" {override.key_or_group}"
            )
            continue
        try:
            choices.append([f"{override.get_key_element()}={value}" for value in _swept(override)])
        except HydraException as error:
            errors.append(
                f"'{override.input_line}' cannot be swept: {error}; write the values out, as in"
                " KEY=A,B"
            )
            continue
        if not choices[-1]:
            errors.append(
                f"'{override.input_line}' stands for no value at all, so there is nothing to run"
            )
    if errors:
        raise ConfigErrors(errors)
    return [list(combination) for combination in itertools.product(*choices)]


def _swept(override: Override) -> list[str]:
    """The values of a sweep, `dataset=glob(co*)` included."""
    pattern = override.value()
    if isinstance(pattern, Glob) and override.key_or_group in KINDS:
        return pattern.filter(KINDS[override.key_or_group].names())
    return list(override.sweep_string_iterator())


def resolved(overrides: list[str]) -> dict[str, Any]:
    """The composed configuration as plain values, for `gclbench show`.

    Raises:
        ConfigErrors: when it cannot be composed; only `load` checks the values.
    """
    errors: list[str] = []
    values, _ = _compose(_parse(overrides, errors), errors)
    if errors:
        raise ConfigErrors(errors)
    return values


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> Override:
    """One override; a sweep repeats most of them in every command.

    Raises:
        HydraException: when it cannot be read.
    """
    return OverridesParser.create().parse_override(text)


def _parse(overrides: list[str], errors: list[str], allow_sweeps: bool = False) -> list[Override]:
    """The overrides that can be read; notes text that is no override, removals, sweeps where none
    are allowed, keys set twice."""
    parsed: list[Override] = []
    seen: dict[str, str] = {}
    for text in overrides:
        try:
            override = _parsed(text)
        except HydraException as error:
            first = str(error).partition("\n")[0]
            hint = (
                "quote brackets, commas and quotes that belong to a value"
                if "=" in text
                else "overrides are KEY=VALUE"
            )
            errors.append(f"cannot read '{text}': {first}; {hint} (`gclbench --help` has examples)")
            continue
        if not override.key_or_group:
            errors.append(
                f"'{text}' names no key; overrides are KEY=VALUE (`gclbench --help` has examples)"
            )
            continue
        if override.is_delete():
            advice = REMOVALS.get(override.key_or_group, "KEY=VALUE sets another value")
            errors.append(f"'{text}' removes a setting, and every run needs all of them; {advice}")
            continue
        if override.is_sweep_override() and not allow_sweeps:
            errors.append(_not_swept(override))
            continue
        before = seen.setdefault(override.key_or_group, text)
        if before != text:
            errors.append(
                f"'{override.key_or_group}' is set twice, by '{before}' and '{text}'; leave one of"
                " them out"
            )
            continue
        parsed.append(override)
    return parsed


def _not_swept(override: Override) -> str:
    """What to write instead of several values where there is no sweep."""
    text, key = str(override.input_line), override.key_or_group
    if key.partition(".")[0] in OF_THE_COMMAND:
        return f"'{text}' names several values, and a command has one {key}"
    if key == "seeds":
        # Swept, each number would be a count: seeds=1,2 is seed 0, and seeds 0 and 1.
        return (
            f"'{text}' names several values; seeds of one command are a list:"
            f" seeds=[{text.partition('=')[2]}]"
        )
    return (
        f"'{text}' names several values; run a sweep with -m: gclbench -m {text}. A list is written"
        " [a,b]."
    )


def _compose(parsed: list[Override], errors: list[str]) -> tuple[dict[str, Any], list[Override]]:
    """The values of those overrides that are right, and which of these are settings; notes what is
    wrong with the others.

    Raises:
        ConfigErrors: with all errors so far, when nothing can be composed.
    """
    wrong: set[str] = set()
    chosen: list[Override] = []
    for override in parsed:
        kind = override.key_or_group
        if kind in GROUPS:
            found = _name_errors(override)
            errors += found
            wrong |= {kind} if found else set()
            chosen += [] if found else [override]
    if "method" in wrong:
        # The method chooses these, so nothing can be said about their settings.
        wrong |= {"filter", "negatives"}
    values = _composed(chosen, [], errors)
    known = _flat(values)
    kept: list[Override] = []
    for override in parsed:
        key = override.key_or_group
        kind = key.partition(".")[0]
        if key in GROUPS or ("." in key and kind in wrong):
            continue
        if kind in GROUPS and key == f"{kind}.name":
            errors.append(f"'{key}' cannot be set; choose a {kind} with {kind}=NAME")
        elif key in known:
            kept.append(override)
        else:
            errors.append(unknown_key(key, known))
    return _composed(chosen, kept, errors) if kept else values, kept


def _composed(
    chosen: list[Override], settings: list[Override], errors: list[str]
) -> dict[str, Any]:
    try:
        return composed(chosen, settings)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigErrors([*errors, " ".join(str(error).split())]) from error


def _name_errors(override: Override) -> list[str]:
    """What is wrong with a choice such as `method=NAME`; a component without a YAML of its own gets
    its class's defaults."""
    kind, value = override.key_or_group, override.value()
    known = f"Known: {', '.join(GROUPS[kind].names())}"
    if isinstance(value, list) and kind != "task":
        return [
            f"'{override.input_line}' names several; a run has one {kind}. To run each: gclbench -m"
            f" {kind}={','.join(map(str, value))}"
        ]
    names = [
        name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str)
    ]
    if not names or (isinstance(value, list) and len(names) < len(value)):
        return [f"'{override.input_line}' does not name a {kind}. {known}"]
    errors = []
    for name in names:
        try:
            entry = GROUPS[kind].check(name)
            if not entry.builtin or not has_yaml(kind, name):
                offer(kind, name, GROUPS[kind].load(name))
        except UnknownName as error:
            errors.append(str(error))
        except (
            Exception
        ) as error:  # whatever the code of another package raises while it is imported
            errors.append(
                f"{kind} '{name}' of {entry.origin} cannot be loaded: {type(error).__name__}:"
                f" {error}"
            )
    return errors


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict) and value:
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _validate(values: dict[str, Any], parsed: list[Override], errors: list[str]) -> Experiment:
    settings: dict[str, Any] = {}
    instances: dict[str, Any] = {}
    for kind, registry in (
        ("dataset", DATASETS),
        ("filter", FILTERS),
        ("method", METHODS),
        ("negatives", NEGATIVES),
    ):
        given = dict(values[kind])
        name = str(given.pop("name"))
        instances[kind] = bind(registry.load(name), given, kind, errors)
        settings[kind] = _settings(name, instances[kind])
    settings["tasks"], tasks = {}, {}
    for name, given in values["task"].items():
        tasks[name] = bind(TASKS.load(name), dict(given or {}), f"task.{name}", errors)
        settings["tasks"][name] = _settings(name, tasks[name])
    seeds = _seeds(values["seeds"], errors)
    if values["rerun"] not in RERUN:
        errors.append(f"rerun={values['rerun']} must be one of {', '.join(RERUN)}")
    limits = {
        key: _limit(key, values[key], unit, errors)
        for key, unit in (
            ("time_limit", "seconds"),
            ("memory_limit", "GiB"),
            ("checkpoint_every", "seconds"),
        )
    }
    where = dict(values["launcher"])
    launcher_name = str(where.pop("name"))
    launcher = bind(LAUNCHERS.load(launcher_name), where, "launcher", errors)
    device = find_device(str(values["device"]), errors, here=not getattr(launcher, "remote", False))
    tracking = chosen(values["tracking"], errors, here=not getattr(launcher, "remote", False))
    if not values["runs_dir"]:
        errors.append("runs_dir must name a folder, for example runs_dir=runs")
    if errors:
        raise ConfigErrors(errors)
    repeat = tuple(
        str(override.input_line)
        for override in parsed
        if override.key_or_group.partition(".")[0] not in NO_PART_OF_A_RUN
        or override.key_or_group.startswith("task.")
    )
    return Experiment(
        settings=settings,
        components=Components(**instances, tasks=tasks),
        seeds=seeds,
        device=device,
        runs_dir=str(values["runs_dir"]),
        rerun=str(values["rerun"]),
        overrides=repeat,
        tasks_chosen=any(override.key_or_group == "task" for override in parsed),
        launcher=launcher,
        launcher_name=launcher_name,
        tracking=tracking,
        **limits,
    )


def _limit(key: str, value: Any, unit: str, errors: list[str]) -> float | None:
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0
    ):
        errors.append(f"{key}={value} must be a positive number of {unit}, or null")
        return None
    return None if value is None else float(value)


def _settings(name: str, component: Any) -> dict[str, Any]:
    """A component's part of a run's identity: values as bound, so that `tau=1` and `tau=1.0` are
    one run."""
    # Two tasks that differ by a setting alone are recorded under one name, so that either is the
    # other's run.
    name = getattr(component, "recorded_as", name)
    return {"name": name} if component is None else {"name": name, **identity_of(component)}


def _seeds(value: Any, errors: list[str]) -> tuple[int, ...]:
    """`10` is 0…9, `[3,7]` those two."""
    whole = [
        item
        for item in (value if isinstance(value, list) else [value])
        if isinstance(item, int) and not isinstance(item, bool)
    ]
    if isinstance(value, list):
        if not value or len(whole) != len(value) or min(whole) < 0 or len(set(whole)) != len(whole):
            errors.append(
                f"seeds={value} must be different whole numbers from 0, for example seeds=[3,7]"
            )
            return ()
        return tuple(whole)
    if not whole or whole[0] < 1:
        errors.append(
            f"seeds={value} must be a number of seeds, at least 1 (seeds=10 runs seeds 0 to 9), or"
            " a list: seeds=[3,7]"
        )
        return ()
    return tuple(range(whole[0]))


def find_device(value: str, errors: list[str], here: bool = True) -> str:
    """The device that `auto`, `cpu`, `cuda` or `cuda:1` stands for on this machine; notes what is
    wrong with it.

    Args:
        here: False where another machine will look it up: only its spelling is checked then.
    """
    kind, _, index = value.partition(":")
    if value != "auto" and (kind not in ("cpu", "cuda") or (index and not index.isdigit())):
        errors.append(f"device={value} must be auto, cpu, cuda or cuda:0, cuda:1, …")
        return value
    if not here or kind == "cpu":
        return value
    import torch

    if value == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if not torch.cuda.is_available():
        errors.append(
            f"device={value}: no GPU is visible to torch; device=auto falls back to the CPU"
        )
    elif index and int(index) >= torch.cuda.device_count():
        errors.append(
            f"device={value}: there are {torch.cuda.device_count()} GPUs, numbered from 0"
        )
    return value
