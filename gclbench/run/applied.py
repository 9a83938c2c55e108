"""The weights of a recorded run at work again: on its own graph, or on another one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gclbench.component.components import Components
from gclbench.graph import Graph, Unsupported
from gclbench.machine.threads import computing_with, threads_of
from gclbench.records import RunSpec
from gclbench.run.abilities import names_of, weights_refusal
from gclbench.run.datasets import Loaded
from gclbench.run.pipeline import Pipeline
from gclbench.tasks.items import items_of, method_refusal
from gclbench.training.fence import fenced
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch
from gclbench.training.weights import Weights


def refusal(method: Any, name: str) -> str | None:
    """Why a method's weights embed no graph by themselves, as a sentence; None where they do."""
    if getattr(method, "inductive", False):
        return None
    return (
        f"method '{name}' embeds the items that it was fitted to and no others: its class does not"
        " say `inductive = True`"
    )


def embedded(
    components: Components,
    spec: RunSpec,
    graph: Graph,
    weights: Weights,
    device: str,
    own: bool = False,
) -> Tensor:
    """The embedding (n×d) of a graph by trained weights; nothing is trained.

    The graph's features pass through the run's filter first.

    Args:
        components, spec: of the run that the weights are of.
        own: the graph is the run's, so what its task holds out is hidden again.

    Raises:
        Unsupported: when the method is not inductive, or the graph does not suit it.
        WeightsError: when the weights do not fit, as where the graph has other features.
    """
    method, name = components.method, spec.method["name"]
    reason = refusal(method, name)
    if reason is not None:
        raise Unsupported(reason)
    reason = method_refusal(name, method, graph)
    if reason is None and not own:
        # Some methods embed both, by different networks.
        wanted = items_of(next(iter(components.tasks.values())))
        if graph.item_kind != wanted:
            reason = (
                f"the weights are of a method that embedded {wanted}, and '{graph.name}' has"
                f" {graph.item_kind} to embed"
            )
    if reason is not None:
        raise Unsupported(reason)
    reason = weights_refusal(graph, components, names_of(spec))
    if reason is not None:
        raise Unsupported(reason)
    pipeline = Pipeline(components, spec, Loaded(graph, 0.0), Watch(), device)
    task = next(iter(components.tasks.values()))
    seed = Streams(spec.seed).integer("global fit")
    with computing_with(threads_of(graph)), fenced(seed):
        visible = task.hide(graph, pipeline.split(task)) if own else graph
        seen = pipeline.filter(task, visible)
        takes = getattr(method, "takes_negatives", False)
        taken = {"negatives": components.negatives} if takes else {}
        # Labels say which items to train on, and none is trained on here.
        labels = torch.zeros(seen.items, dtype=torch.long, device=device)
        model = method.model(seen, labels, Streams(spec.seed), **taken).to(device)
        weights.put(model)
        model.eval()
        with torch.no_grad():
            found = model.evaluated(Step(weights.iteration, weights.total))
    return found.z
