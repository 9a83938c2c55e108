"""Graph convolutional encoders on constant sparse features and propagation matrices."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from gclbench.nn.batch_norm import DebiasedBatchNorm
from gclbench.nn.prelu import PReLU
from gclbench.nn.sparse import Features, SparseMatrix

RRELU_SLOPE = 11 / 48
"""Mean slope of a randomised leaky ReLU between 1/8 and 1/3: what it is outside training."""


class RandomisedReLU(nn.Module):
    """RReLU whose slopes, in training, come from a generator of one's own: x·a where x < 0, a
    uniform in [1/8, 1/3]."""

    def __init__(self) -> None:
        super().__init__()
        self.generator: torch.Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Elementwise; the mean slope in eval mode.

        Raises:
            RuntimeError: in training without a generator, which would make the slopes the mean one
                unnoticed.
        """
        if not self.training:
            return nn.functional.leaky_relu(x, RRELU_SLOPE)
        if self.generator is None:
            raise RuntimeError(
                "a randomised ReLU draws its slopes from a generator in training:"
                " give it one with `use`"
            )
        slope = torch.empty(x.shape).uniform_(1 / 8, 1 / 3, generator=self.generator).to(x.device)
        # 1 where x is not negative, exactly; `where` branches on each element, on a CPU.
        negative = (x < 0).to(slope.dtype)
        return x * slope.mul_(negative).add_(1 - negative)


GCN_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "identity": nn.Identity,
    "relu": nn.ReLU,
    # One learned slope for all channels, PyTorch's default.
    "prelu": PReLU,
    "elu": nn.ELU,
    "rrelu": RandomisedReLU,
    "rrelu_mean": lambda: nn.LeakyReLU(RRELU_SLOPE),
}


class GcnEncoder(nn.Module):
    """Layers h ← act(Â h W + b) (Kipf & Welling 2017).

    Args:
        inputs: F. widths: output width of each layer.
        activation: a key of `GCN_ACTIVATIONS`, after each layer; after the last too if `last`.
        batch_norm: batch normalisation before each activation (running averages as BGRL's).
    """

    def __init__(
        self,
        inputs: int,
        widths: tuple[int, ...],
        activation: str,
        last: bool = True,
        batch_norm: bool = False,
    ):
        super().__init__()
        sizes = [inputs, *widths]
        self.weights = nn.ParameterList(
            nn.Parameter(nn.init.xavier_uniform_(torch.empty(before, after)))
            for before, after in zip(sizes[:-1], widths, strict=True)
        )
        # Normalisation takes out whatever is added before it: a bias there would get rounding
        # errors for a gradient, which Adam makes full steps of.
        self.biases = nn.ParameterList(
            nn.Parameter(torch.zeros(width), requires_grad=not batch_norm) for width in widths
        )
        self.norms = nn.ModuleList(
            DebiasedBatchNorm(width) if batch_norm else nn.Identity() for width in widths
        )
        self.activations = nn.ModuleList(
            GCN_ACTIVATIONS[activation]() if last or index < len(widths) - 1 else nn.Identity()
            for index in range(len(widths))
        )

    def forward(
        self,
        features: Features,
        propagation: SparseMatrix,
        keep: Tensor | None = None,
        mix: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """N×widths[-1].

        Args:
            keep: (F,) bool, feature columns that the view keeps.
            mix: applied to x·W of the first layer; mixing rows there is mixing rows of x.
        """
        h = features.product(self.weights[0], keep)
        if mix is not None:
            h = mix(h)
        for index in range(len(self.weights)):
            if index:
                h = h @ self.weights[index]
            h = self.activations[index](self.norms[index](propagation @ h + self.biases[index]))
        return h

    def use(self, generator: torch.Generator) -> None:
        """Lets the random activations draw from this generator in training."""
        for module in self.activations:
            if isinstance(module, RandomisedReLU):
                module.generator = generator


class Projector(nn.Sequential):
    """d → hidden (ELU) → d: the head that only the loss sees (GRACE). hidden = 0: nothing.

    Args:
        width: d. hidden: width of the hidden layer.
    """

    def __init__(self, width: int, hidden: int):
        super().__init__(
            *([nn.Linear(width, hidden), nn.ELU(), nn.Linear(hidden, width)] if hidden else [])
        )
