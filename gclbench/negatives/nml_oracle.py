"""The best weights that NML's negative metric could give: the inner problem solved in closed form,
row by row."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gclbench.contrast.blocks import block_rows

NEWTON_STEPS = 100
"""Most steps per row; from its starting point Newton's method needs about six."""


@dataclass(frozen=True)
class OptimalWeights:
    """m_ik = c / (y_i·p_ik + b), the minimum of NML's objective over the weights of an anchor.

    p_ik = (N−1)·e^{t_ik} + e^{t_ii}, b = α(N−1) − 1, c = α(N−1)/N. It minimises ℓ_i + α·reg_i of
    the NML-GCL paper, Eqs. 5, 7 and 8, over all rows m_i with Σ_k m_ik = 1.

    Attributes:
        anchors, candidates: N×d, unit rows, detached. scale: 1/τ.
        inverse: (N,) float64, y_i = e^{1/τ} / Z_i. own: (N,) float64, e^{t_ii − 1/τ}.
        mean_log: (N,) mean_k log m_ik.
    """

    anchors: Tensor
    candidates: Tensor
    scale: float
    alpha: float
    inverse: Tensor
    own: Tensor
    mean_log: Tensor

    def __call__(self, start: int, stop: int) -> Tensor:
        """m of the anchors start…stop, B×N; the rows sum to 1."""
        weights = _weights(
            _pulls(self.anchors, self.candidates, self.scale, self.own, start, stop),
            self.inverse[start:stop],
            self.alpha,
        )
        return weights.to(self.anchors.dtype)


def optimal_weights(
    anchors: Tensor, candidates: Tensor, tau: float, alpha: float, block: int | None = None
) -> OptimalWeights:
    """Solves Σ_k m_ik = 1 for y_i, in float64 and in blocks of rows.

    The sum is convex and falls with y, and the starting point lies left of its root. So Newton's
    steps approach the root from one side: they need no bracket and stop when they stop growing.

    Args:
        anchors, candidates: N×d, unit rows. alpha: weight α of the regulariser, above 0.
    """
    anchors, candidates = anchors.detach(), candidates.detach()
    rows, columns = len(anchors), len(candidates)
    scale = 1.0 / tau
    own = torch.exp((anchors.double() * candidates.double()).sum(dim=1) * scale - scale)
    inverse = torch.empty(rows, dtype=torch.float64, device=anchors.device)
    mean_log = torch.empty(rows, dtype=torch.float64, device=anchors.device)
    block = block_rows(rows, columns, per_entry=4) if block is None else block
    for start in range(0, rows, block):
        stop = min(start + block, rows)
        pulls = _pulls(anchors, candidates, scale, own, start, stop)
        inverse[start:stop] = _root(pulls, alpha)
        mean_log[start:stop] = _weights(pulls, inverse[start:stop], alpha).log().mean(dim=1)
    return OptimalWeights(
        anchors, candidates, scale, alpha, inverse, own, mean_log.to(anchors.dtype)
    )


def _pulls(
    anchors: Tensor, candidates: Tensor, scale: float, own: Tensor, start: int, stop: int
) -> Tensor:
    """p·e^{−1/τ}, B×N float64.

    Scaling all p of a row by one number scales y by its inverse and leaves m as it is.
    """
    similarities = anchors[start:stop].double() @ candidates.double().T
    return (
        (similarities * scale - scale).exp_().mul_(len(candidates) - 1).add_(own[start:stop, None])
    )


def _weights(pulls: Tensor, inverse: Tensor, alpha: float) -> Tensor:
    count = pulls.shape[1]
    return (alpha * (count - 1) / count) / (inverse[:, None] * pulls + (alpha * (count - 1) - 1))


def _root(pulls: Tensor, alpha: float) -> Tensor:
    """y with Σ_k m_k = 1, (B,)."""
    count = pulls.shape[1]
    offset, share = alpha * (count - 1) - 1, alpha * (count - 1) / count
    # There the term of the smallest p alone is 1 (or, at 0, all terms are above 1/N): the sum is at
    # least 1.
    inverse = ((share - offset) / pulls.min(dim=1).values).clamp_(min=0.0)
    for _ in range(NEWTON_STEPS):
        reciprocal = (inverse[:, None] * pulls + offset).reciprocal_()
        excess = share * reciprocal.sum(dim=1) - 1
        fall = share * (reciprocal.square_() * pulls).sum(dim=1)
        step = (excess / fall).clamp_(min=0.0)
        inverse = inverse + step
        if bool((step <= 1e-15 * inverse).all()):
            break
    return inverse
