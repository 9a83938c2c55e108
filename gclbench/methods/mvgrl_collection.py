"""MVGRL on collections of graphs, and M-Mix on it."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from gclbench.contrast.graph_batch import GraphBatch
from gclbench.contrast.local_global import nodes_against_graphs
from gclbench.contrast.unit_rows import unit_rows
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.collection_model import CollectionModel
from gclbench.methods.contrasted import contrasted
from gclbench.methods.mvgrl_settings import MvgrlSettings
from gclbench.methods.subgraphs import Subgraphs
from gclbench.negatives.strategy import Pair, Report, Strategy, built
from gclbench.negatives.uniform import Uniform, UniformNegatives
from gclbench.nn.convolution import Convolutions
from gclbench.nn.diffusion import Diffusion
from gclbench.nn.prelu import PReLU
from gclbench.nn.readout import READOUTS
from gclbench.nn.residual_mlp import ResidualMlp, glorot_
from gclbench.nn.sparse import Adjacency
from gclbench.training.loop import Loss, Step
from gclbench.training.streams import Streams


def collection_model(
    settings: MvgrlSettings, graph: Data, rng: Streams, negatives: Strategy
) -> MvgrlCollection:
    """The model of either objective."""
    if settings.objective == "summary":
        return SummaryCollection(settings, graph, rng)
    return NodesCollection(settings, graph, rng, negatives)


class MvgrlCollection(CollectionModel):
    """A GCN on the graphs and another on their diffusions.

    A graph vector is the sums of its nodes in every layer, side by side.
    """

    def __init__(self, settings: MvgrlSettings, graph: Data, rng: Streams):
        streams = {name: rng.torch(name) for name in ("batches", "noise", "subgraphs")}
        normalise = settings.normalize_features
        super().__init__("mvgrl", settings, graph, normalise=normalise, **streams)
        self.settings = settings
        with rng.seeded("init"):
            self.first, self.second = (
                Convolutions(
                    graph.x.shape[1], settings.hidden, settings.layers, settings.activation
                )
                for _ in range(2)
            )
        for encoder in (self.first, self.second):
            encoder.use(self.state["noise"])
            encoder.requires_grad_(settings.train_encoder)

    def views(self, batch: GraphBatch) -> tuple[list[Tensor], list[Tensor]]:
        """The nodes of every layer in either view, M×d each."""
        propagation = Adjacency(batch.edge_index, len(batch.x)).normalised()
        diffusion = Diffusion(propagation, self.settings.alpha)
        return self.first(batch.x, propagation), self.second(batch.x, diffusion)


class SummaryCollection(MvgrlCollection):
    """The paper's objective: nodes of each view against the graph vectors of the other.

    Nodes and graph vectors go through a head each, which the views share. Evaluated are the graph
    vectors behind it.
    """

    def __init__(self, settings: MvgrlSettings, graph: Data, rng: Streams):
        super().__init__(settings, graph, rng)
        width = settings.hidden
        with rng.seeded("heads"):
            self.of_nodes = ResidualMlp(width, width, PReLU)
            self.of_graphs = ResidualMlp(width * settings.layers, width, PReLU)
            glorot_(self.of_nodes)
            glorot_(self.of_graphs)

    def trained(self) -> list[nn.Parameter]:
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    def part(self, step: Step, chosen: Tensor, batch: GraphBatch) -> Loss:
        here, there = self.views(batch)
        loss = nodes_against_graphs(
            self.of_nodes(here[-1]), self.whole(there, batch), batch.graph_of
        ) + nodes_against_graphs(self.of_nodes(there[-1]), self.whole(here, batch), batch.graph_of)
        return Loss(loss, {"discrimination": loss.detach()})

    def whole(self, layers: list[Tensor], batch: GraphBatch) -> Tensor:
        """The graph vectors behind their head, B×d."""
        return self.of_graphs(pooled(layers, batch))

    def rows(self, batch: GraphBatch) -> Tensor:
        here, there = self.views(batch)
        return self.settings.evaluated_of(self.whole(here, batch), self.whole(there, batch))


class NodesCollection(MvgrlCollection):
    """M-Mix's objectives: InfoNCE between the views' nodes (Eq. 10) and between their graph vectors
    (Eq. 11), M-Mix KDD 2022.

    A graph vector is the sum of its nodes' directions, which is what the loss compares. M-Mix mixes
    the first view's nodes, and their mixtures are summed. Any other strategy weights graphs as
    negatives of each other, and the nodes' contrast stays plain. Evaluated are the graph
    vectors.
    """

    def __init__(self, settings: MvgrlSettings, graph: Data, rng: Streams, negatives: Strategy):
        super().__init__(settings, graph, rng)
        self.plain = UniformNegatives()
        self.mixes_nodes = bool(getattr(negatives, "mixes_nodes", False))
        if settings.levels == "nodes" and not (self.mixes_nodes or isinstance(negatives, Uniform)):
            raise Unsupported(
                "on a collection a strategy weights graphs as negatives of each other, and"
                " method.levels=nodes compares nodes alone; method.levels=both or graphs has"
                " graphs to weight, negatives=uniform or mmix runs with nodes"
            )
        width = settings.hidden * (1 if self.mixes_nodes else settings.layers)
        contrasted = graph.num_nodes if self.mixes_nodes else len(self.collection)
        self.strategy = built(negatives, width, contrasted, rng, self.device)

    def trained(self) -> list[nn.Parameter]:
        own = [*self.first.parameters(), *self.second.parameters()]
        return [*own, *self.strategy.joint_parameters()]

    def part(self, step: Step, chosen: Tensor, batch: GraphBatch) -> Loss:
        if self.strategy.wants_all(step):
            self.strategy.update(self.pair_of_all(step))
        here, there, diversity = self.mixed_views(batch)
        terms: dict[str, Tensor] = {}
        final = True
        if self.settings.levels != "graphs":
            terms["nodes"] = self.between_nodes(step, here[-1], there[-1])
        if self.settings.levels != "nodes":
            pair = self.pair_of(step, here, there, batch, mixed=True)
            pair = replace(pair, batch=chosen, nodes=len(self.collection), batched=True)
            if self.mixes_nodes:
                loss = self.plain(pair)
            else:
                self.strategy.update(pair.detached())
                loss = self.strategy(pair)
            terms["graphs"], final = loss.value, loss.final
        if diversity is not None:
            terms["diversity"] = diversity
        total = torch.stack(list(terms.values())).sum()
        return Loss(total, {name: term.detach() for name, term in terms.items()}, final)

    def mixed_views(self, batch: GraphBatch) -> tuple[list[Tensor], list[Tensor], Tensor | None]:
        """The directions of the nodes of every layer in either view, the first view's last layer
        mixed by M-Mix, and its diversity loss."""
        here, there = ([unit_rows(layer) for layer in view] for view in self.views(batch))
        here[-1], diversity = self.strategy.mixed(here[-1], batch.edge_index)
        return here, there, diversity

    def between_nodes(self, step: Step, here: Tensor, there: Tensor) -> Tensor:
        """The contrast of nodes, averaged over the random sets of them."""
        settings = self.settings
        sets = Subgraphs(
            len(here), settings.subgraphs, settings.subgraph_nodes, self.state["subgraphs"]
        ).draw(self.device)
        losses = []
        for among in sets:
            u, v = (rows if among is None else rows[among] for rows in (here, there))
            losses.append(self.plain(Pair(u, (v,), settings.tau, step, settings.intra)).value)
        return torch.stack(losses).mean()

    def pair(self, step: Step, batch: GraphBatch, mixed: bool = True) -> Pair:
        here, there, _ = self.mixed_views(batch)
        return self.pair_of(step, here, there, batch, mixed)

    def pair_of(
        self,
        step: Step,
        here: list[Tensor],
        there: list[Tensor],
        batch: GraphBatch,
        mixed: bool,
    ) -> Pair:
        """The graph vectors of both views; the first view's mixed where the strategy mixes
        inputs."""
        u, v = pooled(here, batch), pooled(there, batch)
        mixture = self.strategy.mixture(len(u), u.device) if mixed else None
        u = u if mixture is None else mixture.apply(u)
        return Pair(u, (v,), self.settings.tau, step, self.settings.intra)

    def rows(self, batch: GraphBatch) -> Tensor:
        here, there, _ = self.mixed_views(batch)
        return self.settings.evaluated_of(pooled(here, batch), pooled(there, batch))

    def embed(self, step: Step) -> Embedding:
        pair = self.pair_of_all(step)
        u, v = unit_rows(pair.u), unit_rows(pair.v)
        report = Report() if self.mixes_nodes else self.reported(pair)
        found = contrasted(self.all_rows(), u, v, pair.tau, report)
        # The lengths of summed rows tell sizes.
        return replace(found, geometry="euclidean", encode=self.encode)

    def reported(self, pair: Pair) -> Report:
        """What the strategy reports of a pair of all graphs."""
        self.strategy.mixture(len(pair.u), self.device)
        return self.strategy.report(pair)


def pooled(layers: list[Tensor], batch: GraphBatch) -> Tensor:
    """The sums of a graph's nodes in every layer side by side, B×(layers·d)."""
    sums = [READOUTS["sum"](each, batch.graph_of, batch.graphs) for each in layers]
    return torch.cat(sums, dim=1)
