"""bfloat16 copies as the factors of a tile's products, where a processor multiplies those fast and
torch makes none.

With `torch.set_float32_matmul_precision("medium")` torch shortens the factors of float32 products
on processors with AMX. On the one with AVX512-BF16 alone that was tried (an AMD EPYC) it keeps
float32 factors, and multiplies matrices that are bfloat16 already at least twice as fast. Such a
product is summed in float32 and rounded to bfloat16 at the end. So that this rounds differences and
not what all vectors have in common, copies are made about the mean (`tiles.Centred`).
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
