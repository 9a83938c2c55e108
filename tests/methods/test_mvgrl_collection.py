"""MVGRL and M-Mix on collections, written out with dense matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from methods.small_collection import small_collection
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.component.components import Components
from gclbench.config.validation import ConfigErrors, experiment_of
from gclbench.contrast.graph_batch import GraphBatch
from gclbench.filters.none import NoFilter
from gclbench.graph import Unsupported, make_graph
from gclbench.methods.mvgrl import Mvgrl
from gclbench.negatives.augcl import Augcl
from gclbench.negatives.mmix import Mmix, diversity_loss
from gclbench.negatives.nml import Nml
from gclbench.negatives.uniform import Uniform
from gclbench.run.abilities import weights_refusal
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

STEP = Step(1, 2)


def built(negatives=None, **settings):
    method = Mvgrl(hidden=6, patience=0, **settings)
    return method.model(small_collection(), torch.empty(0), Streams(0), negatives)


def dense_views(model, batch: GraphBatch) -> tuple[list[Tensor], list[Tensor]]:
    nodes = len(batch.x)
    a = torch.eye(nodes)
    a[batch.edge_index[0], batch.edge_index[1]] = 1
    scale = a.sum(dim=1).rsqrt()
    s = scale[:, None] * a * scale
    diffusion = 0.2 * torch.linalg.inv(torch.eye(nodes) - 0.8 * s)
    views = []
    for encoder, matrix in ((model.first, s), (model.second, diffusion)):
        h, layers = batch.x, []
        for layer in encoder:
            h = layer.activation(matrix @ h @ layer.weight + layer.bias)
            layers.append(h)
        views.append(layers)
    return views[0], views[1]


def sums(rows: Tensor, batch: GraphBatch) -> Tensor:
    return torch.stack([rows[batch.graph_of == graph].sum(dim=0) for graph in range(batch.graphs)])


def nce(u: Tensor, v: Tensor, tau: float = 1.0) -> float:
    """Eq. 9 of M-Mix (KDD 2022) in both directions, as loops in float64."""
    u, v = normalize(u.detach().double(), dim=1), normalize(v.detach().double(), dim=1)
    total = 0.0
    for a, b in ((u, v), (v, u)):
        for i in range(len(a)):
            own = math.exp(float(a[i] @ b[i]) / tau)
            within = sum(math.exp(float(a[i] @ a[j]) / tau) for j in range(len(a)) if j != i)
            across = sum(math.exp(float(a[i] @ b[j]) / tau) for j in range(len(a)))
            total -= math.log(own / (within + across))
    return total / (2 * len(u))


def jsd(nodes: Tensor, graphs: Tensor, graph_of: Tensor) -> float:
    own = others = 0.0
    for i, graph in enumerate(graph_of.tolist()):
        for g in range(len(graphs)):
            score = float(nodes[i].double() @ graphs[g].double())
            if g == graph:
                own += math.log1p(math.exp(-score))
            else:
                others += math.log1p(math.exp(score))
    count = len(nodes)
    return own / count + others / (count * (len(graphs) - 1)) - 2 * math.log(2)


@pytest.mark.parametrize("layers", [1, 3])
def test_the_views_are_the_dense_ones(layers: int) -> None:
    model = built(layers=layers)
    batch = model.collection.batch(torch.tensor([3, 1, 23]))
    for ours, dense in zip(model.views(batch), dense_views(model, batch), strict=True):
        for one, other in zip(ours, dense, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=2e-4)


def test_the_papers_loss_and_embedding_written_out() -> None:
    model = built(layers=2)
    chosen = torch.tensor([3, 1, 7, 23])
    batch = model.collection.batch(chosen)
    with torch.no_grad():
        here, there = dense_views(model, batch)
        wholes = [
            model.of_graphs(torch.cat([sums(layer, batch) for layer in view], dim=1))
            for view in (here, there)
        ]
        expected = jsd(model.of_nodes(here[-1]), wholes[1], batch.graph_of)
        expected += jsd(model.of_nodes(there[-1]), wholes[0], batch.graph_of)
        found = model.part(STEP, chosen, batch).value.item()
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-3)
        torch.testing.assert_close(model.rows(batch), wholes[0] + wholes[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("levels", ["nodes", "graphs", "both"])
def test_the_objectives_of_mmix_without_mixing_written_out(levels: str) -> None:
    model = built(objective="nodes", levels=levels)
    chosen = torch.tensor([3, 1, 7, 23])
    batch = model.collection.batch(chosen)
    (here,), (there,) = dense_views(model, batch)
    u, v = normalize(here, dim=1), normalize(there, dim=1)
    expected = 0.0
    if levels != "graphs":
        expected += nce(u, v)
    if levels != "nodes":
        expected += nce(sums(u, batch), sums(v, batch))
    assert model.part(STEP, chosen, batch).value.item() == pytest.approx(expected, rel=1e-3)
    with torch.no_grad():
        torch.testing.assert_close(
            model.rows(batch), sums(u, batch) + sums(v, batch), rtol=1e-3, atol=1e-3
        )


def test_mixtures_stay_inside_their_graphs_and_are_summed() -> None:
    model = built(Mmix(), objective="nodes")
    strategy = model.strategy
    chosen = torch.tensor([3, 1, 7])
    batch = model.collection.batch(chosen)
    (here,), (there,) = dense_views(model, batch)
    z = normalize(here, dim=1)
    q, k = (normalize(z @ layer.weight.T, dim=1) for layer in (strategy.query, strategy.key))
    mixed = torch.empty_like(z)
    entries = set(map(tuple, batch.edge_index.T.tolist()))
    for i in range(len(z)):
        near = [j for j in range(len(z)) if j == i or (i, j) in entries]
        weights = torch.tensor([math.exp((q[i] @ k[j]).item()) for j in near])
        mixed[i] = (weights / weights.sum()) @ z[near]
    u, v = normalize(strategy.head(mixed), dim=1), normalize(there, dim=1)
    expected = nce(u, v) + nce(sums(u, batch), sums(v, batch)) + diversity_loss(q, k).item()
    loss = model.part(STEP, chosen, batch)
    assert loss.value.item() == pytest.approx(expected, rel=1e-3)
    assert set(loss.terms) == {"nodes", "graphs", "diversity"}


def test_another_strategy_weights_graphs_and_leaves_the_nodes_plain(monkeypatch) -> None:
    model = built(Nml(inner_steps=1), objective="nodes")
    plain = built(objective="nodes")
    seen = []
    monkeypatch.setattr(model.strategy, "update", lambda pair: seen.append(pair.u.shape))
    chosen = torch.arange(8)
    loss = model.part(STEP, chosen, model.collection.batch(chosen))
    other = plain.part(STEP, chosen, plain.collection.batch(chosen))
    assert seen == [(8, 6)]
    torch.testing.assert_close(loss.terms["nodes"], other.terms["nodes"])
    assert not torch.isclose(loss.terms["graphs"], other.terms["graphs"])


def test_nodes_are_contrasted_in_random_sets_where_asked() -> None:
    model = built(objective="nodes", levels="nodes", subgraphs=3, subgraph_nodes=5)
    batch = model.collection.all
    here, there, _ = model.mixed_views(batch)
    state = model.state["subgraphs"].get_state()
    found = model.between_nodes(STEP, here[-1], there[-1]).item()
    model.state["subgraphs"].set_state(state)
    generator, expected = model.state["subgraphs"], 0.0
    for _ in range(3):
        among = torch.randperm(len(batch.x), generator=generator)[:5]
        expected += nce(here[-1][among], there[-1][among]) / 3
    assert found == pytest.approx(expected, rel=1e-4)


def moved(method: Mvgrl) -> tuple[bool, bool]:
    """Whether a training moves the encoders, and the heads."""
    before = method.model(small_collection(), torch.empty(0), Streams(0))
    after = method.model(small_collection(), torch.empty(0), Streams(0))
    optimiser = method.optimiser(after)
    for loss in after.losses(STEP):
        optimiser.zero_grad()
        loss.value.backward()
        optimiser.step()
    encoder = torch.equal(before.first[0].weight, after.first[0].weight)
    head = torch.equal(before.of_nodes.shortcut.weight, after.of_nodes.shortcut.weight)
    return not encoder, not head


def test_the_layers_are_trained_unless_the_random_gcn_is_asked_for() -> None:
    assert moved(Mvgrl(hidden=6, layers=2)) == (True, True)
    assert moved(Mvgrl(hidden=6, layers=2, train_encoder=False)) == (False, True)


def test_the_random_gcn_with_nothing_to_train_is_refused() -> None:
    with pytest.raises(ConfigErrors, match="for an untrained encoder type method.epochs=0"):
        experiment_of(["method=mvgrl", "method.objective=nodes", "method.train_encoder=false"])


def test_features_are_normalised_where_asked_in_other_collections_too() -> None:
    method = Mvgrl(epochs=1, hidden=6, patience=0, normalize_features=True)
    graph = small_collection()
    found = method.fit(graph, torch.empty(0), Streams(0), Watch())
    graph.x = graph.x * 7
    torch.testing.assert_close(found.encode(graph), found.z)


def test_settings_for_collections_leave_the_ids_of_runs_on_nodes() -> None:
    from gclbench.component.settings import identity_of

    known = identity_of(Mvgrl())
    assert not {"layers", "batch_size", "levels", "train_encoder", "course"} & set(known)
    assert "course" not in identity_of(Mvgrl(course=5))
    assert identity_of(Mvgrl(layers=4))["layers"] == 4


def test_a_strategy_that_has_nothing_to_weight_is_refused() -> None:
    for negatives in (Nml(), Augcl()):
        with pytest.raises(Unsupported, match="method.levels=nodes compares nodes alone"):
            built(negatives, objective="nodes", levels="nodes")
    for negatives in (None, Uniform(), Mmix()):
        assert built(negatives, objective="nodes", levels="nodes") is not None


@pytest.mark.parametrize(
    "settings", [{"layers": 2}, {"batch_size": 7}, {"levels": "graphs"}, {"train_encoder": False}]
)
def test_settings_of_collections_are_refused_on_a_single_graph(settings: dict[str, Any]) -> None:
    single = make_graph(torch.eye(4), torch.tensor([[0, 1], [1, 2]]), None, "path")
    ((name, value),) = settings.items()
    with pytest.raises(Unsupported, match=f"method.{name}={value} is for collections of graphs"):
        Mvgrl(hidden=4, **settings).model(single, torch.empty(0), Streams(0))
    assert Mvgrl(hidden=4).model(single, torch.empty(0), Streams(0)) is not None


def test_weights_of_edges_in_a_collection_are_refused() -> None:
    plain = small_collection()
    weighted = make_graph(
        plain.x,
        plain.edge_index,
        None,
        "weighted",
        graph_of=plain.graph_of,
        edge_weight=np.linspace(1, 2, plain.edge_index.shape[1]),
    )
    names = {"method": "mvgrl", "filter": "none", "negatives": "uniform"}
    of_nodes = Components(None, NoFilter(), Mvgrl(), Uniform(), {})
    reason = weights_refusal(weighted, of_nodes, names)
    assert reason is not None and "method=mvgrl does not use them" in reason
    assert "grace" not in reason, "it embeds no graphs"


def test_batches_of_less_than_three_graphs_are_refused() -> None:
    for method in ("graphcl", "infograph", "mvgrl"):
        with pytest.raises(ConfigErrors, match="batch_size"):
            experiment_of([f"method={method}", "dataset=mutag", "method.batch_size=2"])


@pytest.mark.parametrize("method", ["mvgrl", "mmix_mp", "mmix_mo"])
@pytest.mark.parametrize(
    "dataset",
    [
        ("dataset=tu", "dataset.tu_name=ENZYMES"),
        ("dataset=custom_graphs", "dataset.path=shapes.npz"),
    ],
)
def test_any_collection_has_the_settings_of_collections(
    method: str, dataset: tuple[str, str]
) -> None:
    def settings(*words: str) -> dict[str, Any]:
        return dict(experiment_of([f"method={method}", *words]).settings["method"])

    found = settings(*dataset)
    assert found == settings("dataset=mutag") and found["epochs"] == 20


@pytest.mark.parametrize("objective, negatives", [("summary", None), ("nodes", Mmix())])
def test_a_branch_is_one_of_the_two_that_are_added(objective, negatives) -> None:
    found = {
        branch: built(negatives, objective=objective, branch=branch).eval().all_rows()
        for branch in ("both", "a", "b")
    }
    assert torch.equal(found["a"] + found["b"], found["both"])
    assert not torch.equal(found["a"], found["b"])


@pytest.mark.parametrize("objective, negatives", [("summary", None), ("nodes", Mmix())])
def test_branch_a_is_the_graphs_and_b_their_diffusions(objective, negatives) -> None:
    for branch, reads in (("a", "first"), ("b", "second")):
        model = built(negatives, objective=objective, branch=branch).eval()
        for encoder in ("first", "second"):
            with torch.no_grad():
                before = model.all_rows()
                next(getattr(model, encoder).parameters()).mul_(-1)
                after = model.all_rows()
            assert torch.equal(before, after) == (encoder != reads)
