"""What methods on collections of graphs share."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import torch
from methods.small_collection import small_collection
from other_device import DEVICE, rehearsal
from stopper import Stopper
from torch import Tensor

from gclbench.contrast.graph_batch import GraphBatch
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported, make_graph
from gclbench.methods.collection_model import CollectionModel, shuffled
from gclbench.methods.graphcl import Graphcl
from gclbench.methods.infograph import Infograph
from gclbench.methods.joao import Joao, Joaov2
from gclbench.methods.mvgrl import Mvgrl
from gclbench.methods.siamese import Siamese
from gclbench.negatives.mmix import Mmix
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.loop import Loss, Step, train
from gclbench.training.streams import Streams
from gclbench.training.watch import Preempted, Watch

SMALL = {"epochs": 2, "batch_size": 9}
METHODS = {
    "infograph": (Infograph(epochs=3, batch_size=7, course=2), None),
    "graphcl": (Graphcl(**SMALL, course=2), None),
    "graphcl both": (Graphcl(**SMALL, both=True, objective="all"), None),
    "joao": (Joao(**SMALL), None),
    "joaov2": (Joaov2(**SMALL), None),
    "joaov2 epoch": (Joaov2(**SMALL, projectors="epoch"), None),
    "siamese": (Siamese(**SMALL, sizes=(4,), triplets=20, hidden=8), None),
    "mvgrl": (Mvgrl(**SMALL, hidden=8, layers=2, patience=0), None),
    "mvgrl nodes": (Mvgrl(**SMALL, hidden=8, patience=0, objective="nodes"), None),
    "mmix_mp": (Mvgrl(**SMALL, hidden=8, patience=0, objective="nodes"), Mmix()),
    "mmix_mo": (Mvgrl(**SMALL, hidden=8, patience=0, objective="nodes"), Mmix(variant="mo")),
}


def fitted(name: str, graph=None, seed: int = 0, watch: Watch | None = None):
    method, negatives = METHODS[name]
    graph = small_collection() if graph is None else graph
    labels = torch.full((graph.items,), -1)
    taken = {} if negatives is None else {"negatives": negatives}
    return method.fit(graph, labels, Streams(seed), watch or Watch(), **taken)


@functools.cache
def usual(name: str) -> Embedding:
    """Of seed 0 on the usual collection; tests share it."""
    return fitted(name)


@pytest.mark.parametrize("name", METHODS)
def test_every_graph_is_embedded_and_the_seed_decides(name: str) -> None:
    first, again, other = usual(name), fitted(name), fitted(name, seed=1)
    assert len(first.z) == 24
    assert first.geometry == ("cosine" if name == "siamese" else "euclidean")
    assert torch.equal(first.z, again.z)
    assert not torch.equal(first.z, other.z)


@pytest.mark.parametrize("name", METHODS)
def test_a_graphs_embedding_does_not_depend_on_what_stands_beside_it(name: str) -> None:
    graph = small_collection()
    found = usual(name)
    assert found.encode is not None
    torch.testing.assert_close(found.encode(graph), found.z)
    keep = graph.graph_of < 5
    inside = keep[graph.edge_index[0]]
    part = make_graph(
        graph.x[keep], graph.edge_index[:, inside], None, "part", graph_of=graph.graph_of[keep]
    )
    torch.testing.assert_close(found.encode(part), found.z[:5], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "siamese"])
def test_one_graph_is_refused(name: str) -> None:
    alone = make_graph(torch.ones(3, 2), [[0, 1], [1, 2]], None, "one", graph_of=[0, 0, 0])
    with pytest.raises(
        Unsupported, match="batches of two graphs or more, and 'one' has one; method="
    ):
        fitted(name, alone)


def test_two_graphs_one_of_a_single_node_are_enough() -> None:
    path = [[0, 1, 2, 3], [1, 2, 3, 4]]
    graph = make_graph(torch.ones(6, 2), path, None, "two", graph_of=[0, 0, 0, 0, 0, 1])
    for name in METHODS:
        assert torch.isfinite(fitted(name, graph).z).all()


@pytest.mark.parametrize("name", METHODS)
def test_on_another_device_the_numbers_are_the_same(name: str) -> None:
    here = usual(name).z
    with rehearsal():
        there = fitted(name, small_collection().to(DEVICE)).z.cpu()
    assert torch.equal(here, there)


@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize("name", [name for name in METHODS if name != "infograph"])
def test_a_training_that_is_stopped_goes_on_to_the_same_bits(
    name: str, after: int, tmp_path: Path
) -> None:
    """Also where the stop came in the last iteration, and nothing is left but the embedding."""
    stopper = Stopper(after)

    def kept() -> Checkpoint:
        return Checkpoint(tmp_path / "state", "key", 1e9)

    with pytest.raises(Preempted):
        fitted(name, watch=Watch(stopper, checkpoint=kept(), stop=stopper.flag))
    torch.manual_seed(99)  # nothing may come from the global state
    watch = Watch(checkpoint=kept())
    resumed, straight = fitted(name, watch=watch), usual(name)
    assert watch.resumed == 1
    assert torch.equal(resumed.z, straight.z)
    assert (resumed.findings, resumed.remarks) == (straight.findings, straight.remarks)
    if straight.contrast is not None:
        assert torch.equal(resumed.contrast.u, straight.contrast.u)
        assert torch.equal(resumed.contrast.v, straight.contrast.v)


def test_the_course_of_an_epoch_is_kept() -> None:
    assert [iterations for iterations, _ in fitted("infograph").course] == [0, 2, 3]


def test_epochs_are_shuffled_anew_and_hold_every_graph_once() -> None:
    generator = torch.Generator().manual_seed(0)
    first, second = (shuffled(10, 4, generator) for _ in range(2))
    assert [len(batch) for batch in first] == [4, 6]
    for batches in (first, second):
        assert sorted(torch.cat(batches).tolist()) == list(range(10))
    assert not torch.equal(torch.cat(first), torch.cat(second))


@pytest.mark.parametrize(
    ("graphs", "size", "sizes"),
    [(11, 4, [4, 4, 3]), (9, 4, [4, 5]), (2, 128, [2]), (7, 3, [3, 4]), (128, 128, [128])],
)
def test_no_batch_has_fewer_than_three_graphs_where_there_are_more(graphs, size, sizes) -> None:
    batches = shuffled(graphs, size, torch.Generator().manual_seed(0))
    assert [len(batch) for batch in batches] == sizes


def test_an_epochs_loss_is_the_mean_over_its_graphs() -> None:
    watch = Watch()
    fitted("infograph", watch=watch)
    assert len(watch.curve) == 3
    model = METHODS["infograph"][0].model(small_collection(), torch.empty(0), Streams(0))
    losses = list(model.losses(step=None))  # without steps of an optimiser
    mean = sum(loss.noted.item() for loss in losses)
    order = shuffled(24, 7, Streams(0).torch("batches"))
    expected = sum(
        loss.value.item() * len(batch) for loss, batch in zip(losses, order, strict=True)
    )
    assert mean == pytest.approx(expected / 24, rel=1e-5)
    assert float(model.epoch_loss) == pytest.approx(mean)


class Constant(CollectionModel):
    """A loss that never changes, in several batches an epoch."""

    def __init__(self, graph: Graph):
        batches = torch.Generator().manual_seed(0)
        super().__init__("constant", Infograph(epochs=30, batch_size=5), graph, batches=batches)
        self.weight = torch.nn.Parameter(torch.zeros(()))

    def part(self, step: Step, chosen: Tensor, batch: GraphBatch) -> Loss:
        return Loss(1.0 + 0.0 * self.weight)

    def rows(self, batch: GraphBatch) -> Tensor:
        return torch.zeros(batch.graphs, 1)


def test_patience_counts_epochs_not_batches() -> None:
    watch, model = Watch(), Constant(small_collection())
    found = train(model, torch.optim.Adam(model.parameters()), watch, patience=2)
    # The second epoch looks at the loss of the first, the third and the fourth see none lower.
    assert watch.reached == 4
    assert found.findings["steps_kept"] == 1
    assert watch.curve == [(epoch, 1.0) for epoch in (1, 2, 3, 4)], "no share of the broken-off one"


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_training_that_goes_on_ends_as_if_it_had_not_stopped(after: int, tmp_path: Path) -> None:
    """Also where it stops just before patience ends it."""
    stopper, path = Stopper(after), tmp_path / "c"
    model = Constant(small_collection())
    watch = Watch(stopper, checkpoint=Checkpoint(path, "k", 1e9), stop=stopper.flag)
    with pytest.raises(Preempted):
        train(model, torch.optim.Adam(model.parameters()), watch, patience=2)
    watch, model = Watch(checkpoint=Checkpoint(path, "k", 1e9)), Constant(small_collection())
    train(model, torch.optim.Adam(model.parameters()), watch, patience=2)
    assert watch.curve == [(epoch, 1.0) for epoch in (1, 2, 3, 4)] and watch.last_loss == 1.0


class Rising(Constant):
    """Its loss is low until it changes its meaning in the middle of an epoch."""

    batches_seen = 0

    def part(self, step: Step, chosen: Tensor, batch: GraphBatch) -> Loss:
        self.batches_seen += 1
        final = self.batches_seen > 12  # of five an epoch
        return Loss(
            (5.0 - 0.01 * step.iteration if final else 0.1) + 0.0 * self.weight, final=final
        )


def test_patience_waits_for_an_epoch_whose_loss_is_final_throughout() -> None:
    watch, model = Watch(), Rising(small_collection())
    found = train(model, torch.optim.Adam(model.parameters()), watch, patience=2)
    assert watch.reached == 30, "losses fall from epoch 4 on"
    assert found.findings["steps_kept"] == 30, "the last epoch's loss is known"
