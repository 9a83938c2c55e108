"""What GRACE and its family share: a GCN trained on two augmented views of the whole graph, against
any strategy for negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from torch import Tensor, nn

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
from gclbench.embedding import Embedding
from gclbench.graph.carrier import Data
from gclbench.methods.contrasted import contrasted
from gclbench.methods.drops import Drops, check_shapes
from gclbench.methods.trained import Trained
from gclbench.negatives.strategy import Pair, RowMixture, Strategy, built
from gclbench.negatives.uniform import Uniform
from gclbench.nn.gcn import GCN_ACTIVATIONS, GcnEncoder, Projector
from gclbench.nn.sparse import Adjacency, Features
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams


@dataclass(frozen=True)
class TwoView(Trained):
    """The shared hyper-parameters.

    Attributes:
        epochs: full-graph steps. lr, weight_decay: of Adam.
        architecture: width of each GCN layer. activation: after each layer.
        last_activation: also after the last layer.
        projector: hidden width of the head that only the loss sees; 0 for none.
        tau: temperature τ.
        edge_drop, feature_drop: probabilities of the first and the second view.
        intra: contrast nodes within a view too (where the strategy knows such pairs).
        normalize_features: divide each row of the features by its absolute sum.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = True
    inductive: ClassVar[bool] = True

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

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return TwoViewModel(self, graph, rng, negatives or Uniform())


class TwoViewModel(Model):
    """An encoder and a projector at work on two views of a graph.

    Args:
        settings: of the method. graph: x (N×F), edge_index (2×E). negatives: of the strategy.
    """

    def __init__(self, settings: TwoView, graph: Data, rng: Streams, negatives: Strategy):
        super().__init__(settings.epochs, views=rng.torch("views"), noise=rng.torch("noise"))
        self.settings, self.x, self.edge_index = settings, graph.x, graph.edge_index
        self.features = Features(graph.x, settings.normalize_features)
        self.adjacency = Adjacency(graph.edge_index, self.features.nodes, graph.edge_weight)
        self.drops = settings.drops(graph)
        widths = settings.architecture
        with rng.seeded("init"):
            self.encoder = GcnEncoder(
                self.features.width, widths, settings.activation, settings.last_activation
            )
            self.projector = Projector(widths[-1], settings.projector)
        self.encoder.use(self.state["noise"])
        self.strategy = built(negatives, widths[-1], self.features.nodes, rng, graph.x.device)

    def trained(self) -> list[nn.Parameter]:
        modules = (self.encoder, self.projector)
        own = [parameter for module in modules for parameter in module.parameters()]
        return [*own, *self.strategy.joint_parameters()]

    def loss(self, step: Step) -> Loss:
        pair = self.pair(step)
        self.strategy.update(pair.detached())
        return self.strategy(pair)

    def pair(self, step: Step) -> Pair:
        """Two views of the graph, drawn anew and encoded."""
        mixture = self.strategy.mixture(self.features.nodes, self.edge_index.device)
        (u, first), (v, second) = self.view(self.drops[0], mixture), self.view(self.drops[1], None)
        settings = self.settings
        return Pair(
            u,
            (v,),
            settings.tau,
            step,
            settings.intra,
            self.edge_index,
            kept_edges=(first, second),
            features=self.x,
            plain=self.encoded,
        )

    def encoded(self) -> Tensor:
        """The embedding of the graph as it is, N×d."""
        return self.encoder(self.features, self.adjacency.normalised())

    def view(self, drop: Drops, mixture: RowMixture | None) -> tuple[Tensor, Tensor]:
        """One view, drawn, encoded and projected, N×d, and which edges it keeps, (E,)."""
        edges = kept(self.edge_index.shape[1], drop.edges, self.state["views"])
        columns = kept(self.features.width, drop.columns, self.state["views"])
        mix = None if mixture is None else mixture.apply
        h = self.encoder(self.features, self.adjacency.normalised(edges), columns, mix)
        return self.projector(h), edges

    def evaluated(self, step: Step) -> Embedding:
        z = self.encoded()
        # What a strategy does behind the projector is dropped with it.
        z = z if self.settings.projector else self.strategy.embed(z, self.edge_index)
        return Embedding(z, geometry="cosine")

    def embed(self, step: Step) -> Embedding:
        pair, z = self.pair(step), self.evaluated(step).z
        return contrasted(
            z, unit_rows(pair.u), unit_rows(pair.v), pair.tau, self.strategy.report(pair)
        )
