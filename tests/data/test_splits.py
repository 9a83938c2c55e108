from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from gclbench.component.registry import DATASETS
from gclbench.data.splits import (
    CORA_CONTENT_ORDER,
    LeakError,
    Split,
    check_no_leak,
    link_split,
    public,
    pygcn,
    random_10_10_80,
)
from gclbench.graph import Graph, Unsupported, make_graph

Pairs = set[tuple[int, int]]


def pairs_of(part: np.ndarray) -> Pairs:
    return {(int(u), int(v)) for u, v in part.T}


def random_graph(nodes: int = 60, entries: int = 400, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    return make_graph(
        rng.random((nodes, 3)),
        rng.integers(0, nodes, (2, entries)),
        rng.integers(0, 3, nodes),
        "random",
    )


@pytest.mark.parametrize(("nodes", "tenth"), [(10, 1), (14, 1), (16, 2), (2708, 271), (3327, 333)])
def test_random_split_has_exact_disjoint_complete_parts(nodes: int, tenth: int) -> None:
    split = random_10_10_80(torch.zeros(nodes, dtype=torch.long), np.random.default_rng(0))
    assert {name: part.size for name, part in split.parts.items()} == {
        "train": tenth,
        "val": tenth,
        "test": nodes - 2 * tenth,
    }
    assert sorted(np.concatenate(list(split.parts.values())).tolist()) == list(range(nodes))
    assert split.protocol == "random_10_10_80"


def test_random_split_leaves_unlabelled_nodes_out() -> None:
    y = np.where(np.arange(100) % 2, 1, -1)
    parts = random_10_10_80(y, np.random.default_rng(1)).parts
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(1, 100, 2))


def test_random_split_needs_ten_labels() -> None:
    with pytest.raises(Unsupported, match="needs at least 10 labels; this dataset has 9"):
        random_10_10_80(np.array([0] * 9 + [-1] * 50), np.random.default_rng(0))


def test_random_split_is_uniform_over_nodes() -> None:
    counts = np.zeros(20)
    for seed in range(600):
        counts[random_10_10_80(np.zeros(20), np.random.default_rng(seed)).parts["train"]] += 1
    # 600 · 2/20 = 60 expected, standard deviation 7.3.
    assert counts.min() > 30 and counts.max() < 90


