"""The reader of TUDataset's text format, its sets, and every damage that it names."""

from __future__ import annotations

import gzip
import hashlib
import io
import zipfile
from pathlib import Path

import pytest
import torch

from gclbench.component.registry import DATASETS
from gclbench.config.composition import all_names
from gclbench.data import capacity, zip_member
from gclbench.data.mirror import DataUnavailable
from gclbench.data.tu import AnyTu, ImdbBinary, Mutag
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


def test_degrees_stand_beside_labels_where_they_are_asked_for(tmp_path: Path) -> None:
    labels = read(tmp_path).x
    both = read_tu("TOY", write(tmp_path), "toy", features="labels_and_degrees")
    degrees = torch.bincount(both.edge_index[0], minlength=both.num_nodes)
    assert torch.equal(both.x[:, : labels.shape[1]], labels)
    found, place = degrees.unique(return_inverse=True)
    assert torch.equal(both.x[:, labels.shape[1] :], torch.eye(len(found))[place])


def test_mutag_has_seven_labels_and_eleven_columns_with_degrees(real_data: Path) -> None:
    assert Mutag().load().x.shape[1] == 7
    assert Mutag(features="labels_and_degrees").load().x.shape[1] == 11


def test_nodes_are_alike_where_that_is_asked_for(tmp_path: Path) -> None:
    degrees = read(tmp_path, node_labels=None)
    alike = read_tu("TOY", write(tmp_path, node_labels=None), "toy", features="constant")
    assert torch.equal(alike.x, torch.ones(7, 1))
    assert torch.equal(alike.edge_index, degrees.edge_index) and torch.equal(alike.y, degrees.y)
    with pytest.raises(ValueError, match="features='lables' are none that the reader knows"):
        read_tu("TOY", write(tmp_path), "toy", features="lables")


def test_imdb_binary_has_degrees_or_a_constant(real_data: Path) -> None:
    assert ImdbBinary().load().x.shape[1] == MOST_DEGREE + 1
    assert ImdbBinary(features="constant").load().x.unique().tolist() == [1.0]


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
        ({"A": "1, 2\nx, 1\n"}, "TOY_A.txt, line 2: 'x' is no whole number. Every line should"),
        ({"A": f"1, 2\n{9**20}, 1\n"}, "TOY_A.txt, line 2: '12157665459056928801' is beyond a"),
        ({"A": "1, 2, 3\n"}, r"TOY_A.txt has 3 number\(s\) in a line, and should have two"),
        ({"A": "1, 2\n2, 8\n0, 1\n"}, r"line 2: the edge 2, 8 names a node that.*\(2 such lines"),
        ({"A": "1, 2\n4, 5\n"}, r"TOY_A.txt, line 2: the edge 4, 5 joins graph 1 and graph 2 \(1"),
        ({"A": "1, 2\n\n\n4, 5\n"}, "TOY_A.txt, line 4: the edge 4, 5 joins graph 1 and graph 2"),
        ({"A": "\n1, 2\n2, 8\n"}, "TOY_A.txt, line 3: the edge 2, 8 names a node"),
        ({"graph_indicator": ""}, "graph_indicator.txt is empty; it should have a line for each n"),
        ({"graph_indicator": "1\n1\n1\n1\n3\n3\n4\n"}, "line 5: graph 3 stands after 1; graph 2"),
        ({"graph_indicator": "1\n1\n1\n1\n2\n1\n3\n"}, "line 6: graph 1 stands after 2; it should"),
        ({"graph_indicator": "0\n0\n0\n0\n1\n1\n2\n"}, "line 1: graph 0 stands in the first line"),
        (
            {"graph_indicator": f"1\n1\n1\n1\n{-(2**63)}\n2\n3\n"},
            f"line 5: graph {-(2**63)} stands after 1; it should ascend",
        ),
        ({"graph_indicator": f"1\n{2**63}\n"}, "graph_indicator.txt, line 2: '9223.*' is beyond"),
        ({"graph_labels": f"1\n1\n{-(2**64)}\n"}, "graph_labels.txt, line 3: '-1844.*' is beyond"),
        (
            {"graph_labels": " \n"},
            "TOY_graph_labels.txt is empty; it should have a line for each g",
        ),
        (
            {"graph_labels": "1\n\n1\n"},
            r"2 lines with numbers \(line 2 is empty\), and there are 3",
        ),
        ({"graph_labels": "1\n-1\n"}, "has 2 lines, and there are 3 graphs"),
        ({"graph_labels": "1\n-1\n1\n1\n"}, "4 lines, and only 3 graphs have nodes"),
        ({"graph_labels": "1, 2\n1, 2\n1, 2\n"}, "graph_labels.txt has 2 numbers in a line"),
        ({"node_labels": "1\n2\n"}, "TOY_node_labels.txt has 2 lines, and there are 7 nodes"),
        (
            {"node_labels": None, "node_attributes": "1\n2\nnan\n4\n5\n6\n7\n"},
            "TOY_node_attributes.txt, line 3: 'nan' is not finite, or beyond float32",
        ),
        (
            {"node_labels": None, "node_attributes": "1, 2\n3, \n" + "1, 2\n" * 5},
            "TOY_node_attributes.txt, line 2: number 2 of 2 is missing",
        ),
        (
            {"node_labels": None, "node_attributes": "1, 2\n3\n" + "1, 2\n" * 5},
            "TOY_node_attributes.txt, line 2: it has 1 number, and line 1 has 2",
        ),
        (
            {"node_labels": None, "node_attributes": "1\n\n" + "1\n" * 5},
            r"TOY_node_attributes.txt has 6 lines with numbers \(line 2 is empty\), and there are",
        ),
        (
            {"node_labels": None, "node_attributes": "a\n" * 7},
            "TOY_node_attributes.txt, line 1: 'a' is no number",
        ),
    ],
)
def test_every_damage_is_named(tmp_path: Path, changed: dict[str, str | None], text: str) -> None:
    with pytest.raises(GraphError, match=text):
        read(tmp_path, **changed)


