"""Similarity of graphs: is a graph nearer to a copy with one edge changed than to one with two?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from gclbench.component.registry import TASKS
from gclbench.component.settings import Count, OneOf
from gclbench.data.splits import Split
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported, without_labels
from gclbench.tasks.edited_graphs import (
    FAR,
    OF_SIMILARITY,
    SMALLEST,
    Triplets,
    collection,
    draw_triplets,
    entries_of_weight_one,
)
from gclbench.tasks.whole_graph import WholeGraph
from gclbench.training.streams import Streams

SAME = {torch.float64: 1e-12, torch.float32: 1e-9}
"""Distances ½‖u − v‖² of unit rows that differ by no more are a tie: what rounding leaves between
copies that are the same graph."""

RESAMPLES = 200
"""Of the bootstrap over graphs."""


@TASKS.register("similarity")
@dataclass(frozen=True)
class Similarity(WholeGraph):
    """Similarity of graphs under edits of edges: triplet accuracy, AUC over pairs.

    A triplet is a piece of n nodes of a graph, a copy of it with one edge substituted, and one with
    two. The method embeds all three; similarity is the cosine. It was trained on the whole
    collection, but for one that learns from triplets of its own (`siamese`): that takes them from
    the graphs that `apart` leaves it. No label is read, and nothing is trained on these triplets.
    The lists of triplets depend on the seed alone; `scripts/similarity_lists.py` writes them.

    Attributes:
        nodes: sizes n of the pieces, each with triplets of its own.
        triplets: of each size.
        protocol: `honest`: connected pieces, of graphs that have one of n nodes, and ties count
            one half. `official` repeats what the released code of M-Mix does: the first n nodes of
            any graph, and ties are errors.
    """

    version: ClassVar[str] = "1"
    items: ClassVar[str] = "graphs"

    nodes: tuple[Count, ...] = (10, 15, 20, 50)
    triplets: Count = 1000
    protocol: Annotated[str, OneOf("honest", "official")] = "honest"

    def __post_init__(self) -> None:
        if len(set(self.nodes)) < len(self.nodes):
            raise ValueError(
                "nodes names a size twice; write each once, for example"
                " task.similarity.nodes=[10,15]"
            )

    def split(self, graph: Graph, rng: Streams) -> Split:
        """The triplets of every size, from the streams `split 10` and so on.

        Raises:
            Unsupported: a size that no graph has.
        """
        if not self.nodes or min(self.nodes) < SMALLEST:
            raise Unsupported(
                f"similarity substitutes {FAR} edges in pieces of at least {SMALLEST} nodes; give"
                " sizes with task.similarity.nodes=[10,15,20,50]"
            )
        parts: dict[str, np.ndarray] = {}
        for size in self.nodes:
            drawn = draw_triplets(
                graph,
                size,
                self.triplets,
                self.protocol == "honest",
                rng.numpy(f"split {size}"),
                asker=replace(OF_SIMILARITY, sizes=self.nodes),
            )
            parts |= drawn.parts(f"n{size}")
        return Split(f"edited_{self.protocol}", parts)

    def apart(self, graph: Graph, split: Split) -> torch.Tensor:
        """Which graphs no triplet is of (G, bool). Graphs are told apart by their numbers: an equal
        graph with another number may be left."""
        free = torch.ones(graph.items, dtype=torch.bool)
        for size in self.nodes:
            free[torch.as_tensor(split.parts[f"n{size}_graph"])] = False
        return free

    def evaluate(
        self, embedding: Embedding, graph: Graph, split: Split, rng: Streams
    ) -> dict[str, float]:
        """Scores of every size.

        Returns:
            for n = 10: triplet_accuracy_n10, the share of triplets whose piece is nearer to the
            copy with one edge substituted; pair_auc_n10, the area under the curve of cosines over
            the 2T pairs of piece and copy; triplet_accuracy_n10_error, pair_auc_n10_error, their
            standard errors by a bootstrap over the graphs that pieces are of; ties_n10, the share
            of triplets that cannot tell. And so on. Under `official` also
            weight_one_accuracy_n10: what the rule "the copy with fewer matrix entries of 1 is the
            nearer one" has on the matrices that the released code edits.

        Raises:
            Unsupported: the method embeds nothing but the graphs it was given.
        """
        if embedding.encode is None:
            raise Unsupported(
                "similarity embeds edited copies of graphs, and this method embeds nothing but the"
                " collection that it was given, or saw it through a filter; try"
                " method=graph_statistics filter=none"
            )
        found: dict[str, float] = {}
        bare = without_labels(graph)
        for size in self.nodes:
            triplets = Triplets.of_parts(split.parts, f"n{size}")
            edited = collection(bare, triplets)
            z = embedding.encode(edited.to(embedding.z.device)).detach()
            if z.shape[0] != edited.items or not bool(torch.isfinite(z).all()):
                raise ValueError(
                    f"{edited.items} edited graphs must come to as many finite rows; the method's"
                    f" encode returned shape {tuple(z.shape)}"
                )
            rows, same = z.cpu().double().numpy(), SAME.get(z.dtype, SAME[torch.float32])
            scores = _scores(rows, triplets.graph, self.protocol == "honest", same)
            if self.protocol == "official":
                ones = entries_of_weight_one(graph, triplets)
                scores["weight_one_accuracy"] = float((ones[:, 1] < ones[:, 2]).mean())
            found |= {_name(metric, size): value for metric, value in scores.items()}
        return found


def _name(metric: str, size: int) -> str:
    stem, error, _ = metric.partition("_error")
    return f"{stem}_n{size}{error}"


def _scores(z: np.ndarray, graph: np.ndarray, half: bool, same: float) -> dict[str, float]:
    """The scores of T triplets.

    Args:
        z: 3T×d: piece, nearer copy, farther copy, and so on. graph: of each triplet (T).
        half: ties count one half, not nothing. same: distances that differ by no more are a tie.
    """
    lengths = np.linalg.norm(z, axis=1, keepdims=True)
    unit = z / np.where(lengths > 0, lengths, 1.0)
    piece, near, far = unit[0::3], unit[1::3], unit[2::3]
    # 1 − cosine of unit rows, which the subtraction 1 − u·v would round away.
    distances = np.stack([np.square(piece - copy).sum(axis=1) / 2 for copy in (near, far)])
    difference = distances[1] - distances[0]
    tied = np.abs(difference) <= same
    won = np.where(tied, 0.5 if half else 0.0, difference > 0)
    clusters, member = np.unique(graph, return_inverse=True)
    rng = np.random.default_rng(0)
    draws = rng.multinomial(
        len(clusters), np.full(len(clusters), 1 / len(clusters)), size=RESAMPLES
    )
    weights = draws[:, member]
    similar = -np.round(distances / same) * same
    return {
        "triplet_accuracy": float(won.mean()),
        "pair_auc": _auc(similar, np.ones(len(graph))),
        "triplet_accuracy_error": float((weights @ won / weights.sum(axis=1)).std(ddof=1)),
        "pair_auc_error": float(np.std([_auc(similar, row) for row in weights], ddof=1)),
        "ties": float(tied.mean()),
    }


def _auc(similar: np.ndarray, weights: np.ndarray) -> float:
    """Area under the curve of similarities (2×T) of nearer against farther copies."""
    truth = np.repeat([1, 0], similar.shape[1])
    return float(roc_auc_score(truth, similar.ravel(), sample_weight=np.tile(weights, 2)))
