"""From a command's overrides to a validated run.

The values that the overrides stand for are checked here and become components, which are looked up
by name in our registries. All errors of a command are found at once, each with what exists and what
was probably meant.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gclbench.component.components import Components
from gclbench.component.declared import declared
from gclbench.component.registry import (
    DATASETS,
    FILTERS,
    GROUPS,
    LAUNCHERS,
    METHODS,
    NEGATIVES,
    TASKS,
    Registry,
    nearest,
)
from gclbench.component.settings import bind, identity_of
from gclbench.config.overrides import ConfigErrors, parse
from gclbench.config.seeds import seeds_of
from gclbench.config.spelling import in_python
from gclbench.config.values import values_of_command
from gclbench.machine.paths import expanded
from gclbench.machine.precision import PRECISIONS
from gclbench.records import NAMED_BY_USER
from gclbench.tasks.criteria import LARGER_IS_BETTER
from gclbench.tracking import chosen

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

    from gclbench.config.plain_override import PlainOverride

NO_PART_OF_A_RUN = (
    "seeds",
    "task",
    "runs_dir",
    "rerun",
    "device",
    "threads",
    "precision",
    "time_limit",
    "memory_limit",
    "checkpoint_every",
    "launcher",
    "tracking",
    "save",
    "criterion",
)
"""Keys that the command which repeats a run leaves out."""

LARGEST_LIMIT = 10**9
"""Of a run, in seconds or GiB. A clock takes no time that is very much larger, a record no
infinity."""

MOST_THREADS = 1024
"""OpenMP ends the process where it cannot start as many threads as it is asked for."""

RERUN = ("never", "failed", "incomplete", "all")

SAVED = ("embedding", "model")
"""What a run may leave beside its record."""


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
        threads: to compute with; None is `threads=auto`. precision: as asked for.
        launcher: an instance; launcher_name: its name.
        tracking: name of a tracker, or None.
        save: what runs leave beside their records, of `SAVED`. criterion: a number that they record
            for a search, or None.
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
    threads: int | None = None
    precision: str = "auto"
    launcher: Any = None
    launcher_name: str = "local"
    tracking: str | None = None
    save: tuple[str, ...] = ()
    criterion: str | None = None


def experiment_of(overrides: list[str]) -> Experiment:
    """Composes and validates one command.

    Raises:
        ConfigErrors: with every error found.
    """
    errors: list[str] = []
    parsed = parse(overrides, errors)
    values, any_settings = values_of_command(parsed, errors)
    plain = _without_components(values, errors)
    if errors and not any_settings and not _must_be_given(values):
        # No setting of a component was typed that could be wrong, too. Whether the device is there
        # is not told yet: to find out takes torch, which takes seconds.
        raise ConfigErrors(errors)
    return _validate(values, plain, parsed, errors)


@contextlib.contextmanager
def told_in_python() -> Iterator[None]:
    """Errors of the block are worded for who calls a function."""
    try:
        yield
    except ConfigErrors as error:
        raise ConfigErrors([in_python(text) for text in error.errors]) from None


def resolved(overrides: list[str]) -> dict[str, Any]:
    """The composed configuration as plain values.

    Raises:
        ConfigErrors: when it cannot be composed; only `experiment_of` and `checked` check values.
    """
    errors: list[str] = []
    values, _ = values_of_command(parse(overrides, errors), errors)
    if errors:
        raise ConfigErrors(errors)
    return values


def checked(overrides: list[str]) -> dict[str, Any]:
    """`resolved`, and every value fits, for `gclbench show`.

    Where no setting is typed and none must be, all values are those of our files, which fit their
    components. Only others are checked, for that takes torch.

    Raises:
        ConfigErrors: with every error found.
    """
    errors: list[str] = []
    values, any_settings = values_of_command(parse(overrides, errors), errors)
    _without_components(values, errors)
    if errors or any_settings or _must_be_given(values):
        experiment_of(overrides)
    return values


def _must_be_given(values: dict[str, Any]) -> bool:
    """Whether a component has settings without a value of their own."""
    names = {kind: values[kind]["name"] for kind in GROUPS if kind != "task"}
    return any(declared(GROUPS[kind], name).required for kind, name in names.items())


def _without_components(values: dict[str, Any], errors: list[str]) -> dict[str, Any]:
    """Of an experiment's attributes those that no component has a part in, and checks of the
    spelling of others."""
    limits = {
        key: _limit(key, values[key], unit, errors)
        for key, unit in (
            ("time_limit", "seconds"),
            ("memory_limit", "GiB"),
            ("checkpoint_every", "seconds"),
        )
    }
    found = {
        "seeds": seeds_of(values["seeds"], errors),
        "runs_dir": expanded(str(values["runs_dir"])),
        "rerun": str(values["rerun"]),
        "save": _saved(values["save"], errors),
        "criterion": _criterion(values["criterion"], errors),
        "threads": _threads(values["threads"], errors),
        "precision": str(values["precision"]),
        **limits,
    }
    if found["rerun"] not in RERUN:
        errors.append(f"rerun={found['rerun']} must be one of {', '.join(RERUN)}")
    if found["precision"] not in PRECISIONS:
        errors.append(f"precision={found['precision']} must be one of {', '.join(PRECISIONS)}")
    if not values["runs_dir"]:
        errors.append("runs_dir must name a folder, for example runs_dir=runs")
    # Their spelling; whether they are there is for the machine that will use them.
    find_device(str(values["device"]), errors, here=False)
    chosen(values["tracking"], errors, here=False)
    return found


def _validate(
    values: dict[str, Any],
    plain: dict[str, Any],
    parsed: list[Override | PlainOverride],
    errors: list[str],
) -> Experiment:
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
        settings[kind] = _settings(registry, name, instances[kind])
    settings["tasks"], tasks = {}, {}
    for name, given in values["task"].items():
        tasks[name] = bind(TASKS.load(name), dict(given or {}), f"task.{name}", errors)
        settings["tasks"][name] = _settings(TASKS, name, tasks[name])
    where = dict(values["launcher"])
    launcher_name = str(where.pop("name"))
    launcher = bind(LAUNCHERS.load(launcher_name), where, "launcher", errors)
    here, again = not getattr(launcher, "remote", False), list[str]()
    device = find_device(str(values["device"]), again, here=here)
    tracking = chosen(values["tracking"], again, here=here)
    errors += [text for text in again if text not in errors]
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
        device=device,
        overrides=repeat,
        tasks_chosen=any(override.key_or_group == "task" for override in parsed),
        launcher=launcher,
        launcher_name=launcher_name,
        tracking=tracking,
        **plain,
    )


def _limit(key: str, value: Any, unit: str, errors: list[str]) -> float | None:
    if value is not None and (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not 0 < value <= LARGEST_LIMIT
    ):
        errors.append(
            f"{key}={value} must be a positive number of {unit}, {LARGEST_LIMIT:,} at most, or null"
        )
        return None
    return None if value is None else float(value)


def _saved(value: Any, errors: list[str]) -> tuple[str, ...]:
    """`embedding` or `[embedding,model]`, each once."""
    named = value if isinstance(value, list) else [value]
    if not all(isinstance(name, str) and name in SAVED for name in named):
        errors.append(
            f"save={value} must be a list of {', '.join(SAVED)}, for example save=[embedding]"
        )
        return ()
    return tuple(dict.fromkeys(named))


def _criterion(value: Any, errors: list[str]) -> str | None:
    if value is not None and not (isinstance(value, str) and value in LARGER_IS_BETTER):
        guess = nearest(str(value), list(LARGER_IS_BETTER))
        hint = f" Did you mean '{guess}'?" if guess else ""
        errors.append(
            f"criterion={value} must be null or one of {', '.join(LARGER_IS_BETTER)}.{hint}"
        )
        return None
    return value


def _threads(value: Any, errors: list[str]) -> int | None:
    """The number of threads; None for `auto`."""
    if value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_THREADS:
        errors.append(f"threads={value} must be auto, or a whole number from 1 to {MOST_THREADS}")
        return None
    return value


def _settings(registry: Registry, name: str, component: Any) -> dict[str, Any]:
    """A component's part of a run's identity.

    Values are as bound, so that `tau=1` and `tau=1.0` are one run.
    """
    # `recorded_as`: two tasks that differ by one setting share a name in records, so that a run of
    # one is found as a run of the other; a user's own graph has the name that the user gave it.
    recorded = getattr(component, "recorded_as", name)
    settings = {"name": recorded, **({} if component is None else identity_of(component))}
    if registry is DATASETS and recorded != name:
        settings[NAMED_BY_USER] = name
    return settings


def find_device(value: str, errors: list[str], here: bool = True) -> str:
    """The device that `auto`, `cpu`, `cuda` or `cuda:1` stands for on this machine; notes what is
    wrong with it.

    Args:
        here: False where another machine will look it up: only its spelling is checked then.
    """
    kind, _, index = value.partition(":")
    if not re.fullmatch("auto|cpu|cuda(:[0-9]{1,4})?", value):
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
