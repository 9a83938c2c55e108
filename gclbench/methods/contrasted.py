"""The embedding of a contrastive training, with what analyses and readers may see of it."""

from __future__ import annotations

from torch import Tensor

from gclbench.embedding import Contrast, Embedding
from gclbench.negatives.strategy import Report


def contrasted(z: Tensor, u: Tensor, v: Tensor, tau: float, report: Report) -> Embedding:
    """An embedding that was trained on cosines.

    Args:
        z: N×d. u, v: the last pair of views, unit rows. tau: temperature τ.
        report: what the strategy for negatives reports of that pair.
    """
    contrast = Contrast(u, v, tau, report.weights, report.mixture)
    return Embedding(z, "cosine", contrast, findings=report.findings, remarks=report.remarks)
