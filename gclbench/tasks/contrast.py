"""Analyses of a contrastive training's negatives: false negatives, hardness and mixtures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from gclbench.component.registry import TASKS
from gclbench.component.settings import Range
from gclbench.data.splits import Split
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported
from gclbench.tasks.contrast_metrics import (
    false_negative_effect,
    hardness_histogram,
    mixture_scores,
    weight_scores,
)
from gclbench.tasks.whole_graph import WholeGraph
from gclbench.training.streams import Streams

BINS = 20


@TASKS.register("contrast")
@dataclass(frozen=True)
class ContrastAnalysis(WholeGraph):
    """What a method's negatives were: false negatives, hardness, τ⁰, mixtures; no score

    Looks at the last two views of the training (`Embedding.contrast`) and at the weights or
    mixtures that the strategy gave them. The classes are read for these reports only; no method
    sees one.

    Attributes:
        tuple_size: nodes that are contrasted together in τ⁰. They are drawn anew here. 512 is
            DMAT-i's usual batch.
    """

    version: ClassVar[str] = "1"

    tuple_size: Annotated[int, Range(least=2)] = 512

    def split(self, graph: Graph, rng: Streams) -> Split | None:
        """None: every node takes part.

        Raises:
            Unsupported: without classes no negative is true or false.
        """
        classes = 0 if graph.y is None else len(torch.unique(graph.y[graph.y >= 0]))
        if classes < 2:
            raise Unsupported(
                "task=contrast tells true from false negatives by their classes, and"
                f" '{graph.name}' has {classes} of them;"
                " it needs a dataset with two classes or more"
            )
        return None

    def evaluate(
        self, embedding: Embedding, graph: Graph, split: Split | None, rng: Streams
    ) -> dict[str, float]:
        """The reports as numbers.

        Returns:
            hardness_01 … hardness_20: share of the different-class pairs (u_i, v_j) whose cosine
                lies in the k-th of twenty equal bins of [−1, 1] (DMAT paper, Figure 6).
            hardness_mean: their mean cosine.
            tau0_q1, tau0_median, tau0_q3: quantiles over anchors of τ⁰ (DMAT paper, Eq. 8 and
                Table 5), left out where a tuple holds the whole graph.

            With weights also what `weight_scores` gives, with mixtures what `mixture_scores` gives.

        Raises:
            Unsupported: the method contrasts no nodes, or the graph has no classes.
            ValueError: the views have the wrong number of rows.
        """
        self.split(graph, rng)
        contrast = embedding.contrast
        if contrast is None:
            raise Unsupported(
                "task=contrast looks at the pairs of nodes that a method contrasts, and this method"
                " keeps none; try it with method=grace or method=dmat_i"
            )
        u, v = contrast.u, contrast.v
        if not len(u) == len(v) == graph.items:
            raise ValueError(
                f"the last views have {len(u)} and {len(v)} rows, but the graph has"
                f" {graph.items} nodes; a method's Embedding.contrast must hold"
                " one row per node"
            )
        labels = graph.y.to(u.device)
        histogram, mean = hardness_histogram(u, v, labels, BINS)
        metrics = {
            f"hardness_{number:02d}": float(share)
            for number, share in enumerate(histogram, start=1)
        }
        metrics["hardness_mean"] = mean
        order = torch.randperm(graph.items, generator=rng.torch("tuples")).to(u.device)
        effect = false_negative_effect(
            u, v, labels, contrast.tau, list(order.split(self.tuple_size))
        )
        if len(effect):
            quantiles = torch.quantile(
                effect, torch.tensor([0.25, 0.5, 0.75], dtype=effect.dtype, device=effect.device)
            )
            metrics.update(
                zip(("tau0_q1", "tau0_median", "tau0_q3"), quantiles.tolist(), strict=True)
            )
        if contrast.weights is not None:
            metrics.update(weight_scores(contrast.weights, labels))
        if contrast.mixture is not None:
            metrics.update(mixture_scores(contrast.mixture, labels))
        return metrics
