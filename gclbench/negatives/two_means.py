"""Exact two-means clustering of numbers, row by row, and the two groups it makes of an anchor's
similarities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gclbench.contrast.blocks import BLOCK_ENTRIES
from gclbench.contrast.panel import paired

NORMAL_RATIO = math.pi / 2 - 1
"""Within/between ratio of a normal distribution's best split. A row above it shows less of two
groups than a single bell does."""


@dataclass(frozen=True)
class TwoMeans:
    """The best split of each row into a lower and an upper group.

    Attributes:
        threshold: (B,) halfway between the groups; +∞ for a row of equal values, which is one
            group.
        ratio: (B,) variance within the groups over variance between them; +∞ for a row of equal
            values.
    """

    threshold: Tensor
    ratio: Tensor


def two_means(rows: Tensor) -> TwoMeans:
    """Splits each row so that the sum of squared distances to the two groups' means is least.

    In one dimension a threshold separates the groups, so a sort and prefix sums find the best of
    the N − 1 splits exactly. Equal values stay together; of equally good splits the one with the
    smaller lower group is taken.

    Args:
        rows: B×N, N ≥ 2.
    """
    # NumPy sorts rows an order of magnitude faster than torch does on a CPU.
    ordered = (
        torch.from_numpy(np.sort(rows.detach().numpy(), axis=1))
        if rows.device.type == "cpu"
        else rows.sort(dim=1).values
    )
    count = rows.shape[1]
    # Centred, since the variance between groups is a difference of squares, which are large where
    # the mean is.
    centred = ordered.double() - ordered.double().mean(dim=1, keepdim=True)
    lower = centred.cumsum(dim=1)[:, :-1]
    below = torch.arange(1, count, device=rows.device, dtype=torch.float64)
    between = lower.square() * (1 / below + 1 / (count - below))
    between.masked_fill_(ordered[:, :-1] == ordered[:, 1:], -torch.inf)
    best = between.max(dim=1)
    last, first = (ordered.gather(1, best.indices[:, None] + step)[:, 0] for step in (0, 1))
    within = (centred.square().sum(dim=1) - best.values).clamp(min=0)
    constant = ordered[:, 0] == ordered[:, -1]
    return TwoMeans(
        ((last + first) / 2).masked_fill(constant, torch.inf),
        (within / best.values).masked_fill(constant, torch.inf).to(rows.dtype),
    )


@dataclass(frozen=True)
class AffinityGroups:
    """For each anchor, which candidates are in the group of its positive (group 1) and which in the
    other (group 2).

    Attributes:
        threshold: (M,) of the anchors' similarities. upper: (M,) bool, whether the positive is
            above it.
        ratio: (M,) within/between, see `TwoMeans`.
    """

    threshold: Tensor
    upper: Tensor
    ratio: Tensor

    def other(self, anchors: Tensor | slice, similarities: Tensor) -> Tensor:
        """Which candidates of these anchors are in group 2, bool; none where all of an anchor's
        similarities are equal.

        Args:
            anchors: numbers or slice of B anchors. similarities: (B,) or B×N.
        """
        threshold, upper = self.threshold[anchors], self.upper[anchors]
        if similarities.ndim == 2:
            threshold, upper = threshold[:, None], upper[:, None]
        return (similarities > threshold) != upper


@torch.no_grad()
def affinity_groups(
    anchors: Tensor, candidates: Tensor, block: int | None = None
) -> AffinityGroups:
    """Two-means of each anchor's similarities with all candidates, its positive among them.

    Args:
        anchors, candidates: M×d each, unit rows; rows of equal number are positives. block: anchors
            at a time.
    """
    rows = max(1, BLOCK_ENTRIES // len(candidates)) if block is None else block
    parts = [
        two_means(anchors[start : start + rows] @ candidates.T)
        for start in range(0, len(anchors), rows)
    ]
    threshold = torch.cat([part.threshold for part in parts])
    return AffinityGroups(
        threshold,
        paired(anchors, candidates) > threshold,
        torch.cat([part.ratio for part in parts]),
    )
