"""Graph kernels, two of them by GraKeL (Siglidis et al., JMLR 2020): the kernel rows of graph-level
papers."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, OneOf, Range
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.graphlets import common_graphlets
from gclbench.methods.node_labels import edges_by_labels, labelled_graphs, node_labels
from gclbench.methods.random_walks import common_walks
from gclbench.methods.shortest_paths import common_paths
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NEGLIGIBLE = 1e-10
"""An eigenvalue below this share of the largest one counts as zero."""

INDEFINITE = 1e-6
"""A negative eigenvalue beyond this share of the largest one: the matrix is no kernel."""

ENOUGH = 6400
"""Samples of a graph: the least of 100, 200, 400, … at which graphlet kernels of two seeds
correlate 0.99 or more off the diagonal on MUTAG (docs/choices.md)."""

LAST_PYTHON = (3, 12)
"""GraKeL has no release for later ones."""


@METHODS.register("graph_kernel")
@dataclass(frozen=True)
class GraphKernel:
    """Graph kernels: Weisfeiler–Lehman, shortest paths, graphlets, walks (some need GraKeL).

    The kernel matrix K is normalised to a diagonal of ones and checked to be positive
    semi-definite. The embedding is Z with ZZᵀ = K, from its eigenvectors, so a linear support
    vector machine on Z is the kernel machine on K, and cosines of rows are kernel values. All
    graphs take part in K, with their node labels and without their classes.

    Attributes:
        kernel: `wl` (Weisfeiler–Lehman subtrees), `shortest_path` (without GraKeL), `graphlet`
            (sampled, labels not read; without GraKeL), `random_walk` (geometric, labels not read;
            without GraKeL), `multiscale_laplacian` (minutes for a hundred graphs), `vertex_edge`
            (histogram of node labels and of the labels at the ends of edges; without GraKeL).
        iterations: of `wl`. graphlet_nodes, samples: of `graphlet`. So many samples are drawn of
            each graph: first a size of 3 to `graphlet_nodes` nodes, then so many of its nodes; the
            shape of the sub-graph among them counts, connected or not. 100 leave noise, which a
            remark tells; tables ask for 6400.
        decay: of `random_walk`: the weight of a step as a share of the one at which the sum over
            walks of the densest pair of graphs would diverge.
    """

    version: ClassVar[str] = "1"
    items: ClassVar[tuple[str, ...]] = ("graphs",)
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "it trains nothing"

    kernel: Annotated[
        str,
        OneOf(
            "wl", "shortest_path", "graphlet", "random_walk", "multiscale_laplacian", "vertex_edge"
        ),
    ] = "wl"
    iterations: Count = 5
    graphlet_nodes: Annotated[int, Range(least=3, most=5)] = 5
    samples: Count = 100
    decay: Annotated[float, Range(above=0, below=1)] = 0.9

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """Z (G×rank), not trained on anything.

        Raises:
            Unsupported: GraKeL is not installed, or the matrix is not positive semi-definite.
        """

        def encode(other: Data) -> Tensor:
            return factor(self.matrix(other, rng), self.kernel).to(graph.x.device)

        z = encode(graph).float()
        return Embedding(z, geometry="cosine", encode=encode, remarks=self._noise())

    def _noise(self) -> list[str]:
        if self.kernel != "graphlet" or self.samples >= ENOUGH:
            return []
        return [
            f"{self.samples} samples of a graph leave noise in its row of the kernel; kernels of"
            f" two seeds agree with method.samples={ENOUGH} (docs/choices.md)"
        ]

    def matrix(self, graph: Data, rng: Streams) -> np.ndarray:
        """The normalised kernel matrix of a collection (G×G), float64.

        Raises:
            Unsupported: GraKeL is not installed, and the kernel needs it.
        """
        if self.kernel == "graphlet":
            seed = rng.integer("kernel")
            return _normalised(common_graphlets(graph, self.graphlet_nodes, self.samples, seed))
        if self.kernel == "vertex_edge":
            return _normalised(_vertex_edge(graph))
        if self.kernel == "random_walk":
            return _normalised(common_walks(graph, self.decay))
        if self.kernel == "shortest_path":
            return _normalised(common_paths(graph))
        return _normalised(self._by_grakel(graph, rng))

    def _by_grakel(self, graph: Data, rng: Streams) -> np.ndarray:
        kernels = _grakel()
        seed = rng.integer("kernel")
        make: dict[str, Callable[[], Any]] = {
            "wl": lambda: kernels.WeisfeilerLehman(
                n_iter=self.iterations,
                base_graph_kernel=kernels.VertexHistogram,
            ),
            "multiscale_laplacian": lambda: kernels.MultiscaleLaplacian(random_state=seed),
        }
        vectors = self.kernel == "multiscale_laplacian"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found: np.ndarray = make[self.kernel]().fit_transform(labelled_graphs(graph, vectors))
        return found


def factor(matrix: np.ndarray, name: str) -> Tensor:
    """Z (G×rank), float64, with ZZᵀ the matrix (G×G); one column of zeros where no graph has
    anything that the kernel counts.

    Raises:
        Unsupported: the matrix has entries that are not finite, or is not positive semi-definite.
    """
    if not np.isfinite(matrix).all():
        raise Unsupported(
            f"the kernel '{name}' has values that are not finite on this collection; choose another"
            " one with method.kernel=wl"
        )
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -INDEFINITE * values[-1]:
        raise Unsupported(
            f"the matrix of the kernel '{name}' is not positive semi-definite: its eigenvalues go"
            f" from {values[0]:.3g} to {values[-1]:.3g}; choose another one with method.kernel=wl"
        )
    kept = values > NEGLIGIBLE * values[-1]
    kept[-1] = True  # a matrix of zeros would keep none
    return torch.from_numpy((vectors[:, kept] * np.sqrt(values[kept]))[:, ::-1].copy())


def _grakel() -> Any:
    """GraKeL's kernels.

    Raises:
        Unsupported: they cannot be imported.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import grakel.kernels
    except ImportError as error:
        here = ".".join(map(str, sys.version_info[:2]))
        last = ".".join(map(str, LAST_PYTHON))
        advice = (
            "pip install 'gclbench[kernels]'"
            if sys.version_info[:2] <= LAST_PYTHON
            else f"it has no release for Python {here}; use one up to {last}"
        )
        raise Unsupported(
            f"this kernel needs GraKeL, which is not installed: {advice}."
            " method.kernel=vertex_edge, shortest_path, graphlet and random_walk do without"
        ) from error
    return grakel.kernels


def _vertex_edge(graph: Data) -> np.ndarray:
    """Inner products of the histograms of node labels and of pairs of labels at edges (G×G)."""
    labels = node_labels(graph)
    graphs, kinds = graph.items, int(labels.max()) + 1
    member = graph.graph_of.cpu().numpy()
    vertices = _counted(member, labels, (graphs, kinds))
    edges = edges_by_labels(graph, labels)
    joined = _counted(edges[0], edges[1], (graphs, kinds * kinds))
    both = scipy.sparse.hstack([vertices, joined]).tocsr()
    product: np.ndarray = (both @ both.T).toarray()
    return product


def _counted(
    rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]
) -> scipy.sparse.csr_matrix:
    return scipy.sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()


def _normalised(matrix: np.ndarray) -> np.ndarray:
    """Divided by the roots of its diagonal; a graph that has nothing a kernel counts, such as a
    single node without paths, gets zeros: it is like no graph."""
    diagonal = matrix.diagonal()
    scale = np.where(diagonal > 0, diagonal, np.inf) ** -0.5
    divided = matrix * scale * scale[:, None]
    return (divided + divided.T) / 2
