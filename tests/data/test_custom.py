from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

from gclbench.data.custom import Custom, CustomGraphs
from gclbench.data.splits import public
from gclbench.graph import GraphError

GOOD: dict[str, Any] = {
    "x": np.arange(10.0).reshape(5, 2),
    "edge_index": np.array([[0, 1, 1, 2], [1, 0, 2, 1]]),
    "y": np.array([0, 1, 0, 1, 1]),
}


def save(tmp_path: Path, **changes: Any) -> Custom:
    values = {key: value for key, value in (GOOD | changes).items() if value is not None}
    np.savez(tmp_path / "mine.npz", **values)
    return Custom(path=str(tmp_path / "mine.npz"))


def test_a_good_file(tmp_path: Path) -> None:
    graph = save(tmp_path).load()
    assert (
        graph.name == "mine"
        and graph.x.tolist() == GOOD["x"].tolist()
        and graph.y.tolist() == [0, 1, 0, 1, 1]
    )
    assert graph.edge_index.tolist() == GOOD["edge_index"].tolist()
    assert graph.repairs == ("2 isolated node(s) kept.",)


def test_labels_are_optional(tmp_path: Path) -> None:
    assert save(tmp_path, y=None).load().y is None


def test_no_features_at_all_and_a_file_of_torch(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="features must"):
        save(tmp_path, x=np.array(3.0)).load()
    torch.save({"x": torch.zeros(2)}, tmp_path / "mine.pt")
    with pytest.raises(GraphError, match="mine.pt is a zip archive without NumPy arrays"):
        Custom(path=str(tmp_path / "mine.pt")).load()


def test_an_entry_that_is_there_twice_has_the_sum(tmp_path: Path) -> None:
    parts = {
        "adj_data": np.ones(6),
        "adj_indices": np.array([1, 1, 0, 0, 2, 1]),
        "adj_indptr": np.array([0, 2, 5, 6, 6, 6]),
        "adj_shape": np.array([5, 5]),
    }
    graph = save(tmp_path, edge_index=None, **parts).load()
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.edge_weight is not None and graph.edge_weight.tolist() == [2.0, 2.0, 1.0, 1.0]


def test_sparse_features(tmp_path: Path) -> None:
    matrix = scipy.sparse.csr_matrix(GOOD["x"])
    parts = {f"x_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr", "shape")}
    assert save(tmp_path, x=None, **parts).load().content_hash == save(tmp_path).load().content_hash
    with pytest.raises(
        GraphError,
        match=(
            "has x_data, x_indices, x_indptr; a csr matrix needs x_data, x_indices, x_indptr,"
            " x_shape"
        ),
    ):
        save(tmp_path, x=None, **(parts | {"x_shape": None})).load()
    with pytest.raises(
        GraphError, match="must have either 'x' .N×F. or x_data, .*; it has x, edge_index"
    ):
        save(tmp_path, **parts).load()
    with pytest.raises(GraphError, match="make no csr matrix"):
        save(tmp_path, x=None, **(parts | {"x_indices": parts["x_indices"] + 2})).load()


def test_a_public_split_of_one_s_own(tmp_path: Path) -> None:
    masks = {
        f"{part}_mask": np.isin(np.arange(5), nodes)
        for part, nodes in (("train", [0]), ("val", [1]), ("test", [2, 3]))
    }
    graph = save(tmp_path, **masks).load()
    assert public(graph).parts["test"].tolist() == [2, 3]
    assert graph.repairs[0].startswith("The masks are a split that task.classification.protocol=")
    with pytest.raises(
        GraphError, match="has train_mask only; give all of train_mask, val_mask, test_mask or none"
    ):
        save(tmp_path, train_mask=masks["train_mask"]).load()


