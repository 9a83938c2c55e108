"""`gclbench.fit` on graphs in memory, `gclbench.runs`, and tables with rows of one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data, Dataset

import gclbench
from gclbench.config.validation import ConfigErrors
from gclbench.data.file_format import WITHOUT
from gclbench.data.in_memory import graph_of
from gclbench.graph import MASKS, GraphError
from gclbench.paper.sources import MissingStore
from gclbench.run import datasets

SMALL = {"dataset": "sbm", "dataset.nodes": 60, "dataset.classes": 2, "device": "cpu"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("GCLBENCH_OFFLINE", "1")
    datasets.load.cache_clear()
    return tmp_path


def ring(labels: bool = False) -> networkx.Graph:
    graph = networkx.cycle_graph(["d", "a", "c", "b", "e"])
    for place, node in enumerate(graph):
        graph.nodes[node]["x"] = [float(place), 1.0]
        if labels:
            graph.nodes[node]["y"] = place % 2
    return graph


# --- the graph


def test_nodes_of_networkx_are_in_their_order() -> None:
    graph = graph_of(ring(labels=True))
    assert graph.x[:, 0].tolist() == [0, 1, 2, 3, 4] and graph.y.tolist() == [0, 1, 0, 1, 0]
    assert graph.edge_index.shape == (2, 10) and graph.repairs == ()
    assert graph_of(graph) is graph


def test_what_is_repaired_or_not_used_is_said() -> None:
    graph = networkx.DiGraph(ring().edges)
    networkx.set_node_attributes(graph, dict.fromkeys(graph, 1.5), "x")
    networkx.set_edge_attributes(graph, 2.0, "weight")
    assert "made undirected" in graph_of(graph).repairs[0]
    assert graph_of(graph, weights="ignore").repairs[0] == WITHOUT
    with pytest.raises(GraphError, match="5 of 5 edges stand in one direction only. dataset.dir"):
        graph_of(graph, direction="refuse")
    data = Data(
        x=torch.rand(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.ones(3, 1).long()
    )
    data.edge_attr = torch.ones(2, 3)
    found = graph_of(data)
    assert found.repairs[0].startswith("edge_attr is not used: its shape is (2, 3)")
    assert found.y is not None and found.edge_weight is None


def test_weights_of_edges_are_read() -> None:
    graph = ring()
    graph.edges["d", "a"]["weight"] = 2.5
    assert graph_of(graph).edge_weight.tolist() == [2.5, 1, 2.5, 1, 1, 1, 1, 1, 1, 1]
    assert graph_of(graph, weights="ignore").content_hash == graph_of(ring()).content_hash
    pairs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    weight = torch.tensor([2.0, 2.0, 3.0, 3.0])
    expected = Data(x=torch.eye(3), edge_index=pairs, edge_weight=weight)
    attributes = Data(x=torch.eye(3), edge_index=pairs, edge_attr=weight[:, None])
    first, second = graph_of(expected), graph_of(attributes)
    assert first.edge_weight.tolist() == weight.tolist() and first.repairs == ()
    assert second.content_hash == first.content_hash
    assert second.repairs == ("edge_attr is taken for the edges' weights.",)
    assert graph_of(first, weights="ignore").edge_weight is None


def test_arrays_of_a_data_are_read_as_tensors_are() -> None:
    pairs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    weight = torch.tensor([0.5, 0.5, 2.0, 2.0])
    masks = {key: torch.eye(3, dtype=torch.bool)[place] for place, key in enumerate(MASKS)}
    tensors = {"x": torch.eye(3), "edge_index": pairs, "edge_attr": weight, **masks}
    given = Data(**{key: value.numpy() for key, value in tensors.items()})
    found, usual = graph_of(given), graph_of(Data(**tensors))
    assert found.repairs == usual.repairs == ("edge_attr is taken for the edges' weights.",)
    for key in ("x", "edge_index", "edge_weight", *MASKS):
        assert torch.equal(found.get(key), usual.get(key)), key
    assert isinstance(given.x, np.ndarray), "what was given stays as it is"
    backwards = Data(x=np.eye(3, dtype=np.float32)[::-1], edge_index=pairs)
    assert torch.equal(graph_of(backwards).x, torch.eye(3).flip(0))
    with pytest.raises(GraphError, match="x is an array of <U1, which torch has no numbers for"):
        graph_of(Data(x=np.array([["a"]]), edge_index=pairs))
    collection = [Data(x=np.eye(3, dtype=np.float32), edge_index=pairs.numpy(), y=0)] * 2
    assert torch.equal(graph_of(collection).x, torch.eye(3).repeat(2, 1))


def test_fit_reads_a_graph_as_it_is_told() -> None:
    pairs = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    data = Data(x=torch.rand(4, 2), edge_index=torch.cat([pairs, pairs.flip(0)], dim=1))
    plain, quick = Data(**data.to_dict()), {"settings": {"epochs": 2}, "progress": False}
    data.edge_weight = torch.tensor([1.0, 2, 3, 4] * 2)
    of = {"use": gclbench.fit(graph=data, method="dgi", **quick)}
    with pytest.warns(UserWarning, match="graph: The edges' weights are ignored"):
        of["ignore"] = gclbench.fit(
            graph=data, method="dgi", **quick, **{"dataset.weights": "ignore"}
        )
    expected = gclbench.fit(graph=plain, method="dgi", **quick)
    assert np.array_equal(of["ignore"], expected) and not np.array_equal(of["use"], expected)
    data.edge_weight = torch.arange(8.0) + 1
    with pytest.raises(GraphError, match="4 of 4 have entries of different weights"):
        gclbench.fit(graph=data, method="dgi", **quick, **{"dataset.direction": "refuse"})


@pytest.mark.parametrize(
    "graph,text",
    [
        ({1, 2}, "graph is of type set; it must be a torch_geometric Data with x and edge_index"),
        (Data(x=torch.rand(3, 2)), "the Data has no edge_index .node pairs, 2 × edges."),
        (Data(edge_index=torch.zeros(2, 1).long()), "the Data has no x .features, nodes"),
        (networkx.path_graph(3), "3 of 3 nodes have no attribute 'x', their features, 0 the first"),
        (networkx.Graph(), "0 of 0 nodes have no attribute 'x'"),
    ],
)
def test_a_graph_that_cannot_be_used(graph: Any, text: str) -> None:
    with pytest.raises(GraphError, match=text):
        graph_of(graph)


def test_masks_are_all_there_or_none() -> None:
    first, second, third = torch.eye(3, dtype=torch.bool)
    data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.arange(3) % 2)
    data.train_mask, data.val_mask = first, second
    with pytest.raises(GraphError, match="train_mask, val_mask only; give all of train_mask"):
        graph_of(data)
    data.test_mask = third
    assert bool(graph_of(data).train_mask[0])


def test_features_of_unlike_length() -> None:
    graph = ring()
    graph.nodes["c"]["x"] = [1.0]
    with pytest.raises(
        GraphError, match=r"features of node 'c' have shape \(1,\); every node must"
    ):
        graph_of(graph)


# --- fit


def test_a_graph_in_memory_is_embedded_as_the_dataset_is() -> None:
    loaded = gclbench.load("sbm", nodes=60, classes=2)
    settings = {"epochs": 3, "tau": 0.3}
    expected = gclbench.embed(**SMALL, method="grace", settings=settings, progress=False)
    for graph in (loaded, Data(x=loaded.x, edge_index=loaded.edge_index)):
        found = gclbench.fit(graph=graph, method="grace", settings=settings, progress=False)
        assert np.array_equal(found, expected) and found.dtype == np.float32
    other = gclbench.fit(graph=loaded, method="grace", settings={"epochs": 3}, progress=False)
    assert not np.array_equal(other, expected)
    assert not Path("runs").exists()


class Several(Dataset):
    """A data set of torch_geometric's."""

    def __init__(self, graphs: list[Data]):
        super().__init__()
        self.graphs = graphs

    def len(self) -> int:
        return len(self.graphs)

    def get(self, place: int) -> Data:
        return self.graphs[place]


