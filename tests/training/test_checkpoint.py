"""A training that is stopped and taken up again ends as if nothing had happened."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stopper import Stopper

from gclbench.config.validation import experiment_of
from gclbench.embedding import Embedding
from gclbench.graph import without_labels
from gclbench.machine.limits import TimeLimit
from gclbench.training.checkpoint import Checkpoint, restore, snapshot
from gclbench.training.streams import Streams
from gclbench.training.watch import Preempted, Watch

SMALL = ("dataset=sbm", "dataset.nodes=80", "dataset.classes=2", "dataset.features=8")
PASSES = ("method.batch_size=32", "method.epochs=20")
"""80 nodes in batches of 32: a pass is three batches, the last one smaller."""


def train(method: str, *settings: str, watch: Watch) -> Embedding:
    experiment = experiment_of([*SMALL, f"method={method}", "filter=none", "device=cpu", *settings])
    graph = experiment.components.dataset.load()
    labels = graph.y if method in ("dmt", "dmat") else torch.full((graph.num_nodes,), -1)
    return experiment.components.method.fit(without_labels(graph), labels, Streams(3), watch)


def stopped(path: Path, method: str, *settings: str, after: int, key: str = "k") -> Watch:
    """A first attempt that is told to stop after some iterations."""
    stopper = Stopper(after)
    watch = Watch(stopper, checkpoint=Checkpoint(path, key, every=1e9), stop=stopper.flag)
    with pytest.raises(Preempted, match=f"stopped at iteration {after} of"):
        train(method, *settings, watch=watch)
    return watch


@pytest.mark.parametrize("after", [1, 2, 3, 4, 10, 19, 20])
def test_dmat_i_goes_on_bit_for_bit_wherever_in_a_pass_it_stopped(
    tmp_path: Path, after: int
) -> None:
    whole_watch = Watch()
    whole = train("dmat_i", *PASSES, watch=whole_watch)
    path = tmp_path / "checkpoint.pt"
    stopped(path, "dmat_i", *PASSES, after=after)
    torch.manual_seed(99)  # another process: nothing may come from the global state
    watch = Watch(checkpoint=Checkpoint(path, "k", every=1e9))
    resumed = train("dmat_i", *PASSES, watch=watch)
    assert torch.equal(resumed.z, whole.z)
    assert watch.summary() == {**whole_watch.summary(), "resumed": 1}
    assert 0 < watch.earlier_seconds < 60


@pytest.mark.parametrize("method", ["dmt", "dmat"])
def test_labelled_methods_go_on_bit_for_bit(tmp_path: Path, method: str) -> None:
    passes = (*PASSES, "method.epoch_by=last")
    whole = train(method, *passes, watch=Watch())
    stopped(tmp_path / "c", method, *passes, after=7)
    assert torch.equal(
        train(method, *passes, watch=Watch(checkpoint=Checkpoint(tmp_path / "c", "k", 1e9))).z,
        whole.z,
    )


def test_a_training_may_be_stopped_any_number_of_times(tmp_path: Path) -> None:
    whole = train("dmat_i", *PASSES, watch=Watch())
    for after in (5, 6, 14):
        stopped(tmp_path / "c", "dmat_i", *PASSES, after=after)
    watch = Watch(checkpoint=Checkpoint(tmp_path / "c", "k", 1e9))
    assert torch.equal(train("dmat_i", *PASSES, watch=watch).z, whole.z)
    assert watch.summary()["resumed"] == 3


def test_checkpoints_by_the_clock_hold_whole_iterations(tmp_path: Path) -> None:
    """A kill at any moment finds the last one; here after every iteration."""
    whole = train("dmat_i", *PASSES, watch=Watch())

    def kill(iteration: int, total: int, loss: float) -> None:
        if iteration == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(
            "dmat_i",
            *PASSES,
            watch=Watch(kill, checkpoint=Checkpoint(tmp_path / "c", "k", every=1e-9)),
        )
    saved = Checkpoint(tmp_path / "c", "k", 1).read()
    assert saved is not None and 1 <= saved.iteration <= 11
    watch = Watch(checkpoint=Checkpoint(tmp_path / "c", "k", every=1e9))
    assert torch.equal(train("dmat_i", *PASSES, watch=watch).z, whole.z)


def test_no_checkpoint_before_its_time(tmp_path: Path) -> None:
    train("dmat_i", *PASSES, watch=Watch(checkpoint=Checkpoint(tmp_path / "c", "k", every=1e9)))
    assert list(tmp_path.iterdir()) == []


# --- what cannot be gone on from
# -----------------------------------------------------------------------------


def damage_key(path: Path) -> None:
    Checkpoint(path, "other", 1).write(Checkpoint(path, "k", 1).read())  # type: ignore[arg-type]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def other_total(path: Path) -> None:
    saved = Checkpoint(path, "k", 1).read()
    saved.total = 21  # type: ignore[union-attr]
    Checkpoint(path, "k", 1).write(saved)  # type: ignore[arg-type]


def other_shape(path: Path) -> None:
    saved = Checkpoint(path, "k", 1).read()
    model = saved.state["model"]  # type: ignore[union-attr]
    model.update({name: value[:1] for name, value in model.items() if torch.is_tensor(value)})
    Checkpoint(path, "k", 1).write(saved)  # type: ignore[arg-type]


def other_names(path: Path) -> None:
    saved = Checkpoint(path, "k", 1).read()
    del saved.state["views"]  # type: ignore[union-attr]
    Checkpoint(path, "k", 1).write(saved)  # type: ignore[arg-type]


def code(path: Path) -> None:
    torch.save({"format": 1, "key": "k", "evil": Stopper}, path)


@pytest.mark.parametrize(
    "spoil,text",
    [
        (damage_key, "is of another run, version, code, precision or features"),
        (cut, "is damaged"),
        (lambda path: path.write_bytes(b""), "is damaged"),
        (other_total, "does not fit (it is of 21 iterations, and the training has 20"),
        (other_shape, "does not fit"),
        (other_names, "does not fit"),
        (code, "is damaged"),
    ],
)
def test_a_damaged_or_foreign_checkpoint_is_told_and_not_used(
    tmp_path: Path, spoil: Callable[[Path], Any], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = train("dmat_i", *PASSES, watch=Watch())
    path = tmp_path / "c"
    stopped(path, "dmat_i", *PASSES, after=5)
    spoil(path)
    watch = Watch(checkpoint=Checkpoint(path, "k", every=1e9))
    with caplog.at_level(logging.WARNING):
        again = train("dmat_i", *PASSES, watch=watch)
    assert torch.equal(again.z, whole.z) and watch.resumed == 0 and watch.earlier_seconds == 0
    assert any(
        text in message and "the training starts anew" in message for message in caplog.messages
    )


def test_a_place_that_cannot_be_written_costs_the_checkpoint_not_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    watch = Watch(checkpoint=Checkpoint(tmp_path / "file" / "c", "k", every=1e-9))
    assert torch.equal(
        train("dmat_i", *PASSES, watch=watch).z, train("dmat_i", *PASSES, watch=Watch()).z
    )
    assert "cannot be written" in caplog.text and "the run goes on without" in caplog.text


# --- several loops, other objects
# ----------------------------------------------------------------------------


def two_loops(watch: Watch) -> tuple[list[int], torch.Tensor, float]:
    """A method that pretrains one tensor and then trains another from it."""
    first, second = torch.zeros(2), torch.zeros(2)
    chance, dice = np.random.default_rng(1), torch.Generator().manual_seed(2)
    walked = []
    for step in watch.iterations(4, first=first, chance=chance):
        first += chance.random()
        walked.append(step)
        watch(step, 4, float(first.sum()))
    for step in watch.iterations(5, second=second, dice=dice, nothing=None):
        second += first * torch.rand(2, generator=dice)
        walked.append(10 + step)
        watch(10 + step, 15, float(second.sum()))
    return walked, second, chance.random()


@pytest.mark.parametrize("after", [2, 4, 11, 13, 15])
def test_a_loop_that_is_done_is_not_walked_again(tmp_path: Path, after: int) -> None:
    _, whole, last = two_loops(Watch())
    stopper = Stopper(after)
    with pytest.raises(Preempted):
        two_loops(
            Watch(stopper, checkpoint=Checkpoint(tmp_path / "c", "k", 1e9), stop=stopper.flag)
        )
    walked, resumed, resumed_last = two_loops(
        Watch(checkpoint=Checkpoint(tmp_path / "c", "k", 1e9))
    )
    assert torch.equal(resumed, whole) and resumed_last == last
    assert walked == [step for step in [1, 2, 3, 4, 11, 12, 13, 14, 15] if step > after]


def test_a_loop_that_is_done_has_the_iteration_and_the_loss_at_which_it_ended(
    tmp_path: Path,
) -> None:
    """Its embedding is made anew, as of that iteration."""
    seen = []

    def both(watch: Watch) -> None:
        for step in watch.iterations(4, first=torch.zeros(2)):
            watch(step, 4, float(-step))
            if step == 3:
                watch.leave()
        seen.append((watch.reached, watch.last_loss))
        for step in watch.iterations(5, second=torch.zeros(2)):
            watch(step, 5, 0.5)

    stopper = Stopper(2)

    def in_the_second(done: int, total: int, loss: float) -> None:
        if total == 5:
            stopper(done, total, loss)

    checkpoint = Checkpoint(tmp_path / "c", "k", 1e9)
    with pytest.raises(Preempted):
        both(Watch(in_the_second, checkpoint=checkpoint, stop=stopper.flag))
    both(Watch(checkpoint=Checkpoint(tmp_path / "c", "k", 1e9)))
    assert seen == [(3, -3.0), (3, -3.0)]


def test_what_has_no_state_is_refused_at_once() -> None:
    with pytest.raises(
        TypeError,
        match=r"watch.iterations\(count=…\): an item of type int has no state_dict and load_state",
    ):
        next(iter(Watch().iterations(3, count=5)))


def test_objects_stay_as_they_are_when_a_state_does_not_fit() -> None:
    layer, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 3)
    generator = torch.Generator().manual_seed(1)
    state = snapshot({"generator": torch.Generator().manual_seed(2), "layer": other}, copy=True)
    before = snapshot({"layer": layer, "generator": generator}, copy=True)
    with pytest.raises(ValueError, match="size mismatch|Error"):
        restore({"generator": generator, "layer": layer}, state)
    assert torch.equal(generator.get_state(), before["generator"])
    assert torch.equal(layer.weight, before["layer"]["weight"])


def test_a_loop_without_iterations_is_stopped_too() -> None:
    stop = threading.Event()
    watch = Watch(stop=stop)
    watch(1, 3, 0.5)
    stop.set()
    with pytest.raises(Preempted, match="stopped at iteration 2 of 3"):
        watch(2, 3, 0.5)


def test_the_time_limit_counts_earlier_attempts(tmp_path: Path) -> None:
    path = tmp_path / "c"
    stopped(path, "dmat_i", *PASSES, after=5)
    saved = Checkpoint(path, "k", 1).read()
    assert saved is not None
    saved.seconds = 100.0
    Checkpoint(path, "k", 1).write(saved)
    with pytest.raises(TimeLimit, match="stopped after 90 s at iteration 6 of 20"):
        train(
            "dmat_i", *PASSES, watch=Watch(time_limit=90.0, checkpoint=Checkpoint(path, "k", 1e9))
        )


@pytest.mark.parametrize("where", ["torch.load", "gclbench.training.checkpoint._put"])
def test_a_time_limit_is_not_taken_for_damage(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The alarm rings once: whoever takes it for a damaged file lets the run go on for ever."""
    path = tmp_path / "c"
    stopped(path, "dmat_i", *PASSES, after=5)

    def late(*arguments: object, **named: object) -> None:
        monkeypatch.undo()
        raise TimeLimit("late")

    monkeypatch.setattr(where, late)
    with pytest.raises(TimeLimit, match="late"):
        train("dmat_i", *PASSES, watch=Watch(checkpoint=Checkpoint(path, "k", 1e9)))
