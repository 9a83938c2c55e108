"""What a strategy for negatives is: the loss of an anchor view against one or more other views.

A strategy is chosen in the config (`negatives=NAME`). Its settings are a frozen dataclass
registered in NEGATIVES. They *build* a `Negatives` module once per training, which holds the
strategy's state. Any base method hands it pairs of views:

    strategy = built(negatives, width, nodes, rng, device)   once per training
    strategy.update(pair.detached())                         what it learns by itself
    loss = strategy(pair)                                    what the encoder's step makes smaller
    report = strategy.report(pair)                           once, of the last pair

u is the anchor view and v another one, projected, as the network gives them. A strategy scales
them to unit rows itself, since some need the lengths. θ_ij = ⟨û_i, v̂_j⟩ is the similarity of an
inter-view pair, ρ_ij = ⟨û_i, û_j⟩ that of an intra-view pair, τ the temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from gclbench.contrast.unit_rows import unit_rows
from gclbench.graph import Unsupported
from gclbench.nn.sparse import edges_among
from gclbench.training.loop import Loss, Step
from gclbench.training.streams import Streams

EDGES = "edges"
"""Where a pair keeps its `edges`."""

WeightRows = Callable[[int, int], Tensor]
"""(start, stop) → (stop−start)×N weights of the negatives of those anchors. Their mean over a
row's negatives is 1."""


@dataclass(frozen=True)
class Pair:
    """An anchor view and one or more other views of the same nodes.

    Attributes:
        u: M×d, the anchor view after the projector, rows of any length. views: the others, M×d.
        tau: temperature τ. step: the iteration.
        intra: whether the base method contrasts nodes within a view too. A strategy that the papers
            define on inter-view pairs alone ignores it.
        edge_index: 2×E, of the graph before augmentation; None where there are no edges to know.
        kept_edges: (E,) bool for each view, u's first: the entries that it keeps; None where all
            views keep all.
        features: N×F of all nodes, before augmentation; None where a base has none to show.
        plain: gives the embedding of the rows without augmentation, M×d' with its gradient, as it
            is evaluated; None where u is that.
        batch: (M,) the nodes of the rows; None where the rows are all nodes in order.
        nodes: N, where `batch` is given. batched: whether the training walks batches, even where
            this pair has all nodes.
        block: anchors per tile, chosen by `block_rows` when None.
        several: whether this is one of several pairs of an iteration (`each`).
        kept: what a strategy computes once for the pair and its detached twin.
    """

    u: Tensor
    views: tuple[Tensor, ...]
    tau: float
    step: Step
    intra: bool = True
    edge_index: Tensor | None = None
    kept_edges: tuple[Tensor, ...] | None = None
    features: Tensor | None = None
    plain: Callable[[], Tensor] | None = field(default=None, compare=False, repr=False)
    batch: Tensor | None = None
    nodes: int | None = None
    batched: bool = False
    block: int | None = None
    several: bool = False
    kept: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def v(self) -> Tensor:
        """The first of the other views."""
        return self.views[0]

    @property
    def is_batch(self) -> bool:
        """Whether the rows are a part of the graph only, or have been so far.

        What a strategy knows of a node by its number is not there then.
        """
        return self.batched or self.batch is not None

    @property
    def edges(self) -> Tensor | None:
        """2×E' entries among the M nodes, by their place in the batch."""
        if self.batch is None or self.edge_index is None or self.nodes is None:
            return self.edge_index
        if EDGES not in self.kept:
            self.kept[EDGES] = edges_among(self.edge_index, self.batch, self.nodes)
        return self.kept[EDGES]

    def edges_of(self, view: int) -> Tensor | None:
        """2×E' entries that a view keeps, by their place in the batch; view 0 is u, 1 is v."""
        if self.edge_index is None or self.kept_edges is None:
            return self.edges
        kept = self.edge_index[:, self.kept_edges[view].to(self.edge_index.device)]
        if self.batch is None or self.nodes is None:
            return kept
        return edges_among(kept, self.batch, self.nodes)

    @property
    def embedding(self) -> Tensor:
        """M×d', the rows without augmentation; computed anew where the base has to encode them."""
        return self.u if self.plain is None else self.plain()

    def detached(self) -> Pair:
        """The same pair without gradients."""
        return replace(self, u=self.u.detach(), views=tuple(view.detach() for view in self.views))

    def swapped(self) -> Pair:
        """The other direction of one pair of views: v's nodes are the anchors."""
        kept = None if self.kept_edges is None else (self.kept_edges[1], self.kept_edges[0])
        return replace(self, u=self.v, views=(self.u,), kept_edges=kept, kept={})

    def each(self) -> Iterator[Pair]:
        """The anchor view with each of the others.

        Only the first pair keeps what was computed. The edges are shared by all: they are those of
        the nodes.
        """
        for place, view in enumerate(self.views):
            edges = {EDGES: self.kept[EDGES]} if EDGES in self.kept else {}
            masks = self.kept_edges
            yield replace(
                self,
                views=(view,),
                kept_edges=None if masks is None else (masks[0], masks[place + 1]),
                several=self.several or len(self.views) > 1,
                kept=self.kept if place == 0 else edges,
            )


@dataclass(frozen=True)
class RowMixture:
    """Mixtures of two nodes as inputs of the anchor view.

    x_i ← share_i·x_i + (1 − share_i)·x_partner(i).

    Attributes:
        share: (M, 1), in [0, 1]. partner: (M,) node numbers.
    """

    share: Tensor
    partner: Tensor

    def apply(self, rows: Tensor) -> Tensor:
        """The mixed rows, from (M, ·) inputs or anything linear in them."""
        return self.share * rows + (1 - self.share) * rows.index_select(0, self.partner)


