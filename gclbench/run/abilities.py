"""What a run's components can do with a graph: use its edge weights, and take sparse features.

A component says so itself, by `takes_weights`, which is true also where it reads no edges, or a
tuple of the items (`nodes`, `graphs`) for which it does, and by `takes_sparse`. What does not say
so is taken not to: a run never leaves a part of the data out in silence, and never makes a matrix
that the memory has no room for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from gclbench.component.components import Components
from gclbench.component.registry import FILTERS, METHODS, NEGATIVES, Registry
from gclbench.graph import Graph, Unsupported, is_sparse, with_features
from gclbench.graph.carrier import Data
from gclbench.machine import memory_map
from gclbench.records import RunSpec

GIB = 1 << 30

KINDS = {"method": METHODS, "filter": FILTERS, "negatives": NEGATIVES}
"""What reads edges and features."""


def weights_refusal(graph: Data, components: Components, names: Mapping[str, str]) -> str | None:
    """Why a graph with edge weights does not suit the components, as a sentence; None where it
    does.

    Args:
        names: of method, filter and negatives, by kind.
    """
    if graph.edge_weight is None:
        return None
    for kind, registry in KINDS.items():
        if not _says(getattr(getattr(components, kind), "takes_weights", False), graph.item_kind):
            others = ", ".join(able(registry, "takes_weights", graph.item_kind))
            told = f". These use them, or read no edges: {others}" if others else ""
            return (
                f"'{graph.name}' has edge weights, and {kind}={names[kind]} does not use them;"
                f" dataset.weights=ignore runs it on the edges without weights{told}"
            )
    return None


def with_readable_features(graph: Graph, components: Components, names: Mapping[str, str]) -> Graph:
    """The graph, its features dense unless filter, method and strategy take sparse ones.

    Args:
        names: as of `weights_refusal`.

    Raises:
        Unsupported: when dense features would not fit the memory.
    """
    lacking = [
        kind
        for kind in ("filter", "method", "negatives")
        if not getattr(getattr(components, kind), "takes_sparse", False)
    ]
    if not is_sparse(graph.x) or not lacking:
        return graph
    rows, columns = graph.x.shape
    if memory_map.fits(rows, columns):
        return with_features(graph, graph.x.to_dense())
    kind = lacking[0]
    advice = {
        "filter": "filter=none leaves the features as they are",
        "method": f"these methods take sparse features: {', '.join(able(METHODS, 'takes_sparse'))}",
        "negatives": "these strategies for negatives do not read features: "
        + ", ".join(able(NEGATIVES, "takes_sparse")),
    }
    raise Unsupported(
        f"{kind}={names[kind]} needs dense features, and {too_large(graph.name, graph.x)};"
        f" {'; '.join(advice[each] for each in lacking)}. Fewer features help as well, for"
        " example those of a truncated SVD"
    )


def too_large(name: str, x: Tensor) -> str:
    """How much memory a sparse matrix would take as a dense one, and how much is free."""
    rows, columns = x.shape
    needed, free = 4 * rows * columns / GIB, memory_map.available_memory() / GIB
    return (
        f"the {rows:,} × {columns:,} features of '{name}', sparse with {len(x.values()):,} entries,"
        f" would take {needed:,.1f} GiB, of which {free:,.1f} GiB are free"
    )


def names_of(spec: RunSpec) -> dict[str, str]:
    """The names of a run's method, filter and negatives."""
    return {kind: getattr(spec, kind)["name"] for kind in KINDS}


def _says(ability: bool | tuple[str, ...], items: str) -> bool:
    """Whether an ability holds for a kind of items: it names kinds, or is true for all."""
    return items in ability if isinstance(ability, tuple) else bool(ability)


def able(registry: Registry, ability: str, items: str = "nodes") -> list[str]:
    """The names of the components for `items` that have an ability, a class attribute or property,
    at their default settings."""
    found = []
    for name in registry.names():
        cls: Any = None
        says: Any = False
        with contextlib.suppress(Exception):  # somebody's package that cannot be used here
            cls = registry.load(name)
            says = getattr(cls, ability, False)
            if isinstance(says, property):
                # One with settings that have no default does not tell.
                says = getattr(cls(), ability)
        if cls is None or isinstance(says, property):
            continue
        # Filters and strategies are for both, and say nothing of items.
        embeds = getattr(cls, "items", ("nodes",)) if registry is METHODS else (items,)
        if _says(says, items) and items in embeds:
            found.append(name)
    return found