def test_what_is_repaired_is_recorded(tmp_path: Path) -> None:
    graph = save(
        tmp_path,
        edge_index=np.array([[0, 0, 0, 3, 4], [1, 1, 2, 3, 0]]),
        y=np.array([4, 4, 4, -1, 4]),
    ).load()
    assert graph.edge_index.tolist() == [[0, 0, 0, 1, 2, 4], [1, 2, 4, 0, 0, 0]]
    assert graph.repairs == (
        "1 self-loop(s) dropped.",
        "1 repeated edge entry dropped.",
        "3 edge(s) stored in one direction only were made undirected.",
        "Labels 4 renumbered 0…0 in that order.",
        "1 isolated node(s) kept.",
        "All labelled nodes are of one class: tasks that compare classes are unsupported. −1"
        " says that there is no label; two classes are 0 and 1.",
    )


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"x": np.full((5, 2), np.nan)},
            r"graph 'mine': 10 feature value\(s\) are not finite .* row 0, column 0",
        ),
        ({"x": np.ones(5)}, "features must be a matrix"),
        ({"x": np.ones((1, 2))}, "4 of 4 edges name nodes that do not exist"),
        (
            {"edge_index": np.array([[0], [5]])},
            (
                r"1 of 1 edges name nodes that do not exist, the first is edge 0: \(0, 5\); there"
                r" are 5 nodes"
            ),
        ),
        (
            {"edge_index": np.array([[0, 1], [1, 2], [2, 3]])},
            r"edge_index must have shape \(2, edges\), not \(3, 2\); transpose it",
        ),
        ({"edge_index": None}, "has no 'edge_index' .2×E node pairs.; it has x, y"),
        ({"x": None}, "must have either 'x' .N×F. or x_data, .*; it has edge_index, y"),
        ({"y": np.array([0, 1])}, r"labels must have shape \(5,\)"),
        ({"y": np.array(["a"] * 5)}, "labels must be whole numbers"),
        ({"labels": GOOD["y"]}, "unknown key.s. labels. Did you mean 'y'. Known keys: x, x_data"),
        ({"batch": [0] * 5}, "unknown key.s. batch. Did you mean 'graph_of'. Known keys"),
        ({"edge_indx": GOOD["edge_index"]}, "unknown key.s. edge_indx. Did you mean 'edge_index'?"),
        ({"y": np.array([None] * 5)}, "object arrays are not read; save numbers only"),
    ],
)
def test_bad_content(tmp_path: Path, changes: dict[str, Any], text: str) -> None:
    with pytest.raises(GraphError, match=text):
        save(tmp_path, **changes).load()


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    with pytest.raises(
        GraphError, match=r"there is no file .*mine.npz; give one with dataset.path=FILE.npz"
    ):
        Custom(path=str(path)).load()
    path.write_bytes(b"hello")
    with pytest.raises(
        GraphError,
        match=(
            r"mine.npz is no .npz file; save the graph with numpy.savez\(path, x=…, edge_index=…\)"
        ),
    ):
        Custom(path=str(path)).load()
    with path.open("wb") as stream:
        np.save(stream, np.ones(3))
    with pytest.raises(
        GraphError,
        match=r"is a single array; save the graph with numpy.savez\(path, x=…, edge_index=…\)",
    ):
        Custom(path=str(path)).load()


def test_a_file_that_was_damaged_on_the_way(tmp_path: Path) -> None:
    """Every byte of a compressed file, changed: it loads all the same, or an error says why."""
    path = tmp_path / "mine.npz"
    np.savez_compressed(path, **GOOD)
    whole, refused = path.read_bytes(), 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            Custom(path=str(path)).load()
        except GraphError:
            refused += 1
    assert refused > len(whole) // 2


def test_a_collection_has_a_class_for_each_graph(tmp_path: Path) -> None:
    file = save(tmp_path, graph_of=[0, 0, 0, 1, 1], y=[1, 0])
    graph = CustomGraphs(path=file.path).load()
    assert graph.item_kind == "graphs" and graph.items == 2 and graph.y.tolist() == [1, 0]
    assert graph.graph_of.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("kind", "changes", "text"),
    [
        (Custom, {}, "a collection of graphs and not one graph. .* dataset=custom_graphs dat"),
        (
            CustomGraphs,
            {"graph_of": None},
            "has no 'graph_of' .* typed dataset=custom dataset.path=",
        ),
        (CustomGraphs, {"train_mask": [1, 0]}, "train_mask; a collection has no public split"),
        (
            CustomGraphs,
            {"y": [0, 1, 0, 1, 1]},
            r"labels must have shape \(2,\), one for each graph",
        ),
        (CustomGraphs, {"graph_of": [0, 0, 1, 1, 2]}, "join nodes of different graphs"),
        (CustomGraphs, {"graph_of": [0, 0, 0, 2, 2]}, "in ascending order without gaps"),
        (CustomGraphs, {"graph_of": [0, 0, 0]}, r"graph_of must have shape \(5,\)"),
    ],
)
def test_what_is_no_such_file(
    tmp_path: Path, kind: type[Custom], changes: dict[str, Any], text: str
) -> None:
    arrays = {"graph_of": [0, 0, 0, 1, 1], "y": [0, 1]} | changes
    with pytest.raises(GraphError, match=text):
        kind(path=save(tmp_path, **arrays).path).load()
