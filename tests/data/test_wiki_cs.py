from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gclbench.component.registry import DATASETS
from gclbench.data.catalog import CATALOG
from gclbench.data.dataset_info import DatasetInfo, RawFile
from gclbench.data.mirror import DataUnavailable
from gclbench.data.splits import public
from gclbench.data.wiki_cs import read_wiki_cs
from gclbench.graph import GraphError


def content(nodes: int = 12, splits: int = 20) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    test = np.arange(nodes) >= nodes - 4
    train = np.array([np.arange(nodes) == rng.integers(0, 4) for _ in range(splits)])
    val = np.array([np.arange(nodes) == rng.integers(4, 8) for _ in range(splits)])
    return {
        "features": rng.standard_normal((nodes, 3)).tolist(),
        "labels": (np.arange(nodes) % 3).tolist(),
        "links": [[1, 2], [0], [2, 5, 5]] + [[] for _ in range(nodes - 3)],
        "train_masks": train.tolist(),
        "val_masks": val.tolist(),
        "stopping_masks": val.tolist(),
        "test_mask": test.tolist(),
    }


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_a_file_in_the_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = content()
    path = write(tmp_path / "m" / "WikiCS" / "raw" / "data.json", made)
    monkeypatch.setenv("GCLBENCH_MIRROR", str(tmp_path / "m"))
    with pytest.raises(DataUnavailable, match=r"git blob f1b743119df1a7a3bca449039c54034ae623a756"):
        DATASETS.load("wiki_cs")().load()
    data = path.read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    files = (RawFile("WikiCS/raw/data.json", (), (), git_blob=blob),)
    monkeypatch.setitem(CATALOG, "wiki_cs", DatasetInfo("wiki_cs", "", "", "", files=files))
    graph = DATASETS.load("wiki_cs")().load()
    assert np.allclose(graph.x.numpy(), made["features"]) and graph.y.tolist() == made["labels"]
    assert graph.edge_index.T.tolist() == [[0, 1], [0, 2], [1, 0], [2, 0], [2, 5], [5, 2]]
    assert graph.repairs == (
        "1 self-loop(s) dropped.",
        "1 repeated edge entry dropped.",
        "2 edge(s) stored in one direction only were made undirected.",
    )
    assert graph.train_mask.shape == graph.val_mask.shape == (12, 20) and graph.test_mask.shape == (
        12,
    )
    for seed in (0, 7, 27):
        parts = public(graph, seed).parts
        assert parts["train"].tolist() == np.flatnonzero(made["train_masks"][seed % 20]).tolist()
        assert parts["val"].tolist() == np.flatnonzero(made["val_masks"][seed % 20]).tolist()
        assert parts["test"].tolist() == [8, 9, 10, 11]


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    made = content()
    write(path, {key: value for key, value in made.items() if key != "links"})
    with pytest.raises(GraphError, match="has no 'links'; it has features, labels"):
        read_wiki_cs(path)
    for links in ({"0": [1]}, [[0], 3], [["1"]] * 12):
        write(path, made | {"links": links})
        with pytest.raises(GraphError, match="'links' must hold a list of node ids for each node"):
            read_wiki_cs(path)
    write(path, made | {"links": [[]]})
    with pytest.raises(GraphError, match="'links' has 1 entries for 12 nodes"):
        read_wiki_cs(path)
    write(path, made | {"features": [[1.0], [1.0, 2.0]]})
    with pytest.raises(GraphError, match="'features' is no array of numbers"):
        read_wiki_cs(path)
    write(path, [1, 2])
    with pytest.raises(GraphError, match="has no 'features'; it has no keys at all"):
        read_wiki_cs(path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(GraphError, match="data.json is not JSON"):
        read_wiki_cs(path)
