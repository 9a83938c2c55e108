from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

from gclbench.component.registry import DATASETS
from gclbench.component.settings import identity_of
from gclbench.data import mirror
from gclbench.data.graph_counts import describe_graph
from gclbench.data.npz import read_npz
from gclbench.graph import GraphError


def members(nodes: int = 4) -> dict[str, Any]:
    features = scipy.sparse.csr_matrix(
        np.array([[0.2, 0, 3], [0, -1, 0], [0, 0, 0], [1, 1, 0]], dtype=np.float32)
    )
    adjacency = scipy.sparse.csr_matrix(
        np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])[:nodes, :nodes]
    )
    made: dict[str, Any] = {"labels": np.array([0, 1, 1, 0])}
    for prefix, matrix in (("attr", features), ("adj", adjacency)):
        made |= {
            f"{prefix}_{part}": getattr(matrix, part)
            for part in ("data", "indices", "indptr", "shape")
        }
    return made


def test_features_become_binary_and_edges_undirected(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", **members())
    graph = read_npz(tmp_path / "g.npz", "g", ("Seen.",))
    assert graph.x.tolist() == [[1, 0, 1], [0, -1, 0], [0, 0, 0], [1, 1, 0]]
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.y.tolist() == [0, 1, 1, 0]
    assert graph.repairs == (
        "Seen.",
        "1 self-loop(s) dropped.",
        "1 edge(s) stored in one direction only were made undirected.",
    )
    counted = read_npz(tmp_path / "g.npz", "g", binary=False)
    assert torch.equal(counted.x, torch.tensor([[0.2, 0, 3], [0, -1, 0], [0, 0, 0], [1, 1, 0]]))


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    whole = members()
    np.savez(path, **{key: value for key, value in whole.items() if key != "adj_indptr"})
    with pytest.raises(GraphError, match="g.npz cannot be read as the graph 'g': .*adj_indptr"):
        read_npz(path, "g")
    np.savez(path, **(whole | {"attr_indices": whole["attr_indices"] + 7}))
    with pytest.raises(
        GraphError, match="attr_data, attr_indices, attr_indptr and attr_shape make no csr matrix"
    ):
        read_npz(path, "g")
    np.savez(path, **members(3))
    with pytest.raises(
        GraphError,
        match=r"adjacency matrix of shape \(3, 3\) and features of shape \(4, 3\) do not fit",
    ):
        read_npz(path, "g")
    np.savez(path, **(whole | {"labels": np.array([{}, {}, {}, {}])}))
    with pytest.raises(GraphError, match="Object arrays cannot be loaded"):
        read_npz(path, "g")
    path.write_bytes(b"<html>")
    with pytest.raises(GraphError, match="g.npz cannot be read as the graph 'g'"):
        read_npz(path, "g")


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("amazon_photo", {}),
        ("amazon_computers", {}),
        ("dblp_citation", {}),
        pytest.param("coauthor_cs", {"features": "binary"}, marks=pytest.mark.slow),
    ],
)
def test_same_as_torch_geometric(name: str, settings: dict[str, str], real_data: Path) -> None:
    from torch_geometric.io import read_npz as read_theirs

    ours = DATASETS.load(name)(**settings).load()
    (path,) = mirror.locate(mirror.info(name)).values()
    theirs = read_theirs(str(path))
    assert torch.equal(ours.x, theirs.x) and torch.equal(ours.y, theirs.y)
    assert torch.equal(ours.edge_index, theirs.edge_index)


@pytest.mark.slow
def test_coauthor_features_are_counts_unless_asked_otherwise(real_data: Path) -> None:
    dataset = DATASETS.load("coauthor_cs")
    counts, binary = dataset().load().x, dataset(features="binary").load().x
    assert float(counts.max()) == 105 and torch.equal(counts, counts.round())
    assert torch.equal((counts > 0).to(torch.float32), binary)


def test_known_repairs_of_amazon_photo(real_data: Path) -> None:
    graph = DATASETS.load("amazon_photo")().load()
    assert graph.repairs == (
        "1 self-loop(s) dropped.",
        "94500 edge(s) stored in one direction only were made undirected.",
    )


def test_as_stored_every_entry_is_an_edge(tmp_path: Path) -> None:
    """0–1 is stored in both directions, 1–2 in one; the loop goes."""
    np.savez(tmp_path / "g.npz", **members())
    graph = read_npz(tmp_path / "g.npz", "g", as_stored=True)
    assert graph.edge_index.tolist() == [[0, 0, 1, 1, 1, 2], [1, 1, 0, 0, 2, 1]]
    assert graph.repairs == (
        "Each stored entry is an edge of its own (A + Aᵀ): an edge stored in both directions is"
        " there twice.",
        "1 self-loop(s) dropped.",
    )


def test_amazon_photo_as_stored(real_data: Path) -> None:
    """Twice the paper's 71,831 edges, but for the one loop; the default's content, and with it the
    ids of its runs, is that of before the setting."""
    dataset = DATASETS.load("amazon_photo")
    simple, stored = dataset().load(), dataset(edges="as_stored").load()
    assert simple.content_hash.startswith("a8ea0bfdd89e3020")
    assert stored.content_hash != simple.content_hash
    counts = describe_graph(stored)
    assert counts["edges"] == 2 * 71831 and counts["pairs"] == 119081
    assert torch.equal(stored.edge_index.unique(dim=1), simple.edge_index)
    assert identity_of(dataset()) == {} and identity_of(dataset(edges="as_stored")) == {
        "edges": "as_stored"
    }
