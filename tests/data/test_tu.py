"""The reader of TUDataset's text format, its sets, and every damage that it names."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pytest
import torch

from gclbench.component.registry import DATASETS
from gclbench.config.composition import all_names
from gclbench.data import zip_member
from gclbench.data.mirror import DataUnavailable
from gclbench.data.tu import AnyTu
from gclbench.data.tu_format import MOST_DEGREE, read_tu
from gclbench.graph import Graph, GraphError

# A triangle with a tail, a pair, and a single node.
TOY = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n3, 4\n4, 3\n5, 6\n6, 5\n",
    "graph_indicator": "1\n1\n1\n1\n2\n2\n3\n",
    "graph_labels": "1\n-1\n1\n",
    "node_labels": "5\n3\n3\n9\n3\n5\n9\n",
}


def write(folder: Path, name: str = "TOY", **changed: str | None) -> dict[str, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for part, text in {**TOY, **changed}.items():
        if text is not None:
            files[part] = folder / f"{name}_{part}.txt"
            files[part].write_text(text)
    return files


def read(folder: Path, **changed: str | None) -> Graph:
    return read_tu("TOY", write(folder, **changed), "toy")


def test_node_labels_become_columns_and_classes_are_renumbered(tmp_path: Path) -> None:
    graph = read(tmp_path)
    assert graph.graph_of.tolist() == [0, 0, 0, 0, 1, 1, 2] and graph.items == 3
    assert graph.x.argmax(dim=1).tolist() == [1, 0, 0, 2, 0, 1, 2] and graph.x.sum() == 7
    assert graph.y.tolist() == [1, 0, 1]
    assert graph.edge_index.shape == (2, 10)
    assert graph.repairs == (
        "2 classes -1…1 renumbered 0…1 in order.",
        "1 isolated node(s) kept.",
    )


def test_without_labels_features_are_attributes_or_else_degrees(tmp_path: Path) -> None:
    attributes = "".join(f"{number}.5, -1\n" for number in range(7))
    graph = read(tmp_path, node_labels=None, node_attributes=attributes)
    assert graph.x[:, 0].tolist() == [number + 0.5 for number in range(7)]
    degrees = read(tmp_path / "degrees", node_labels=None).x
    assert degrees.shape == (7, 4) and degrees.argmax(dim=1).tolist() == [2, 2, 3, 1, 1, 1, 0]
    # A star whose centre has more neighbours than there are columns.
    leaves = MOST_DEGREE + 5
    star = "".join(f"1, {leaf}\n{leaf}, 1\n" for leaf in range(2, leaves + 2))
    graph = read(
        tmp_path / "star",
        A=star,
        graph_indicator="1\n" * (leaves + 1),
        graph_labels="4\n",
        node_labels=None,
    )
    assert graph.x.shape[1] == MOST_DEGREE + 1 and graph.x[0].argmax() == MOST_DEGREE


def test_repeated_pairs_loops_and_single_directions_are_mended_and_counted(tmp_path: Path) -> None:
    graph = read(tmp_path, A="1, 2\n1, 2\n2, 1\n3, 3\n5, 6\n")
    assert graph.edge_index.tolist() == [[0, 1, 4, 5], [1, 0, 5, 4]]
    assert graph.repairs[1:] == (
        "1 self-loop(s) dropped.",
        "1 repeated edge entry dropped.",
        "1 edge(s) stored in one direction only were made undirected.",
        "3 isolated node(s) kept.",
    )


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"graph_labels": None}, "'TOY' has no TOY_graph_labels.txt; a set of TUDataset has at"),
        ({"A": "1, 2\nx, 1\n"}, "TOY_A.txt is not a table of whole numbers"),
        ({"A": "1, 2, 3\n"}, r"TOY_A.txt has 3 number\(s\) in a line, and should have two"),
        ({"A": ""}, "TOY_A.txt is not a table of whole numbers: No columns"),
        ({"A": "1, 2\n2, 8\n0, 1\n"}, r"line 2: the edge 2, 8 names a node that.*\(2 such lines"),
        ({"A": "1, 2\n4, 5\n"}, r"TOY_A.txt, line 2: the edge 4, 5 joins graph 1 and graph 2 \(1"),
        ({"graph_indicator": "1\n1\n1\n1\n3\n3\n4\n"}, "line 5: graph 3 stands after 1; graph 2"),
        ({"graph_indicator": "1\n1\n1\n1\n2\n1\n3\n"}, "line 6: graph 1 stands after 2; it should"),
        ({"graph_indicator": "0\n0\n0\n0\n1\n1\n2\n"}, "line 1: graph 0 stands in the first line"),
        ({"graph_labels": "1\n-1\n"}, "has 2 lines, and there are 3 graphs"),
        ({"graph_labels": "1\n-1\n1\n1\n"}, "4 lines, and only 3 graphs have nodes"),
        ({"graph_labels": "1, 2\n1, 2\n1, 2\n"}, "graph_labels.txt has 2 numbers in a line"),
        ({"node_labels": "1\n2\n"}, "TOY_node_labels.txt has 2 lines, and there are 7 nodes"),
        (
            {"node_labels": None, "node_attributes": "1\n2\nnan\n4\n5\n6\n7\n"},
            "1 feature value.* not finite .*the first in row 2, column 0",
        ),
        ({"node_labels": None, "node_attributes": "a\n" * 7}, "is not a table of numbers"),
    ],
)
def test_every_damage_is_named(tmp_path: Path, changed: dict[str, str | None], text: str) -> None:
    with pytest.raises(GraphError, match=text):
        read(tmp_path, **changed)


def test_any_set_is_read_from_a_mirror_with_compressed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "TUDataset" / "TOY" / "raw"
    edges = write(folder)["A"]
    with gzip.open(f"{edges}.gz", "wt") as file:
        file.write(edges.read_text())
    edges.unlink()
    monkeypatch.setenv("GCLBENCH_MIRROR", str(tmp_path))
    graph = AnyTu("TOY").load()
    assert (graph.name, graph.items, graph.edge_index.shape[1]) == ("TOY", 3, 10)
    assert sorted(path.name for path in folder.iterdir())[0] == "TOY_A.txt.gz", "nothing is written"


def test_any_set_is_read_from_its_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "cache" / "TUDataset" / "TOY" / "TOY.zip"
    place.parent.mkdir(parents=True)
    with zipfile.ZipFile(place, "w") as archive:
        for part, text in TOY.items():
            archive.writestr(f"TOY/TOY_{part}.txt", text)
        archive.writestr("TOY/README.txt", "about")
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    assert torch.equal(AnyTu("TOY").load().x, read(tmp_path / "plain").x)
    place.write_bytes(b"no archive")
    with pytest.raises(GraphError, match="TOY.zip is no zip archive"):
        AnyTu("TOY").load()


def test_a_set_that_is_nowhere_says_where_it_was_looked_for() -> None:
    with pytest.raises(DataUnavailable, match="graphkerneldatasets/ENZYMES.zip"):
        AnyTu("ENZYMES").load()
    with pytest.raises(GraphError, match="dataset.tu_name=../x is no name of a set; give it as"):
        AnyTu("../x").load()


def test_a_file_of_a_downloaded_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("TOY/TOY_A.txt", "1, 2\n")
    monkeypatch.setattr(zip_member, "_downloaded", lambda address, timeout: content.getvalue())
    assert zip_member.opened("https://h/TOY.zip#TOY/TOY_A.txt", 1).read() == b"1, 2\n"
    assert zip_member.is_member("https://h/TOY.zip#a") and not zip_member.is_member("https://h/a")
    with pytest.raises(OSError, match="https://h/TOY.zip gives no 'TOY/x'"):
        zip_member.opened("https://h/TOY.zip#TOY/x", 1)


def test_a_collection_is_run_with_tasks_of_graphs() -> None:
    tasks = ["graph_classification", "graph_clustering"]
    assert all_names({"dataset": "mutag"})["task"] == tasks
    assert all_names({"dataset": "tu", "task": "similarity"})["task"] == "similarity"
    assert "classification" in all_names({"dataset": "cora"})["task"]


def test_imdb_s_repeated_pairs_are_dropped(real_data: Path) -> None:
    graph = DATASETS.load("imdb_multi")().load()
    assert "197806 repeated edge entries dropped." in graph.repairs
