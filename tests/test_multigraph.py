"""Parallel edges: whatever reads edges against the dense adjacency matrix that counts them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from gclbench.contrast.centrality import CENTRALITIES, edge_dropping
from gclbench.data.graph_counts import degree, describe_graph
from gclbench.filters.gnnbp import GnnBP
from gclbench.filters.operator import Operator
from gclbench.filters.symmetric import SymmetricAdjacency
from gclbench.graph import Graph, make_graph, with_features
from gclbench.methods.deepwalk import random_walks
from gclbench.methods.dgi import Dgi
from gclbench.methods.sdcn import row_normalised
from gclbench.negatives.shares import AmongNeighbours, Neighbourhoods
from gclbench.nn.sparse import Adjacency, edges_among
from gclbench.tasks.cluster_metrics import conductance, modularity, pooled_conductance
from gclbench.tasks.link_prediction import LinkPrediction
from gclbench.training.streams import Streams

NODES = 14


def weighted(nodes: int = NODES) -> Tensor:
    """A symmetric matrix of the numbers 0 to 3; the last node has no edge."""
    generator = torch.Generator().manual_seed(0)
    counts = torch.randint(1, 4, (nodes, nodes), generator=generator)
    upper = (counts * (torch.rand(nodes, nodes, generator=generator) < 0.3)).triu(1)
    upper[:, -1] = 0
    return (upper + upper.T).double()


def multigraph(a: Tensor) -> Graph:
    """Every edge given one way or the other, in no order."""
    u, v = a.triu(1).nonzero().T
    pairs = torch.stack([u, v]).repeat_interleave(a[u, v].long(), dim=1)
    generator = torch.Generator().manual_seed(1)
    pairs = pairs[:, torch.randperm(pairs.shape[1], generator=generator)]
    pairs[:, ::2] = pairs[:, ::2].flip(0)
    x = torch.randn(len(a), 5, generator=generator)
    return make_graph(x, pairs, torch.arange(len(a)) % 3, "multi", multiple=True)


A = weighted()
GRAPH = multigraph(A)
EDGES = GRAPH.edge_index
LOOPED = A + torch.eye(NODES, dtype=torch.float64)


def times_identity(matrix: Tensor) -> Tensor:
    """A sparse matrix as its products see it: repeated entries add up."""
    return torch.sparse.mm(matrix, torch.eye(matrix.shape[1], dtype=matrix.dtype)).double()


def normalised(matrix: Tensor) -> Tensor:
    scale = matrix.sum(dim=1).clamp(min=1).rsqrt()
    return scale[:, None] * matrix * scale


def test_the_entries_are_sorted_both_ways_and_add_up_to_the_matrix() -> None:
    assert set(A.unique().tolist()) == {0, 1, 2, 3}
    keys = EDGES[0] * NODES + EDGES[1]
    assert bool((keys[1:] >= keys[:-1]).all()) and EDGES.dtype == torch.int64
    found = torch.zeros(NODES, NODES, dtype=torch.float64)
    assert torch.equal(
        found.index_put((EDGES[0], EDGES[1]), torch.ones(()).double(), accumulate=True), A
    )
    assert GRAPH.repairs == ()
    counts = describe_graph(GRAPH)
    assert counts["edges"] == A.sum() / 2 and counts["pairs"] == (A > 0).sum() / 2
    assert torch.equal(degree(GRAPH).double(), A.sum(dim=1))


def test_it_is_another_graph_than_the_simple_one_and_a_simple_one_stays_itself() -> None:
    simple = make_graph(GRAPH.x, EDGES, GRAPH.y, "multi")
    assert simple.content_hash != GRAPH.content_hash
    once = EDGES[:, EDGES[0] < EDGES[1]].unique(dim=1)
    again = make_graph(GRAPH.x, once, GRAPH.y, "multi", multiple=True)
    assert again.content_hash == simple.content_hash


def test_loops_are_dropped_and_counted() -> None:
    graph = make_graph(np.eye(3), [[0, 1, 1, 2], [1, 0, 1, 1]], None, "g", multiple=True)
    assert graph.edge_index.tolist() == [[0, 0, 1, 1, 1, 2], [1, 1, 0, 0, 2, 1]]
    assert graph.repairs == ("1 self-loop(s) dropped.",)


@pytest.mark.parametrize("self_loops", [True, False])
def test_the_filters_operators(self_loops: bool) -> None:
    matrix = LOOPED if self_loops else A
    operator = Operator(EDGES, NODES, self_loops)
    here = matrix[operator.order][:, operator.order]
    assert torch.equal(operator.degree, here.sum(dim=1))
    torch.testing.assert_close(
        times_identity(operator.transition(torch.float64)),
        here / operator.safe_degree[:, None],
    )
    torch.testing.assert_close(times_identity(operator.symmetric()), normalised(here))
    symmetric = matrix.clone()
    if not self_loops:
        symmetric[-1, -1] = 1
    torch.testing.assert_close(
        SymmetricAdjacency(EDGES, NODES, self_loops).product(torch.eye(NODES)).double(),
        normalised(symmetric),
        rtol=1e-6,
        atol=1e-7,
    )


@pytest.mark.parametrize("solver", ["series", "chebyshev", "push"])
def test_gnnbp(solver: str) -> None:
    d = LOOPED.sum(dim=1)
    p = LOOPED / d[:, None]
    alpha, r = 0.2, 0.4
    scaled = GRAPH.x.double() / d[:, None] ** r
    dense = alpha * torch.linalg.solve(torch.eye(NODES).double() - (1 - alpha) * p, scaled)
    found = GnnBP(alpha=alpha, rrz=r, r_max=1e-8, solver=solver, tol=1e-6).apply(GRAPH)
    torch.testing.assert_close(found.x.double(), dense * d[:, None] ** r, rtol=1e-4, atol=1e-5)
    if solver != "push":
        assert found.report["error_bound"] < 1e-5


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_propagation_inside_networks_and_dropped_entries(share: float) -> None:
    keep = torch.rand(EDGES.shape[1], generator=torch.Generator().manual_seed(2)) >= share
    matrix = torch.eye(NODES, dtype=torch.float64)
    for (sender, receiver), stays in zip(EDGES.T.tolist(), keep.tolist(), strict=True):
        matrix[receiver, sender] += stays
    found = Adjacency(EDGES, NODES).normalised(keep if share else None)
    scale = matrix.sum(dim=1).rsqrt()
    dense = scale[:, None] * matrix * scale
    torch.testing.assert_close(times_identity(found.matrix), dense, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(times_identity(found.transposed), dense.T, rtol=1e-5, atol=1e-6)
    kept = (matrix - torch.eye(NODES).double())[A.T > 1]
    assert not share or bool(((kept > 0) & (kept < A[A > 1])).any()), "copies drop on their own"


def test_propagation_of_dgi_and_sdcn() -> None:
    model = Dgi(hidden=4).model(GRAPH, torch.full((NODES,), -1), Streams(0))
    torch.testing.assert_close(
        times_identity(model.propagation.matrix), normalised(LOOPED), rtol=1e-5, atol=1e-6
    )
    rows = row_normalised(EDGES, NODES)
    dense = LOOPED / LOOPED.sum(dim=1, keepdim=True)
    torch.testing.assert_close(times_identity(rows.matrix), dense, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(times_identity(rows.transposed), dense.T, rtol=1e-5, atol=1e-6)


def test_centralities() -> None:
    d = A.sum(dim=1)
    walk = A / d.clamp(min=1)
    values, vectors = torch.linalg.eigh(A)
    assert values[-1] > values[-2] + 0.1
    expected = {
        "degree": d,
        "pagerank": torch.linalg.solve(torch.eye(NODES) - 0.85 * walk, torch.ones(NODES).double()),
        "eigenvector": vectors[:, -1].abs() + 1e-8,
    }
    for name, measure in CENTRALITIES.items():
        torch.testing.assert_close(measure(EDGES, NODES), expected[name], rtol=1e-6, atol=1e-8)
    # Each copy has its sink's probability, and the mean is over copies.
    s = d.clamp(min=1).log()
    mean = (A * s).sum() / A.sum()
    torch.testing.assert_close(
        edge_dropping(d.clamp(min=1), EDGES), ((s.max() - s) / (s.max() - mean))[EDGES[1]]
    )


def test_the_quality_of_a_partition() -> None:
    clusters = np.arange(NODES) % 3
    member = torch.nn.functional.one_hot(torch.from_numpy(clusters), 3).double()
    blocks = member.T @ A @ member
    volume, inside = blocks.sum(dim=1), blocks.diagonal()
    edges = EDGES.numpy()
    assert modularity(edges, clusters) == pytest.approx(
        float((inside / A.sum() - (volume / A.sum()) ** 2).sum())
    )
    assert conductance(edges, clusters) == pytest.approx(float((1 - inside / volume).mean()))
    assert pooled_conductance(edges, clusters) == pytest.approx(float(1 - inside.sum() / A.sum()))


def test_a_walk_takes_a_neighbour_as_often_as_it_has_edges_to_it() -> None:
    walks = random_walks(EDGES.numpy(), NODES, 4000, 2, np.random.default_rng(0))
    steps = torch.zeros(NODES, NODES, dtype=torch.float64)
    steps.index_put_(tuple(torch.from_numpy(walks.T)), torch.ones(()).double(), accumulate=True)
    expected = A / A.sum(dim=1, keepdim=True).clamp(min=1)
    torch.testing.assert_close(steps / 4000, expected, rtol=0, atol=0.04)
    assert not steps[-1].any()


@pytest.mark.parametrize("own", [None, 0.2])
def test_shares_in_mixtures(own: float | None) -> None:
    """A neighbour by k edges has k shares; rows and sums say the same."""
    near = Neighbourhoods(EDGES, NODES)
    score = torch.linspace(-1, 1, NODES * NODES, dtype=torch.float64).reshape(NODES, NODES)
    shares = AmongNeighbours(near, lambda _, anchor, other: score[anchor, other], own)
    weight = score.exp() * (LOOPED if own is None else A)
    rows = weight / weight.sum(dim=1, keepdim=True).clamp(min=1e-300)
    if own is not None:
        rows = (1 - own) * rows + own * torch.eye(NODES).double()
        rows[-1, -1] = 1
    torch.testing.assert_close(shares.rows(0, NODES), rows)
    z = torch.randn(NODES, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    torch.testing.assert_close(shares.mixture(z), rows @ z)


def test_entries_of_a_batch() -> None:
    batch = torch.tensor([7, 2, 5, 0, 9])
    found = torch.zeros(5, 5, dtype=torch.float64)
    found.index_put_(
        tuple(edges_among(EDGES, batch, NODES)), torch.ones(()).double(), accumulate=True
    )
    assert torch.equal(found, A[batch][:, batch])


def test_link_prediction_hides_a_pair_with_all_its_edges() -> None:
    a = weighted(40)
    graph, task = multigraph(a), LinkPrediction(val_fraction=0.1, test_fraction=0.2)
    split = task.split(graph, Streams(0))
    assert split.hash == task.split(with_features(graph, graph.x), Streams(0)).hash
    pairs = sum(split.parts[part].shape[1] for part in ("train_edges", "val_edges", "test_edges"))
    assert pairs == (a > 0).sum() / 2, "each pair once"
    shown = a.clone()
    for part in ("val_edges", "test_edges"):
        u, v = split.parts[part]
        assert bool((a[u, v] > 0).all()) and float(a[u, v].max()) > 1
        shown[u, v] = shown[v, u] = 0
        u, v = split.parts[part.replace("edges", "non_edges")]
        assert not a[u, v].any()
    visible = task.hide(graph, split)
    found = torch.zeros_like(a).index_put(
        tuple(visible.edge_index), torch.ones(()).double(), accumulate=True
    )
    assert torch.equal(found, shown)
    simple = make_graph(graph.x, graph.edge_index, graph.y, "multi")
    assert task.split(simple, Streams(0)).hash == split.hash
