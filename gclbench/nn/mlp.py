"""The multi-layer perceptron that encodes filtered features."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from gclbench.nn.masked_linear import masked_products

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "identity": nn.Identity,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "selu": nn.SELU,
    "prelu": nn.PReLU,
    "leaky_relu": nn.LeakyReLU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
}


class Mlp(nn.Module):
    """F → widths[0] → … → widths[-1], the activation between layers, none after the last.

    Weights start from Glorot's uniform distribution; there are no biases, so a node without
    features stays at zero (docs/choices.md).

    Args:
        inputs: F.
        widths: output width of each layer, at least one.
        activation: a key of `ACTIVATIONS`.
    """

    def __init__(self, inputs: int, widths: tuple[int, ...], activation: str):
        super().__init__()
        # F×H, not H×F: the columns of a masked view are then contiguous rows of the weight.
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, widths[0])))
        rest: list[nn.Module] = []
        for before, after in zip(widths[:-1], widths[1:], strict=True):
            layer = nn.Linear(before, after, bias=False)
            nn.init.xavier_uniform_(layer.weight)
            rest += [ACTIVATIONS[activation](), layer]
        self.rest = nn.Sequential(*rest)

    def forward(self, x: Tensor) -> Tensor:
        """B×F → B×d."""
        return self.rest(x @ self.weight)

    def views(
        self, x: Tensor, dropped: list[Tensor], mix: Callable[[Tensor], Tensor] | None = None
    ) -> list[Tensor]:
        """The embeddings of x and of its copies without the dropped columns, each B×d, x's first.

        Args:
            x: B×F. dropped: per copy, the sorted columns set to zero.
            mix: applied to x·W of the unmasked x; mixing rows there is mixing rows of x.
        """
        hidden = masked_products(x, self.weight, dropped)
        if mix is not None:
            hidden = (mix(hidden[0]), *hidden[1:])
        stacked = self.rest(torch.cat(hidden))
        return list(stacked.split(len(x)))
