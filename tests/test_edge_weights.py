"""Weights of edges: k parallel edges and an edge of weight k are one to whatever reads weights,
and nothing leaves them out unsaid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from filters.push_in_order import push_in_order
from small_embeddings import embedding

from gclbench.component.registry import METHODS, NEGATIVES
from gclbench.contrast.centrality import CENTRALITIES
from gclbench.filters.agc import AgcFilter
from gclbench.filters.gnnbp import GnnBP
from gclbench.filters.kernels.backend import CpuPath
from gclbench.filters.laplacian import Laplacian
from gclbench.filters.operator import Operator
from gclbench.filters.ssgc import SsgcFilter
from gclbench.graph import Graph, Unsupported, make_graph
from gclbench.methods.deepwalk import random_walks
from gclbench.negatives.mmix import Mmix
from gclbench.nn.sparse import Adjacency
from gclbench.run.abilities import able
from gclbench.tasks import cluster_metrics
from gclbench.tasks.link_prediction import LinkPrediction
from gclbench.training.streams import Streams

NODES = 60


def both() -> tuple[Graph, Graph]:
    """One graph with weights 1 to 3, and with so many parallel edges; its last node has none."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.integers(1, 4, (NODES, NODES)) * (rng.random((NODES, NODES)) < 0.08), 1)
    upper[:, -1] = 0
    pairs = np.stack(np.nonzero(upper))
    counts = upper[tuple(pairs)]
    y = np.arange(NODES) % 2
    x = (rng.normal(size=(NODES, 6)) + y[:, None]).astype(np.float32)
    return (
        make_graph(x, pairs, y, "g", undirected=True, edge_weight=counts),
        make_graph(x, np.repeat(pairs, counts, axis=1), y, "g", multiple=True),
    )


WEIGHTED, PARALLEL = both()


def scaled(graph: Graph, factor: float) -> Graph:
    return make_graph(
        graph.x, graph.edge_index, graph.y, "g", edge_weight=graph.edge_weight * factor
    )


# --- the same as parallel edges


def test_the_filters() -> None:
    for component in (
        AgcFilter(order=3),
        SsgcFilter(order=3),
        SsgcFilter(order=3, self_loops=False),
        Laplacian(order=3),
        *(GnnBP(alpha=0.2, solver=solver) for solver in ("series", "chebyshev", "push")),
        *(GnnBP(alpha=0.2, rrz=0.5, self_loops=loops) for loops in (True, False)),
    ):
        found, expected = (component.apply(graph).x for graph in (WEIGHTED, PARALLEL))
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("solver", ["series", "chebyshev", "push"])
@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("factor", [1e-3, 0.37, 1e3])
def test_gnnbp_by_a_dense_solve(solver: str, loops: bool, factor: float) -> None:
    graph, alpha, r = scaled(WEIGHTED, factor), 0.2, 0.4
    a = torch.zeros(NODES, NODES, dtype=torch.float64)
    a[graph.edge_index[0], graph.edge_index[1]] = graph.edge_weight.double()
    a += loops * torch.eye(NODES, dtype=torch.float64)
    d = a.sum(dim=1)
    d = torch.where(d > 0, d, 1.0)[:, None]
    system = torch.eye(NODES, dtype=torch.float64) - (1 - alpha) * a / d
    expected = alpha * d**r * torch.linalg.solve(system, graph.x.double() * d**-r)
    filtered = GnnBP(alpha, r, r_max=1e-7, self_loops=loops, solver=solver, tol=1e-6).apply(graph)
    scale = float(expected.abs().max())
    assert float((filtered.x - expected).abs().max()) < 1e-4 * scale
    if solver != "push":
        error = ((filtered.x - expected) * d ** (0.5 - r)).norm() / (
            expected * d ** (0.5 - r)
        ).norm()
        assert float(error) <= filtered.report["error_bound"]


@pytest.mark.slow
def test_the_push_node_by_node() -> None:
    operator = Operator(WEIGHTED.edge_index, NODES, True, WEIGHTED.edge_weight)
    column = WEIGHTED.x[:, 0]
    one = push_in_order(operator, column, 0.2, 0.4, 1e-8)
    filtered = GnnBP(0.2, solver="push", r_max=1e-8).apply(WEIGHTED).x[:, 0]
    torch.testing.assert_close(filtered.double(), one, rtol=1e-4, atol=1e-5)


