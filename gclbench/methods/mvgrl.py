"""MVGRL: contrastive multi-view learning on graphs (Hassani & Khasahmadi 2020), node level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, NonNegative, OneOf, Positive, Range, Temperature
from gclbench.contrast.local_global import Discriminator, summary, true_or_shuffled
from gclbench.embedding import Embedding
from gclbench.filters.gnnbp import GnnBP
from gclbench.graph import with_features
from gclbench.methods.subgraphs import Subgraphs
from gclbench.methods.two_view import contrasted
from gclbench.negatives.strategy import Pair, RowMixture, Strategy, mean_of
from gclbench.nn.convolution import Convolution
from gclbench.nn.diffusion import Diffusion
from gclbench.nn.gcn import GCN_ACTIVATIONS
from gclbench.nn.sparse import Adjacency, Features, SparseMatrix, normalised_rows
from gclbench.training.loop import Loss, Model, Step, Trained
from gclbench.training.streams import Streams

PROPAGATION_COST = 14
"""A sparse product's time per multiplication over a dense product's, on a CPU with AVX-512 (Cora, d
= 512, one thread)."""


@METHODS.register("mvgrl")
@dataclass(frozen=True)
class Mvgrl(Trained):
    """MVGRL: a GCN on the graph, another on its diffusion; nodes against the other's summary.

    The diffusion is that of personalised PageRank.

    Attributes:
        objective: `summary` is the paper's: nodes of each view against the summary of the other
            one, shuffled features for contrast. `nodes` is InfoNCE between the two views' nodes,
            against any strategy for negatives (the base of M-Mix).
        epochs: steps at most. patience: steps without a new lowest training loss that end the
            training; 0: all epochs.
        subgraphs: random sub-graphs that a step averages its loss over; 0: the whole graph. They
            bound the memory of the loss; propagation still walks all nodes. `patience` then
            compares losses of different sub-graphs.
        subgraph_nodes: nodes of each, drawn uniformly; as many as the graph has, or more: the
            whole graph.
        lr, weight_decay: of Adam.
        hidden: width d of either GCN's one layer. activation: after it.
        alpha: teleport probability of the diffusion α (I − (1−α) S)⁻¹.
        tau, intra: temperature, and whether nodes within a view are contrasted too; of
            `objective=nodes`.
        normalize_features: divide each row of the features by its sum.
    """

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    no_negatives: ClassVar[str] = (
        "its objective compares nodes with one summary of the graph, not with other nodes;"
        " method.objective=nodes contrasts nodes"
    )

    objective: Annotated[str, OneOf("summary", "nodes")] = "summary"
    epochs: Annotated[int, Range(least=0)] = 3000
    patience: Annotated[int, Range(least=0)] = 20
    subgraphs: Annotated[int, Range(least=0)] = 0
    subgraph_nodes: Annotated[int, Range(least=2)] = 2000
    lr: Positive = 1e-3
    weight_decay: NonNegative = 0.0
    hidden: Count = 512
    activation: Annotated[str, OneOf(*GCN_ACTIVATIONS)] = "prelu"
    alpha: Annotated[float, Range(above=0, most=1)] = 0.2
    tau: Temperature = 1.0
    intra: bool = True
    normalize_features: bool = False

    @property
    def takes_negatives(self) -> bool:
        """Only the contrast of nodes has negatives to weight."""
        return self.objective == "nodes"

    def model(self, graph: Data, labels: Tensor, rng: Streams, negatives: Any = None) -> Model:
        if self.objective == "summary":
            return SummaryModel(self, graph, rng)
        if negatives is None:
            raise ValueError(
                "objective=nodes needs a strategy for negatives; Uniform() is the plain one"
            )
        return NodesModel(self, graph, rng, negatives)


class MvgrlModel(Model):
    """Two convolutions on two views, whose loss is averaged over an iteration's sub-graphs.

    Both objectives draw the discriminator, so that their encoders start alike.
    """

    def __init__(self, settings: Mvgrl, graph: Data, rng: Streams):
        subgraphs = rng.torch("subgraphs")
        super().__init__(
            settings.epochs,
            shuffles=rng.torch("shuffles"),
            noise=rng.torch("noise"),
            subgraphs=subgraphs,
        )
        self.settings, self.edge_index = settings, graph.edge_index
        self.views = TwoPropagations(graph, settings.alpha, settings.normalize_features)
        self.nodes = self.views.features.nodes
        self.subgraphs = Subgraphs(
            self.nodes, settings.subgraphs, settings.subgraph_nodes, subgraphs
        )
        with rng.seeded("init"):
            self.first, self.second = (
                Convolution(self.views.features.width, settings.hidden, settings.activation)
                for _ in range(2)
            )
            self.discriminator = Discriminator(settings.hidden)
        self.first.use(self.state["noise"])
        self.second.use(self.state["noise"])

    def loss(self, step: Step) -> Loss:
        drawn = self.subgraphs.draw(self.edge_index.device)
        return mean_of(
            [self.part(step, among, first=place == 0) for place, among in enumerate(drawn)]
        )

    def part(self, step: Step, among: Tensor | None, first: bool) -> Loss:
        """The loss on the whole graph, or on the sub-graph of the nodes `among`."""
        raise TypeError(f"{type(self).__name__} defines no loss")


class SummaryModel(MvgrlModel):
    """The paper's objective: nodes of each view against the summary of the other."""

    def part(self, step: Step, among: Tensor | None, first: bool) -> Loss:
        loss = self.views.local_global(
            self.first, self.second, self.discriminator, self.state["shuffles"], among
        )
        return Loss(loss, {"discrimination": loss.detach()})

    def embed(self, step: Step) -> Embedding:
        u, v = self.views.nodes(self.first, self.second)
        return Embedding(u + v)


