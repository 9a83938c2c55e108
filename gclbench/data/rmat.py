"""R-MAT graphs with Graph500 parameters and random features, for tests of scale.

Sources: Chakrabarti, Zhan and Faloutsos, R-MAT: A Recursive Model for Graph Mining, SDM 2004; the
Graph500 benchmark specification (a, b, c, d = 0.57, 0.19, 0.19, 0.05; edge factor 16; shuffled
ids).

Chance is counted, not consumed: edges and feature rows come in blocks of fixed size, each from a
generator keyed by (seed, kind, number of the block), so they do not depend on how many are made at
a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy.sparse
import torch

from gclbench.component.registry import DATASETS
from gclbench.component.settings import Count, Machine, Range
from gclbench.data.capacity import check_capacity
from gclbench.graph import Graph, GraphError, make_graph
from gclbench.machine import memory_map
from gclbench.machine.environment import cache_folder

A, B, C = 0.57, 0.19, 0.19
_EDGE_BLOCK = 1 << 16
_ROW_BLOCK = 1 << 10
_BUFFER_BYTES = 1 << 26
_EDGES, _ROWS, _SHUFFLE = range(3)


@DATASETS.register("rmat")
@dataclass(frozen=True)
class RMAT:
    """R-MAT graph (Graph500 parameters), normal features, no labels, for tests of scale

    Edges are drawn until edge_factor · nodes of them lie among the first `nodes` ids. Self-loops
    and repetitions are then dropped and counted in the graph's repairs, so the graph has fewer
    edges than that.

    Attributes:
        scale: the recursion's depth: 2^scale ids.
        edge_factor: edges drawn for each node, before repetitions are dropped.
        features: F.
        nodes: N, from 2^(scale−1)+1 to 2^scale; None is 2^scale.
        seed: of the graph; the seed of a run does not change the data.
        chunk: edges and feature rows made at a time; bounds temporary memory, never changes the
            graph. Features that are large for the free memory are a memory map in the cache folder,
            gone when the graph is.
    """

    scale: Annotated[int, Range(least=1, most=30)] = 12
    edge_factor: Count = 16
    features: Count = 64
    nodes: Count | None = None
    seed: Annotated[int, Range(least=0)] = 0
    chunk: Annotated[Count, Machine()] = 1 << 18

    def __post_init__(self) -> None:
        if self.nodes is not None and not 2 ** (self.scale - 1) < self.nodes <= 2**self.scale:
            raise ValueError(
                f"nodes={self.nodes} does not go with scale={self.scale}: "
                f"it must be from {2 ** (self.scale - 1) + 1} to {2**self.scale}"
            )

    def load(self) -> Graph:
        """The graph; the same for the same scale, edge_factor, features, nodes and seed.

        Raises:
            GraphError: more edges than fit into memory, or features that fit neither there nor on
                the disk.
        """
        count = self.nodes or 2**self.scale
        check_capacity(count, 0, "rmat", entries=2 * self.edge_factor * count)
        edge_index, repairs = self._edge_index(count)
        x = self._x(count)
        step = min(self.chunk, max(_ROW_BLOCK, _BUFFER_BYTES // (4 * self.features)))
        for start in range(0, count, step):
            x[start : start + step] = torch.from_numpy(self.rows(start, min(start + step, count)))
        return make_graph(x, edge_index, None, "rmat", repairs=repairs)

    def _x(self, count: int) -> torch.Tensor:
        """Room for the features: in memory, or a nameless memory map where they are too large."""
        if not memory_map.is_large(count, self.features):
            return torch.empty(count, self.features)
        try:
            return memory_map.create_unnamed(
                count, self.features, cache_folder() / "generated", "the features of dataset=rmat"
            )
        except OSError as error:  # Too small, or not to be written.
            if not memory_map.fits(count, self.features):
                where = f"{error.filename}: " if error.filename else ""
                raise GraphError(f"graph 'rmat': {where}{error.strerror or error}") from error
            return torch.empty(count, self.features)

    def _edge_index(self, count: int) -> tuple[np.ndarray, list[str]]:
        """Both directions of every edge (2×E, sorted), and what was dropped; beside it one number
        of 8 bytes is held for each draw."""
        ids = _generator(self.seed, _SHUFFLE, 0).permutation(2**self.scale)
        wanted = self.edge_factor * count
        pairs = np.empty(wanted, dtype=np.int64)
        taken = kept = drawn = 0
        while taken < wanted:
            chunk = ids[self.edges(drawn, drawn + self.chunk)]
            drawn += self.chunk
            inside = chunk[:, (chunk < count).all(axis=0)][:, : wanted - taken]
            taken += inside.shape[1]
            low, high = inside.min(axis=0), inside.max(axis=0)
            proper = low != high
            found = low[proper] * count + high[proper]
            pairs[kept : kept + len(found)] = found
            kept += len(found)
        pairs = pairs[:kept]
        pairs.sort()
        pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])] if kept else pairs
        loops, repeated = wanted - kept, kept - len(pairs)
        repairs = [f"{loops} self-loop(s) dropped."] * bool(loops)
        repairs += [
            f"{repeated} repeated edge entr{'y' if repeated == 1 else 'ies'} dropped."
        ] * bool(repeated)
        return _both_directions(pairs, count), repairs

    def edges(self, start: int, stop: int) -> np.ndarray:
        """Draws number start … stop−1 (2×n), ids not yet shuffled."""
        made = np.empty((2, stop - start), dtype=np.int64)
        for block, inner, outer in _blocks(start, stop, _EDGE_BLOCK):
            rng = _generator(self.seed, _EDGES, block)
            tails = np.zeros(_EDGE_BLOCK, dtype=np.int64)
            heads = np.zeros(_EDGE_BLOCK, dtype=np.int64)
            for _ in range(self.scale):
                quadrant = rng.random(_EDGE_BLOCK)
                lower = quadrant >= A + B
                right = ((quadrant >= A) & ~lower) | (quadrant >= A + B + C)
                tails = 2 * tails + lower
                heads = 2 * heads + right
            made[:, outer] = tails[inner], heads[inner]
        return made

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Feature rows start … stop−1 (n×F), standard normal, float32."""
        made = np.empty((stop - start, self.features), dtype=np.float32)
        for block, inner, outer in _blocks(start, stop, _ROW_BLOCK):
            made[outer] = _generator(self.seed, _ROWS, block).standard_normal(
                (_ROW_BLOCK, self.features), dtype=np.float32
            )[inner]
        return made


