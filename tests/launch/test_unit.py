"""The unit of work: performed anywhere, any number of times, it leaves one record per run."""

from __future__ import annotations

import json
import logging
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from launch.small_units import QUICK, record_of, units, written

from gclbench.config.validation import experiment_of
from gclbench.data.sbm import SBM
from gclbench.graph import Graph
from gclbench.launch.attempt import give_up, missing, perform
from gclbench.launch.running import announced, running
from gclbench.launch.specification import specification
from gclbench.records import Store
from gclbench.run import datasets
from gclbench.run.ending import Ending
from gclbench.run.unit import Unit

pytestmark = pytest.mark.usefixtures("own_folder")


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


def test_a_reader_of_its_progress_that_is_gone_ends_no_run() -> None:
    (unit,) = units()
    told: list[int] = []

    def report(done: int, total: int, loss: float) -> None:
        told.append(done)
        raise BrokenPipeError("nobody reads")

    assert perform(unit, "runs", report) == dict.fromkeys(unit.ids, "ok")
    assert len(told) > 1, "each step is told"


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


def test_the_command_of_a_record_repeats_the_threads_that_were_asked_for() -> None:
    (unit,) = units("task=clustering", "threads=2")
    perform(unit, "runs")
    assert "threads=2" in record_of(unit).command.split()
    (unit,) = units("task=clustering", "seeds=[1]")
    perform(unit, "runs")
    assert "threads" not in record_of(unit).command


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


@pytest.mark.parametrize(
    ("raised", "status"), [(MemoryError("no room"), "oom"), (KeyError("labels"), "failed")]
)
def test_a_load_that_runs_out_of_memory_says_so(
    raised: Exception, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(_: SBM) -> Graph:
        raise raised

    (unit,) = units("task=clustering")
    datasets.load.cache_clear()
    monkeypatch.setattr(SBM, "load", load)
    perform(unit, "runs")
    record = record_of(unit)
    assert record.status == status
    told = rf"SBM.load\(\) raised {type(raised).__name__}: .* \(test_unit.py, line \d+\)"
    assert re.fullmatch(told, record.reason)
    monkeypatch.undo()


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
