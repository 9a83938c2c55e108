"""LOCAL-GCL: localized graph contrastive learning (Zhang et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, NonNegative, OneOf, Positive, Range, Temperature
from gclbench.contrast.kernel_sums import log_kernel_sums, projections
from gclbench.contrast.panel import panel
from gclbench.contrast.unit_rows import unit_rows
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.contrasted import contrasted
from gclbench.methods.trained import Trained
from gclbench.negatives.strategy import Report, Strategy
from gclbench.nn.gcn import GCN_ACTIVATIONS, GcnEncoder
from gclbench.nn.sparse import Adjacency, Features, SparseMatrix, compressed
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams


@METHODS.register("local_gcl")
@dataclass(frozen=True)
class LocalGcl(Trained):
    """LOCAL-GCL: neighbours are the positives, no augmentation; settings are ours, no public code.

    L = (1/N) Σ_i [ log Σ_k e^{⟨h_i, h_k⟩/τ} − mean over neighbours j of ⟨h_i, h_j⟩/τ ] of unit rows
    h. A node without neighbours has no second term.

    Attributes:
        sums: how Σ_k is computed: `exact` by row blocks, O(N²) time; or `features`, approximately,
            by random features in O(N·m).
        features: m, projections of the random features, drawn anew in each step.
        epochs: full-graph steps. lr, weight_decay: of Adam.
        architecture: width of each GCN layer. activation: between layers.
        tau: temperature τ. normalize_features: divide each row of the features by its absolute sum.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = (
        "it has one view; its loss sums over all nodes by a kernel, and neighbours are positives"
    )

    sums: Annotated[str, OneOf("exact", "features")] = "exact"
    features: Count = 512
    epochs: Annotated[int, Range(least=0)] = 100
    lr: Positive = 1e-3
    weight_decay: NonNegative = 0.0
    architecture: tuple[Count, ...] = (512, 256)
    activation: Annotated[str, OneOf(*GCN_ACTIVATIONS)] = "relu"
    tau: Temperature = 0.5
    normalize_features: bool = True

    def __post_init__(self) -> None:
        if not self.architecture:
            raise ValueError(
                "architecture needs at least one width, for example method.architecture=[512,256]"
            )

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        """The model at its start.

        Raises:
            Unsupported: when the graph has no edges, and no node a positive.
        """
        if not graph.edge_index.shape[1]:
            raise Unsupported(
                f"local_gcl takes neighbours for positives, and '{graph.name}' has no edges"
            )
        return LocalGclModel(self, graph, rng)


class LocalGclModel(Model):
    """A GCN on the graph as it is."""

    def __init__(self, settings: LocalGcl, graph: Data, rng: Streams):
        super().__init__(settings.epochs, noise=rng.torch("noise"), kernel=rng.torch("kernel"))
        self.settings = settings
        self.features = Features(graph.x, settings.normalize_features)
        nodes = self.features.nodes
        self.propagation = Adjacency(graph.edge_index, nodes, graph.edge_weight).normalised()
        self.neighbours = _means(graph.edge_index, nodes, graph.edge_weight)
        with rng.seeded("init"):
            self.encoder = GcnEncoder(
                self.features.width, settings.architecture, settings.activation, last=False
            )
        self.encoder.use(self.state["noise"])

    def loss(self, step: Step) -> Loss:
        h = unit_rows(self.encoder(self.features, self.propagation))
        if self.settings.sums == "exact":
            everything = panel(h, h, 1 / self.settings.tau).rows[0]
        else:
            drawn = projections(h.shape[1], self.settings.features, self.state["kernel"])
            everything = log_kernel_sums(h, self.settings.tau, drawn.to(h))
        loss = localized(h, everything, self.neighbours, self.settings.tau)
        return Loss(loss, {"contrast": loss.detach()})

    def embed(self, step: Step) -> Embedding:
        z = self.encoder(self.features, self.propagation)
        h = unit_rows(z)
        return contrasted(z, h, h, self.settings.tau, Report())

    def evaluated(self, step: Step) -> Embedding:
        return Embedding(self.encoder(self.features, self.propagation), geometry="cosine")


def localized(h: Tensor, everything: Tensor, neighbours: SparseMatrix, tau: float) -> Tensor:
    """The loss, from the log of each row's sum.

    Args:
        h: N×d, unit rows. everything: (N,) log Σ_k e^{⟨h_i, h_k⟩/τ}. neighbours: N×N, the mean
            over a node's neighbours.
    """
    return (everything - (h * (neighbours @ h)).sum(dim=1) / tau).mean()


def _means(edge_index: Tensor, nodes: int, weight: Tensor | None = None) -> SparseMatrix:
    """The mean over each node's neighbours, weighted where edges have weights; zero for a node
    without any."""
    source, target = edge_index
    own = None if weight is None else weight.double()
    share = 1.0 / torch.bincount(target, own, minlength=nodes)[target].to(torch.float32)
    share = share if weight is None else share * weight
    shape = (nodes, nodes)
    there, back = torch.argsort(target, stable=True), torch.argsort(source, stable=True)
    return SparseMatrix(
        compressed(target[there], source[there], share[there], shape),
        compressed(source[back], target[back], share[back], shape),
    )
