"""Kinds of items: a fixture collection of graphs through a fixture task, and pairs that make no
sense."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from gclbench.cli import main
from gclbench.component.registry import DATASETS, METHODS, TASKS, Entry, Registry
from gclbench.config.composition import items_of_dataset
from gclbench.config.validation import resolved
from gclbench.data.splits import Split
from gclbench.embedding import Embedding
from gclbench.filters.laplacian import Laplacian
from gclbench.graph import Graph, Unsupported, make_graph
from gclbench.methods.dgi import Dgi
from gclbench.methods.graph_statistics import GraphStatistics
from gclbench.paper.matrix import OF_GRAPHS, half_of
from gclbench.records import Record, Store
from gclbench.tasks.classification import Classification
from gclbench.tasks.clustering import Clustering
from gclbench.tasks.items import check_items, embedded_by, items_of, method_refusal, refusal
from gclbench.training.streams import Streams

GRAPHS = 60
SBM = ("dataset=sbm", "dataset.nodes=80", "dataset.classes=2", "dataset.features=8")


@dataclass(frozen=True)
class RingsAndStars:
    """A collection of rings (class 0) and stars (class 1) of 4 to 9 nodes; features: the degree."""

    def load(self) -> Graph:
        rng = np.random.default_rng(0)
        classes, sizes = rng.permutation(GRAPHS) % 2, rng.integers(4, 10, GRAPHS)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        edges = []
        for star, size, start in zip(classes, sizes, starts, strict=True):
            nodes = np.arange(size)
            other = np.zeros(size, dtype=int) if star else (nodes + 1) % size
            edges.append(np.stack([nodes, other])[:, nodes != other] + start)
        pairs = np.concatenate(edges, axis=1)
        degrees = np.bincount(pairs.ravel(), minlength=sizes.sum())
        return make_graph(
            degrees[:, None],
            pairs,
            classes,
            "rings_and_stars",
            graph_of=np.repeat(np.arange(GRAPHS), sizes),
            undirected=True,
        )


@dataclass(frozen=True)
class SpreadPooling:
    """Each graph's mean and spread of the features; keeps what it was given."""

    version: ClassVar[str] = "1"
    items: ClassVar[tuple[str, ...]] = ("nodes", "graphs")
    needs_labels: ClassVar[bool] = True
    seen: ClassVar[list[tuple[Graph, Tensor]]] = []

    def fit(self, graph: Graph, labels: Tensor, rng: Any, watch: Any) -> Embedding:
        type(self).seen.append((graph, labels))
        if graph.item_kind == "nodes":
            return Embedding(graph.x)
        sizes = torch.bincount(graph.graph_of)[:, None]
        mean, square = (
            torch.zeros(graph.items, graph.x.shape[1]).index_add_(0, graph.graph_of, x) / sizes
            for x in (graph.x, graph.x.square())
        )
        return Embedding(torch.cat([mean, square - mean.square()], dim=1))


