"""The training loop on a model of one weight, whose number says how many steps were taken."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gclbench.embedding import Embedding
from gclbench.methods.trained import Trained
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.loop import Loss, Model, Step, train
from gclbench.training.streams import Streams
from gclbench.training.watch import Diverged, Preempted, Watch

UNTRAINED = (
    "the loss never fell below its first value, so early stopping kept the untrained state"
    " (method.patience=2)"
)


class Counter(Model):
    """Its loss has the values that a test lists, and always the gradient 1.

    Plain gradient descent at rate 1 then takes the weight from 0 to minus the number of steps.

    Attributes:
        calls: what the loop asked for, each with the weight at that moment.
    """

    def __init__(self, values: list[float], final_from: int = 1, **state: Any):
        super().__init__(len(values), **state)
        self.values, self.final_from = values, final_from
        self.weight = nn.Parameter(torch.zeros(1, 1))
        self.calls: list[tuple[str, int, float]] = []

    def note(self, what: str, step: Step) -> None:
        assert step.total == self.iterations
        self.calls.append((what, step.iteration, self.weight.item()))

    def with_gradient(self, value: float) -> Tensor:
        return (value + self.weight - self.weight.detach()).sum()

    def loss(self, step: Step) -> Loss:
        assert self.training and torch.is_grad_enabled()
        self.note("loss", step)
        value = self.with_gradient(self.values[step.iteration - 1])
        return Loss(value, {"listed": value.detach()}, final=step.iteration >= self.final_from)

    def after(self, step: Step) -> None:
        self.note("after", step)

    def embed(self, step: Step) -> Embedding:
        assert not self.training and not torch.is_grad_enabled()
        self.note("embed", step)
        return Embedding(self.weight.detach().clone(), geometry="cosine")


def descent(model: Model, lr: float = 1.0) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=lr)


def test_an_iteration_is_a_loss_a_step_and_what_follows_it() -> None:
    model, watch = Counter([5.0, 4.0, 3.0]), Watch()
    found = train(model, descent(model), watch)
    assert model.calls == [
        ("loss", 1, 0.0),
        ("after", 1, -1.0),
        ("loss", 2, -1.0),
        ("after", 2, -2.0),
        ("loss", 3, -2.0),
        ("after", 3, -3.0),
        ("embed", 3, -3.0),
    ]
    assert watch.curve == [(1, 5.0), (2, 4.0), (3, 3.0)]
    assert found.z.tolist() == [[-3.0]] and found.geometry == "cosine"
    assert (found.findings, list(found.remarks)) == ({}, [])


def test_patience_ends_before_the_step_and_goes_back_to_the_lowest_loss() -> None:
    """The loss of iteration 4 is the lowest: it is that of the state after three steps."""
    model, watch = Counter([5.0, 4.0, 4.5, 3.0, 3.0, 3.5, 3.0, 1.0]), Watch()
    found = train(model, descent(model), watch, patience=3)
    assert model.calls[-2:] == [("loss", 7, -6.0), ("embed", 7, -3.0)]
    assert [call for call, _, _ in model.calls].count("after") == 6, "no step at the last loss"
    assert (watch.reached, watch.last_loss) == (7, 3.0), "which is noted all the same"
    assert found.z.tolist() == [[-3.0]]
    assert (found.findings, list(found.remarks)) == ({"steps_kept": 3}, [])


def test_patience_that_does_not_run_out_goes_back_too() -> None:
    model, watch = Counter([5.0, 3.0, 4.0]), Watch()
    found = train(model, descent(model), watch, patience=3)
    assert watch.reached == 3
    assert found.z.tolist() == [[-1.0]] and found.findings == {"steps_kept": 1}


def test_a_model_that_knows_how_it_ended_is_judged_by_that_too() -> None:
    class Knowing(Counter):
        ending = 2.0

        def outcome(self) -> Tensor:
            return torch.tensor(self.ending)

    def found(values: list[float], patience: int) -> tuple[list[list[float]], dict[str, float]]:
        model = Knowing(values)
        embedding = train(model, descent(model), Watch(), patience=patience)
        return embedding.z.tolist(), dict(embedding.findings)

    assert found([5.0, 3.0, 4.0], 3) == ([[-3.0]], {"steps_kept": 3})
    assert found([5.0, 1.0, 4.0], 3) == ([[-1.0]], {"steps_kept": 1})
    assert found([5.0, 3.0, 4.0, 4.0], 2) == ([[-1.0]], {"steps_kept": 1}), "patience ended it"
    assert found([5.0, 3.0, 4.0], 0) == ([[-3.0]], {})


def test_patience_waits_for_losses_that_are_final() -> None:
    """The first two are lower than any that follow, and say nothing."""
    values = [0.1, 0.2, 5.0, 4.0, 4.5, 4.6, 0.0]
    model, watch = Counter(values, final_from=3), Watch()
    found = train(model, descent(model), watch, patience=2)
    assert watch.reached == 6
    assert found.z.tolist() == [[-3.0]] and found.findings == {"steps_kept": 3}
    never = Counter(values, final_from=100)
    unending = train(never, descent(never), Watch(), patience=1)
    assert unending.z.tolist() == [[-7.0]] and unending.findings == {}


def test_findings_and_remarks_of_patience_come_before_those_of_the_method() -> None:
    class Telling(Counter):
        def embed(self, step: Step) -> Embedding:
            clusters = torch.zeros(1, dtype=torch.long)
            own = {"own": 0.5, "other": 2.0}
            return Embedding(self.weight.detach(), "cosine", None, clusters, None, own, ["own"])

    model = Telling([1.0, 2.0, 2.0, 2.0])
    found = train(model, descent(model), Watch(), patience=2)
    assert found.findings == {"steps_kept": 0, "own": 0.5, "other": 2.0}
    assert found.remarks == [UNTRAINED, "own"]
    assert found.geometry == "cosine" and found.clusters is not None, "the rest stays"
    plain = Telling([1.0, 2.0])
    assert train(plain, descent(plain), Watch()).remarks == ["own"]


class Several(Counter):
    """Two losses in each iteration.

    Args:
        noted: what each of the two adds to the loss that is noted; its value where None.
    """

    def __init__(self, values: list[float], noted: tuple[float | None, float | None]):
        super().__init__(values)
        self.noted = noted

    def losses(self, step: Step) -> Iterator[Loss]:
        for number, noted in enumerate(self.noted, start=1):
            loss = self.loss(step)
            share = None if noted is None else torch.tensor(noted)
            yield replace(loss, noted=share, terms={f"part {number}": loss.value.detach()})


@pytest.mark.parametrize(
    ("noted", "curve"),
    [
        ((None, None), [(1, 10.0), (2, 8.0)]),
        ((0.25, 0.5), [(1, 0.75), (2, 0.75)]),
        ((0.25, None), [(1, 5.25), (2, 4.25)]),
    ],
)
def test_the_optimiser_steps_after_each_of_several_losses(
    noted: tuple[float | None, float | None], curve: list[tuple[int, float]]
) -> None:
    model, watch = Several([5.0, 4.0], noted), Watch()
    train(model, descent(model), watch)
    assert model.calls == [
        ("loss", 1, 0.0),
        ("loss", 1, -1.0),
        ("after", 1, -2.0),
        ("loss", 2, -2.0),
        ("loss", 2, -3.0),
        ("after", 2, -4.0),
        ("embed", 2, -4.0),
    ]
    assert watch.curve == curve


def test_patience_counts_each_of_several_losses() -> None:
    model, watch = Several([5.0, 6.0, 7.0], (None, None)), Watch()
    found = train(model, descent(model), watch, patience=2)
    assert model.calls[-2:] == [("loss", 2, -2.0), ("embed", 2, 0.0)]
    assert found.findings == {"steps_kept": 0}


def test_the_rate_is_a_share_of_the_optimisers_own() -> None:
    class Warming(Counter):
        def rate(self, step: Step) -> float:
            return step.iteration / step.total

    model = Warming([1.0] * 4)
    train(model, descent(model, lr=8.0), Watch())
    assert [weight for call, _, weight in model.calls if call == "after"] == [-2, -6, -12, -20]


def test_a_module_that_an_earlier_loop_has_trained_is_in_training_mode_again() -> None:
    """SDCN's autoencoder is: `Counter` checks the mode at each loss."""
    model = Counter([5.0, 4.0])
    train(model, descent(model), Watch())
    assert not model.training
    again = train(model, descent(model), Watch())
    assert again.z.tolist() == [[-4.0]]


