"""AGC and SSGC written out with dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gclbench.graph import Graph, make_graph
from gclbench.methods import adaptive_smoothing
from gclbench.methods.agc import Agc
from gclbench.methods.clusters import Partition
from gclbench.methods.ssgc import Ssgc
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NODES, K = 60, 3


@pytest.fixture
def graph() -> Graph:
    rng = np.random.default_rng(0)
    y = np.arange(NODES) % K
    x = (np.eye(9)[y] + rng.normal(size=(NODES, 9)) * 0.9).astype(np.float32)
    near = np.triu(rng.random((NODES, NODES)) < np.where(y[:, None] == y, 0.12, 0.03), 1)
    return make_graph(x, np.argwhere(near).T, y, "blocks", undirected=True)


def adjacency(graph: Graph, loops: bool) -> np.ndarray:
    a = np.eye(NODES) * loops
    a[graph.edge_index[0], graph.edge_index[1]] = 1
    a[np.diag_indices(NODES)] += a.sum(axis=1) == 0
    scale = a.sum(axis=1) ** -0.5
    return scale[:, None] * a * scale


def halves(z: np.ndarray) -> np.ndarray:
    """A clustering that depends on products of rows only, as singular vectors have no sign, and on
    no chance."""
    near = z @ z[0]
    return (near > np.sort(near)[NODES // 2 - 1]).astype(np.int64)


@pytest.fixture(autouse=True)
def no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    def partition(z: torch.Tensor, k: int, n_init: int, seed: int) -> Partition:
        assert (k, n_init) == (K, 7)
        return Partition(torch.from_numpy(halves(z.double().numpy())), torch.zeros(0))

    monkeypatch.setattr(adaptive_smoothing, "partition", partition)


def tightness(x: np.ndarray, of: np.ndarray) -> float:
    return float(
        np.mean(
            [
                ((x[of == c] - x[of == c].mean(axis=0)) ** 2).sum(axis=1).mean()
                for c in np.unique(of)
            ]
        )
    )


def by_hand(graph: Graph, name: str, most: int) -> tuple[np.ndarray, list[float]]:
    s, x = adjacency(graph, name == "agc"), graph.x.double().numpy()
    kept, last, total, curve = None, np.inf, 0.0, []
    for _ in range(most):
        x = (x + s @ x) / 2 if name == "agc" else s @ x
        total = total + x
        u, values, _ = np.linalg.svd(x if name == "agc" else total, full_matrices=False)
        z = u[:, :K] if name == "agc" else u[:, :4] * values[:4]
        if name == "ssgc":
            z = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12)
        of = halves(z)
        curve.append(tightness(x if name == "agc" else z, of))
        if curve[-1] > last:
            break
        kept, last = z, curve[-1]
    assert kept is not None
    return kept, curve


METHODS = {"agc": Agc(repetitions=2, n_init=7), "ssgc": Ssgc(repetitions=2, n_init=7, dimensions=4)}


@pytest.mark.parametrize("name", ["agc", "ssgc"])
@pytest.mark.parametrize("most", [2, 60])
def test_the_order_at_which_the_spread_rises(graph: Graph, name: str, most: int) -> None:
    expected, curve = by_hand(graph, name, most)
    watch = Watch()
    method = type(METHODS[name])(**{**METHODS[name].__dict__, "max_order": most})
    found = method.fit(graph, torch.full((NODES,), -1), Streams(0), watch).z.numpy()
    seen = [value for _, value in watch.curve]
    assert seen == pytest.approx(curve, rel=1e-3)
    assert len(seen) == most or seen[-1] > seen[-2]
    assert most == 2 or name == "ssgc" or 2 < len(curve) < 60, "the rule is not tried"
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def test_ssgc_gives_the_smoothed_features_too(graph: Graph) -> None:
    s, x = adjacency(graph, False), graph.x.double().numpy()
    found = (
        Ssgc(max_order=2, n_init=7, dimensions=4, output="filtered")
        .fit(graph, torch.full((NODES,), -1), Streams(0), Watch())
        .z
    )
    _, curve = by_hand(graph, "ssgc", 2)
    assert curve[1] < curve[0], "else order 1 would be returned"
    np.testing.assert_allclose(found, (s @ x + s @ s @ x) / 2, atol=1e-5)