class NodesModel(MvgrlModel):
    """InfoNCE between the two views' nodes, against any strategy for negatives."""

    def __init__(self, settings: Mvgrl, graph: Data, rng: Streams, negatives: Strategy):
        super().__init__(settings, graph, rng)
        # Nothing reads it. It was drawn so that both objectives start alike.
        del self.discriminator
        self.strategy = negatives.build(settings.hidden, self.nodes, rng, graph.x.device)

    def trained(self) -> list[nn.Parameter]:
        own = [*self.first.parameters(), *self.second.parameters()]
        return [*own, *self.strategy.joint_parameters()]

    def part(self, step: Step, among: Tensor | None, first: bool) -> Loss:
        pair = self.pair(step, among)
        if first:
            # The strategy learns once per iteration.
            self.strategy.update(pair.detached())
        return self.strategy(pair)

    def pair(self, step: Step, among: Tensor | None = None) -> Pair:
        """Both views' nodes, of the whole graph or of a sub-graph."""
        count = self.nodes if among is None else len(among)
        mixture = self.strategy.mixture(count, self.edge_index.device)
        u, v = self.views.nodes(self.first, self.second, mixture, among)
        return Pair(
            u,
            (v,),
            self.settings.tau,
            step,
            self.settings.intra,
            self.edge_index,
            among,
            self.nodes,
            batched=self.subgraphs.drawn,
        )

    def embed(self, step: Step) -> Embedding:
        u, v = self.views.nodes(self.first, self.second)
        z = self.strategy.embed(u, self.edge_index, v)
        pair = self.pair(step)
        return contrasted(z, pair, self.strategy.report(pair))


class TwoPropagations:
    """The two views of one graph: S = D^(−½)(A + I)D^(−½) and its personalised PageRank α (I −
    (1−α) S)⁻¹.

    The second, the diffusion, is not stored. Each step applies it to x W by sparse products. Where
    features are few for the number of edges, the filter applies it to x once, and a step on the
    whole graph takes one dense product.

    Args:
        graph: x (N×F), edge_index (2×E). alpha: α. normalise: divide each row of the features by
            its sum.
    """

    def __init__(self, graph: Data, alpha: float, normalise: bool):
        x = normalised_rows(graph.x) if normalise else graph.x
        self.features = Features(x)
        self.propagation = Adjacency(graph.edge_index, self.features.nodes).normalised()
        self.diffusion = Diffusion(self.propagation, alpha)
        entries = graph.edge_index.shape[1] + self.features.nodes
        self.smoothed: Features | None = None
        if x.numel() < PROPAGATION_COST * self.diffusion.steps * entries:
            smoothed = (
                GnnBP(alpha=alpha, rrz=0.5)
                .apply(with_features(graph, x).cpu(), device=str(x.device))
                .x
            )
            self.smoothed = Features(smoothed.to(x.device))

    def nodes(
        self,
        first: Convolution,
        second: Convolution,
        mixture: RowMixture | None = None,
        among: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The nodes' embeddings in either view, each N×d; the first view's inputs mixed where
        asked.

        Args:
            among: (M,) the nodes of a sub-graph, for M×d: both views' matrices without the other
                nodes' rows and columns.
        """
        here = _chosen(first.product(self.features), among)
        if mixture is not None:
            here = mixture.apply(here)
        return first.activate(self._applied(self.propagation, here, among)), second.activate(
            self._diffused(second, among)
        )

    def local_global(
        self,
        first: Convolution,
        second: Convolution,
        discriminator: Callable[[Tensor, Tensor], Tensor],
        shuffles: torch.Generator,
        among: Tensor | None = None,
    ) -> Tensor:
        """The paper's loss: nodes of either view, true and with shuffled features, against the
        summary of the other (Eq. 4)."""
        here, there = (_chosen(layer.product(self.features), among) for layer in (first, second))
        order = torch.randperm(len(here), generator=shuffles).to(here.device)
        u = first.activate(self._applied(self.propagation, here, among))
        v = second.activate(self._diffused(second, among, there))
        # Shuffling the rows of x W is shuffling those of x.
        shuffled_u = first.activate(
            self._applied(self.propagation, here.index_select(0, order), among)
        )
        shuffled_v = second.activate(
            self._applied(self.diffusion, there.index_select(0, order), among)
        )
        of_u, of_v = summary(u), summary(v)
        return true_or_shuffled(
            [discriminator(v, of_u), discriminator(u, of_v)],
            [discriminator(shuffled_v, of_u), discriminator(shuffled_u, of_v)],
        )

    def _diffused(
        self, convolution: Convolution, among: Tensor | None, product: Tensor | None = None
    ) -> Tensor:
        """The diffusion of x W of the graph or a sub-graph, the cheaper way."""
        if self.smoothed is not None and among is None:
            return convolution.product(self.smoothed)
        product = _chosen(convolution.product(self.features), among) if product is None else product
        return self._applied(self.diffusion, product, among)

    def _applied(
        self, operator: SparseMatrix | Diffusion, product: Tensor, among: Tensor | None
    ) -> Tensor:
        """operator·product. On a sub-graph the other rows are zero, so the sub-matrix is never
        built."""
        if among is None:
            return operator @ product
        placed = product.new_zeros(self.features.nodes, product.shape[1]).index_copy_(
            0, among, product
        )
        return (operator @ placed).index_select(0, among)


def _chosen(rows: Tensor, among: Tensor | None) -> Tensor:
    return rows if among is None else rows.index_select(0, among)
