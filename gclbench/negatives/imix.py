"""i-Mix: inputs of the first view are mixtures of two nodes, both its positives (Lee et al. 2021).

Each is the positive to the extent of its share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from scipy.special import betaincinv
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.component.settings import Positive
from gclbench.contrast.panel import paired, panel
from gclbench.contrast.unit_rows import unit_rows
from gclbench.graph import Unsupported
from gclbench.negatives.strategy import Negatives, Pair, Report, RowMixture, WeightRows
from gclbench.training.loop import Loss
from gclbench.training.streams import Streams


@NEGATIVES.register("imix")
@dataclass(frozen=True)
class Imix:
    """i-Mix: the first view's inputs are mixtures of two nodes, both positives by their shares.

    Attributes:
        alpha: α of Beta(α, α), from which each node's share is drawn; the larger of the share and
            its rest is the node's own.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    alpha: Positive = 1.0

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """The random stream of shares and partners.

        Raises:
            Unsupported: for a graph of one node.
        """
        if nodes < 2:
            raise Unsupported(
                "negatives=imix mixes a node with another, hence needs two nodes, and this graph"
                " has one"
            )
        return ImixNegatives(self.alpha, rng)


class ImixNegatives(Negatives):
    """InfoNCE with virtual labels: λ_i for the node, 1 − λ_i for its partner."""

    def __init__(self, alpha: float, rng: Streams):
        super().__init__()
        self.alpha = alpha
        self.generators["negatives"] = rng.torch("negatives")
        self.drawn: RowMixture | None = None

    def mixture(self, nodes: int, device: torch.device) -> RowMixture:
        """λ ~ Beta(α, α), one per node and made at least ½; partners by a random permutation."""
        generator = self.generators["negatives"]
        uniform = torch.rand(nodes, generator=generator, dtype=torch.float64)
        share = torch.from_numpy(np.asarray(betaincinv(self.alpha, self.alpha, uniform.numpy())))
        share = torch.maximum(share, 1 - share).to(torch.float32)[:, None]
        partner = torch.randperm(nodes, generator=generator)
        self.drawn = RowMixture(share.to(device), partner.to(device))
        return self.drawn

    def loss(self, pair: Pair) -> Loss:
        """λ_i·ℓ(u_i → v_i) + (1 − λ_i)·ℓ(u_i → v_p(i)), and the same labels read from v to u.

        With within-view pairs the denominators are GRACE's.

        Raises:
            Unsupported: when the base method did not mix its inputs.
        """
        drawn = self._drawn(pair)
        share, partner = drawn.share[:, 0].to(pair.u.dtype), drawn.partner
        u, v = unit_rows(pair.u), unit_rows(pair.v)
        scale = 1.0 / pair.tau
        across = panel(u, v, scale, columns=True, block=pair.block)
        forth, back = across.rows[0], across.columns[0]
        if pair.intra:
            forth = torch.logaddexp(
                forth, panel(u, u, scale, skip_self=True, block=pair.block).rows[0]
            )
            back = torch.logaddexp(
                back, panel(v, v, scale, skip_self=True, block=pair.block).rows[0]
            )
        positive = share * paired(u, v, scale) + (1 - share) * paired(
            u, v.index_select(0, partner), scale
        )
        # Read from v, the label of the mixture u_i stands with v_i to the extent of λ_i and with
        # its partner's v for the rest.
        back = share * back + (1 - share) * back.index_select(0, partner)
        contrast = (0.5 * (forth + back) - positive).mean()
        return Loss(contrast, {"contrast": contrast.detach()})

    def report(self, pair: Pair) -> Report:
        return Report() if self.drawn is None else Report(mixture=self._shares(pair))

    def _shares(self, pair: Pair) -> WeightRows:
        drawn = self._drawn(pair)

        def rows(start: int, stop: int) -> Tensor:
            share = drawn.share[start:stop].to(pair.u.dtype)
            itself = torch.arange(start, stop, device=share.device)[:, None]
            dense = share.new_zeros(stop - start, len(pair.u))
            return dense.scatter_add_(1, itself, share).scatter_add_(
                1, drawn.partner[start:stop, None], 1 - share
            )

        return rows

    def _drawn(self, pair: Pair) -> RowMixture:
        if self.drawn is None or len(self.drawn.partner) != len(pair.u):
            raise Unsupported(
                "negatives=imix mixes the inputs of the first view, and this method does not let a"
                " strategy do so; try it with method=grace"
            )
        return self.drawn
