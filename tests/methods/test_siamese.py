"""The siamese network: its loss, what it may draw triplets from, and that it learns."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from methods.small_collection import small_collection

from gclbench.graph import Unsupported
from gclbench.methods.siamese import Siamese, SiameseModel
from gclbench.tasks.judging import set_apart
from gclbench.tasks.similarity import Similarity
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

SMALL = {"sizes": (6, 8), "triplets": 40, "batch_size": 16, "hidden": 8}


def model_of(graph=None, **settings) -> SiameseModel:
    graph = small_collection() if graph is None else graph
    return Siamese(**{**SMALL, **settings}).model(graph, torch.empty(0), Streams(0))


def drawn(model: SiameseModel) -> SiameseModel:
    """The same model, with its triplets."""
    next(model.losses(Step(1, 1)))
    return model


def test_the_loss_is_the_mean_of_the_triplets_hinges() -> None:
    model = drawn(model_of())
    model.eval()
    chosen = torch.arange(15)
    batch = model.collection.batch(chosen)
    rows = model.rows(batch).double()
    hinges = []
    for first in range(0, 15, 3):
        near, far = (
            1 - torch.cosine_similarity(rows[first], rows[other], dim=0)
            for other in (first + 1, first + 2)
        )
        hinges.append(max(0.0, float((0.1 + near - far).detach())))
    found = model.part(Step(1, 1), chosen, batch).value.item()
    assert found == pytest.approx(np.mean(hinges), rel=1e-4)


def test_batches_hold_whole_triplets_and_an_epoch_each_of_them_once() -> None:
    model = drawn(model_of())
    assert len(model.collection) == 3 * 80
    parts = model.cut()
    for part in parts:
        firsts = part.view(-1, 3)
        assert bool((firsts[:, 0] % 3 == 0).all())
        assert torch.equal(firsts - firsts[:, :1], torch.tensor([[0, 1, 2]]).expand_as(firsts))
    assert sorted(torch.cat(parts).tolist()) == list(range(240))


def test_a_training_lowers_its_loss() -> None:
    watch = Watch()
    graph = small_collection()
    found = Siamese(**{**SMALL, "epochs": 20, "lr": 0.01}).fit(
        graph, torch.full((24,), -1), Streams(0), watch
    )
    losses = [loss for _, loss in watch.curve]
    assert losses[-1] < 0.6 * losses[0]
    assert len(found.z) == 24 and found.geometry == "cosine"


def test_no_triplet_is_of_a_graph_of_the_tasks_triplets() -> None:
    graph = small_collection(60)
    task = Similarity(nodes=(6, 8), triplets=8)
    split = task.split(graph, Streams(0))
    scored = set(split.parts["n6_graph"]) | set(split.parts["n8_graph"])
    mask = task.apart(graph, split)
    assert set(mask.logical_not().nonzero()[:, 0].tolist()) == scored
    # Its first feature tells every graph from the others.
    told = copy.copy(graph)
    told.x = torch.cat([graph.graph_of[:, None].float(), graph.x], dim=1)
    model = drawn(model_of(set_apart(told, task, split)))
    trained = set(model.collection.all.x[:, 0].long().tolist())
    assert trained and not trained & scored
    everywhere = set(drawn(model_of(told)).collection.all.x[:, 0].long().tolist())
    assert everywhere & scored, "another task leaves it all graphs"


def test_triplets_of_all_graphs_leave_it_none() -> None:
    graph = small_collection()
    task = Similarity(nodes=(4,), triplets=200)
    seen = set_apart(graph, task, task.split(graph, Streams(0)))
    seen.left_by_task[:] = False
    with pytest.raises(Unsupported) as refused:
        drawn(model_of(seen))
    assert str(refused.value) == (
        "siamese trains on graphs that the task's triplets are not of, and there are triplets of"
        " all 24 graphs of 'small'; ask the task for fewer triplets or sizes, such as"
        " task.similarity.triplets=3 task.similarity.nodes=[6], or take a larger collection"
    )


def test_pieces_that_no_graph_has_are_refused_with_the_sizes_that_fit() -> None:
    with pytest.raises(Unsupported) as refused:
        drawn(model_of(sizes=(6, 40)))
    assert str(refused.value) == (
        "siamese takes connected pieces of 40 nodes, and no graph of 'small' has one; the largest"
        " has 13. Give sizes up to that with method.sizes=[6]"
    )


def test_pieces_that_no_graph_left_to_it_has_are_refused() -> None:
    graph = small_collection()
    graph.left_by_task = torch.zeros(24, dtype=torch.bool)
    graph.left_by_task[-1] = True  # the graph of one node
    with pytest.raises(Unsupported) as refused:
        drawn(model_of(graph))
    assert str(refused.value) == (
        "siamese takes connected pieces of 6 nodes, and no graph of 'small' that the task's"
        " triplets leave it has one; the largest has 1. Pieces have at least 4 nodes, so ask the"
        " task for fewer triplets, which leave it more graphs"
    )
    graph.left_by_task[int(torch.bincount(graph.graph_of).argmax())] = True
    with pytest.raises(Unsupported, match=r"has 13\. .*sizes=\[6\], or ask the task for fewer tr"):
        drawn(model_of(graph, sizes=(6, 20)))


def test_the_graphs_that_it_learnt_from_are_counted_and_few_are_told() -> None:
    graph = small_collection()
    settings = Siamese(**{**SMALL, "epochs": 1})
    labels = torch.full((24,), -1)
    found = settings.fit(graph, labels, Streams(0), Watch())
    sizes = torch.bincount(graph.graph_of)
    assert found.findings["graphs_n6"] >= found.findings["graphs_n8"] > 0
    assert found.findings["graphs_n6"] <= int((sizes >= 6).sum())
    few = copy.copy(graph)
    few.left_by_task = torch.zeros(24, dtype=torch.bool)
    few.left_by_task[int(sizes.argmax())] = True
    found = settings.fit(few, labels, Streams(0), Watch())
    assert found.findings["graphs_n6"] == 1
    assert "siamese was trained on triplets of 1 graph with a piece of 6 nodes" in found.remarks


@pytest.mark.parametrize("sizes", [(), (6, 6)])
def test_sizes_are_given_and_each_once(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"^sizes (needs|names) .* method\.sizes=\[6,8\]"):
        Siamese(sizes=sizes)


def test_pieces_of_several_sizes_stand_in_one_collection() -> None:
    model = drawn(model_of())
    sizes = model.collection.all.sizes().tolist()
    assert sizes == [6] * 120 + [8] * 120
