"""Datasets that are generated or computed are the same graph with any number of threads.

Files are read by one thread; what is computed from them is `make_graph`, which `custom` tries with
every repair.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from gclbench.component.registry import DATASETS
from gclbench.data.catalog import CATALOG
from gclbench.graph import Graph

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("digits", {"neighbours": 5}),
    ("digits", {"neighbours": 10}),
    ("digits", {"neighbours": 15}),
    ("sbm", {"nodes": 4000, "features": 100}),
    ("rmat", {"scale": 13}),
    ("custom", {"path": "graph.npz"}),
    ("custom_graphs", {"path": "graphs.npz"}),
]
"""Large enough for libraries to share the work out among threads."""


@pytest.fixture
def custom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's graph with self-loops, repetitions, one-way edges, gaps in labels, lone nodes."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 2990, (2, 40_000))
    labels = rng.choice([-1, 0, 3, 7], 3000)
    x = rng.normal(size=(3000, 70))
    np.savez("graph.npz", x=x, edge_index=edges, y=labels)
    graph_of, inside = np.arange(3000) // 30, edges // 30 * 30
    inside = np.stack([edges[0], inside[0] + edges[1] % 30])
    inside = inside[:, inside.max(axis=0) < 3000]
    np.savez("graphs.npz", x=x, edge_index=inside, y=labels[:100], graph_of=graph_of)


def load(name: str, settings: dict[str, Any], threads: int) -> Graph:
    before = torch.get_num_threads()
    with threadpool_limits(threads):
        torch.set_num_threads(threads)
        try:
            return DATASETS.load(name)(**settings).load()
        finally:
            torch.set_num_threads(before)


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_threads_do_not_change_a_graph(custom: None, name: str, settings: dict[str, Any]) -> None:
    graphs = {threads: load(name, settings, threads) for threads in (1, 2, 4)}
    assert len({graph.content_hash for graph in graphs.values()}) == 1
    assert len({graph.repairs for graph in graphs.values()}) == 1
    if name == "custom":
        assert len(graphs[1].repairs) == 5, graphs[1].repairs


def test_every_dataset_without_files_is_tried() -> None:
    # `tu` is any collection of the TU datasets: its files are downloaded.
    computed = {name for name, page in CATALOG.items() if not page.files} - {"tu"}
    assert computed == {name for name, _ in SETTINGS}
