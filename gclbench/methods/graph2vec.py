"""graph2vec: document vectors of graphs (Narayanan et al., MLG workshop 2017), by gensim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, NonNegative, Positive
from gclbench.embedding import Embedding
from gclbench.graph.carrier import Data
from gclbench.methods.node_labels import node_labels
from gclbench.methods.word_vectors import gensim_models
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


@METHODS.register("graph2vec")
@dataclass(frozen=True)
class Graph2Vec:
    """graph2vec: a graph is a document, its Weisfeiler–Lehman subtrees are the words (gensim).

    Skip-gram with negative samples (PV-DBOW). A node's words are its refined labels of depth 0 to
    `depth`.

    Attributes:
        dimension: d. depth: of the subtrees. negative: words drawn for each.
        epochs: passes over all words. lr: at the start; it falls linearly.
        sample: the share of all words from which a word counts as frequent: passes leave some of
            its places out at random, the more the more frequent it is. 0 leaves none out.
    """

    version: ClassVar[str] = "2"
    items: ClassVar[tuple[str, ...]] = ("graphs",)
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "its skip-gram draws its own"

    dimension: Count = 512
    depth: Count = 3
    negative: Count = 5
    epochs: Count = 100
    lr: Positive = 0.025
    sample: NonNegative = 0.0

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """Embeds the labelled structure of every graph.

        Raises:
            Unsupported: when gensim is not installed.
        """
        models = gensim_models("graph2vec")
        words = refined_labels(graph, self.depth)
        starts = np.searchsorted(graph.graph_of.cpu().numpy(), np.arange(graph.items + 1))
        documents = [
            models.doc2vec.TaggedDocument(
                [str(word) for word in words[:, first:last].ravel()], [number]
            )
            for number, (first, last) in enumerate(zip(starts[:-1], starts[1:], strict=True))
        ]
        # One worker: with several, the order of updates and so the vectors change from run to run.
        model = models.Doc2Vec(
            documents,
            vector_size=self.dimension,
            window=0,
            min_count=1,
            dm=0,
            negative=self.negative,
            sample=self.sample,
            workers=1,
            epochs=self.epochs,
            alpha=self.lr,
            seed=rng.integer("skip-gram"),
        )
        rows = np.stack([model.dv[number] for number in range(graph.items)])
        return Embedding(torch.from_numpy(rows).to(graph.x.device))


def refined_labels(graph: Data, depth: int) -> np.ndarray:
    """Weisfeiler–Lehman labels of depth 0…depth ((depth+1)×N), numbers that are all different.

    A label of the next depth stands for a label and the multiset of its neighbours' labels. The
    multiset is known by the sum of random 64-bit numbers of its labels: two different ones agree
    with probability 2⁻⁶⁴.
    """
    rows, columns = graph.edge_index.cpu().numpy()
    labels = np.unique(node_labels(graph), return_inverse=True)[1]
    rng = np.random.default_rng(0)
    found, offset = [labels], int(labels.max()) + 1
    for _ in range(depth):
        code = rng.integers(0, 1 << 63, size=int(labels.max()) + 1, dtype=np.uint64)
        around = np.zeros(len(labels), dtype=np.uint64)
        np.add.at(around, rows, code[labels[columns]])
        key = around + code[labels] * np.uint64(0x9E3779B97F4A7C15)
        labels = np.unique(key, return_inverse=True)[1]
        found.append(labels + offset)
        offset += int(labels.max()) + 1
    return np.stack(found)
