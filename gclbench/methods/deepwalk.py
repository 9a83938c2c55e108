"""DeepWalk: skip-gram over truncated random walks (Perozzi et al., KDD 2014), with its repository's
defaults."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, OneOf, Range, SameIdAtDefault
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported, is_sparse
from gclbench.graph.carrier import Data
from gclbench.machine import memory_map
from gclbench.methods.word_vectors import gensim_models
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


@METHODS.register("deepwalk")
@dataclass(frozen=True)
class DeepWalk:
    """DeepWalk: skip-gram over random walks, structure only unless `features` (needs gensim).

    The skip-gram learns by a hierarchical softmax and by negative sampling together, as gensim does
    where it is asked for the first and keeps its default of the second.

    Attributes:
        walks: walks started at each node. length: nodes of a walk. window: of the skip-gram, to
            each side.
        dimension: d. epochs: passes of the skip-gram over all walks.
        negative: words drawn as negatives of each pair; 0 leaves the hierarchical softmax alone.
        isolated: of a node without edges. `own_walk`: its walks are the node alone, so that it
            keeps its random start vector. `zero`: it has no walk and a vector of zeros.
        features: a node's features, as they are given, stand behind its vector. They are dense.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "its skip-gram draws its own"

    walks: Count = 10
    length: Count = 40
    window: Count = 5
    dimension: Count = 64
    epochs: Count = 5
    negative: Annotated[int, Range(least=0)] = 5
    isolated: Annotated[str, OneOf("own_walk", "zero")] = "own_walk"
    features: Annotated[bool, SameIdAtDefault()] = False

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """Embeds the structure; labels are not read, and features only to stand beside it.

        Raises:
            Unsupported: when gensim is not installed, the graph has no edges, or its features have
                no room beside the vectors.
        """
        models = gensim_models("deepwalk")
        if not graph.edge_index.shape[1]:
            raise Unsupported(f"deepwalk walks along edges, and '{graph.name}' has none")
        beside = [dense_features(graph)] if self.features else []
        edges, nodes = graph.edge_index.cpu().numpy(), graph.num_nodes
        weight = None if graph.edge_weight is None else graph.edge_weight.cpu().numpy()
        walks = random_walks(edges, nodes, self.walks, self.length, rng.numpy("walks"), weight)
        alone = (
            np.setdiff1d(np.arange(nodes), edges[0])
            if self.isolated == "own_walk"
            else edges[0, :0]
        )
        # gensim warns of the two ways together, which the repository has.
        logging.getLogger("gensim.models.word2vec").setLevel(logging.ERROR)
        # One worker: with several, the order of updates and so the vectors change from run to run.
        model = models.Word2Vec(
            Sentences(walks, nodes, np.repeat(alone, self.walks)),
            vector_size=self.dimension,
            window=self.window,
            min_count=0,
            sg=1,
            hs=1,
            negative=self.negative,
            workers=1,
            epochs=self.epochs,
            seed=rng.integer("skip-gram"),
        )
        z = np.zeros((nodes, self.dimension), dtype=np.float32)
        for node, row in model.wv.key_to_index.items():
            z[int(node)] = model.wv.vectors[row]
        return Embedding(torch.cat([torch.from_numpy(z).to(graph.x.device), *beside], dim=1))


def dense_features(graph: Data) -> Tensor:
    """x (N×F), dense.

    Raises:
        Unsupported: it is sparse, and too large for the memory as a dense matrix.
    """
    rows, columns = graph.x.shape
    if not is_sparse(graph.x):
        return graph.x
    if not memory_map.fits(rows, columns):
        raise Unsupported(
            f"method.features=true puts dense features beside the vectors, and the {rows:,} ×"
            f" {columns:,} features of '{graph.name}', which are sparse, do not fit the memory so;"
            " method.features=false reads none"
        )
    return graph.x.to_dense()


class Sentences:
    """Walks as lists of words, one word per node, made anew in each pass: as strings they would
    fill the memory.

    Args:
        walks: rows of node ids. nodes: N. alone: nodes, each a walk of one word.
    """

    def __init__(self, walks: np.ndarray, nodes: int, alone: np.ndarray):
        self._walks, self._alone = walks, alone
        self._words = [str(node) for node in range(nodes)]

    def __iter__(self) -> Iterator[list[str]]:
        for walk in itertools.chain(self._walks, self._alone[:, None]):
            yield [self._words[node] for node in walk.tolist()]


def random_walks(
    edge_index: np.ndarray,
    nodes: int,
    walks: int,
    length: int,
    rng: np.random.Generator,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Random walks from every node with an edge, in shuffled order (rows of `length` node ids).

    Args:
        edge_index: both directions of every edge (2×E), sorted by source; a neighbour by k parallel
            edges is k times as likely. walks: per node. weight: of the entries (E): a neighbour is
            as likely as its edge is strong; None where all are alike.
    """
    degree = np.bincount(edge_index[0], minlength=nodes)
    first = np.concatenate([[0], np.cumsum(degree)[:-1]])
    starts = np.concatenate([rng.permutation(np.flatnonzero(degree)) for _ in range(walks)])
    path = np.empty((len(starts), length), dtype=np.int64)
    path[:, 0] = starts
    summed = None if weight is None else np.concatenate([[0.0], np.cumsum(weight, dtype=float)])
    for step in range(1, length):
        here = path[:, step - 1]
        drawn = rng.random(len(here))
        if summed is None:
            entry = first[here] + (drawn * degree[here]).astype(np.int64)
        else:
            begin, end = summed[first[here]], summed[first[here] + degree[here]]
            entry = np.searchsorted(summed, begin + drawn * (end - begin), side="right") - 1
            # Rounding may step over an end.
            entry = np.clip(entry, first[here], first[here] + degree[here] - 1)
        path[:, step] = edge_index[1, entry]
    return path
