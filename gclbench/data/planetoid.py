"""Cora, CiteSeer and PubMed in Planetoid's pickled files (Yang, Cohen and Salakhutdinov, ICML
2016).

The pickles go through an unpickler that knows arrays, sparse matrices and plain containers and
nothing else, so that a doctored file cannot run code.
"""

from __future__ import annotations

import collections
import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from gclbench.component.registry import DATASETS
from gclbench.data import catalog, mirror
from gclbench.graph import Graph, GraphError, make_graph

# Validation nodes of the public split: the 500 after the training nodes.
_VALIDATION = 500


def _latin1_bytes(text: str, encoding: str) -> bytes:
    """Python 3 writes bytes this way in a protocol that Python 2 can read; no other codec has a
    place here."""
    if not isinstance(text, str) or encoding != "latin1":
        raise pickle.UnpicklingError(f"it asks for the codec {encoding!r}")
    return text.encode("latin1")


def _allowed() -> dict[tuple[str, str], Any]:
    reconstruct: Callable[..., Any] = np.zeros(1).__reduce__()[0]  # type: ignore[assignment]
    names: dict[tuple[str, str], Any] = {
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("numpy.core.multiarray", "_reconstruct"): reconstruct,
        ("numpy._core.multiarray", "_reconstruct"): reconstruct,
        ("scipy.sparse.csr", "csr_matrix"): scipy.sparse.csr_matrix,
        ("scipy.sparse._csr", "csr_matrix"): scipy.sparse.csr_matrix,
        ("collections", "defaultdict"): collections.defaultdict,
        ("_codecs", "encode"): _latin1_bytes,
    }
    for plain in (list, dict, tuple, set, int, float, bool, str, bytes):
        names["builtins", plain.__name__] = names["__builtin__", plain.__name__] = plain
    return names


class _Unpickler(pickle.Unpickler):
    allowed = _allowed()

    def find_class(self, module: str, name: str) -> Any:
        found = self.allowed.get((module, name))
        if found is None:
            raise pickle.UnpicklingError(
                f"it asks for {module}.{name}, which has no place in a Planetoid file"
            )
        return found


def unpickle(data: bytes, what: str) -> Any:
    """The content of a pickle of arrays, csr matrices and plain containers (Python 2 or 3).

    Args:
        what: the file, for messages.

    Raises:
        GraphError: damaged bytes, or a pickle that asks for anything else.
    """
    try:
        return _Unpickler(io.BytesIO(data), encoding="latin1").load()
    except Exception as error:
        # A damaged pickle raises whatever the opcode at hand happens to raise.
        raise GraphError(f"{what} cannot be read: {error}") from error


def read_planetoid(files: dict[str, Path], name: str, repairs: tuple[str, ...] = ()) -> Graph:
    """A graph from the eight files of one Planetoid dataset.

    Args:
        files: by last part of the name: `x`, `y`, `tx`, `ty`, `allx`, `ally`, `graph`,
            `test.index`.
        name: the dataset's name.
        repairs: sentences to record first.

    Raises:
        GraphError: damaged files or files that do not fit together.
    """
    y, ty, ally = (_array(files, part) for part in ("y", "ty", "ally"))
    tx, allx = (_matrix(files, part) for part in ("tx", "allx"))
    neighbours = unpickle(files["graph"].read_bytes(), str(files["graph"]))
    test = np.loadtxt(files["test.index"], dtype=np.int64, ndmin=1)
    if (
        allx.shape[0] != ally.shape[0]
        or tx.shape[0] != ty.shape[0]
        or tx.shape[0] != test.size
        or allx.shape[1] != tx.shape[1]
    ):
        raise GraphError(
            f"the Planetoid files of '{name}' do not fit together: allx {allx.shape}, ally"
            f" {ally.shape}, tx {tx.shape}, ty {ty.shape}, test.index {test.shape}"
        )
    first, count = allx.shape[0], int(test.max()) + 1
    if test.min() < first or np.unique(test).size != test.size or y.shape[0] + _VALIDATION > first:
        raise GraphError(
            f"test.index of '{name}' must name each test node once, after the {first} nodes of allx"
        )
    notes = list(repairs)
    missing = count - first - test.size
    if missing:
        notes.append(
            f"{missing} node(s) of the test range are in no file: zero features and class 0, as"
            " torch_geometric has them."
        )
    # Row i of tx is node test[i], so a permutation puts every row where it belongs.
    place = scipy.sparse.csr_matrix(
        (np.ones(test.size, dtype=np.float32), (test - first, np.arange(test.size))),
        shape=(count - first, test.size),
    )
    x = scipy.sparse.vstack([allx, place @ tx], format="csr")
    labels = np.zeros(count, dtype=np.int64)
    labels[:first] = ally.argmax(axis=1)
    labels[test] = ty.argmax(axis=1)
    masks = {key: np.zeros(count, dtype=bool) for key in ("train_mask", "val_mask", "test_mask")}
    masks["train_mask"][: y.shape[0]] = True
    masks["val_mask"][y.shape[0] : y.shape[0] + _VALIDATION] = True
    masks["test_mask"][test] = True
    return make_graph(
        x, _pairs(neighbours, files["graph"]), labels, name, masks=masks, repairs=notes
    )


