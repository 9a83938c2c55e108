"""The unit of work: performed anywhere, any number of times, it leaves one record per run."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gclbench.config.validation import experiment_of
from gclbench.launch.attempt import PREEMPTED, give_up, missing, perform
from gclbench.launch.plan import expand
from gclbench.launch.running import announced, running
from gclbench.launch.specification import specification
from gclbench.machine import precision
from gclbench.records import Record, Store
from gclbench.run import datasets
from gclbench.run.ending import Ending
from gclbench.run.unit import Unit

SMALL = ("dataset=sbm", "dataset.nodes=80", "dataset.classes=2", "dataset.features=8", "device=cpu")
QUICK = (
    *SMALL,
    "method=dmat_i",
    "method.epochs=20",
    "method.batch_size=32",
    "filter=none",
    "task.clustering.n_init=1",
)
TWO_TASKS = "task=[clustering,classification]"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    datasets.load.cache_clear()
    yield tmp_path
    datasets.load.cache_clear()


def units(*overrides: str) -> list[Unit]:
    command = [
        *QUICK,
        *(() if any(text.startswith("task=") for text in overrides) else (TWO_TASKS,)),
        *overrides,
    ]
    return expand([experiment_of(command)], Store("runs")).units


def written(unit: Unit) -> dict[str, str]:
    return {run_id: Store("runs").path(run_id).read_text(encoding="utf-8") for run_id in unit.ids}


class Stopper:
    def __init__(self, after: int):
        self.flag = threading.Event()
        self._after = after

    def __call__(self, iteration: int, total: int, loss: float) -> None:
        if iteration == self._after:
            self.flag.set()


def record_of(unit: Unit, place: int = 0) -> Record:
    record = Store("runs").read(unit.ids[place])
    assert record is not None
    return record


def test_it_travels_as_json() -> None:
    (unit,) = units("time_limit=7", "memory_limit=50", "checkpoint_every=3")
    text = json.dumps(unit.plain())
    assert Unit.from_plain({**json.loads(text), "of a newer version": 1}) == unit
    assert len(text) < 1000
    assert (unit.time_limit, unit.memory_limit, unit.checkpoint_every, unit.tasks) == (
        7,
        50,
        3,
        ("clustering", "classification"),
    )
    with pytest.raises(ValueError, match="not a unit of work: .*'ids'"):
        Unit.from_plain({key: value for key, value in unit.plain().items() if key != "ids"})


def test_a_part_of_it_is_a_unit_of_these_runs() -> None:
    (unit,) = units()
    part = unit.only([1])
    assert (part.tasks, part.ids) == (("classification",), unit.ids[1:])
    assert part.title == "dmat_i · sbm · seed 0 · classification"
    assert unit.only((0, 1)) == unit


def test_it_is_done_once() -> None:
    (unit,) = units()
    assert perform(unit, "runs") == dict.fromkeys(unit.ids, "ok")
    before = written(unit)
    assert missing(unit, Store("runs")) == ()
    assert perform(unit, "runs") == dict.fromkeys(unit.ids, "ok")
    assert written(unit) == before
    assert sorted(path.name for path in Path("runs").iterdir()) == sorted(unit.ids), (
        "no other file stays"
    )
    assert all(
        [path.name for path in folder.iterdir()] == ["record.json"]
        for folder in Path("runs").iterdir()
    )


def test_only_what_is_missing_is_done_and_comes_out_the_same() -> None:
    (unit,) = units()
    perform(unit, "runs")
    before = written(unit)
    metrics = record_of(unit, 1).metrics
    Store("runs").path(unit.ids[1]).unlink()
    assert missing(unit, Store("runs")) == (1,)
    perform(unit, "runs")
    assert written(unit)[unit.ids[0]] == before[unit.ids[0]]
    assert record_of(unit, 1).metrics == metrics


def test_a_repetition_that_was_asked_for_is_done_once_too() -> None:
    (first,) = units()
    perform(first, "runs")
    (again,) = units("rerun=all")
    assert again.ids == first.ids and all(again.replaces) and not any(first.replaces)
    before = written(first)
    perform(again, "runs")
    between = written(first)
    assert all(between[run_id] != before[run_id] for run_id in first.ids), (
        "the seconds differ at least"
    )
    perform(again, "runs")
    assert written(first) == between, "a requeued job must not repeat it once more"


def test_an_interrupted_run_is_missing_whoever_recorded_it() -> None:
    (unit,) = units()
    give_up(unit, "runs", Ending("interrupted", "somebody pressed Ctrl-C"))
    assert [record_of(unit, place).status for place in (0, 1)] == ["interrupted"] * 2
    assert missing(unit, Store("runs")) == (0, 1)
    assert perform(unit, "runs") == dict.fromkeys(unit.ids, "ok")


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
        and "is of another run, version or precision; the training starts anew" in caplog.text
    )


@pytest.mark.parametrize(
    ("first", "then"), [("fast a", "float32"), ("float32", "fast a"), ("fast a", "fast b")]
)
def test_a_checkpoint_of_other_products_is_not_taken_up(
    first: str, then: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another precision, or of a machine that shortens others: the record has the last alone."""
    for products in (first, then):
        asked, _, shortened = products.partition(" ")
        monkeypatch.setattr(precision, "hardware", lambda device, here=shortened: here)
        (unit,) = units("task=clustering", "checkpoint_every=1000", f"precision={asked}")
        stopper = Stopper(after=7)
        perform(unit, "runs", *((stopper, stopper.flag) if products == first else ()))
    assert "is of another run, version or precision" in caplog.text
    record = record_of(unit)
    assert "resumed" not in record.fit and record.environment["precision"] == asked
    assert record.environment.get("fast_products", "") == shortened
    assert f"precision={asked}" in record.command.split()


