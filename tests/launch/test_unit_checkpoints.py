"""A unit that is stopped goes on from its checkpoint, and from no other one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from launch.small_units import QUICK, record_of, units
from stopper import Stopper

from gclbench.config.validation import experiment_of
from gclbench.launch.attempt import PREEMPTED, perform
from gclbench.launch.plan import expand
from gclbench.machine import precision
from gclbench.machine.limits import TimeLimit
from gclbench.records import Store
from gclbench.run import runner

pytestmark = pytest.mark.usefixtures("own_folder")


def test_told_to_stop_it_leaves_a_checkpoint_and_goes_on_to_the_same_numbers() -> None:
    (unit,) = units("seeds=[1]", "checkpoint_every=1000")
    perform(unit, "runs")
    whole = [record_of(unit, place) for place in (0, 1)]
    for run_id in unit.ids:
        Store("runs").path(run_id).unlink()
    stopper = Stopper(after=7)
    assert perform(unit, "runs", stopper, stopper.flag) == dict.fromkeys(unit.ids, PREEMPTED)
    assert not any(Store("runs").path(run_id).exists() for run_id in unit.ids)
    checkpoint = Store("runs").path(unit.ids[0]).with_name("checkpoint.pt")
    assert checkpoint.exists()
    assert perform(unit, "runs", None, stopper.flag) == dict.fromkeys(unit.ids, PREEMPTED), (
        "still told to stop"
    )
    torch.manual_seed(5)
    assert perform(unit, "runs") == dict.fromkeys(unit.ids, "ok")
    resumed = [record_of(unit, place) for place in (0, 1)]
    assert [record.metrics for record in resumed] == [record.metrics for record in whole]
    assert [record.fit for record in resumed] == [{**record.fit, "resumed": 1} for record in whole]
    assert not checkpoint.exists()


def test_seconds_of_earlier_attempts_count(monkeypatch: pytest.MonkeyPatch) -> None:
    (unit,) = units("task=clustering", "checkpoint_every=1000")
    stopper = Stopper(after=7)
    perform(unit, "runs", stopper, stopper.flag)
    from gclbench.training.checkpoint import Checkpoint, Progress

    plain = Checkpoint.read

    def longer(self: Checkpoint) -> Progress | None:
        saved = plain(self)
        assert saved is not None and 0 < saved.seconds < 60
        saved.seconds = 1000.0
        return saved

    monkeypatch.setattr(Checkpoint, "read", longer)
    perform(unit, "runs")
    assert 1000 < record_of(unit).seconds["fit"] < 1060


def test_without_checkpoints_a_stopped_run_starts_anew() -> None:
    (unit,) = units("task=clustering", "checkpoint_every=null")
    stopper = Stopper(after=7)
    assert perform(unit, "runs", stopper, stopper.flag) == {unit.ids[0]: PREEMPTED}
    assert not list(Path("runs").iterdir()), "nor does it leave a folder"
    assert perform(unit, "runs") == {unit.ids[0]: "ok"}
    assert "resumed" not in record_of(unit).fit


def test_between_two_evaluations_the_checkpoint_is_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An interrupt in the second task's evaluation must not cost the training."""
    from gclbench.tasks.classification import Classification

    (unit,) = units("checkpoint_every=1e-9")
    plain = Classification.evaluate

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Classification, "evaluate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        perform(unit, "runs")
    monkeypatch.setattr(Classification, "evaluate", plain)
    assert [record_of(unit, place).status for place in (0, 1)] == ["ok", "interrupted"]
    assert not Store("runs").path(unit.ids[0]).with_name("checkpoint.pt").exists()
    (left,) = units()
    assert left.tasks == ("classification",)
    assert perform(left, "runs") == {unit.ids[1]: "ok"}
    assert (
        record_of(unit, 1).fit["resumed"] == 1
        and record_of(unit, 1).fit["loss"] == record_of(unit, 0).fit["loss"]
    )


def test_a_checkpoint_of_another_setting_is_not_taken_up(caplog: pytest.LogCaptureFixture) -> None:
    (unit,) = units("task=clustering", "checkpoint_every=1000")
    stopper = Stopper(after=7)
    perform(unit, "runs", stopper, stopper.flag)
    (other,) = units("task=clustering", "checkpoint_every=1000", "method.lr=0.5")
    Store("runs").path(other.ids[0]).parent.mkdir()
    Store("runs").path(unit.ids[0]).with_name("checkpoint.pt").rename(
        Store("runs").path(other.ids[0]).with_name("checkpoint.pt")
    )
    perform(other, "runs")
    assert (
        "resumed" not in record_of(other).fit
        and "is of another run, version, code, precision or features; the training starts anew"
        in caplog.text
    )


