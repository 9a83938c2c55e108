"""Augmented views of a batch of graphs (GraphCL, You et al. 2020, Table 1), all graphs at once.

Every graph of a batch has its own augmentation. Draws come from a generator on the CPU. There is no
loop over graphs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from gclbench.contrast.graph_batch import GraphBatch

AUGMENTATIONS = ("drop", "edges", "mask", "subgraph", "identity")
"""Names; a view's kinds are numbers of this list."""

NOISE_MEAN, NOISE_DEVIATION = 0.5, 0.5
"""Of the normal deviates in a masked node's features, as in GraphCL's official code."""


@dataclass(frozen=True)
class Strengths:
    """How much an augmentation changes of a graph of n nodes and m edges.

    Attributes:
        ratio: `drop` leaves out ⌊ratio·n⌋ nodes, `mask` hides the features of as many, `edges`
            takes ⌊ratio·m⌋ edges away and draws as many pairs of nodes to be joined.
        walk: `subgraph` keeps a random start and ⌊walk·n⌋ nodes more.
    """

    ratio: float
    walk: float


def augmented(
    batch: GraphBatch, kinds: Tensor, strengths: Strengths, generator: torch.Generator
) -> GraphBatch:
    """The batch with each graph augmented; nodes that are left out are gone, and every graph keeps
    one at least.

    Args:
        kinds: (B,) numbers of `AUGMENTATIONS`, on the CPU.
        generator: on the CPU.
    """

    def has(name: str) -> Tensor | None:
        """Which graphs have that augmentation, (B,); None where none has."""
        chosen = kinds == AUGMENTATIONS.index(name)
        return chosen.to(batch.x.device) if bool(chosen.any()) else None

    x, edge_index = batch.x, batch.edge_index
    keep = torch.ones_like(batch.graph_of, dtype=torch.bool)
    if (chosen := has("drop")) is not None:
        keep &= ~_some_nodes(batch, chosen, strengths.ratio, generator)
    if (chosen := has("mask")) is not None:
        x = _masked(x, _some_nodes(batch, chosen, strengths.ratio, generator), generator)
    if (chosen := has("edges")) is not None:
        edge_index = _perturbed(batch, chosen, strengths.ratio, generator)
    if (chosen := has("subgraph")) is not None:
        keep &= _walked(batch, chosen, strengths.walk, generator)
    return _induced(GraphBatch(x, edge_index, batch.graph_of, batch.graphs), keep)


def drawn_kinds(
    graphs: int, names: tuple[str, ...], generator: torch.Generator, shares: Tensor | None = None
) -> Tensor:
    """(B,) numbers of `AUGMENTATIONS`, drawn for each graph by itself.

    Args:
        names: what may be drawn. shares: of the names; None for equal ones.
    """
    weights = torch.ones(len(names)) if shares is None else shares
    drawn = torch.multinomial(weights, graphs, replacement=True, generator=generator)
    return torch.tensor([AUGMENTATIONS.index(name) for name in names])[drawn]


def ranks(keys: Tensor, graph_of: Tensor, sizes: Tensor) -> Tensor:
    """The rank of each key, from 0, among those of its graph.

    Args:
        keys: (M,). graph_of: (M,), ascending. sizes: (B,) entries of each graph.
    """
    order = torch.argsort(keys)
    order = order.index_select(0, torch.argsort(graph_of.index_select(0, order), stable=True))
    first = (sizes.cumsum(0) - sizes).index_select(0, graph_of)
    places = torch.arange(len(order), device=order.device) - first
    return torch.empty_like(order).index_copy_(0, order, places)


def _some_nodes(
    batch: GraphBatch, chosen: Tensor, ratio: float, generator: torch.Generator
) -> Tensor:
    """⌊ratio·n⌋ random nodes of each chosen graph, (M,) bool."""
    sizes = batch.sizes()
    counts = _floor(ratio, sizes) * chosen
    keys = torch.rand(len(batch.graph_of), generator=generator).to(batch.x.device)
    return ranks(keys, batch.graph_of, sizes) < counts.index_select(0, batch.graph_of)


def _masked(x: Tensor, hidden: Tensor, generator: torch.Generator) -> Tensor:
    """x with normal deviates in the hidden rows."""
    count = int(hidden.sum())
    noise = torch.randn(count, x.shape[1], generator=generator)
    return x.masked_scatter(
        hidden[:, None], (noise * NOISE_DEVIATION + NOISE_MEAN).to(x.device, x.dtype)
    )


