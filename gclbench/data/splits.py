"""Which items or edges are for training, validation and test.

Every split is made here, from a named random stream or from the dataset's public masks. Its hash
goes into the record.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gclbench.data.pairs import NonEdges, pair_number, pair_of
from gclbench.graph import Graph, Unsupported

HELD_OUT = ("val_edges", "test_edges")

CORA_CONTENT_ORDER = Path(__file__).parent / "cora_content_order.txt"
"""Line i: the Planetoid number of node i of the original `cora.content`, found by matching degrees,
labels and words (docs/sources.md)."""

CORA_LABELS = "d0018d7ffd314eb25a4904973f2c7eb1b7be135d668de42d453714724f8e9d03"
"""sha256 of Cora's labels (int64) in Planetoid's order."""


class LeakError(RuntimeError):
    """A training graph shows pairs that were held out."""


@dataclass(frozen=True, eq=False)
class Split:
    """One division of items or edges into parts.

    Attributes:
        protocol: the rule that made it (`random_10_10_80`, `public`, `link_85_5_10`, …).
        parts: int64 arrays by name: ids of items (n), or node pairs (2×n).
    """

    protocol: str
    parts: dict[str, np.ndarray] = field(repr=False)

    @functools.cached_property
    def hash(self) -> str:
        """sha256 (hex) over the protocol and every part's name, shape and numbers."""
        digest = hashlib.sha256(self.protocol.encode())
        for name in sorted(self.parts):
            part = np.ascontiguousarray(self.parts[name], dtype="<i8")
            digest.update(f";{name}{part.shape}".encode())
            digest.update(part.tobytes())
        return digest.hexdigest()


def random_10_10_80(y: Any, rng: np.random.Generator) -> Split:
    """A random tenth of the labelled items for training, a tenth for validation, the rest for test.

    Args:
        y: classes (n), −1 for unlabelled items, which are in no part.
        rng: the run's `split` stream.

    Returns:
        parts `train`, `val`, `test` of the m labelled items: round(m/10), round(m/10) and the rest;
        ids in ascending order.

    Raises:
        Unsupported: fewer than ten labelled items.
    """
    labelled = np.flatnonzero(np.asarray(y) >= 0)
    if labelled.size < 10:
        raise Unsupported(
            f"a 10/10/80 split needs at least 10 labels; this dataset has {labelled.size}"
        )
    tenth = round(labelled.size / 10)
    order = rng.permutation(labelled)
    parts = {"train": order[:tenth], "val": order[tenth : 2 * tenth], "test": order[2 * tenth :]}
    return Split("random_10_10_80", {name: np.sort(part) for name, part in parts.items()})


def public(graph: Graph, seed: int = 0) -> Split:
    """The split that was published with the dataset.

    Args:
        graph: a graph with train, validation and test masks.
        seed: the run's seed; where several splits were published (wiki_cs has 20) it picks number
            seed mod 20.

    Returns:
        parts `train`, `val`, `test`: ids of labelled items in ascending order.

    Raises:
        Unsupported: the graph has no public split.
    """
    masks = {
        part: graph[f"{part}_mask"] for part in ("train", "val", "test") if f"{part}_mask" in graph
    }
    if graph.y is None or len(masks) < 3:
        raise Unsupported(
            f"'{graph.name}' has no public split (train, validation and test masks); cora,"
            " citeseer, pubmed and wiki_cs have one. Use"
            " task=classification task.classification.protocol=random_10_10_80"
        )
    labelled = graph.y.numpy() >= 0
    parts: dict[str, np.ndarray] = {}
    for part, mask in masks.items():
        array = mask.numpy()
        column = array if array.ndim == 1 else array[:, seed % array.shape[1]]
        parts[part] = np.flatnonzero(column & labelled)
        if not parts[part].size:
            raise Unsupported(
                f"the public split of '{graph.name}' has no labels in its part '{part}'"
            )
    return Split("public", parts)


def pygcn(graph: Graph) -> Split:
    """The split of Cora that pygcn has, and dgl until 0.4: by position in `cora.content`.

    Returns:
        parts `train` (the first 140 nodes), `val` (nodes 200–499), `test` (nodes 500–1499): ids in
            ascending order.

    Raises:
        Unsupported: the graph is not Cora in Planetoid's order.
    """
    labels = b"" if graph.y is None else graph.y.numpy().astype("<i8").tobytes()
    if hashlib.sha256(labels).hexdigest() != CORA_LABELS:
        raise Unsupported(
            f"the split pygcn is of dataset=cora alone (it goes by the order of cora.content), and"
            f" this is '{graph.name}'. Use task.classification.protocol=random_10_10_80"
        )
    order = np.loadtxt(CORA_CONTENT_ORDER, dtype=np.int64)
    parts = {"train": order[:140], "val": order[200:500], "test": order[500:1500]}
    return Split("pygcn", {name: np.sort(part) for name, part in parts.items()})


