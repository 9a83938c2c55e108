"""The settings that classes and shipped configs give a method on a dataset."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from gclbench.component.declared import admits, declared, declared_or_none, marked
from gclbench.component.registry import KINDS, METHODS
from gclbench.component.settings import Machine, SameIdAtDefault
from gclbench.config.composition import nodes, stated_names
from gclbench.data.catalog import CATALOG

CHOSEN = ("dataset", "method", "filter", "negatives")


def shipped_settings(flat: Mapping[str, Any], every_dataset: bool = False) -> dict[str, Any]:
    """What a command gives the dataset, method, filter and negatives of flattened settings that
    says no more than their names.

    Flattened settings, from the class and the YAML file, of another package's components from the
    class alone. Empty for a method that is not installed, or cannot be imported. Without values
    that are computed from others.

    Args:
        every_dataset: with the settings of generated graphs, of other packages' datasets and of the
            user's own; left out by default, for none of these is the right one.
    """
    chosen = _chosen(flat)
    shipped = _shipped(chosen)
    page = CATALOG.get(chosen[0].name)
    if every_dataset or (page is not None and page.files):
        return dict(shipped)
    return {key: value for key, value in shipped.items() if not key.startswith("dataset.")}


def unnamed_settings(flat: Mapping[str, Any]) -> frozenset[str]:
    """Shipped settings that a record at them does not name: those of the machine, and those that
    are younger than the first records and at their default (`SameIdAtDefault`)."""
    return _unnamed(_chosen(flat))


def younger_settings(flat: Mapping[str, Any]) -> Mapping[str, Any]:
    """Settings that are younger than the first records, at their class's defaults: what a record
    has that does not name them (`SameIdAtDefault`)."""
    return _younger(_chosen(flat))


def with_younger(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Flattened settings, then those that they leave out, as of a record that is older
    (`younger_settings`)."""
    return {**flat, **younger_settings(flat), **flat}


def own_negatives(method: str) -> str:
    """The strategy for negatives that a method states: `nml` of nml_gcl; `uniform` where it states
    none."""
    there = _component("method", method).there
    return stated_names(method).get("negatives", "uniform") if there else "uniform"


def can_be_untrained(method: str) -> bool:
    """Whether a method can be run with `method.epochs=0`, its encoder untrained; not where it has
    no such setting, or takes no less than one."""
    return _component("method", method).there and admits(METHODS, method, "epochs", 0)


class _Component(NamedTuple):
    """A component as a record names it.

    Attributes:
        there: whether there is such a component, and it can be had. cls: of another package's.
    """

    kind: str
    name: str
    there: bool
    cls: type | None = None


def _component(kind: str, name: str) -> _Component:
    entry = KINDS[kind].entries.get(name)
    if entry is None or entry.builtin:
        return _Component(kind, name, entry is not None)
    there = declared_or_none(KINDS[kind], name) is not None
    return _Component(kind, name, there, KINDS[kind].load(name) if there else None)


def _chosen(flat: Mapping[str, Any]) -> tuple[_Component, ...]:
    return tuple(_component(kind, str(flat.get(f"{kind}.name", ""))) for kind in CHOSEN)


@functools.cache
def _younger(chosen: tuple[_Component, ...]) -> Mapping[str, Any]:
    return {
        f"{each.kind}.{setting}": declared(KINDS[each.kind], each.name).defaults[setting]
        for each in chosen
        if each.there
        for setting in marked(KINDS[each.kind], each.name, SameIdAtDefault)
    }


@functools.cache
def _unnamed(chosen: tuple[_Component, ...]) -> frozenset[str]:
    shipped = _shipped(chosen)
    found = {key for key, usual in _younger(chosen).items() if shipped.get(key) == usual}
    for each in chosen:
        if each.there:
            settings = marked(KINDS[each.kind], each.name, Machine)
            found |= {f"{each.kind}.{setting}" for setting in settings}
    return frozenset(found)


@functools.cache
def _shipped(chosen: tuple[_Component, ...]) -> dict[str, Any]:
    if not all(each.there for each in chosen if each.kind == "method"):
        return {}
    composed = nodes({each.kind: each.name for each in chosen if each.there})
    return {
        f"{kind}.{key}": value
        for kind, node in composed.items()
        for key, value in node.items()
        if key != "name" and "${" not in str(value)
    }
