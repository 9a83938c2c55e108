"""Triplets for a similarity of graphs: a piece of a graph, and two edited copies of it.

A copy differs by k substituted edges: k edges are taken away, and k pairs without one are joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from gclbench.graph import Graph, Unsupported, make_graph

NEAR, FAR = 1, 2
"""Substituted edges of the nearer and of the farther copy."""

COPIES = 3
"""Graphs of a triplet: the piece, the nearer copy, the farther copy."""

SMALLEST = FAR + 2
"""Nodes of the smallest piece."""

ATTEMPTS = 20
"""Pieces drawn for a triplet before its graph is given up: one may have too few edges."""


@dataclass(frozen=True, eq=False)
class Triplets:
    """T triplets of n nodes each. Nodes are those of the collection.

    Attributes:
        graph: the graph of each (T).
        nodes: of its piece (T×n), −1 where the piece has fewer.
        near, far: edits (T×2×k×2): pairs taken away, then pairs joined.
    """

    graph: np.ndarray
    nodes: np.ndarray
    near: np.ndarray
    far: np.ndarray

    def parts(self, name: str) -> dict[str, np.ndarray]:
        """As parts of a split: `n10_graph`, `n10_nodes`, `n10_near`, `n10_far`."""
        return {f"{name}_{part}": getattr(self, part) for part in ("graph", "nodes", "near", "far")}

    @classmethod
    def of_parts(cls, parts: dict[str, np.ndarray], name: str) -> Triplets:
        """The triplets of `parts`."""
        return cls(*(parts[f"{name}_{part}"] for part in ("graph", "nodes", "near", "far")))


@dataclass(frozen=True)
class Asker:
    """Who asks for triplets, for messages.

    Attributes:
        name: of a task or method. option: its setting with the sizes of pieces. sizes: that
            setting's value.
    """

    name: str
    option: str
    sizes: tuple[int, ...] = ()

    def no_piece(self, graph: Graph, size: int, largest: int, among: np.ndarray | None) -> str:
        """That no graph has a piece of `size` nodes, and what to ask for instead.

        Args:
            largest: nodes of the largest piece. among: as of `draw_triplets`.
        """
        left, more = "", "take a collection of larger graphs"
        if among is not None:
            left = " that the task's triplets leave it"
            more = "ask the task for fewer triplets, which leave it more graphs"
        advice = f"Pieces have at least {SMALLEST} nodes, so {more}"
        if largest >= SMALLEST:
            fitting = [one for one in self.sizes if one <= largest] or [largest]
            sizes = ",".join(map(str, fitting))
            advice = f"Give sizes up to that with {self.option}=[{sizes}]"
            advice += f", or {more}" if left else ""
        return (
            f"{self.name} takes connected pieces of {size} nodes, and no graph of '{graph.name}'"
            f"{left} has one; the largest has {largest}. {advice}"
        )


OF_SIMILARITY = Asker("similarity", "task.similarity.nodes")


def draw_triplets(
    graph: Graph,
    size: int,
    count: int,
    connected: bool,
    rng: np.random.Generator,
    *,
    among: np.ndarray | None = None,
    asker: Asker = OF_SIMILARITY,
) -> Triplets:
    """Draws triplets from a collection.

    Graphs are drawn without repetition until all that are large enough have been, then anew.

    Args:
        size: nodes n of a piece. count: triplets T.
        connected: a piece is a random connected part of n nodes, grown from a random node by
            random neighbours, of a graph that has one. Else it is the first n nodes of any graph,
            or all of a smaller one.
        among: numbers of the graphs that may be drawn; None: all.
        asker: who draws, for messages.

    Raises:
        Unsupported: no graph has such a part, or none that can be edited.
    """
    links = _adjacency(graph)
    starts = np.searchsorted(graph.graph_of.numpy(), np.arange(graph.items + 1))
    parts = connected_components(links, directed=False)[1]
    large = np.bincount(parts)[parts] >= size
    usable = np.flatnonzero(
        np.add.reduceat(large, starts[:-1]) > 0 if connected else np.diff(starts) > 0
    )
    if among is not None:
        usable = np.intersect1d(usable, among)
    if not usable.size:
        reached = parts if among is None else parts[np.isin(graph.graph_of.numpy(), among)]
        raise Unsupported(asker.no_piece(graph, size, int(np.bincount(reached).max()), among))
    found: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]] = []
    fruitless: set[int] = set()
    for number in _in_turn(usable, rng):
        if len(found) == count or len(fruitless) == len(usable):
            break
        first, last = int(starts[number]), int(starts[number + 1])
        for _ in range(ATTEMPTS if connected else 1):
            if connected:
                roots = first + np.flatnonzero(large[first:last])
                nodes = _grown(links, int(rng.choice(roots)), size, rng)
            else:
                nodes = np.arange(first, min(first + size, last))
            edits = [_edit(links, nodes, k, rng) for k in (NEAR, FAR)]
            if edits[0] is not None and edits[1] is not None:
                found.append((int(number), nodes, edits[0], edits[1]))
                break
        else:
            fruitless.add(int(number))
    if len(found) < count:
        raise Unsupported(
            f"{asker.name} substitutes {FAR} edges in pieces of {size} nodes, and the graphs of"
            f" '{graph.name}' have too few edges, or too few pairs without one, for that; try"
            f" larger pieces with {asker.option}, or a collection of other graphs"
        )
    pieces = np.full((count, size), -1, dtype=np.int64)
    for row, (_, nodes, _, _) in zip(pieces, found, strict=True):
        row[: len(nodes)] = nodes
    return Triplets(
        np.array([number for number, _, _, _ in found], dtype=np.int64),
        pieces,
        np.stack([near for _, _, near, _ in found]),
        np.stack([far for _, _, _, far in found]),
    )


def joined(parts: Sequence[Triplets]) -> Triplets:
    """The triplets of all parts, one part after the other; their pieces may differ in size."""
    size = max(part.nodes.shape[1] for part in parts)
    padded = [
        np.pad(part.nodes, ((0, 0), (0, size - part.nodes.shape[1])), constant_values=-1)
        for part in parts
    ]
    graph, near, far = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("graph", "near", "far")
    )
    return Triplets(graph, np.concatenate(padded), near, far)


def collection(graph: Graph, triplets: Triplets) -> Graph:
    """The 3T graphs of the triplets: piece, nearer copy, farther copy, and so on.

    Nodes keep the features that they have in the whole graph.
    """
    links = _adjacency(graph)
    rows, edges, graph_of, offset = [], [], [], 0
    everyone = zip(triplets.nodes, triplets.near, triplets.far, strict=True)
    for number, (padded, near, far) in enumerate(everyone):
        nodes = padded[padded >= 0]
        place = {int(node): index for index, node in enumerate(nodes)}
        own = {tuple(sorted(pair)) for pair in _edges(links, nodes).tolist()}
        for copy, edit in enumerate((None, near, far)):
            pairs = set(own)
            if edit is not None:
                pairs -= {tuple(sorted(pair)) for pair in edit[0].tolist()}
                pairs |= {tuple(sorted(pair)) for pair in edit[1].tolist()}
            edges += [(place[u] + offset, place[v] + offset) for u, v in sorted(pairs)]
            rows.append(nodes)
            graph_of.append(np.full(len(nodes), COPIES * number + copy))
            offset += len(nodes)
    return make_graph(
        graph.x[np.concatenate(rows)],
        np.array(edges, dtype=np.int64).T,
        None,
        f"{graph.name} (edited)",
        graph_of=np.concatenate(graph_of),
        undirected=True,
    )


def entries_of_weight_one(graph: Graph, triplets: Triplets) -> np.ndarray:
    """How many entries of each adjacency matrix are 1 (T×3), where copies are edited as in the
    official code: after self-loops were added and the matrix was normalised, D^(−½)(A+I)D^(−½).

    A joined pair gets two entries of 1; other entries are below 1, save those of isolated nodes.
    """
    links = _adjacency(graph)
    counts = np.zeros((len(triplets.graph), 3))
    everyone = zip(counts, triplets.nodes, triplets.near, triplets.far, strict=True)
    for row, padded, *edits in everyone:
        nodes = padded[padded >= 0]
        looped = links[nodes][:, nodes].toarray() + np.eye(len(nodes))
        scale = 1 / np.sqrt(looped.sum(axis=1))
        piece = looped * scale[:, None] * scale
        copies = [piece, *(_substituted(piece, nodes, edit) for edit in edits)]
        row[:] = [np.isclose(matrix, 1).sum() for matrix in copies]
    return counts


def _substituted(matrix: np.ndarray, nodes: np.ndarray, edit: np.ndarray) -> np.ndarray:
    """A copy of a symmetric matrix (n×n, of these nodes) with 0 at the pairs taken away and 1 at
    the pairs joined."""
    found = matrix.copy()
    for value, pairs in enumerate(edit):
        u, v = np.searchsorted(nodes, pairs).T
        found[u, v] = found[v, u] = value
    return found


def _adjacency(graph: Graph) -> scipy.sparse.csr_matrix:
    rows, columns = graph.edge_index.numpy()
    ones = np.ones(len(rows), dtype=np.int8)
    return scipy.sparse.csr_matrix((ones, (rows, columns)), shape=(graph.num_nodes,) * 2)


def _in_turn(numbers: np.ndarray, rng: np.random.Generator) -> Iterator[int]:
    while True:
        yield from rng.permutation(numbers)


def _grown(
    links: scipy.sparse.csr_matrix, root: int, size: int, rng: np.random.Generator
) -> np.ndarray:
    """A connected set of `size` nodes around a root, ascending."""
    chosen, border = {root}, set(_neighbours(links, root))
    while len(chosen) < size:
        new = int(rng.choice(sorted(border)))
        chosen.add(new)
        border = (border | set(_neighbours(links, new))) - chosen
    return np.array(sorted(chosen), dtype=np.int64)


def _neighbours(links: scipy.sparse.csr_matrix, node: int) -> list[int]:
    found: list[int] = links.indices[links.indptr[node] : links.indptr[node + 1]].tolist()
    return found


def _edges(links: scipy.sparse.csr_matrix, nodes: np.ndarray) -> np.ndarray:
    """The edges among nodes (m×2), the smaller node first."""
    inside = scipy.sparse.triu(links[nodes][:, nodes], k=1).tocoo()
    return np.stack([nodes[inside.row], nodes[inside.col]], axis=1).astype(np.int64)


def _edit(
    links: scipy.sparse.csr_matrix, nodes: np.ndarray, k: int, rng: np.random.Generator
) -> np.ndarray | None:
    """Pairs to take away and pairs to join (2×k×2); None where there are not so many of each."""
    block = links[nodes][:, nodes].toarray()
    above = np.triu(np.ones_like(block, dtype=bool), k=1)
    joined, apart = (np.argwhere(above & kind) for kind in (block > 0, block == 0))
    if min(len(joined), len(apart)) < k:
        return None
    chosen = [pairs[rng.choice(len(pairs), k, replace=False)] for pairs in (joined, apart)]
    return nodes[np.stack(chosen)].astype(np.int64)
