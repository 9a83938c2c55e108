"""Matrices that are hard on the CUDA kernel, and what it must make of them: shared by the emulated
and the GPU tests."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

WIDTHS = (1, 3, 4, 7, 64, 127, 128, 200)
# Around the steps of the kernel (4, 8, 16, 32 neighbours) and around the length from which a row is
# cut up (512).
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 63, 65, 511, 512, 513, 1025)


@dataclass
class Case:
    """One problem; `device` moves it."""

    pointers: Tensor
    columns: Tensor
    inverse_degree: Tensor
    source: Tensor
    base: Tensor
    out: Tensor

    def to(self, device: str, dtype: torch.dtype) -> Case:
        wide = [tensor.to(device) for tensor in (self.pointers, self.columns, self.inverse_degree)]
        return Case(
            *wide,
            *(
                tensor.to(device=device, dtype=dtype)
                for tensor in (self.source, self.base, self.out)
            ),
        )

    @property
    def graph(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.pointers, self.columns, self.inverse_degree


def case(width: int, lengths: tuple[int, ...] = LENGTHS, seed: int = 0) -> Case:
    """Rows of the given lengths in random order among short ones, with any neighbours (repeated
    ones too)."""
    generator = torch.Generator().manual_seed(seed)
    degree = torch.cat([torch.tensor(lengths), torch.randint(0, 12, (40,), generator=generator)])
    degree = degree[torch.randperm(len(degree), generator=generator)]
    pointers = torch.cat([torch.zeros(1, dtype=torch.int64), degree.cumsum(0)])
    columns = torch.randint(
        0, len(degree), (int(pointers[-1]),), generator=generator, dtype=torch.int32
    )
    matrices = [torch.randn(len(degree), width, generator=generator) for _ in range(3)]
    return Case(pointers, columns, degree.clamp(min=1).float().reciprocal(), *matrices)


def summed(case: Case, values: Tensor) -> Tensor:
    """Σ over neighbours in float64, on the values' device."""
    rows = torch.repeat_interleave(
        torch.arange(len(values), device=values.device), case.pointers.diff()
    )
    return torch.zeros_like(values, dtype=torch.float64).index_add_(
        0, rows, values.double()[case.columns.long()]
    )


def swept(case: Case, damping: float, omega: float) -> tuple[Tensor, Tensor, Tensor]:
    """Result and residuals of a sweep in float64, and the bound that cuda.py states on the result's
    error in float32."""
    inverse = case.inverse_degree.double()[:, None]
    full = damping * inverse * summed(case, case.source) + case.base.double()
    out = omega * full + (1 - omega) * case.out.double()
    return out, (full - case.source.double()).square().sum(dim=1), bound(case, damping, omega)


def bound(case: Case, damping: float, omega: float) -> Tensor:
    """The sum's bound (module docstring of cuda.py), and six roundings of what is made of it."""
    entries = case.pointers.diff().double()
    short = torch.minimum((entries - 1).clamp(min=0), 3 + (entries / 8).ceil())
    long = 3 + 64 + (entries / 16384).ceil() + 32
    factor = torch.where(entries <= 512, short, long)[:, None]
    inverse = case.inverse_degree.double()[:, None]
    absolute = damping * inverse * summed(case, case.source.abs())
    rest = absolute + case.base.abs().double()
    return 2.0**-24 * (
        omega * (absolute * factor + 6 * rest) + 6 * abs(1 - omega) * case.out.abs().double()
    )


def bfloat16_step(values: Tensor) -> Tensor:
    """How far a float64 value may lie from its bfloat16 after a float32 computation: half a step,
    and a little for ties."""
    return values.abs() * 2.0**-8 * (1 + 2.0**-6) + 1e-30
