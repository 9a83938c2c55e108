"""The course of a training: embeddings on the way, which change nothing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch
from torch import nn

from gclbench.embedding import Embedding
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.loop import Loss, Model, Step, train
from gclbench.training.watch import Diverged, Preempted, Watch


class Noisy(Model):
    """Draws in the loss and in the embedding from one stream."""

    def __init__(self, iterations: int):
        super().__init__(iterations, noise=torch.Generator().manual_seed(0))
        self.weight = nn.Parameter(torch.zeros(3))

    def loss(self, step: Step) -> Loss:
        target = torch.randn(3, generator=self.state["noise"])
        return Loss((self.weight - target).square().sum())

    def embed(self, step: Step) -> Embedding:
        torch.randn(5, generator=self.state["noise"])
        assert not self.training
        return Embedding(self.weight.detach().repeat(2, 1))


def trained(course: int, iterations: int = 7, watch: Watch | None = None) -> Embedding:
    model = Noisy(iterations)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    return train(model, optimiser, watch or Watch(), course=course)


def test_the_untrained_state_every_third_and_the_last_are_kept():
    found = trained(3)
    assert [iterations for iterations, _ in found.course] == [0, 3, 6, 7]
    assert not found.course[0][1].any()
    assert torch.equal(found.course[-1][1], found.z)
    assert torch.equal(found.course[1][1], trained(0, iterations=3).z)


def test_keeping_them_changes_nothing():
    assert torch.equal(trained(0).z, trained(2).z)
    assert trained(0).course == ()


def test_a_training_that_ends_on_the_interval_keeps_its_last_state_once():
    assert [iterations for iterations, _ in trained(7).course] == [0, 7]
    assert [iterations for iterations, _ in trained(3, iterations=0).course] == [0]


def test_a_resumed_training_keeps_the_whole_course(tmp_path: Path):
    stop = threading.Event()

    def report(iteration: int, total: int, loss: float) -> None:
        if iteration == 4:
            stop.set()

    def checkpoint() -> Checkpoint:
        return Checkpoint(tmp_path / "checkpoint.pt", "key", every=1e9)

    with pytest.raises(Preempted):
        trained(3, watch=Watch(report, checkpoint=checkpoint(), stop=stop))
    resumed, whole = trained(3, watch=Watch(checkpoint=checkpoint())), trained(3)
    assert [iterations for iterations, _ in resumed.course] == [0, 3, 6, 7]
    for (_, one), (_, other) in zip(resumed.course, whole.course, strict=True):
        assert torch.equal(one, other)


def test_an_embedding_on_the_way_that_is_not_finite_ends_the_training(monkeypatch):
    def broken(self: Noisy, step: Step) -> Embedding:
        return Embedding(torch.full((2, 3), torch.nan))

    monkeypatch.setattr(Noisy, "evaluated", broken)
    with pytest.raises(Diverged, match="after 0 iterations"):
        trained(3)


def test_the_ones_on_the_way_have_the_geometry_of_the_last():
    found = Embedding(torch.ones(2, 3), "cosine", course=[(5, torch.zeros(2, 3))])
    ((iterations, passed),) = found.on_the_way()
    assert iterations == 5 and passed.geometry == "cosine" and not passed.z.any()


def test_a_training_is_not_resumed_for_another_course(tmp_path: Path, caplog):
    stop = threading.Event()
    checkpoint = Checkpoint(tmp_path / "checkpoint.pt", "key", 0)
    with pytest.raises(Preempted):
        trained(3, watch=Watch(report=lambda *_: stop.set(), checkpoint=checkpoint, stop=stop))
    found = trained(2, watch=Watch(checkpoint=Checkpoint(checkpoint.path, "key", 0)))
    assert [iterations for iterations, _ in found.course] == [0, 2, 4, 6, 7]
    assert "a course of every 3 iterations, not 2" in caplog.text
    assert torch.equal(found.z, trained(2).z)
