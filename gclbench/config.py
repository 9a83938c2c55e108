"""From command-line overrides to a validated run: Hydra composes values, everything else is checked here.

Hydra (1.3, composition and overrides only) merges the YAML of the chosen datasets, filters, methods, negatives
and tasks; component names are looked up in our registries, never by `_target_`. All errors of a command are
found at once, each with what exists and what was probably meant.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hydra import compose, initialize_config_module
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from gclbench.hyperparameters import bind, defaults
from gclbench.registry import DATASETS, FILTERS, KINDS, METHODS, NEGATIVES, TASKS, UnknownName, nearest

CONFIG_MODULE = "gclbench.configs"
RERUN = ("never", "failed", "all")


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
    """One validated command without sweeps: components with their settings, seeds, and where things go.

    Attributes:
        settings: per kind (`dataset`, `filter`, `method`, `negatives`) `{"name": …, setting: value}`;
            per task name under `tasks` likewise.
        components: the same kinds to instances, and `tasks` to a dictionary of instances.
        overrides: the command's overrides without seeds and task, to repeat it.
        tasks_chosen: whether the command named its tasks (else those that make sense for the method are run).
    """

    settings: dict[str, Any]
    components: dict[str, Any]
    seeds: tuple[int, ...]
    device: str
    runs_dir: str
    rerun: str
    time_limit: float | None
    overrides: tuple[str, ...]
    tasks_chosen: bool = field(default=False)


def load(overrides: list[str]) -> Experiment:
    """Composes and validates one command.

    Raises:
        ConfigErrors: with every error found.
    """
    parsed = _parse(overrides)
    values = _compose(parsed)
    return _validate(values, parsed)


def sweep(overrides: list[str]) -> list[list[str]]:
    """The commands that `-m` stands for: `a=1,2 b=x,y` becomes four, the last key changing fastest.

    Raises:
        ConfigErrors: when an override cannot be read.
    """
    choices: list[list[str]] = []
    for override in _parse(overrides, allow_sweeps=True):
        if override.is_sweep_override():
            choices.append([f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()])
        else:
            choices.append([str(override.input_line)])
    return [list(combination) for combination in itertools.product(*choices)]


def resolved(overrides: list[str]) -> dict[str, Any]:
    """The composed configuration as plain values, for `gclbench show`."""
    return _compose(_parse(overrides))


@contextlib.contextmanager
def _hydra() -> Iterator[None]:
    with initialize_config_module(version_base="1.3", config_module=CONFIG_MODULE):
        yield


def _parse(overrides: list[str], allow_sweeps: bool = False) -> list[Override]:
    """Raises ConfigErrors for text that is no override and for sweeps where none are allowed."""
    parser = OverridesParser.create()
    parsed: list[Override] = []
    errors: list[str] = []
    for text in overrides:
        try:
            override = parser.parse_override(text)
        except OverrideParseException as error:
            first = str(error).partition("\n")[0]
            hint = "" if "=" in text else " Overrides are KEY=VALUE; `gclbench --help` lists the verbs."
            errors.append(f"cannot read '{text}': {first}.{hint}")
            continue
        if override.is_sweep_override() and not allow_sweeps:
            errors.append(f"'{text}' names several values; run a sweep with -m: gclbench -m {text}. A list is written [a,b].")
        parsed.append(override)
    if errors:
        raise ConfigErrors(errors)
    return parsed


def _compose(parsed: list[Override]) -> dict[str, Any]:
    errors = [*_check_names(parsed), *_check_keys(parsed)]
    if errors:
        raise ConfigErrors(errors)
    with _hydra():
        try:
            config = compose("config", [str(override.input_line) for override in parsed])
            return _plain(config)
        except (HydraException, OmegaConfBaseException) as error:
            raise ConfigErrors([" ".join(str(error).split())]) from error


def _plain(config: DictConfig) -> dict[str, Any]:
    """The composition with every `${paper:key,default}` looked up, and without the tables it came from."""
    paper = OmegaConf.to_container(config.paper, resolve=True) if "paper" in config else {}
    assert isinstance(paper, dict)
    dataset = config.dataset.name

    def from_paper(key: str, default: Any = None) -> Any:
        for row in (paper.get(dataset, {}), paper.get("default", {})):
            if key in row:
                value = row[key]
                return OmegaConf.create(value) if isinstance(value, list) else value
        return default

    OmegaConf.register_new_resolver("paper", from_paper, replace=True)
    values = OmegaConf.to_container(config, resolve=True)
    assert isinstance(values, dict)
    values.pop("paper", None)
    return {str(key): value for key, value in values.items()}


def _check_names(parsed: list[Override]) -> list[str]:
    """Every chosen component must exist; those without a YAML of their own get one from their class's defaults."""
    errors: list[str] = []
    store = ConfigStore.instance()
    for override in parsed:
        key = override.key_or_group
        if key not in KINDS or override.is_delete():
            continue
        value = override.value()
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, (dict, type(None))):
                errors.append(f"{key}={name} does not name a {key}")
                continue
            try:
                entry = KINDS[key].check(str(name))
            except UnknownName as error:
                errors.append(str(error))
                continue
            if not entry.builtin or not _has_yaml(key, str(name)):
                node = {"name": name, **defaults(KINDS[key].load(str(name)))} if key != "task" else defaults(TASKS.load(str(name)))
                store.store(
                    group=key, name=str(name), node=node, package=key if key != "task" else f"task.{name}", provider="gclbench"
                )
    return errors


