"""Spectral clustering of the similarities ZZᵀ through Z itself."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gclbench.methods.clusters import partition

NEGLIGIBLE = 1e-12
"""An eigenvalue below this share of the largest one counts as zero."""


def spectral_clusters(z: Tensor, k: int, n_init: int, seed: int) -> Tensor:
    """Normalised spectral clustering of W = ZZᵀ (N int64), without W.

    With D the row sums of W, the eigenvectors of D^(−½) W D^(−½) are the left singular vectors of Y
    = D^(−½) Z, and those come from the d×d matrix YᵀY: exact, O(N·d² + d³). The rows of D^(−½)
    times the k leading ones are clustered by k-means. Self-similarities stay in W; scikit-learn's
    routine takes them out, one entry of N in each row.

    Args:
        z: N×d, no entry negative, so that W has none; a row of zeros, similar to nothing, maps to
            zero.
        k: clusters; with k > d there are d eigenvectors.
    """
    rows = z.double()
    degree = rows @ rows.sum(dim=0)
    scale = torch.where(degree > 0, degree, 1.0).rsqrt()[:, None]
    y = scale * rows
    values, vectors = torch.linalg.eigh(y.T @ y)
    values, vectors = values.flip(0)[:k], vectors.flip(1)[:, :k]
    kept = values > NEGLIGIBLE * values[0].clamp(min=NEGLIGIBLE)
    basis = torch.where(kept, vectors * torch.where(kept, values, 1.0).rsqrt(), 0.0)
    # D^(−½) is about N^(−½): scaled to mean 1, so that float32 and k-means' tolerance see ordinary
    # numbers.
    mapped = scale / scale.mean() * (y @ basis)
    return partition((mapped * len(z) ** 0.5).float(), k, n_init, seed).clusters


def davies_bouldin(z: Tensor, clusters: Tensor) -> float:
    """The Davies–Bouldin index, smaller is better; infinite where there are not at least two
    clusters and fewer than nodes."""
    from sklearn.metrics import davies_bouldin_score

    names = clusters.cpu().numpy()
    found = len(np.unique(names))
    return (
        float(davies_bouldin_score(z.cpu().numpy(), names))
        if 2 <= found < len(names)
        else float("inf")
    )
