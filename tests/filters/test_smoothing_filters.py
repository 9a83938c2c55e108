"""agc, ssgc and laplacian against dense matrix powers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gclbench.filters import symmetric
from gclbench.filters.agc import AgcFilter
from gclbench.filters.laplacian import Laplacian
from gclbench.filters.ssgc import SsgcFilter
from gclbench.graph import Graph, make_graph

NODES, FEATURES = 11, 6


@pytest.fixture
def graph() -> Graph:
    rng = np.random.default_rng(0)
    pairs = np.argwhere(np.triu(rng.random((NODES, NODES)) < 0.3, 1)).T
    pairs = pairs[:, (pairs != 4).all(axis=0)]  # node 4 is isolated
    x = rng.normal(size=(NODES, FEATURES)).astype(np.float32)
    x[2] = 0
    return make_graph(x, pairs, None, "small", undirected=True)


def dense(graph: Graph, self_loops: bool) -> torch.Tensor:
    a = torch.zeros(NODES, NODES, dtype=torch.float64)
    a[graph.edge_index[0], graph.edge_index[1]] = 1
    a += torch.eye(NODES, dtype=torch.float64) * self_loops
    a += torch.diag((a.sum(dim=1) == 0).double())
    scale = a.sum(dim=1).rsqrt()
    return scale[:, None] * a * scale


@pytest.fixture(params=[1 << 24, NODES * 2 + 1], ids=["at once", "in slices"])
def slices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symmetric, "SLICE_ENTRIES", request.param)


@pytest.mark.usefixtures("slices")
def test_laplacian_and_agc_are_powers_of_one_matrix(graph: Graph) -> None:
    s, identity = dense(graph, True), torch.eye(NODES, dtype=torch.float64)
    for component, strength in (
        (Laplacian(order=5), 2 / 3),
        (Laplacian(order=5, strength=0.3), 0.3),
        (AgcFilter(order=5), 0.5),
    ):
        step = identity - strength * (identity - s)
        filtered = component.apply(graph)
        torch.testing.assert_close(
            filtered.x.double(),
            torch.linalg.matrix_power(step, 5) @ graph.x.double(),
            rtol=1e-5,
            atol=1e-6,
        )
        assert filtered.report["sweeps"] == 5


@pytest.mark.usefixtures("slices")
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
def test_ssgc_is_a_mean_of_powers(graph: Graph, self_loops: bool, normalize: bool) -> None:
    s, x = dense(graph, self_loops), graph.x.double()
    if normalize:
        x = x / x.abs().sum(dim=1, keepdim=True).clamp(min=1e-300)
    expected = 0.2 * x + 0.8 * sum(torch.linalg.matrix_power(s, k) @ x for k in (1, 2, 3)) / 3
    component = SsgcFilter(order=3, alpha=0.2, self_loops=self_loops, normalize_features=normalize)
    torch.testing.assert_close(component.apply(graph).x.double(), expected, rtol=1e-5, atol=1e-6)


def test_isolated_nodes(graph: Graph) -> None:
    """They keep what they have, also where there are no self-loops."""
    alone = SsgcFilter(order=3, alpha=0.0, self_loops=False, normalize_features=False)
    for component in (Laplacian(order=3), AgcFilter(order=3), alone):
        torch.testing.assert_close(component.apply(graph).x[4], graph.x[4])
    # Without any edge nothing is smoothed at all.
    bare = make_graph(graph.x, torch.empty(2, 0, dtype=torch.long), None, "bare")
    torch.testing.assert_close(Laplacian().apply(bare).x, bare.x)
    torch.testing.assert_close(SsgcFilter(normalize_features=False).apply(bare).x, bare.x)


def test_order_zero_and_the_graph_are_left_alone(graph: Graph) -> None:
    before = graph.x.clone()
    assert torch.equal(Laplacian(order=0).apply(graph).x, before)
    for component in (Laplacian(), AgcFilter(), SsgcFilter()):
        component.apply(graph)
    assert torch.equal(graph.x, before)