def test_the_filter_without_mkl(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = GnnBP(0.2).apply(WEIGHTED).x
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    operator = Operator(WEIGHTED.edge_index, NODES, True, WEIGHTED.edge_weight)
    assert "embedding_bag" in CpuPath(operator).name
    torch.testing.assert_close(GnnBP(0.2).apply(WEIGHTED).x, expected, rtol=1e-4, atol=1e-5)


def test_a_graph_on_a_gpu_is_filtered_by_the_processor(caplog: pytest.LogCaptureFixture) -> None:
    assert torch.equal(GnnBP(0.2).apply(WEIGHTED, "cuda").x, GnnBP(0.2).apply(WEIGHTED).x)
    assert "its kernel has no place for edge weights" in caplog.text


def test_views_carry_the_weights_of_the_edges_that_they_keep() -> None:
    keep = torch.arange(WEIGHTED.edge_index.shape[1]) % 3 > 0
    entries = Adjacency(WEIGHTED.edge_index, NODES, WEIGHTED.edge_weight)
    a = torch.eye(NODES)
    source, target = WEIGHTED.edge_index[:, keep]
    a[target, source] = WEIGHTED.edge_weight[keep]
    d = a.sum(dim=1).rsqrt()
    matrix = entries.normalised(keep)
    torch.testing.assert_close(matrix.matrix.to_dense(), d[:, None] * a * d)
    torch.testing.assert_close(matrix.transposed.to_dense(), (d[:, None] * a * d).T)


DETERMINED = ("dgi", "local_gcl", "mvgrl", "gcn", "jknet", "chebyshev", "label_propagation", "sdcn")


@pytest.mark.parametrize("method", [*DETERMINED, "agc", "ssgc"])
def test_methods_take_a_weight_for_as_many_edges(method: str) -> None:
    """Those that draw no edges, and so draw alike of both graphs."""
    found, expected = (embedding(graph, f"method={method}") for graph in (WEIGHTED, PARALLEL))
    if method == "agc":  # the sign of a singular vector is open
        found, expected = found.abs(), expected.abs()
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", CENTRALITIES)
def test_centralities(name: str) -> None:
    found = CENTRALITIES[name](WEIGHTED.edge_index, NODES, WEIGHTED.edge_weight)
    torch.testing.assert_close(found, CENTRALITIES[name](PARALLEL.edge_index, NODES))


def test_walks_go_along_strong_edges() -> None:
    """As often from node 0 to each neighbour as its edge's share of the weights."""
    edges = np.array([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
    weight = np.array([1.0, 2, 7, 1, 2, 7])
    walks = random_walks(edges, 4, 5000, 2, np.random.default_rng(0), weight)
    from_hub = np.bincount(walks[walks[:, 0] == 0, 1], minlength=4) / 5000
    assert from_hub == pytest.approx([0, 0.1, 0.2, 0.7], abs=0.03)
    assert set(walks[walks[:, 0] > 0, 1]) == {0}


@pytest.mark.parametrize("name", ["modularity", "conductance", "pooled_conductance"])
def test_metrics_of_clusters(name: str) -> None:
    metric, clusters = getattr(cluster_metrics, name), np.arange(NODES) % 3
    found = metric(WEIGHTED.edge_index.numpy(), clusters, WEIGHTED.edge_weight.numpy())
    assert found == pytest.approx(metric(PARALLEL.edge_index.numpy(), clusters), abs=1e-12)
    assert found != pytest.approx(metric(WEIGHTED.edge_index.numpy(), clusters), abs=1e-3)


def test_link_prediction_hides_an_edge_with_its_weight() -> None:
    task = LinkPrediction(val_fraction=0.1, test_fraction=0.2)
    visible = task.hide(WEIGHTED, task.split(WEIGHTED, Streams(0)))
    assert 0 < visible.edge_index.shape[1] < WEIGHTED.edge_index.shape[1]
    weight_of = {
        pair: weight
        for *pair, weight in zip(*WEIGHTED.edge_index.tolist(), WEIGHTED.edge_weight.tolist())
        for pair in [tuple(pair)]
    }
    pairs = list(zip(*visible.edge_index.tolist(), strict=True))
    assert [weight_of[pair] for pair in pairs] == visible.edge_weight.tolist()
    assert visible.repairs == WEIGHTED.repairs


# --- never left out in silence

TAKING = able(METHODS, "takes_weights")


@pytest.mark.parametrize("method", [name for name in TAKING if name != "deepwalk"])
def test_who_says_that_it_takes_weights_does_or_reads_no_edges(method: str) -> None:
    plain = make_graph(WEIGHTED.x, WEIGHTED.edge_index, WEIGHTED.y, "g")
    other = make_graph(WEIGHTED.x, (WEIGHTED.edge_index * 7 + 1) % NODES, WEIGHTED.y, "g")
    asked = (f"method={method}", "filter=none")
    found = [embedding(graph, *asked) for graph in (WEIGHTED, plain, other)]
    assert not torch.equal(found[0], found[1]) or torch.equal(found[1], found[2])


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        (("method=gat",), "'g' has edge weights, and method=gat does not use them"),
        (("method=graphcl_nodes",), "method=graphcl_nodes does not use them; dataset.weights=ign"),
        (("method=grace", "negatives=homogcl"), "negatives=homogcl does not use .* uniform$"),
        (("method=mvgrl", "negatives=mmix", "method.objective=nodes"), "negatives=mmix does not"),
    ],
)
def test_who_does_not_refuses(overrides: tuple[str, ...], text: str) -> None:
    with pytest.raises(Unsupported, match=text):
        embedding(WEIGHTED, *overrides)


def test_who_does_not_say_is_taken_not_to() -> None:
    assert "gcn" in TAKING and "kmeans" in TAKING and "gat" not in TAKING and "gin" not in TAKING
    assert not {"homogcl", "grape", "grace_plus", "mmix"} & {*able(NEGATIVES, "takes_weights")}
    assert Mmix(scope="all").takes_weights


def test_a_run_of_the_shell(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    from gclbench.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    graph = WEIGHTED
    arrays = {"x": graph.x, "edge_index": graph.edge_index, "y": graph.y}
    np.savez("g.npz", **arrays, edge_weight=graph.edge_weight)
    own = ("dataset=custom", "dataset.path=g.npz", "task=clustering")
    assert main(["show", *own[:2]]) == 0
    assert "weights       [1.0, 3.0]" in capsys.readouterr().out
    assert main(["method=graphcl_nodes", "method.epochs=2", *own]) == 1
    assert "dataset.weights=ignore runs it on the edges without" in capsys.readouterr().out
    command = ["-m", "method=dgi", "method.epochs=2", "dataset.weights=use,ignore", *own]
    assert main(command) == 0
    said = capsys.readouterr()
    assert "g: The edges' weights are ignored (dataset.weights=ignore)." in said.err
    rows = [line for line in said.out.splitlines() if " dgi" in line]
    assert any("dataset.weights=ignore" in row for row in rows), said.out