def test_a_checkpoint_of_other_code_is_not_taken_up(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of somebody's method whose file was changed between two attempts."""
    (unit,) = units("task=clustering", "checkpoint_every=1000")
    stopper = Stopper(after=7)
    perform(unit, "runs", stopper, stopper.flag)
    monkeypatch.setattr(runner, "code_of", lambda components: "other")
    perform(unit, "runs")
    assert "resumed" not in record_of(unit).fit
    assert "is of another run, version, code, precision or features" in caplog.text


def test_a_checkpoint_of_other_features_is_not_taken_up(caplog: pytest.LogCaptureFixture) -> None:
    """What a filter keeps its numbers in is no part of a run's id, and moves the features."""
    words = [word for word in QUICK if word != "filter=none"]
    words += ["task=clustering", "checkpoint_every=1000", "filter.alpha=0.5", "filter.tol=0.1"]
    coarse, fine = (
        expand([experiment_of([*words, f"filter.storage={storage}"])], Store("runs")).units[0]
        for storage in ("bfloat16", "float32")
    )
    assert coarse.ids == fine.ids
    stopper = Stopper(after=7)
    perform(coarse, "runs", stopper, stopper.flag)
    perform(fine, "runs")
    assert "is of another run, version, code, precision or features" in caplog.text
    assert "resumed" not in record_of(fine).fit


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (f"fast {precision.EVERYWHERE}", "float32"),
        ("float32", f"fast {precision.EVERYWHERE}"),
        (f"fast {precision.EVERYWHERE}", f"fast {precision.FACTORS_IN_CONTRASTS}"),
    ],
)
def test_a_checkpoint_of_other_products_is_not_taken_up(
    first: str, then: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another precision, or of a machine that shortens others: the record has the last alone."""
    for products in (first, then):
        asked, _, shortened = products.partition(" ")
        here = (shortened,) if shortened else ()
        monkeypatch.setattr(precision, "ways", lambda device, here=here: here)
        (unit,) = units("task=clustering", "checkpoint_every=1000", f"precision={asked}")
        stopper = Stopper(after=7)
        perform(unit, "runs", *((stopper, stopper.flag) if products == first else ()))
    assert "is of another run, version, code, precision or features" in caplog.text
    record = record_of(unit)
    assert "resumed" not in record.fit and record.environment["precision"] == asked
    assert record.environment.get("fast_products", "") == shortened
    assert f"precision={asked}" in record.command.split()


def test_a_first_task_that_is_unsupported_does_not_keep_the_checkpoint() -> None:
    """Its run has ended, so the next attempt begins at the second one and looks there."""
    choice = ("task=[graph_clustering,clustering]", "checkpoint_every=1000")
    (unit,) = units(*choice)
    stopper = Stopper(after=7)
    ends = perform(unit, "runs", stopper, stopper.flag)
    assert list(ends.values()) == ["unsupported", PREEMPTED]
    (left,) = units(*choice)
    assert left.ids == unit.ids[1:]
    assert perform(left, "runs") == {left.ids[0]: "ok"}
    assert record_of(left).fit["resumed"] == 1
    assert not list(Path("runs").glob("*/checkpoint.pt"))


def test_a_training_that_passed_its_time_limit_keeps_its_checkpoint() -> None:
    """With a longer limit it goes on from there."""
    command = ("task=clustering", "checkpoint_every=1000")
    (unit,) = units(*command)
    stopper = Stopper(after=7)
    perform(unit, "runs", stopper, stopper.flag)

    def late(iteration: int, total: int, loss: float) -> None:
        raise TimeLimit("stopped")

    assert perform(unit, "runs", late) == {unit.ids[0]: "timeout"}
    (again,) = units(*command, "rerun=all")
    assert perform(again, "runs") == {unit.ids[0]: "ok"}
    assert record_of(unit).fit["resumed"] == 1
    assert not list(Path("runs").glob("*/checkpoint.pt"))
