"""DeepWalk: skip-gram over truncated random walks (Perozzi et al.

2014), with its repository's defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


@METHODS.register("deepwalk")
@dataclass(frozen=True)
class DeepWalk:
    """DeepWalk: skip-gram over random walks, structure only (needs gensim).

    The skip-gram has a hierarchical softmax. A node without edges has no walk; its vector is zero.

    Attributes:
        walks: walks started at each node. length: nodes of a walk. window: of the skip-gram, to
            each side.
        dimension: d. epochs: passes of the skip-gram over all walks.
    """

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "its softmax is hierarchical, over all nodes"

    walks: Count = 10
    length: Count = 40
    window: Count = 5
    dimension: Count = 64
    epochs: Count = 1

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """Embeds the structure; features and labels are not read.

        Raises:
            Unsupported: when gensim is not installed, or the graph has no edges.
        """
        try:
            from gensim.models import Word2Vec
        except ImportError as error:
            raise Unsupported(
                "deepwalk needs gensim, which is not installed: pip install 'gclbench[deepwalk]'"
            ) from error
        if not graph.edge_index.shape[1]:
            raise Unsupported(f"deepwalk walks along edges, and '{graph.name}' has none")
        walks = random_walks(
            graph.edge_index.cpu().numpy(),
            graph.num_nodes,
            self.walks,
            self.length,
            rng.numpy("walks"),
        )
        # One worker: with several, the order of updates and so the vectors change from run to run.
        model = Word2Vec(
            Sentences(walks, graph.num_nodes),
            vector_size=self.dimension,
            window=self.window,
            min_count=0,
            sg=1,
            hs=1,
            negative=0,
            workers=1,
            epochs=self.epochs,
            seed=rng.integer("skip-gram"),
        )
        z = np.zeros((graph.num_nodes, self.dimension), dtype=np.float32)
        for node, row in model.wv.key_to_index.items():
            z[int(node)] = model.wv.vectors[row]
        return Embedding(torch.from_numpy(z).to(graph.x.device))


class Sentences:
    """Walks as lists of words, one word per node, made anew in each pass: as strings they would
    fill the memory.

    Args:
        walks: rows of node ids. nodes: N.
    """

    def __init__(self, walks: np.ndarray, nodes: int):
        self._walks = walks
        self._words = [str(node) for node in range(nodes)]

    def __iter__(self) -> Iterator[list[str]]:
        return ([self._words[node] for node in walk.tolist()] for walk in self._walks)


def random_walks(
    edge_index: np.ndarray, nodes: int, walks: int, length: int, rng: np.random.Generator
) -> np.ndarray:
    """Uniform random walks from every node with an edge, in shuffled order (rows of `length` node
    ids).

    Args:
        edge_index: both directions of every edge (2×E), sorted by source; a neighbour by k parallel
            edges is k times as likely. walks: per node.
    """
    degree = np.bincount(edge_index[0], minlength=nodes)
    first = np.concatenate([[0], np.cumsum(degree)[:-1]])
    starts = np.concatenate([rng.permutation(np.flatnonzero(degree)) for _ in range(walks)])
    path = np.empty((len(starts), length), dtype=np.int64)
    path[:, 0] = starts
    for step in range(1, length):
        here = path[:, step - 1]
        path[:, step] = edge_index[
            1, first[here] + (rng.random(len(here)) * degree[here]).astype(np.int64)
        ]
    return path
