"""Classifiers: their steps, what they see, when they stop, and how they are scored."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch_geometric.nn.models import GCN

from gclbench.component.settings import identity_of
from gclbench.data.splits import Split
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported, make_graph
from gclbench.machine import precision
from gclbench.methods.chebyshev import Chebyshev
from gclbench.methods.gat import Gat
from gclbench.methods.gcn import Gcn
from gclbench.methods.jknet import JkNet
from gclbench.methods.label_propagation import LabelPropagation
from gclbench.methods.linear import Linear
from gclbench.methods.mlp import SupervisedMlp
from gclbench.methods.supervised import Supervised
from gclbench.methods.trained import UNJUDGED
from gclbench.nn.stack import Stack, WithoutEdges
from gclbench.tasks import judging
from gclbench.tasks.classification import Classification
from gclbench.tasks.clustering import Clustering
from gclbench.tasks.link_prediction import LinkPrediction
from gclbench.training.streams import Streams
from gclbench.training.watch import Diverged, Watch

NODES, INPUTS, CLASSES = 24, 7, 3
NETWORKS = [Gcn, SupervisedMlp, Chebyshev, JkNet, Gat]


@pytest.fixture
def graph() -> Graph:
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(NODES, INPUTS, generator=generator)
    pairs = (torch.rand(NODES, NODES, generator=generator) < 0.2).triu(1).nonzero().T
    return make_graph(x, pairs, [i % CLASSES for i in range(NODES)], "small", undirected=True)


def visible(graph: Graph, count: int = 9) -> torch.Tensor:
    """The labels of the first nodes."""
    return torch.where(torch.arange(NODES) < count, graph.y, -1)


def fit(method, graph, labels=None, seed: int = 3):
    watch = Watch()
    labels = visible(graph) if labels is None else labels
    return method.fit(graph, labels, Streams(seed), watch), watch


def test_gcn_by_hand(graph) -> None:
    """Three steps in dense matrices: weight decay on the first layer alone."""
    found, watch = fit(Gcn(epochs=3, hidden=5, dropout=0.0, patience=0, weight_decay=0.1), graph)
    a = torch.eye(NODES)
    a[graph.edge_index[1], graph.edge_index[0]] = 1
    scale = a.sum(dim=1).rsqrt()
    s = scale[:, None] * a * scale
    x = graph.x / graph.x.sum(dim=1, keepdim=True)
    with Streams(3).seeded("init"):
        start = Gcn(hidden=5).network(INPUTS, CLASSES)
    first, second = (
        nn.Parameter(layer.lin.weight.detach()) for layer in (start.layers[0], start.head)
    )
    biases = [nn.Parameter(torch.zeros(width)) for width in (5, CLASSES)]
    optimiser = torch.optim.Adam(
        [{"params": [first, biases[0]], "weight_decay": 0.1}, {"params": [second, biases[1]]}],
        lr=0.01,
    )
    losses = []

    def forward():
        hidden = torch.relu(s @ x @ first.T + biases[0])
        return hidden, s @ hidden @ second.T + biases[1]

    for _ in range(3):
        loss = cross_entropy(forward()[1][:9], graph.y[:9])
        losses.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    hidden, scores = forward()
    torch.testing.assert_close(found.scores, scores.detach(), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found.z, hidden.detach(), atol=1e-5, rtol=1e-4)
    assert watch.last_loss == pytest.approx(losses[-1], rel=1e-4)


@pytest.mark.parametrize("jump", ["cat", "max"])
def test_jknet_is_torch_geometrics(jump, graph) -> None:
    ours = JkNet(hidden=5, layers=3, jump=jump).network(INPUTS, CLASSES).eval()
    theirs = GCN(INPUTS, 5, num_layers=3, out_channels=CLASSES, jk=jump).eval()
    with torch.no_grad():
        for ours_layer, layer in zip(
            [*ours.layers, ours.head], [*theirs.convs, theirs.lin], strict=True
        ):
            for mine, other in zip(ours_layer.parameters(), layer.parameters(), strict=True):
                mine.add_(0.1)  # biases too
                other.copy_(mine)
    _, scores = ours(graph.x, graph.edge_index)
    torch.testing.assert_close(scores, theirs(graph.x, graph.edge_index))
    assert len({*JkNet().decayed(ours)}) == len([*ours.parameters()]) == 8


@pytest.mark.parametrize("method", NETWORKS)
def test_only_the_labels_of_training_nodes_are_learnt(method, graph) -> None:
    settings = method(epochs=4, patience=0)
    first, _ = fit(settings, graph)
    # The graph itself has labels here; nothing reads them.
    other = make_graph(graph.x, graph.edge_index, graph.y.flip(0), "small")
    second, _ = fit(settings, other, visible(graph))
    third, _ = fit(settings, graph, visible(graph, 8))
    assert torch.equal(first.scores, second.scores) and not torch.equal(first.scores, third.scores)
    assert first.scores.shape == (NODES, CLASSES) and first.z.shape[0] == NODES


@pytest.mark.parametrize("method", NETWORKS)
def test_dropout_reads_the_runs_stream(method, graph) -> None:
    settings = method(epochs=3, patience=0)
    first, _ = fit(settings, graph)
    torch.manual_seed(99)
    before = torch.random.get_rng_state()
    second, _ = fit(settings, graph)
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.equal(first.scores, second.scores)
    assert not torch.equal(first.scores, fit(settings, graph, seed=4)[0].scores)


def judged(graph: Graph, values: list[float]) -> list[Embedding]:
    """Gives the graph a validation that returns these values in turn, and what it was shown."""
    shown: list[Embedding] = []

    def validation(embedding: Embedding) -> float:
        shown.append(embedding)
        return values[min(len(shown), len(values)) - 1]

    graph.validation = validation
    return shown


def test_training_stops_by_validation_and_goes_back_to_the_best_state(graph) -> None:
    # Before each step: the third state is the best, and two worse ones end the training.
    shown = judged(graph, [-3.0, -2.0, -1.0, -1.5, -1.2, -9.0])
    found, watch = fit(Gcn(epochs=50, patience=2), graph)
    assert watch.reached == 5 and len(shown) == 6, "once more for the record"
    assert found.findings == {"steps_kept": 2, "validation": -9.0}
    assert torch.equal(found.scores, shown[2].scores)
    two, _ = fit(Gcn(epochs=2, patience=0), graph)
    assert torch.equal(found.scores, two.scores), "looking changes nothing"


def test_what_stops_the_training_is_computed_in_float32(graph) -> None:
    seen = []
    shown = judged(graph, [-1.0])
    looked = graph.validation

    def validation(embedding):
        seen.append(torch.get_float32_matmul_precision())
        return looked(embedding)

    graph.validation = validation
    with precision.trained_with(precision.EVERYWHERE):
        fit(Gcn(epochs=1, patience=2), graph)
    assert shown and set(seen) == {"highest"} and torch.get_float32_matmul_precision() == "highest"


def test_without_patience_no_validation_node_is_read(graph) -> None:
    shown = judged(graph, [0.0])
    found, _ = fit(Gcn(epochs=2, patience=0), graph)
    assert not shown and not Gcn(patience=0).reads_validation and Gcn().reads_validation
    assert found.findings == {}


def test_without_a_validation_part_it_is_told(graph) -> None:
    assert "validation" not in graph
    with pytest.raises(Unsupported, match=re.escape(UNJUDGED)):
        fit(Gcn(epochs=2, patience=2), graph)


def test_tasks_without_labels_are_refused(graph) -> None:
    text = judging.refusal(Gcn(), Clustering())
    assert text == Supervised.unjudged and "only task=classification has" in text
    assert judging.refusal(Gcn(), Classification()) is None
    none = torch.full((NODES,), -1)
    assert judging.refusal(Gcn(), LinkPrediction()) is None
    for method in (Gcn(), LabelPropagation(), Linear()):
        name = {Gcn: "gcn", LabelPropagation: "label_propagation", Linear: "linear"}[type(method)]
        with pytest.raises(
            Unsupported, match=f"{name} learns from labelled nodes and sees 0; only"
        ):
            fit(method, graph, none)


def test_a_class_without_a_training_node_is_told(graph) -> None:
    labels = torch.where(visible(graph) == 1, -1, visible(graph))
    for method in (Gcn(epochs=2, patience=0), LabelPropagation()):
        found, _ = fit(method, graph, labels)
        assert found.findings["classes_without_training_nodes"] == [1]
        assert found.scores.shape == (NODES, CLASSES)
        (remark,) = found.remarks
        assert "no training node has class 1, so nothing is learnt of it" in remark
    assert not fit(LabelPropagation(), graph)[0].remarks


@pytest.mark.parametrize("solver", ["steps", "conjugate_gradients"])
def test_label_propagation_is_the_harmonic_function(solver, graph) -> None:
    """Zhu et al. 2003, Eq. 5, and the training classes' shares where no training node is."""
    edges = graph.edge_index[:, ((graph.edge_index != 22) & (graph.edge_index != 23)).all(dim=0)]
    edges = torch.cat([edges, torch.tensor([[22, 23], [23, 22]])], dim=1)
    apart = make_graph(graph.x, edges, graph.y, "apart")
    found, _ = fit(LabelPropagation(solver=solver), apart, visible(graph, 8))
    a = torch.zeros(NODES, NODES, dtype=torch.float64)
    a[edges[1], edges[0]] = 1
    p = a / a.sum(dim=1, keepdim=True).clamp(min=1)
    reached = slice(8, 22)
    known = torch.eye(CLASSES, dtype=torch.float64)[graph.y[:8]]
    exact = torch.linalg.solve(
        torch.eye(14, dtype=torch.float64) - p[reached, reached], p[reached, :8] @ known
    )
    torch.testing.assert_close(found.z[reached].double(), exact, atol=1e-5, rtol=1e-4)
    assert torch.equal(found.z[:8].double(), known)
    torch.testing.assert_close(found.z[22:].double(), known.mean(dim=0).expand(2, -1))
    assert found.findings["unreached"] == 2
    assert torch.equal(found.scores.argmax(dim=1), found.z.argmax(dim=1))
    assert not found.remarks
    with pytest.raises(
        Unsupported, match="label_propagation walks along edges, and 'bare' has none"
    ):
        bare = make_graph(graph.x, torch.empty(2, 0).long(), graph.y, "bare")
        fit(LabelPropagation(solver=solver), bare)