def _perturbed(
    batch: GraphBatch, chosen: Tensor, ratio: float, generator: torch.Generator
) -> Tensor:
    """edge_index with ⌊ratio·m⌋ edges of each chosen graph taken away and as many pairs joined.

    A pair that is joined already, or is drawn twice, adds nothing.
    """
    u, v = batch.edge_index[:, batch.edge_index[0] < batch.edge_index[1]]
    graph_of, nodes = batch.graph_of[u], len(batch.graph_of)
    edges = torch.bincount(graph_of, minlength=batch.graphs)
    counts = _floor(ratio, edges) * chosen
    keys = torch.rand(len(u), generator=generator).to(u.device)
    stays = ranks(keys, graph_of, edges) >= counts.index_select(0, graph_of)
    kept = (u * nodes + v)[stays]
    joined = _pairs(batch, counts, generator)
    joined = joined[~torch.isin(joined, kept)]
    once = torch.cat([kept, joined])
    both = torch.cat([once, once % nodes * nodes + once // nodes]).sort().values
    return torch.stack([both // nodes, both % nodes])


def _pairs(batch: GraphBatch, counts: Tensor, generator: torch.Generator) -> Tensor:
    """Distinct keys u·M + v, u < v, of `counts` random pairs of nodes within each graph."""
    sizes = batch.sizes()
    # A graph of one node has no pair to be joined; it has no edges either, so its count is 0.
    graph = torch.arange(batch.graphs, device=counts.device).repeat_interleave(counts)
    size, first = sizes[graph], (sizes.cumsum(0) - sizes)[graph]
    draws = torch.rand(2, len(graph), generator=generator, dtype=torch.float64).to(counts.device)
    u = (draws[0] * size).long()
    v = (draws[1] * (size - 1)).long()
    v = v + (v >= u)
    u, v = first + torch.minimum(u, v), first + torch.maximum(u, v)
    return torch.unique(u * len(batch.graph_of) + v)


def _walked(batch: GraphBatch, chosen: Tensor, walk: float, generator: torch.Generator) -> Tensor:
    """The nodes that a walk with a growing frontier keeps of each chosen graph, (M,) bool, and all
    of the others.

    From a random start it takes, ⌊walk·n⌋ times, one of the nodes beside those taken, each with
    the same probability. That is done without steps: let every node wait for an exponential time
    from when the first of its neighbours is taken. Waiting has no memory, so the next one to be
    taken is any of the frontier with the same probability. The times are shortest paths from the
    start, whose edges have the waiting time of the node that they lead to.
    """
    sizes = batch.sizes()
    first, nodes = sizes.cumsum(0) - sizes, len(batch.graph_of)
    draws = torch.rand(batch.graphs, generator=generator, dtype=torch.float64)
    starts = first + (draws.to(first.device) * sizes).long()
    waits = torch.empty(nodes, dtype=torch.float64).exponential_(generator=generator).numpy()
    source, target = batch.edge_index.cpu().numpy()
    pointers = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=nodes))])
    waiting = scipy.sparse.csr_matrix((waits[target], target, pointers), shape=(nodes, nodes))
    taken = dijkstra(waiting, indices=starts[chosen].cpu().numpy(), min_only=True)
    times = torch.from_numpy(taken).to(batch.x.device)
    wanted = torch.where(chosen, 1 + _floor(walk, sizes), sizes)[batch.graph_of]
    near = ranks(times, batch.graph_of, sizes) < wanted
    return near & (torch.isfinite(times) | ~chosen[batch.graph_of])


def _induced(batch: GraphBatch, keep: Tensor) -> GraphBatch:
    """The batch without the nodes that are not kept."""
    if bool(keep.all()):
        return batch
    number, kept = keep.cumsum(0) - 1, keep.nonzero()[:, 0]
    source, target = batch.edge_index
    among = (keep.index_select(0, source) & keep.index_select(0, target)).nonzero()[:, 0]
    edges = number.index_select(0, batch.edge_index.index_select(1, among).view(-1)).view(2, -1)
    x, graph_of = batch.x.index_select(0, kept), batch.graph_of.index_select(0, kept)
    return GraphBatch(x, edges, graph_of, batch.graphs)


def _floor(share: float, counts: Tensor) -> Tensor:
    """⌊share·count⌋; a share that is a decimal fraction is taken as that: ⌊0.1·30⌋ is 3."""
    return (share * counts.double() + 1e-9).floor().long()
