"""DMT, DMAT and DMAT-i: the training loop they share, what they may see, and that reruns are the
same bits."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.contrast.unit_rows import unit_rows
from gclbench.graph import Graph, Unsupported, make_graph, with_features
from gclbench.methods import metric_learning
from gclbench.methods.dmat import Dmat
from gclbench.methods.dmat_i import DmatI
from gclbench.methods.dmt import Dmt
from gclbench.methods.kmeans import GivenFeatures
from gclbench.methods.metric_learning import BatchModel, MetricLearning
from gclbench.nn.mlp import Mlp
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NODES = 30
METHODS_HERE = [Dmt, Dmat, DmatI]


@pytest.fixture
def graph() -> Graph:
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(NODES) % 3
    x = torch.randn(NODES, 8, generator=generator) + 2 * torch.nn.functional.one_hot(y, 8)
    ring = torch.stack([torch.arange(NODES), (torch.arange(NODES) + 1) % NODES])
    return make_graph(x, ring, y, "toy", undirected=True)


@pytest.fixture
def labels(graph: Graph) -> Tensor:
    """The labels of the first twelve nodes."""
    seen = graph.y.clone()
    seen[12:] = -1
    return seen


def small(method: type[MetricLearning], **settings: object) -> MetricLearning:
    return method(**{"epochs": 6, "architecture": (6, 4), "batch_size": 8, **settings})  # type: ignore[arg-type]


def fitted(
    method: MetricLearning | GivenFeatures,
    graph: Graph,
    labels: Tensor,
    seed: int = 0,
    watch: Watch | None = None,
) -> Tensor:
    return method.fit(graph, labels, Streams(seed), watch or Watch()).z


@pytest.mark.parametrize("method", METHODS_HERE)
def test_reruns_are_the_same_bits_and_seeds_are_not(method, graph, labels):
    first = fitted(small(method), graph, labels)
    torch.rand(17)  # the state of the global generator is no part of a run
    fitted(small(method), graph, labels, seed=5)
    assert torch.equal(fitted(small(method), graph, labels), first)
    assert not torch.equal(fitted(small(method), graph, labels, seed=1), first)


@pytest.mark.parametrize("method", METHODS_HERE)
def test_the_global_generator_is_left_alone(method, graph, labels):
    before = torch.random.get_rng_state()
    fitted(small(method), graph, labels)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("method", METHODS_HERE)
def test_embedding_shape_type_and_geometry(method, graph, labels):
    content = graph.content_hash
    embedding = small(method).fit(graph, labels, Streams(0), Watch())
    assert embedding.z.shape == (NODES, 4)
    assert embedding.z.dtype == torch.float32
    assert embedding.geometry == "cosine"
    assert not embedding.z.requires_grad
    assert not embedding.z.is_inference()
    assert graph.content_hash == content


@pytest.mark.parametrize("method", METHODS_HERE)
def test_training_lowers_the_loss(method, graph, labels):
    watch = Watch()
    fitted(small(method, epochs=250, lr=0.01, tau=0.5, batch_size=32), graph, labels, watch=watch)
    losses = [loss for _, loss in watch.curve]
    assert all(math.isfinite(loss) for loss in losses)
    assert sum(losses[-10:]) < 0.95 * sum(losses[:10])


@pytest.mark.parametrize("method", METHODS_HERE)
def test_no_epochs_leave_the_encoder_untrained(method, graph, labels):
    watch = Watch()
    found = fitted(small(method, epochs=0), graph, labels, watch=watch)
    with Streams(0).seeded("init"):
        encoder = Mlp(8, (6, 4), "gelu")
    assert torch.equal(found, encoder(unit_rows(graph.x)).detach())
    assert watch.summary() == {"iterations": 0}


@pytest.mark.parametrize("method", METHODS_HERE)
def test_the_length_of_a_features_row_does_not_matter_unless_asked_for(method, graph, labels):
    lengths = torch.logspace(-1, 2, NODES)[
        torch.randperm(NODES, generator=torch.Generator().manual_seed(0))
    ]
    longer = with_features(graph, graph.x * lengths[:, None])
    for unit_input in (True, False):
        asked = small(method, unit_input=unit_input, lr=0.01)
        found, again = fitted(asked, graph, labels), fitted(asked, longer, labels)
        assert torch.allclose(found, again, rtol=1e-3, atol=1e-4) == unit_input


@pytest.mark.parametrize("method", METHODS_HERE)
def test_rows_are_embedded_in_pieces(method, graph, labels, monkeypatch):
    whole = fitted(small(method), graph, labels)
    monkeypatch.setattr(metric_learning, "ROWS_AT_ONCE", 7)
    torch.testing.assert_close(fitted(small(method), graph, labels), whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("epoch_is", "steps"), [("batch", 3), ("pass", 12)])
def test_what_an_epoch_is(graph, labels, epoch_is, steps):
    """30 nodes in batches of 8 are 4 batches a pass, the last of 6."""
    told: list[tuple[int, int]] = []
    watch = Watch(report=lambda done, total, loss: told.append((done, total)))
    fitted(small(DmatI, epochs=3, epoch_is=epoch_is), graph, labels, watch=watch)
    assert told == [(step, steps) for step in range(1, steps + 1)]
    assert watch.reached == steps


def test_a_pass_of_a_semi_supervised_method_counts_labelled_nodes_only(graph, labels):
    watch = Watch()
    fitted(small(Dmt, epochs=3, epoch_is="pass"), graph, labels, watch=watch)
    assert watch.reached == 3 * 2, "12 labelled nodes in batches of 8"


@pytest.fixture
def batches(monkeypatch) -> list[Tensor]:
    """What the encoder reads in training, batch by batch."""
    seen: list[Tensor] = []
    inputs = BatchModel.inputs

    def noted(self, rows: Tensor) -> Tensor:
        read = inputs(self, rows)
        if torch.is_grad_enabled():  # not for the embedding
            seen.append(read)
        return read

    monkeypatch.setattr(BatchModel, "inputs", noted)
    return seen


@pytest.mark.parametrize("method", METHODS_HERE)
def test_a_batch_larger_than_the_graph_is_the_graph(method, graph, labels, batches):
    fitted(small(method, batch_size=10_000, epochs=2), graph, labels)
    sizes = [len(batch) for batch in batches]
    assert sizes == ([30, 30] if method is DmatI else [12, 12])


@pytest.mark.parametrize("epoch_is", ["batch", "pass"])
def test_a_pass_shows_every_node_once_and_passes_differ(graph, labels, epoch_is, batches):
    epochs = 8 if epoch_is == "batch" else 2
    fitted(small(DmatI, epochs=epochs, epoch_is=epoch_is), graph, labels)
    assert [len(batch) for batch in batches] == [8, 8, 8, 6] * 2
    passes = [torch.cat(batches[:4])[:, 0].tolist(), torch.cat(batches[4:])[:, 0].tolist()]
    assert sorted(passes[0]) == sorted(passes[1]) == sorted(unit_rows(graph.x)[:, 0].tolist())
    assert passes[0] != passes[1]


@pytest.mark.parametrize("tau", [1.0, 0.01])
@pytest.mark.parametrize("method", METHODS_HERE)
def test_a_last_batch_of_one_node(method, graph, tau):
    """29 nodes in batches of 4 leave one; it has nothing to be told from, and must not spoil the
    weights."""
    labels = graph.y.clone()
    if method is DmatI:
        graph = make_graph(graph.x[:29], torch.empty(2, 0, dtype=torch.long), None, "29")
        labels = labels[:29]
    else:
        labels[29] = -1
    watch = Watch()
    z = fitted(
        small(method, batch_size=4, epoch_is="pass", epochs=2, tau=tau), graph, labels, watch=watch
    )
    assert watch.reached == 16
    assert all(math.isfinite(loss) for _, loss in watch.curve)
    assert watch.curve[7][1] == pytest.approx(0.0, abs=1e-4 / tau)
    assert bool(torch.isfinite(z).all())


def test_dmat_i_never_reads_labels(graph, labels):
    wanted = fitted(small(DmatI), graph, labels)
    for other in (labels[torch.randperm(NODES)], torch.full_like(labels, -1), graph.y):
        assert torch.equal(fitted(small(DmatI), graph, other), wanted)
    bare = make_graph(graph.x, graph.edge_index, None, "toy", undirected=True)
    assert torch.equal(fitted(small(DmatI), bare, labels), wanted)


def test_dmat_i_on_labelled_nodes_reads_which_not_what(graph, labels):
    method = small(DmatI, train_on="labelled")
    assert method.needs_labels
    assert not small(DmatI).needs_labels
    wanted = fitted(method, graph, labels)
    relabelled = torch.where(labels >= 0, (labels + 1) % 3, labels)
    assert torch.equal(fitted(method, graph, relabelled), wanted)
    assert not torch.equal(fitted(method, graph, graph.y), wanted), (
        "more labelled nodes are more training nodes"
    )


@pytest.mark.parametrize("method", [small(Dmt), small(Dmat), small(DmatI, train_on="labelled")])
def test_unlabelled_nodes_are_never_seen_in_training(method, graph, labels):
    wanted = fitted(method, graph, labels)
    x = graph.x.clone()
    x[12:] = 100 * torch.randn(18, 8, generator=torch.Generator().manual_seed(3))
    changed = make_graph(x, graph.edge_index, graph.y, "toy", undirected=True)
    found = fitted(method, changed, labels)
    assert torch.equal(found[:12], wanted[:12]), (
        "same weights, so the same embedding of the labelled"
    )
    assert not torch.allclose(found[12:], wanted[12:])
    assert torch.equal(
        fitted(method, make_graph(graph.x, graph.edge_index, None, "toy", undirected=True), labels),
        wanted,
    ), "only the labels argument, never graph.y"


@pytest.mark.parametrize("method", [Dmt, Dmat])
def test_labels_matter_to_semi_supervised_methods(method, graph, labels):
    other = labels.clone()
    other[:12] = labels[:12].roll(1) * (torch.arange(12) % 2)
    assert not torch.equal(
        fitted(small(method), graph, other), fitted(small(method), graph, labels)
    )


@pytest.mark.parametrize(
    ("name", "method"),
    [("dmt", small(Dmt)), ("dmat", small(Dmat)), ("dmat_i", small(DmatI, train_on="labelled"))],
)
@pytest.mark.parametrize("seen", [0, 1])
def test_too_few_labels(graph, labels, name, method, seen):
    few = torch.full_like(labels, -1)
    few[:seen] = 0
    with pytest.raises(
        Unsupported,
        match=(
            f"{name} learns from labelled nodes and sees {seen}; only task=classification reveals"
            " labels"
        ),
    ):
        fitted(method, graph, few)


@pytest.mark.parametrize("method", [Dmat, DmatI])
def test_masking_and_views_matter(method, graph, labels):
    base = fitted(small(method), graph, labels)
    assert not torch.equal(fitted(small(method, mask_fraction=0.5), graph, labels), base)
    assert not torch.equal(fitted(small(method, views=1), graph, labels), base)
    assert bool(torch.isfinite(fitted(small(method, mask_fraction=0.0), graph, labels)).all())
    assert bool(torch.isfinite(fitted(small(method, mask_fraction=0.9), graph, labels)).all())


@pytest.mark.parametrize(
    "setting",
    [
        {"tau": 0.5},
        {"lr": 0.1},
        {"weight_decay": 5.0},
        {"batch_size": 4},
        {"activation": "tanh"},
        {"architecture": (5, 4)},
        {"epochs": 7},
    ],
)
def test_every_shared_setting_matters(setting, graph, labels):
    assert not torch.equal(
        fitted(small(Dmt, **setting), graph, labels), fitted(small(Dmt), graph, labels)
    )


def test_one_feature_one_view(graph):
    narrow = make_graph(graph.x[:, :1], graph.edge_index, None, "narrow", undirected=True)
    assert bool(torch.isfinite(fitted(small(DmatI, mask_fraction=0.9), narrow, graph.y)).all())


def test_an_encoder_needs_a_layer():
    with pytest.raises(
        ValueError,
        match=r"architecture needs at least one width, for example method.architecture=\[256,128\]",
    ):
        replace(small(Dmt), architecture=())


def test_the_shared_part_alone_is_no_method(graph, labels):
    with pytest.raises(TypeError, match="MetricLearning defines no objective"):
        fitted(MetricLearning(epochs=1), graph, labels)


def test_unit_rows():
    rows = unit_rows(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    torch.testing.assert_close(rows, torch.tensor([[0.6, 0.8], [0.0, 0.0]]))


def test_features_are_their_own_embedding(graph, labels):
    embedding = GivenFeatures().fit(graph, labels, Streams(0), Watch())
    assert embedding.z is graph.x
    assert embedding.geometry == "euclidean"
    assert not GivenFeatures().needs_labels


def test_registered():
    assert {name: METHODS.load(name) for name in ("dmt", "dmat", "dmat_i", "kmeans")} == {
        "dmt": Dmt,
        "dmat": Dmat,
        "dmat_i": DmatI,
        "kmeans": GivenFeatures,
    }


def test_rows_without_direction_become_zero_and_pass_no_gradient():
    z = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-8, -1e-8]], requires_grad=True)
    unit = unit_rows(z)
    torch.testing.assert_close(unit, torch.tensor([[0.6, 0.8], [0.0, 0.0], [0.0, 0.0]]))
    (unit * torch.tensor([[1.0, 2.0]])).sum().backward()
    assert z.grad is not None
    torch.testing.assert_close(
        z.grad[0], torch.tensor([1.0 / 5 - 0.6 * 2.2 / 5, 2.0 / 5 - 0.8 * 2.2 / 5])
    )
    assert not bool(z.grad[1:].any())
