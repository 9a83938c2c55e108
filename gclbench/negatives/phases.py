"""PHASES (Sun et al. 2023): the hardest negatives are masked, more of them as the training goes
on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.component.settings import Fraction, Range
from gclbench.contrast.blocks import block_rows, sums_by_blocks
from gclbench.contrast.panel import paired
from gclbench.contrast.tiles import tile_dtype
from gclbench.contrast.unit_rows import unit_rows
from gclbench.negatives.strategy import Negatives, Pair, Report, check_two_nodes
from gclbench.negatives.uniform import UniformNegatives, mean_one, ones
from gclbench.training.loop import Loss, Step
from gclbench.training.streams import Streams

TILES = 6
"""Copies of a tile that live at once."""


@NEGATIVES.register("phases")
@dataclass(frozen=True)
class Phases:
    """PHASES, our reading of the abstract (no public code): masks the hardest negatives, gradually.

    GRACE's loss in which the ⌊r·(N−1)⌋ nodes j of largest θ_ij are no negatives of i, neither by
    θ_ij nor by ρ_ij; of equal ones none is masked that need not be. r is 0 until `begin` of the
    training, rises linearly, and is `most` from `end` on.

    Attributes:
        most: largest share r of an anchor's negatives that is masked.
        begin, end: shares of the training.
    """

    version: ClassVar[str] = "2"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    most: Fraction = 0.1
    begin: Annotated[float, Range(least=0, below=1)] = 0.2
    end: Annotated[float, Range(above=0, most=1)] = 0.8

    def __post_init__(self) -> None:
        if self.begin >= self.end:
            raise ValueError(
                f"begin={self.begin:g} must be less than end={self.end:g}, for example"
                " negatives.begin=0.2 negatives.end=0.8"
            )

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """No state.

        Raises:
            Unsupported: when the graph has a single node.
        """
        check_two_nodes("phases", nodes)
        return PhasesNegatives(self)


class PhasesNegatives(Negatives):
    """The mask at work."""

    by_number = False

    def __init__(self, settings: Phases):
        super().__init__()
        self.settings = settings

    def share(self, step: Step) -> float:
        """r of an iteration."""
        settings = self.settings
        done = (step.iteration / max(1, step.total) - settings.begin) / (
            settings.end - settings.begin
        )
        return settings.most * min(1.0, max(0.0, done))

    def loss(self, pair: Pair) -> Loss:
        share = self.share(pair.step)
        final = share == self.settings.most
        masked = self._masked(pair)
        if not masked:
            return Loss(*_plain(pair), final=final)
        u, v, scale = unit_rows(pair.u), unit_rows(pair.v), 1.0 / pair.tau
        others = [_others(first, second, pair, masked) for first, second in ((u, v), (v, u))]
        loss = torch.stack(others).mean() - paired(u, v, scale).mean()
        loss = loss.to(pair.u.dtype)
        return Loss(loss, {"contrast": loss.detach()}, final=final)

    def report(self, pair: Pair) -> Report:
        """The mask of the inter-view negatives, its mean 1."""
        masked = self._masked(pair)
        if not masked:
            return Report(ones(pair))
        u, v = unit_rows(pair.u), unit_rows(pair.v)

        def rows(start: int, stop: int) -> Tensor:
            return _kept(u[start:stop] @ v.T, start, masked)

        return Report(mean_one(rows))

    def _masked(self, pair: Pair) -> int:
        """How many negatives of each anchor are masked; one is always left."""
        return min(int(self.share(pair.step) * (len(pair.u) - 1)), max(0, len(pair.u) - 2))


def _plain(pair: Pair) -> tuple[Tensor, dict[str, Tensor]]:
    found = UniformNegatives().loss(pair)
    return found.value, dict(found.terms)


def _bound(theta: Tensor, start: int, masked: int) -> Tensor:
    """The largest similarity of each anchor's negatives that is not masked, B×1.

    Args:
        theta: rows of similarities, the first one of the anchor `start`.
    """
    negative = theta.clone()
    negative.diagonal(offset=start).fill_(-torch.inf)
    return negative.topk(masked + 1, dim=1, sorted=False).values.amin(dim=1, keepdim=True)


def _kept(theta: Tensor, start: int, masked: int) -> Tensor:
    """1 of each candidate that is not masked, else 0; the positive never is."""
    theta = theta.detach()
    kept = (theta <= _bound(theta, start, masked)).to(theta.dtype)
    kept.diagonal(offset=start).fill_(1.0)
    return kept


def _others(anchors: Tensor, candidates: Tensor, pair: Pair, masked: int) -> Tensor:
    """The mean log of the anchors' denominators, one number."""
    count, scale = len(anchors), 1.0 / pair.tau
    dtype = tile_dtype(scale, anchors.dtype)

    def logs(
        rows: Tensor, number: Tensor, candidates: Tensor, same: Tensor | None = None
    ) -> Tensor:
        start = int(number[0])
        rows = rows * scale
        theta = rows @ candidates.T
        kept = _kept(theta, start, masked)
        others = (theta.exp() * kept).sum(dim=1)
        if same is not None:
            # A weight that stands in a graph of autograd is not written again.
            inside = kept.clone()
            inside.diagonal(offset=start).zero_()
            others = others + ((rows @ same.T).exp() * inside).sum(dim=1)
        return others.log().sum()[None]

    anchors, candidates = anchors.to(dtype), candidates.to(dtype)
    size = block_rows(count, count, TILES) if pair.block is None else pair.block
    # On the CPU: a block reads its first number without waiting for a GPU.
    numbers = torch.arange(count)
    shared = (candidates, anchors) if pair.intra else (candidates,)
    total, _ = sums_by_blocks(logs, (anchors, numbers), shared, size)
    return total / count
