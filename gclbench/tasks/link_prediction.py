"""Link prediction: edges hidden before training, ranked afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
from torch import Tensor

from gclbench.component.registry import TASKS
from gclbench.component.settings import OneOf, Range
from gclbench.data.pairs import pair_number
from gclbench.data.splits import Split, check_no_leak, link_split
from gclbench.embedding import Embedding
from gclbench.graph import MASKS, Graph, Unsupported, make_graph, without_labels
from gclbench.tasks.embedding_rows import embedding_rows
from gclbench.tasks.link_metrics import link_auc, link_average_precision, pair_logits
from gclbench.training.streams import Streams

Share = Annotated[float, Range(above=0, below=0.5)]


@TASKS.register("link_prediction")
@dataclass(frozen=True)
class LinkPrediction:
    """Link prediction on hidden edges: AUC and AP of the dot products.

    Held-out edges are removed before anything is computed on the graph: filter, diffusion, k-NN
    graphs and centralities see training edges only. What is held out is a pair of nodes, with all
    the edges between the two. A pair's score is the logit z_i · z_j, without
    a sigmoid; nothing is fitted. A method may choose by the score on the validation pairs; it does
    not see the pairs.

    Attributes:
        val_fraction: share of the undirected edges held out for validation.
        test_fraction: share held out for the test.
        normalize: "l2" scales rows to unit length (the score is then the cosine), "none" leaves
            them, "auto" scales those of embeddings with cosine geometry.
    """

    version: ClassVar[str] = "1"
    items: ClassVar[str] = "nodes"
    hides: ClassVar[bool] = True

    val_fraction: Share = 0.05
    test_fraction: Share = 0.10
    normalize: Annotated[str, OneOf("auto", "l2", "none")] = "auto"

    def split(self, graph: Graph, rng: Streams) -> Split:
        """Training, validation and test edges, and as many non-edges as held-out edges, from the
        stream `split`.

        Raises:
            Unsupported: the graph has no edges, or too few or too many to draw the parts.
        """
        if not graph.edge_index.shape[1]:
            raise Unsupported(f"link prediction needs edges, and '{graph.name}' has none")
        return link_split(
            graph.edge_index,
            graph.num_nodes,
            rng.numpy("split"),
            self.val_fraction,
            self.test_fraction,
        )

    def hide(self, graph: Graph, split: Split) -> Graph:
        """The graph with the training edges only, both directions of each with its weight, parallel
        ones as often as they are there; it has its own content hash.

        Raises:
            LeakError: a held-out pair, in either direction, is among the remaining edges.
        """
        masks = {name: graph[name] for name in MASKS if name in graph}
        edges = graph.edge_index.numpy()
        train = pair_number(*split.parts["train_edges"])
        seen = np.flatnonzero(edges[0] < edges[1])
        seen = seen[np.isin(pair_number(*edges[:, seen]), train)]
        weight = graph.edge_weight
        visible = make_graph(
            graph.x,
            edges[:, seen],
            graph.y,
            graph.name,
            masks=masks,
            repairs=graph.repairs,
            undirected=True,
            multiple=weight is None,
            edge_weight=None if weight is None else weight[seen],
        )
        check_no_leak(split, visible)
        return visible

    def validation(self, graph: Graph, split: Split) -> Callable[[Embedding], float]:
        """AUC + AP of an embedding on the validation pairs. It holds no test pair and no label.

        Args:
            graph: as `hide` gives it.
        """
        bare = without_labels(graph)
        pairs = split.parts["val_edges"], split.parts["val_non_edges"]
        return lambda embedding: sum(
            _ranked(embedding_rows(embedding, bare, self.normalize), *pairs)
        )

    def labels(self, graph: Graph, split: Split) -> Tensor:
        """n times −1: link prediction lets no method see a label."""
        return torch.full((graph.items,), -1, dtype=torch.long)

    def evaluate(
        self, embedding: Embedding, graph: Graph, split: Split, rng: Streams
    ) -> dict[str, float]:
        """How well the logits rank held-out edges above pairs that are edges nowhere in the graph.

        Returns:
            auc and ap on the test pairs, val_auc and val_ap on the validation pairs.

        Raises:
            ValueError: the embedding has the wrong number of rows or is not finite.
        """
        z = embedding_rows(embedding, graph, self.normalize)
        metrics: dict[str, float] = {}
        for part, prefix in (("test", ""), ("val", "val_")):
            metrics[f"{prefix}auc"], metrics[f"{prefix}ap"] = _ranked(
                z, split.parts[f"{part}_edges"], split.parts[f"{part}_non_edges"]
            )
        return metrics


def _ranked(z: np.ndarray, *pairs: np.ndarray) -> tuple[float, float]:
    """AUC and AP of rows z (N×d) on edges and non-edges (2×P each)."""
    edges, non_edges = (pair_logits(z, part) for part in pairs)
    return link_auc(edges, non_edges), link_average_precision(edges, non_edges)
