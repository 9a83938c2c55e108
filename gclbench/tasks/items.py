"""Which kind of items a task is about."""

from __future__ import annotations

from typing import Any

from gclbench.graph import Graph, Unsupported


def items_of(task: Any) -> str:
    """`nodes` or `graphs`: what the task evaluates embeddings of; `nodes` where it does not say."""
    return getattr(task, "items", "nodes")


def refusal(name: str, task: Any, graph: Graph) -> str | None:
    """Why a task makes no sense on a graph's items, as a sentence; None where it does.

    Args:
        name: the task's name.
    """
    wanted, found = items_of(task), graph.item_kind
    if wanted == found:
        return None
    dataset = (
        f"'{graph.name}' is a collection of {graph.items} graphs"
        if found == "graphs"
        else f"'{graph.name}' is a single graph of {graph.items} nodes"
    )
    return (
        f"task={name} evaluates embeddings of {wanted}, and {dataset}, so a method embeds its"
        f" {found}; choose a task for {found} or a dataset of {wanted}"
    )


def check_items(name: str, task: Any, graph: Graph) -> None:
    """Refuses a task that makes no sense on a graph's items.

    Raises:
        Unsupported: with the sentence of `refusal`.
    """
    reason = refusal(name, task, graph)
    if reason is not None:
        raise Unsupported(reason)