def test_other_data_on_the_node_is_a_failed_run_that_says_so() -> None:
    (unit,) = units("task=clustering")
    other = replace(unit, dataset_hash="ab" * 32)
    experiment = experiment_of([*QUICK, "task=clustering"])
    spec = specification(experiment, "clustering", 0, "ab" * 32)
    other = replace(other, ids=(spec.id,))
    assert perform(other, "runs") == {spec.id: "failed"}
    reason = record_of(other).reason
    assert (
        reason.startswith("dataset 'sbm' has content ")
        and "and had abababababababab when the sweep was handed over" in reason
    )


def test_changed_code_or_configs_are_told_and_nothing_is_recorded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    (unit,) = units("task=clustering")
    with caplog.at_level(logging.ERROR):
        assert perform(replace(unit, ids=("0" * 16,)), "runs") == {"0" * 16: "failed"}
    assert (
        f"clustering is run {unit.ids[0]} here and was {'0' * 16} when the sweep was handed over"
        in caplog.text
    )
    assert not Path("runs").exists()


def test_a_device_that_is_not_here_is_a_failed_run() -> None:
    (unit,) = units("task=clustering")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    perform(replace(unit, device="cuda:3"), "runs")
    assert (
        record_of(unit).status == "failed"
        and "device=cuda:3: no GPU is visible to torch" in record_of(unit).reason
    )


def test_giving_up_records_what_is_known_and_keeps_what_is_done() -> None:
    (unit,) = units("time_limit=9")
    perform(
        replace(unit, tasks=unit.tasks[:1], ids=unit.ids[:1], replaces=unit.replaces[:1]), "runs"
    )
    assert give_up(unit, "runs", Ending("oom", "its worker was killed")) == {
        unit.ids[0]: "ok",
        unit.ids[1]: "oom",
    }
    record = record_of(unit, 1)
    assert (record.reason, record.limits, record.metrics) == (
        "its worker was killed",
        {"time": 9.0},
        {},
    )
    assert record.command.endswith("task=classification 'seeds=[0]'") and record.seed == 0


def test_giving_up_what_cannot_be_composed_here_is_told_and_ends_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    (unit,) = units("task=clustering")
    with caplog.at_level(logging.ERROR):
        assert give_up(
            replace(unit, ids=("0" * 16,)), "runs", Ending("oom", "its worker was killed")
        ) == {"0" * 16: "oom"}
    assert (
        "its worker was killed; oom is not recorded: clustering is run" in caplog.text
        and not Path("runs").exists()
    )


@pytest.mark.slow
def test_a_unit_is_computed_with_the_threads_that_it_says_and_leaves_the_others_as_they_were() -> (
    None
):
    (unit,) = units("task=clustering")
    perform(replace(unit, threads=2), "runs")
    record = Store("runs").read(unit.ids[0])
    assert record is not None and record.environment["threads"] == "2"
    assert torch.get_num_threads() == 1


def test_who_is_at_work_is_seen_and_not_seen_afterwards() -> None:
    (unit,) = units("task=clustering")
    seen = []
    perform(
        unit, "runs", lambda done, total, loss: seen.append(running(Store("runs"), unit.ids[0]))
    )
    found = [unit for unit in seen if unit is not None]
    assert found and found[-1].title == unit.title == "dmat_i · sbm · seed 0 · clustering"
    assert running(Store("runs"), unit.ids[0]) is None


def test_a_signal_just_after_the_announcement_takes_it_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, run_id = Store("runs"), "0" * 16
    path = store.path(run_id).with_name("running.json")

    def interrupted(thread: threading.Thread) -> None:
        assert path.exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), announced(store, run_id, "a run", None):
        raise AssertionError("the block is not entered")
    assert not path.parent.exists()


def test_giving_up_takes_away_what_a_killed_process_left_and_nothing_else() -> None:
    (unit,) = units("task=clustering")
    store = Store("runs")
    path = store.path(unit.ids[0]).with_name("running.json")
    with announced(store, unit.ids[0], unit.title, None):
        text = path.read_text()
        give_up(unit, "runs", Ending("oom", "killed"))
        assert path.read_text() == text, "this process is at it"
    assert not path.exists()
    path.write_text(json.dumps({**json.loads(text), "begun": "1"}))
    give_up(unit, "runs", Ending("oom", "killed"))
    assert not path.exists() and store.read(unit.ids[0]) is not None


def test_a_later_process_of_the_same_number_is_not_at_work(tmp_path: Path) -> None:
    """A run that was killed leaves its file, and its process id is given out again."""
    store, run_id = Store("runs"), "0" * 16
    with announced(store, run_id, "a run", None):
        path = store.path(run_id).with_name("running.json")
        facts = json.loads(path.read_text())
        assert running(store, run_id) is not None
        path.write_text(json.dumps({**facts, "begun": "1"}))
        assert running(store, run_id) is None
