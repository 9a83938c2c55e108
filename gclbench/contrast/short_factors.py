"""Products of a tile with bfloat16 factors, of vectors about their mean.

Early in a training all unit rows point nearly one way. Rounded as they are, the products lose what
tells the rows apart, and the gradient, a difference of nearly equal sums, with it. About the mean
the factors are as small as the differences are, and what the mean adds is taken in float32.

There are two ways to such products. With `torch.set_float32_matmul_precision("medium")` torch
shortens the factors of float32 products on processors with AMX, and sums in float32 (`ByTorch`). On
the one with AVX512-BF16 alone that was tried (an AMD EPYC) it keeps float32 factors, and multiplies
matrices that are bfloat16 already at least twice as fast. Such a product is summed in float32 and
rounded to bfloat16 at the end (`Copies`).
"""

from __future__ import annotations

import contextlib
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextvars import ContextVar

import torch
from torch import Tensor

SHORT = "medium"
"""torch's name for bfloat16 factors on a processor."""

Buffer = Callable[..., Tensor]
"""Memory of a given number, rows, columns and dtype: `Tiles.buffer`."""


@contextlib.contextmanager
def matmul_precision(name: str) -> Iterator[None]:
    """Within the block torch's products of float32 matrices have that precision."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class Centred(ABC):
    """A panel's vectors about their means, ready as factors, and what that leaves out.

    Attributes:
        left: scale·(anchors − own_middle), M×d. right: candidates − middle, N×d.
        own: anchors − own_middle, M×d.
        middle, own_middle: the mean candidate and the mean anchor, (d,) float32.
        of_anchors: (M,) and of_candidates: (N,), float32; left·rightᵀ, plus the one of a row, plus
            the other of a column, are the similarities.
    """

    def __init__(self, anchors: Tensor, candidates: Tensor, scale: float):
        self.scale = scale
        self.middle = _mean(candidates)
        about = candidates - self.middle
        self.right = self.short(about)
        if candidates is anchors:
            self.own_middle, own, self.own = self.middle, about, self.right
        else:
            self.own_middle = _mean(anchors)
            own = anchors - self.own_middle
            self.own = self.short(own)
        self.left = self.short(own * scale)
        self.of_anchors = anchors @ self.middle * scale
        self.of_candidates = about @ self.own_middle * scale

    @abstractmethod
    def short(self, vectors: Tensor) -> Tensor:
        """Vectors as they are kept for products."""

    @abstractmethod
    def fill(self, tile: Tensor, start: int, first: int, buffer: Buffer) -> None:
        """Fills a tile with the similarities of the anchors from `start` and the candidates from
        `first`."""

    @abstractmethod
    def factor(self, pulls: Tensor, buffer: Buffer) -> Tensor:
        """A tile of slopes as it is kept for products."""

    @abstractmethod
    def add(self, gradient: Tensor, factor: Tensor, vectors: Tensor) -> None:
        """Adds scale·factor·vectors to a gradient."""


class Copies(Centred):
    """bfloat16 copies as factors; the products are rounded to bfloat16, too."""

    def short(self, vectors: Tensor) -> Tensor:
        return vectors.bfloat16()

    def fill(self, tile: Tensor, start: int, first: int, buffer: Buffer) -> None:
        stop = start + len(tile)
        product = buffer(0, *tile.shape, torch.bfloat16)
        torch.mm(self.left[start:stop], self.right[first:].T, out=product)
        tile.copy_(product).add_(self.of_anchors[start:stop, None])
        tile.add_(self.of_candidates[first:])

    def factor(self, pulls: Tensor, buffer: Buffer) -> Tensor:
        return buffer(1, *pulls.shape, torch.bfloat16).copy_(pulls)

    def add(self, gradient: Tensor, factor: Tensor, vectors: Tensor) -> None:
        gradient.add_(torch.mm(factor, vectors), alpha=self.scale)


class ByTorch(Centred):
    """float32 factors, which torch rounds to bfloat16 in a product; sums are float32."""

    def short(self, vectors: Tensor) -> Tensor:
        return vectors

    def fill(self, tile: Tensor, start: int, first: int, buffer: Buffer) -> None:
        stop = start + len(tile)
        # What the mean adds comes first: the product is then added as it is made.
        torch.add(self.of_anchors[start:stop, None], self.of_candidates[first:], out=tile)
        with matmul_precision(SHORT):
            tile.addmm_(self.left[start:stop], self.right[first:].T)

    def factor(self, pulls: Tensor, buffer: Buffer) -> Tensor:
        return pulls

    def add(self, gradient: Tensor, factor: Tensor, vectors: Tensor) -> None:
        with matmul_precision(SHORT):
            gradient.addmm_(factor, vectors, alpha=self.scale)


def _mean(vectors: Tensor) -> Tensor:
    """Of the rows, zero where there are none."""
    return vectors.sum(dim=0) / max(len(vectors), 1)


_asked: ContextVar[type[Centred] | None] = ContextVar("short factors in contrasts", default=None)


@contextlib.contextmanager
def short_factors(made: type[Centred] | None) -> Iterator[None]:
    """Within the block panels are reduced with bfloat16 factors made so; None is float32."""
    before = _asked.set(made)
    try:
        yield
    finally:
        _asked.reset(before)


def factors_for(anchors: Tensor, dtype: torch.dtype) -> type[Centred] | None:
    """What makes the factors of a panel whose tiles have this dtype; None is float32."""
    return _asked.get() if anchors.is_cpu and dtype == torch.float32 else None


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
    with matmul_precision(SHORT):
        product = torch.full((side, side), factor) @ torch.eye(side)
    return bool((product != factor).any())
