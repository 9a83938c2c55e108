"""The eye on a training."""

from __future__ import annotations

import math
import time

import pytest
import torch

from gclbench.machine.limits import TimeLimit
from gclbench.training import watch as module
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.watch import CURVE_POINTS, Diverged, Watch


def test_nothing_yet():
    watch = Watch()
    assert watch.summary() == {"iterations": 0}
    assert math.isnan(watch.last_loss)


@pytest.mark.parametrize("total", [1, 2, 99, 100, 101, 150, 199, 200, 1000, 12345])
def test_the_curve_is_short_even_and_holds_the_last_loss(total):
    watch = Watch()
    for iteration in range(1, total + 1):
        watch(iteration, total, 1 / iteration)
    points = [iteration for iteration, _ in watch.curve]
    assert len(points) <= CURVE_POINTS + 1
    assert len(points) >= min(total, CURVE_POINTS // 2)
    assert points[-1] == total
    assert len({later - earlier for earlier, later in zip(points[:-2], points[1:-1])}) <= 1
    assert all(loss == 1 / iteration for iteration, loss in watch.curve)


def test_summary_is_plain_and_json_ready():
    watch = Watch()
    watch(1, 2, torch.tensor(0.5))
    watch(2, 2, torch.tensor([0.25]))
    assert watch.summary() == {"iterations": 2, "loss": 0.25, "curve": [[1, 0.5], [2, 0.25]]}
    assert all(type(value) is float for _, value in watch.summary()["curve"])


def test_the_reporter_hears_everything():
    heard: list[tuple[int, int, float]] = []
    watch = Watch(report=lambda *facts: heard.append(facts))
    for iteration in range(1, 301):
        watch(iteration, 300, 2.0)
    assert heard == [(iteration, 300, 2.0) for iteration in range(1, 301)]


def test_the_progress_of_several_trainings_is_that_of_all_of_them():
    heard: list[tuple[int, int, float]] = []
    watch = Watch(report=lambda *facts: heard.append(facts))
    for place in range(3):
        watch.share = place, 3
        for iteration in (1, 2):
            watch(iteration, 2, 0.5)
    assert heard == [(done, 6, 0.5) for done in range(1, 7)]
    assert watch.reached == 2


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf, torch.tensor(math.nan)])
def test_a_loss_that_is_not_finite_ends_the_training(loss):
    heard: list[int] = []
    watch = Watch(report=lambda done, total, value: heard.append(done))
    watch(1, 9, 1.0)
    with pytest.raises(Diverged, match="the loss became -?(nan|inf) at iteration 2 of 9$"):
        watch(2, 9, loss)
    assert watch.summary() == {"iterations": 1, "loss": 1.0, "curve": [[1, 1.0]]}, (
        "what was good stays"
    )
    assert heard == [1]


def test_the_time_limit(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    watch = Watch(time_limit=5.0)
    now[0] = 105.0
    watch(1, 3, 1.0)
    now[0] = 105.1
    with pytest.raises(
        TimeLimit, match=r"stopped after 5 s at iteration 2 of 3; time_limit=SECONDS sets it"
    ):
        watch(2, 3, 0.5)
    assert watch.reached == 2, "the iteration that was done counts"
    assert watch.last_loss == 0.5


def test_a_checkpoint_that_takes_long_to_write_is_written_more_rarely(monkeypatch, tmp_path):
    """An iteration takes a second, and a writing five: that is a twentieth of a hundred."""
    now, written = [0.0], []
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])

    class Slow(Checkpoint):
        def write(self, progress):
            written.append(progress.iteration)
            now[0] += 5.0

    watch = Watch(checkpoint=Slow(tmp_path / "c", "k", every=10.0))
    for iteration in watch.iterations(250):
        now[0] += 1.0
        watch(iteration, 250, 0.5)
    assert written == [10, 110, 210]


def test_no_time_limit(monkeypatch):
    watch = Watch()
    monkeypatch.setattr(module.time, "monotonic", lambda: time.time() + 1e9)
    watch(1, 1, 1.0)


@pytest.mark.parametrize("walks", [True, False])
def test_the_curve_is_of_the_last_training(walks):
    """Also of a method that does not walk its iterations through the watch."""
    watch = Watch()
    for total in (2, 3, 0):
        numbers = watch.iterations(total) if walks else range(1, total + 1)
        for iteration in numbers:
            watch(iteration, total, float(10 * total + iteration))
    assert watch.curve == [(1, 31.0), (2, 32.0), (3, 33.0)]
