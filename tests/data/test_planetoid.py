from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

from gclbench.component.registry import DATASETS
from gclbench.data import catalog, mirror
from gclbench.data.dataset_info import DatasetInfo, RawFile
from gclbench.data.planetoid import read_planetoid, unpickle
from gclbench.data.splits import public
from gclbench.graph import Graph, GraphError

LABELLED, TRAIN = 530, 6
PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")


class Tiny:
    """A dataset in Planetoid's format: 530 nodes in allx, then test nodes in any order, possibly
    with holes."""

    def __init__(self, folder: Path, test: list[int], features: int = 5) -> None:
        rng = np.random.default_rng(0)
        count = max(test) + 1
        self.features = np.round(
            rng.random((count, features)) * (rng.random((count, features)) < 0.5), 3
        ).astype(np.float32)
        self.labels = rng.integers(0, 3, count)
        for hole in set(range(LABELLED, count)) - set(test):
            self.features[hole] = 0
            self.labels[hole] = 0
        one_hot = np.eye(3, dtype=np.int32)[self.labels]
        self.links = {u: rng.integers(0, count, 3).tolist() for u in test} | {0: [1, 1, 0], 1: [0]}
        content: dict[str, Any] = {
            "x": scipy.sparse.csr_matrix(self.features[:TRAIN]),
            "y": one_hot[:TRAIN],
            "tx": scipy.sparse.csr_matrix(self.features[test]),
            "ty": one_hot[test],
            "allx": scipy.sparse.csr_matrix(self.features[:LABELLED]),
            "ally": one_hot[:LABELLED],
            "graph": self.links,
        }
        folder.mkdir(parents=True, exist_ok=True)
        self.files = {part: folder / f"ind.pubmed.{part}" for part in PARTS}
        for part, value in content.items():
            self.files[part].write_bytes(pickle.dumps(value, protocol=2))
        self.files["test.index"].write_text("\n".join(str(node) for node in test) + "\n")


def test_rows_labels_edges_and_masks_go_where_they_belong(tmp_path: Path) -> None:
    test = [533, 530, 534, 532, 531]
    tiny = Tiny(tmp_path, test)
    graph = read_planetoid(tiny.files, "pubmed")
    assert np.array_equal(graph.x.numpy(), tiny.features)
    assert graph.y.tolist() == tiny.labels.tolist()
    expected = {
        (u, v)
        for a, group in tiny.links.items()
        for b in group
        for u, v in ((a, b), (b, a))
        if u != v
    }
    assert {tuple(pair) for pair in graph.edge_index.T.tolist()} == expected
    assert graph.train_mask.nonzero().flatten().tolist() == list(range(TRAIN))
    assert graph.val_mask.nonzero().flatten().tolist() == list(range(TRAIN, TRAIN + 500))
    assert graph.test_mask.nonzero().flatten().tolist() == sorted(test)


def test_nodes_that_are_in_no_file(tmp_path: Path) -> None:
    test = [536, 530, 533]
    tiny = Tiny(tmp_path, test)
    graph = read_planetoid(tiny.files, "citeseer")
    assert (
        np.array_equal(graph.x.numpy(), tiny.features) and graph.y.tolist() == tiny.labels.tolist()
    )
    assert (
        graph.repairs[0]
        == "4 node(s) of the test range are in no file: zero features and class 0, as"
        " torch_geometric has them."
    )
    assert graph.test_mask.sum() == 3


@pytest.fixture
def tiny_pubmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tiny:
    """Tiny files in a mirror, and a page of `pubmed` that has their checksums, allx's left out."""
    tiny = Tiny(tmp_path / "m" / "Planetoid" / "PubMed" / "raw", [530, 532, 531])
    files = tuple(
        RawFile(file.path, () if part == "allx" else (_sha256(tiny.files[part]),), file.urls)
        for file in catalog.info("pubmed").files
        for part in [file.path.partition("ind.pubmed.")[2]]
    )
    page = DatasetInfo("pubmed", "", "", "", files=files)
    monkeypatch.setitem(catalog.CATALOG, "pubmed", page)
    monkeypatch.setenv("GCLBENCH_MIRROR", str(tmp_path / "m"))
    return tiny


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_dataset_loads_from_files_in_the_mirror_s_layout(tiny_pubmed: Tiny) -> None:
    graph = DATASETS.load("pubmed")().load()
    assert np.array_equal(graph.x.numpy(), tiny_pubmed.features) and graph.name == "pubmed"
    unchecked = [repair for repair in graph.repairs if "no checksum to compare with" in repair]
    assert unchecked == [
        "Planetoid/PubMed/raw/ind.pubmed.allx: no checksum to compare with; sha256 seen"
        f" {_sha256(tiny_pubmed.files['allx'])}."
    ]
    assert {name: part.size for name, part in public(graph).parts.items()} == {
        "train": TRAIN,
        "val": 500,
        "test": 3,
    }