@dataclass(frozen=True)
class GraphProbe(Classification):
    """Classes of graphs by a linear probe."""

    items: ClassVar[str] = "graphs"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty working folder, and the classes above as components of another package."""

    def register(registry: Registry, name: str, cls: type) -> None:
        entry = Entry(name, "a test's", f"{cls.__module__}:{cls.__name__}", "a test", builtin=False)
        monkeypatch.setitem(registry.entries, name, entry)
        monkeypatch.setitem(registry._classes, name, cls)

    register(DATASETS, "rings_and_stars", RingsAndStars)
    register(METHODS, "spread_pooling", SpreadPooling)
    register(TASKS, "graph_probe", GraphProbe)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    SpreadPooling.seen.clear()
    return tmp_path


def run(*overrides: str) -> tuple[int, dict[str, Record]]:
    """The exit code of a command with the method above, and its records by task."""
    code = main(["method=spread_pooling", "device=cpu", *overrides])
    records = (Store(Path("runs")).read(path.name) for path in Path("runs").iterdir())
    return code, {record.name("task"): record for record in records if record is not None}


def test_a_collection_goes_through_a_task_of_graphs(here: Path) -> None:
    code, records = run("dataset=rings_and_stars", "filter=laplacian", "task=graph_probe")
    record = records["graph_probe"]
    assert (code, record.status) == (0, "ok"), record.reason
    assert record.metrics["accuracy"] == 1.0
    graph = RingsAndStars().load()
    assert record.spec["dataset_hash"] == graph.content_hash
    assert record.split["protocol"] == "random_10_10_80"
    ((seen, labels),) = SpreadPooling.seen
    assert (seen.items, seen.item_kind, seen.y) == (GRAPHS, "graphs", None)
    assert labels.shape == (GRAPHS,) and int((labels >= 0).sum()) == GRAPHS // 10
    # The filter smoothed every graph by itself.
    for number in (0, GRAPHS - 1):
        inside = graph.graph_of == number
        edges = graph.edge_index[:, inside[graph.edge_index[0]]] - int(inside.int().argmax())
        alone = make_graph(graph.x[inside], edges, None, "alone")
        assert torch.allclose(seen.x[inside], Laplacian().apply(alone).x, atol=1e-6)


def test_a_dataset_is_a_collection_where_its_own_task_says_so(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert items_of_dataset("rings_and_stars") == "nodes", "it states nothing"
    monkeypatch.setattr(RingsAndStars, "task", ("graph_probe",), raising=False)
    assert items_of_dataset("rings_and_stars") == "graphs"
    values = resolved(["method=gcn", "dataset=rings_and_stars"])
    assert (values["method"]["name"], [*values["task"]]) == ("gcn_graphs", ["graph_probe"])
    assert half_of("rings_and_stars") is OF_GRAPHS


def test_a_task_of_nodes_refuses_a_collection_and_the_others_go_on(here: Path) -> None:
    code, records = run("dataset=rings_and_stars", "task=[clustering,graph_probe]")
    assert code == 1 and records["graph_probe"].ok and len(SpreadPooling.seen) == 1
    assert (records["clustering"].status, records["clustering"].metrics) == ("unsupported", {})
    assert records["clustering"].reason == (
        "task=clustering evaluates embeddings of nodes, and 'rings_and_stars' is a collection of"
        " 60 graphs, so a method embeds its graphs; choose a task for graphs or a dataset of nodes"
    )


def test_a_task_of_graphs_refuses_a_single_graph_before_anything_is_trained(here: Path) -> None:
    _, records = run(*SBM, "task=graph_probe")
    assert records["graph_probe"].status == "unsupported" and not SpreadPooling.seen
    assert records["graph_probe"].reason == (
        "task=graph_probe evaluates embeddings of graphs, and 'sbm' is a single graph of 80 nodes,"
        " so a method embeds its nodes; choose a task for nodes or a dataset of graphs"
    )


def test_a_task_that_does_not_say_is_about_nodes() -> None:
    class Silent:
        """A task of another package."""

    assert (items_of(Silent()), items_of(Clustering()), items_of(GraphProbe())) == (
        "nodes",
        "nodes",
        "graphs",
    )
    collection = RingsAndStars().load()
    single = make_graph(np.ones((3, 1)), np.empty((2, 0), int), None, "g")
    assert refusal("silent", Silent(), single) is None
    assert refusal("probe", GraphProbe(), collection) is None
    check_items("silent", Silent(), "silent", Silent(), single)
    with pytest.raises(Unsupported, match="task=silent evaluates embeddings of nodes, and"):
        check_items("silent", Silent(), "silent", Silent(), collection)


def test_a_method_of_nodes_refuses_a_collection_and_one_of_graphs_a_single_graph() -> None:
    collection = RingsAndStars().load()
    single = make_graph(np.ones((3, 1)), np.empty((2, 0), int), None, "g")
    assert (embedded_by(Dgi()), embedded_by(GraphStatistics())) == (("nodes",), ("graphs",))
    assert method_refusal("dgi", Dgi(), single) is None
    assert method_refusal("spread", SpreadPooling(), single) is None
    assert method_refusal("spread", SpreadPooling(), collection) is None
    with pytest.raises(Unsupported) as caught:
        check_items("graph_probe", GraphProbe(), "dgi", Dgi(), collection)
    assert caught.value.reason == (
        "method=dgi embeds nodes, and 'rings_and_stars' is a collection of 60 graphs;"
        " method=graph_statistics embeds graphs, and task=graph_classification compares them"
    )
    with pytest.raises(Unsupported) as caught:
        check_items("clustering", Clustering(), "statistics", GraphStatistics(), single)
    assert caught.value.reason == (
        "method=statistics embeds graphs, and 'g' is a single graph of 3 nodes; method=grace embeds"
        " nodes, and dataset=mutag is a collection of graphs"
    )


def test_splits_divide_the_graphs_of_a_collection() -> None:
    collection = RingsAndStars().load()
    split: Split = GraphProbe().split(collection, Streams(0))
    ids = np.sort(np.concatenate([split.parts[part] for part in ("train", "val", "test")]))
    assert ids.tolist() == list(range(GRAPHS))
