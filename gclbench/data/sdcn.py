"""ACM and DBLP as SDCN distributes them: text files of features, edges and labels (Bo et al., WWW
2020)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gclbench.component.registry import DATASETS
from gclbench.data import catalog, mirror
from gclbench.graph import Graph, GraphError, make_graph


def read_sdcn(
    features: Path, graph: Path, labels: Path, name: str, repairs: tuple[str, ...] = ()
) -> Graph:
    """A graph from SDCN's three text files.

    Args:
        features: a node a line, numbers separated by blanks.
        graph: an `i j` pair a line, node ids from 0.
        labels: a class a line.

    Raises:
        GraphError: a file that is no table of numbers, or files that do not fit together.
    """
    x = _table(features, np.float32)
    pairs = _table(graph, np.int64)
    y = _table(labels, np.int64)
    if pairs.shape[1] != 2 or y.shape[1] != 1:
        raise GraphError(
            f"'{name}': {graph} must have two columns and {labels} one; they have {pairs.shape[1]}"
            f" and {y.shape[1]}"
        )
    return make_graph(x, pairs.T, y[:, 0], name, repairs=repairs)


def _table(path: Path, dtype: type) -> np.ndarray:
    import pandas as pd

    try:
        return pd.read_csv(path, sep=r"\s+", header=None, dtype=dtype, engine="c").to_numpy()
    except ValueError as error:
        raise GraphError(f"{path} is not a table of numbers: {error}") from error


def _load(name: str) -> Graph:
    located = mirror.resolve(catalog.info(name))
    files = {item.file.path.rpartition("/")[2]: item.path for item in located}
    return read_sdcn(
        files[f"{name}.txt"], files[f"{name}_graph.txt"], files[f"{name}_label.txt"], name
    )


@DATASETS.register("acm")
@dataclass(frozen=True)
class ACM:
    """ACM paper graph of SDCN, 3025 papers in 3 fields"""

    def load(self) -> Graph:
        """The graph. Raises DataUnavailable without the files."""
        return _load("acm")


@DATASETS.register("dblp")
@dataclass(frozen=True)
class DBLP:
    """DBLP author graph of SDCN, 4057 authors in 4 areas (not the citation graph: dblp_citation)"""

    def load(self) -> Graph:
        """The graph. Raises DataUnavailable without the files."""
        return _load("dblp")
