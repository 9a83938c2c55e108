"""What a strategy for negatives is: the loss of a pair of views, and whatever the strategy learns
for it.

A strategy is chosen in the config (`negatives=NAME`, a frozen dataclass of settings registered in
NEGATIVES) and *built* once per training into a `Negatives` module, which holds its state. Any base
method hands it pairs of views and gets a loss back:

    for each iteration:  pair = the method's two views
                         negatives.update(pair.detached())    what the strategy learns by itself,
                         encoder frozen negatives(pair).backward()           the loss of the
                         encoder's step

u and v are the views' projected embeddings as the network gives them; a strategy scales them to
unit rows itself, since some need the lengths. θ_ij = ⟨û_i, v̂_j⟩ (inter-view), ρ_ij = ⟨û_i, û_j⟩
(intra-view), τ is the temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from gclbench.training.streams import Streams

WeightRows = Callable[[int, int], Tensor]
"""(start, stop) → (stop−start)×N weights of the negatives of those anchors, mean 1 over the row's
negatives."""


@dataclass(frozen=True)
class Pair:
    """Two views of the same nodes.

    Attributes:
        u, v: M×d embeddings after the projector, rows of any length.
        tau: temperature τ.
        iteration: from 1. total: iterations in all.
        intra: whether the base method contrasts nodes within a view too; a strategy that the papers
            define on inter-view pairs alone ignores it.
        edge_index: 2×E entries among the M nodes, of the graph before augmentation; None where a
            batch has none.
        nodes: N, nodes of the whole graph; M < N when this is a batch.
        batched: whether the training walks batches, even where this pair has all nodes.
        block: anchors per tile, chosen by `block_rows` when None.
    """

    u: Tensor
    v: Tensor
    tau: float
    iteration: int
    total: int
    intra: bool = True
    edge_index: Tensor | None = None
    nodes: int | None = None
    batched: bool = False
    block: int | None = None

    @property
    def is_batch(self) -> bool:
        """Whether the rows are a part of the graph only, or have been so far: what a strategy knows
        of a node by its number is not there."""
        return self.batched or (self.nodes is not None and self.nodes != len(self.u))

    def detached(self) -> Pair:
        """The same pair without gradients."""
        return replace(self, u=self.u.detach(), v=self.v.detach())

    def swapped(self) -> Pair:
        """The other direction: v's nodes are the anchors."""
        return replace(self, u=self.v, v=self.u)


@dataclass(frozen=True)
class RowMixture:
    """Inputs of the first view replaced by mixtures of two nodes: x_i ← share_i·x_i + (1 −
    share_i)·x_partner(i).

    Attributes:
        share: (M, 1), in [0, 1]. partner: (M,) node numbers.
    """

    share: Tensor
    partner: Tensor

    def apply(self, rows: Tensor) -> Tensor:
        """The mixed rows, from (M, ·) inputs or anything linear in them."""
        return self.share * rows + (1 - self.share) * rows.index_select(0, self.partner)


class Negatives(nn.Module):
    """A strategy at work in one training.

    Parameters and buffers are its state: a checkpoint holds them.

    Attributes:
        optimisers: of the modules that the strategy trains by itself, by name. generators: its
            random streams, by name.
        terms: what the last `forward` summed up, by name and without gradient: when the loss is not
            finite, the run's reason names the first of them that is not either.
    """

    def __init__(self) -> None:
        super().__init__()
        self.optimisers: dict[str, torch.optim.Optimizer] = {}
        self.generators: dict[str, torch.Generator] = {}
        self.terms: dict[str, Tensor] = {}

    def joint_parameters(self) -> list[nn.Parameter]:
        """Those of its parameters that the encoder's optimiser trains."""
        return []

    def mixture(self, nodes: int, device: torch.device) -> RowMixture | None:
        """How the first view's inputs are mixed for the coming `forward`, or None; called once
        before each."""
        return None

    def update(self, pair: Pair) -> None:
        """Learns from a detached pair what the strategy learns by itself; called before each step
        of the encoder."""

    def begun(self, iteration: int, total: int) -> bool:
        """Whether `forward` gave the loss that it will give to the end; before, a lowest loss says
        nothing (early stopping waits)."""
        return True

    def findings(self, pair: Pair) -> dict[str, float]:
        """What the training's record tells of the strategy besides the loss, by name; finite
        numbers."""
        return {}

    def remarks(self, findings: Mapping[str, float]) -> list[str]:
        """Sentences on those findings that matter to whoever reads the run's numbers: a command
        tells them at its end."""
        return []

    def reports(self, pair: Pair) -> dict[str, Any]:
        """What a `Contrast` holds of the strategy, of the last pair of views."""
        return {"weights": self.weights(pair), "mixture": self.shares(pair)}

    def told(self, pair: Pair) -> dict[str, Any]:
        """What an `Embedding` tells of the strategy, of the last pair of views."""
        found = self.findings(pair)
        return {"findings": found, "remarks": self.remarks(found)}

    def forward(self, pair: Pair) -> Tensor:
        """The loss, averaged over nodes and both directions (and what the strategy adds to it), one
        number."""
        raise TypeError(f"{type(self).__name__} defines no loss")

    def embed(self, z: Tensor, edge_index: Tensor, other: Tensor | None = None) -> Tensor:
        """What is evaluated, N×d.

        Args:
            z: the encoder's embedding of the whole graph (of its first view, where the base method
                has an encoder for each).
            other: the second encoder's embedding, where there is one (MVGRL); the two are added.
        """
        return z if other is None else z + other

    def weights(self, pair: Pair) -> WeightRows | None:
        """The weights that the strategy gives to each anchor's inter-view negatives, for reports;
        None where it has none."""
        return None

    def shares(self, pair: Pair) -> WeightRows | None:
        """Each node's shares in the anchors' mixtures, (stop−start)×N rows that sum to 1, for
        reports; None without mixing."""
        return None

    def get_extra_state(self) -> dict[str, Any]:
        """What a checkpoint holds besides parameters and buffers: optimisers and random generators."""
        return {
            "optimisers": {
                name: optimiser.state_dict() for name, optimiser in self.optimisers.items()
            },
            "generators": {
                name: generator.get_state() for name, generator in self.generators.items()
            },
        }

    def set_extra_state(self, state: Any) -> None:
        """Takes up what `get_extra_state` gave."""
        for name, optimiser in self.optimisers.items():
            optimiser.load_state_dict(state["optimisers"][name])
        for name, generator in self.generators.items():
            generator.set_state(state["generators"][name])


class Strategy(Protocol):
    """A strategy's settings, as registered in NEGATIVES."""

    version: ClassVar[str]

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """Its state for one training.

        Args:
            width: d of the projected embeddings. nodes: N. rng: `rng.seeded("negatives")` for
                initial weights, `rng.torch("negatives")` for draws.

        Raises:
            Unsupported: when the graph does not suit the strategy.
        """
        ...
