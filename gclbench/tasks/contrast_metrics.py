"""What can be said about the negatives of a contrastive training once the classes are known.

Memory O(block·N).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

PairRows = Callable[[int, int], Tensor]
"""(start, stop) → (stop−start)×N numbers of the pairs of those anchors with every node."""

BLOCK_ENTRIES = 1 << 22
"""Pairs looked at together."""

NOTICEABLE = 1e-6
"""A weight counts as below its row's mean when it is so by more than this share. Rounding changes
equal weights by less."""


def row_blocks(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of anchors whose pairs fit a block."""
    size = max(1, BLOCK_ENTRIES // max(1, columns))
    for start in range(0, rows, size):
        yield start, min(start + size, rows)


def same_and_other(labels: Tensor, anchors: Tensor) -> tuple[Tensor, Tensor]:
    """Which nodes are of the anchor's class, itself left out, and which are of another; neither
    where a class is unknown.

    Args:
        labels: N, −1 where unknown. anchors: (B,) node numbers.

    Returns:
        Two B×N masks.
    """
    own = labels[anchors, None]
    known = (own >= 0) & (labels >= 0)
    same = known & (own == labels)
    other = known & ~same
    same[torch.arange(len(anchors), device=labels.device), anchors] = False
    return same, other


def hardness_histogram(u: Tensor, v: Tensor, labels: Tensor, bins: int) -> tuple[Tensor, float]:
    """How the cosines of pairs of different classes are spread (DMAT paper, Figure 6).

    Args:
        u, v: N×d, unit rows. bins: equal ones of [−1, 1].

    Returns:
        The share of the pairs (u_i, v_j) in each bin, float64, and the mean cosine.
    """
    counts = torch.zeros(bins, dtype=torch.float64)
    total = 0.0
    for start, stop in row_blocks(len(u), len(v)):
        _, other = same_and_other(labels, torch.arange(start, stop, device=labels.device))
        cosines = (u[start:stop] @ v.T).clamp(-1, 1)[other]
        counts += torch.histc(cosines, bins, -1, 1).cpu()
        total += float(cosines.sum(dtype=torch.float64))
    pairs = float(counts.sum())
    return counts / pairs, total / pairs


def weight_scores(weights: PairRows, labels: Tensor) -> dict[str, float]:
    """Whether a strategy's weights tell false negatives (of the anchor's class) from true ones.

    A negative is *suspected* when its weight is below the mean of its row's negatives.

    Returns:
        same_class_share: of the negatives; the precision of a blind guess.
        false_negative_recall: suspected share of the same-class negatives.
        false_negative_precision: same-class share of the suspected ones; left out when none is
            suspected.
        weight_auc: probability that a same-class negative weighs less than another-class one of the
            same anchor, ties counting half, averaged over the anchors that have both. At 0.5 the
            weights say nothing; below 0.5 they weight false negatives up.
    """
    found, suspects, same_pairs, pairs = 0, 0, 0, 0
    auc, anchors = 0.0, 0
    nodes = len(labels)
    for start, stop in row_blocks(nodes, nodes):
        rows = torch.arange(start, stop, device=labels.device)
        same, other = same_and_other(labels, rows)
        weight = weights(start, stop).to(torch.float64)
        own = weight.diagonal(offset=start)
        mean = (weight.sum(dim=1) - own) / max(1, nodes - 1)
        suspected = weight < (mean - NOTICEABLE * mean.abs())[:, None]
        found += int((suspected & same).sum())
        suspects += int((suspected & (same | other)).sum())
        same_pairs += int(same.sum())
        pairs += int(same.sum() + other.sum())
        areas = row_areas(weight, same, other)
        auc += float(areas.nansum())
        anchors += int((~areas.isnan()).sum())
    scores = {"same_class_share": same_pairs / pairs}
    if same_pairs:
        scores["false_negative_recall"] = found / same_pairs
        scores["weight_auc"] = auc / anchors
    if suspects:
        scores["false_negative_precision"] = found / suspects
    return scores


def row_areas(weight: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Per row, the share of pairs of an entry among `low` and one among `high` in which the former
    is smaller, ties half; NaN without any.

    Args:
        weight: B×N. low, high: B×N masks that share no entry.
    """
    # Entries of neither kind go to the end, where they have no part in the ranks.
    values = torch.where(low | high, weight, torch.inf)
    ordered = values.sort(dim=1).values
    rank = 0.5 * (
        torch.searchsorted(ordered, values) + torch.searchsorted(ordered, values, right=True) + 1
    )
    few, many = low.sum(dim=1), high.sum(dim=1)
    above = torch.where(high, rank, 0.0).sum(dim=1) - 0.5 * many * (many + 1)
    return above / (few * many)


def mixture_scores(shares: PairRows, labels: Tensor) -> dict[str, float]:
    """What the anchors' mixtures are made of, averaged over anchors.

    Returns:
        mix_self: share of the node itself.
        mix_entropy: of the shares, in nats.
        mix_same_class: share of the node's class in the rest; left out when no anchor of known
            class mixes anything in.
    """
    own_share, entropy, same_share, anchors = 0.0, 0.0, 0.0, 0
    nodes = len(labels)
    for start, stop in row_blocks(nodes, nodes):
        share = shares(start, stop).to(torch.float64)
        own = share.diagonal(offset=start)
        own_share += float(own.sum())
        entropy -= float(torch.xlogy(share, share).sum())
        same, other = same_and_other(labels, torch.arange(start, stop, device=labels.device))
        of_class = (share * same).sum(dim=1)
        mixed_in = of_class + (share * other).sum(dim=1)
        chosen = mixed_in > 0
        same_share += float((of_class[chosen] / mixed_in[chosen]).sum())
        anchors += int(chosen.sum())
    scores = {"mix_self": own_share / nodes, "mix_entropy": entropy / nodes}
    if anchors:
        scores["mix_same_class"] = same_share / anchors
    return scores


def false_negative_effect(
    u: Tensor, v: Tensor, labels: Tensor, tau: float, tuples: list[Tensor]
) -> Tensor:
    """τ⁰ of every anchor: how much its tuple's false negatives widen the gap to the unbiased loss.

    DMAT paper, Eq. 8: τ⁰ = τ⁺ · |h_S − h_D| / |h_S − h_C|. Each is a mean of h = e^{⟨x, x'⟩/τ}:

    - h_S over the tuple's samples of the anchor's class,
    - h_D over all samples of other classes,
    - h_C over all samples of the anchor's class.

    Samples are rows of both views; those of the anchor's own node are left out. τ⁺ is the share of
    the anchor's class among the nodes of known class.

    Args:
        u, v: N×d, unit rows; u holds the anchors. labels: N, −1 where unknown. tuples: node numbers
            that are contrasted together.

    Returns:
        τ⁰ of the anchors for which it is defined (float64, in no particular order): of known class,
        with a false negative in the tuple, one outside it, and nodes of other classes. Anchors of
        zeros are left out, and those whose h are all equal: they are equally far from all nodes.
    """
    u, v = u.to(torch.float64), v.to(torch.float64)
    known = labels >= 0
    size = torch.bincount(labels[known], minlength=1).to(torch.float64) / known.sum()
    effects = []
    for members in tuples:
        inside = torch.zeros(len(labels), dtype=torch.bool, device=labels.device)
        inside[members] = True
        for start, stop in row_blocks(len(members), len(labels)):
            anchors = members[start:stop]
            anchors = anchors[known[anchors]]
            # Both means are of samples that come in pairs, (u_j, v_j); e^{−1/τ} cancels and keeps h
            # finite.
            h = sum(torch.exp((u[anchors] @ view.T - 1) / tau) for view in (u, v))
            same, other = same_and_other(labels, anchors)
            near = same & inside
            tuple_mean, class_mean, other_mean = (
                (h * mask).sum(dim=1) / mask.sum(dim=1) for mask in (near, same, other)
            )
            defined = (
                near.any(dim=1)
                & (same & ~inside).any(dim=1)
                & other.any(dim=1)
                & u[anchors].any(dim=1)
            )
            to_others, to_class = ((tuple_mean - mean).abs() for mean in (other_mean, class_mean))
            defined &= (to_others != 0) | (to_class != 0)
            effects.append((size[labels[anchors]] * to_others / to_class)[defined])
    return torch.cat(effects)
