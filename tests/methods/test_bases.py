"""What GCA, DGI, MVGRL, BGRL and CCA-SSG have in common: reruns, streams, checkpoints, and that
they learn."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from gclbench.component.registry import METHODS
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported, make_graph
from gclbench.methods.bgrl import Bgrl
from gclbench.methods.cca_ssg import CcaSsg
from gclbench.methods.dgi import Dgi
from gclbench.methods.gca import Gca
from gclbench.methods.mvgrl import Mvgrl
from gclbench.negatives.uniform import Uniform
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.streams import Streams
from gclbench.training.watch import Preempted, Watch

NODES, INPUTS, WIDTH = 24, 12, 4

BASES: dict[str, Any] = {
    "gca": Gca(epochs=7, architecture=(6, WIDTH), projector=5, lr=0.01, activation="rrelu"),
    "dgi": Dgi(epochs=7, hidden=WIDTH, lr=0.01),
    "mvgrl": Mvgrl(epochs=7, hidden=WIDTH, lr=0.01),
    "mvgrl_nodes": Mvgrl(epochs=7, hidden=WIDTH, lr=0.01, objective="nodes"),
    "mvgrl_subgraphs": Mvgrl(epochs=7, hidden=WIDTH, lr=0.01, subgraphs=2, subgraph_nodes=16),
    "bgrl": Bgrl(epochs=7, architecture=(6, WIDTH), predictor=5, lr=0.01),
    "cca_ssg": CcaSsg(epochs=7, architecture=(6, WIDTH), lr=0.01),
    "cca_ssg_mlp": CcaSsg(epochs=7, architecture=(6, WIDTH), lr=0.01, encoder="mlp"),
}
every_base = pytest.mark.parametrize("base", BASES.values(), ids=BASES)


@pytest.fixture
def graph() -> Data:
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(NODES) % 3
    x = (
        torch.rand(NODES, INPUTS, generator=generator) < 0.2
    ).float() + torch.nn.functional.one_hot(y, INPUTS)
    near = torch.rand(NODES, NODES, generator=generator) < torch.where(y[:, None] == y, 0.4, 0.05)
    return make_graph(x, near.triu(1).nonzero().T, None, "small", undirected=True)


def fit(
    base: Any, graph: Data, seed: int = 0, watch: Watch | None = None, labels: Tensor | None = None
) -> Embedding:
    negatives = {"negatives": Uniform()} if base.takes_negatives else {}
    seen = torch.full((NODES,), -1) if labels is None else labels
    return base.fit(graph, seen, Streams(seed), watch or Watch(), **negatives)


@every_base
def test_reruns_are_the_same_bits_and_seeds_are_not(base, graph):
    before = torch.random.get_rng_state()
    first = fit(base, graph)
    assert torch.equal(torch.random.get_rng_state(), before), (
        "the global random state is left alone"
    )
    torch.rand(17)
    assert torch.equal(fit(base, graph).z, first.z)
    assert not torch.equal(fit(base, graph, seed=1).z, first.z)


@every_base
def test_the_embedding(base, graph):
    content = graph.content_hash
    found = fit(base, graph)
    assert found.z.shape == (NODES, WIDTH) and found.z.dtype == torch.float32
    assert not found.z.requires_grad and bool(torch.isfinite(found.z).all())
    assert graph.content_hash == content
    assert (found.contrast is not None) == base.takes_negatives


@every_base
def test_labels_are_not_read(base, graph):
    assert not base.needs_labels
    assert torch.equal(fit(base, graph, labels=torch.arange(NODES)).z, fit(base, graph).z)


@every_base
def test_a_training_that_is_stopped_goes_on_to_the_same_bits(base, graph, tmp_path: Path):
    straight = fit(base, graph)
    stop = threading.Event()

    def until(done: int, total: int, loss: float) -> None:
        if done == 3:
            stop.set()

    with pytest.raises(Preempted, match="stopped at iteration 3 of 7"):
        fit(
            base,
            graph,
            watch=Watch(until, checkpoint=Checkpoint(tmp_path / "state", "key", 1e9), stop=stop),
        )
    heard: list[int] = []
    watch = Watch(
        lambda done, total, loss: heard.append(done),
        checkpoint=Checkpoint(tmp_path / "state", "key", 1e9),
    )
    resumed = fit(base, graph, watch=watch)
    assert heard == [4, 5, 6, 7]
    assert torch.equal(resumed.z, straight.z)


@every_base
def test_training_lowers_the_loss(base, graph):
    watch = Watch()
    fit(replace(base, epochs=100), graph, watch=watch)
    losses = [loss for _, loss in watch.curve]
    first, last = sum(losses[:5]) / 5, sum(losses[-5:]) / 5
    assert last < first - 0.05 * abs(first)


@every_base
def test_an_isolated_node_and_a_node_without_features(base, graph):
    x = graph.x.clone()
    x[5] = 0
    edges = graph.edge_index[:, (graph.edge_index != 7).all(dim=0)]
    found = fit(base, make_graph(x, edges, None, "with gaps"))
    assert bool(torch.isfinite(found.z).all())


@every_base
def test_a_graph_without_edges(base, graph):
    found = fit(base, make_graph(graph.x, torch.empty(2, 0, dtype=torch.long), None, "no edges"))
    assert bool(torch.isfinite(found.z).all())


@pytest.mark.parametrize("name", ["bgrl", "cca_ssg"])
def test_one_node_has_no_statistics(name):
    single = make_graph(torch.ones(1, 3), torch.empty(2, 0, dtype=torch.long), None, "one")
    with pytest.raises(Unsupported, match=f"{name} .*over nodes, and 'one' has 1"):
        BASES[name].fit(single, torch.tensor([-1]), Streams(0), Watch())


def test_who_takes_negatives_and_why_the_others_do_not():
    assert {name for name, base in BASES.items() if base.takes_negatives} == {"gca", "mvgrl_nodes"}
    for name, reason in {
        "dgi": "one summary of the graph",
        "mvgrl": "method.objective=nodes contrasts nodes",
        "bgrl": "has no negatives at all",
        "cca_ssg": "columns of two views",
        "dmt": "labels say",
        "dmat": "labels say",
    }.items():
        assert reason in METHODS.load(name)().no_negatives


@pytest.mark.parametrize("method", [Bgrl, Gca])
@pytest.mark.parametrize("field", ["edge_drop", "feature_drop"])
def test_a_wrong_number_of_probabilities(method, field):
    with pytest.raises(
        ValueError,
        match=(
            rf"{field} needs two probabilities, one per view, for example"
            rf" method.{field}=\[0.2,0.4\]; got \[0.5\]"
        ),
    ):
        method(**{field: (0.5,)})


@pytest.mark.parametrize("method", [Bgrl, CcaSsg, Gca])
def test_no_widths(method):
    with pytest.raises(ValueError, match="architecture needs at least one width"):
        method(architecture=())
