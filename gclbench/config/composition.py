"""From chosen names and settings to the plain values of a run.

Each component is composed alone. Its values are, each over the one before:

1. the defaults of its class (and its class's row of settings for the dataset);
2. its YAML, `configs/KIND/NAME.yaml`, where it has one;
3. the row of the chosen dataset in the YAML's table `paper`;
4. the settings on the command line.

A YAML is a flat mapping of settings. It may start from another one of its kind, from which it
inherits values and table: `defaults: [grace, _self_]`. Hydra (1.3) merges the two.

A method also says what it is run with unless the command says otherwise: `filter: gnnbp`,
`negatives: nml`, in its YAML or its class (component/declared.py). A dataset's class says so of its
tasks. A key with a dot, such as
`mmix.variant: mo`, is a setting of another component and counts only where that one is chosen.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import importlib.metadata
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from gclbench.component.declared import STATEMENTS, declared, declared_or_none
from gclbench.component.registry import GROUPS, TASKS

CONFIG_MODULE = "gclbench.configs"

COMPONENTS = "components"
"""Where in Hydra's composition the YAML of every component is put."""

_one_at_a_time = threading.Lock()
"""Hydra keeps its state in the process."""


class Unresolved(ValueError):
    """A value refers to one that does not exist."""


def composed(names: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values of everything.

    Args:
        names: what the command chooses, `{"method": "dmat", "task": ["tsne"]}`; all of them exist.
        settings: values of keys that exist, `{"method.lr": 1e-4}`.

    Raises:
        Unresolved: when a value refers to one that does not exist.
    """
    values = {**nodes(all_names(names)), **_of_the_command()}
    for key, value in settings.items():
        _put(values, key, value)
    return _resolved(values) if "${" in str(values) else copy.deepcopy(values)


def all_names(names: Mapping[str, Any]) -> dict[str, Any]:
    """The names of every kind: the command's, then those that its method and its dataset state,
    then the usual ones."""
    usual = {kind: _command()[kind] for kind in GROUPS}
    stated = stated_names(str(names.get("method", usual["method"])))
    return {**usual, **stated_tasks(str(names.get("dataset", usual["dataset"]))), **stated, **names}


def stated_names(method: str) -> dict[str, str]:
    """The filter and the strategy for negatives that a method states: `{"negatives": "nml"}`; of
    one whose module cannot be imported, none.

    Raises:
        UnknownName: there is no such method.
    """
    GROUPS["method"].check(method)
    said = declared_or_none(GROUPS["method"], method)
    yaml = yaml_of("method", method)
    either = {kind: yaml.get(kind, getattr(said, kind, None)) for kind in ("filter", "negatives")}
    return {kind: str(name) for kind, name in either.items() if name is not None}


def method_for(names: Mapping[str, Any]) -> dict[str, str]:
    """The method that the chosen one stands for on the chosen dataset: `{"method": "gcn_graphs"}`
    of gcn on a collection of graphs; empty where it is itself, or no dataset is chosen.

    Raises:
        UnknownName: there is no such method or dataset.
    """
    if not {"method", "dataset"} <= {*names}:
        return {}
    said = declared(GROUPS["method"], str(names["method"]))
    items = items_of_dataset(str(names["dataset"]))
    other = said.for_graphs if items == "graphs" else said.for_nodes
    return {} if other is None else {"method": other}


def items_of_dataset(dataset: str) -> str:
    """`graphs` of a collection, `nodes` of any other dataset, as far as its statement says.

    Raises:
        UnknownName: there is no such dataset.
    """
    return items_of_tasks(stated_tasks(dataset).get("task", ()))


def items_of_tasks(tasks: Iterable[str]) -> str:
    """`graphs` where one of the tasks says so; `nodes` otherwise, as of tasks that no package here
    has, or whose module cannot be imported: a record may come from elsewhere."""
    return "graphs" if any("graphs" in _items_of_task(task) for task in tasks) else "nodes"


def _items_of_task(task: str) -> tuple[str, ...]:
    said = declared_or_none(TASKS, task)
    return said.items if said else ()


def stated_tasks(dataset: str) -> dict[str, list[str]]:
    """The tasks that a dataset states: `{"task": ["graph_classification"]}`; else empty, as of one
    whose module cannot be imported.

    Raises:
        UnknownName: there is no such dataset.
    """
    GROUPS["dataset"].check(dataset)
    said = declared_or_none(GROUPS["dataset"], dataset)
    return {"task": list(said.task)} if said and said.task else {}


def nodes(names: Mapping[str, Any]) -> dict[str, Any]:
    """The values of components before the command's settings: `{"name": …, setting: value}` per
    kind, and per name under `task`.

    Args:
        names: of any kinds; `task` has a name or a list of them.
    """
    found: dict[str, Any] = {kind: {} for kind in names}
    built: list[tuple[str, str, dict[str, Any]]] = []
    of_others: list[tuple[str, str, Any]] = []
    for kind, name in _pairs(names):
        node: dict[str, Any] = {} if kind == "task" else {"name": name}
        for key, value in _settings(kind, name, str(names.get("dataset"))).items():
            if "." in key:
                of_others.append((kind, key, value))
            else:
                node[key] = value
        if kind == "task":
            found[kind][name] = node
        else:
            found[kind] = node
        built.append((kind, name, node))
    for by, key, value in of_others:
        owner, _, setting = key.partition(".")
        for kind, name, node in built:
            if name == owner and kind != by:
                node[setting] = value
    return found


def _pairs(names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for kind, chosen in names.items():
        for name in chosen if isinstance(chosen, list) else [chosen]:
            yield kind, str(name)


def _settings(kind: str, name: str, dataset: str) -> dict[str, Any]:
    """A component's settings on a dataset, and those that it makes to others."""
    said = declared(GROUPS[kind], name)
    yaml = yaml_of(kind, name)
    values = {key: value for key, value in yaml.items() if key not in (*STATEMENTS, "name")}
    row = yaml.get("paper", {}).get(dataset, {})
    return {**said.defaults, **said.paper.get(dataset, {}), **values, **row}


def _put(values: dict[str, Any], key: str, value: Any) -> None:
    *parents, leaf = key.split(".")
    for parent in parents:
        values = values[parent]
    values[leaf] = value


def _resolved(values: dict[str, Any]) -> dict[str, Any]:
    """Every `${method.code}` replaced by the value it names."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        plain = OmegaConf.to_container(OmegaConf.create(values), resolve=True)
    except OmegaConfBaseException as error:
        raise Unresolved(" ".join(str(error).split())) from error
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def _of_the_command() -> dict[str, Any]:
    """Keys that belong to no component, `seeds` and the like, and their usual values."""
    return {key: value for key, value in _command().items() if key not in GROUPS}


def _command() -> dict[str, Any]:
    return {key: value for key, value in _read().items() if key != COMPONENTS}


def yaml_of(kind: str, name: str) -> dict[str, Any]:
    """What the YAML of a component says, merged over that of its base; empty without a file."""
    found: dict[str, Any] = _read()[COMPONENTS].get(kind, {}).get(name, {})
    return found


def _read() -> dict[str, Any]:
    with _one_at_a_time:
        return _read_once()


@functools.cache
def _read_once() -> dict[str, Any]:
    """`configs/config.yaml`, and under `components` the YAML of every component, as plain values
    with their interpolations as they are.

    Composing dozens of files takes longer than the rest of a short answer, so the values are kept
    in the cache folder, under a hash of the files.
    """
    from gclbench.machine.environment import cache_folder
    from gclbench.records import write_atomically

    path = cache_folder() / "configs" / f"{_content()}.json"
    with contextlib.suppress(OSError, ValueError):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(kept, dict):
            return kept
    config = _composed_by_hydra()
    # YAML has values that JSON has not; such a composition is not kept.
    with contextlib.suppress(OSError, ValueError, TypeError):
        text = json.dumps(config, allow_nan=False)
        if json.loads(text) == config:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text.encode())
    return config


def _content() -> str:
    """A hash of every configuration file and of the libraries that compose them."""
    found = hashlib.sha256()
    for name in ("hydra-core", "omegaconf"):
        found.update(f"{name} {importlib.metadata.version(name)};".encode())
    for path in sorted(_yaml_files(), key=str):
        found.update(f"{path.name};".encode() + path.read_bytes() + b";")
    return found.hexdigest()[:24]


def _yaml_files() -> Iterator[Traversable]:
    folders = [files(CONFIG_MODULE)]
    while folders:
        for path in folders.pop().iterdir():
            if path.is_dir():
                folders.append(path)
            elif path.name.endswith(".yaml"):
                yield path


def _composed_by_hydra() -> dict[str, Any]:
    from hydra import compose, initialize_config_module
    from omegaconf import OmegaConf

    additions = [
        f"+{kind}@{COMPONENTS}.{kind}.{name}={name}" for kind in GROUPS for name in _files(kind)
    ]
    with initialize_config_module(version_base="1.3", config_module=CONFIG_MODULE):
        config = OmegaConf.to_container(compose("config", additions), resolve=False)
    assert isinstance(config, dict)
    return {str(key): value for key, value in config.items()}


def _files(kind: str) -> list[str]:
    """Names of a kind that have a YAML."""
    folder = files(CONFIG_MODULE).joinpath(kind)
    found = (path.name for path in folder.iterdir()) if folder.is_dir() else iter(())
    return sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml"))