def _has_yaml(group: str, name: str) -> bool:
    from importlib.resources import files

    return files(CONFIG_MODULE).joinpath(group, f"{name}.yaml").is_file()


def _check_keys(parsed: list[Override]) -> list[str]:
    """Names every key that no chosen component has, with the likeliest intended one."""
    groups = [override for override in parsed if override.key_or_group in KINDS and _exists(override)]
    with _hydra():
        try:
            config = compose("config", [str(override.input_line) for override in groups])
            known = _flat(_plain(config))
        except (HydraException, OmegaConfBaseException) as error:
            return [" ".join(str(error).split())]
    errors = []
    for override in parsed:
        key = override.key_or_group
        if key in KINDS or override.is_add() or override.is_force_add():
            continue
        if key in known or any(name.startswith(f"{key}.") for name in known):
            continue
        errors.append(_unknown_key(key, list(known)))
    return errors


def _exists(override: Override) -> bool:
    """Whether a group's override names components that exist (the others are reported by name)."""
    if override.is_delete():
        return True
    value = override.value()
    return all(str(name) in KINDS[override.key_or_group].entries for name in (value if isinstance(value, list) else [value]))


def _unknown_key(key: str, known: list[str]) -> str:
    leaf = key.rpartition(".")[2]
    by_leaf = [name for name in known if name.rpartition(".")[2] == leaf]
    guess = by_leaf[0] if by_leaf else nearest(key, known)
    if guess is None:
        leaves = {name.rpartition(".")[2]: name for name in known}
        close = nearest(leaf, list(leaves))
        guess = leaves[close] if close else None
    hint = f" Did you mean '{guess}'?" if guess else ""
    head = key.partition(".")[0]
    family = (
        sorted(name for name in known if name.startswith(f"{head}."))
        if "." in key
        else sorted({name.partition(".")[0] for name in known})
    )
    return f"'{key}' does not exist.{hint} Known: {', '.join(family or sorted({name.partition('.')[0] for name in known}))}"


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict) and value:
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _validate(values: dict[str, Any], parsed: list[Override]) -> Experiment:
    errors: list[str] = []
    settings: dict[str, Any] = {}
    components: dict[str, Any] = {}
    for kind, registry in (("dataset", DATASETS), ("filter", FILTERS), ("method", METHODS), ("negatives", NEGATIVES)):
        given = dict(values[kind])
        name = str(given.pop("name"))
        components[kind] = bind(registry.load(name), given, kind, errors)
        settings[kind] = {"name": name, **given}
    settings["tasks"], components["tasks"] = {}, {}
    for name, given in values["task"].items():
        components["tasks"][name] = bind(TASKS.load(name), dict(given or {}), f"task.{name}", errors)
        settings["tasks"][name] = {"name": name, **(given or {})}
    seeds = _seeds(values["seeds"], errors)
    if values["rerun"] not in RERUN:
        errors.append(f"rerun={values['rerun']} must be one of {', '.join(RERUN)}")
    limit = values["time_limit"]
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit <= 0):
        errors.append(f"time_limit={limit} must be a positive number of seconds, or null")
    device = _device(str(values["device"]), errors)
    if errors:
        raise ConfigErrors(errors)
    repeat = tuple(
        str(override.input_line)
        for override in parsed
        if override.key_or_group not in ("seeds", "task", "runs_dir", "rerun", "device", "time_limit")
    )
    return Experiment(
        settings=settings,
        components=components,
        seeds=seeds,
        device=device,
        runs_dir=str(values["runs_dir"]),
        rerun=str(values["rerun"]),
        time_limit=None if limit is None else float(limit),
        overrides=repeat,
        tasks_chosen=any(override.key_or_group == "task" for override in parsed),
    )


def _seeds(value: Any, errors: list[str]) -> tuple[int, ...]:
    """`10` is 0…9, `[3,7]` those two."""
    whole = [
        item for item in (value if isinstance(value, list) else [value]) if isinstance(item, int) and not isinstance(item, bool)
    ]
    if isinstance(value, list):
        if not value or len(whole) != len(value) or min(whole) < 0 or len(set(whole)) != len(whole):
            errors.append(f"seeds={value} must be different whole numbers from 0, for example seeds=[3,7]")
            return ()
        return tuple(whole)
    if not whole or whole[0] < 1:
        errors.append(f"seeds={value} must be a number of seeds, at least 1 (seeds=10 runs seeds 0 to 9), or a list: seeds=[3,7]")
        return ()
    return tuple(range(whole[0]))


def _device(value: str, errors: list[str]) -> str:
    import torch

    if value == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    kind, _, index = value.partition(":")
    if kind not in ("cpu", "cuda") or (index and not index.isdigit()):
        errors.append(f"device={value} must be auto, cpu, cuda or cuda:0, cuda:1, …")
    elif kind == "cuda" and not torch.cuda.is_available():
        errors.append(f"device={value}: no GPU is visible to torch; device=auto falls back to the CPU")
    elif kind == "cuda" and index and int(index) >= torch.cuda.device_count():
        errors.append(f"device={value}: there are {torch.cuda.device_count()} GPUs, numbered from 0")
    return value
