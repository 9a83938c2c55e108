"""MVGRL: contrastive multi-view representation learning on graphs (Hassani & Khasahmadi 2020), node
level."""

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
from gclbench.contrast.unit_rows import unit_rows
from gclbench.embedding import Contrast, Embedding
from gclbench.filters.gnnbp import GnnBP
from gclbench.graph import with_features
from gclbench.methods.subgraphs import Subgraphs, edges_among
from gclbench.negatives.strategy import Negatives, Pair, RowMixture, Strategy
from gclbench.nn.convolution import Convolution
from gclbench.nn.diffusion import Diffusion
from gclbench.nn.gcn import GCN_ACTIVATIONS
from gclbench.nn.sparse import Adjacency, Features, SparseMatrix, normalised_rows
from gclbench.training.patience import Patience
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

PROPAGATION_COST = 14
"""A sparse product's time per multiplication over a dense product's, on a CPU with AVX-512 (Cora, d
= 512, one thread)."""


@METHODS.register("mvgrl")
@dataclass(frozen=True)
class Mvgrl:
    """MVGRL: one GCN on the graph, another on its personalised PageRank diffusion; nodes of one view against the other's summary.

    Attributes:
        objective: `summary` is the paper's: nodes of each view against the summary of the other
            one, shuffled features for contrast. `nodes` is InfoNCE between the two views' nodes,
            against any strategy for negatives (the base of M-Mix).
        epochs: steps at most. patience: steps without a new lowest training loss that end the
            training; 0: all epochs.
        subgraphs: random sub-graphs that a step averages its loss over; 0: the whole graph.
            subgraph_nodes: nodes of each, drawn uniformly; as many as the graph has, or more: the
                whole graph. They bound the memory of the loss; propagation still
            walks all nodes. `patience` then compares losses of different sub-graphs.
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

    def fit(
        self,
        graph: Data,
        labels: Tensor,
        rng: Streams,
        watch: Watch,
        negatives: Strategy | None = None,
    ) -> Embedding:
        """Trains both encoders and embeds every node by the sum of its two embeddings.

        Args:
            graph: x (N×F), edge_index (2×E). labels: not read. negatives: settings of the strategy;
                not read by `summary`.

        Raises:
            ValueError: `objective=nodes` without a strategy.
            Unsupported: when the graph does not suit the strategy.
        """
        views = Views(graph, self.alpha, self.normalize_features)
        nodes, device = views.features.nodes, graph.x.device
        with rng.seeded("init"):
            first, second = (
                Convolution(views.features.width, self.hidden, self.activation) for _ in range(2)
            )
            model = nn.ModuleDict(
                {"first": first, "second": second, "discriminator": Discriminator(self.hidden)}
            )
        strategy: Negatives | None = None
        if self.objective == "nodes":
            if negatives is None:
                raise ValueError(
                    "objective=nodes needs a strategy for negatives; Uniform() is the plain one"
                )
            # Nothing reads the discriminator; it is drawn all the same, so that the encoders start
            # alike under both objectives.
            del model["discriminator"]
            model["strategy"] = strategy = negatives.build(self.hidden, nodes, rng, device)
        model.to(device)
        trained = [
            parameter
            for name, part in model.items()
            if name != "strategy"
            for parameter in part.parameters()
        ]
        trained += [] if strategy is None else strategy.joint_parameters()
        optimiser = torch.optim.Adam(
            trained, lr=self.lr, weight_decay=self.weight_decay, fused=True
        )
        patience = Patience(self.patience, model)
        shuffles, noise = rng.torch("shuffles"), rng.torch("noise")
        first.use(noise)
        second.use(noise)
        subgraphs = Subgraphs(nodes, self.subgraphs, self.subgraph_nodes, rng.torch("subgraphs"))

        def pair(iteration: int, strategy: Negatives, among: Tensor | None) -> Pair:
            mixture = strategy.mixture(nodes if among is None else len(among), device)
            u, v = views.nodes(first, second, mixture, among)
            edges = (
                graph.edge_index if among is None else edges_among(graph.edge_index, among, nodes)
            )
            return Pair(
                u,
                v,
                self.tau,
                iteration,
                self.epochs,
                self.intra,
                edges,
                nodes,
                batched=subgraphs.drawn,
            )

        def loss_of(
            iteration: int, among: Tensor | None, learns: bool
        ) -> tuple[Tensor, dict[str, Tensor]]:
            """The loss on the graph or a sub-graph, and what it is the sum of."""
            if strategy is None:
                loss = views.local_global(first, second, model["discriminator"], shuffles, among)
                return loss, {"discrimination": loss.detach()}
            both = pair(iteration, strategy, among)
            if learns:
                strategy.update(both.detached())
            return strategy(both), dict(strategy.terms)

        state: dict[str, Any] = {
            "model": model,
            "optimiser": optimiser,
            "patience": patience,
            "shuffles": shuffles,
            "noise": noise,
        }
        for epoch in watch.iterations(self.epochs, **state, subgraphs=subgraphs.generator):
            # The strategy learns once per step, from the first sub-graph.
            parts = [
                loss_of(epoch, among, learns=number == 0)
                for number, among in enumerate(subgraphs.draw(device))
            ]
            loss = torch.stack([each for each, _ in parts]).mean()
            terms = {
                name: torch.stack([each[name] for _, each in parts]).mean() for name in parts[0][1]
            }
            watch(epoch, self.epochs, loss.detach(), terms)
            # Until the strategy is at work the loss is another one, and none of it is the lowest.
            begun = strategy is None or strategy.begun(epoch, self.epochs)
            if begun and patience.spent(float(loss.detach()), epoch - 1):
                break
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        patience.restore()
        model.eval()
        with torch.no_grad():
            u, v = views.nodes(first, second)
            if strategy is None:
                return Embedding(u + v, **patience.told())
            z = strategy.embed(u, graph.edge_index, v)
            # The iteration that patience ended the training with tells the strategy what phase it
            # was in.
            last = pair(max(1, watch.reached), strategy, None)
            contrast = Contrast(
                unit_rows(last.u), unit_rows(last.v), self.tau, **strategy.reports(last)
            )
            stopping, mining = patience.told(), strategy.told(last)
            findings = {**stopping["findings"], **mining["findings"]}
            return Embedding(
                z,
                "cosine",
                contrast,
                findings=findings,
                remarks=[*stopping["remarks"], *mining["remarks"]],
            )


class Views:
    """The two views of one graph: S = D^(−½)(A + I)D^(−½) and its personalised PageRank α (I −
    (1−α) S)⁻¹.

    The second one is never stored. Applied to x W it takes sparse products in every step; where
    features are few for the number of edges it is applied to the features once, by the filter, and
    a step on the whole graph takes one dense product.

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
        """operator·product; of a sub-graph with the operator's sub-matrix, which is never taken
        out: the other rows are zero."""
        if among is None:
            return operator @ product
        placed = product.new_zeros(self.features.nodes, product.shape[1]).index_copy_(
            0, among, product
        )
        return (operator @ placed).index_select(0, among)


def _chosen(rows: Tensor, among: Tensor | None) -> Tensor:
    return rows if among is None else rows.index_select(0, among)
