"""Maps of embeddings: deterministic, on the same nodes for every embedding, with classes for
colours only."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.metrics import silhouette_score

from gclbench.config.validation import experiment_of
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported
from gclbench.launch.execution import execute
from gclbench.records import Store
from gclbench.tasks.tsne import TsneMap
from gclbench.training.streams import Streams

TASK = TsneMap(perplexity=5.0)


@pytest.fixture
def graph(toy: Callable[..., Graph]) -> Graph:
    return toy(nodes=60)


def test_separated_classes_stay_apart_on_the_map(graph: Graph) -> None:
    embedding = Embedding(10 * torch.eye(3)[graph.y] + 0.1 * graph.x)
    data = TASK.data(embedding, graph, None, Streams(0))
    places, classes = np.array([data["x"], data["y"]]).T, np.array(data["classes"])
    assert classes.tolist() == graph.y.tolist() and places.shape == (60, 2) and data["nodes"] == 60
    distances = np.linalg.norm(places[:, None] - places[None], axis=2) + np.diag([np.inf] * 60)
    assert (classes[distances.argmin(axis=1)] == classes).all(), (
        "every node's nearest neighbour on the map is of its class"
    )
    assert (
        data["silhouette"] == pytest.approx(silhouette_score(places, classes))
        and data["silhouette"] > 0.5
    )
    assert 0 < data["kl_divergence"] < 2


def test_the_metric_is_the_silhouette_of_the_embedding_not_of_the_map(graph: Graph) -> None:
    metrics = TASK.evaluate(Embedding(graph.x), graph, None, Streams(0))
    assert metrics == {
        "silhouette": pytest.approx(silhouette_score(graph.x.numpy(), graph.y.numpy()))
    }
    unit = torch.nn.functional.normalize(graph.x, dim=1)
    scaled = TASK.evaluate(Embedding(graph.x, geometry="cosine"), graph, None, Streams(0))
    assert scaled == {"silhouette": pytest.approx(silhouette_score(unit.numpy(), graph.y.numpy()))}


def test_a_map_is_the_same_twice_and_rounded(graph: Graph) -> None:
    first, again = (TASK.data(Embedding(graph.x), graph, None, Streams(0)) for _ in range(2))
    assert first == again and len(set(first["x"])) > 30
    assert all(round(value, 2) == value for value in first["x"] + first["y"])
    assert json.loads(json.dumps(first)) == first


def test_a_large_graph_is_sampled_alike_for_every_embedding_of_a_seed(graph: Graph) -> None:
    task = TsneMap(points=30, perplexity=5.0)
    marks = torch.arange(60.0)[:, None]
    embeddings = [Embedding(torch.cat([marks, torch.randn(60, width)], dim=1)) for width in (2, 5)]
    chosen = [
        task._sample(embedding, graph, Streams(3))[0][:, 0].tolist() for embedding in embeddings
    ]
    assert chosen[0] == chosen[1] == sorted(chosen[0]) and len(set(chosen[0])) == 30
    assert task._sample(embeddings[0], graph, Streams(4))[0][:, 0].tolist() != chosen[0]
    data = task.data(embeddings[0], graph, None, Streams(3))
    assert (
        data["classes"] == graph.y[torch.tensor(chosen[0]).long()].tolist()
        and len(data["x"]) == 30
        and data["nodes"] == 60
    )


def test_without_classes_there_is_a_map_and_no_silhouette(toy: Callable[..., Graph]) -> None:
    graph = toy(nodes=60, y=None)
    assert TASK.evaluate(Embedding(graph.x), graph, None, Streams(0)) == {}
    data = TASK.data(Embedding(graph.x), graph, None, Streams(0))
    assert set(data["classes"]) == {-1} and "silhouette" not in data and len(set(data["x"])) > 30


def test_nodes_of_unknown_class_are_on_the_map_and_not_in_the_silhouette(
    toy: Callable[..., Graph],
) -> None:
    labels = torch.arange(60) % 3
    labels[::2] = -1
    graph = toy(nodes=60, y=labels)
    known = labels >= 0
    metrics = TASK.evaluate(Embedding(graph.x), graph, None, Streams(0))
    assert metrics["silhouette"] == pytest.approx(
        silhouette_score(graph.x[known].numpy(), labels[known].numpy())
    )
    assert len(TASK.data(Embedding(graph.x), graph, None, Streams(0))["x"]) == 60


def test_too_few_nodes_are_unsupported_with_what_to_try(
    graph: Graph, toy: Callable[..., Graph]
) -> None:
    with pytest.raises(
        Unsupported,
        match=(
            r"perplexity 30 needs more than 90 nodes, and has 60 of 'toy'; try"
            r" task.tsne.perplexity=14"
        ),
    ):
        TsneMap().split(graph, Streams(0))
    with pytest.raises(Unsupported, match="needs more than 15 nodes, and has 15 of 'toy'"):
        TsneMap(points=15, perplexity=5.0).evaluate(Embedding(graph.x), graph, None, Streams(0))
    assert TASK.split(graph, Streams(0)) is None and not TASK.hides
    assert TASK.hide(graph, None) is graph and (TASK.labels(graph, None) == -1).all()
    TsneMap(perplexity=14.0).split(graph, Streams(0))


def test_an_embedding_of_equal_rows_has_no_map(graph: Graph) -> None:
    with pytest.raises(Unsupported, match="nothing to map: every row of the embedding is the same"):
        TASK.data(Embedding(torch.ones(60, 4)), graph, None, Streams(0))


def test_rows_that_are_missing_or_not_finite_are_an_error(graph: Graph) -> None:
    with pytest.raises(ValueError, match="the graph has 60 nodes"):
        TASK.evaluate(Embedding(graph.x[:-1]), graph, None, Streams(0))
    with pytest.raises(ValueError, match="NaN or infinite values in 60 of 60 rows"):
        TASK.data(Embedding(graph.x * torch.nan), graph, None, Streams(0))


# --- through the runner
# ---------------------------------------------------------------------------------------

SBM = ["dataset=sbm", "dataset.nodes=60", "device=cpu", "method=kmeans", "task.tsne.perplexity=5"]


def test_a_run_keeps_its_map_in_the_record_and_other_tasks_keep_none(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    records = execute(experiment_of([*SBM, "task=[tsne,clustering]"]))
    by_task = {record.name("task"): record for record in records}
    assert (
        by_task["tsne"].ok
        and len(by_task["tsne"].data["x"]) == 60
        and by_task["clustering"].data == {}
    )
    stored = {record.name("task"): record for record in Store(tmp_path / "runs").scan()}
    assert stored["tsne"].data == by_task["tsne"].data and stored["clustering"].data == {}
    assert '"data"' not in Store(tmp_path / "runs").path(by_task["clustering"].id).read_text()


def test_a_map_that_cannot_be_made_is_recorded_as_unsupported(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    (record,) = execute(experiment_of([*SBM[:-1], "task=tsne"]))
    assert (
        record.status == "unsupported"
        and record.data == {}
        and "try task.tsne.perplexity=14" in record.reason
    )
