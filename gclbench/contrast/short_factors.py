"""bfloat16 copies as the factors of a tile's products, where torch asks for short factors and has
none of its own.

With `torch.set_float32_matmul_precision("medium")` torch shortens the factors of float32 products
on processors with AMX. On those with AVX512-BF16 alone (AMD EPYC, Intel Cooper Lake) it keeps
float32 factors, and multiplies matrices that are bfloat16 already two to three times as fast. Such
a product is summed in float32 and rounded to bfloat16 at the end.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor

ASKED = "medium"
"""torch's name for bfloat16 factors on a processor."""


def shortened(like: Tensor) -> bool:
    """Whether the products of a tile's float32 matrices are to be made of bfloat16 copies."""
    return (
        like.is_cpu
        and like.dtype == torch.float32
        and torch.get_float32_matmul_precision() == ASKED
        and has_own()
    )


@functools.cache
def has_own() -> bool:
    """Whether the copies are what makes products fast on this processor."""
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
    torch.set_float32_matmul_precision(ASKED)
    try:
        product = torch.full((side, side), factor) @ torch.eye(side)
    finally:
        torch.set_float32_matmul_precision(before)
    return bool((product != factor).any())
