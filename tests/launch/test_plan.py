"""From an experiment to jobs: what is run together, what is recorded already, and the command that repeats a run."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import torch

from gclbench.config import load
from gclbench.graph import Graph, make_graph
from gclbench.launch.plan import Plan, plan
from gclbench.records import Record, RunSpec, Store


@pytest.fixture(scope="module")
def graph() -> Graph:
    """A triangle; planning needs its hash only."""
    return make_graph(torch.eye(3), torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.tensor([0, 1, 0]), "triangle")


def planned(graph: Graph, store: Path, *overrides: str) -> Plan:
    return plan(load(list(overrides)), graph, Store(store))


def names(result: Plan) -> list[list[str]]:
    return [list(job.specs) for job in result.jobs]


def record(spec: RunSpec, status: str = "ok") -> Record:
    from dataclasses import asdict

    return Record(spec.id, asdict(spec), status)


def test_tasks_that_hide_nothing_are_one_job_per_seed_and_link_prediction_its_own(graph: Graph, tmp_path: Path) -> None:
    result = planned(graph, tmp_path, "seeds=2")
    assert names(result) == [["clustering", "classification"], ["link_prediction"]] * 2
    assert [job.seed for job in result.jobs] == [0, 0, 1, 1]
    assert len(result.specs) == len({spec.id for spec in result.specs}) == 6
    assert result.done == {}
    assert result.jobs[0].title == "dmat_i · digits · seed 0 · clustering, classification"


def test_a_semi_supervised_method_runs_the_task_that_reveals_labels(graph: Graph, tmp_path: Path) -> None:
    assert names(planned(graph, tmp_path, "method=dmt")) == [["classification"]]
    assert names(planned(graph, tmp_path, "method=dmat_i", "method.train_on=labelled")) == [["classification"]]


def test_tasks_that_were_named_are_run_each_on_an_embedding_of_its_own_when_labels_differ(graph: Graph, tmp_path: Path) -> None:
    assert names(planned(graph, tmp_path, "method=dmt", "task=[clustering,classification]")) == [["clustering"], ["classification"]]


def test_what_is_recorded_is_not_planned_again(graph: Graph, tmp_path: Path) -> None:
    first = planned(graph, tmp_path)
    store = Store(tmp_path)
    store.write(record(first.jobs[0].specs["clustering"]))
    second = planned(graph, tmp_path)
    assert names(second) == [["classification"], ["link_prediction"]]
    assert list(second.done) == [first.jobs[0].specs["clustering"].id]
    assert [spec.id for spec in second.specs] == [spec.id for spec in first.specs]


@pytest.mark.parametrize(
    "rerun,repeated",
    [("never", []), ("failed", ["failed"]), ("all", ["ok", "oom", "failed"])],
)
def test_rerun(graph: Graph, tmp_path: Path, rerun: str, repeated: list[str]) -> None:
    specs = planned(graph, tmp_path, "task=clustering", "seeds=3").specs
    statuses = {spec.id: status for spec, status in zip(specs, ("ok", "oom", "failed"), strict=True)}
    for spec in specs:
        Store(tmp_path).write(record(spec, statuses[spec.id]))
    result = planned(graph, tmp_path, "task=clustering", "seeds=3", f"rerun={rerun}")
    assert [statuses[job.specs["clustering"].id] for job in result.jobs] == repeated
    assert len(result.done) == 3 - len(repeated)


def test_a_damaged_record_is_run_again(graph: Graph, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (spec,) = planned(graph, tmp_path, "task=clustering").specs
    path = Store(tmp_path).write(record(spec))
    path.write_text(path.read_text(encoding="utf-8")[:40], encoding="utf-8")
    assert names(planned(graph, tmp_path, "task=clustering")) == [["clustering"]]
    assert "is not a readable record" in caplog.text


def identity(graph: Graph, tmp_path: Path, *overrides: str) -> str:
    (spec,) = planned(graph, tmp_path, "task=clustering", *overrides).specs
    return spec.id


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
    ],
)
def test_whatever_moves_numbers_moves_the_id(graph: Graph, tmp_path: Path, override: str) -> None:
    assert identity(graph, tmp_path, override) != identity(graph, tmp_path)


@pytest.mark.parametrize(
    "override", ["runs_dir=elsewhere", "device=cpu", "time_limit=10", "rerun=all", "method.tau=1", "method=dmat_i"]
)
def test_what_moves_no_number_leaves_the_id(graph: Graph, tmp_path: Path, override: str) -> None:
    assert identity(graph, tmp_path, override) == identity(graph, tmp_path)


def test_the_datasets_content_is_part_of_the_id(graph: Graph, tmp_path: Path) -> None:
    other = make_graph(torch.eye(3), torch.tensor([[0, 1], [1, 2]]), torch.tensor([0, 1, 0]), "triangle")
    assert identity(graph, tmp_path) != identity(other, tmp_path)


@dataclass(frozen=True)
class Versioned:
    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False


def test_the_methods_version_is_part_of_the_id(
    graph: Graph, tmp_path: Path, register_method: Callable[[str, type], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    register_method("versioned", Versioned)
    before = identity(graph, tmp_path, "method=versioned")
    monkeypatch.setattr(Versioned, "version", "2")
    assert identity(graph, tmp_path, "method=versioned") != before


def test_the_recorded_command_is_that_run_and_no_other(graph: Graph, tmp_path: Path) -> None:
    command = (
        "method.lr=0.5", "task.clustering.n_init=3", "task.classification.max_iter=7", "++task.link_prediction.val_fraction=0.2",
        "method.architecture=[16,8]", "seeds=2", "runs_dir=some where",
    )  # fmt: skip
    result = planned(graph, tmp_path, *command)
    texts = {job.specs[name].id: text for job in result.jobs for name, text in job.command.items()}
    assert set(texts) == {spec.id for spec in result.specs}
    for run_id, text in texts.items():
        program, *overrides = shlex.split(text)
        assert program == "gclbench"
        assert [spec.id for spec in planned(graph, tmp_path, *overrides).specs] == [run_id], text
    assert (
        texts[result.specs[0].id]
        == "gclbench method.lr=0.5 task.clustering.n_init=3 'method.architecture=[16,8]' task=clustering 'seeds=[0]'"
    )
