"""A user's own graph, or collection of graphs, from an `.npz` file.

| key | shape | what |
|---|---|---|
| `x` | N×F | features, numbers; or instead of it the four arrays of a csr matrix: |
| `x_data`, `x_indices`, `x_indptr`, `x_shape` | | as scipy's csr_matrix has them |
| `edge_index` | 2×E | node pairs, whole numbers in 0…N−1, one or both directions of an edge |
| `edge_weight` | E | optional: the weight of each pair, a positive number |
| `adj_data`, `adj_indices`, `adj_indptr`, `adj_shape` | | instead of both, the adjacency matrix as
scipy's csr_matrix has it: its entries are the weights |
| `y` | N | optional: classes 0, 1, 2, …; −1 for a node without label |
| `train_mask`, `val_mask`, `test_mask` | N or N×splits | optional, all three: the public split |
| `graph_of` | N | of a collection (`custom_graphs`): the graph of each node, ascending from 0; `y`
then has a class for each graph, and there are no masks |

Sparse features stay sparse where a dense matrix would be out of proportion: the rule is that of
`gclbench.graph.features`. Nothing pickled is read.

Features that are not finite, ids out of range and wrong shapes or types are errors. Directed edges
are made undirected, repeated ones and self-loops dropped, labels with gaps renumbered, and isolated
nodes kept; each of these is recorded in the graph's `repairs`.
Weights that are all 1 are none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from gclbench.component.registry import DATASETS, nearest
from gclbench.component.settings import Machine, OneOf, SameIdAtDefault
from gclbench.data.capacity import check_capacity
from gclbench.data.damage import DAMAGED_ZIP
from gclbench.data.file_format import DIRECTIONS, WEIGHTS, WITHOUT, as_name, unusable
from gclbench.data.graph_counts import describe_graph
from gclbench.data.npz import csr_of
from gclbench.data.tu import TASKS_OF_A_COLLECTION
from gclbench.graph import MASKS, Graph, GraphError, make_graph
from gclbench.graph.features import few
from gclbench.machine.paths import expanded

SPARSE = ("x_data", "x_indices", "x_indptr", "x_shape")
ADJACENCY = ("adj_data", "adj_indices", "adj_indptr", "adj_shape")
KEYS = ("x", *SPARSE, "edge_index", "edge_weight", *ADJACENCY, "y", *MASKS, "graph_of")

OTHERS = {"batch": "graph_of", "graph_indicator": "graph_of", "labels": "y", "features": "x"}
"""Other libraries' names to ours."""


@DATASETS.register("custom")
@dataclass(frozen=True)
class Custom:
    """A user's own graph: dataset.path=FILE.npz with x, edge_index and, optionally, y and masks

    A run on it is identified by the graph's content: neither its path nor its name is part of a
    run's identity.

    Attributes:
        path: the `.npz`; its keys are documented in gclbench/data/custom.py.
        called: its name in progress lines, tables and records, typed `dataset.name=NAME`; not
            given, the file's name without `.npz`.
        weights: `use` the weights of edges that the file has, or `ignore` them.
        direction: what becomes of a directed edge: `undirected` makes it undirected, which is told,
            `refuse` is an error. Every method is for undirected graphs.

    Raises:
        ValueError: a name that is no single word, or is that of another dataset.
    """

    of_graphs: ClassVar[bool] = False

    path: Annotated[str, Machine()]
    called: Annotated[str | None, Machine()] = None
    weights: Annotated[str, OneOf(*WEIGHTS), SameIdAtDefault()] = "use"
    direction: Annotated[str, OneOf(*DIRECTIONS), Machine()] = "undirected"

    def __post_init__(self) -> None:
        if self.called is None:
            return
        if not re.fullmatch(r"[^\s/\\.][^\s/\\]{0,99}", self.called):
            raise ValueError(
                f"name={self.called!r} must be one word without slashes, at most 100 characters,"
                " such as dataset.name=texas"
            )
        if not self.called.isprintable():
            raise ValueError(
                f"name={self.called!r} has a character that cannot be shown; write"
                f" dataset.name={as_name(self.called)}"
            )
        if self.called in DATASETS.entries:
            raise ValueError(
                f"name={self.called} is the name of another dataset, and its papers' numbers would"
                f" stand beside yours; choose another one, such as dataset.name=my_{self.called}"
            )

    @property
    def recorded_as(self) -> str:
        """The graph's name: as given, or else the file's; `cora.npz` where the plain word is
        another dataset's."""
        if self.called is not None:
            return self.called
        stem = as_name(Path(self.path).stem)[:90] or "graph"
        return f"{stem}.npz" if stem in DATASETS.entries else stem

    @property
    def stamp(self) -> tuple[int, int] | None:
        """When the file was last written, and its size; None without one."""
        try:
            found = Path(expanded(self.path)).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def load(self) -> Graph:
        """The graph.

        Raises:
            GraphError: the file is not there, is no `.npz`, or holds no usable graph.
        """
        path = Path(expanded(self.path))
        return read_custom(path, self.recorded_as, self.weights, self.direction, self.of_graphs)


