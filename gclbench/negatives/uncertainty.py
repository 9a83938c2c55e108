"""How uncertain a classifier is about which of two groups a pair of nodes belongs to (AUGCL)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax

HIDDEN = 128
NETWORK_ESTIMATORS = ("gambler", "softmax_response", "entropy")
TILE_FLOATS = 1 << 18
"""Hidden values of scored pairs that live at once: small tiles stay in the cache."""


class PairNetwork(nn.Module):
    """φ: a three-layer classifier of pairs [z̃_i ; ẑ_j] into the positive's group, the other group
    and, for a gambler, abstention.

    Its first layer is W_a z̃_i + W_b ẑ_j + b, so that each node goes through it once, not once per
    pair.

    Args:
        width: d. classes: 2, or 3 with abstention.
    """

    def __init__(self, width: int, classes: int):
        super().__init__()
        self.width = width
        self.first, self.second, self.last = (
            nn.Linear(2 * width, HIDDEN),
            nn.Linear(HIDDEN, HIDDEN),
            nn.Linear(HIDDEN, classes),
        )
        for layer in (self.first, self.second, self.last):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def anchors(self, z: Tensor) -> Tensor:
        """W_a z + b, M×128."""
        return nn.functional.linear(z, self.first.weight[:, : self.width], self.first.bias)

    def candidates(self, z: Tensor) -> Tensor:
        """W_b z, M×128."""
        return nn.functional.linear(z, self.first.weight[:, self.width :])

    def forward(self, first: Tensor) -> Tensor:
        """Logits (…×classes) of pairs from the sums of both sides' first layers (…×128)."""
        return self.last(self.second(first.relu()).relu())


def gambler_loss(logits: Tensor, labels: Tensor, reward: float) -> Tensor:
    """−log(p_label + g/o), averaged: the bet on the label, or the part of the stake that abstention
    keeps (Liu et al. 2019).

    Args:
        logits: M×3, the last for abstention. labels: (M,) 0 or 1. reward: o in (1, 2].
    """
    logs = log_softmax(logits, dim=1)
    chosen = logs.gather(1, labels[:, None])[:, 0]
    return -torch.logaddexp(chosen, logs[:, 2] - math.log(reward)).mean()


def classifier_loss(estimator: str, logits: Tensor, labels: Tensor, reward: float) -> Tensor:
    """What φ is trained with: the gambler's loss, or cross-entropy for the estimators that read a
    two-class softmax."""
    return (
        gambler_loss(logits, labels, reward)
        if estimator == "gambler"
        else cross_entropy(logits, labels)
    )


def uncertainty(estimator: str, logits: Tensor) -> Tensor:
    """u ≥ 0 of each pair: g, 1 − max p (AUGCL paper, Eq. 1), or −Σ p log p (Eq. 2).

    Args:
        logits: …×classes.
    """
    logs = log_softmax(logits, dim=-1)
    if estimator == "gambler":
        return logs[..., 2].exp()
    if estimator == "softmax_response":
        return 1 - logs.max(dim=-1).values.exp()
    return -(logs.exp() * logs).sum(dim=-1)


def hardest(anchors: Tensor, candidates: Tensor, count: int) -> Tensor:
    """Numbers of the `count` candidates most similar to each anchor, itself left out, M×count.

    Args:
        anchors, candidates: M×d each; rows of equal number are the same node.
    """
    found = torch.empty(len(anchors), count, dtype=torch.int64, device=anchors.device)
    rows = max(1, TILE_FLOATS // len(candidates))
    for start in range(0, len(anchors), rows):
        stop = min(start + rows, len(anchors))
        tile = anchors[start:stop] @ candidates.T
        tile.diagonal(offset=start).fill_(-torch.inf)
        found[start:stop] = tile.topk(count, dim=1, sorted=False).indices
    return found


def relative_uncertainty(
    network: PairNetwork, estimator: str, anchors: Tensor, candidates: Tensor, chosen: Tensor
) -> Tensor:
    """α·u_ij = u_ij / mean_j u_ij over the chosen candidates of each anchor, M×k; 1 where an anchor
    is certain about all.

    Args:
        anchors, candidates: M×d each, unit rows. chosen: M×k candidate numbers.
    """
    before, after = network.anchors(anchors), network.candidates(candidates)
    weight = torch.empty(chosen.shape, dtype=anchors.dtype, device=anchors.device)
    rows = max(1, TILE_FLOATS // (HIDDEN * chosen.shape[1]))
    for start in range(0, len(anchors), rows):
        stop = min(start + rows, len(anchors))
        first = before[start:stop, None] + after.index_select(
            0, chosen[start:stop].reshape(-1)
        ).view(stop - start, -1, HIDDEN)
        weight[start:stop] = uncertainty(estimator, network(first))
    mean = weight.mean(dim=1, keepdim=True)
    certain = mean <= torch.finfo(weight.dtype).tiny
    return (weight / mean.masked_fill(certain, 1.0)).masked_fill(certain, 1.0)
