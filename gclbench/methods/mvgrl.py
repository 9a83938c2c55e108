"""MVGRL: contrastive multi-view learning on graphs (Hassani & Khasahmadi 2020); here of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor, nn

from gclbench.component.registry import METHODS
from gclbench.contrast.local_global import Discriminator
from gclbench.contrast.unit_rows import unit_rows
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.contrasted import contrasted
from gclbench.methods.mvgrl_collection import collection_model
from gclbench.methods.mvgrl_settings import MvgrlSettings
from gclbench.methods.subgraphs import Subgraphs
from gclbench.methods.two_propagations import TwoPropagations, stores_diffusion
from gclbench.negatives.strategy import Pair, Strategy, built, mean_of
from gclbench.negatives.uniform import Uniform
from gclbench.nn.convolution import Convolution
from gclbench.training.loop import Loss, Model, Step
from gclbench.training.streams import Streams


@METHODS.register("mvgrl")
@dataclass(frozen=True)
class Mvgrl(MvgrlSettings):
    """MVGRL: a GCN on the graph, another on its diffusion; nodes against the other's summary.

    The diffusion is that of personalised PageRank.
    """

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        if "graph_of" in graph:
            return collection_model(self, graph, rng, negatives or Uniform())
        if odd := self.for_collections():
            raise Unsupported(
                f"{odd} is for collections of graphs, and '{graph.name}' is a single graph; leave"
                " it out"
            )
        if self.objective == "summary":
            return SummaryModel(self, graph, rng)
        return NodesModel(self, graph, rng, negatives or Uniform())

    def held_bytes(self, graph: Data) -> int:
        """What a training holds beside some copies of the features: the diffusion, if stored.

        Args:
            graph: as loaded, before the filter and before a task hides a part.
        """
        if "graph_of" in graph or not self.epochs:
            return 0
        stored = stores_diffusion(graph, self.alpha, self.sub_graph)
        return 4 * len(graph.x) ** 2 if stored else 0


class MvgrlModel(Model):
    """Two convolutions on two views, whose loss is averaged over an iteration's sub-graphs.

    Both objectives draw the discriminator, so that their encoders start alike.
    """

    def __init__(self, settings: MvgrlSettings, graph: Data, rng: Streams):
        streams = {name: rng.torch(name) for name in ("shuffles", "noise", "subgraphs")}
        super().__init__(settings.epochs, **streams)
        self.settings, self.x, self.edge_index = settings, graph.x, graph.edge_index
        count, size = settings.subgraphs, settings.subgraph_nodes
        self.views = TwoPropagations(
            graph, settings.alpha, settings.normalize_features, settings.sub_graph
        )
        self.nodes = self.views.features.nodes
        self.subgraphs = Subgraphs(self.nodes, count, size, streams["subgraphs"])
        with rng.seeded("init"):
            self.first, self.second = (
                Convolution(self.views.features.width, settings.hidden, settings.activation)
                for _ in range(2)
            )
            self.discriminator = Discriminator(settings.hidden)
        self.first.use(self.state["noise"])
        self.second.use(self.state["noise"])

    def loss(self, step: Step) -> Loss:
        drawn = enumerate(self.subgraphs.draw(self.edge_index.device))
        return mean_of([self.part(step, among, first=place == 0) for place, among in drawn])

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
        return Embedding(self.settings.evaluated_of(u, v))


class NodesModel(MvgrlModel):
    """InfoNCE between the two views' nodes, against any strategy for negatives."""

    def __init__(self, settings: MvgrlSettings, graph: Data, rng: Streams, negatives: Strategy):
        super().__init__(settings, graph, rng)
        # Nothing reads it. It was drawn so that both objectives start alike.
        del self.discriminator
        self.strategy = built(negatives, settings.hidden, self.nodes, rng, graph.x.device)

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
        pair = Pair(u, (v,), self.settings.tau, step, self.settings.intra, self.edge_index)
        return replace(
            pair,
            features=self.x,
            plain=lambda: u + v,
            batch=among,
            nodes=self.nodes,
            batched=self.subgraphs.drawn,
        )

    def evaluated(self, step: Step) -> Embedding:
        u, v = self.views.nodes(self.first, self.second)
        branches = self.strategy.branches(u, self.edge_index, v)
        return Embedding(self.settings.evaluated_of(*branches), geometry="cosine")

    def embed(self, step: Step) -> Embedding:
        z = self.evaluated(step).z
        pair = self.pair(step)
        report = self.strategy.report(pair)
        return contrasted(z, unit_rows(pair.u), unit_rows(pair.v), pair.tau, report)