def test_splits_repeat_and_their_hash_tells_them_apart() -> None:
    y = np.zeros(50)
    first, again, other = (random_10_10_80(y, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert first.hash == again.hash != other.hash
    part = np.arange(4)
    hashes = {
        Split("p", {"a": part}).hash,
        Split("q", {"a": part}).hash,
        Split("p", {"b": part}).hash,
        Split("p", {"a": part.reshape(2, 2)}).hash,
    }
    assert len(hashes) == 4
    assert (
        Split("p", {"a": part, "b": part}).hash
        == Split("p", {"b": part, "a": part.astype(np.int32)}).hash
    )


def test_splits_stay_what_they_are() -> None:
    """The same on every machine: records of one seed are compared by their splits' hashes."""
    random = random_10_10_80(np.arange(200) % 3 - 1, np.random.default_rng(0))
    assert random.hash == "dd4f31ac447772cc56718023435fe208fd8737a92f4da6c917662b0b499eecc3"
    pairs = np.random.default_rng(1).integers(0, 100, (2, 400))
    pairs = pairs[:, pairs[0] != pairs[1]]
    links = link_split(np.concatenate([pairs, pairs[::-1]], axis=1), 100, np.random.default_rng(0))
    assert links.hash == "740ffc1c98791288326c827e6765551d166792f3ab7198b7ca2d1f938840bf91"


def test_public_split_reads_the_masks() -> None:
    masks = {
        f"{part}_mask": np.arange(6) // 2 == i for i, part in enumerate(("train", "val", "test"))
    }
    graph = make_graph(np.ones((6, 1)), [[0], [1]], [0, -1, 1, 0, 1, 0], "g", masks=masks)
    parts = {name: part.tolist() for name, part in public(graph, seed=5).parts.items()}
    assert parts == {"train": [0], "val": [2, 3], "test": [4, 5]}


def test_public_split_of_several_is_chosen_by_seed() -> None:
    train = np.zeros((6, 3), dtype=bool)
    train[[0, 1, 2], [0, 1, 2]] = True
    val = np.zeros((6, 3), dtype=bool)
    val[[1, 2, 0], [0, 1, 2]] = True
    test = np.arange(6) > 2
    graph = make_graph(
        np.ones((6, 1)),
        [[0], [1]],
        [0] * 6,
        "g",
        masks={"train_mask": train, "val_mask": val, "test_mask": test},
    )
    chosen = [public(graph, seed) for seed in (0, 1, 2, 3, 4)]
    assert [split.parts["train"].tolist() for split in chosen] == [[0], [1], [2], [0], [1]]
    assert [split.parts["val"].tolist() for split in chosen] == [[1], [2], [0], [1], [2]]
    assert chosen[0].hash == chosen[3].hash != chosen[1].hash
    assert all(split.parts["test"].tolist() == [3, 4, 5] for split in chosen)


def test_public_split_that_does_not_exist() -> None:
    with pytest.raises(
        Unsupported,
        match=(
            r"'random' has no public split .* pubmed and wiki_cs have one. Use"
            r" task=classification task.classification.protocol=random_10_10_80"
        ),
    ):
        public(random_graph())


@pytest.mark.parametrize("seed", range(5))
def test_link_split_parts(seed: int) -> None:
    graph = random_graph(seed=seed)
    edges = {(u, v) for u, v in graph.edge_index.T.tolist() if u < v}
    split = link_split(graph.edge_index, 60, np.random.default_rng(seed))
    parts = {name: pairs_of(part) for name, part in split.parts.items()}
    held_out = {"val_edges": round(0.05 * len(edges)), "test_edges": round(0.10 * len(edges))}
    sizes = {name: part.shape[1] for name, part in split.parts.items()}
    assert sizes == {
        **held_out,
        "train_edges": len(edges) - sum(held_out.values()),
        "val_non_edges": held_out["val_edges"],
        "test_non_edges": held_out["test_edges"],
    }
    assert {name: len(pairs) for name, pairs in parts.items()} == sizes, "a pair is there twice"
    assert parts["train_edges"] | parts["val_edges"] | parts["test_edges"] == edges
    assert all(parts[a].isdisjoint(parts[b]) for a, b in itertools.combinations(parts, 2))
    assert all(0 <= u < v < 60 for pairs in parts.values() for u, v in pairs)
    assert (parts["val_non_edges"] | parts["test_non_edges"]).isdisjoint(edges)
    assert split.protocol == "link_85_5_10"


def test_non_edges_are_uniform() -> None:
    nodes = 8
    edges = np.array([[0, 1, 2, 3, 4, 5, 0, 2, 4, 1], [1, 2, 3, 4, 5, 6, 7, 7, 7, 6]])
    free = set(itertools.combinations(range(nodes), 2)) - pairs_of(edges)
    counts = dict.fromkeys(free, 0)
    for seed in range(900):
        split = link_split(edges, nodes, np.random.default_rng(seed), val=0.1, test=0.1)
        for name in ("val_non_edges", "test_non_edges"):
            for pair in pairs_of(split.parts[name]):
                counts[pair] += 1
    # 18 free pairs, 1800 draws: 100 each, standard deviation 9.5.
    assert min(counts.values()) > 60 and max(counts.values()) < 140


def test_every_free_pair_can_be_needed() -> None:
    pairs = np.array(list(itertools.combinations(range(8), 2))).T
    edges, free = pairs[:, 4:], pairs_of(pairs[:, :4])
    parts = link_split(edges, 8, np.random.default_rng(0), val=2 / 24, test=2 / 24).parts
    assert pairs_of(parts["val_non_edges"]) | pairs_of(parts["test_non_edges"]) == free


def test_link_split_that_cannot_be() -> None:
    rng = np.random.default_rng(0)
    complete = np.array(list(itertools.combinations(range(8), 2))).T
    with pytest.raises(
        Unsupported, match="needs 4 pairs that are no edges; this graph is so dense that it has 0"
    ):
        link_split(complete, 8, rng)
    with pytest.raises(
        Unsupported, match="holds out 5% and 10% of the edges; this graph has 3, too few"
    ):
        link_split(complete[:, :3], 8, rng)
    with pytest.raises(Unsupported, match="this graph has 0, too few"):
        link_split(np.empty((2, 0), dtype=np.int64), 8, rng)
    with pytest.raises(
        ValueError, match="must be positive and sum to less than 1, not val=0.5, test=0.5"
    ):
        link_split(complete, 8, rng, val=0.5, test=0.5)


def test_leak_check() -> None:
    graph = random_graph()
    split = link_split(graph.edge_index, 60, np.random.default_rng(0))
    train = make_graph(graph.x, split.parts["train_edges"], None, "train", undirected=True)
    check_no_leak(split, train)
    for part in ("val_edges", "test_edges"):
        u, v = split.parts[part][:, 0]
        leaky = train.clone()
        leaky.edge_index = torch.cat([train.edge_index, torch.tensor([[int(v)], [int(u)]])], dim=1)
        with pytest.raises(
            LeakError,
            match=(
                rf"1 of \d+ pairs of '{part}' are edges of the training graph 'train', the first is"
                rf" \({u}, {v}\)"
            ),
        ):
            check_no_leak(split, leaky)
    with pytest.raises(LeakError, match="val_edges"):
        check_no_leak(split, graph)


def test_the_order_of_cora_s_file_is_the_mirror_s(real_data: Path) -> None:
    order = CORA_CONTENT_ORDER.read_bytes()
    assert order == (real_data / "Planetoid/Cora/content_order.txt").read_bytes()
    assert sorted(map(int, order.split())) == list(range(2708))


def test_pygcn_goes_by_position_in_cora_s_file(real_data: Path) -> None:
    graph = DATASETS.load("cora")().load()
    order = [int(line) for line in CORA_CONTENT_ORDER.read_text().splitlines()]
    split = pygcn(graph)
    assert split.protocol == "pygcn" and {
        name: part.tolist() for name, part in split.parts.items()
    } == {
        "train": sorted(order[:140]),
        "val": sorted(order[200:500]),
        "test": sorted(order[500:1500]),
    }
    assert split.hash == pygcn(graph).hash != public(graph).hash
    # It is no part of the graph: ids of Cora's runs stay.
    assert graph.content_hash.startswith("054581281f824491")


def test_pygcn_is_of_cora_in_planetoid_s_order_alone() -> None:
    asked = (
        r"pygcn is of dataset=cora alone .*, and this is '%s'. Use"
        " task.classification.protocol=random_10_10_80"
    )
    for name, y in (("random", None), ("cora", np.arange(2708) % 7)):
        graph = make_graph(np.ones((2708, 1)), np.empty((2, 0), int), y, name)
        with pytest.raises(Unsupported, match=asked % name):
            pygcn(graph)
