"""The contract of trackers, with one of our own; what `tracking=` takes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gclbench import tracking
from gclbench.cli import main
from gclbench.config.validation import ConfigErrors, experiment_of
from gclbench.launch.attempt import perform
from gclbench.launch.plan import expand
from gclbench.records import Record, RunSpec, Store
from gclbench.run.unit import Unit
from gclbench.tracking import TRACKERS, Tracker, Tracking

SPEC = RunSpec(
    dataset={"name": "digits"},
    filter={"name": "none"},
    method={"name": "dmat_i", "lr": 0.1, "architecture": [4, 2]},
    negatives={"name": "uniform"},
    task={"name": "clustering"},
    seed=3,
    versions={"method": "1"},
    dataset_hash="ab",
)


class Heard(Tracker):
    """Notes every call; breaks where it is told to."""

    package = "json"
    extra = "heard"
    calls: list[tuple[Any, ...]] = []
    breaks_in = ""
    waits: threading.Event | None = None

    def begin(self, run: tracking.Run) -> None:
        self.run = run
        self.note("begin", run)

    def losses(self, points: Any) -> None:
        self.note("losses", self.run.id, list(points))

    def end(self, status: str, reason: str, metrics: Any, facts: Any) -> None:
        self.note("end", self.run.id, status, reason, dict(metrics), dict(facts))

    def note(self, what: str, *arguments: Any) -> None:
        if self.waits is not None:
            self.waits.wait(60)
        Heard.calls.append((what, *arguments))
        if what == self.breaks_in:
            raise RuntimeError("the server\nis gone")


@pytest.fixture(autouse=True)
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(TRACKERS, "heard", f"{__name__}:Heard")
    monkeypatch.setattr(tracking, "tracker", lambda name: Heard)
    monkeypatch.setattr(tracking, "_left_behind", set())
    monkeypatch.setattr(Heard, "calls", [])
    yield


def of(what: str) -> list[tuple[Any, ...]]:
    return [call[1:] for call in Heard.calls if call[0] == what]


def run_here(folder: Path, *overrides: str) -> tuple[list[Unit], list[Record]]:
    """Two short runs that share a training."""
    experiment = experiment_of(
        [
            "dataset=digits",
            "task=[clustering,classification]",
            "method.epochs=7",
            "device=cpu",
            f"runs_dir={folder}",
            *overrides,
        ]
    )
    units = expand([experiment], Store(folder)).units
    for unit in units:
        perform(unit, str(folder))
    return units, list(Store(folder).scan())


def test_without_a_tracker_nothing_is_between(tmp_path: Path) -> None:
    threads = threading.active_count()
    off = Tracking(None, tmp_path, [SPEC])

    def report(*_: object) -> None:
        pass

    assert off.reporter(report) is report and off.reporter(None) is None
    off.end([], "interrupted")
    assert threading.active_count() == threads


def test_what_a_tracker_hears(tmp_path: Path) -> None:
    passed_on: list[tuple[int, int, float]] = []
    one = Tracking("heard", tmp_path, [SPEC])
    report = one.reporter(lambda *told: passed_on.append(told))
    assert report is not None
    for iteration in range(1, 1001):
        report(iteration, 1000, 1 / iteration)
    record = Record(
        SPEC.id,
        {},
        "ok",
        {"acc": 0.5, "auc": float("nan")},
        seconds={"fit": 2.5},
        device="cpu",
        command="gclbench",
    )
    one.end([record], "interrupted")
    ((run,),) = of("begin")
    assert (run.id, run.name, run.folder, run.runs_dir) == (
        SPEC.id,
        "dmat_i-uniform-digits-clustering-3",
        tmp_path / SPEC.id,
        tmp_path,
    )
    assert (
        run.settings["method.lr"] == 0.1
        and run.settings["seed"] == 3
        and run.settings["method.architecture"] == [4, 2]
    )
    points = [point for _, several in of("losses") for point in several]
    assert points == [(iteration, 1 / iteration) for iteration in range(10, 1001, 10)], (
        "those of the record"
    )
    assert len(passed_on) == 1000
    ((_, status, reason, metrics, facts),) = of("end")
    assert (status, reason, metrics) == (
        "ok",
        "",
        {"acc": 0.5},
    ), "numbers that are not finite are no metric"
    assert (
        facts["seconds.fit"] == "2.5"
        and facts["device"] == "cpu"
        and facts["command"] == "gclbench"
    )


def test_a_run_without_a_record_ends_as_said(tmp_path: Path) -> None:
    Tracking("heard", tmp_path, [SPEC, replace(SPEC, seed=4)]).end([], "preempted")
    assert [call[1:3] for call in of("end")] == [("preempted", ""), ("preempted", "")]


@pytest.mark.parametrize("place", ["begin", "losses", "end"])
def test_a_tracker_that_fails_is_told_once(
    place: str, tmp_path: Path, monkeypatch: Any, caplog: Any
) -> None:
    monkeypatch.setattr(Heard, "breaks_in", place)
    one = Tracking("heard", tmp_path, [SPEC, replace(SPEC, seed=4)])
    report = one.reporter(None)
    assert report is not None
    with caplog.at_level(logging.WARNING):
        for iteration in range(1, 51):
            report(iteration, 50, 1.0)
        one.end([], "interrupted")
    assert [record.getMessage() for record in caplog.records] == [
        "tracking=heard failed and is off for this training, which goes on: RuntimeError: the"
        " server is gone"
    ]
    assert len(of(place)) == 1


def test_a_tracker_that_hangs_is_left_behind(tmp_path: Path, monkeypatch: Any, caplog: Any) -> None:
    gate = threading.Event()
    monkeypatch.setattr(Heard, "waits", gate)
    monkeypatch.setattr(tracking, "PATIENCE", 0.05)
    with caplog.at_level(logging.WARNING):
        Tracking("heard", tmp_path, [SPEC]).end([], "interrupted")
    assert "tracking=heard has not answered for 0.05 s and is off from here on" in caplog.text
    assert Tracking("heard", tmp_path, [SPEC]).reporter(None) is None, (
        "the next run does not wait for it again"
    )
    gate.set()
    for thread in threading.enumerate():
        if thread.name == "gclbench-tracking":
            thread.join(10)  # it ends after all, and would be heard in another test


@pytest.mark.slow
def test_runs_are_the_same_with_a_tracker_and_with_a_broken_one(
    tmp_path: Path, monkeypatch: Any
) -> None:
    _, plain = run_here(tmp_path / "plain")
    _, tracked = run_here(tmp_path / "tracked", "tracking=heard")
    ends = {run_id: (status, metrics) for run_id, status, _, metrics, _ in of("end")}
    assert ends == {record.id: ("ok", record.metrics) for record in plain}
    curve = plain[0].fit["curve"]
    for record in plain:
        assert [
            list(point)
            for run_id, points in of("losses")
            if run_id == record.id
            for point in points
        ] == curve
    monkeypatch.setattr(Heard, "breaks_in", "losses")
    _, broken = run_here(tmp_path / "broken", "tracking=heard")
    for one, two, three in zip(plain, tracked, broken, strict=True):
        assert (one.id, one.metrics, one.fit, one.command) == (
            two.id,
            two.metrics,
            two.fit,
            two.command,
        )
        assert (one.id, one.metrics, one.fit, one.command) == (
            three.id,
            three.metrics,
            three.fit,
            three.command,
        )
        assert "tracking" not in one.to_json()


def test_what_is_recorded_is_not_run_again_for_a_tracker(tmp_path: Path) -> None:
    run_here(tmp_path)
    units, _ = run_here(tmp_path, "tracking=heard")
    assert not units and not Heard.calls


def test_an_interrupted_run_is_told(tmp_path: Path, monkeypatch: Any) -> None:
    from gclbench.training.watch import Watch

    def interrupt(self: Watch, *_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Watch, "__call__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_here(tmp_path, "tracking=heard")
    assert [call[1] for call in of("end")] == ["interrupted", "interrupted"]


def test_the_tracker_travels_with_the_unit(tmp_path: Path) -> None:
    experiment = experiment_of(
        ["method=kmeans", "device=cpu", "tracking=heard", f"runs_dir={tmp_path}"]
    )
    unit, *_ = expand([experiment], Store(tmp_path)).units
    assert Unit.from_plain(unit.plain()).tracking == "heard"
    older = {key: value for key, value in unit.plain().items() if key != "tracking"}
    assert Unit.from_plain(older).tracking is None
    assert not any("tracking" in text for text in unit.overrides)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("heart", r"tracking=heart must be null or one of .*heard\. Did you mean 'heard'\?"),
        ("[heard]", r"tracking=\['heard'\] must be null or one of"),
        ("3", "tracking=3 must be null or one of"),
    ],
)
def test_wrong_values(value: str, message: str) -> None:
    with pytest.raises(ConfigErrors, match=message):
        experiment_of([f"tracking={value}"])


def test_a_missing_package_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr(Heard, "package", "no_such_package")
    assert main(["method=kmeans", "tracking=heard", f"runs_dir={tmp_path / 'runs'}"]) == 2
    message = (
        "tracking=heard needs the package no_such_package, which is not installed: pip install"
        " 'gclbench[heard]'"
    )
    assert capsys.readouterr().err == f"gclbench: {message}\n"
    assert not (tmp_path / "runs").exists()
    assert experiment_of(["tracking=heard", "launcher=ray"]).tracking == "heard", (
        "what the nodes have is not known here"
    )