@DATASETS.register("custom_graphs")
@dataclass(frozen=True)
class CustomGraphs(Custom):
    """A user's own collection of graphs: dataset.path=FILE.npz with x, edge_index, graph_of and y

    As `Custom`, whose settings it has.
    """

    of_graphs: ClassVar[bool] = True
    task: ClassVar[tuple[str, ...]] = TASKS_OF_A_COLLECTION


def read_custom(
    path: Path,
    name: str,
    weights: str = "use",
    direction: str = "undirected",
    of_graphs: bool = False,
) -> Graph:
    """The graph of a user's `.npz`, under a name.

    Args:
        weights, direction: as of `Custom`. of_graphs: whether it is to be a collection.

    Raises:
        GraphError: as `Custom.load`.
    """
    if why := unusable(path):
        raise GraphError(why)
    members = _members(path)
    unknown = sorted(set(members) - set(KEYS))
    if unknown:
        guess = OTHERS.get(unknown[0]) or nearest(unknown[0], list(KEYS))
        hint = f" Did you mean '{guess}'?" if guess else ""
        raise GraphError(
            f"{path} has unknown key(s) {', '.join(unknown)}.{hint} Known keys: {', '.join(KEYS)}"
        )
    _check_kind(members, of_graphs, path)
    x = _features(members, path)
    pairs, weight = _edges(members, x.shape[0] if x.ndim else 0, path)
    notes = []
    if weights == "ignore" and weight is not None:
        notes, weight = [WITHOUT], None
    masks = {key: members[key] for key in MASKS if key in members}
    if masks and len(masks) < len(MASKS):
        raise GraphError(
            f"{path} has {', '.join(masks)} only; give all of {', '.join(MASKS)} or none"
        )
    graph = make_graph(
        x,
        pairs,
        members.get("y"),
        name,
        graph_of=members.get("graph_of"),
        masks=masks,
        repairs=notes,
        edge_weight=weight,
        directed=direction,
    )
    counts = describe_graph(graph)
    if masks:
        graph.repairs += (
            "The masks are a split that task.classification.protocol=public uses, and no other.",
        )
    if counts["isolated"]:
        graph.repairs += (f"{counts['isolated']} isolated node(s) kept.",)
    if counts["classes"] == 1:
        lone = " −1 says that there is no label; two classes are 0 and 1." * bool(
            counts["unlabelled"]
        )
        graph.repairs += (
            f"All labelled {graph.item_kind} are of one class: tasks that compare classes are"
            f" unsupported.{lone}",
        )
    return graph


