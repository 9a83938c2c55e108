"""The settings that the shipped configs give a method on a dataset."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from gclbench.component.declared import declared, marked
from gclbench.component.registry import KINDS
from gclbench.component.settings import Machine, SameIdAtDefault
from gclbench.config.composition import nodes, stated_names
from gclbench.data.catalog import CATALOG

CHOSEN = ("dataset", "method", "filter", "negatives")


def shipped_settings(flat: Mapping[str, Any]) -> dict[str, Any]:
    """What the configs give for the dataset, method, filter and negatives of flattened settings.

    Flattened settings, from the class and the YAML file. Empty for a method of another package.
    Without values that are computed from others. Without the settings of generated graphs and of
    the user's own: none of these is the right one.
    """
    return dict(_shipped(tuple(str(flat.get(f"{kind}.name", "")) for kind in CHOSEN)))


def unnamed_settings(flat: Mapping[str, Any]) -> frozenset[str]:
    """Shipped settings that a record at them does not name: those of the machine, and those that
    are younger than the first records and at their default (`SameIdAtDefault`)."""
    return _unnamed(tuple(str(flat.get(f"{kind}.name", "")) for kind in CHOSEN))


def younger_settings(flat: Mapping[str, Any]) -> Mapping[str, Any]:
    """Settings that are younger than the first records, at their class's defaults: what a record
    has that does not name them (`SameIdAtDefault`)."""
    return _younger(tuple(str(flat.get(f"{kind}.name", "")) for kind in CHOSEN))


@functools.cache
def _younger(names: tuple[str, ...]) -> Mapping[str, Any]:
    return {
        f"{kind}.{setting}": declared(KINDS[kind], name).defaults[setting]
        for kind, name in zip(CHOSEN, names, strict=True)
        if _ours(kind, name)
        for setting in marked(KINDS[kind], name, SameIdAtDefault)
    }


@functools.cache
def _unnamed(names: tuple[str, ...]) -> frozenset[str]:
    shipped = _shipped(names)
    found = {key for key, usual in _younger(names).items() if shipped.get(key) == usual}
    for kind, name in zip(CHOSEN, names, strict=True):
        if _ours(kind, name):
            found |= {f"{kind}.{setting}" for setting in marked(KINDS[kind], name, Machine)}
    return frozenset(found)


def own_negatives(method: str) -> str:
    """The strategy for negatives that a method states: `nml` of nml_gcl; `uniform` where it states
    none."""
    return (
        stated_names(method).get("negatives", "uniform") if _ours("method", method) else "uniform"
    )


@functools.cache
def _shipped(names: tuple[str, ...]) -> dict[str, Any]:
    chosen = dict(zip(CHOSEN, names, strict=True))
    if not _ours("method", chosen["method"]):
        return {}
    page = CATALOG.get(chosen["dataset"])
    generated = page is None or not page.files
    composed = nodes({kind: name for kind, name in chosen.items() if _ours(kind, name)})
    return {
        f"{kind}.{key}": value
        for kind, node in composed.items()
        for key, value in node.items()
        if key != "name" and "${" not in str(value) and not (kind == "dataset" and generated)
    }


def _ours(kind: str, name: str) -> bool:
    """Whether it is a component of this package."""
    return name in KINDS[kind].entries and KINDS[kind].entries[name].builtin
