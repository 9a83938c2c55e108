from __future__ import annotations

import numpy as np
import pytest
import torch

from gclbench.embedding import Embedding
from gclbench.graph import Graph, make_graph
from gclbench.tasks.embedding_rows import embedding_rows

Z = torch.tensor([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])


def graph(nodes: int, graphs: int | None = None) -> Graph:
    """Without edges; a collection where `graphs` is given."""
    graph_of = None if graphs is None else np.minimum(np.arange(nodes), graphs - 1)
    edges = np.empty((2, 0), dtype=np.int64)
    return make_graph(np.ones((nodes, 1)), edges, None, "g", graph_of=graph_of)


UNIT = np.array([[0.6, 0.8], [0.0, 0.0], [0.0, -1.0]], dtype=np.float32)


@pytest.mark.parametrize(
    "geometry,normalize,scaled",
    [
        ("euclidean", "auto", False),
        ("cosine", "auto", True),
        ("euclidean", "l2", True),
        ("cosine", "l2", True),
        ("cosine", "none", False),
        ("cosine", "standardize", False),
    ],
)
def test_rows_are_scaled_only_where_asked(geometry: str, normalize: str, scaled: bool) -> None:
    z = Z.clone().requires_grad_()
    rows = embedding_rows(Embedding(z, geometry), graph(3), normalize)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, UNIT if scaled else Z.numpy(), rtol=1e-6)
    assert torch.equal(z.detach(), Z)


def test_wrong_number_of_rows() -> None:
    with pytest.raises(
        ValueError,
        match=r"the embedding has shape \(3, 2\), but the graph has 5 nodes; .* a tensor 5×d",
    ):
        embedding_rows(Embedding(Z), graph(5))


def test_a_collection_has_a_row_for_each_graph() -> None:
    assert embedding_rows(Embedding(Z), graph(7, graphs=3)).shape == (3, 2)
    with pytest.raises(
        ValueError,
        match=r"the embedding has shape \(3, 2\), but the collection has 2 graphs; .* a tensor 2×d",
    ):
        embedding_rows(Embedding(Z), graph(3, graphs=2))


def test_values_that_are_not_finite() -> None:
    z = Z.clone()
    z[0, 0], z[2, 1] = float("nan"), float("inf")
    with pytest.raises(
        ValueError,
        match="NaN or infinite values in 2 of 3 rows; training diverged: lower method.lr",
    ):
        embedding_rows(Embedding(z), graph(3))


def test_numbers_whose_squares_are_no_float32() -> None:
    assert embedding_rows(Embedding(Z * 1e10), graph(3)).max() > 1e9
    with pytest.raises(ValueError, match=r"numbers up to .e\+30, whose squares float32 does not"):
        embedding_rows(Embedding(Z * 1e30), graph(3))
    with pytest.raises(ValueError, match=r"numbers up to .e\+30, whose squares float32 does not"):
        embedding_rows(Embedding((Z * 1e30).to_sparse_csr()), graph(3), sparse=True)
