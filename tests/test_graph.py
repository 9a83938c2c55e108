from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
import torch

from gclbench.graph import (
    GraphError,
    Unsupported,
    edges,
    make_graph,
    with_features,
    without_labels,
)

X = np.arange(8.0).reshape(4, 2)
PATH = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_edges_are_undirected_coalesced_and_free_of_loops_for_any_input() -> None:
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 20, (2, 150))
    graph = make_graph(np.ones((20, 1)), pairs, None, "g")
    expected = sorted({(u, v) for a, b in pairs.T.tolist() for u, v in ((a, b), (b, a)) if u != v})
    assert graph.edge_index.T.tolist() == [list(pair) for pair in expected]
    assert graph.edge_index.dtype == torch.int64 and graph.x.dtype == torch.float32


def test_each_repair_is_counted() -> None:
    edges = np.array([[0, 1, 0, 2, 3, 3], [1, 0, 1, 1, 3, 3]])
    graph = make_graph(X, edges, [5, 7, 5, -1], "g", repairs=["Told before."])
    assert graph.repairs == (
        "Told before.",
        "2 self-loop(s) dropped.",
        "1 repeated edge entry dropped.",
        "1 edge(s) stored in one direction only were made undirected.",
        "Labels 5, 7 renumbered 0…1 in that order.",
    )
    assert graph.y.tolist() == [0, 1, 0, -1]
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


def test_clean_input_has_no_repairs() -> None:
    assert make_graph(X, PATH, [0, 1, 1, 0], "g").repairs == ()
    assert make_graph(X, PATH[:, [0, 2]], None, "g", undirected=True).repairs == ()


def test_a_graph_without_edges_is_a_graph_of_items() -> None:
    graph = make_graph(X, np.empty((2, 0), dtype=np.int64), None, "g")
    assert graph.edge_index.shape == (2, 0)
    assert (graph.items, graph.item_kind) == (4, "nodes")


def test_float32_features_are_not_copied() -> None:
    x = np.ones((4, 2), dtype=np.float32)
    assert make_graph(x, PATH, None, "g").x.data_ptr() == x.ctypes.data


def test_read_only_features_are_copied_rather_than_shared() -> None:
    x = np.ones((4, 2), dtype=np.float32)
    x.flags.writeable = False
    make_graph(x, PATH, None, "g").x[0, 0] = 5
    assert x[0, 0] == 1


