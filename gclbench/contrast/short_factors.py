"""bfloat16 copies as the factors of a tile's products, where a processor multiplies those fast and
torch makes none.

With `torch.set_float32_matmul_precision("medium")` torch shortens the factors of float32 products
on processors with AMX. On the one with AVX512-BF16 alone that was tried (an AMD EPYC) it keeps
float32 factors, and multiplies matrices that are bfloat16 already at least twice as fast. Such a
product is summed in float32 and rounded to bfloat16 at the end. So that this rounds differences and
not what all vectors have in common, copies are made about the mean.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from contextvars import ContextVar

import torch
from torch import Tensor

_asked: ContextVar[bool] = ContextVar("short factors in contrasts", default=False)


@contextlib.contextmanager
def short_factors(asked: bool = True) -> Iterator[None]:
    """Within the block panels are reduced with bfloat16 copies, or are not."""
    before = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(before)


def shortened(anchors: Tensor, dtype: torch.dtype) -> bool:
    """Whether the products of a panel, whose tiles have this dtype, are made of bfloat16 copies."""
    return _asked.get() and anchors.is_cpu and dtype == torch.float32


class Centred:
    """bfloat16 copies of a panel's vectors about their means, and what that leaves out.

    Early in a training all unit rows point nearly one way. Rounded as they are, the products lose
    what tells the rows apart, and the gradient, a difference of nearly equal sums, with it. About
    the mean both the factors and the products are as small as the differences are, and what the
    mean adds is taken in float32.

    Attributes:
        left: scale·(anchors − own_middle), M×d. right: candidates − middle, N×d.
        own: anchors − own_middle, M×d.
        middle, own_middle: the mean candidate and the mean anchor, (d,) float32.
        of_anchors: (M,) and of_candidates: (N,), float32; left·rightᵀ, plus the one of a row, plus
            the other of a column, are the similarities.
    """

    def __init__(self, anchors: Tensor, candidates: Tensor, scale: float):
        self.middle = _mean(candidates)
        about = candidates - self.middle
        self.right = about.bfloat16()
        if candidates is anchors:
            self.own_middle, own, self.own = self.middle, about, self.right
        else:
            self.own_middle = _mean(anchors)
            own = anchors - self.own_middle
            self.own = own.bfloat16()
        self.left = (own * scale).bfloat16()
        self.of_anchors = anchors @ self.middle * scale
        self.of_candidates = about @ self.own_middle * scale


def _mean(vectors: Tensor) -> Tensor:
    """Of the rows, zero where there are none."""
    return vectors.sum(dim=0) / max(len(vectors), 1)


@functools.cache
def has_own() -> bool:
    """Whether copies are what makes products fast on this processor."""
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return bool(supported()) and not torch_shortens()


@functools.cache
def torch_shortens() -> bool:
    """Whether torch's own products on this processor have bfloat16 factors where they may.

    A processor's flags do not say. So one product is made: 1 + 2⁻¹² needs more bits than bfloat16
    has.
    """
    factor, side = 1 + 2.0**-12, 64  # smaller products stay float32 anyway
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        product = torch.full((side, side), factor) @ torch.eye(side)
    finally:
        torch.set_float32_matmul_precision(before)
    return bool((product != factor).any())
