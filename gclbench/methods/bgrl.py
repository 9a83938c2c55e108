"""BGRL: bootstrapped graph latents (Thakoor et al. 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, Fraction, NonNegative, Positive, Range
from gclbench.contrast.bootstrap import bootstrap
from gclbench.contrast.views import kept
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.drops import check_shapes
from gclbench.methods.trained import Trained
from gclbench.negatives.strategy import Strategy
from gclbench.nn.gcn import GcnEncoder
from gclbench.nn.prelu import PReLU
from gclbench.nn.sparse import Adjacency, Features, SparseMatrix
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams


@METHODS.register("bgrl")
@dataclass(frozen=True)
class Bgrl(Trained):
    """BGRL: a network predicts what its slow average makes of a node's other view; no negatives.

    Attributes:
        epochs: full-graph steps. warmup: share of them in which the learning rate rises; then it
            falls to 0 as a cosine.
        lr, weight_decay: of AdamW, the highest rate.
        architecture: width of each GCN layer, batch-normalised and with PReLU. predictor: hidden
            width of the prediction head.
        momentum: share that the average keeps in the first step; it rises to 1 as a cosine.
        edge_drop, feature_drop: probabilities of the first and the second view.
        normalize_features: divide each row of the features by its absolute sum.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    optimiser_class: ClassVar[type[torch.optim.Adam]] = torch.optim.AdamW
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    inductive: ClassVar[bool] = True
    no_negatives: ClassVar[str] = (
        "it predicts a node's embedding from its other view and has no negatives at all"
    )

    epochs: Annotated[int, Range(least=0)] = 1000
    warmup: Fraction = 0.1
    lr: Positive = 5e-4
    weight_decay: NonNegative = 1e-5
    architecture: tuple[Count, ...] = (512, 256)
    predictor: Count = 512
    momentum: Fraction = 0.99
    edge_drop: tuple[Fraction, ...] = (0.2, 0.3)
    feature_drop: tuple[Fraction, ...] = (0.2, 0.1)
    normalize_features: bool = True

    def __post_init__(self) -> None:
        check_shapes(self)

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        if len(graph.x) < 2:
            raise Unsupported(f"bgrl normalises over nodes, and '{graph.name}' has {len(graph.x)}")
        return BgrlModel(self, graph, rng)


class BgrlModel(Model):
    """An encoder with a predictor, and the encoder's slow average."""

    def __init__(self, settings: Bgrl, graph: Data, rng: Streams):
        super().__init__(settings.epochs, views=rng.torch("views"))
        self.settings, self.entries = settings, graph.edge_index.shape[1]
        self.features = Features(graph.x, settings.normalize_features)
        self.adjacency = Adjacency(graph.edge_index, self.features.nodes, graph.edge_weight)
        inputs, widths = self.features.width, settings.architecture
        with rng.seeded("init"):
            self.encoder = GcnEncoder(inputs, widths, "prelu", batch_norm=True)
            self.predictor = nn.Sequential(
                nn.Linear(widths[-1], settings.predictor),
                PReLU(),
                nn.Linear(settings.predictor, widths[-1]),
            )
        with rng.seeded("target"):
            # The average starts from weights of its own.
            self.target = GcnEncoder(inputs, widths, "prelu", batch_norm=True).requires_grad_(False)

    def trained(self) -> list[nn.Parameter]:
        return [*self.encoder.parameters(), *self.predictor.parameters()]

    def rate(self, step: Step) -> float:
        """Linear over the warm-up, then a half cosine to 0 at the last iteration."""
        done, rising = step.iteration - 1, self.settings.warmup * step.total
        if done < rising:
            return done / rising
        return 0.5 * (1 + math.cos(math.pi * (done - rising) / (step.total - rising)))

    def loss(self, step: Step) -> Loss:
        drops = zip(self.settings.edge_drop, self.settings.feature_drop, strict=True)
        views = [self.view(edge, column) for edge, column in drops]
        with torch.no_grad():
            aims = [self.target(self.features, *view) for view in views]
        predictions = [self.predictor(self.encoder(self.features, *view)) for view in views]
        terms = {
            "first view": bootstrap(predictions[0], aims[1]),
            "second view": bootstrap(predictions[1], aims[0]),
        }
        return Loss(terms["first view"] + terms["second view"], terms)

    def view(self, edge: float, column: float) -> tuple[SparseMatrix, Tensor]:
        """The propagation matrix of a view, and which columns it keeps."""
        edges = kept(self.entries, edge, self.state["views"])
        columns = kept(self.features.width, column, self.state["views"])
        return self.adjacency.normalised(edges), columns

    def after(self, step: Step) -> None:
        """The average follows; the share that it keeps rises from `momentum` to 1 as a cosine."""
        turn = math.pi * (step.iteration - 1) / step.total
        keeping = 1 - (1 - self.settings.momentum) * 0.5 * (1 + math.cos(turn))
        follow(self.target, self.encoder, keeping)

    def embed(self, step: Step) -> Embedding:
        z = self.encoder(self.features, self.adjacency.normalised())
        return Embedding(z, geometry="cosine")


def follow(target: nn.Module, online: nn.Module, keeping: float) -> None:
    """Moves the target's parameters towards the online network's: t ← keeping·t + (1 − keeping)·o;
    buffers stay its own."""
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
            slow.lerp_(fast, 1 - keeping)