def stratified_folds(y: Any, folds: int, rng: np.random.Generator) -> Split:
    """The labelled items in folds with like shares of every class.

    Each class is shuffled; the items, class by class, are then dealt out in turn. So fold sizes
    differ by one at most, and so do those of a class.

    Args:
        y: classes (n), −1 for unlabelled items, which are in no fold.
        rng: the run's `split` stream.

    Returns:
        parts `fold_0`, `fold_1`, …: the ids that each fold tests, ascending.

    Raises:
        Unsupported: fewer than two classes, or a class with fewer items than there are folds.
    """
    labels = np.asarray(y)
    classes, sizes = np.unique(labels[labels >= 0], return_counts=True)
    if len(classes) < 2:
        raise Unsupported(
            f"cross-validation compares classes, and the labels name {len(classes)}; it needs two"
            " or more"
        )
    small = int(sizes.argmin())
    if sizes[small] < folds:
        most = f"folds={sizes[small]}" if sizes[small] > 1 else "another dataset"
        raise Unsupported(
            f"class {classes[small]} has {sizes[small]} item(s), fewer than the {folds} folds of"
            f" the cross-validation; take {most}"
        )
    order = np.concatenate([rng.permutation(np.flatnonzero(labels == name)) for name in classes])
    parts = {f"fold_{fold}": np.sort(order[fold::folds]) for fold in range(folds)}
    return Split(f"stratified_{folds}_folds", parts)


def link_split(
    edge_index: Any, num_nodes: int, rng: np.random.Generator, val: float = 0.05, test: float = 0.10
) -> Split:
    """Edges held out for link prediction, with as many non-edges.

    Non-edges are drawn uniformly and without repetition from the pairs of different nodes that are
    no edges of the whole graph.

    Args:
        edge_index: both directions of every edge (2×E), without self-loops; parallel edges are one
            pair.
        num_nodes: N.
        rng: the run's `split` stream.
        val, test: fractions of the pairs; each count is rounded to the nearest whole number.

    Returns:
        parts `train_edges`, `val_edges`, `test_edges`, `val_non_edges`, `test_non_edges`: pairs
        (2×n) with the smaller id first, each unordered pair once.

    Raises:
        ValueError: fractions that are not positive or leave nothing to train on.
        Unsupported: too few edges to hold any out, or too few non-edges.
    """
    if not (val > 0 and test > 0 and val + test < 1):
        raise ValueError(
            "the held-out fractions must be positive and sum to less than 1,"
            f" not val={val:g}, test={test:g}"
        )
    others = NonEdges(edge_index, num_nodes)
    numbers, free = others.edges, others.count
    val_count, test_count = round(val * numbers.size), round(test * numbers.size)
    if min(val_count, test_count) < 1:
        raise Unsupported(
            f"link prediction holds out {val:.0%} and {test:.0%} of the edges; this graph has"
            f" {numbers.size}, too few for one in each part"
        )
    held_out = val_count + test_count
    if free < held_out:
        raise Unsupported(
            f"link prediction needs {held_out} pairs that are no edges; this graph is so dense that"
            f" it has {free}"
        )
    order = rng.permutation(numbers)
    absent = others.numbers(rng, held_out)
    chosen = {
        "val_edges": order[:val_count],
        "test_edges": order[val_count:held_out],
        "train_edges": order[held_out:],
        "val_non_edges": absent[:val_count],
        "test_non_edges": absent[val_count:],
    }
    percent = f"{100 - 100 * (val + test):g}_{100 * val:g}_{100 * test:g}"
    return Split(
        f"link_{percent}", {name: np.stack(pair_of(np.sort(part))) for name, part in chosen.items()}
    )


def check_no_leak(split: Split, train_graph: Graph) -> None:
    """Makes sure that the training graph shows no held-out edge, in either direction.

    Raises:
        LeakError: with the number of visible pairs and the first of them.
    """
    visible = train_graph.edge_index.numpy()
    shown = np.unique(pair_number(visible[0], visible[1])[visible[0] != visible[1]])
    for name in HELD_OUT:
        part = split.parts[name]
        leaked = np.isin(pair_number(part[0], part[1]), shown)
        if leaked.any():
            u, v = part[:, leaked.argmax()]
            raise LeakError(
                f"{int(leaked.sum())} of {part.shape[1]} pairs of '{name}' are edges of the"
                f" training graph '{train_graph.name}', the first is ({u}, {v}); held-out pairs"
                " must be removed before anything is computed"
            )