def _check_kind(members: dict[str, np.ndarray], of_graphs: bool, path: Path) -> None:
    """One graph and a collection are two datasets, so that a command says which tasks there are."""
    if of_graphs and "graph_of" not in members:
        raise GraphError(
            f"{path} has no 'graph_of' (N: the graph of each node, ascending from 0), so it is one"
            f" graph and no collection; it has {', '.join(members)}. A run on one graph is typed"
            f" dataset=custom dataset.path={path}"
        )
    if not of_graphs and "graph_of" in members:
        raise GraphError(
            f"{path} has 'graph_of', so it is a collection of graphs and not one graph. A run on a"
            f" collection is typed dataset=custom_graphs dataset.path={path}"
        )
    masks = [key for key in MASKS if key in members]
    if of_graphs and masks:
        raise GraphError(
            f"{path} has {', '.join(masks)}; a collection has no public split, its tasks divide the"
            " graphs into folds. Leave them out"
        )


def _members(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as stream:  # NumPy leaves a damaged file open
            archive: Any = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise GraphError(
                    f"{path} is a single array;"
                    " save the graph with numpy.savez(path, x=…, edge_index=…)"
                )
            inside = archive.zip.namelist() if archive.zip is not None else []
            if inside and not any(name.endswith(".npy") for name in inside):
                raise GraphError(
                    f"{path} is a zip archive without NumPy arrays, as torch.save writes it; save"
                    " the graph with numpy.savez(path, x=…, edge_index=…), or give what it holds"
                    " to gclbench.fit (docs/python.md)"
                )
            return {key: archive[key] for key in archive.files}
    except (OSError, *DAMAGED_ZIP) as error:
        if isinstance(error, GraphError):
            raise
        advice = (
            "object arrays are not read; save numbers only"
            if "pickle" in str(error)
            else "save it with numpy.savez"
        )
        raise GraphError(f"{path} cannot be read as an .npz file ({error}); {advice}") from error


def _edges(members: dict[str, np.ndarray], nodes: int, path: Path) -> tuple[Any, Any]:
    """Pairs, and their weights or None, as the file has them."""
    parts = [key for key in ADJACENCY if key in members]
    if "edge_index" not in members and not parts:
        raise GraphError(
            f"{path} has no 'edge_index' (2×E node pairs); it has {', '.join(members)}"
        )
    if parts and ("edge_index" in members or "edge_weight" in members):
        raise GraphError(
            f"{path} must have either 'edge_index' (2×E node pairs) and, where edges have weights,"
            f" 'edge_weight', or {', '.join(ADJACENCY)}; it has {', '.join(members)}"
        )
    if not parts:
        return members["edge_index"], members.get("edge_weight")
    if len(parts) < len(ADJACENCY):
        raise GraphError(
            f"{path} has {', '.join(parts)}; a csr matrix needs {', '.join(ADJACENCY)}"
        )
    matrix = csr_of(members, "adj", path.stem)
    matrix.sum_duplicates()  # as SciPy reads an entry that is there twice, and as features are
    matrix = matrix.tocoo()
    if matrix.shape != (nodes, nodes):
        raise GraphError(
            f"{path} has features of {nodes} nodes and an adjacency matrix of shape {matrix.shape};"
            f" it must be {nodes}×{nodes}"
        )
    return np.stack([matrix.row, matrix.col]), matrix.data


def _features(members: dict[str, np.ndarray], path: Path) -> Any:
    sparse = [key for key in SPARSE if key in members]
    if ("x" in members) == bool(sparse):
        found = ", ".join(members) or "nothing"
        raise GraphError(
            f"{path} must have either 'x' (N×F) or {', '.join(SPARSE)}; it has {found}"
        )
    if not sparse:
        return members["x"]
    if len(sparse) < len(SPARSE):
        raise GraphError(f"{path} has {', '.join(sparse)}; a csr matrix needs {', '.join(SPARSE)}")
    matrix = csr_of(members, "x", path.stem)
    if not few(matrix.shape, matrix.nnz):
        check_capacity(matrix.shape[0], matrix.shape[1], path.stem)
    return matrix
