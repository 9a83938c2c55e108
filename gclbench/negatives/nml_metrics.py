"""The negative metrics of NML: what gives the pair (i, j) its logit a_ij.

m_i = softmax_j(a_ij) are the weights (NML-GCL paper, Eq. 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from gclbench.contrast.kept_weights import kept_weights
from gclbench.contrast.panel import paired, panel
from gclbench.contrast.tiles import Weights
from gclbench.contrast.unit_rows import unit_rows
from gclbench.negatives.nml_oracle import optimal_weights
from gclbench.negatives.strategy import Pair, WeightRows

# Exponents beyond it underflow in float32; the tiles and the weights are then float64, as in
# `panel`.
_SAFE_EXPONENT = 80.0

SLOPES = (1 / 8, 1 / 3)
"""Range of the slopes of a randomised leaky ReLU."""


@dataclass(frozen=True)
class RowSums:
    """What the loss needs of each anchor's logits a and similarities t = θ/τ.

    Attributes:
        weighted: (M,) log Σ_j e^{a_ij + t_ij}. total: (M,) log Σ_j e^{a_ij}. mean: (M,) mean_j
            a_ij.
    """

    weighted: Tensor
    total: Tensor
    mean: Tensor

    def contrast(self, own: Tensor, count: int) -> Tensor:
        """Eq. 5 of each anchor among `count` candidates, (M,).

        Args:
            own: (M,) t_ii.
        """
        pushed = math.log(count - 1) + self.weighted - self.total
        return torch.logaddexp(own, pushed) - own

    def divergence(self, count: int) -> Tensor:
        """KL(uniform ‖ m_i) of each anchor, (M,)."""
        return self.total - self.mean - math.log(count)


@dataclass(frozen=True)
class Objective:
    """What a step of the metric or of the encoder lowers, a mean over anchors and directions.

    Attributes:
        value: contrast + regulariser, with the gradient. contrast, regulariser: its two terms,
            constants. The regulariser is α(N−1)·KL(uniform ‖ m_i) (Eqs. 6 to 8).
    """

    value: Tensor
    contrast: Tensor
    regulariser: Tensor


@dataclass(frozen=True)
class Views:
    """A pair of views as the metrics read it.

    Attributes:
        u, v: M×d as the network gives them. unit_u, unit_v: with unit rows. scale: 1/τ.
        similarities: e^{t_ij − 1/τ} as constants. block: anchors per tile, None for a choice by
            size.
    """

    u: Tensor
    v: Tensor
    unit_u: Tensor
    unit_v: Tensor
    scale: float
    similarities: Weights
    block: int | None

    @classmethod
    def of(cls, pair: Pair, similarities: Weights | None = None) -> Views:
        """The views of a pair, and its similarities where they are known already."""
        unit_u, unit_v = unit_rows(pair.u), unit_rows(pair.v)
        scale = 1.0 / pair.tau
        if similarities is None:
            similarities = exponentials(unit_u, unit_v, scale, scale)
        return cls(pair.u, pair.v, unit_u, unit_v, scale, similarities, pair.block)

    def swapped(self) -> Views:
        """v's nodes as anchors; the similarities stay those of u's."""
        return Views(
            self.v, self.u, self.unit_v, self.unit_u, self.scale, self.similarities, self.block
        )


def exponentials(anchors: Tensor, candidates: Tensor, scale: float, bound: float) -> Weights:
    """The constants e^{scale·⟨anchor_i, candidate_j⟩ − bound} as pair weights; kept when they are
    few, else computed when asked for."""
    anchors, candidates = anchors.detach(), candidates.detach()
    dtype = torch.float64 if 2 * bound > _SAFE_EXPONENT else anchors.dtype

    def rows(start: int, stop: int) -> Tensor:
        offset = torch.full((), -bound, dtype=dtype, device=anchors.device)
        return torch.addmm(
            offset, anchors[start:stop].to(dtype), candidates.to(dtype).T, alpha=scale
        ).exp_()

    return kept_weights(rows, len(anchors), len(candidates))


class Metric(nn.Module):
    """A negative metric.

    Attributes:
        learns: whether it has parameters that the strategy trains. regularised: whether the loss
            holds its KL term.
    """

    learns = False
    regularised = True

    def sums(self, views: Views, frozen: bool) -> tuple[RowSums, RowSums]:
        """Both directions: u's nodes as anchors, and v's.

        Args:
            frozen: the encoder's step: no gradient to the metric's parameters.
        """
        raise TypeError(f"{type(self).__name__} defines no sums")

    def objective(self, views: Views, frozen: bool, alpha: float) -> Objective:
        """The loss of both directions.

        Args:
            frozen: as in `sums`. alpha: α.
        """
        count = len(views.u)
        own = paired(views.unit_u, views.unit_v, views.scale)
        directions = self.sums(views, frozen)
        contrast = torch.stack([sums.contrast(own, count) for sums in directions]).mean()
        regulariser = torch.zeros_like(contrast)
        if self.regularised:
            divergence = torch.stack([sums.divergence(count) for sums in directions]).mean()
            regulariser = alpha * (count - 1) * divergence
        return Objective(contrast + regulariser, contrast.detach(), regulariser.detach())

    def unscaled(self, views: Views) -> WeightRows:
        """Rows proportional to m, for reports."""
        raise TypeError(f"{type(self).__name__} defines no weights")


class UniformMetric(Metric):
    """m_ij = 1/N ("w/o M")."""

    def sums(self, views: Views, frozen: bool) -> tuple[RowSums, RowSums]:
        across = panel(views.unit_u, views.unit_v, views.scale, columns=True, block=views.block)
        total = views.u.new_full((len(views.u),), math.log(len(views.u)))
        none = torch.zeros_like(total)
        return RowSums(across.rows[0], total, none), RowSums(across.columns[0], total, none)

    def unscaled(self, views: Views) -> WeightRows:
        return lambda start, stop: views.u.new_ones(stop - start, len(views.v))


class CosineMetric(Metric):
    """m_ij ∝ e^{−⟨û_i, v̂_j⟩} ("repl. cosine").

    There is no network to regularise, so the loss has no KL term.
    """

    regularised = False

    def __init__(self, detach: bool):
        super().__init__()
        self.detach = detach

    def sums(self, views: Views, frozen: bool) -> tuple[RowSums, RowSums]:
        return product_sums(*cut(views.unit_u, views.unit_v, self.detach), -1.0, views)

    def unscaled(self, views: Views) -> WeightRows:
        return exponentials(views.unit_u, views.unit_v, -1.0, 1.0)


class SeparableMetric(Metric):
    """a_ij = cos(g(u_i), g(v_j)), g = linear, randomised leaky ReLU, linear, one for both views
    (the official code).

    Args:
        width: d. hidden: width of both layers. generator: of the random slopes, on the CPU. detach:
            in the encoder's step take the weights as constants.
    """

    learns = True

    def __init__(self, width: int, hidden: int, generator: torch.Generator, detach: bool):
        super().__init__()
        self.first, self.second = nn.Linear(width, hidden), nn.Linear(hidden, hidden)
        self.generator, self.detach = generator, detach
        initialise(self)

    def sums(self, views: Views, frozen: bool) -> tuple[RowSums, RowSums]:
        p, q = self.embedded(views.u, frozen), self.embedded(views.v, frozen)
        return product_sums(*cut(p, q, frozen and self.detach), 1.0, views)

    def unscaled(self, views: Views) -> WeightRows:
        return exponentials(self.embedded(views.u, True), self.embedded(views.v, True), 1.0, 1.0)

    def embedded(self, z: Tensor, frozen: bool) -> Tensor:
        """g(z) with unit rows, M×hidden."""
        h = applied(self.first, z, frozen)
        if self.training:
            slopes = (
                torch.empty(h.shape, dtype=h.dtype)
                .uniform_(*SLOPES, generator=self.generator)
                .to(h.device)
            )
            h = torch.where(h < 0, h * slopes, h)
        else:
            h = nn.functional.leaky_relu(h, sum(SLOPES) / 2)
        return unit_rows(applied(self.second, h, frozen))


class OracleMetric(Metric):
    """The best m there is for the given views; constant in the encoder's step, which by the
    envelope theorem loses no gradient.

    Args:
        alpha: weight of the regulariser, above 0.
    """

    def __init__(self, alpha: float):
        super().__init__()
        self.alpha = alpha

    def sums(self, views: Views, frozen: bool) -> tuple[RowSums, RowSums]:
        return self._direction(views), self._direction(views.swapped())

    def unscaled(self, views: Views) -> WeightRows:
        return optimal_weights(
            views.unit_u, views.unit_v, 1.0 / views.scale, self.alpha, views.block
        )

    def _direction(self, views: Views) -> RowSums:
        best = optimal_weights(
            views.unit_u, views.unit_v, 1.0 / views.scale, self.alpha, views.block
        )
        weights = kept_weights(best, len(views.u), len(views.v))
        across = panel(views.unit_u, views.unit_v, views.scale, (weights,), block=views.block)
        return RowSums(across.rows[0], torch.zeros_like(best.mean_log), best.mean_log)


def product_sums(p: Tensor, q: Tensor, sign: float, views: Views) -> tuple[RowSums, RowSums]:
    """Both directions' sums for logits a_ij = sign·⟨p_i, q_j⟩ of unit rows.

    log Σ_j e^{a_ij + t_ij} is a function of a and of t. One panel over a, with e^t as constant
    weights, has the gradient through a; one over t, with e^a as constant weights, that through t;
    each has the value.

    Args:
        p, q: M×h. sign: 1 or −1.
    """
    metric = panel(
        p,
        q,
        sign,
        (None, views.similarities),
        columns=True,
        bound=max(1.0, views.scale),
        block=views.block,
    )
    forth, back = metric.rows[1] + views.scale, metric.columns[1] + views.scale
    if views.unit_u.requires_grad or views.unit_v.requires_grad:
        constant = exponentials(p, q, sign, 1.0)
        across = panel(
            views.unit_u, views.unit_v, views.scale, (constant,), columns=True, block=views.block
        )
        forth = across.rows[0] + 1.0 + (forth - forth.detach())
        back = across.columns[0] + 1.0 + (back - back.detach())
    mean_p, mean_q = p.mean(dim=0), q.mean(dim=0)
    return RowSums(forth, metric.rows[0], sign * (p @ mean_q)), RowSums(
        back, metric.columns[0], sign * (q @ mean_p)
    )


def cut(p: Tensor, q: Tensor, detach: bool) -> tuple[Tensor, Tensor]:
    """Both, as constants where asked."""
    return (p.detach(), q.detach()) if detach else (p, q)


def weights_of(layer: nn.Linear, frozen: bool) -> tuple[Tensor, Tensor | None]:
    """A layer's weight and bias, as constants where frozen."""
    bias: Tensor | None = layer.bias
    return (
        (layer.weight.detach(), None if bias is None else bias.detach())
        if frozen
        else (layer.weight, bias)
    )


def applied(layer: nn.Linear, x: Tensor, frozen: bool) -> Tensor:
    """layer(x), its parameters as constants where frozen."""
    return linear(x, *weights_of(layer, frozen))


def initialise(module: nn.Module) -> None:
    """Glorot uniform weights and no biases, as the official code."""
    for layer in module.children():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
