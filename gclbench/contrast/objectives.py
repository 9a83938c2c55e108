"""Objectives of the papers, each a few lines on the row-block engine.

u and v are embeddings of the same M nodes in two views, with unit rows; τ is the temperature.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gclbench.contrast.panel import paired, panel
from gclbench.contrast.tiles import Weights


def multi_view_nce(
    anchor: Tensor, views: list[Tensor], tau: float, block: int | None = None
) -> Tensor:
    """The label-free loss of DMAT-i, averaged over both directions, nodes and views.

    DMT / DMAT / DMAT-i paper, Eqs. 6 and 7. For each view v:
    ℓ(u_i, v_i) = log Σ_{x ≠ u_i} e^{⟨u_i, x⟩/τ} − ⟨u_i, v_i⟩/τ, x running over the 2M-tuple of u
    and v, and the same with u and v exchanged. With one view it is GRACE's loss on the batch.

    Args:
        anchor: M×d, unit rows: the unmasked batch. views: each M×d, unit rows.
    """
    scale = 1.0 / tau
    among_anchors = panel(anchor, anchor, scale, skip_self=True, block=block).rows[0]
    total = anchor.new_zeros(())
    for view in views:
        across = panel(anchor, view, scale, columns=True, block=block)
        among_views = panel(view, view, scale, skip_self=True, block=block).rows[0]
        forth = torch.logaddexp(among_anchors, across.rows[0])
        back = torch.logaddexp(among_views, across.columns[0])
        total = total + (0.5 * (forth + back) - paired(anchor, view, scale)).mean()
    return total / len(views)


def inter_view_nce(u: Tensor, v: Tensor, tau: float, block: int | None = None) -> Tensor:
    """InfoNCE over the pairs of the two views alone, averaged over both directions and nodes.

    ℓ_i = log Σ_j e^{⟨u_i, v_j⟩/τ} − ⟨u_i, v_i⟩/τ, and the same with u and v exchanged.

    Args:
        u, v: each M×d, unit rows.
    """
    across = panel(u, v, 1.0 / tau, columns=True, block=block)
    return (0.5 * (across.rows[0] + across.columns[0]) - paired(u, v, 1.0 / tau)).mean()


def others_nce(u: Tensor, v: Tensor, tau: float, block: int | None = None) -> Tensor:
    """The loss of GraphCL: the positive is not in the denominator, and there is one direction.

    GraphCL paper (You et al. 2020), Eq. 3: ℓ_i = log Σ_{j≠i} e^{⟨u_i, v_j⟩/τ} − ⟨u_i, v_i⟩/τ,
    averaged over i.

    Args:
        u, v: each M×d, unit rows; two or more.
    """
    others = panel(u, v, 1.0 / tau, skip_self=True, block=block).rows[0]
    return (others - paired(u, v, 1.0 / tau)).mean()


def labelled_tuple(z: Tensor, labels: Tensor, tau: float, block: int | None = None) -> Tensor:
    """The multi-class tuple loss of DMT, averaged over the batch.

    DMT / DMAT / DMAT-i paper, Eq. 4.

    ℓ_i = log Σ_j e^{⟨z_i, z_j⟩/τ} − log Σ_{j: y_j = y_i} e^{⟨z_i, z_j⟩/τ}; i itself counts among
    both.

    Args:
        z: M×d, unit rows. labels: (M,) integers.
    """
    reduced = panel(z, z, 1.0 / tau, heads=(None, same_label(labels)), block=block)
    everything, positives = reduced.rows
    return (everything - positives).mean()


def labelled_two_view(
    u: Tensor, v: Tensor, labels: Tensor, tau: float, block: int | None = None
) -> Tensor:
    """The loss of DMAT, averaged over the 2M-tuple.

    DMT / DMAT / DMAT-i paper, Eq. 5. As `labelled_tuple` on the batch and its augmented copy
    together, without the pair of an entry with itself; the counterpart has the same label, so it is
    always among the positives.

    Args:
        u: M×d and v: M×d, unit rows. labels: (M,) integers.
    """
    both = torch.cat([u, v])
    reduced = panel(
        both,
        both,
        1.0 / tau,
        heads=(None, same_label(labels.repeat(2))),
        skip_self=True,
        block=block,
    )
    everything, positives = reduced.rows
    return (everything - positives).mean()


def same_label(labels: Tensor) -> Weights:
    """Weight 1 for pairs of equal label, 0 for the others."""

    def weights(start: int, stop: int) -> Tensor:
        return (labels[start:stop, None] == labels).to(torch.float32)

    return weights