def rings(lengths: range) -> list[Data]:
    """Circles of nodes, the even ones of one class and the odd ones of another."""
    graphs = []
    for length in lengths:
        here = torch.arange(length)
        there = (here + 1) % length
        pairs = torch.cat([torch.stack([here, there]), torch.stack([there, here])], dim=1)
        graphs.append(Data(x=torch.ones(length, 2), edge_index=pairs, y=torch.tensor([length % 2])))
    return graphs


def test_a_list_of_graphs_is_a_collection() -> None:
    graphs, settings = rings(range(4, 16)), {"epochs": 2}
    found = gclbench.fit(graph=graphs, method="graphcl", settings=settings, progress=False)
    assert found.shape == (12, 96)
    batch = Batch.from_data_list(graphs)
    again = gclbench.fit(graph=batch, method="graphcl", settings=settings, progress=False)
    assert np.array_equal(found, again)
    alike = gclbench.fit(graph=Several(graphs), method="graphcl", settings=settings, progress=False)
    assert np.array_equal(found, alike)
    plain = Data(x=batch.x, edge_index=batch.edge_index, batch=batch.batch)
    alike = gclbench.fit(graph=plain, method="graphcl", settings=settings, progress=False)
    assert np.array_equal(found, alike)
    read = graph_of(graphs)
    assert read.y.tolist() == [0, 1] * 6 and read.items == 12
    # The same method's name on nodes is another one.
    alone = without(graphs[-1].clone(), "y")
    found = gclbench.fit(graph=alone, method="graphcl", settings=settings, progress=False)
    assert len(found) == 15
    with pytest.raises(
        gclbench.RunFailed, match="grace.* embeds nodes, and .graph. is a collection of 12 graphs"
    ):
        gclbench.fit(graph=graphs, method="grace", progress=False)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda graphs: [], "the list holds no graph"),
        (
            lambda graphs: [*graphs, 3],
            "item 3 of the list is of type int; a collection is a list of",
        ),
        (lambda graphs: [graphs[0], Data(edge_index=graphs[0].edge_index)], "graph 1 .* has no x"),
        (lambda graphs: [*graphs, Data(x=torch.zeros(0, 2), y=torch.ones(1))], "graph 3 .* no x"),
        (lambda graphs: [graphs[0], without(graphs[1], "y")], "1 of 2 graphs have no y, graph 1"),
        (
            lambda graphs: [graphs[0], without(graphs[1], "edge_index")],
            "1 of 2 graphs have no edge",
        ),
        (lambda graphs: [weighted(graphs[0]), graphs[1]], "have no edge_weight, graph 1 the first"),
        (lambda graphs: [graphs[0], weighted(graphs[1])], "have no edge_weight, graph 0 the first"),
        (
            lambda graphs: [graphs[0], Batch.from_data_list(graphs)],
            "item 1 of the list is of type DataB",
        ),
        (lambda graphs: [graphs[0], Data(x=torch.tensor(3.0))], "graph 1 .* no x, a tensor of"),
        (
            lambda graphs: [Data(**{**graphs[0].to_dict(), "y": graphs[0].x[:, 0].long()})],
            "a collection of one graph, whose y has a label for each .* as in graph=dataset.0.",
        ),
        (lambda graphs: Batch.from_data_list([*graphs, empty()]), "graph 3 .* has no x"),
        (lambda graphs: Batch(x=graphs[0].x, batch=torch.zeros(4).long()), "does not know its gr"),
        (lambda graphs: [graphs[0], wider(graphs[1])], "must have features and attributes of"),
    ],
)
def test_lists_that_are_no_collection(change: Callable, text: str) -> None:
    with pytest.raises(GraphError, match=text):
        graph_of(change(rings(range(4, 7))))


