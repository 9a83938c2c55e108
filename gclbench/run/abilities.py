"""What a run's components can do with a graph: whether its edge weights are used.

A component says so itself, by `takes_weights`, which is true also where it reads no edges. What
does not say so is taken not to: a run never leaves a part of the data out in silence.
"""

from __future__ import annotations

from collections.abc import Mapping

from gclbench.component.components import Components
from gclbench.component.registry import FILTERS, METHODS, NEGATIVES, Registry
from gclbench.graph.carrier import Data
from gclbench.records import RunSpec

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
        if not getattr(getattr(components, kind), "takes_weights", False):
            others = ", ".join(able(registry, "takes_weights"))
            return (
                f"'{graph.name}' has edge weights, and {kind}={names[kind]} does not use them;"
                f" dataset.weights=ignore runs it on the edges without weights. These use them, or"
                f" read no edges: {others}"
            )
    return None


def names_of(spec: RunSpec) -> dict[str, str]:
    """The names of a run's method, filter and negatives."""
    return {kind: getattr(spec, kind)["name"] for kind in KINDS}


def able(registry: Registry, ability: str) -> list[str]:
    """The names of the components for nodes that have an ability, a class attribute or property,
    at their default settings."""
    found = []
    for name in registry.names():
        cls = registry.load(name)
        if "nodes" in getattr(cls, "items", ("nodes",)) and getattr(cls(), ability, False):
            found.append(name)
    return found
