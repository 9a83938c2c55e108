"""Why a method takes no strategy for negatives."""

from __future__ import annotations

from typing import Any

WITH_EDGES = (
    "on the nodes of a graph method=grace and method=dmat_i show them; on a collection of graphs no"
    " method does, and negatives=progcl_weight or negatives=augcl need none"
)
"""What to try instead of a base that shows a strategy no edges between what it contrasts."""


def refusal(method: Any, method_name: str, strategy_name: str, strategy: Any = None) -> str | None:
    """Why a method takes no such strategy, as a sentence.

    Args:
        method: its settings, which may decide (MVGRL's objective). strategy: its settings, where
            they are there.

    Returns:
        None where it does take one, or where only the plain negatives are asked for.
    """
    of_graphs = getattr(method, "items", ("nodes",)) == ("graphs",)
    if strategy_name == "uniform":
        return None
    if getattr(method, "takes_negatives", False):
        if of_graphs and getattr(strategy, "needs_edges", False):
            return (
                f"negatives={strategy_name} reads the edges between what is contrasted, and"
                f" between graphs there are none; {WITH_EDGES}"
            )
        return None
    reason = getattr(method, "no_negatives", "it contrasts no pairs of nodes")
    others = "method=graphcl or method=joao" if of_graphs else "method=grace or method=dmat_i"
    return (
        f"method={method_name} has no negatives for negatives={strategy_name} to weight: {reason}; "
        f"try it with {others}"
    )
