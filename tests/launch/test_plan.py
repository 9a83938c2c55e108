"""From experiments to units: what is run together, what is recorded already, and the command that
repeats a run."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gclbench.config.validation import experiment_of
from gclbench.data.mirror import DataUnavailable
from gclbench.launch.plan import Plan, expand, repeatable
from gclbench.launch.specification import specification
from gclbench.records import Record, Store

HASH = "ab" * 32
"""Of every dataset here: planning needs no more of it."""


def planned(store: Path, *overrides: str, dataset_hash: str = HASH) -> Plan:
    return expand([experiment_of(list(overrides))], Store(store), lambda dataset: dataset_hash)


def names(result: Plan) -> list[list[str]]:
    return [list(unit.tasks) for unit in result.units]


def record(run_id: str, status: str = "ok", **more: Any) -> Record:
    kinds = {kind: {"name": "x"} for kind in ("dataset", "filter", "method", "negatives", "task")}
    return Record(run_id, {**kinds, "seed": 0}, status, **more)


def test_tasks_that_hide_nothing_are_one_unit_per_seed_and_link_prediction_its_own(
    tmp_path: Path,
) -> None:
    result = planned(tmp_path, "seeds=2")
    assert names(result) == [["clustering", "classification"], ["link_prediction"]] * 2
    assert [unit.seed for unit in result.units] == [0, 0, 1, 1]
    assert len(result.ids) == len(set(result.ids)) == 6
    assert result.ids == [
        run_id
        for first, second in zip(result.units[::2], result.units[1::2], strict=True)
        for run_id in (*first.ids, *second.ids)
    ]
    assert result.done == {}
    assert result.units[0].title == "dmat_i · digits · seed 0 · clustering, classification"


def test_ids_are_those_of_the_specifications(tmp_path: Path) -> None:
    """They are computed without making a specification for every seed."""
    experiment = experiment_of(["method=dmat_i", "negatives=uniform", "seeds=[0,7]"])
    units = expand([experiment], Store(tmp_path), lambda dataset: HASH).units
    assert [unit.seed for unit in units for _ in unit.tasks] == [0, 0, 0, 7, 7, 7]
    for unit in units:
        assert unit.ids == tuple(
            specification(experiment, task, unit.seed, HASH).id for task in unit.tasks
        )


def test_a_run_that_several_commands_name_is_taken_once(tmp_path: Path) -> None:
    experiments = [
        experiment_of(["task=clustering", "seeds=2"]),
        experiment_of(["task=clustering", "method.tau=1", "seeds=3"]),
    ]
    plan = expand(experiments, Store(tmp_path), lambda dataset: HASH)
    assert [unit.seed for unit in plan.units] == [0, 1, 2] and len(plan.ids) == 3


def test_a_dataset_that_cannot_be_had_is_named_once_and_the_others_are_planned(
    tmp_path: Path,
) -> None:
    def content_hash(dataset: Any) -> str:
        if type(dataset).__name__ != "Digits":
            raise DataUnavailable("dataset 'cora' is not there")
        return HASH

    experiments = [
        experiment_of(["dataset=cora"]),
        experiment_of(["dataset=cora", "method=kmeans"]),
        experiment_of([]),
    ]
    plan = expand(experiments, Store(tmp_path), content_hash)
    assert plan.unavailable == ["dataset 'cora' is not there"]
    assert {unit.dataset for unit in plan.units} == {"digits"} and len(plan.ids) == 3


def test_a_datasets_hash_is_asked_for_once(tmp_path: Path) -> None:
    asked = []
    experiments = [
        experiment_of([f"method={method}", "seeds=50"]) for method in ("dmat_i", "kmeans", "dmt")
    ]
    expand(experiments, Store(tmp_path), lambda dataset: asked.append(dataset) or HASH)
    assert len(asked) == 1


def test_no_file_is_looked_for_of_runs_without_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "read", lambda self, run_id: pytest.fail(f"looked for {run_id}"))
    assert len(planned(tmp_path, "seeds=100").units) == 200


def test_a_semi_supervised_method_runs_the_task_that_reveals_labels(tmp_path: Path) -> None:
    assert names(planned(tmp_path, "method=dmt")) == [["classification"]]
    assert names(planned(tmp_path, "method=dmat_i", "method.train_on=labelled")) == [
        ["classification"]
    ]


def test_a_method_that_chooses_by_validation_has_an_embedding_for_each_task(
    tmp_path: Path,
) -> None:
    alone = [["clustering"], ["classification"], ["link_prediction"]]
    dmt = planned(tmp_path, "method=dmt", "task=clustering").refused
    assert [reason.partition(";")[0] for reason in dmt] == [
        "method=dmt learns from labels, and task=clustering reveals none"
    ], "what no setting mends comes first"
    for method in ("dmat_i", "mmix_mp", "mvgrl", "age"):
        result = planned(tmp_path, f"method={method}", "method.epoch_by=validation")
        assert names(result) == alone
        assert list(result.refused.values()) == [1], "the clustering"


def test_tasks_that_were_named_are_run_each_on_an_embedding_of_its_own_when_labels_differ(
    tmp_path: Path,
) -> None:
    assert names(planned(tmp_path, "method=dmt", "task=[clustering,classification]")) == [
        ["clustering"],
        ["classification"],
    ]


def test_what_is_recorded_is_not_planned_again(tmp_path: Path) -> None:
    first = planned(tmp_path)
    store = Store(tmp_path)
    store.write(record(first.units[0].ids[0]))
    second = planned(tmp_path)
    assert names(second) == [["classification"], ["link_prediction"]]
    assert list(second.done) == [first.units[0].ids[0]]
    assert second.ids == first.ids


@pytest.mark.parametrize(
    "rerun,repeated",
    [
        ("never", []),
        ("failed", ["failed", "interrupted"]),
        ("all", ["ok", "oom", "failed", "interrupted"]),
    ],
)
def test_rerun(tmp_path: Path, rerun: str, repeated: list[str]) -> None:
    ids = planned(tmp_path, "task=clustering", "seeds=4").ids
    statuses = dict(zip(ids, ("ok", "oom", "failed", "interrupted"), strict=True))
    for run_id in ids:
        Store(tmp_path).write(record(run_id, statuses[run_id]))
    result = planned(tmp_path, "task=clustering", "seeds=4", f"rerun={rerun}")
    assert [statuses[unit.ids[0]] for unit in result.units] == repeated
    assert all(unit.replaces[0] for unit in result.units) and len(result.done) == 4 - len(repeated)


@pytest.mark.parametrize(
    "status,limits,time_limit,memory_limit,repeats",
    [
        ("ok", {}, None, None, False),
        ("diverged", {}, None, None, False),
        ("unsupported", {}, None, None, False),
        ("failed", {}, None, None, True),
        ("interrupted", {}, None, None, True),
        ("timeout", {"time": 60.0}, 60.0, None, False),
        ("timeout", {"time": 60.0}, 30.0, 8.0, False),
        ("timeout", {"time": 60.0}, 61.0, None, True),
        ("timeout", {"time": 60.0}, None, None, True),
        ("timeout", {}, 10.0, None, True),  # of a version that did not record limits
        ("oom", {"memory": 4.0}, None, 4.0, False),
        ("oom", {"memory": 4.0}, 99.0, 2.0, False),
        ("oom", {"memory": 4.0}, None, 8.0, True),
        ("oom", {"memory": 4.0}, None, None, True),
        ("oom", {"time": 4.0}, None, None, False),
        ("oom", {}, None, 100.0, False),
    ],
)
def test_what_rerun_failed_repeats(
    status: str,
    limits: dict[str, float],
    time_limit: float | None,
    memory_limit: float | None,
    repeats: bool,
) -> None:
    assert repeatable(record("0" * 16, status, limits=limits), time_limit, memory_limit) is repeats


def test_a_damaged_record_is_run_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (run_id,) = planned(tmp_path, "task=clustering").ids
    path = Store(tmp_path).write(record(run_id))
    path.write_text(path.read_text(encoding="utf-8")[:40], encoding="utf-8")
    assert names(planned(tmp_path, "task=clustering")) == [["clustering"]]
    assert "is not a readable record" in caplog.text


def identity(tmp_path: Path, *overrides: str, dataset_hash: str = HASH) -> str:
    (run_id,) = planned(tmp_path, "task=clustering", *overrides, dataset_hash=dataset_hash).ids
    return run_id


@pytest.mark.parametrize(
    "override",
    [
        "method.lr=0.5",
        "filter.alpha=0.3",
        "dataset.neighbours=5",
        "seeds=[1]",
        "task.clustering.n_init=3",
        "filter=none",
        "method=kmeans",
        "method.epoch_by=validation",
    ],
)
def test_whatever_moves_numbers_moves_the_id(tmp_path: Path, override: str) -> None:
    assert identity(tmp_path, override) != identity(tmp_path)


@pytest.mark.parametrize(
    "override",
    [
        "runs_dir=elsewhere",
        "device=cpu",
        "time_limit=10",
        "memory_limit=50",
        "checkpoint_every=null",
        "rerun=all",
        "launcher.workers=3",
        "threads=3",
        "precision=fast",
        "method.tau=1",
        "method=dmat_i",
        "method.epoch_by=last",
    ],
)
def test_what_moves_no_number_leaves_the_id(tmp_path: Path, override: str) -> None:
    assert identity(tmp_path, override) == identity(tmp_path)


def test_the_datasets_content_is_part_of_the_id(tmp_path: Path) -> None:
    assert identity(tmp_path) != identity(tmp_path, dataset_hash="cd" * 32)


@dataclass(frozen=True)
class Versioned:
    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False


def test_the_methods_version_is_part_of_the_id(
    tmp_path: Path, register_method: Callable[[str, type], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    register_method("versioned", Versioned)
    before = identity(tmp_path, "method=versioned")
    monkeypatch.setattr(Versioned, "version", "2")
    assert identity(tmp_path, "method=versioned") != before


def test_the_recorded_command_is_that_run_and_no_other(tmp_path: Path) -> None:
    command = (
        "method.lr=0.5",
        "task.clustering.n_init=3",
        "task.classification.max_iter=7",
        "++task.link_prediction.val_fraction=0.2",
        "method.architecture=[16,8]",
        "seeds=2",
        "runs_dir=some where",
        "launcher.workers=2",
        "memory_limit=50",
        "checkpoint_every=9",
    )
    result = planned(tmp_path, *command)
    texts = {
        run_id: unit.command(task)
        for unit in result.units
        for run_id, task in zip(unit.ids, unit.tasks, strict=True)
    }
    assert set(texts) == set(result.ids)
    for run_id, text in texts.items():
        program, *overrides = shlex.split(text)
        assert program == "gclbench"
        assert planned(tmp_path, *overrides).ids == [run_id], text
    assert (
        texts[result.ids[0]]
        == "gclbench method.lr=0.5 task.clustering.n_init=3 'method.architecture=[16,8]'"
        " task=clustering 'seeds=[0]'"
    )
