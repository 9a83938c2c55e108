from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score, davies_bouldin_score
from torch.nn.functional import normalize

from gclbench.methods import spectral
from gclbench.methods.clusters import Partition
from gclbench.methods.spectral import davies_bouldin, spectral_clusters


def blobs(nodes: int = 60, width: int = 8) -> tuple[torch.Tensor, np.ndarray]:
    y = np.arange(nodes) % 3
    noise = np.random.default_rng(0).random((nodes, width)) * 0.5
    return normalize(torch.from_numpy(np.eye(width)[y] + noise).float(), dim=1), y


def test_the_map_is_that_of_the_dense_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    z, _ = blobs()
    mapped: list[torch.Tensor] = []

    def look(rows: torch.Tensor, k: int, n_init: int, seed: int) -> Partition:
        mapped.append(rows)
        return Partition(torch.zeros(len(rows), dtype=torch.long), torch.zeros(k, 1))

    monkeypatch.setattr(spectral, "partition", look)
    spectral_clusters(z, 3, 1, 0)
    w = (z @ z.T).double().numpy()
    scale = w.sum(axis=1) ** -0.5
    _, vectors = np.linalg.eigh(scale[:, None] * w * scale)
    expected = scale[:, None] * vectors[:, -3:]
    found = mapped[0].double().numpy()
    found, expected = (rows @ rows.T / np.linalg.norm(rows @ rows.T) for rows in (found, expected))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_clusters_are_scikit_learns() -> None:
    z, y = blobs()
    found = spectral_clusters(z, 3, 10, 0).numpy()
    theirs = SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(
        (z @ z.T).numpy()
    )
    assert adjusted_rand_score(found, theirs) == 1 == adjusted_rand_score(found, y)


def test_degenerate_rows() -> None:
    assert not spectral_clusters(torch.zeros(6, 4), 3, 2, 0).any()
    assert not spectral_clusters(torch.ones(6, 4) / 2, 1, 2, 0).any()
    z = torch.eye(2).repeat(4, 1)  # two directions, five clusters asked for
    found = spectral_clusters(z, 5, 2, 0)
    assert len(found.unique()) == 2 and len(found[::2].unique()) == 1
    z[0] = 0
    assert bool(torch.isfinite(spectral_clusters(z, 3, 2, 0).float()).all())


def test_the_index_is_scikit_learns_where_there_is_one() -> None:
    z, y = blobs()
    assert davies_bouldin(z, torch.from_numpy(y)) == davies_bouldin_score(z.numpy(), y)
    assert (
        davies_bouldin(z, torch.zeros(60)) == float("inf") == davies_bouldin(z[:3], torch.arange(3))
    )