def _matrix(files: dict[str, Path], part: str) -> scipy.sparse.csr_matrix:
    value = unpickle(files[part].read_bytes(), str(files[part]))
    if isinstance(value, np.ndarray):
        return scipy.sparse.csr_matrix(value)
    # Matrices pickled by an old scipy lack attributes of today's: made anew from their three
    # arrays.
    state = getattr(value, "__dict__", {})
    shape = state.get("_shape", state.get("shape"))
    if (
        not isinstance(value, scipy.sparse.csr_matrix)
        or shape is None
        or not {"data", "indices", "indptr"} <= set(state)
    ):
        raise GraphError(f"{files[part]} should hold a csr matrix, not {type(value).__name__}")
    try:
        return scipy.sparse.csr_matrix(
            (state["data"], state["indices"], state["indptr"]), shape=tuple(shape)
        )
    except (ValueError, TypeError) as error:
        raise GraphError(f"{files[part]} holds a damaged csr matrix: {error}") from error


def _array(files: dict[str, Path], part: str) -> np.ndarray:
    value = unpickle(files[part].read_bytes(), str(files[part]))
    if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "iufb":
        raise GraphError(
            f"{files[part]} should hold one-hot labels (nodes × classes),"
            f" not {type(value).__name__}"
        )
    return value


def _pairs(neighbours: Any, source: Path) -> np.ndarray:
    if not isinstance(neighbours, dict):
        raise GraphError(
            f"{source} should hold a dictionary of neighbour lists, not {type(neighbours).__name__}"
        )
    heads = np.repeat(
        np.array(list(neighbours), dtype=np.int64), [len(tails) for tails in neighbours.values()]
    )
    tails = np.array([tail for group in neighbours.values() for tail in group], dtype=np.int64)
    return np.stack([heads, tails])


def _load(name: str) -> Graph:
    located = mirror.resolve(catalog.info(name))
    files = {item.file.path.rpartition("/")[2].split(".", 2)[2]: item.path for item in located}
    return read_planetoid(files, name, tuple(item.remark for item in located if item.remark))


@DATASETS.register("cora")
@dataclass(frozen=True)
class Cora:
    """Cora citation graph (Planetoid), 2708 papers in 7 topics, with a public split"""

    def load(self) -> Graph:
        """The graph. Raises DataUnavailable without the files."""
        return _load("cora")


@DATASETS.register("citeseer")
@dataclass(frozen=True)
class CiteSeer:
    """CiteSeer citation graph (Planetoid), 3327 papers in 6 topics, with a public split"""

    def load(self) -> Graph:
        """The graph. Raises DataUnavailable without the files."""
        return _load("citeseer")


@DATASETS.register("pubmed")
@dataclass(frozen=True)
class PubMed:
    """PubMed citation graph (Planetoid), 19717 papers of 3 types, with a public split"""

    def load(self) -> Graph:
        """The graph. Raises DataUnavailable without the files."""
        return _load("pubmed")