def test_missing_files_are_told_in_one_message(tiny_pubmed: Tiny, tmp_path: Path) -> None:
    tiny_pubmed.files["allx"].unlink()
    tiny_pubmed.files["y"].write_bytes(b"something else")
    with pytest.raises(mirror.DataUnavailable) as caught:
        DATASETS.load("pubmed")().load()
    text = str(caught.value)
    assert text.startswith("dataset 'pubmed': 2 of 8 files could not be had.")
    folder = tmp_path / "m" / "Planetoid" / "PubMed" / "raw"
    assert f"{folder / 'ind.pubmed.allx'}: no such file" in text
    assert "  checksum not known\n" in text
    assert f"{folder / 'ind.pubmed.y'}: wrong bytes, sha256 " in text
    assert "ind.pubmed.tx" not in text


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_same_as_torch_geometric(name: str, real_data: Path) -> None:
    from torch_geometric.io import read_planetoid_data

    ours: Graph = DATASETS.load(name)().load()
    theirs = read_planetoid_data(str(next(iter(mirror.path(name).values())).parent), name)
    assert torch.equal(ours.x, theirs.x) and torch.equal(ours.y, theirs.y)
    assert {tuple(pair) for pair in ours.edge_index.T.tolist()} == {
        tuple(pair) for pair in theirs.edge_index.T.tolist()
    }
    for mask in ("train_mask", "val_mask", "test_mask"):
        assert torch.equal(ours[mask], theirs[mask])
    assert {part: ids.size for part, ids in public(ours).parts.items()}["test"] == 1000


class Attack:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("/tmp/gclbench-was-here"),))


@pytest.mark.parametrize(
    "value", [Attack(), {"graph": [Attack()]}, np.array([Attack()], dtype=object)]
)
def test_a_pickle_cannot_run_code(value: object) -> None:
    with pytest.raises(
        GraphError,
        match=(
            r"doctored cannot be read: it asks for pathlib.*, which has no place in a Planetoid"
            r" file"
        ),
    ):
        unpickle(pickle.dumps(value, protocol=4), "doctored")
    assert not Path("/tmp/gclbench-was-here").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no pickle",
        pickle.dumps([1, 2])[:-2],
        b"cos\nsystem\n(S'true'\ntR.",
        b"c_codecs\nencode\n(S'a'\nS'zlib'\ntR.",
    ],
)
def test_damaged_pickles(data: bytes) -> None:
    with pytest.raises(GraphError, match="damaged cannot be read"):
        unpickle(data, "damaged")


def test_files_that_do_not_fit_together(tmp_path: Path) -> None:
    tiny = Tiny(tmp_path, [530, 531, 532])
    tiny.files["test.index"].write_text("530\n531\n")
    with pytest.raises(
        GraphError, match="files of 'pubmed' do not fit together: allx .530, 5., .* test.index .2,."
    ):
        read_planetoid(tiny.files, "pubmed")
    tiny.files["test.index"].write_text("530\n531\n12\n")
    with pytest.raises(
        GraphError, match="must name each test node once, after the 530 nodes of allx"
    ):
        read_planetoid(tiny.files, "pubmed")


@pytest.mark.parametrize(
    ("part", "value", "text"),
    [
        ("graph", [1], "should hold a dictionary of neighbour lists, not list"),
        ("allx", {"a": 1}, "should hold a csr matrix, not dict"),
        ("ty", np.arange(3), "should hold one-hot labels"),
    ],
)
def test_files_that_hold_something_else(
    tmp_path: Path, part: str, value: object, text: str
) -> None:
    tiny = Tiny(tmp_path, [530, 531, 532])
    tiny.files[part].write_bytes(pickle.dumps(value, protocol=4))
    with pytest.raises(GraphError, match=text):
        read_planetoid(tiny.files, "pubmed")
