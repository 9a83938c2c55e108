"""What GRACE and its family share: a GCN trained on two augmented views of the whole graph, against
any strategy for negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from gclbench.component.settings import (
    Count,
    Fraction,
    NonNegative,
    OneOf,
    Positive,
    Range,
    Temperature,
)
from gclbench.contrast.unit_rows import unit_rows
from gclbench.contrast.views import kept
from gclbench.embedding import Contrast, Embedding
from gclbench.negatives.strategy import Pair, RowMixture, Strategy
from gclbench.nn.gcn import GCN_ACTIVATIONS, Gcn, Projector
from gclbench.nn.sparse import Adjacency, Features
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


@dataclass(frozen=True)
class Drops:
    """How one view is drawn.

    Attributes:
        edges: probability of dropping an entry of edge_index, one for all or (E,). columns: a
            feature column, or (F,).
    """

    edges: float | Tensor
    columns: float | Tensor


def check_shapes(method: Any) -> None:
    """Raises ValueError unless a method's `architecture` has a layer, and its `edge_drop` and
    `feature_drop` a value per view."""
    if not method.architecture:
        raise ValueError(
            "architecture needs at least one width, for example method.architecture=[256,128]"
        )
    for name in ("edge_drop", "feature_drop"):
        values = getattr(method, name)
        if len(values) != 2:
            raise ValueError(
                f"{name} needs two probabilities, one per view, for example"
                f" method.{name}=[0.2,0.4]; got {list(values)}"
            )


@dataclass(frozen=True)
class TwoView:
    """The shared hyper-parameters and training loop.

    Attributes:
        epochs: full-graph steps. lr, weight_decay: of Adam.
        architecture: width of each GCN layer. activation: after each layer.
        last_activation: also after the last layer.
        projector: hidden width of the head that only the loss sees; 0 for none.
        tau: temperature τ.
        edge_drop, feature_drop: probabilities of the first and the second view.
        intra: contrast nodes within a view too (where the strategy knows such pairs).
        normalize_features: divide each row of the features by its sum.
    """

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = True

    epochs: Annotated[int, Range(least=0)] = 200
    lr: Positive = 5e-4
    weight_decay: NonNegative = 1e-5
    architecture: tuple[Count, ...] = (256, 128)
    activation: Annotated[str, OneOf(*GCN_ACTIVATIONS)] = "relu"
    last_activation: bool = True
    projector: Annotated[int, Range(least=0)] = 128
    tau: Temperature = 0.4
    edge_drop: tuple[Fraction, ...] = (0.2, 0.4)
    feature_drop: tuple[Fraction, ...] = (0.3, 0.4)
    intra: bool = True
    normalize_features: bool = True

    def __post_init__(self) -> None:
        check_shapes(self)

    def drops(self, graph: Data) -> tuple[Drops, Drops]:
        """How the two views are drawn from the graph."""
        first, second = zip(self.edge_drop, self.feature_drop, strict=True)
        return Drops(*first), Drops(*second)

    def fit(
        self, graph: Data, labels: Tensor, rng: Streams, watch: Watch, negatives: Strategy
    ) -> Embedding:
        """Trains the encoder and embeds every node of the graph as it is.

        Args:
            graph: x (N×F), edge_index (2×E). labels: not read. negatives: settings of the strategy.

        Raises:
            Unsupported: when the graph does not suit the strategy.
        """
        features = Features(graph.x, self.normalize_features)
        adjacency = Adjacency(graph.edge_index, len(graph.x))
        drops = self.drops(graph)
        with rng.seeded("init"):
            encoder = Gcn(
                features.width, self.architecture, self.activation, self.last_activation
            ).to(graph.x.device)
            projector = Projector(self.architecture[-1], self.projector).to(graph.x.device)
        strategy = negatives.build(self.architecture[-1], len(graph.x), rng, graph.x.device).to(
            graph.x.device
        )
        parameters = [*encoder.parameters(), *projector.parameters(), *strategy.joint_parameters()]
        optimiser = torch.optim.Adam(
            parameters, lr=self.lr, weight_decay=self.weight_decay, fused=True
        )
        views, noise = rng.torch("views"), rng.torch("noise")
        encoder.use(noise)

        def view(drop: Drops, mixture: RowMixture | None) -> Tensor:
            edges = kept(graph.edge_index.shape[1], drop.edges, views)
            columns = kept(features.width, drop.columns, views)
            return projector(
                encoder(features, adjacency.normalised(edges), columns, mixture and mixture.apply)
            )

        def pair(iteration: int) -> Pair:
            mixture = strategy.mixture(features.nodes, graph.x.device)
            u, v = view(drops[0], mixture), view(drops[1], None)
            return Pair(
                u, v, self.tau, iteration, self.epochs, self.intra, graph.edge_index, features.nodes
            )

        state: dict[str, Any] = {"encoder": encoder, "projector": projector, "strategy": strategy}
        for epoch in watch.iterations(
            self.epochs, **state, optimiser=optimiser, views=views, noise=noise
        ):
            both = pair(epoch)
            strategy.update(both.detached())
            loss = strategy(both)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            watch(epoch, self.epochs, loss.detach(), strategy.terms)
        for module in state.values():
            module.eval()
        with torch.no_grad():
            last = pair(max(1, self.epochs))
            z = encoder(features, adjacency.normalised())
            # What a strategy does behind the projector is dropped with it.
            z = z if self.projector else strategy.embed(z, graph.edge_index)
            contrast = Contrast(
                unit_rows(last.u), unit_rows(last.v), self.tau, **strategy.reports(last)
            )
            return Embedding(z, geometry="cosine", contrast=contrast, **strategy.told(last))
