"""What k-means, DeepWalk, AGC, SSGC, AGE and SDCN have in common: reruns, checkpoints, labels, and
what little some data gives them."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from gclbench.embedding import Embedding
from gclbench.graph import Unsupported, make_graph, without_labels
from gclbench.methods.agc import Agc
from gclbench.methods.age import Age
from gclbench.methods.deepwalk import DeepWalk
from gclbench.methods.kmeans import GivenFeatures
from gclbench.methods.sdcn import Sdcn
from gclbench.methods.ssgc import Ssgc
from gclbench.tasks.clustering import Clustering
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.streams import Streams
from gclbench.training.watch import Preempted, Watch

NODES = 24
NO_EDGES = torch.empty(2, 0, dtype=torch.long)

ALL: dict[str, Any] = {
    "kmeans": GivenFeatures(),
    "deepwalk": DeepWalk(walks=2, length=6, dimension=4),
    "agc": Agc(repetitions=1, n_init=2, max_order=6),
    "ssgc": Ssgc(repetitions=1, n_init=2, max_order=6),
    "age": Age(
        epochs=6, update_every=2, hidden=5, batch_size=20, upper_start=0.1, upper_end=0.05, n_init=2
    ),
    "sdcn": Sdcn(
        epochs=4,
        pretrain_epochs=2,
        batch_size=10,
        architecture=(6, 7),
        code=4,
        n_init=2,
        protocol="oracle",
    ),
}
UNTRAINED = ("kmeans", "agc", "ssgc")
"""They find the classes of the toy graph; a few steps of the others do not."""

every_method = pytest.mark.parametrize("name", ALL)
trained = pytest.mark.parametrize("name", ["age", "sdcn"])
needs_clusters = pytest.mark.parametrize("name", ["agc", "ssgc", "age", "sdcn"])


@pytest.fixture(autouse=True)
def gensim(name: str) -> None:
    if name == "deepwalk":
        pytest.importorskip("gensim", reason="gensim is an extra")


def toy(classes: int = 3, edges: Tensor | None = None, x: Tensor | None = None) -> Data:
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(NODES) % classes
    features = torch.rand(NODES, 8, generator=generator) + torch.nn.functional.one_hot(y, 8)
    near = torch.rand(NODES, NODES, generator=generator) < torch.where(y[:, None] == y, 0.4, 0.05)
    pairs = near.triu(1).nonzero().T if edges is None else edges
    return make_graph(features if x is None else x, pairs, y, "small", undirected=True)


def fit(
    method: Any,
    graph: Data,
    seed: int = 0,
    watch: Watch | None = None,
    labels: Tensor | None = None,
) -> Embedding:
    seen = torch.full((NODES,), -1) if labels is None else labels
    return method.fit(without_labels(graph), seen, Streams(seed), watch or Watch())


def measured(embedding: Embedding, graph: Data) -> dict[str, float]:
    assert (
        embedding.z.shape[0] == NODES
        and bool(torch.isfinite(embedding.z).all())
        and not embedding.z.requires_grad
    )
    return Clustering().evaluate(embedding, graph, None, Streams(0))


@every_method
def test_reruns_are_the_same_bits_and_no_label_or_global_chance_is_read(name: str) -> None:
    graph, method = toy(), ALL[name]
    content, before = graph.content_hash, torch.random.get_rng_state()
    first = fit(method, graph)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.rand(17)
    again = fit(method, graph, labels=torch.arange(NODES))
    assert torch.equal(again.z, first.z)
    assert (first.clusters is None and again.clusters is None) or torch.equal(
        again.clusters, first.clusters
    )
    assert (first.clusters is not None) == (name in ("age", "sdcn")) and not method.needs_labels
    assert graph.content_hash == content
    if name in UNTRAINED:
        assert measured(first, graph)["acc"] > 0.8


@trained
def test_seeds_differ(name: str) -> None:
    assert not torch.equal(fit(ALL[name], toy(), seed=1).z, fit(ALL[name], toy()).z)


@needs_clusters
@pytest.mark.parametrize("after", [2, 3])
def test_a_fit_that_is_stopped_goes_on_to_the_same_bits(
    name: str, after: int, tmp_path: Path
) -> None:
    """After two iterations SDCN is between its two trainings, after three within the second."""
    method = replace(ALL[name], max_order=4) if name in ("agc", "ssgc") else ALL[name]
    straight = fit(method, toy())
    stop, calls = threading.Event(), [0]

    def until(done: int, total: int, loss: float) -> None:
        calls[0] += 1
        if calls[0] == after:
            stop.set()

    with pytest.raises(Preempted):
        fit(
            method,
            toy(),
            watch=Watch(until, checkpoint=Checkpoint(tmp_path / "state", "key", 1e9), stop=stop),
        )
    watch = Watch(checkpoint=Checkpoint(tmp_path / "state", "key", 1e9))
    resumed = fit(method, toy(), watch=watch)
    assert watch.resumed == 1 and torch.equal(resumed.z, straight.z)
    for field in ("clusters", "history"):
        one, other = getattr(resumed, field), getattr(straight, field)
        assert (one is None and other is None) or torch.equal(one, other)


@every_method
def test_more_clusters_than_dimensions(name: str) -> None:
    """Two features, or two dimensions of the embedding, and six classes."""
    narrow = {
        "deepwalk": {"dimension": 2},
        "age": {"hidden": 3},
        "sdcn": {"code": 2},
        "ssgc": {"dimensions": 2},
    }.get(name, {})
    graph = toy(6, x=torch.rand(NODES, 2, generator=torch.Generator().manual_seed(1)))
    found = fit(replace(ALL[name], **narrow), graph)
    assert found.z.shape[1] == (
        3 if name == "age" else 2
    )  # two entries scaled to [0, 1] are (0, 1) or (1, 0)
    assert 2 <= measured(found, graph)["clusters_found"] <= 6


@every_method
def test_duplicate_points(name: str) -> None:
    """Two kinds of nodes only and no edges between the kinds: at most two clusters, however many
    are asked for."""
    kind = torch.arange(NODES) % 2
    x = torch.nn.functional.one_hot(kind, 8).float()
    whole = (kind[:, None] == kind).triu(1).nonzero().T
    graph = toy(4, edges=whole, x=x)
    metrics = measured(fit(ALL[name], graph), graph)
    assert metrics["clusters_found"] <= (4 if name == "deepwalk" else 2)


@every_method
def test_no_edges(name: str) -> None:
    graph = toy(edges=NO_EDGES)
    if name == "deepwalk":
        with pytest.raises(Unsupported, match="deepwalk walks along edges, and 'small' has none"):
            fit(ALL[name], graph)
        return
    metrics = measured(fit(ALL[name], graph), graph)
    assert "modularity" not in metrics and (metrics["acc"] > 0.8 or name not in UNTRAINED)


@every_method
def test_features_of_zeros(name: str) -> None:
    """Nothing tells nodes apart but edges: one cluster, except where the method looks at edges
    alone."""
    graph = toy(x=torch.zeros(NODES, 8))
    found = measured(fit(ALL[name], graph), graph)["clusters_found"]
    assert found == 1 if name not in ("deepwalk", "sdcn") else found >= 1


@every_method
def test_one_class(name: str) -> None:
    """The method works with one cluster; the clustering task asks for a number."""
    graph = toy(1)
    found = fit(ALL[name], graph)
    assert bool(torch.isfinite(found.z).all()) and (
        found.clusters is None or not found.clusters.any()
    )
    with pytest.raises(Unsupported, match="'small' has one class only"):
        Clustering().split(graph, Streams(0))


@needs_clusters
def test_an_unknown_number_of_clusters(name: str) -> None:
    graph = make_graph(toy().x, NO_EDGES, None, "unlabelled")
    with pytest.raises(
        Unsupported, match=f"{name} needs a number of clusters, and 'unlabelled' has no labels"
    ):
        fit(ALL[name], graph)
    found = fit(replace(ALL[name], clusters=2), graph)
    assert found.z.shape[0] == NODES and (found.clusters is None or int(found.clusters.max()) <= 1)


@every_method
def test_why_it_takes_no_negatives(name: str) -> None:
    assert not ALL[name].takes_negatives and len(ALL[name].no_negatives) > 10
