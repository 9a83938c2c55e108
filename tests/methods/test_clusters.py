from __future__ import annotations

import numpy as np
import pytest
import torch

from gclbench.graph import Unsupported, make_graph, without_labels
from gclbench.methods import clusters
from gclbench.methods.clusters import leading_directions, number_of_clusters, partition, spread

NO_EDGES = np.empty((2, 0), dtype=np.int64)


def test_the_number_of_clusters_is_the_setting_or_the_datasets_number_of_classes() -> None:
    graph = make_graph(np.eye(5, dtype=np.float32), NO_EDGES, np.array([0, 2, 1, -1, 2]), "five")
    seen = without_labels(graph)
    assert seen.y is None and number_of_clusters(seen, None, "agc") == 3
    assert number_of_clusters(seen, 5, "agc") == 5
    with pytest.raises(
        Unsupported,
        match="age was asked for 6 clusters, and 'five' has 5 nodes; .* method.clusters=K",
    ):
        number_of_clusters(seen, 6, "age")
    with pytest.raises(
        Unsupported,
        match="agc needs a number of clusters, and 'none' has no labels .* method.clusters=K",
    ):
        number_of_clusters(
            make_graph(np.eye(2, dtype=np.float32), NO_EDGES, None, "none"), None, "agc"
        )


def test_spread_against_a_double_loop() -> None:
    rng = np.random.default_rng(0)
    x, of = (
        rng.normal(size=(20, 4)) + 3,
        rng.integers(0, 3, 20) * 2,
    )  # names 0, 2, 4: gaps are no clusters
    per_cluster = []
    for name in (0, 2, 4):
        rows = x[of == name]
        pairs = [((a - b) ** 2).sum() for a in rows for b in rows]
        per_cluster.append(np.mean(pairs) / 2)
    assert spread(torch.from_numpy(x).float(), torch.from_numpy(of)) == pytest.approx(
        np.mean(per_cluster), rel=1e-5
    )


@pytest.mark.parametrize("offset", [0, 10, 1_000, 10_000])
def test_spread_does_not_depend_on_where_zero_is(offset: int) -> None:
    rng = np.random.default_rng(0)
    x, of = torch.from_numpy(rng.normal(size=(500, 8))), torch.from_numpy(rng.integers(0, 3, 500))
    assert spread((x + offset).float(), of) == pytest.approx(spread(x, of), rel=1e-4)


@pytest.mark.parametrize("dense_up_to", [2, 128])
def test_leading_directions_are_the_singular_vectors(
    monkeypatch: pytest.MonkeyPatch, dense_up_to: int
) -> None:
    monkeypatch.setattr(clusters, "DENSE_UP_TO", dense_up_to)
    x = torch.from_numpy(np.random.default_rng(1).normal(size=(40, 15))).float()
    left, values = leading_directions(x, 4, np.random.default_rng(0))
    u, s, _ = np.linalg.svd(x.double().numpy(), full_matrices=False)
    np.testing.assert_allclose(values, s[:4], rtol=1e-5)
    np.testing.assert_allclose(np.abs(left.numpy().T @ u[:, :4]), np.eye(4), atol=1e-4)


@pytest.mark.parametrize("dense_up_to", [2, 128])
def test_directions_that_are_not_there_are_zero(
    monkeypatch: pytest.MonkeyPatch, dense_up_to: int
) -> None:
    monkeypatch.setattr(clusters, "DENSE_UP_TO", dense_up_to)
    rng = np.random.default_rng(1)
    x = torch.from_numpy(rng.normal(size=(40, 2)) @ rng.normal(size=(2, 15))).float()
    left, values = leading_directions(x, 5, np.random.default_rng(0))
    assert (
        left.shape == (40, 5)
        and (values[:2] > 1).all()
        and not values[2:].any()
        and not left[:, 2:].any()
    )
    torch.testing.assert_close(left[:, :2].T @ left[:, :2], torch.eye(2), rtol=1e-4, atol=1e-5)
    zero, none = leading_directions(torch.zeros(6, 9), 3, np.random.default_rng(0))
    assert zero.shape == (6, 3) and not zero.any() and not none.any()
    narrow, _ = leading_directions(x[:, :3], 5, np.random.default_rng(0))
    assert narrow.shape == (40, 3)


@pytest.mark.parametrize("times", [1, 2])
def test_equal_singular_values_have_the_same_directions_each_time(times: int) -> None:
    x = torch.eye(200).repeat(times, 1)
    found, again = (leading_directions(x, 16, np.random.default_rng(0)) for _ in range(2))
    assert torch.equal(found[0], again[0]) and torch.equal(found[1], again[1])
    torch.testing.assert_close(found[0].T @ found[0], torch.eye(16))
    torch.testing.assert_close(found[1], torch.full((16,), times**0.5))


def test_kmeans_with_duplicates_and_one_cluster() -> None:
    z = torch.tensor([[0.0, 0.0], [1.0, 0.0]]).repeat_interleave(5, dim=0)
    several = partition(z, 4, 3, 0)
    assert len(several.clusters.unique()) == 2 and several.centres.shape == (4, 2)
    assert several.clusters[0] != several.clusters[5]
    one = partition(z, 1, 3, 0)
    assert not one.clusters.any() and one.centres.tolist() == [[0.5, 0.0]]