@pytest.mark.parametrize("edges", ["", "\n \n"])
def test_a_set_without_edges_is_a_collection_of_isolated_nodes(tmp_path: Path, edges: str) -> None:
    graph = read(tmp_path, A=edges)
    assert graph.edge_index.shape == (2, 0) and graph.items == 3
    assert graph.repairs[1:] == (
        "TOY_A.txt is empty: no graph has an edge.",
        "7 isolated node(s) kept.",
    )
    assert read(tmp_path / "degrees", A=edges, node_labels=None).x.tolist() == [[1.0]] * 7


def test_node_labels_that_make_too_many_columns_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "available_memory", lambda: 4 * 2 * 7 * 3)
    assert read(tmp_path).x.shape == (7, 3)
    with pytest.raises(GraphError, match="'TOY': 7 × 7 features as float32 need"):
        read(tmp_path, node_labels="1\n2\n3\n4\n5\n6\n7\n")


def test_a_compressed_file_that_was_cut_off_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "TUDataset" / "TOY" / "raw"
    edges = write(folder)["A"]
    short = Path(f"{edges}.gz")
    short.write_bytes(gzip.compress(edges.read_bytes())[:-9])
    edges.unlink()
    monkeypatch.setenv("GCLBENCH_MIRROR", str(tmp_path))
    with pytest.raises(GraphError, match=r"TOY_A.txt.gz is a damaged .gz file \(Compressed file"):
        AnyTu("TOY").load()


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
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("TOY/README.txt", "about")
        for part, text in TOY.items():
            archive.writestr(f"TOY/TOY_{part}.txt", text)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    assert torch.equal(AnyTu("TOY").load().x, read(tmp_path / "plain").x)
    whole = place.read_bytes()
    mirrored = tmp_path / "mirror" / "TUDataset" / "TOY" / "TOY.zip"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(whole)
    with monkeypatch.context() as here:
        here.setenv("GCLBENCH_MIRROR", str(tmp_path / "mirror"))
        (told,) = [text for text in AnyTu("TOY").load().repairs if "TOY.zip" in text]
    assert hashlib.sha256(whole).hexdigest() in told
    stream = whole.index(b"TOY_A.txt") + len("TOY_A.txt")
    method = whole.rindex(b"PK\x01\x02") + 10
    for content, reason in (
        (b"no archive", "File is not a zip file"),
        (whole[:-9], "File is not a zip file"),
        (whole[:stream] + b"\x07" + whole[stream + 1 :], "Error -3 while decompressing"),
        (whole[:method] + b"\x63" + whole[method + 1 :], "compression method is not supported"),
    ):
        place.write_bytes(content)
        found = (
            rf"TOY.zip cannot be read as a zip archive \(.*({reason}).*\); remove it, or replace"
        )
        with pytest.raises(GraphError, match=found):
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
