"""From chosen names and settings to plain values: Hydra (1.3, composition only) merges the YAML of
what is chosen.

Composing takes Hydra tens of milliseconds, so a sweep must not do it for every run. Three things
are kept: what Hydra made of a choice of names; one composition per dataset and one per choice of
everything else, which are put together where a dataset's YAML brings nothing but its own node; and
settings that are plain values are written into the result instead of composed again.
"""

from __future__ import annotations

import copy
import functools
import re
import threading
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from hydra import compose, initialize_config_module
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import OmegaConf

from gclbench.component.settings import defaults

CONFIG_MODULE = "gclbench.configs"

INTERPOLATION = re.compile(r"\$\{(?!paper:)")
"""An interpolation other than the look-up in a paper's table: it may depend on any setting."""

_one_at_a_time = threading.RLock()
"""Hydra keeps its state in the process, and so does the resolver."""

_offered: dict[tuple[str, str], dict[str, Any]] = {}


def has_yaml(group: str, name: str) -> bool:
    """Whether a component has a YAML file of its own."""
    return files(CONFIG_MODULE).joinpath(group, f"{name}.yaml").is_file()


def offer(group: str, name: str, cls: type) -> None:
    """Gives Hydra a config of a component's defaults, for one without a YAML file."""
    node = defaults(cls) if group == "task" else {"name": name, **defaults(cls)}
    if _offered.get((group, name)) == node:
        return
    package = f"task.{name}" if group == "task" else group
    ConfigStore.instance().store(
        group=group, name=name, node=node, package=package, provider="gclbench"
    )
    _offered[group, name] = node
    _hydra.cache_clear()
    for derived in (_together, _entangled, _values):
        derived.cache_clear()


def composed(chosen: Sequence[Override], settings: Sequence[Override] = ()) -> dict[str, Any]:
    """Plain values of everything.

    Args:
        chosen: names of groups (`method=dmat`), that exist. settings: of keys that exist
            (`method.lr=1e-4`).

    Raises:
        HydraException, OmegaConfBaseException: when they cannot be composed.
    """
    names = tuple(str(override.input_line) for override in chosen)
    with _one_at_a_time:
        return _composed(names, settings)


def _composed(names: tuple[str, ...], settings: Sequence[Override]) -> dict[str, Any]:
    if all(_is_plain(setting) for setting in settings) and not _entangled(names):
        values = copy.deepcopy(_values(names))
        for setting in settings:
            _put(values, setting.key_or_group, setting.value())
        return values
    return _looked_up(_hydra(*names, *(str(setting.input_line) for setting in settings)))


def _is_plain(setting: Override) -> bool:
    """Whether writing the value over the old one is all that composing with it would do."""
    value = setting.value()
    items = (
        value
        if isinstance(value, list)
        else list(value.values())
        if isinstance(value, dict)
        else [value]
    )
    return (
        setting.type in (OverrideType.CHANGE, OverrideType.FORCE_ADD)
        and setting.package is None
        and all(
            item is None or (isinstance(item, (bool, int, float, str)) and "${" not in str(item))
            for item in items
        )
    )


def _put(values: dict[str, Any], key: str, value: Any) -> None:
    *parents, leaf = key.split(".")
    for parent in parents:
        values = values[parent]
    values[leaf] = value


@functools.lru_cache(maxsize=1024)
def _entangled(names: tuple[str, ...]) -> bool:
    """Whether some value is computed from others, so that a setting may change more than itself."""
    return bool(INTERPOLATION.search(str(_together(names))))


@functools.lru_cache(maxsize=1024)
def _values(names: tuple[str, ...]) -> dict[str, Any]:
    return _looked_up(_together(names))


@functools.lru_cache(maxsize=1024)
def _together(names: tuple[str, ...]) -> dict[str, Any]:
    """The composition of a choice of names: of the dataset and of the rest, put together where the
    one leaves the other alone."""
    datasets = tuple(name for name in names if name.lstrip("+").startswith("dataset="))
    rest = tuple(name for name in names if name not in datasets)
    if not datasets or not rest:
        return _hydra(*names)
    alone = _hydra(*datasets)
    if {**alone, "dataset": None} != {**_hydra(), "dataset": None}:
        return _hydra(*names)
    return {**_hydra(*rest), "dataset": alone["dataset"]}


@functools.lru_cache(maxsize=256)
def _hydra(*overrides: str) -> dict[str, Any]:
    """What Hydra composes, its interpolations as they are; not to be changed by who gets it."""
    with initialize_config_module(version_base="1.3", config_module=CONFIG_MODULE):
        config = OmegaConf.to_container(compose("config", list(overrides)), resolve=False)
    assert isinstance(config, dict)
    return {str(key): value for key, value in config.items()}


def _looked_up(composition: dict[str, Any]) -> dict[str, Any]:
    """The composition with every `${paper:key,default}` looked up, and without the tables it came
    from."""
    config = OmegaConf.create(composition)
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
