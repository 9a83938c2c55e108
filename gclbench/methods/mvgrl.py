"""MVGRL: contrastive multi-view representation learning on graphs (Hassani & Khasahmadi 2020), node level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gclbench.contrast.local_global import Discriminator, summary, true_or_shuffled
from gclbench.contrast.negatives import Negatives, Pair, RowMixture, Strategy
from gclbench.contrast.unit_rows import unit_rows
from gclbench.filters.gnnbp import GnnBP
from gclbench.graph import Contrast, Embedding, with_features
from gclbench.hyperparameters import Count, NonNegative, OneOf, Positive, Range
from gclbench.methods.patience import Patience
from gclbench.nn.convolution import Convolution
from gclbench.nn.diffusion import Diffusion
from gclbench.nn.gcn import GCN_ACTIVATIONS
from gclbench.nn.sparse import Adjacency, Features, normalised_rows
from gclbench.registry import METHODS
from gclbench.streams import Streams
from gclbench.watch import Watch

PROPAGATION_COST = 14
"""A sparse product's time per multiplication over a dense product's, on a CPU with AVX-512 (Cora, d = 512, one thread)."""


@METHODS.register("mvgrl")
@dataclass(frozen=True)
class Mvgrl:
    """MVGRL: one GCN on the graph, another on its personalised PageRank diffusion; nodes of one view against the other's summary.

    Attributes:
        objective: `summary` is the paper's: nodes of each view against the summary of the other one, shuffled features for
            contrast. `nodes` is InfoNCE between the two views' nodes, against any strategy for negatives (the base of M-Mix).
        epochs: full-graph steps at most. patience: steps without a new lowest training loss that end the training; 0: all epochs.
        lr, weight_decay: of Adam.
        hidden: width d of either GCN's one layer. activation: after it.
        alpha: teleport probability of the diffusion α (I − (1−α) S)⁻¹.
        tau, intra: temperature, and whether nodes within a view are contrasted too; of `objective=nodes`.
        normalize_features: divide each row of the features by its sum.
    """

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    no_negatives: ClassVar[str] = (
        "its objective compares nodes with one summary of the graph, not with other nodes; method.objective=nodes contrasts nodes"
    )

    objective: Annotated[str, OneOf("summary", "nodes")] = "summary"
    epochs: Annotated[int, Range(least=0)] = 3000
    patience: Annotated[int, Range(least=0)] = 20
    lr: Positive = 1e-3
    weight_decay: NonNegative = 0.0
    hidden: Count = 512
    activation: Annotated[str, OneOf(*GCN_ACTIVATIONS)] = "prelu"
    alpha: Annotated[float, Range(above=0, most=1)] = 0.2
    tau: Positive = 1.0
    intra: bool = True
    normalize_features: bool = False

    @property
    def takes_negatives(self) -> bool:
        """Only the contrast of nodes has negatives to weight."""
        return self.objective == "nodes"

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch, negatives: Strategy | None = None) -> Embedding:
        """Trains both encoders and embeds every node by the sum of its two embeddings.

        Args:
            graph: x (N×F), edge_index (2×E). labels: not read. negatives: settings of the strategy; not read by `summary`.

        Raises:
            ValueError: `objective=nodes` without a strategy.
            Unsupported: when the graph does not suit the strategy.
        """
        views = Views(graph, self.alpha, self.normalize_features)
        device = graph.x.device
        with rng.seeded("init"):
            first, second = (Convolution(views.features.width, self.hidden, self.activation) for _ in range(2))
            model = nn.ModuleDict({"first": first, "second": second, "discriminator": Discriminator(self.hidden)})
        strategy: Negatives | None = None
        if self.objective == "nodes":
            if negatives is None:
                raise ValueError("objective=nodes needs a strategy for negatives; Uniform() is the plain one")
            # Nothing reads the discriminator; it is drawn all the same, so that the encoders start alike under both objectives.
            del model["discriminator"]
            model["strategy"] = strategy = negatives.build(self.hidden, views.features.nodes, rng, device)
        model.to(device)
        trained = [parameter for name, part in model.items() if name != "strategy" for parameter in part.parameters()]
        trained += [] if strategy is None else strategy.joint_parameters()
        optimiser = torch.optim.Adam(trained, lr=self.lr, weight_decay=self.weight_decay, fused=True)
        patience = Patience(self.patience, model)
        shuffles = rng.torch("shuffles")

        def pair(iteration: int, mixture: RowMixture | None) -> Pair:
            u, v = views.nodes(first, second, mixture)
            return Pair(u, v, self.tau, iteration, self.epochs, self.intra, graph.edge_index, views.features.nodes)

        def loss_of(iteration: int) -> Tensor:
            if strategy is None:
                return views.local_global(first, second, model["discriminator"], shuffles)
            both = pair(iteration, strategy.mixture(views.features.nodes, device))
            strategy.update(both.detached())
            return strategy(both)

        state: dict[str, Any] = {"model": model, "optimiser": optimiser, "patience": patience, "shuffles": shuffles}
        for epoch in watch.iterations(self.epochs, **state):
            loss = loss_of(epoch)
            watch(epoch, self.epochs, loss.detach(), {} if strategy is None else strategy.terms)
            if patience.spent(float(loss.detach())):
                break
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        patience.restore()
        model.eval()
        with torch.no_grad():
            u, v = views.nodes(first, second)
            if strategy is None:
                return Embedding(u + v)
            z = strategy.embed(u, graph.edge_index, v)
            # The iteration that patience ended the training with tells the strategy what phase it was in.
            last = pair(max(1, watch.reached), strategy.mixture(views.features.nodes, device))
            contrast = Contrast(unit_rows(last.u), unit_rows(last.v), self.tau, strategy.weights(last), strategy.shares(last))
            return Embedding(z, geometry="cosine", contrast=contrast)


class Views:
    """The two views of one graph: S = D^(−½)(A + I)D^(−½) and its personalised PageRank α (I − (1−α) S)⁻¹.

    The second one is never stored. Applied to x W it takes sparse products in every step; where features are few for the number
    of edges it is applied to the features once, by the filter, and a step takes one dense product.

    Args:
        graph: x (N×F), edge_index (2×E). alpha: α. normalise: divide each row of the features by its sum.
    """

    def __init__(self, graph: Data, alpha: float, normalise: bool):
        x = normalised_rows(graph.x) if normalise else graph.x
        self.features = Features(x)
        self.propagation = Adjacency(graph.edge_index, self.features.nodes).normalised()
        self.diffusion = Diffusion(self.propagation, alpha)
        entries = graph.edge_index.shape[1] + self.features.nodes
        self.smoothed: Features | None = None
        if x.numel() < PROPAGATION_COST * self.diffusion.steps * entries:
            smoothed = GnnBP(alpha=alpha, rrz=0.5).apply(with_features(graph, x).cpu(), device=str(x.device)).x
            self.smoothed = Features(smoothed.to(x.device))

    def nodes(self, first: Convolution, second: Convolution, mixture: RowMixture | None = None) -> tuple[Tensor, Tensor]:
        """The nodes' embeddings in either view, each N×d; the first view's inputs mixed where asked."""
        product = first.product(self.features)
        if mixture is not None:
            product = mixture.apply(product)
        return first.activate(self.propagation @ product), second.activate(self._diffused(second))

    def local_global(
        self, first: Convolution, second: Convolution, discriminator: Callable[[Tensor, Tensor], Tensor], shuffles: torch.Generator
    ) -> Tensor:
        """The paper's loss: nodes of either view, true and with shuffled features, against the summary of the other (Eq. 4)."""
        order = torch.randperm(self.features.nodes, generator=shuffles).to(self.features.device)
        here, there = first.product(self.features), second.product(self.features)
        u = first.activate(self.propagation @ here)
        v = second.activate(self._diffused(second, there))
        # Shuffling the rows of x W is shuffling those of x.
        shuffled_u = first.activate(self.propagation @ here.index_select(0, order))
        shuffled_v = second.activate(self.diffusion @ there.index_select(0, order))
        of_u, of_v = summary(u), summary(v)
        return true_or_shuffled(
            [discriminator(v, of_u), discriminator(u, of_v)],
            [discriminator(shuffled_v, of_u), discriminator(shuffled_u, of_v)],
        )

    def _diffused(self, convolution: Convolution, product: Tensor | None = None) -> Tensor:
        """The diffusion of x W, N×d, the cheaper way."""
        if self.smoothed is not None:
            return convolution.product(self.smoothed)
        return self.diffusion @ (convolution.product(self.features) if product is None else product)
