"""SDCN: structural deep clustering network (Bo et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import kl_div

from gclbench.component.registry import METHODS
from gclbench.component.settings import (
    Count,
    NonNegative,
    OneOf,
    Positive,
    Range,
    SameIdAtDefault,
)
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.machine import precision
from gclbench.methods.batches import Batches
from gclbench.methods.clusters import number_of_clusters, partition
from gclbench.negatives.strategy import Strategy
from gclbench.nn.autoencoder import Autoencoder
from gclbench.nn.sparse import Adjacency, Features, SparseMatrix, compressed
from gclbench.training.loop import Loss, Model, Step, train
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

HELD_OUT = 10
"""One row in so many is held out of a pre-training that watches the others' reconstruction."""

HELD_OUT_PATIENCE = 10
"""Epochs without a new lowest error on the held-out rows that end it."""

HELD_OUT_LIMIT = 1000
"""Epochs that end it in any case."""


@METHODS.register("sdcn")
@dataclass(frozen=True)
class Sdcn:
    """SDCN: an autoencoder that feeds a GCN, both pulled to one sharpened clustering.

    The autoencoder feeds the GCN layer by layer. The last epoch counts. Its clusters are the
    largest entries of the GCN's softmax; its embedding is the autoencoder's code.

    Attributes:
        epochs: full-graph steps. lr: of their Adam.
        pretrain_epochs: passes of the autoencoder alone. pretrain_lr: of their Adam. batch_size:
            nodes in their batches.
        pretrain_until: `epochs` ends after `pretrain_epochs`. `held_out` trains on nine tenths of
            the rows until the error on the others has had no new low for 10 epochs, at most 1,000,
            and goes back to the lowest; the record has the number of epochs
            (`fit.pretrained_epochs`). No label has a part in it.
        architecture: width of each hidden layer of the autoencoder and the GCN. code: width of the
            code.
        self_supervision: weight of KL(P‖Q). gcn_weight: weight of KL(P‖Z).
        clusters: number of clusters K; None takes the dataset's number of classes. n_init: restarts
            of the k-means that starts the centres.
        protocol: `last` reports the last epoch. `oracle` also keeps the clusters of every epoch, so
            that task=clustering can say what its official code prints, the maximum over epochs by
            their labels, as acc_oracle, nmi_oracle, …
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "it compares nodes with cluster centres, not with other nodes"

    epochs: Annotated[int, Range(least=0)] = 200
    lr: Positive = 1e-3
    pretrain_epochs: Annotated[int, Range(least=0)] = 30
    pretrain_lr: Positive = 1e-3
    batch_size: Count = 256
    architecture: tuple[Count, ...] = (500, 500, 2000)
    code: Count = 10
    self_supervision: NonNegative = 0.1
    gcn_weight: NonNegative = 0.01
    clusters: Count | None = None
    n_init: Count = 20
    protocol: Annotated[str, OneOf("last", "oracle")] = "last"
    pretrain_until: Annotated[str, OneOf("epochs", "held_out"), SameIdAtDefault()] = "epochs"

    def __post_init__(self) -> None:
        if not self.architecture:
            raise ValueError(
                "architecture needs at least one width, for example"
                " method.architecture=[500,500,2000]"
            )

    def fit(
        self,
        graph: Data,
        labels: Tensor,
        rng: Streams,
        watch: Watch,
        negatives: Strategy | None = None,
    ) -> Embedding:
        """Trains the autoencoder, then both, and returns the last epoch's codes and clusters.

        Args:
            graph: x (N×F), edge_index (2×E). labels: not read.

        Raises:
            Unsupported: when the number of clusters is not known, or larger than the number of
                nodes; when a tenth of the nodes is less than one, and is to be held out.
        """
        x = graph.x
        k = number_of_clusters(graph, self.clusters, "sdcn")
        with rng.seeded("init"):
            autoencoder = Autoencoder(x.shape[1], self.architecture, self.code).to(x.device)
            network = Network(autoencoder, x.shape[1], self.architecture, self.code, k)
        start = Pretraining(self, autoencoder, x, rng)
        rate = torch.optim.Adam(start.parameters(), lr=self.pretrain_lr, fused=True)
        started = train(start, rate, watch, start.patience)
        centres = partition(started.z, k, self.n_init, rng.integer("centres")).centres
        model = SdcnModel(self, network.to(x.device), graph, centres)
        optimiser = torch.optim.Adam(model.parameters(), lr=self.lr, fused=True)
        found = train(model, optimiser, watch)
        if self.pretrain_until == "epochs":
            return found
        return replace(found, findings={"pretrained_epochs": started.findings["steps_kept"]})


class Pretraining(Model):
    """The autoencoder alone; an iteration is a pass over shuffled batches.

    Attributes:
        patience: iterations without a new low on the held-out rows; 0 where none are held out.
    """

    def __init__(self, settings: Sdcn, autoencoder: Autoencoder, x: Tensor, rng: Streams):
        rows, self.patience, iterations = torch.arange(len(x)), 0, settings.pretrain_epochs
        held_out = rows[:0]
        if settings.pretrain_until == "held_out":
            order = torch.randperm(len(x), generator=rng.torch("held_out"))
            held_out, rows = order.tensor_split([len(x) // HELD_OUT])
            self.patience, iterations = HELD_OUT_PATIENCE, HELD_OUT_LIMIT
            if not len(held_out):
                raise Unsupported(
                    f"method.pretrain_until=held_out holds out a tenth of the nodes, and there are"
                    f" {len(x)}; method.pretrain_until=epochs needs none"
                )
        batches = Batches(rows, settings.batch_size, rng.torch("batches"))
        super().__init__(iterations, batches=batches)
        self.autoencoder, self.x, self.held_out = autoencoder, x, x[held_out.to(x.device)]
        self.steps = -(-len(rows) // settings.batch_size)

    def error(self, rows: Tensor) -> Tensor:
        """Mean squared error of the reconstruction of rows (B×F)."""
        code = self.autoencoder.hidden(rows @ self.autoencoder.weight)[-1]
        return self.autoencoder.reconstruction_error(code, rows)

    def losses(self, step: Step) -> Iterator[Loss]:
        judged = None
        if self.patience:
            with torch.no_grad(), precision.exact_products():
                judged = self.error(self.held_out)
        for number in range(self.steps):
            rows = self.x.index_select(0, self.state["batches"].next().to(self.x.device))
            loss = self.error(rows)
            # Patience judges once in a pass, the model that the passes before have left.
            yield Loss(loss, final=number == 0, noted=loss.detach() / self.steps, judged=judged)

    def embed(self, step: Step) -> Embedding:
        product = Features(self.x).product(self.autoencoder.weight)
        return Embedding(self.autoencoder.hidden(product)[-1])


class SdcnModel(Model):
    """Autoencoder and GCN together, pulled to one sharpened clustering."""

    def __init__(self, settings: Sdcn, network: Network, graph: Data, centres: Tensor):
        shape = (settings.epochs, len(graph.x))
        history = torch.zeros(shape, dtype=torch.int32) if settings.protocol == "oracle" else None
        super().__init__(settings.epochs, history=history)
        self.settings, self.network, self.x = settings, network, graph.x
        self.features = Features(graph.x)
        self.propagation = row_normalised(graph.edge_index, len(graph.x), graph.edge_weight)
        with torch.no_grad():
            network.centres.copy_(centres)

    def loss(self, step: Step) -> Loss:
        code, logits = self.network(self.features, self.propagation)
        if self.state["history"] is not None:
            self.state["history"][step.iteration - 1] = logits.argmax(dim=1).int().cpu()
        q = soft_assignment(code, self.network.centres)
        p = target_distribution(q.detach())
        terms = {
            "reconstruction": self.network.autoencoder.reconstruction_error(
                code, self.x, self.features
            ),
            "self_supervision": kl_div(q.log(), p, reduction="batchmean"),
            "gcn": kl_div(logits.log_softmax(dim=1), p, reduction="batchmean"),
        }
        pulled = self.settings.self_supervision * terms["self_supervision"]
        total = terms["reconstruction"] + pulled + self.settings.gcn_weight * terms["gcn"]
        return Loss(total, terms)

    def embed(self, step: Step) -> Embedding:
        code, logits = self.network(self.features, self.propagation)
        return Embedding(code, clusters=logits.argmax(dim=1), history=self.state["history"])


class Network(nn.Module):
    """The autoencoder, the GCN beside it and the cluster centres.

    Args:
        autoencoder: trained. inputs: F. widths, code: its own. clusters: K.
    """

    def __init__(
        self,
        autoencoder: Autoencoder,
        inputs: int,
        widths: tuple[int, ...],
        code: int,
        clusters: int,
    ):
        super().__init__()
        self.autoencoder = autoencoder
        sizes = [inputs, *widths, code, clusters]
        self.weights = nn.ParameterList(
            nn.Parameter(nn.init.xavier_uniform_(torch.empty(before, after)))
            for before, after in zip(sizes[:-1], sizes[1:], strict=True)
        )
        self.centres = nn.Parameter(torch.zeros(clusters, code))

    def forward(self, features: Features, propagation: SparseMatrix) -> tuple[Tensor, Tensor]:
        """The code (N×code), and the GCN's output before the softmax (N×K)."""
        hidden = self.autoencoder.hidden(features.product(self.autoencoder.weight))
        h = torch.relu(propagation @ features.product(self.weights[0]))
        for weight, layer in zip(self.weights[1:], hidden, strict=True):
            # A product with S is linear: it is done where there are fewer columns.
            mixed = (h + layer) / 2
            narrow = weight.shape[1] <= weight.shape[0]
            out = propagation @ (mixed @ weight) if narrow else (propagation @ mixed) @ weight
            h = out if weight is self.weights[-1] else torch.relu(out)
        return hidden[-1], h


