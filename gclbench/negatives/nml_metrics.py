"""The negative metrics of NML: what gives the pair (i, j) its logit a_ij.

m_i = softmax_j(a_ij) are the weights (NML-GCL paper, Eq. 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, relu

from gclbench.contrast.blocks import KEPT_ENTRIES, block_rows, by_blocks
from gclbench.contrast.panel import Weights, panel
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

    if len(anchors) * len(candidates) > KEPT_ENTRIES:
        return rows
    kept = rows(0, len(anchors))
    return lambda start, stop: kept[start:stop]


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
        return product_sums(*_cut(views.unit_u, views.unit_v, self.detach), -1.0, views)

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
        _initialise(self)

    def sums(self, views: Views, frozen: bool) -> tuple[RowSums, RowSums]:
        p, q = self.embedded(views.u, frozen), self.embedded(views.v, frozen)
        return product_sums(*_cut(p, q, frozen and self.detach), 1.0, views)

    def unscaled(self, views: Views) -> WeightRows:
        return exponentials(self.embedded(views.u, True), self.embedded(views.v, True), 1.0, 1.0)

    def embedded(self, z: Tensor, frozen: bool) -> Tensor:
        """g(z) with unit rows, M×hidden."""
        h = _apply(self.first, z, frozen)
        if self.training:
            slopes = (
                torch.empty(h.shape, dtype=h.dtype)
                .uniform_(*SLOPES, generator=self.generator)
                .to(h.device)
            )
            h = torch.where(h < 0, h * slopes, h)
        else:
            h = nn.functional.leaky_relu(h, sum(SLOPES) / 2)
        return unit_rows(_apply(self.second, h, frozen))


class PairwiseMetric(Metric):
    """a_ij = MLP([u_i ; v_j]) with two hidden layers, as printed; N² passes through the second one.

    Args:
        width: d. hidden: width of both hidden layers. detach: as in `SeparableMetric`.
    """

    learns = True

    def __init__(self, width: int, hidden: int, detach: bool):
        super().__init__()
        self.first, self.second = nn.Linear(2 * width, hidden), nn.Linear(hidden, hidden)
        # Without bias: one number added to all logits changes no weight, and Adam would walk it at
        # random.
        self.last = nn.Linear(hidden, 1, bias=False)
        self.width, self.detach = width, detach
        _initialise(self)

    def sums(self, views: Views, frozen: bool) -> tuple[RowSums, RowSums]:
        return self._direction(views, frozen), self._direction(views.swapped(), frozen)

    def unscaled(self, views: Views) -> WeightRows:
        logits = self._logits(views.u.detach(), views.v.detach(), frozen=True)

        def rows(start: int, stop: int) -> Tensor:
            with torch.no_grad():
                return torch.softmax(logits(start, stop), dim=1)

        return rows

    def _direction(self, views: Views, frozen: bool) -> RowSums:
        logits = self._logits(*_cut(views.u, views.v, frozen and self.detach), frozen)

        def rows(start: int, stop: int) -> Tensor:
            a = logits(start, stop)
            t = views.scale * views.unit_u[start:stop] @ views.unit_v.T
            return torch.stack(
                [torch.logsumexp(a + t, dim=1), torch.logsumexp(a, dim=1), a.mean(dim=1)], dim=1
            )

        hidden = self.second.out_features
        block = (
            block_rows(len(views.u), len(views.v), per_entry=4 * hidden)
            if views.block is None
            else views.block
        )
        return RowSums(*by_blocks(rows, len(views.u), block).unbind(dim=1))

    def _logits(self, u: Tensor, v: Tensor, frozen: bool) -> Callable[[int, int], Tensor]:
        weight, bias = _parameters(self.first, frozen)
        # The first layer of a concatenation is a sum of two layers: one product per node instead of
        # one per pair.
        left, right = linear(u, weight[:, : self.width], bias), linear(v, weight[:, self.width :])

        def rows(start: int, stop: int) -> Tensor:
            h = relu(left[start:stop, None] + right)
            return _apply(self.last, relu(_apply(self.second, h, frozen)), frozen).squeeze(-1)

        return rows


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
        weights: Weights = best
        if len(views.u) * len(views.v) <= KEPT_ENTRIES:
            kept = best(0, len(views.u))
            weights = lambda start, stop: kept[start:stop]  # noqa: E731
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


def _cut(p: Tensor, q: Tensor, detach: bool) -> tuple[Tensor, Tensor]:
    return (p.detach(), q.detach()) if detach else (p, q)


def _parameters(layer: nn.Linear, frozen: bool) -> tuple[Tensor, Tensor | None]:
    bias: Tensor | None = layer.bias
    return (
        (layer.weight.detach(), None if bias is None else bias.detach())
        if frozen
        else (layer.weight, bias)
    )


def _apply(layer: nn.Linear, x: Tensor, frozen: bool) -> Tensor:
    return linear(x, *_parameters(layer, frozen))


def _initialise(module: nn.Module) -> None:
    """Glorot uniform weights and no biases, as the official code."""
    for layer in module.children():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
