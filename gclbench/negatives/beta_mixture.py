"""A mixture of two Beta distributions on (0, 1), fitted by EM with moment matching (ProGCL, Xia et
al. 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

EDGE = 1e-6
"""Values are kept this far from 0 and 1, where a density may be infinite."""

LEAST_WEIGHT = 1e-6
"""A component with less than this share of the sample has vanished."""

LEAST_VARIANCE = 1e-12
"""A component with less than this variance is a point."""

HIGH_BETA = 1.01
"""β of the high component where moment matching gives less than 1, with which its density would
have a pole at 1."""

# Values whose temporaries are alive at once.
_CHUNK = 1 << 20


class DegenerateMixture(ValueError):
    """The sample has no two Beta components; the text says what went wrong."""


@dataclass(frozen=True)
class BetaMixture:
    """Two components (α, β, weight); the weights sum to 1.

    Attributes:
        low, high: the component with the lower and the one with the higher mean (of the sample:
            without its pole, a high one's may be less).
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]

    def low_probability(self, values: Tensor) -> Tensor:
        """P(low component | value), elementwise, in the values' precision."""
        return _log_odds((self.low, self.high), *_logs(values)).sigmoid_()

    @classmethod
    def fit(cls, values: Tensor, high_weight: float = 0.05, steps: int = 10) -> BetaMixture:
        """EM from Beta(1, 2) with weight 1 − high_weight and Beta(2, 1) with weight high_weight.

        Each M-step gives a component the mean and the variance of its share of the sample; both
        come from three sums.

        Args:
            values: (n,) in [0, 1]. high_weight: in (0, 1). steps: EM steps.

        Raises:
            DegenerateMixture: when a component vanishes, shrinks to a point, or has moments that no
                Beta distribution has.
        """
        values = values.detach().double().flatten()
        first, second = (1.0, 2.0, 1 - high_weight), (2.0, 1.0, high_weight)
        for step in range(1, steps + 1):
            sums = torch.zeros(2, 3, dtype=torch.float64, device=values.device)
            for chunk in values.split(_CHUNK):
                chunk = chunk.clamp(EDGE, 1 - EDGE)
                share = torch.sigmoid(_log_odds((first, second), *_logs(chunk)))
                # Powers of the distance from ½ rather than of the value: the variance is then a
                # smaller difference.
                powers = torch.stack(
                    [torch.ones_like(chunk), chunk - 0.5, (chunk - 0.5) ** 2], dim=1
                )
                sums += torch.stack([share, 1 - share]) @ powers
            # EM may change which of them is the high one.
            first, second = sorted(
                (_matched(moments, len(values), step) for moments in sums.tolist()), key=_mean
            )
            if second[1] < 1:
                second = (second[0], HIGH_BETA, second[2])
        return cls(first, second)


def _mean(component: tuple[float, float, float]) -> float:
    return component[0] / (component[0] + component[1])


def _matched(sums: list[float], count: int, step: int) -> tuple[float, float, float]:
    """(α, β, weight) of a component from Σr, Σr(x − ½), Σr(x − ½)² over its responsibilities r."""
    weight = sums[0] / count if count else math.nan
    if not weight >= LEAST_WEIGHT:
        raise DegenerateMixture(f"at EM step {step} a component holds {weight:.2g} of the sample")
    shifted = sums[1] / sums[0]
    mean, variance = shifted + 0.5, sums[2] / sums[0] - shifted**2
    if not variance >= LEAST_VARIANCE:
        raise DegenerateMixture(
            f"at EM step {step} a component has mean {mean:.6g} and variance"
            f" {max(variance, 0):.2g}: it is a point"
        )
    concentration = mean * (1 - mean) / variance - 1
    if not concentration > 0:
        raise DegenerateMixture(
            f"at EM step {step} a component has mean {mean:.6g} and variance {variance:.6g}; no"
            " Beta distribution has both"
        )
    return mean * concentration, (1 - mean) * concentration, weight


def _logs(values: Tensor) -> tuple[Tensor, Tensor]:
    """(log x, log(1 − x)), both new."""
    values = values.clamp(EDGE, 1 - EDGE)
    return values.log(), values.neg_().log1p_()


def _log_odds(
    components: tuple[tuple[float, float, float], ...], log_x: Tensor, log_rest: Tensor
) -> Tensor:
    """log of (weight·density of the first component) / (that of the second), in place of `log_x`;
    `log_rest` is overwritten too. New memory for every intermediate tile costs more than what is
    computed in it."""
    (a, b, weight), (other_a, other_b, other_weight) = components
    constant = (
        math.log(weight) - math.log(other_weight) + _log_beta(other_a, other_b) - _log_beta(a, b)
    )
    return log_x.mul_(a - other_a).add_(constant).add_(log_rest.mul_(b - other_b))


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
