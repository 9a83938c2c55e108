"""BGRL: bootstrapped graph latents (Thakoor et al. 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity
from torch_geometric.data import Data

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, Fraction, NonNegative, Positive, Range
from gclbench.contrast.views import kept
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.methods.two_view import check_shapes
from gclbench.nn.gcn import Gcn
from gclbench.nn.sparse import Adjacency, Features
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


@METHODS.register("bgrl")
@dataclass(frozen=True)
class Bgrl:
    """BGRL: a network predicts what its own slow average makes of another view of the same node; no negatives.

    Attributes:
        epochs: full-graph steps. warmup: share of them in which the learning rate rises; then it
            falls to 0 as a cosine.
        lr, weight_decay: of AdamW, the highest rate.
        architecture: width of each GCN layer, batch-normalised and with PReLU. predictor: hidden
            width of the prediction head.
        momentum: share that the average keeps in the first step; it rises to 1 as a cosine.
        edge_drop, feature_drop: probabilities of the first and the second view.
        normalize_features: divide each row of the features by its sum.
    """

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
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

    def rate(self, done: int) -> float:
        """Share of lr after that many steps: linear over the warm-up, then a half cosine to 0 at
        `epochs`."""
        rising = self.warmup * self.epochs
        if done < rising:
            return done / rising
        return 0.5 * (1 + math.cos(math.pi * (done - rising) / (self.epochs - rising)))

    def keeping(self, done: int) -> float:
        """Share that the average keeps after that many steps: 1 − (1 − momentum)·(1 +
        cos(π·done/epochs))/2."""
        return 1 - (1 - self.momentum) * 0.5 * (1 + math.cos(math.pi * done / self.epochs))

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """Trains the online encoder and embeds every node of the graph as it is.

        Args:
            graph: x (N×F), edge_index (2×E). labels: not read.

        Raises:
            Unsupported: for a graph of one node, which cannot be batch-normalised.
        """
        if len(graph.x) < 2:
            raise Unsupported(f"bgrl normalises over nodes, and '{graph.name}' has {len(graph.x)}")
        features = Features(graph.x, self.normalize_features)
        adjacency = Adjacency(graph.edge_index, features.nodes)
        width = self.architecture[-1]
        with rng.seeded("init"):
            encoder = Gcn(features.width, self.architecture, "prelu", batch_norm=True)
            predictor = nn.Sequential(
                nn.Linear(width, self.predictor), nn.PReLU(), nn.Linear(self.predictor, width)
            )
        with rng.seeded("target"):
            # The average starts from weights of its own.
            target = Gcn(
                features.width, self.architecture, "prelu", batch_norm=True
            ).requires_grad_(False)
        model = nn.ModuleDict({"encoder": encoder, "predictor": predictor, "target": target}).to(
            graph.x.device
        )
        online = [*encoder.parameters(), *predictor.parameters()]
        optimiser = torch.optim.AdamW(
            online, lr=self.lr, weight_decay=self.weight_decay, fused=True
        )
        views = rng.torch("views")
        for epoch in watch.iterations(self.epochs, model=model, optimiser=optimiser, views=views):
            for group in optimiser.param_groups:
                group["lr"] = self.lr * self.rate(epoch - 1)
            drawn = []
            for edge, column in zip(self.edge_drop, self.feature_drop, strict=True):
                edges = kept(graph.edge_index.shape[1], edge, views)
                drawn.append((adjacency.normalised(edges), kept(features.width, column, views)))
            with torch.no_grad():
                aims = [target(features, propagation, columns) for propagation, columns in drawn]
            predictions = [
                predictor(encoder(features, propagation, columns)) for propagation, columns in drawn
            ]
            terms = {
                "first view": bootstrap(predictions[0], aims[1]),
                "second view": bootstrap(predictions[1], aims[0]),
            }
            loss = terms["first view"] + terms["second view"]
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            follow(target, encoder, self.keeping(epoch - 1))
            watch(epoch, self.epochs, loss.detach(), terms)
        model.eval()
        with torch.no_grad():
            return Embedding(encoder(features, adjacency.normalised()), geometry="cosine")


def bootstrap(prediction: Tensor, aim: Tensor) -> Tensor:
    """1 − the mean cosine of matching rows (BGRL, Eq. 3, made to start from 0).

    Args:
        prediction, aim: N×d.
    """
    return 1 - cosine_similarity(prediction, aim, dim=1).mean()


def follow(target: nn.Module, online: nn.Module, keeping: float) -> None:
    """Moves the target's parameters towards the online network's: t ← keeping·t + (1 − keeping)·o;
    buffers stay its own."""
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
            slow.lerp_(fast, 1 - keeping)
