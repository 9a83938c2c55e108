"""GraphCL on nodes (You et al. 2020): DGI with the summaries of two augmented graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import OneOf, Range
from gclbench.contrast.local_global import summary
from gclbench.data.pairs import NonEdges
from gclbench.graph.carrier import Data
from gclbench.methods.dgi import Dgi, DgiModel
from gclbench.negatives.strategy import Strategy
from gclbench.nn.diffusion import Diffusion
from gclbench.nn.sparse import Adjacency, SparseMatrix, edges_among
from gclbench.training.loop import Model
from gclbench.training.streams import Streams

AUGMENTATIONS = ("subgraph", "node", "edge", "mask")


@METHODS.register("graphcl_nodes")
@dataclass(frozen=True)
class GraphclNodes(Dgi):
    """GraphCL on nodes: DGI whose nodes are scored against the summaries of two augmented graphs.

    Both are drawn once, before the training. The scores against the two are added.

    Attributes:
        augmentation: `subgraph` keeps nodes that a random node reaches one neighbour at a time,
            `node` drops nodes, `edge` drops edges and adds as many, `mask` sets the features of
            nodes to zero.
        share: of the nodes that are dropped or masked; a quarter of it is the share of the edges
            that are dropped, and of those that are added.
    """

    for_graphs: ClassVar[str] = "graphcl"
    # An edge that `edge` puts in would have no weight, and `subgraph` draws neighbours alike.
    takes_weights: ClassVar[bool] = False

    augmentation: Annotated[str, OneOf(*AUGMENTATIONS)] = "subgraph"
    share: Annotated[float, Range(above=0, below=1)] = 0.2

    def model(
        self, graph: Data, labels: Tensor, rng: Streams, negatives: Strategy | None = None
    ) -> Model:
        return GraphclNodesModel(self, graph, rng)


@dataclass(frozen=True)
class Augmented:
    """An augmented graph.

    Attributes:
        nodes: (M,) ids of its nodes; None for all.
        seen: (N,) 1 where a node's features are kept, else 0; None for all kept.
        propagation: over its edges.
    """

    nodes: Tensor | None
    seen: Tensor | None
    propagation: SparseMatrix | Diffusion


class GraphclNodesModel(DgiModel):
    """DGI's layer, and its discriminator for the summaries of both augmented graphs."""

    def __init__(self, settings: GraphclNodes, graph: Data, rng: Streams):
        super().__init__(settings, graph, rng)
        draws = rng.numpy("augmentations")
        self.augmented = [_augmented(settings, graph, draws) for _ in range(2)]

    def judge(self, product: Tensor, true: Tensor) -> Callable[[Tensor], Tensor]:
        """Against the summaries of both augmented graphs."""
        first, second = (summary(self._encoded(product, one)) for one in self.augmented)
        return lambda h: self.discriminator(h, first) + self.discriminator(h, second)

    def _encoded(self, product: Tensor, graph: Augmented) -> Tensor:
        rows = product if graph.nodes is None else product.index_select(0, graph.nodes)
        rows = rows if graph.seen is None else rows * graph.seen[:, None]
        return self.encoder.activate(graph.propagation @ rows)


def _augmented(settings: GraphclNodes, graph: Data, draws: np.random.Generator) -> Augmented:
    """An augmented graph, drawn anew."""
    edges, count, device = graph.edge_index, graph.num_nodes, graph.edge_index.device
    dropped = int(settings.share * count)
    nodes = seen = None
    if settings.augmentation == "edge":
        edges = _exchanged(edges.cpu().numpy(), count, settings.share / 4, draws).to(device)
    elif settings.augmentation == "mask":
        seen = torch.ones(count, device=device)
        seen[torch.from_numpy(draws.choice(count, dropped, replace=False)).to(device)] = 0
    else:
        drawn = (
            grown(edges.cpu().numpy(), count, count - dropped, draws)
            if settings.augmentation == "subgraph"
            else np.sort(draws.choice(count, count - dropped, replace=False))
        )
        nodes = torch.from_numpy(drawn).to(device)
        edges = edges_among(edges, nodes, count)
    size = count if nodes is None else len(nodes)
    return Augmented(nodes, seen, settings.propagates(Adjacency(edges, size)))


def _exchanged(edges: np.ndarray, nodes: int, share: float, draws: np.random.Generator) -> Tensor:
    """A share of the undirected edges left out and as many others put in (2×E, both directions)."""
    one_way = edges[:, edges[0] < edges[1]]
    others = NonEdges(edges, nodes)
    count = min(int(share * one_way.shape[1]), others.count)
    kept = np.sort(draws.choice(one_way.shape[1], one_way.shape[1] - count, replace=False))
    changed = np.concatenate([one_way[:, kept], others.draw(draws, count)], axis=1)
    return torch.from_numpy(np.concatenate([changed, changed[::-1]], axis=1))


def grown(edges: np.ndarray, nodes: int, size: int, draws: np.random.Generator) -> np.ndarray:
    """`size` nodes, ascending: from a random node on, one random neighbour of those so far at a
    time; where there is none left, from another random node.

    Args:
        edges: both directions (2×E). nodes: N.
    """
    order = np.argsort(edges[0], kind="stable")
    neighbours = edges[1][order]
    starts = np.searchsorted(edges[0][order], np.arange(nodes + 1))
    seeds = iter(draws.permutation(nodes).tolist())
    known = np.zeros(nodes, dtype=bool)
    waiting: list[int] = []
    taken: list[int] = []
    while len(taken) < size:
        if not waiting:
            waiting = [next(seed for seed in seeds if not known[seed])]
            known[waiting] = True
        place = int(draws.integers(len(waiting)))
        # The last one takes the place of the one that is drawn.
        waiting[place], waiting[-1] = waiting[-1], waiting[place]
        node = waiting.pop()
        taken.append(node)
        here = np.unique(neighbours[starts[node] : starts[node + 1]])
        new = here[~known[here]]
        known[new] = True
        waiting.extend(new.tolist())
    return np.sort(np.array(taken, dtype=np.int64))