def row_normalised(edge_index: Tensor, nodes: int, weight: Tensor | None = None) -> SparseMatrix:
    """D⁻¹(A + I), D the degrees with the self-loop: an isolated node keeps its own row.

    Args:
        edge_index: 2×E. nodes: N. weight: of the entries (E), None where all are 1.
    """
    entries = Adjacency(edge_index, nodes, weight)
    values = entries.degree.reciprocal()[entries.target]
    if entries.weight is not None:
        values = values * entries.weight
    back, shape = entries.reverse, (nodes, nodes)
    return SparseMatrix(
        compressed(entries.target, entries.source, values, shape),
        compressed(entries.source[back], entries.target[back], values[back], shape),
    )


def soft_assignment(code: Tensor, centres: Tensor) -> Tensor:
    """Q (N×K): Student's t kernel of one degree of freedom, q_ij ∝ 1/(1 + ‖code_i − centre_j‖²),
    rows sum to 1."""
    squares = (code[:, None, :] - centres).square().sum(dim=2)
    kernel = (1.0 + squares).reciprocal()
    return kernel / kernel.sum(dim=1, keepdim=True)


def target_distribution(q: Tensor) -> Tensor:
    """P: p_ij ∝ q_ij² / Σ_i q_ij, rows sum to 1; confident assignments sharpened, large clusters
    held back."""
    weight = q.square() / q.sum(dim=0)
    return weight / weight.sum(dim=1, keepdim=True)