def _generator(seed: int, kind: int, block: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, kind, block])))


def _blocks(start: int, stop: int, size: int) -> Iterator[tuple[int, slice, slice]]:
    """The blocks that start … stop−1 touches: number, part of the block, part of the range."""
    for block in range(start // size, (stop - 1) // size + 1):
        first, last = max(start, block * size), min(stop, (block + 1) * size)
        yield (
            block,
            slice(first - block * size, last - block * size),
            slice(first - start, last - start),
        )


def _both_directions(pairs: np.ndarray, count: int) -> np.ndarray:
    """2×2E, sorted, from sorted numbers low·count + high of E edges: a counting sort, so no pair is
    compared again."""
    low, high = (pairs // count).astype(np.int32), (pairs % count).astype(np.int32)
    upward = scipy.sparse.csr_matrix(
        (np.ones(len(pairs), dtype=np.int8), high, np.searchsorted(low, np.arange(count + 1))),
        shape=(count, count),
    )
    downward = upward.T.tocsr()
    edges = np.empty((2, 2 * len(pairs)), dtype=np.int64)
    # Row by row the lower neighbours come first, then the higher ones.
    place = np.arange(len(pairs)) + downward.indptr[low + 1]
    edges[0, place], edges[1, place] = low, high
    rows = np.repeat(np.arange(count), np.diff(downward.indptr))
    place = np.arange(len(pairs)) + upward.indptr[rows]
    edges[0, place], edges[1, place] = rows, downward.indices
    return edges
