"""The datasets that need no files: digits, sbm, rmat."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from gclbench.component.settings import bind, identity_of
from gclbench.data import rmat
from gclbench.data.digits import Digits, nearest_neighbours
from gclbench.data.graph_counts import degree, describe_graph
from gclbench.data.rmat import RMAT
from gclbench.data.sbm import SBM
from gclbench.graph import GraphError
from gclbench.machine import memory_map


def test_digits_joins_nearest_images() -> None:
    graph = Digits(neighbours=3).load()
    x = graph.x.double()
    distances = torch.cdist(x, x)
    distances.fill_diagonal_(float("inf"))
    joined = torch.zeros(1797, 1797, dtype=torch.bool)
    joined[graph.edge_index[0], graph.edge_index[1]] = True
    third = distances.topk(3, dim=1, largest=False).values[:, 2:]
    near, not_far = distances < third - 1e-9, distances <= third + 1e-9
    assert bool((joined >= (near | near.T)).all()) and bool((joined <= (not_far | not_far.T)).all())
    assert torch.equal(joined, joined.T) and graph.repairs == ()
    assert float(graph.x.max()) == 1.0


def test_neighbours_at_the_same_distance_come_by_index() -> None:
    points = np.array([[0], [2], [-2], [2], [4], [0]])
    assert nearest_neighbours(points, 3).tolist() == [
        [5, 1, 2],
        [3, 0, 4],
        [0, 5, 1],
        [1, 0, 4],
        [1, 3, 0],
        [0, 1, 2],
    ]


def test_neighbours_are_those_of_a_plain_search() -> None:
    points = np.random.default_rng(0).integers(0, 3, (40, 3))
    for i, row in enumerate(nearest_neighbours(points, 7)):
        order = sorted((int(((points[i] - points[j]) ** 2).sum()), j) for j in range(40) if j != i)
        assert row.tolist() == [j for _, j in order[:7]]


def test_digits_repeat() -> None:
    assert (
        Digits().load().content_hash
        == Digits().load().content_hash
        != Digits(neighbours=5).load().content_hash
    )


def test_sbm_has_the_asked_degree_homophily_and_signal() -> None:
    graph = SBM(nodes=4001, classes=5, features=16, degree=12, homophily=0.7, signal=3).load()
    counts = describe_graph(graph)
    assert counts["class_sizes"] == [801, 800, 800, 800, 800] and graph.repairs == ()
    # 24006 edges expected with standard deviation 155; the fraction inside has standard deviation
    # 0.003.
    assert abs(counts["mean_degree"] - 12) < 0.4
    inside = graph.y[graph.edge_index[0]] == graph.y[graph.edge_index[1]]
    assert abs(float(inside.double().mean()) - 0.7) < 0.015
    for c in range(5):
        members = graph.x[graph.y == c].double()
        # The mean of 800 unit normals in 16 dimensions is off by about sqrt(16/800) = 0.14.
        assert abs(float(members.mean(dim=0).norm()) - 3) < 0.25
        assert abs(float(members.var(dim=0).mean()) - 1) < 0.1


def test_sbm_degrees_do_not_depend_on_the_class() -> None:
    graph = SBM(nodes=4000, classes=4, degree=12, homophily=0.6).load()
    means = [float(degree(graph)[graph.y == c].double().mean()) for c in range(4)]
    assert max(means) - min(means) < 1


def test_sbm_pairs_of_a_class_are_equally_likely() -> None:
    counts = np.zeros((6, 6))
    for seed in range(400):
        graph = SBM(nodes=6, classes=1, features=1, degree=2, homophily=1, seed=seed).load()
        counts[graph.edge_index[0], graph.edge_index[1]] += 1
    # p_in = 0.4, so 160 of 400 with standard deviation 9.8.
    upper = counts[np.triu_indices(6, 1)]
    assert np.array_equal(counts, counts.T) and upper.min() > 115 and upper.max() < 205


def test_sbm_at_the_ends() -> None:
    whole = SBM(nodes=20, classes=2, degree=9, homophily=1).load()
    assert describe_graph(whole)["edges"] == 90, "two cliques of ten"
    bipartite = SBM(nodes=20, classes=2, degree=10, homophily=0).load()
    assert bool(
        (bipartite.y[bipartite.edge_index[0]] != bipartite.y[bipartite.edge_index[1]]).all()
    )
    assert describe_graph(bipartite)["edges"] == 100


def test_sbm_repeats_and_follows_its_seed() -> None:
    assert SBM().load().content_hash == SBM().load().content_hash != SBM(seed=1).load().content_hash


@pytest.mark.parametrize(
    ("cls", "values", "text"),
    [
        (
            SBM,
            {"nodes": 20, "classes": 2, "degree": 15},
            "needs 120 edges inside a class, where there are only 90 pairs; lower degree",
        ),
        (
            SBM,
            {"classes": 1, "homophily": 0.5},
            "needs 2500 edges between classes, where there are only 0 pairs",
        ),
        (SBM, {"nodes": 3}, "no more classes than nodes, not nodes=3 and classes=4"),
        (SBM, {"homophily": 1.5}, "dataset.homophily=1.5 is out of range"),
        (
            RMAT,
            {"scale": 5, "nodes": 16},
            "nodes=16 does not go with scale=5: it must be from 17 to 32",
        ),
        (RMAT, {"scale": 40}, "dataset.scale=40 is out of range"),
        (
            Digits,
            {"neighbours": 1797},
            "neighbours=1797 is too many: there are 1797 images, so at most 1796",
        ),
    ],
)
def test_values_that_make_no_graph(cls: type, values: dict[str, Any], text: str) -> None:
    errors: list[str] = []
    assert bind(cls, values, "dataset", errors) is None
    assert len(errors) == 1 and text in errors[0]


@pytest.mark.parametrize("chunk", [1000, 4096, 65_536, 65_537, 10**7])
def test_rmat_does_not_depend_on_the_chunk(chunk: int) -> None:
    fields = {"scale": 11, "edge_factor": 40, "features": 3, "nodes": 1500, "seed": 5}
    assert RMAT(**fields, chunk=chunk).load().content_hash == RMAT(**fields).load().content_hash
    assert identity_of(RMAT(**fields, chunk=chunk)) == identity_of(RMAT(**fields))


def test_rmat_any_range_is_a_piece_of_the_whole() -> None:
    graph = RMAT(scale=8, features=2)
    whole, rows = graph.edges(0, 200_000), graph.rows(0, 5000)
    for start, stop in ((0, 1), (65_530, 65_540), (1, 199_999)):
        assert np.array_equal(graph.edges(start, stop), whole[:, start:stop])
    assert np.array_equal(graph.rows(1020, 3333), rows[1020:3333])


def test_rmat_quadrants_have_the_graph500_probabilities() -> None:
    tails, heads = RMAT(scale=6).edges(0, 400_000)
    for bit in range(6):
        quadrant = np.bincount(2 * (tails >> bit & 1) + (heads >> bit & 1), minlength=4) / 400_000
        assert np.allclose(quadrant, [0.57, 0.19, 0.19, 0.05], atol=0.004), bit


def test_rmat_counts_every_draw() -> None:
    graph = RMAT(scale=9, edge_factor=8, features=2).load()
    dropped = sum(int(repair.split()[0]) for repair in graph.repairs)
    assert describe_graph(graph)["edges"] + dropped == 8 * 512
    assert graph.y is None and graph.x.shape == (512, 2)


def test_rmat_of_other_sizes_keeps_the_edge_factor() -> None:
    graph = RMAT(scale=10, nodes=600, edge_factor=4, features=2).load()
    dropped = sum(int(repair.split()[0]) for repair in graph.repairs)
    assert graph.num_nodes == 600 and describe_graph(graph)["edges"] + dropped == 4 * 600


def test_rmat_hubs_are_not_the_first_ids() -> None:
    degrees = degree(RMAT(scale=12, features=1).load())
    assert int(degrees.argmax()) > 16 and int(degrees.max()) > 20 * float(degrees.double().mean())


def test_rmat_features_and_seed() -> None:
    graph = RMAT(scale=12, features=8).load()
    assert abs(float(graph.x.mean())) < 0.03 and abs(float(graph.x.std()) - 1) < 0.03
    assert np.unique(graph.x.numpy(), axis=0).shape[0] == 4096, "blocks repeat"
    assert graph.content_hash != RMAT(scale=12, features=8, seed=1).load().content_hash


def test_rmat_features_that_are_large_for_the_memory_are_a_nameless_map(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fields = {"scale": 11, "edge_factor": 4, "features": 9, "nodes": 1500}
    whole = RMAT(**fields).load()
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path))
    monkeypatch.setattr(memory_map, "is_large", lambda *_: True)
    monkeypatch.setattr(rmat, "_BUFFER_BYTES", 1)
    made: list[tuple[int, int, Path]] = []
    monkeypatch.setattr(
        memory_map,
        "create_unnamed",
        lambda n, f, folder, what: made.append((n, f, folder)) or torch.empty(n, f),
    )
    assert RMAT(**fields).load().content_hash == whole.content_hash
    assert made == [(1500, 9, tmp_path / "generated")]


def test_rmat_features_stay_in_memory_where_the_folder_cannot_be_written_and_they_fit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fields = {"scale": 8, "edge_factor": 4, "features": 9}
    whole = RMAT(**fields).load()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "file"))
    monkeypatch.setattr(memory_map, "is_large", lambda *_: True)
    assert RMAT(**fields).load().content_hash == whole.content_hash
    monkeypatch.setattr(memory_map, "fits", lambda *_: False)
    with pytest.raises(GraphError, match=r"graph 'rmat': .*file.*: Not a directory"):
        RMAT(**fields).load()


def test_rmat_that_fits_neither_memory_nor_disk_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path))
    with pytest.raises(GraphError, match=r"'rmat': 34,359,738,368 entries of edges need 1,536.0 G"):
        RMAT(scale=30).load()
    monkeypatch.setattr(memory_map, "is_large", lambda *_: True)
    monkeypatch.setattr(memory_map, "fits", lambda *_: False)
    monkeypatch.setattr(memory_map.shutil, "disk_usage", lambda _: Mock(free=7))
    with pytest.raises(
        GraphError, match=r"'rmat': the features of dataset=rmat \(256 × 3, .* has 7 bytes free"
    ):
        RMAT(scale=8, features=3).load()
