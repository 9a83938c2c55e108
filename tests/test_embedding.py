from __future__ import annotations

import pytest
import torch

from gclbench.embedding import Contrast, Embedding


def test_embedding_checks_itself() -> None:
    assert Embedding(torch.ones(2, 3)).geometry == "euclidean"
    with pytest.raises(ValueError, match="is 'euclidean' or 'cosine', not 'flat'"):
        Embedding(torch.ones(2, 3), "flat")
    with pytest.raises(ValueError, match=r"this one has shape \(3,\)"):
        Embedding(torch.ones(3))


def test_a_sparse_one_is_of_compressed_rows() -> None:
    z = torch.eye(3)
    assert Embedding(z.to_sparse_csr()).z.layout == torch.sparse_csr
    with pytest.raises(TypeError, match="dense tensor or a sparse_csr one, and this one is torch"):
        Embedding(z.to_sparse())


def test_clusters_and_their_history_are_one_per_item() -> None:
    z = torch.ones(2, 3)
    assert Embedding(z).clusters is None
    with pytest.raises(
        ValueError, match=r"2 items have one cluster each; these clusters have shape \(3,\)"
    ):
        Embedding(z, clusters=torch.zeros(3))
    for history in (torch.zeros(2), torch.zeros(2, 3)):
        with pytest.raises(ValueError, match=r"a history is a matrix \(iterations × 2 items\)"):
            Embedding(z, clusters=torch.zeros(2), history=history)


def test_mean_cosine_is_that_of_different_rows() -> None:
    rows = torch.nn.functional.normalize(
        torch.randn(7, 3, generator=torch.Generator().manual_seed(0)), dim=1
    )
    pairs = [float(rows[i] @ rows[j]) for i in range(7) for j in range(7) if i != j]
    other = torch.zeros(7, 3)
    assert Contrast(other, rows, 1.0).mean_cosine() == pytest.approx(
        sum(pairs) / len(pairs), abs=1e-6
    )
    assert Contrast(other, rows[:1].expand(7, 3), 1.0).mean_cosine() == pytest.approx(1)
    with_zeros = torch.cat([rows, torch.zeros(3, 3)])
    assert Contrast(other, with_zeros, 1.0).mean_cosine() == pytest.approx(
        sum(pairs) / len(pairs), abs=1e-6
    )
    assert (
        Contrast(rows, torch.zeros(7, 3), 1.0).mean_cosine()
        == Contrast(rows, rows[:1], 1.0).mean_cosine()
        == 1
    )