def test_no_iterations_embed_the_untrained_model() -> None:
    model, watch = Counter([]), Watch()
    found = train(model, descent(model), watch, patience=3)
    assert model.calls == [("embed", 1, 0.0)] and found.z.tolist() == [[0.0]]
    assert (found.findings, list(found.remarks)) == ({}, [])
    assert watch.summary() == {"iterations": 0}


def test_a_loss_that_is_not_finite_ends_the_training_and_names_the_term() -> None:
    model = Counter([1.0, math.nan, 1.0])
    with pytest.raises(Diverged) as caught:
        train(model, descent(model), Watch(), patience=2)
    said = "the loss became nan at iteration 2 of 3 (its term 'listed' is nan)"
    assert str(caught.value) == said
    assert model.calls[-1][:2] == ("loss", 2)


# --- checkpoints -------------------------------------------------------------------------------


class Wandering(Model):
    """A random walk with everything that a checkpoint has to hold.

    A parameter, a buffer, a random stream, and a tensor that is not part of the module.
    """

    def __init__(self, iterations: int):
        self.track = torch.zeros(iterations)
        dice = torch.Generator().manual_seed(3)
        super().__init__(iterations, dice=dice, track=self.track)
        self.weight = nn.Parameter(torch.ones(2, 3))
        self.steps: Tensor
        self.register_buffer("steps", torch.tensor(0))

    def loss(self, step: Step) -> Loss:
        chance = torch.rand(2, 3, generator=self.state["dice"]) - 0.5
        loss = 0.2 * (self.weight * chance).sum() + self.weight.square().sum()
        self.track[step.iteration - 1] = loss.detach()
        return Loss(loss, {"walk": loss.detach()})

    def after(self, step: Step) -> None:
        self.steps += 1

    def embed(self, step: Step) -> Embedding:
        return Embedding(
            torch.cat([self.weight.detach().flatten(), self.track, self.steps[None].float()])[None],
            findings={"at": step.iteration},
        )


