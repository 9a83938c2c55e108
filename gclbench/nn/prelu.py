"""PReLU with one slope, its gradient by vectorised kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class PReLU(nn.PReLU):
    """x where x > 0, a·x elsewhere, with one learned slope a for all channels, 1/4 at first.

    Values and gradients have the bits of `torch.nn.PReLU`, but for the sign of zeros and where a
    gradient is not finite; there are no second derivatives. On a CPU, torch's gradient branches on
    each element, which takes many times as long as the rest of it.
    """

    def __init__(self) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """Elementwise, any shape."""
        if x.device.type != "cpu":
            return super().forward(x)
        found: Tensor = _OnCpu.apply(x, self.weight)
        return found


class _OnCpu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(x, slope)
        return torch.prelu(x, slope)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, slope = ctx.saved_tensors
        of_x = of_slope = None
        if ctx.needs_input_grad[0]:
            of_x = torch.ops.aten.leaky_relu_backward(gradient, x, float(slope), False)
        if ctx.needs_input_grad[1]:
            # Summed as torch does, so that the order of the sum is the same.
            of_slope = x.clamp(max=0).mul_(gradient).sum_to_size([1] * x.dim()).reshape(1)
        return of_x, of_slope