@dataclass(frozen=True)
class Report:
    """What is known of a strategy at the end of a training, from the last pair of views.

    Attributes:
        weights: those that it gives to each anchor's inter-view negatives; None without weights.
        mixture: each node's shares in the anchors' mixtures, rows that sum to 1; None without.
        findings: finite numbers for the record, by name.
        remarks: sentences on them that matter to whoever reads the run's numbers.
    """

    weights: WeightRows | None = None
    mixture: WeightRows | None = None
    findings: Mapping[str, float] = field(default_factory=dict)
    remarks: Sequence[str] = ()


class Negatives(nn.Module):
    """A strategy at work in one training. A checkpoint holds its parameters and buffers.

    A strategy defines `loss`. It may define `update` and `report`. A strategy that mixes may
    define `mixture` and `embed`.

    Attributes:
        joint: whether the encoder's optimiser trains its parameters.
        by_number: whether it may know a node by its number, so that rows stand in the graph's order
            whenever a batch is the whole graph.
        optimisers: of the modules that the strategy trains by itself, by name.
        generators: its random streams, by name.
    """

    joint: ClassVar[bool] = False
    by_number: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.optimisers: dict[str, torch.optim.Optimizer] = {}
        self.generators: dict[str, torch.Generator] = {}

    def loss(self, pair: Pair) -> Loss:
        """The loss of one pair of views, averaged over nodes and both directions."""
        raise TypeError(f"{type(self).__name__} defines no loss")

    def update(self, pair: Pair) -> None:
        """Learns from a detached pair what the strategy learns by itself.

        Called before each step of the encoder, with the first of several pairs.
        """

    def wants_all(self, step: Step) -> bool:
        """Whether `update` is better given a pair of all items, now, than that of a batch.

        A method that walks batches of a collection asks before each.
        """
        return False

    def report(self, pair: Pair) -> Report:
        """What is known of it at the end of a training, from the last pair of views."""
        return Report()

    def mixture(self, nodes: int, device: torch.device) -> RowMixture | None:
        """How the anchor view's inputs are mixed for the coming loss; called once before each."""
        return None

    def mixed(
        self, u: Tensor, edge_index: Tensor | None, block: int | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """What the first view's nodes become for the contrast, unit rows (N×d), and a loss to be
        added, None without one. A method that contrasts sums of nodes asks.

        Args:
            u: N×d, rows of any length. edge_index: 2×E among them; None where there is none to
                know.
        """
        return unit_rows(u), None

    def branches(self, z: Tensor, edge_index: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        """The two embeddings, N×d, that are evaluated of a base method with an encoder for each
        view (MVGRL): their sum, or one of them.

        Args:
            z, other: of the whole graph by the encoder of the anchor view, and by the other one.
        """
        return z, other

    def embed(self, z: Tensor, edge_index: Tensor) -> Tensor:
        """What is evaluated, N×d, of a base method with one encoder.

        Args:
            z: the encoder's embedding of the whole graph.
        """
        return z

    def forward(self, pair: Pair) -> Loss:
        """The loss, averaged over the anchor view with each of the other views."""
        where = f"{type(self).__qualname__}.loss"
        return mean_of([Loss.of(self.loss(each), where) for each in pair.each()])

    def joint_parameters(self) -> list[nn.Parameter]:
        """Those of its parameters that the encoder's optimiser trains."""
        return list(self.parameters()) if self.joint else []

    def get_extra_state(self) -> dict[str, Any]:
        """What a checkpoint holds besides parameters and buffers: optimisers and generators."""
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


def mean_of(losses: Sequence[Loss]) -> Loss:
    """The mean of losses of one kind, term by term; a single one as it is."""
    if len(losses) == 1:
        return losses[0]
    value = torch.stack([loss.value for loss in losses]).mean()
    terms = {
        name: torch.stack([loss.terms[name] for loss in losses]).mean() for name in losses[0].terms
    }
    return Loss(value, terms, final=all(loss.final for loss in losses))


def check_two_nodes(name: str, nodes: int) -> None:
    """Whether a node has a negative at all.

    Args:
        name: the strategy's, as typed.

    Raises:
        Unsupported: when the graph has a single node.
    """
    if nodes < 2:
        raise Unsupported(f"negatives={name} needs two nodes or more, and this graph has {nodes}")


def built(
    strategy: Strategy, width: int, nodes: int, rng: Streams, device: torch.device
) -> Negatives:
    """The strategy's state for one training, as `Strategy.build` returns it.

    Raises:
        TypeError: when that is no `Negatives`.
    """
    found: Any = strategy.build(width, nodes, rng, device)
    if not isinstance(found, Negatives):
        raise TypeError(
            f"{type(strategy).__qualname__}.build must return a Negatives, and returned"
            f" {type(found).__name__}"
        )
    return found


class Strategy(Protocol):
    """A strategy's settings, as registered in NEGATIVES."""

    version: ClassVar[str]

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """Its state for one training.

        Args:
            width: d of the projected embeddings. nodes: N.
            rng: `rng.seeded("negatives")` for initial weights, and for draws a stream of another
                name, as `rng.torch("negatives draws")`.

        Raises:
            Unsupported: when the graph does not suit the strategy.
        """
        ...
