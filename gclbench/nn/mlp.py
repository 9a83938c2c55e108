"""The multi-layer perceptron that encodes filtered features."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from gclbench.nn.masked_linear import masked_products
from gclbench.nn.prelu import PReLU
from gclbench.nn.sparse import both_ways

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "identity": nn.Identity,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "selu": nn.SELU,
    "prelu": PReLU,
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
        """B×F → B×d; x is dense or compressed rows."""
        first = both_ways(x) if x.layout == torch.sparse_csr else x
        return self.rest(first @ self.weight)

    def views(
        self, x: Tensor, dropped: list[Tensor], mix: Callable[[Tensor], Tensor] | None = None
    ) -> list[Tensor]:
        """The embeddings of x and of its copies without the dropped columns, each B×d, x's first.

        Args:
            x: B×F, dense or compressed rows. dropped: per copy, the sorted columns set to zero.
            mix: applied to x·W of the unmasked x; mixing rows there is mixing rows of x.
        """
        products = _masked_entries if x.layout == torch.sparse_csr else masked_products
        hidden = products(x, self.weight, dropped)
        if mix is not None:
            hidden = (mix(hidden[0]), *hidden[1:])
        stacked = self.rest(torch.cat(hidden))
        return list(stacked.split(len(x)))


def _masked_entries(x: Tensor, weight: Tensor, dropped: list[Tensor]) -> tuple[Tensor, ...]:
    """As `masked_products`, of compressed rows."""
    matrix = both_ways(x)
    found = [matrix @ weight]
    for columns in dropped:
        keep = torch.ones(x.shape[1], dtype=torch.bool, device=x.device)
        keep[columns] = False
        found.append(matrix.masked(keep) @ weight)
    return tuple(found)