def empty() -> Data:
    """No node."""
    pairs = torch.zeros(2, 0, dtype=torch.long)
    return Data(x=torch.zeros(0, 2), edge_index=pairs, y=torch.tensor([0]))


def weighted(graph: Data) -> Data:
    graph.edge_weight = torch.full((graph.num_edges,), 2.0)
    return graph


def without(graph: Data, key: str) -> Data:
    del graph[key]
    return graph


def wider(graph: Data) -> Data:
    graph.x = torch.ones(graph.num_nodes, 3)
    return graph


def test_it_tells_what_was_repaired() -> None:
    data = Data(x=torch.rand(4, 2), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
    with pytest.warns(UserWarning, match=r"graph: 3 edge\(s\) stored in one direction only"):
        found = gclbench.fit(graph=data, method="kmeans", progress=False)
    assert np.allclose(found, data.x)


def test_it_names_what_is_wrong() -> None:
    data = Data(x=torch.rand(4, 2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(
        ConfigErrors, match="'method.tua' does not exist. Did you mean 'method.tau'"
    ):
        gclbench.fit(graph=data, method="grace", settings={"tua": 1})
    with pytest.raises(ValueError, match="takes its graph as graph=…, so leave dataset out"):
        gclbench.fit(graph=data, method="grace", dataset="cora")
    with pytest.raises(gclbench.RunFailed, match="grace · graph · seed 0: diverged"):
        gclbench.fit(graph=data, method="grace", settings={"lr": 1e30}, progress=False)


# --- runs


@pytest.fixture
def recorded() -> None:
    for settings in ({"n_init": 1}, {"n_init": 2}):
        keys = {f"task.clustering.{key}": value for key, value in settings.items()}
        gclbench.run(**SMALL, method="kmeans", task="clustering", seeds=2, progress=False, **keys)


def test_runs_are_a_table_with_filters(recorded: None) -> None:
    whole = gclbench.runs()
    assert len(whole) == 4 and {"id", "acc", "seed", "status", "task.n_init"} <= {*whole}
    assert list(whole.columns[:8]) == [
        *("id", "dataset", "filter", "method", "negatives", "task", "seed", "status")
    ]
    one = gclbench.runs("runs", seed=1, **{"task.n_init": 2})
    assert len(one) == 1 and one.loc[0, "seed"] == 1
    assert len(gclbench.runs(method=["kmeans", "grace"], seed=[0, 1])) == 4
    assert gclbench.runs(method="grace").empty
    with pytest.warns(UserWarning, match="no run has method 'gracee'. Did you mean 'grace'?"):
        assert gclbench.runs(method="gracee").empty
    with pytest.warns(UserWarning, match="no run has status 'okk'. Did you mean 'ok'?"):
        assert gclbench.runs(status="okk").empty


def test_runs_that_cannot_be_told(recorded: None) -> None:
    with pytest.raises(LookupError, match="no run has 'task.n_int'. Did you mean 'task.n_init'"):
        gclbench.runs(**{"task.n_int": 1})
    with pytest.raises(MissingStore, match="no folder 'nowhere'; give folders of records, such as"):
        gclbench.runs("nowhere")


def test_tables_of_own_runs_and_rows(recorded: None) -> None:
    own = gclbench.table("own", metric="acc")
    assert set(own["table"]) == {"own/clustering"}
    assert list(own["column"]) == ["kmeans task.n_init=1", "kmeans task.n_init=2", "chance"]
    assert list(own["n"]) == [2, 2, 2]
    with pytest.raises(ValueError, match="'grace' is in table nml/1 already, as grace"):
        gclbench.table("nml/1", rows="grace")
