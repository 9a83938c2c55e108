"""How long runs will take: from records of the same method on the same dataset, or unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from example_records import SPEC, record

from gclbench.records import Record
from gclbench.run.estimate import Durations, cost_key, spoken
from gclbench.run.unit import Unit


def timed(epochs: int | None, fit: float, seed: int, status: str = "ok") -> Record:
    method = {"name": "grace"} if epochs is None else {"name": "grace", "epochs": epochs}
    spec = replace(SPEC, method=method, seed=seed)
    seconds = {"load": 9.0, "filter": 1.0, "fit": fit, "evaluate": 2.0}
    return record(spec, seconds=seconds, status=status)


def unit(method: str = "grace", epochs: int | None = 100, tasks: int = 1, **fields: str) -> Unit:
    names = ("clustering", "classification")[:tasks]
    dataset = fields.pop("dataset", "cora")
    settings = {
        "method": {"name": method, **fields},
        "filter": {"name": "gnnbp"},
        "negatives": {"name": "uniform"},
        "dataset": {"name": dataset},
    }
    key = cost_key(settings)
    return Unit(method, dataset, (), 0, names, ("",), "", (), epochs=epochs, cost_key=key)


def test_runs_of_as_many_epochs_say_it() -> None:
    durations = Durations.of([timed(100, 30.0, 0), timed(100, 50.0, 1), timed(200, 1000.0, 2)])
    assert durations.seconds(unit()) == 1 + 40 + 2, "loading is done once for all runs"


def test_more_epochs_cost_more_by_the_seconds_of_one() -> None:
    durations = Durations.of([timed(2, 4.0, 0), timed(100, 50.0, 1), timed(100, 70.0, 2)])
    assert durations.seconds(unit(epochs=1000)) == pytest.approx(1 + 600 + 2), (
        "the longest trainings: the first epochs of a short one are its slowest"
    )


def test_a_gpu_says_nothing_of_a_processor() -> None:
    there = replace(timed(100, 1.0, 0), memory={"rss_peak": 9, "gpu_allocated": 5})
    here = timed(100, 30.0, 1)
    assert there.on_gpu and not here.on_gpu
    both = [there, here]
    assert Durations.of(both, on_gpu=False).seconds(unit()) == 33.0
    assert Durations.of(both, on_gpu=True).seconds(unit()) == 4.0
    assert Durations.of(both).seconds(unit()) == 18.5
    assert Durations.of([there], on_gpu=False).seconds(unit()) is None


def test_nothing_is_guessed_from_other_methods_datasets_tasks_or_failures() -> None:
    durations = Durations.of([timed(100, 30.0, 0)])
    known = unit()
    unknown = [unit("dgi"), unit(dataset="citeseer"), unit(tasks=2), unit(epochs=None)]
    assert durations.seconds(known) is not None
    assert [durations.seconds(one) for one in unknown] == [None] * 4
    assert Durations.of([timed(100, 30.0, 0, status="timeout")]).seconds(known) is None
    assert Durations.of([timed(None, 30.0, 0)]).seconds(known) is None
    assert Durations.of([timed(None, 30.0, 0)]).seconds(unit(epochs=None)) == 33.0
    assert durations.left([known, *unknown], 1) == (
        "about 33 s for 1 of 5 units; unknown for 4: nothing like them is recorded"
    )
    assert durations.left(unknown, 2) == "unknown: nothing like these runs is recorded"


def test_other_words_are_another_kind_and_other_numbers_are_not() -> None:
    """A kernel of graphs tells nothing of another one, a temperature little of the time."""
    spec = replace(SPEC, method={"name": "grace", "epochs": 100, "readout": "sum", "tau": 0.5})
    durations = Durations.of([record(spec, seconds={"fit": 30.0, "evaluate": 3.0})])
    assert durations.seconds(unit(readout="sum")) == 33.0
    assert durations.seconds(unit(readout="mean")) is None
    assert cost_key(spec_with(negatives="nml")) != cost_key(spec_with(negatives="uniform"))
    assert cost_key(spec_with(dataset="tu", tu_name="A")) != cost_key(spec_with(dataset="tu"))
    assert cost_key(spec_with(hidden=3)) == cost_key(spec_with(hidden=4))
    assert cost_key(spec_with(both=True)) != cost_key(spec_with(both=False))
    assert cost_key(spec_with(views=["drop"])) != cost_key(spec_with(views=["drop", "mask"]))
    assert cost_key(spec_with(filter="gnnbp")) != cost_key(spec_with(filter="none"))


def spec_with(
    negatives: str = "uniform", dataset: str = "cora", filter: str = "none", **settings: object
) -> dict:
    at = "dataset" if "tu_name" in settings else "method"
    names = {"method": "m", "negatives": negatives, "dataset": dataset, "filter": filter}
    spec: dict[str, dict] = {kind: {"name": name} for kind, name in names.items()}
    spec[at] |= settings
    return spec


def test_others_tell_of_what_these_do_not() -> None:
    durations = Durations.of([timed(100, 30.0, 0)])
    durations.fallback = Durations.of([timed(100, 997.0, 0), timed(None, 7.0, 1)])
    assert durations.seconds(unit()) == 33.0 and not durations.by_fallback(unit())
    other = unit(epochs=None)
    assert durations.seconds(other) == 10.0 and durations.by_fallback(other)
    unknown = unit("dgi")
    assert durations.seconds(unknown) is None and not durations.by_fallback(unknown)
    tried = Durations.of([timed(1, 5.0, 0)])
    assert tried.seconds(unit()) == 503.0
    tried.fallback = Durations.of([timed(100, 30.0, 0), timed(200, 10.0, 0)])
    assert tried.seconds(unit()) == 33.0 and tried.by_fallback(unit()), (
        "a like run, not a scaled one"
    )
    assert tried.seconds(unit(epochs=3)) == 18.0 and not tried.by_fallback(unit(epochs=3))


def test_units_at_once_share_the_time() -> None:
    durations = Durations.of([timed(100, 997.0, 0)])
    assert durations.left([unit()] * 4, 2) == "about 33 min"
    assert durations.left([unit()], 8) == "about 17 min", "one unit has no use for eight workers"
    assert durations.left([], 2) == "nothing"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(89, "89 s"), (91, "2 min"), (5401, "1.5 h"), (48 * 3600, "2.0 days")],
)
def test_times_are_spoken(seconds: float, text: str) -> None:
    assert spoken(seconds) == text
