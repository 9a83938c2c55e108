"""Amazon, Coauthor and CitationFull graphs: `.npz` files of two sparse matrices and labels.

Sources: Shchur et al., Pitfalls of Graph Neural Network Evaluation, 2018 (Amazon, Coauthor);
Bojchevski and Günnemann, Deep Gaussian Embedding of Graphs, ICLR 2018 (CitationFull).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse

from gclbench.component.registry import DATASETS
from gclbench.component.settings import OneOf, SameIdAtDefault
from gclbench.data import catalog, mirror
from gclbench.data.capacity import check_capacity
from gclbench.data.damage import DAMAGED_ZIP
from gclbench.graph import Graph, GraphError, make_graph

AS_STORED = (
    "Each stored entry is an edge of its own (A + Aᵀ): an edge stored in both directions is there"
    " twice."
)


def read_npz(
    path: Path,
    name: str,
    repairs: tuple[str, ...] = (),
    binary: bool = True,
    as_stored: bool = False,
) -> Graph:
    """A graph from an `.npz` with `adj_*` and `attr_*` (data, indices, indptr, shape) and `labels`.

    Args:
        repairs: sentences to record first.
        binary: positive features become 1, as in torch_geometric's reader; else they stay as the
            file has them.
        as_stored: the graph is A + Aᵀ of the stored entries, a multigraph, which `repairs` says;
            else its edges are distinct.

    Raises:
        GraphError: a damaged file, a missing member, or matrices that do not fit together.
    """
    try:
        with np.load(path, allow_pickle=False) as members:
            features = csr_of(members, "attr", name).astype(np.float32)
            check_capacity(features.shape[0], features.shape[1], name)
            adjacency = csr_of(members, "adj", name).tocoo()
            labels = members["labels"]
    except (OSError, *DAMAGED_ZIP) as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError(f"{path} cannot be read as the graph '{name}': {error}") from error
    if adjacency.shape[0] != adjacency.shape[1] or adjacency.shape[0] != features.shape[0]:
        raise GraphError(
            f"'{name}': an adjacency matrix of shape {adjacency.shape} and features of shape"
            f" {features.shape} do not fit together"
        )
    features.sum_duplicates()
    if binary:
        features.data[features.data > 0] = 1.0
    return make_graph(
        features,
        np.stack([adjacency.row, adjacency.col]),
        labels,
        name,
        repairs=(*repairs, AS_STORED) if as_stored else repairs,
        multiple=as_stored,
    )


def csr_of(members: Mapping[str, Any], prefix: str, name: str) -> scipy.sparse.csr_matrix:
    """The csr matrix stored under `<prefix>_data`, `_indices`, `_indptr`, `_shape`.

    Raises:
        GraphError: members that make no csr matrix.
        KeyError: a missing member.
    """
    data, indices, indptr, shape = (
        members[f"{prefix}_{part}"] for part in ("data", "indices", "indptr", "shape")
    )
    try:
        matrix = scipy.sparse.csr_matrix(
            (data, indices, indptr), shape=tuple(int(size) for size in np.ravel(shape))
        )
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise GraphError(
            f"'{name}': {prefix}_data, {prefix}_indices, {prefix}_indptr and {prefix}_shape make no"
            f" csr matrix: {error}"
        ) from error
    return matrix


def _load(name: str, features: str = "binary", edges: str = "simple") -> Graph:
    (located,) = mirror.resolve(catalog.info(name))
    return read_npz(
        located.path,
        name,
        (located.remark,) if located.remark else (),
        binary=features == "binary",
        as_stored=edges == "as_stored",
    )


@DATASETS.register("amazon_photo")
@dataclass(frozen=True)
class AmazonPhoto:
    """Amazon Photo co-purchase graph, 7650 products in 8 categories

    Attributes:
        edges: `simple`, the distinct undirected edges; or `as_stored`, every entry of the file, so
            that an edge stored in both directions is there twice (docs/choices.md).
    """

    edges: Annotated[str, OneOf("simple", "as_stored"), SameIdAtDefault()] = "simple"

    def load(self) -> Graph:
        """The graph. Raises DataUnavailable without the file."""
        return _load("amazon_photo", edges=self.edges)


@DATASETS.register("amazon_computers")
@dataclass(frozen=True)
class AmazonComputers:
    """Amazon Computers co-purchase graph, 13752 products in 10 categories

    Attributes:
        edges: as for Amazon Photo.
    """

    edges: Annotated[str, OneOf("simple", "as_stored"), SameIdAtDefault()] = "simple"

    def load(self) -> Graph:
        """The graph. Raises DataUnavailable without the file."""
        return _load("amazon_computers", edges=self.edges)


@DATASETS.register("coauthor_cs")
@dataclass(frozen=True)
class CoauthorCS:
    """Coauthor CS graph, 18333 authors in 15 fields

    Attributes:
        features: `counts` of keywords (1 to 105), as the file has them and the DMAT paper seems to
            use them (docs/choices.md); `binary` makes them 0/1, as torch_geometric's reader does.
    """

    features: Annotated[str, OneOf("counts", "binary")] = "counts"

    def load(self) -> Graph:
        """The graph. Raises DataUnavailable without the file."""
        return _load("coauthor_cs", self.features)


@DATASETS.register("coauthor_phy")
@dataclass(frozen=True)
class CoauthorPhysics:
    """Coauthor Physics graph, 34493 authors in 5 fields (1.2 GB of features)

    Attributes:
        features: `counts` of keywords (1 to 98), as the file has them, or `binary`, as
            torch_geometric's reader makes them.
    """

    features: Annotated[str, OneOf("counts", "binary")] = "counts"

    def load(self) -> Graph:
        """The graph. Raises DataUnavailable without the file."""
        return _load("coauthor_phy", self.features)


@DATASETS.register("dblp_citation")
@dataclass(frozen=True)
class DBLPCitation:
    """DBLP citation graph (CitationFull), 17716 papers in 4 topics"""

    def load(self) -> Graph:
        """The graph. Raises DataUnavailable without the file."""
        return _load("dblp_citation")
