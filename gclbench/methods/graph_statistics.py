"""A dozen numbers about each graph: a control for learned embeddings of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.embedding import Embedding
from gclbench.graph.carrier import Data
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NAMES = (
    "nodes",
    "edges",
    "density",
    "mean_degree",
    "degree_deviation",
    "largest_degree",
    "leaves",
    "isolated",
    "components",
    "cycles",
    "triangles",
    "transitivity",
)


@METHODS.register("graph_statistics")
@dataclass(frozen=True)
class GraphStatistics:
    """Statistics of each graph, such as its edges and triangles: a control for collections.

    Twelve numbers by structure alone: nodes, edges, density, mean, deviation and largest degree,
    shares of leaves and of isolated nodes, components, independent cycles (edges − nodes +
    components), triangles, transitivity (closed share of paths of two edges). Counts enter as
    log(1 + count). Features are not read.
    """

    version: ClassVar[str] = "1"
    items: ClassVar[tuple[str, ...]] = ("graphs",)
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "it trains nothing"

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """G×12, not trained on anything."""
        return Embedding(statistics(graph), encode=statistics)


def statistics(graph: Data) -> Tensor:
    """The twelve numbers `NAMES` of every graph of a collection (G×12), float32."""
    member, graphs = graph.graph_of.cpu().numpy(), graph.items
    rows, columns = graph.edge_index.cpu().numpy()
    nodes = np.bincount(member, minlength=graphs).astype(float)

    def of_graphs(values: np.ndarray) -> np.ndarray:
        return np.bincount(member, weights=values, minlength=graphs)

    ones = np.ones(len(rows), dtype=np.int64)
    adjacency = scipy.sparse.csr_matrix((ones, (rows, columns)), shape=(len(member),) * 2)
    degree = np.asarray(adjacency.sum(axis=1)).ravel().astype(float)
    edges, mean = of_graphs(degree) / 2, of_graphs(degree) / nodes
    spread = np.sqrt(np.maximum(of_graphs(degree**2) / nodes - mean**2, 0))
    largest = np.zeros(graphs)
    np.maximum.at(largest, member, degree)
    _, component = connected_components(adjacency, directed=False)
    # The nodes of a component are of one graph.
    first = np.unique(component, return_index=True)[1]
    components = np.bincount(member[first], minlength=graphs).astype(float)
    closed = np.asarray(adjacency.multiply(adjacency @ adjacency).sum(axis=1)).ravel()
    corners, paths = of_graphs(closed.astype(float)), of_graphs(degree * (degree - 1))
    table = np.stack(
        [
            np.log1p(nodes),
            np.log1p(edges),
            edges / np.maximum(nodes * (nodes - 1) / 2, 1),
            mean,
            spread,
            np.log1p(largest),
            of_graphs(degree == 1) / nodes,
            of_graphs(degree == 0) / nodes,
            np.log1p(components),
            np.log1p(edges - nodes + components),
            np.log1p(corners / 6),
            corners / np.maximum(paths, 1),
        ],
        axis=1,
    )
    return torch.from_numpy(table.astype(np.float32)).to(graph.x.device)
