"""A fully connected autoencoder whose hidden layers can be looked at."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gclbench.nn.sparse import Features, SparseMatrix

BLOCK_ENTRIES = 1 << 23
"""Entries of the reconstruction that exist at a time: 32 MiB in float32."""

GRAM_FROM = 1 << 26
"""Entries of sparse features from which the reconstruction is never formed. There the last layer
is more than half of the work; below, a run's sums stay in the order in which it was recorded."""


class Autoencoder(nn.Module):
    """F → widths → code → widths in reverse → F, ReLU between, none after the code and the
    reconstruction.

    Args:
        inputs: F. widths: of the encoder's hidden layers. code: width of the code.
    """

    def __init__(self, inputs: int, widths: tuple[int, ...], code: int):
        super().__init__()
        sizes = [inputs, *widths, code]
        first = nn.Linear(inputs, sizes[1])
        # F×H, not H×F: sparse features are its left factor.
        self.weight, self.bias = nn.Parameter(first.weight.detach().T.contiguous()), first.bias
        self.encoder = nn.ModuleList(
            nn.Linear(a, b) for a, b in zip(sizes[1:-1], sizes[2:], strict=True)
        )
        back = sizes[::-1]
        self.decoder = nn.ModuleList(
            nn.Linear(a, b) for a, b in zip(back[:-2], back[1:-1], strict=True)
        )
        self.last = nn.Linear(back[-2], inputs)

    def hidden(self, product: Tensor) -> list[Tensor]:
        """Outputs of the encoder's layers (B×width each), the code last, from x·weight
        (B×widths[0])."""
        layers = [product + self.bias]
        for layer in self.encoder:
            layers[-1] = torch.relu(layers[-1])
            layers.append(layer(layers[-1]))
        return layers

    def reconstruction_error(
        self, code: Tensor, x: Tensor, features: Features | None = None
    ) -> Tensor:
        """Mean over entries of the squared difference to x (B×F); the reconstruction exists in
        blocks of rows only, or not at all.

        Args:
            features: the same x, where its sparse entries are at hand.
        """
        h = code
        for layer in self.decoder:
            h = torch.relu(layer(h))
        if features is not None and features.sparse is not None and x.numel() >= GRAM_FROM:
            return self._squares_by_products(h, features.sparse) / x.numel()
        step = max(1, BLOCK_ENTRIES // x.shape[1])
        if step >= len(x):
            return self._squares(h, x) / x.numel()
        pieces = zip(h.split(step), x.split(step), strict=True)
        parts = [
            checkpoint(self._squares, *piece, use_reentrant=False, preserve_rng_state=False)
            for piece in pieces
        ]
        return torch.stack(parts).sum() / x.numel()

    def _squares(self, h: Tensor, x: Tensor) -> Tensor:
        return (self.last(h) - x).square().sum()

    def _squares_by_products(self, h: Tensor, x: SparseMatrix) -> Tensor:
        """‖R − X‖² = ⟨HᵀH, WᵀW⟩ − 2⟨XW, H⟩ + ‖X‖² for the reconstruction R = HWᵀ, where H has a
        column of ones (B×(H+1)) and W the bias (F×(H+1)): no product has B·F entries."""
        h = torch.cat([h, h.new_ones(len(h), 1)], dim=1)
        weight = torch.cat([self.last.weight, self.last.bias[:, None]], dim=1)
        squares = ((h.T @ h) * (weight.T @ weight)).sum()
        both = ((x @ weight) * h).sum()
        return squares - 2 * both + x.matrix.values().square().sum()
