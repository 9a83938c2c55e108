"""The number of training steps by the task's validation score."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from gclbench.config.validation import experiment_of
from gclbench.embedding import Embedding
from gclbench.graph import without_labels
from gclbench.methods.trained import Trained
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.loop import Loss, Model, Step, train
from gclbench.training.streams import Streams
from gclbench.training.watch import Diverged, Preempted, Watch

SMALL = ("dataset=sbm", "dataset.nodes=60", "dataset.classes=2", "dataset.features=8")
MIXTURES = ("mmix negatives.variant=random", "imix", "uniform", "progcl_weight")
TRAININGS = (
    "method=dmt",
    "method=dmat",
    *(f"method=dmat_i method.batch_size=25 negatives={name}" for name in MIXTURES),
    "method=mvgrl method.activation=rrelu",
    *(
        f"method=mvgrl method.objective=nodes method.patience={patience} negatives={name}"
        for name in (*MIXTURES, "mmix negatives.variant=mp", "augcl", "nml")
        for patience in (0, 3)
    ),
    "method=mmix_mp method.subgraphs=2 method.subgraph_nodes=20 negatives.variant=random",
)


class Counter(Model):
    """Its weight is minus the number of steps taken; its losses are those that a test lists."""

    def __init__(self, losses: list[float]):
        super().__init__(len(losses), dice=torch.Generator().manual_seed(3))
        self.losses_listed = losses
        self.weight = nn.Parameter(torch.zeros(1, 1))
        self.seen: list[int] = []

    def loss(self, step: Step) -> Loss:
        assert self.training and torch.is_grad_enabled()
        value = self.losses_listed[step.iteration - 1]
        return Loss((value + self.weight - self.weight.detach()).sum())

    def evaluated(self, step: Step) -> Embedding:
        assert not self.training and not torch.is_grad_enabled()
        self.seen.append(step.iteration)
        torch.rand(1, generator=self.state["dice"]), torch.rand(1)
        return Embedding(self.weight.detach().clone())

    def embed(self, step: Step) -> Embedding:
        return Embedding(self.weight.detach().clone(), findings={"at": step.iteration})


def counted(
    losses: list[float],
    score: Callable[[int], float],
    patience: int = 0,
    watch: Watch | None = None,
) -> tuple[Embedding, Counter]:
    model = Counter(losses)
    descent = torch.optim.SGD(model.parameters(), lr=1.0)

    def by_steps(embedding: Embedding) -> float:
        return score(round(-embedding.z.item()))

    return train(model, descent, watch or Watch(), patience, by_steps), model


def test_it_looks_ever_more_rarely_and_at_the_end() -> None:
    generator = torch.random.get_rng_state()
    found, model = counted([1.0] * 40, float)
    assert torch.equal(torch.random.get_rng_state(), generator)
    looks = [0, 1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24, 30, 38, 40]
    assert found.findings["validation_curve"] == [[steps, float(steps)] for steps in looks]
    assert model.seen == [1, *looks[1:]]
    assert (found.findings["steps_kept"], found.findings["validation"]) == (40, 40.0)
    dice = torch.Generator().manual_seed(3)
    assert torch.equal(model.state["dice"].get_state(), dice.get_state()), "nothing was drawn"


def test_the_best_state_is_embedded_and_of_equal_ones_the_earliest() -> None:
    found, _ = counted([1.0] * 12, lambda steps: {3: 0.5, 4: 0.75, 6: 0.9, 9: 0.75}.get(steps, 0.1))
    assert found.z.tolist() == [[-4.0]], "after six iterations nobody looked"
    assert found.findings["steps_kept"] == found.findings["at"] == 4
    assert found.findings["validation"] == 0.75 and found.remarks == []
    untrained, _ = counted([1.0] * 3, lambda steps: 0.5)
    assert untrained.z.tolist() == [[0.0]] and untrained.findings["steps_kept"] == 0
    assert untrained.remarks == [
        "no look at the training scored above the untrained state on the validation part, so that"
        " state was kept (method.epoch_by=validation)"
    ]
    nothing, _ = counted([], lambda steps: 0.5)
    assert nothing.findings["validation_curve"] == [[0, 0.5]]


def test_patience_says_when_it_ends_and_the_score_what_is_kept() -> None:
    """The lowest loss is that of the state after two steps; iteration 6 takes no step."""
    losses = [5.0, 4.0, 3.0, 4.0, 4.0, 4.0, 1.0]
    watch = Watch()
    found, _ = counted(losses, lambda steps: float(steps == 4), patience=3, watch=watch)
    assert watch.reached == 6 and found.z.tolist() == [[-4.0]]
    assert [steps for steps, _ in found.findings["validation_curve"]] == [0, 1, 2, 3, 4, 5]
    assert found.findings["steps_kept"] == 4
    shorter, _ = counted([5.0, 6.0], lambda steps: 0.0, patience=1)
    assert len(shorter.remarks) == 1, "of the choice, not of patience"


def test_a_look_at_an_embedding_that_is_not_finite_ends_the_training() -> None:
    model = Counter([1.0, 1.0])
    descent = torch.optim.SGD(model.parameters(), lr=math.inf)
    with pytest.raises(Diverged, match="the embedding after 1 iterations is not finite"):
        train(model, descent, Watch(), score=lambda embedding: 0.0)


def scored(embedding: Embedding) -> float:
    """A score that goes up and down with the training, and draws from every global generator."""
    torch.rand(3)
    return float((embedding.z.double().abs().sum() * 1e4).sin())


def fitted(command: str, watch: Watch, validation: bool) -> Embedding:
    by = [f"method.epoch_by={'validation' if validation else 'last'}"]
    experiment = experiment_of(
        [*SMALL, *command.split(), "method.epochs=14", "filter=none", "device=cpu", *by]
    )
    whole = experiment.components.dataset.load()
    graph = without_labels(whole)
    if validation:
        graph.validation = scored
    method, negatives = experiment.components.method, experiment.components.negatives
    return method.fit(graph, whole.y, Streams(3), watch, negatives)


@pytest.mark.parametrize("command", TRAININGS)
def test_looking_changes_no_bit_of_the_training(command: str) -> None:
    plain, looked = Watch(), Watch()
    last, chosen = fitted(command, plain, False), fitted(command, looked, True)
    assert looked.curve == plain.curve and len(plain.curve) > 3
    assert "validation" not in last.findings
    assert scored(chosen) == chosen.findings["validation"], "what is returned is what was scored"
    curve = dict(chosen.findings["validation_curve"])
    assert curve[chosen.findings["steps_kept"]] == max(curve.values())


@pytest.mark.parametrize("after", [1, 6, 12])
@pytest.mark.parametrize(
    "command",
    [
        "method=dmat_i method.batch_size=25 negatives=uniform",
        "method=mvgrl method.objective=nodes method.patience=9 negatives=mmix"
        " negatives.variant=random",
    ],
)
def test_a_training_that_is_stopped_goes_on_bit_for_bit(
    tmp_path: Path, command: str, after: int
) -> None:
    whole_watch, stop = Watch(), threading.Event()
    whole = fitted(command, whole_watch, True)

    def until(done: int, total: int, loss: float) -> None:
        if done == after:
            stop.set()

    def checkpoint() -> Checkpoint:
        return Checkpoint(tmp_path / "state", "key", every=1e9)

    with pytest.raises(Preempted, match=f"stopped at iteration {after} of 14"):
        fitted(command, Watch(until, checkpoint=checkpoint(), stop=stop), True)
    heard: list[int] = []
    watch = Watch(lambda done, total, loss: heard.append(done), checkpoint=checkpoint())
    resumed = fitted(command, watch, True)
    assert heard == list(range(after + 1, whole_watch.reached + 1)), "nothing is done twice"
    assert torch.equal(resumed.z, whole.z) and watch.curve == whole_watch.curve
    assert resumed.findings == whole.findings


def test_a_method_without_the_setting_takes_the_last_state() -> None:
    class Counting(Trained):
        lr = 1.0

        def model(self, *args: Any) -> Model:
            return Counter([1.0, 1.0])

    graph: Any = {"validation": None}
    assert not Counting().reads_validation and Counting().score(graph) is None
