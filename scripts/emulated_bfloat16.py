"""Products as hardware with bfloat16 factors and float32 sums gives them, on hardware without.

Each factor of a float32 product is rounded to bfloat16; a product of two such numbers is exact in
float32, and so sums differ from the hardware's by their order alone. It shows what `precision=fast`
does to numbers, and nothing of how long it takes.

    with emulated():
        loss.backward()
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from gclbench.contrast import short_factors
from gclbench.contrast.short_factors import Centred, Copies
from gclbench.machine import precision

aten = torch.ops.aten

FACTORS = {
    aten.mm.default: (0, 1),
    aten.mm.out: (0, 1),
    aten.bmm.default: (0, 1),
    aten.bmm.out: (0, 1),
    aten.addmm.default: (1, 2),
    aten.addmm.out: (1, 2),
    aten.addmm_.default: (1, 2),
    aten.baddbmm.default: (1, 2),
}
"""Operations, and which of their arguments are the factors."""


def rounded(factor: Tensor) -> Tensor:
    """float32 numbers that bfloat16 holds; other types as they are."""
    return factor.bfloat16().float() if factor.dtype == torch.float32 else factor


class _Rounding(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in FACTORS:
            places = FACTORS[func]
            args = tuple(
                rounded(item) if place in places else item for place, item in enumerate(args)
            )
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def emulated() -> Iterator[None]:
    """Within the block dense float32 products have bfloat16 factors."""
    with _Rounding():
        yield


@contextlib.contextmanager
def in_contrasts(made: type[Centred] = Copies) -> Iterator[None]:
    """Within the block products are those of a step's fast ones on a processor with AVX512-BF16 and
    no AMX: those of panels have bfloat16 copies for factors and are rounded themselves.

    Any processor makes them, if not fast.

    Args:
        made: what makes the factors; another class says what its factors would do.

    Raises:
        RuntimeError: where torch shortens the factors of all products.
    """
    if short_factors.torch_shortens():
        raise RuntimeError("torch shortens all factors here; this is about contrasts alone")
    with short_factors.short_factors(made):
        yield


class AsTheyAre(Copies):
    """Copies of the vectors themselves."""

    def __init__(self, anchors: Tensor, candidates: Tensor, scale: float):
        super().__init__(anchors, candidates, scale)
        self.left, self.own = (anchors * scale).bfloat16(), anchors.bfloat16()
        self.right = candidates.bfloat16()
        for name in ("middle", "own_middle", "of_anchors", "of_candidates"):
            setattr(self, name, torch.zeros_like(getattr(self, name)))


@contextlib.contextmanager
def in_uncentred_contrasts() -> Iterator[None]:
    """As `in_contrasts`, with copies of the vectors as they are and not about their mean: what that
    would cost. Nothing computes so."""
    with in_contrasts(AsTheyAre):
        yield


@contextlib.contextmanager
def fast_is_emulated() -> Iterator[None]:
    """Within the block `precision=fast` is emulated, in the steps of trainings alone."""
    ways, products = precision.ways, precision.products

    @contextlib.contextmanager
    def steps() -> Iterator[None]:
        with emulated() if precision._products.get() else contextlib.nullcontext():
            yield

    precision.ways = lambda device: ("emulated bfloat16",)
    precision.products = steps
    try:
        yield
    finally:
        precision.ways, precision.products = ways, products
