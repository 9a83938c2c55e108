"""GBP's thresholded push, in synchronous rounds over the fused pull."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gclbench.filters.bound import SCALING
from gclbench.filters.chebyshev import beyond_float32, not_finite
from gclbench.filters.kernels.backend import Path
from gclbench.filters.slices import put, taken


@dataclass(frozen=True)
class Pushed:
    """One slice: columns, rounds, matrix entries read, bound on the largest absolute error,
    degree-weighted mass at the end and at the start."""

    columns: int
    rounds: int
    reads: float
    error: float
    unpushed: float
    mass: float


def push(
    path: Path,
    x: Tensor,
    columns: slice,
    result: Tensor,
    alpha: float,
    r: float,
    r_max: float,
    storage: torch.dtype = torch.float32,
    name: str = "graph",
) -> Pushed:
    """Pushes some columns, as GBP's algorithm does (Chen et al., NeurIPS 2020).

    Each column is scaled by deg^(−r) and split into its positive and negative part; in a round
    every node whose residue exceeds r_max·S (S the sum of that part) settles α of it in its reserve
    and passes the rest on, divided by the receiver's degree. The leftover residue contributes its l
    = 0 term, so per part |error_k| ≤ (1−α)·r_max·S·deg_k^r. Where rounding comes to more than that,
    the bound is what the residual of the result shows in float64: P has rows that sum to 1, so its
    largest entry, ÷ α, bounds the error of every entry.

    Args:
        x: N×F float32, on the CPU. result: likewise; its columns are written. r_max: threshold per
            unit of column sum, > 0.
        storage: of residues and reserves. name: of the graph, for messages.

    Raises:
        ValueError: when x is not finite, or the result would not be.
    """
    degree = path.safe_degree
    out_of = degree.pow(r)[:, None]
    raw = taken(x, columns, path.order)
    largest = raw.abs().amax(dim=0).double()
    if not bool(torch.isfinite(largest).all()):
        raise ValueError(not_finite(x, columns, name))
    # Powers of two, so nothing is rounded: neither thresholds nor residues leave float32 whatever
    # the features' magnitude.
    mantissa, _ = torch.frexp(largest.clamp_(min=2.0**-126))
    scale = largest / (2.0 * mantissa)
    raw.div_(scale.float())
    scaled = raw * degree.pow(-r).float()[:, None]
    signed = torch.zeros_like(scaled)
    bound = torch.zeros_like(scale)
    most, reads, unpushed, mass = 0, 0.0, 0.0, 0.0
    for sign in (1.0, -1.0):
        residue = (scaled * sign).clamp_(min=0.0)
        total = residue.sum(dim=0)
        if not bool(total.any()):
            continue
        # Below the smallest normal number a residue times 1−α may round to itself, and the rounds
        # never end.
        threshold = (r_max * torch.where(total > 0, total, torch.ones_like(total))).clamp_(
            min=torch.finfo(torch.float32).tiny
        )
        mass += _mass(residue, degree, scale)
        reserve, residue, rounds, read = _rounds(path, residue.to(storage), threshold, alpha)
        unpushed += _mass(residue, degree, scale)
        signed.add_(reserve.float().add_(residue.float(), alpha=alpha), alpha=sign)
        bound += (1.0 - alpha) * threshold.double() * float(out_of.max())
        most, reads = max(most, rounds), reads + read
        del residue, reserve
    del scaled  # Blocks of float64 follow.
    shown = (
        _residual(path, signed, raw.double().mul_(alpha * degree.pow(-r)[:, None]), alpha)
        / alpha
        * float(out_of.max())
    )
    filtered = signed.mul_(out_of.float())
    size = filtered.abs().amax(dim=0).double()
    if bool((size * scale > torch.finfo(torch.float32).max).any()):
        raise ValueError(beyond_float32(name, float(largest.max())))
    put(result, columns, filtered.mul_(scale.float()), path.rank)
    error = (torch.maximum(bound, shown + SCALING * size) * scale).max()
    return Pushed(len(scale), most, reads, float(error), unpushed, mass)


def _residual(path: Path, w: Tensor, base: Tensor, alpha: float) -> Tensor:
    """(K,): the largest entry of each column of |base + (1−α) P w − w|, float64; changes base."""
    wide = w.double()
    base.add_(path.exact_product(wide), alpha=1.0 - alpha)
    return base.sub_(wide).abs_().amax(dim=0)


def _mass(residue: Tensor, degree: Tensor, scale: Tensor) -> float:
    """Σ deg_i residue_i: what a round keeps, apart from the α that it settles."""
    most = float(scale.max())
    return (
        float(torch.dot((residue.float() * (scale / most).float()).sum(dim=1).double(), degree))
        * most
    )


def _rounds(
    path: Path, residue: Tensor, threshold: Tensor, alpha: float
) -> tuple[Tensor, Tensor, int, float]:
    """Rounds until nothing exceeds the threshold: reserve, residue, rounds, entries read."""
    reserve, other = torch.zeros_like(residue), torch.empty_like(residue)
    active = torch.empty(len(residue), dtype=torch.int32, device=residue.device)
    rounds, reads = 0, 0.0
    while True:
        path.push_round(residue, threshold, alpha, reserve, other, active)
        read = float(torch.dot(active.double(), path.lengths))
        if not bool(active.any()):
            return reserve, residue, rounds, reads
        residue, other = other, residue
        reads += read
        rounds += 1
