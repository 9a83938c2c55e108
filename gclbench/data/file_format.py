"""What a user's own `.npz` holds, how it may be read, and which files are
none; without NumPy and torch."""

from __future__ import annotations

import contextlib
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

from gclbench.machine.paths import no_file


def as_name(text: str) -> str:
    """Text as the name of a graph: one word that can be shown, and can name a file."""
    word = re.sub(r"[\s/\\]+", "_", text)
    return "".join(each if each.isprintable() else "_" for each in word).lstrip(".")


ARRAY = b"\x93NUMPY"
"""The first bytes of a single array, an `.npy`."""

WEIGHTS = ("use", "ignore")
DIRECTIONS = ("undirected", "refuse")
"""What `dataset.weights` and `dataset.direction` may be."""

READ_BY = ("dataset.weights", "dataset.direction")
"""How a graph in memory may be asked to be read."""

WITHOUT = "The edges' weights are ignored (dataset.weights=ignore)."

FORMAT = """\
key                                  shape         what
x                                    N x F         features, numbers; or instead of it the four
                                                   arrays of a csr matrix:
x_data, x_indices, x_indptr, x_shape               as scipy's csr_matrix has them
edge_index                           2 x E         node pairs, whole numbers in 0...N-1, one or both
                                                   directions of an edge
edge_weight                          E             optional: the weight of each pair, a positive
                                                   number (dataset.weights=ignore leaves it out)
adj_data, adj_indices, adj_indptr,                 instead of both: the adjacency matrix as scipy's
adj_shape                                          csr_matrix has it; its entries are the weights
y                                    N             optional: classes 0, 1, 2, ...; -1 for a node
                                                   without label
train_mask, val_mask, test_mask      N or N x S    optional, all three: the public
                                                   split, or S of them
graph_of                             N             of a collection (dataset=custom_graphs): the
                                                   graph of each node, 0, 1, 2, ... in ascending
                                                   order; y is then of the graphs, without masks
"""

EXAMPLE = """\
numpy.savez("graph.npz", x=x, edge_index=edge_index, y=y)
gclbench dataset=custom dataset.path=graph.npz dataset.name=mine
numpy.savez("graphs.npz", x=x, edge_index=edge_index, y=y, graph_of=graph_of)
gclbench method=graphcl dataset=custom_graphs dataset.path=graphs.npz
"""

READ_FROM_FILES = ("custom", "custom_graphs")
"""The datasets of such files."""


def unusable(path: Path) -> str:
    """Why a file holds no graph, as far as its first bytes say; empty where they do not."""
    if not path.is_file():
        return f"{no_file(path)}; give one with dataset.path=FILE.npz"
    with contextlib.suppress(OSError), path.open("rb") as file:
        if not file.read(len(ARRAY)).startswith(ARRAY) and not zipfile.is_zipfile(path):
            return (
                f"{path} is no .npz file; save the graph with numpy.savez(path, x=…, edge_index=…)"
            )
    return ""


def misplaced(keys: Iterable[str]) -> str:
    """Why keys of settings do not go with a graph in memory; empty where they do."""
    for key in keys:
        if key.partition(".")[0] == "dataset" and key not in READ_BY:
            return (
                f"gclbench.fit takes its graph as graph=…, so leave {key} out"
                f" ({' and '.join(READ_BY)} say how to read it); gclbench.embed takes a dataset by"
                " its name"
            )
    return ""
