from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gclbench.component.registry import DATASETS
from gclbench.data.sdcn import read_sdcn
from gclbench.graph import GraphError


def write(folder: Path, features: str, graph: str, labels: str) -> tuple[Path, Path, Path]:
    files = (folder / "toy.txt", folder / "toy_graph.txt", folder / "toy_label.txt")
    for file, text in zip(files, (features, graph, labels), strict=True):
        file.write_bytes(text.replace("\n", "\r\n").encode())
    return files


def test_the_three_files(tmp_path: Path) -> None:
    graph = read_sdcn(
        *write(tmp_path, "1 0 1\n0 0 0\n0 1 0.5\n", "0 2\n2 0\n1 2\n2 1\n", "0\n1\n0\n"), "toy"
    )
    assert graph.x.tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0.5]]
    assert graph.edge_index.tolist() == [[0, 1, 2, 2], [2, 2, 0, 1]]
    assert graph.y.tolist() == [0, 1, 0] and graph.repairs == ()


@pytest.mark.parametrize(
    ("files", "text"),
    [
        (("1 0\n0 x\n", "0 1\n", "0\n1\n"), "toy.txt is not a table of numbers"),
        (
            ("1 0\n0 1\n", "0 1 2\n", "0\n1\n"),
            "must have two columns and .*toy_label.txt one; they have 3 and 1",
        ),
        (("1 0\n0 1\n", "", "0\n1\n"), "toy_graph.txt is not a table of numbers"),
        (("1 0\n0 1\n", "0 1\n", "0\n"), r"labels must have shape \(2,\)"),
    ],
)
def test_bad_files(tmp_path: Path, files: tuple[str, str, str], text: str) -> None:
    with pytest.raises(GraphError, match=text):
        read_sdcn(*write(tmp_path, *files), "toy")


def test_real_features_are_the_file_s(real_data: Path) -> None:
    graph = DATASETS.load("dblp")().load()
    assert set(np.unique(graph.x.numpy())) == {0.0, 1.0} and graph.repairs == ()