def test_sparse_features() -> None:
    assert torch.equal(
        make_graph(scipy.sparse.csr_matrix(X), PATH, None, "g").x,
        torch.tensor(X, dtype=torch.float32),
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_features_that_are_not_finite(value: float) -> None:
    x = np.zeros((5000, 2))
    x[4999, 1] = x[4500, 0] = value
    with pytest.raises(
        GraphError,
        match=r"graph 'g': 2 feature value\(s\) are not finite .* first in row 4500, column 0",
    ):
        make_graph(x, PATH, None, "g")


@pytest.mark.parametrize(
    ("x", "edges", "y", "text"),
    [
        (np.ones(4), PATH, None, r"features must be a matrix .* not of shape \(4,\)"),
        (np.ones((4, 0)), PATH, None, r"at least one of each, not of shape \(4, 0\)"),
        (np.array([["a"]] * 4), PATH, None, "features must be numbers, not <U1"),
        (torch.ones(4, 2, dtype=torch.complex64), PATH, None, "features must be real numbers"),
        (X, PATH.T, None, r"edge_index must have shape \(2, edges\), not \(4, 2\); transpose it"),
        (X, PATH.astype(float), None, "edge_index must be whole numbers .* not float64"),
        (
            X,
            [[0, 1, 0], [1, 4, -1]],
            None,
            (
                r"2 of 3 edges name nodes that do not exist, the first is edge 1: \(1, 4\); .* ids"
                r" are 0…3"
            ),
        ),
        (X, PATH, [0, 1], r"labels must have shape \(4,\), one for each node, not \(2,\)"),
        (X, PATH, np.eye(4, dtype=int), "for one-hot rows give their argmax"),
        (X, PATH, np.eye(4), "for one-hot rows give their argmax"),
        (X, PATH, np.ones((4, 1), dtype=int), r"not \(4, 1\); give its column, y\[:, 0\]"),
        (X, PATH, [0.0, 1.0, 0.0, 1.0], "labels must be whole numbers .* not float64"),
        (
            X,
            PATH,
            [0, 1, -2, 0],
            "a label is -2; classes are 0, 1, 2, … and −1 marks a node without a label",
        ),
    ],
)
def test_bad_input_is_named(x: object, edges: object, y: object, text: str) -> None:
    with pytest.raises(GraphError, match=text):
        make_graph(x, edges, y, "g")


@pytest.mark.parametrize(
    ("masks", "text"),
    [
        (
            {"dev_mask": np.zeros(4, bool)},
            "unknown mask.s. dev_mask; known are train_mask, val_mask, test_mask",
        ),
        (
            {"val_mask": np.zeros(3, bool)},
            r"val_mask must have shape \(4,\) or \(4, splits\), not \(3,\)",
        ),
        ({"val_mask": np.full(4, 2)}, "val_mask must hold true and false"),
        (
            {"train_mask": np.ones(4, bool), "test_mask": np.eye(4, 3, dtype=bool)},
            r"3 node\(s\) are in both train_mask and test_mask",
        ),
        (
            {"train_mask": np.zeros((4, 2), bool), "val_mask": np.zeros((4, 3), bool)},
            r"different numbers of splits: \[2, 3\]",
        ),
    ],
)
def test_bad_masks_are_named(masks: dict[str, np.ndarray], text: str) -> None:
    with pytest.raises(GraphError, match=text):
        make_graph(X, PATH, [0, 1, 0, 1], "g", masks=masks)


def test_content_hash_is_of_the_content() -> None:
    def hash_of(
        x: np.ndarray = X, edges: np.ndarray = PATH, y: list[int] | None = None, train: int = 0
    ) -> str:
        mask = np.arange(4) == train
        return make_graph(x, edges, y, "g", masks={"train_mask": mask}).content_hash

    base = hash_of(y=[0, 1, 0, 1])
    assert hash_of(edges=PATH[:, ::-1].copy(), y=[0, 1, 0, 1]) == base
    others = {
        hash_of(),
        hash_of(X + 1, y=[0, 1, 0, 1]),
        hash_of(edges=PATH[:, :2], y=[0, 1, 0, 1]),
        hash_of(y=[0, 1, 1, 1]),
        hash_of(y=[0, 1, 0, 1], train=2),
    }
    assert len(others | {base}) == 6


def test_content_hashes_of_graphs_with_node_items_stay() -> None:
    """Ids of committed records depend on them."""
    mask = np.arange(4) == 1
    masks = {"train_mask": mask, "test_mask": ~mask}
    labelled = make_graph(X, PATH, [0, 1, 0, -1], "g", masks=masks)
    assert labelled.content_hash == (
        "131d1d51119d6757e3ef1d8b5c1edf2a8a9cbdd61f6684809b5a44aaa79655d9"
    )
    assert make_graph(X, PATH, None, "g").content_hash == (
        "24dfc6facd22599fce5647febe6caac21d6de537fc7b9aad188bb4b6595aea45"
    )


def test_content_hash_follows_changes() -> None:
    graph = make_graph(X, PATH, [0, 1, 0, 1], "g")
    before = graph.content_hash
    assert (
        graph.content_hash
        == before
        == copy.copy(graph).content_hash
        == pickle.loads(pickle.dumps(graph)).content_hash
    )
    graph.x[0, 0] = 9
    written = graph.content_hash
    graph.y = None
    assert len({before, written, graph.content_hash}) == 3
    fresh = copy.copy(graph)
    fresh.y = torch.tensor([0, 1, 0, 1])
    fresh.x = torch.tensor(X, dtype=torch.float32)
    assert fresh.content_hash == before


def test_content_hash_is_not_fooled_by_a_tensor_at_the_same_place() -> None:
    graph = make_graph(X, PATH, None, "g")
    before, place = graph.content_hash, id(graph.x)
    graph.x = None
    made: list[torch.Tensor] = []
    while len(made) < 50 and not (made and id(made[-1]) == place):
        made.append(torch.zeros(4, 2))
    graph.x = made[-1]
    assert graph.content_hash != before


def test_with_features_shares_everything_else() -> None:
    graph = make_graph(X, PATH, [0, 1, 0, 1], "g", repairs=["r"])
    known = graph.content_hash
    changed = with_features(graph, torch.ones(4, 7))
    assert changed.x.shape == (4, 7) and graph.x.shape == (4, 2)
    assert (
        changed.edge_index is graph.edge_index
        and changed.y is graph.y
        and changed.repairs == ("r",)
    )
    assert changed.content_hash != known == graph.content_hash
    with pytest.raises(GraphError, match="has 4 nodes; the new features have 3 rows"):
        with_features(graph, torch.ones(3, 7))
    with pytest.raises(GraphError, match="not finite"):
        with_features(graph, torch.full((4, 1), float("nan")))


def test_without_labels_leaves_nothing_to_learn_from() -> None:
    mask = np.arange(4) == 1
    graph = make_graph(X, PATH, [0, 1, 0, 1], "g", masks={"train_mask": mask, "val_mask": ~mask})
    bare = without_labels(graph)
    assert bare.y is None and not [key for key in bare if "mask" in key]
    assert graph.y is not None and graph.train_mask.sum() == 1
    assert bare.content_hash != graph.content_hash


def test_the_number_of_classes_stays_without_labels() -> None:
    graph = make_graph(X, PATH, [5, 7, 5, -1], "g")
    assert (
        graph.classes
        == 2
        == without_labels(graph).classes
        == with_features(graph, torch.ones(4, 1)).classes
    )
    assert make_graph(X, PATH, [-1] * 4, "g").classes == 0 == make_graph(X, PATH, None, "g").classes
    # It is in the content already, by way of the labels: known hashes stay.
    changed = copy.copy(graph)
    changed.classes = 9
    assert changed.content_hash == graph.content_hash


def test_unsupported_has_a_reason() -> None:
    assert Unsupported("no labels").reason == "no labels" == str(Unsupported("no labels"))


def test_edges_that_need_no_repair_are_not_copied_and_nearly_right_ones_are_repaired(
    monkeypatch,
) -> None:
    x = torch.ones(5, 2)
    for entries in (2, 1 << 22):
        monkeypatch.setattr(edges, "_ENTRIES", entries)
        right = torch.tensor([[0, 1, 1, 2, 2, 3], [2, 2, 3, 0, 1, 1]])
        assert make_graph(x, right, None, "right").edge_index.data_ptr() == right.data_ptr()
        for wrong in (
            torch.tensor([[0, 1, 1, 2, 2], [2, 2, 3, 0, 1]]),  # one direction of 1-3
            torch.tensor(
                [[0, 1, 1, 2, 2, 3], [2, 2, 3, 0, 1, 4]]
            ),  # 3-1 and 4-3 missing, as many entries
            torch.tensor([[1, 0, 1, 2, 2, 3], [2, 2, 3, 0, 1, 1]]),  # not sorted
            torch.tensor([[0, 0, 1, 1, 2, 2, 3], [2, 2, 2, 3, 0, 1, 1]]),  # one entry twice
            torch.tensor([[0, 1, 1, 2, 2, 3, 4], [2, 2, 3, 0, 1, 1, 4]]),  # a loop
        ):
            found = make_graph(x, wrong, None, "wrong").edge_index
            adjacency = torch.zeros(5, 5, dtype=torch.bool)
            adjacency[wrong[0], wrong[1]] = True
            adjacency = (adjacency | adjacency.T) & ~torch.eye(5, dtype=torch.bool)
            assert torch.equal(found, adjacency.nonzero().T)


def test_a_collection_is_one_graph_whose_items_are_graphs() -> None:
    mask = np.array([True, False])
    graph = make_graph(X, PATH, [4, -1], "g", graph_of=[0, 0, 0, 1], masks={"train_mask": mask})
    assert (graph.items, graph.item_kind, graph.num_nodes) == (2, "graphs", 4)
    assert graph.y.tolist() == [0, -1] and graph.train_mask.tolist() == [True, False]
    assert graph.graph_of.tolist() == [0, 0, 0, 1] and graph.graph_of.dtype == torch.int64
    for same in (copy.copy(graph), with_features(graph, torch.ones(4, 7)), without_labels(graph)):
        assert (same.items, same.item_kind) == (2, "graphs")
    assert pickle.loads(pickle.dumps(graph)).content_hash == graph.content_hash


def test_a_single_graph_s_items_are_its_nodes() -> None:
    graph = make_graph(X, PATH, None, "g")
    assert (graph.items, graph.item_kind) == (4, "nodes") and "graph_of" not in graph


def test_how_nodes_are_divided_into_graphs_is_content() -> None:
    def hash_of(graph_of: list[int] | None) -> str:
        return make_graph(X, np.empty((2, 0), int), None, "g", graph_of=graph_of).content_hash

    divisions = (None, [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 2, 3])
    assert len({hash_of(division) for division in divisions}) == len(divisions)


@pytest.mark.parametrize(
    ("graph_of", "text"),
    [
        ([0, 0, 1], r"graph_of must have shape \(4,\), one for each node, not \(3,\)"),
        ([0.0, 0.0, 0.0, 1.0], r"graph_of must be whole numbers \(an integer type\), not float64"),
        ([1, 1, 1, 2], r"without gaps; the first number that does not fit is graph_of\[0\] = 1"),
        ([-1, 0, 0, 1], r"the first number that does not fit is graph_of\[0\] = -1"),
        ([0, 0, 0, 2], r"the first number that does not fit is graph_of\[3\] = 2"),
        ([0, 1, 1, 0], r"the first number that does not fit is graph_of\[3\] = 0. Sort the nodes"),
        (
            [0, 0, 1, 1],
            r"1 edge\(s\) join nodes of different graphs, the first is \(1, 2\) between graphs 0"
            r" and 1",
        ),
    ],
)
def test_a_bad_division_into_graphs_is_named(graph_of: list[int], text: str) -> None:
    with pytest.raises(GraphError, match=f"graph 'g': .*{text}"):
        make_graph(X, PATH, None, "g", graph_of=graph_of)


def test_labels_and_masks_of_a_collection_are_its_graphs() -> None:
    division = [0, 0, 0, 1]
    with pytest.raises(GraphError, match=r"labels must have shape \(2,\), one for each graph, not"):
        make_graph(X, PATH, [0, 1, 0, 1], "g", graph_of=division)
    with pytest.raises(GraphError, match=r"train_mask must have shape \(2,\) or \(2, splits\)"):
        make_graph(X, PATH, None, "g", graph_of=division, masks={"train_mask": np.ones(4, bool)})
    both = {"train_mask": np.ones(2, bool), "test_mask": np.ones(2, bool)}
    with pytest.raises(GraphError, match=r"2 graph\(s\) are in both train_mask and test_mask"):
        make_graph(X, PATH, None, "g", graph_of=division, masks=both)