def walk(watch: Watch, patience: int) -> Embedding:
    model = Wandering(30)
    return train(model, torch.optim.Adam(model.parameters(), lr=0.1), watch, patience)


@pytest.mark.parametrize("patience", [0, 8])
@pytest.mark.parametrize("after", [1, 8, 13, 17])
def test_a_training_that_is_stopped_goes_on_bit_for_bit(
    tmp_path: Path, after: int, patience: int
) -> None:
    whole_watch, stop = Watch(), threading.Event()
    whole = walk(whole_watch, patience)
    assert (whole_watch.reached < 30) == bool(patience) and whole_watch.reached > 17
    assert whole.findings.keys() == ({"at", "steps_kept"} if patience else {"at"})

    def until(done: int, total: int, loss: float) -> None:
        if done == after:
            stop.set()

    def checkpoint() -> Checkpoint:
        return Checkpoint(tmp_path / "state", "key", every=1e9)

    with pytest.raises(Preempted, match=f"stopped at iteration {after} of 30"):
        walk(Watch(until, checkpoint=checkpoint(), stop=stop), patience)
    saved = checkpoint().read()
    assert saved is not None
    assert saved.state.keys() == {"model", "optimiser", "patience", "dice", "track"}
    heard: list[int] = []
    watch = Watch(lambda done, total, loss: heard.append(done), checkpoint=checkpoint())
    resumed = walk(watch, patience)
    assert heard == list(range(after + 1, whole_watch.reached + 1))
    assert torch.equal(resumed.z, whole.z)
    assert resumed.findings == whole.findings
    assert watch.summary() == {**whole_watch.summary(), "resumed": 1}


# --- a method's own part -----------------------------------------------------------------------


def test_patience_compares_what_a_loss_says_it_should() -> None:
    """The loss falls and what is judged rises: the first state is kept, and what follows a loop
    that ended early finds it ended."""

    class Judged(Counter):
        def loss(self, step: Step) -> Loss:
            return replace(super().loss(step), judged=torch.tensor(float(step.iteration)))

    watch, model = Watch(), Judged([3.0, 2.0, 1.0, 0.5])
    found = train(model, Counting().optimiser(model), watch, patience=2)
    assert watch.reached == 3 and found.findings["steps_kept"] == 0
    assert list(watch.iterations(2)) == [1, 2]


@dataclass(frozen=True)
class Counting(Trained):
    """A method that trains a counter."""

    epochs: int = 6
    lr: float = 0.5
    weight_decay: float = 0.25
    patience: int = 2

    def model(self, graph: Data, labels: Tensor, rng: Streams, negatives: Any = None) -> Model:
        assert torch.equal(labels, torch.tensor([-1])) and rng.seed == 7
        return Counter([float(negatives)] * self.epochs)


def test_a_method_trains_its_model_with_its_settings() -> None:
    watch, graph = Watch(), Data(x=torch.zeros(1, 1))
    found = Counting().fit(graph, torch.tensor([-1]), Streams(7), watch, 3.5)
    assert watch.curve == [(1, 3.5), (2, 3.5), (3, 3.5)], "patience of two"
    assert found.remarks == [UNTRAINED]
    optimiser = Counting().optimiser(Counter([]))
    assert isinstance(optimiser, torch.optim.Adam)
    assert (optimiser.defaults["lr"], optimiser.defaults["weight_decay"]) == (0.5, 0.25)
    assert Trained.patience == 0 and Trained.weight_decay == 0.0


def test_the_optimiser_moves_the_parameters_that_the_model_names() -> None:
    class Partly(Counter):
        def __init__(self) -> None:
            super().__init__([1.0, 1.0])
            self.other = nn.Parameter(torch.ones(1, 1))

        def trained(self) -> list[nn.Parameter]:
            return [self.weight]

        def with_gradient(self, value: float) -> Tensor:
            return super().with_gradient(value) + self.other.sum()

    model = Partly()
    train(model, Counting(weight_decay=0.0).optimiser(model), Watch())
    assert model.weight.item() != 0.0 and model.other.item() == 1.0
    everything = Counter([])
    assert list(everything.trained()) == [everything.weight]


def test_what_a_method_has_to_define() -> None:
    with pytest.raises(TypeError, match="Model defines no loss"):
        Model(1).loss(Step(1, 1))
    with pytest.raises(TypeError, match="Model defines no loss"):
        next(iter(Model(1).losses(Step(1, 1))))
    with pytest.raises(TypeError, match="Model defines no embedding"):
        Model(1).embed(Step(1, 1))
    with pytest.raises(TypeError, match="Trained defines no model"):
        Trained().model(Data(), torch.zeros(0), Streams(0))
