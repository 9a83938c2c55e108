"""CCA-SSG: self-supervised learning by canonical correlation analysis (Zhang et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, Fraction, NonNegative, OneOf, Positive, Range
from gclbench.contrast.views import kept
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.trained import Trained
from gclbench.negatives.strategy import Strategy
from gclbench.nn.feature_mlp import FeatureMlp
from gclbench.nn.gcn import GcnEncoder
from gclbench.nn.sparse import Adjacency, Features
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams

SMALLEST_VARIANCE = 1e-12
"""Added to a column's variance, so that a constant column becomes zero and not NaN."""


@METHODS.register("cca_ssg")
@dataclass(frozen=True)
class CcaSsg(Trained):
    """CCA-SSG: aligns two views and decorrelates the embedding's columns; no negatives.

    Attributes:
        epochs: full-graph steps. lr, weight_decay: of Adam.
        encoder: `gcn`, ReLU between layers and none after the last; or `mlp`, the same layers
            without propagation and with batch normalisation before each ReLU.
        architecture: width of each layer.
        decorrelation: λ, the weight of the columns' correlations in the loss.
        edge_drop, feature_drop: probabilities, the same in both views.
        normalize_features: divide each row of the features by its absolute sum.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    inductive: ClassVar[bool] = True
    no_negatives: ClassVar[str] = "it compares the columns of two views, not pairs of nodes"

    epochs: Annotated[int, Range(least=0)] = 50
    lr: Positive = 1e-3
    weight_decay: NonNegative = 0.0
    encoder: Annotated[str, OneOf("gcn", "mlp")] = "gcn"
    architecture: tuple[Count, ...] = (512, 512)
    decorrelation: NonNegative = 1e-3
    edge_drop: Fraction = 0.4
    feature_drop: Fraction = 0.1
    normalize_features: bool = True

    def __post_init__(self) -> None:
        if not self.architecture:
            raise ValueError(
                "architecture needs at least one width, for example method.architecture=[512,512]"
            )

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        if len(graph.x) < 2:
            raise Unsupported(
                f"cca_ssg standardises over nodes, and '{graph.name}' has {len(graph.x)}"
            )
        return CcaSsgModel(self, graph, rng)


class CcaSsgModel(Model):
    """One encoder of two views that are drawn alike."""

    def __init__(self, settings: CcaSsg, graph: Data, rng: Streams):
        super().__init__(settings.epochs, views=rng.torch("views"))
        self.settings, self.entries = settings, graph.edge_index.shape[1]
        self.features = Features(graph.x, settings.normalize_features)
        self.adjacency = Adjacency(graph.edge_index, self.features.nodes, graph.edge_weight)
        inputs, widths = self.features.width, settings.architecture
        self.network: GcnEncoder | FeatureMlp
        with rng.seeded("init"):
            if settings.encoder == "gcn":
                self.network = GcnEncoder(inputs, widths, "relu", last=False)
            else:
                self.network = FeatureMlp(inputs, widths)
        if isinstance(self.network, GcnEncoder):
            # The loss sees centred columns only, so this bias would get rounding errors for a
            # gradient, and Adam makes full steps of them.
            self.network.biases[-1].requires_grad_(False)

    def loss(self, step: Step) -> Loss:
        u, v = self.view(), self.view()
        terms = canonical_correlation(u, v)
        weight = self.settings.decorrelation
        return Loss(terms["alignment"] + weight * terms["decorrelation"], terms)

    def view(self) -> Tensor:
        """One view, drawn and encoded, N×d."""
        edges = kept(self.entries, self.settings.edge_drop, self.state["views"])
        columns = kept(self.features.width, self.settings.feature_drop, self.state["views"])
        return self.encoded(edges, columns)

    def encoded(self, edges: Tensor | None = None, columns: Tensor | None = None) -> Tensor:
        """N×d, of what a view keeps; of everything where nothing is given."""
        if isinstance(self.network, FeatureMlp):
            return self.network(self.features, columns)
        return self.network(self.features, self.adjacency.normalised(edges), columns)

    def embed(self, step: Step) -> Embedding:
        return Embedding(self.encoded())


def standardised(h: Tensor) -> Tensor:
    """h (N×d), each column with mean 0 and unbiased variance 1; a constant one becomes zero."""
    centred = h - h.mean(dim=0)
    return centred * (centred.square().sum(dim=0) / max(1, len(h) - 1) + SMALLEST_VARIANCE).rsqrt()


def canonical_correlation(u: Tensor, v: Tensor) -> dict[str, Tensor]:
    """The two terms of the loss (Eq. 5): O(N·d²) time, d×d memory.

    Args:
        u, v: N×d, embeddings of the same nodes in two views.

    Returns:
        alignment: −tr(C_uv); decorrelation: ‖I − C_uu‖² + ‖I − C_vv‖², with C_ab = âᵀ b̂ / N and
            standardised columns.
    """
    a, b = standardised(u), standardised(v)
    identity = torch.eye(a.shape[1], dtype=a.dtype, device=a.device)
    own = [(identity - z.T @ z / len(z)).square().sum() for z in (a, b)]
    return {"alignment": -(a * b).sum() / len(a), "decorrelation": own[0] + own[1]}
