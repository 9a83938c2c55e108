"""Row sums of e^{⟨z_i, z_k⟩/τ} in linear time, by random features of the Gaussian kernel.

e^{⟨x, y⟩/τ} = e^{(‖x‖² + ‖y‖²)/2τ}·e^{−‖x − y‖²/2τ}, and the second factor is the mean of a product
of features: cosines and sines of projections (Rahimi and Recht 2007), orthogonal ones (Yu et al.
2016). Σ_k is then ⟨φ(x), Σ_k φ(z_k)⟩: O(N·m) time and memory.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def projections(width: int, count: int, generator: torch.Generator) -> Tensor:
    """width×count, columns of a standard normal distribution's lengths; within each group of
    `width` of them they are orthogonal.

    Args:
        width: d. count: m. generator: on the CPU.
    """
    groups = []
    for _ in range(math.ceil(count / width)):
        q, r = torch.linalg.qr(torch.randn(width, width, generator=generator))
        # Signs that make the rotation uniform.
        q = q * r.diagonal().sign()
        lengths = torch.randn(width, width, generator=generator).norm(dim=0)
        groups.append(q * lengths)
    return torch.cat(groups, dim=1)[:, :count]


def log_kernel_sums(z: Tensor, tau: float, projection: Tensor) -> Tensor:
    """log Σ_k e^{⟨z_i, z_k⟩/τ}, (N,), approximately.

    The sum is at least the row's own term, and is lifted to it where the features fall short. That
    of a row of zeros is N.

    Args:
        z: N×d, rows of length 1 or 0. tau: τ. projection: d×m, of `projections`.
    """
    squares = z.square().sum(dim=1) / (2 * tau)
    angles = (z / math.sqrt(tau)) @ projection
    scale = (squares - squares.detach().max()).exp()[:, None] / math.sqrt(projection.shape[1])
    features = torch.cat([angles.cos() * scale, angles.sin() * scale], dim=1)
    # Σ_k e^{‖z_k‖²/2τ} φ(z_k), short of the factor that was taken out of it and of the row.
    sums = features @ features.sum(dim=0)
    own = features.square().sum(dim=1)
    # At a small temperature the factor of a row of zeros is none in float32.
    zero = squares.detach() == 0
    logs = torch.where(zero, 1.0, sums.maximum(own)).log() + 2 * squares.detach().max()
    return torch.where(zero, math.log(len(z)), logs)
