"""The settings that the shipped configs give a method on a dataset."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from gclbench.component.declared import declared
from gclbench.component.registry import KINDS
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


def unnamed_at_default(dataset: str) -> frozenset[str]:
    """Settings of one of our datasets that a record names only where they are not at their default:
    `dataset.edges`."""
    if not _ours("dataset", dataset):
        return frozenset()
    return frozenset(f"dataset.{name}" for name in declared(KINDS["dataset"], dataset).late)


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