def test_steps_short_of_the_limit_are_told(graph) -> None:
    found, _ = fit(LabelPropagation(steps=2), graph)
    next_one, _ = fit(LabelPropagation(steps=3), graph)
    moves = found.findings["next_step_moves"]
    assert moves > 0.01 and next_one.findings["next_step_moves"] < moves
    assert found.remarks == [
        f"2 steps have not converged: the next one would move a share by {moves:.1e};"
        " method.solver=conjugate_gradients gives the limit"
    ]
    limit, _ = fit(LabelPropagation(solver="conjugate_gradients"), graph)
    assert "next_step_moves" not in limit.findings
    assert 0 < limit.findings["iterations"] <= NODES


def test_a_system_that_is_not_solved_is_told(graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gclbench.methods.harmonic.cg", lambda _, right, **rest: (right, 240))
    text = "on 'small' are not within 1e-10 after 240 iterations; method.solver=steps takes"
    with pytest.raises(Diverged, match=text):
        fit(LabelPropagation(solver="conjugate_gradients"), graph)


@pytest.mark.parametrize("solver", ["steps", "conjugate_gradients"])
def test_normalised_class_masses_are_those_of_the_training_nodes(solver, graph) -> None:
    """Zhu et al. 2003, Section 4: class k where q_k f_ik / Σ_j f_jk is largest."""
    edges = graph.edge_index[:, (graph.edge_index < 22).all(dim=0)]
    apart = make_graph(graph.x, edges, graph.y, "apart")
    labels = visible(graph, 7)  # three, two and two of the classes
    plain, _ = fit(LabelPropagation(solver=solver), apart, labels)
    found, _ = fit(LabelPropagation(solver=solver, class_mass="normalised"), apart, labels)
    free = plain.z[7:22].double()
    rule = [
        [(3 if k == 0 else 2) / 7 * row[k] / free[:, k].sum() for k in range(CLASSES)]
        for row in free
    ]
    by_hand = torch.tensor(rule) / torch.tensor(rule).sum(dim=1, keepdim=True)
    torch.testing.assert_close(found.z[7:22].double(), by_hand.double(), atol=1e-5, rtol=1e-4)
    assert torch.equal(found.scores[7:22].argmax(dim=1), torch.tensor(rule).argmax(dim=1))
    assert not torch.equal(found.z[7:22], plain.z[7:22])
    for kept in (slice(7), slice(22, None)):
        assert torch.equal(found.z[kept], plain.z[kept])


def test_a_class_without_training_node_has_no_mass(graph) -> None:
    labels = torch.where(visible(graph) == 1, -1, visible(graph))
    found, _ = fit(LabelPropagation(class_mass="normalised"), graph, labels)
    assert bool((found.z[:, 1] == 0).all()) and bool(found.scores.isfinite().all())
    torch.testing.assert_close(found.z.sum(dim=1), torch.ones(NODES))


def test_label_propagation_keeps_its_id_at_the_defaults() -> None:
    assert identity_of(LabelPropagation()) == {"steps": 1000}


def test_linear_is_the_probe_on_the_features(graph) -> None:
    found, _ = fit(Linear(), graph)
    assert torch.equal(found.z, graph.x) and found.scores is None


# --- how they are scored


SPLIT = Split(
    "by hand", {"train": np.arange(9), "val": np.arange(9, 15), "test": np.arange(15, NODES)}
)


def test_class_scores_are_read_in_place_of_a_probe(graph) -> None:
    scores = torch.zeros(NODES, CLASSES)
    scores[torch.arange(NODES), graph.y] = 1.0
    scores[15:18] = scores[15:18].roll(1, dims=1)  # three of nine test nodes wrong
    scores[9] = scores[9].roll(1)  # one of six validation nodes
    embedding = Embedding(torch.zeros(NODES, 2), scores=scores)
    metrics = Classification().evaluate(embedding, graph, SPLIT, Streams(0))
    assert metrics["accuracy"] == metrics["micro_f1"] == pytest.approx(6 / 9)
    assert metrics["val_accuracy"] == pytest.approx(5 / 6) and metrics["own_scores"] == 1.0
    assert metrics["macro_f1"] == pytest.approx(6 / 9)
    assert "C" not in metrics and "unconverged" not in metrics


def test_validation_of_class_scores_is_the_cross_entropy_of_validation_nodes(graph) -> None:
    score = Classification().validation(graph, SPLIT)
    scores = torch.randn(NODES, CLASSES, generator=torch.Generator().manual_seed(0))
    by_hand = [
        math.log(sum(math.exp(v) for v in scores[i].tolist())) - scores[i, graph.y[i]].item()
        for i in range(9, 15)
    ]
    assert score(Embedding(scores, scores=scores)) == pytest.approx(-sum(by_hand) / 6, rel=1e-5)
    changed = scores.clone()
    changed[15:] += torch.arange(CLASSES)
    changed[:9] += torch.arange(CLASSES)
    assert score(Embedding(scores, scores=changed)) == score(Embedding(scores, scores=scores))


def test_class_scores_of_another_shape_are_named(graph) -> None:
    z = torch.zeros(NODES, 2)
    with pytest.raises(ValueError, match=r"24 items × classes\); these are \(3, 3\)"):
        Embedding(z, scores=torch.zeros(3, 3))
    few = Embedding(z, scores=torch.zeros(NODES, 2))
    with pytest.raises(ValueError, match="have 2 columns, and 'small' has 3 classes"):
        Classification().evaluate(few, graph, SPLIT, Streams(0))
    broken = Embedding(z, scores=torch.full((NODES, CLASSES), math.nan))
    with pytest.raises(ValueError, match="class scores hold NaN"):
        Classification().evaluate(broken, graph, SPLIT, Streams(0))


# --- layers


def test_compressed_features_are_the_dense_ones() -> None:
    x = torch.where(torch.arange(40).reshape(8, 5) % 3 == 0, 1.5, 0.0)
    stack = Stack([WithoutEdges(5, 4)], WithoutEdges(4, 2), torch.relu, 0.5)
    edges = torch.empty(2, 0).long()
    stack.eval()
    torch.testing.assert_close(stack(x.to_sparse_csr(), edges)[1], stack(x, edges)[1])
    stack.train()
    dropped = stack._dropped(x.to_sparse_csr()).to_dense()
    assert set(dropped.unique().tolist()) == {0.0, 3.0} and bool((dropped[x == 0] == 0).all())


def test_gat_decays_weights_and_gcn_its_first_layer(graph) -> None:
    for method, decayed in ((Gcn(patience=0), 2), (Gat(patience=0), 6)):
        model = method.model(graph, visible(graph), Streams(0))
        groups = method.optimiser(model).param_groups
        assert [group["weight_decay"] for group in groups] == [5e-4, 0.0]
        assert len(groups[0]["params"]) == decayed
        assert sum(len(group["params"]) for group in groups) == len(list(model.parameters()))
