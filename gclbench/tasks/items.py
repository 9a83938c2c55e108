"""Which kind of items a task is about, and which kinds a method embeds."""

from __future__ import annotations

from typing import Any

from gclbench.component.declared import declared
from gclbench.component.registry import METHODS
from gclbench.graph import Graph, Unsupported


def items_of(task: Any) -> str:
    """`nodes` or `graphs`: what the task evaluates embeddings of; `nodes` where it does not say."""
    return getattr(task, "items", "nodes")


def embedded_by(method: Any) -> tuple[str, ...]:
    """The kinds of items that a method embeds, `nodes`, `graphs` or both; `nodes` where it does not
    say."""
    return tuple(getattr(method, "items", ("nodes",)))


def refusal(name: str, task: Any, graph: Graph) -> str | None:
    """Why a task makes no sense on a graph's items, as a sentence; None where it does.

    Args:
        name: the task's name.
    """
    wanted, found = items_of(task), graph.item_kind
    if wanted == found:
        return None
    return (
        f"task={name} evaluates embeddings of {wanted}, and {_what(graph)}, so a method embeds its"
        f" {found}; choose a task for {found} or a dataset of {wanted}"
    )


def method_refusal(name: str, method: Any, graph: Graph) -> str | None:
    """Why a method makes no sense on a graph's items, as a sentence; None where it does.

    Args:
        name: the method's name.
    """
    embedded, found = embedded_by(method), graph.item_kind
    if found in embedded:
        return None
    of_graphs = declared(METHODS, name).for_graphs if name in METHODS.entries else None
    of_graphs = of_graphs or "graph_statistics"
    advice = {
        "graphs": f"method={of_graphs} embeds graphs, and task=graph_classification compares them",
        "nodes": "method=grace embeds nodes, and dataset=mutag is a collection of graphs",
    }[found]
    return f"method={name} embeds {' and '.join(embedded)}, and {_what(graph)}; {advice}"


def kind_refusal(
    task_name: str, task: Any, method_name: str, method: Any, dataset: str, items: str
) -> str | None:
    """As `refusal` and `method_refusal`, of a dataset that is not loaded.

    Args:
        items: of the dataset, `nodes` or `graphs`.
    """
    for what, kinds in (
        (f"task={task_name} evaluates embeddings of", (items_of(task),)),
        (f"method={method_name} embeds", embedded_by(method)),
    ):
        if items not in kinds:
            return f"{what} {' and '.join(kinds)}, and {dataset} has {items} to embed"
    return None


def check_items(task_name: str, task: Any, method_name: str, method: Any, graph: Graph) -> None:
    """Refuses a task, or a method, that makes no sense on a graph's items.

    Raises:
        Unsupported: with the sentence of `refusal` or `method_refusal`.
    """
    reason = refusal(task_name, task, graph) or method_refusal(method_name, method, graph)
    if reason is not None:
        raise Unsupported(reason)


def _what(graph: Graph) -> str:
    if graph.item_kind == "graphs":
        return f"'{graph.name}' is a collection of {graph.items} graphs"
    return f"'{graph.name}' is a single graph of {graph.items} nodes"
