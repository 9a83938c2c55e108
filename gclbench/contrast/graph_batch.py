"""A collection of graphs, and block-diagonal batches out of it, without a loop over graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

GATHERED = 1 << 24
"""Bytes of features and edges that are gathered at once for the batches of an epoch."""


@dataclass(frozen=True)
class GraphBatch:
    """Some graphs as one block-diagonal graph.

    Attributes:
        x: features (M×F) of the M nodes of all graphs, those of the first graph first.
        edge_index: both directions of every edge (2×E), sorted by row.
        graph_of: the place of each node's graph in the batch (M), ascending.
        graphs: number B of graphs; each has a node at least.
    """

    x: Tensor
    edge_index: Tensor
    graph_of: Tensor
    graphs: int

    def sizes(self) -> Tensor:
        """Nodes of each graph, (B,)."""
        return torch.bincount(self.graph_of, minlength=self.graphs)


class GraphCollection:
    """The graphs of a collection, from which batches are cut.

    Args:
        x: N×F. edge_index: 2×E, both directions, sorted by row. graph_of: (N,), ascending 0…G−1.
    """

    def __init__(self, x: Tensor, edge_index: Tensor, graph_of: Tensor):
        graphs = int(graph_of[-1]) + 1
        self.all = GraphBatch(x, edge_index, graph_of, graphs)
        self._nodes = self.all.sizes()
        self._edges = torch.bincount(graph_of[edge_index[0]], minlength=graphs)
        self._first_node = self._nodes.cumsum(0) - self._nodes
        self._first_edge = self._edges.cumsum(0) - self._edges

    def __len__(self) -> int:
        return self.all.graphs

    def batch(self, chosen: Tensor) -> GraphBatch:
        """The chosen graphs (B numbers) in that order."""
        sizes, first = self._nodes[chosen], self._first_node[chosen]
        edges = spans(self._first_edge[chosen], self._edges[chosen])
        # A node's new number is its old one and what its graph has moved by.
        moved = (sizes.cumsum(0) - sizes - first).repeat_interleave(self._edges[chosen])
        place = torch.arange(len(chosen), device=chosen.device)
        return GraphBatch(
            self.all.x.index_select(0, spans(first, sizes)),
            self.all.edge_index.index_select(1, edges) + moved,
            place.repeat_interleave(sizes),
            len(chosen),
        )

    def batches(self, parts: Sequence[Tensor]) -> Iterator[GraphBatch]:
        """`batch` of each part (its graphs' numbers), one after the other.

        Several batches are gathered together and cut apart, which takes fewer operations.
        """
        if not parts:
            return
        group: list[Tensor] = []
        gathered = 0
        for part, size in zip(parts, self._bytes(parts), strict=True):
            if group and gathered + size > GATHERED:
                yield from self._cut(group)
                group, gathered = [], 0
            group.append(part)
            gathered += size
        yield from self._cut(group)

    def _bytes(self, parts: Sequence[Tensor]) -> list[int]:
        """Those of each batch's features, edges and graph numbers."""
        whole = self.all
        of_a_node = whole.x.shape[1] * whole.x.element_size() + whole.graph_of.element_size()
        of_an_edge = 2 * whole.edge_index.element_size()
        sizes = [
            self._nodes[part].sum() * of_a_node + self._edges[part].sum() * of_an_edge
            for part in parts
        ]
        return [int(size) for size in torch.stack(sizes).tolist()]

    def _cut(self, parts: Sequence[Tensor]) -> Iterator[GraphBatch]:
        if len(parts) == 1:
            yield self.batch(parts[0])
            return
        chosen = torch.cat(list(parts))
        whole = self.batch(chosen)
        ends = torch.tensor([0, *(len(part) for part in parts)]).cumsum(0)
        nodes, edges = (
            torch.cat([counts.new_zeros(1), counts[chosen].cumsum(0)])[ends].tolist()
            for counts in (self._nodes, self._edges)
        )
        borders = [*zip(ends.tolist(), nodes, edges, strict=True)]
        for (graph, node, edge), (last_graph, last_node, last_edge) in pairwise(borders):
            yield GraphBatch(
                whole.x[node:last_node],
                whole.edge_index[:, edge:last_edge] - node,
                whole.graph_of[node:last_node] - graph,
                last_graph - graph,
            )


def spans(first: Tensor, counts: Tensor) -> Tensor:
    """first_0, first_0 + 1, … (counts_0 of them), first_1, …: whole ranges without a loop."""
    before = counts.cumsum(0) - counts
    total = int(counts.sum())
    return torch.arange(total, device=counts.device) + (first - before).repeat_interleave(counts)
