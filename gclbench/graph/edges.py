"""The edges of a graph, and their weights: checked, both directions, in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from torch import Tensor

from gclbench.graph.arrays import tensor_of, whole
from gclbench.graph.errors import GraphError

LEAST, MOST = 1e-12, 1e12
"""Weights of edges lie between them: degrees and their powers are then far from float32's ends."""

# Entries that a check looks at in one go: bounds its temporary memory.
_ENTRIES = 1 << 22


def edges_of(
    edge_index: Any,
    edge_weight: Any,
    count: int,
    name: str,
    notes: list[str],
    undirected: bool = False,
    multiple: bool = False,
    directed: str = "undirected",
) -> tuple[Tensor, Tensor | None]:
    """`edge_index` (2×E) of both directions, sorted, and the weight of each entry (E, float32), the
    same in both directions; None where no weight is given, or all are 1.

    An entry of weight 0 is no edge. Where the entries of a pair have different weights, the largest
    counts, so that an edge stored in one direction keeps its weight.

    Args:
        count: N. notes: what is repaired is added. Others as for `make_graph`.

    Raises:
        GraphError: as `make_graph`.
    """
    pairs = _checked(edge_index, count, name)
    weights = None if edge_weight is None else _weights(edge_weight, pairs, name)
    if weights is not None and multiple:
        raise GraphError(f"graph '{name}': a multigraph has no edge weights")
    if weights is not None and not weights.all():
        dropped = int((weights == 0).sum())
        notes.append(f"{dropped} edge entr{'y' if dropped == 1 else 'ies'} of weight 0 dropped.")
        pairs, weights = pairs[:, weights > 0], weights[weights > 0]
    if weights is not None and (weights == 1).all():
        weights = None
    if weights is None and not multiple and _is_canonical(pairs, count):
        return tensor_of(pairs), None
    loops = pairs[0] == pairs[1]
    if loops.any():
        notes.append(f"{int(loops.sum())} self-loop(s) dropped.")
        pairs = pairs[:, ~loops]
        weights = None if weights is None else weights[~loops]
    entries, keys = pairs.shape[1], pairs[0] * count + pairs[1]
    of_key = None
    if not multiple:
        ordered = 0 if undirected else _distinct(keys).size
        unordered = pairs.min(axis=0) * count + pairs.max(axis=0)
        keys = _distinct(unordered)
        repeated = entries - (keys.size if undirected else ordered)
        if repeated:
            notes.append(f"{repeated} repeated edge entr{'y' if repeated == 1 else 'ies'} dropped.")
        differing = 0
        if weights is not None:
            of_key, differing = _largest(unordered, weights)
        single = 0 if undirected else 2 * keys.size - ordered
        if directed == "refuse" and not undirected and (single or differing):
            raise GraphError(_refused(single, differing, keys.size, name))
        if single:
            notes.append(f"{single} edge(s) stored in one direction only were made undirected.")
        if differing:
            notes.append(
                f"{differing} edge(s) had entries of different weights; the largest counts."
            )
    both = np.concatenate([keys, keys % count * count + keys // count])
    if of_key is None or (of_key == 1).all():
        both.sort()
        return tensor_of(np.stack([both // count, both % count])), None
    order = np.argsort(both, kind="stable")
    both = both[order]
    return (
        tensor_of(np.stack([both // count, both % count])),
        tensor_of(np.concatenate([of_key, of_key])[order]),
    )


def _checked(edge_index: Any, count: int, name: str) -> np.ndarray:
    pairs = whole(edge_index, "edge_index", name)
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        hint = "; transpose it" if pairs.ndim == 2 and pairs.shape[1] == 2 else ""
        raise GraphError(
            f"graph '{name}': edge_index must have shape (2, edges), not {pairs.shape}{hint}"
        )
    if pairs.size and (pairs.min() < 0 or pairs.max() >= count):
        outside = ((pairs < 0) | (pairs >= count)).any(axis=0)
        first = int(outside.argmax())
        raise GraphError(
            f"graph '{name}': {int(outside.sum())} of {pairs.shape[1]} edges name nodes that do not"
            f" exist, the first is edge {first}: ({pairs[0, first]}, {pairs[1, first]}); there are"
            f" {count} nodes, so ids are 0…{count - 1}"
        )
    return pairs


def _weights(edge_weight: Any, pairs: np.ndarray, name: str) -> np.ndarray:
    """(E,) float32, none below 0."""
    found = edge_weight.detach().cpu() if isinstance(edge_weight, Tensor) else edge_weight
    array = np.asarray(found)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    without = "; dataset.weights=ignore reads the edges without weights"
    if array.dtype.kind not in "fiub" or array.shape != (pairs.shape[1],):
        raise GraphError(
            f"graph '{name}': edge weights must be numbers, one for each of the {pairs.shape[1]}"
            f" entries of edge_index, not {array.dtype} of shape {array.shape}{without}"
        )
    array = array.astype(np.float64)
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        first = int(bad.argmax())
        raise GraphError(
            f"graph '{name}': {int(bad.sum())} edge weight(s) are negative or not finite, the first"
            f" is {array[first]:g}, of edge ({pairs[0, first]}, {pairs[1, first]}); a weight says"
            f" how strong an edge is, 0 that there is none{without}"
        )
    positive = array[array > 0]
    if positive.size and not LEAST <= positive.min() <= positive.max() <= MOST:
        raise GraphError(
            f"graph '{name}': edge weights go from {positive.min():g} to {positive.max():g}, and"
            f" must lie between {LEAST:g} and {MOST:g}; divide all of them by one number{without}"
        )
    return array.astype(np.float32)


def _largest(keys: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, int]:
    """The largest weight of each distinct key, in ascending order of keys, and how many keys have
    different ones."""
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    if not keys.size:
        return weights, 0
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    largest, least = (kind.reduceat(weights, first) for kind in (np.maximum, np.minimum))
    return largest, int((largest != least).sum())


def _refused(single: int, differing: int, edges: int, name: str) -> str:
    found = []
    if single:
        found.append(f"{single} of {edges} edges stand in one direction only")
    if differing:
        found.append(f"{differing} of {edges} have entries of different weights")
    return (
        f"graph '{name}' is directed: {' and '.join(found)}. dataset.direction=refuse asks for a"
        " graph that is not; every method here is for undirected graphs, and"
        " dataset.direction=undirected makes it one, with the larger weight where two differ"
    )


def _is_canonical(pairs: np.ndarray, count: int) -> bool:
    """Whether entries need no repair: sorted, distinct, without loops, in both directions."""
    for start in range(0, pairs.shape[1], _ENTRIES):
        rows, columns = pairs[:, start : start + _ENTRIES + 1]
        ascending = (rows[1:] > rows[:-1]) | (
            (rows[1:] == rows[:-1]) & (columns[1:] > columns[:-1])
        )
        if not ascending.all() or (rows == columns).any():
            return False
    pointers = np.concatenate([[0], np.cumsum(np.bincount(pairs[0], minlength=count))])
    ones = np.ones(pairs.shape[1], dtype=np.int8)
    forward = scipy.sparse.csr_matrix((ones, pairs[1], pointers), shape=(count, count))
    backward = forward.T.tocsr()
    return np.array_equal(forward.indptr, backward.indptr) and np.array_equal(
        forward.indices, backward.indices
    )


def _distinct(keys: np.ndarray) -> np.ndarray:
    """The distinct values in ascending order; a sort, which for these sizes beats a hash table."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys
