"""What is recorded of a run, and that it is the same whatever runs beside it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small_runs import SMALL, Spy, run, write_graph

from gclbench.config.validation import experiment_of
from gclbench.embedding import Contrast
from gclbench.filters.ssgc import SsgcFilter
from gclbench.launch.execution import execute
from gclbench.launch.plan import expand
from gclbench.launch.specification import specification
from gclbench.machine import environment
from gclbench.records import Record, Store
from gclbench.run.recorder import _same
from gclbench.run.runner import _checkpoint


def test_a_record_says_how_it_came_to_be(here: Path) -> None:
    write_graph(here / "graph.npz")
    records = run(
        "method=dmat_i",
        "method.epochs=2",
        "dataset=custom",
        "dataset.path=graph.npz",
        "task=[classification,clustering]",
        "seeds=[4]",
    )
    record = records["classification"]
    assert record.ok and record.seed == 4
    assert set(record.seconds) == {"load", "split", "hide", "filter", "fit", "evaluate"}
    assert all(value >= 0 for value in record.seconds.values())
    assert record.memory["rss_peak"] > 1e7
    assert record.environment["torch"] == torch.__version__ and record.device
    assert record.fit["iterations"] == 2 and math.isfinite(record.fit["loss"])
    assert record.filter_report["solver"]
    assert record.repairs and "one direction" in " ".join(record.repairs)
    assert record.command.endswith("task=classification 'seeds=[4]'")
    assert (
        set(record.split) == {"protocol", "hash"} and record.split["protocol"] == "random_10_10_80"
    )
    assert records["clustering"].split == {}, (
        "clustering has no split; that of another task must not be recorded with it"
    )


def test_what_the_loss_compares_is_measured_after_a_training_of_pairs_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Contrast, "mean_cosine", lambda self: 0.25)
    trained = run("method=grace", "method.epochs=1", "task=[clustering,link_prediction]")
    assert [record.fit["mean_cosine"] for record in trained.values()] == [0.25, 0.25]
    for others in (
        ["method=grace", "method.epochs=0"],
        ["method=kmeans"],
        ["method=dgi", "method.epochs=1"],
    ):
        assert "mean_cosine" not in run(*others, "task=clustering")["clustering"].fit


@pytest.mark.parametrize("threads", [1, 2])
def test_a_record_says_with_how_many_threads_it_ran(threads: int) -> None:
    """Which are no part of what it is."""
    record = run("method=kmeans", "task=clustering", "rerun=all", f"threads={threads}")[
        "clustering"
    ]
    assert record.environment["threads"] == str(threads)
    assert (
        record.id
        == specification(
            experiment_of([*SMALL, "method=kmeans", "task=clustering"]),
            "clustering",
            0,
            record.spec["dataset_hash"],
        ).id
    )
    stored = Store("runs").read(record.id)
    assert stored is not None and stored.environment == record.environment


def test_a_record_says_with_which_instructions_it_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which are no part of what it is: another processor's run has the same id."""
    command = ("method=kmeans", "task=clustering", "rerun=all")
    record = run(*command)["clustering"]
    assert record.environment["instructions"] == torch.backends.cpu.get_cpu_capability()
    monkeypatch.setattr(environment, "instructions", lambda: "SVE256")
    other = run(*command)["clustering"]
    assert other.environment["instructions"] == "SVE256"
    assert (other.id, other.spec) == (record.id, record.spec)
    stored = Store("runs").read(record.id)
    assert stored is not None and stored.environment == other.environment


def test_a_record_says_that_it_replaces_one_of_other_metrics() -> None:
    command = ("method=kmeans", "task=clustering", "rerun=all")
    first = run(*command)["clustering"]
    assert "remarks" not in run(*command)["clustering"].fit
    # A metric that is not finite is the same again.
    assert _same(*[replace(first, metrics={"acc": math.nan}) for _ in range(2)])
    environment = {**first.environment, "precision": "fast"}
    Store("runs").write(replace(first, metrics={"acc": 0.25}, environment=environment))
    assert run(*command)["clustering"].fit["remarks"] == [
        "It replaces a run of other metrics (precision fast then, float32 now)."
    ]


@pytest.mark.parametrize("what", ["threads", "instructions", "device_name", "versions"])
def test_a_checkpoint_is_of_one_way_to_compute(
    what: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes on elsewhere would mix the bits of two."""
    experiment = experiment_of([*SMALL, "task=clustering", "checkpoint_every=9"])
    (unit,) = expand([experiment], Store(here), lambda dataset: "ab").units
    specs = {"clustering": specification(experiment, "clustering", 0, "ab")}

    def key() -> str:
        checkpoint = _checkpoint(unit, specs, experiment.components, Store(here))
        assert checkpoint is not None
        return checkpoint.key

    usual, known = key(), environment.versions()
    assert key() == usual
    other = {**known, "scipy": "1.0"} if what == "versions" else "another"
    monkeypatch.setattr(environment, what, lambda *_: other)
    assert key() != usual


@pytest.mark.parametrize("fact", ["threads", "precision", "instructions"])
def test_a_record_from_before_a_fact_was_recorded_is_read(fact: str) -> None:
    record = run("method=kmeans", "task=clustering")["clustering"]
    rest = {key: value for key, value in record.environment.items() if key != fact}
    assert len(rest) == len(record.environment) - 1
    older = replace(record, environment=rest)
    assert Record.from_json(older.to_json()) == older


def test_features_in_another_storage_are_not_those_of_the_usual_one(here: Path) -> None:
    """They agree within the tolerance, and a run must not depend on which came first."""
    command = ("method=spy", "filter=gnnbp", "filter.alpha=0.5", "filter.tol=0.05")
    task = ("task=clustering", "rerun=all")
    run(*command, "filter.storage=bfloat16", *task)
    short = Spy.seen[-1][0].x
    first = run(*command, *task)["clustering"]
    assert first.filter_report["cached"] is False
    assert not torch.equal(Spy.seen[-1][0].x, short)
    for storage in ("bfloat16", "float32"):
        again = run(*command, f"filter.storage={storage}", *task)["clustering"]
        assert again.filter_report["cached"] is True and again.id == first.id


def test_a_split_is_not_recorded_with_another_task() -> None:
    records = run("method=unruly", "method.ending=error", "task=[classification,clustering]")
    assert records["classification"].split["protocol"] == "random_10_10_80"
    assert records["clustering"].split == {}


def test_runs_are_bit_identical_and_do_not_depend_on_other_seeds_or_tasks() -> None:
    command = (
        "method=dmat_i",
        "method.epochs=3",
        "method.batch_size=32",
        "task=[clustering,classification]",
    )
    together = execute(experiment_of([*SMALL, *command, "seeds=3"]))
    alone = execute(experiment_of([*SMALL, *command, "seeds=[2]", "rerun=all"]))
    single = execute(
        experiment_of([*SMALL, *command[:3], "task=classification", "seeds=[2]", "rerun=all"])
    )
    by_id = {record.id: record.metrics for record in together}
    assert [record.metrics for record in alone] == [by_id[record.id] for record in alone]
    assert single[0].metrics == by_id[single[0].id]
    assert (
        len({str(record.metrics) for record in together if record.name("task") == "clustering"}) > 1
    ), "seeds must differ"


def test_the_graph_is_loaded_once_for_the_runs_that_share_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gclbench.data.sbm import SBM

    loads = []
    plain = SBM.load
    monkeypatch.setattr(SBM, "load", lambda self: loads.append(self) or plain(self))
    run("method=unruly", "task=clustering", "seeds=2")
    run("method=kmeans", "task=clustering")
    assert len(loads) == 1
    run("method=kmeans", "task=clustering", "dataset.seed=1")
    assert len(loads) == 2


def test_features_of_another_version_of_a_filter_are_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = ("method=spy", "filter=ssgc", "task=clustering", "rerun=all")
    assert [run(*command)["clustering"].filter_report["cached"] for _ in range(2)] == [False, True]
    monkeypatch.setattr(SsgcFilter, "version", "of tomorrow")
    assert run(*command)["clustering"].filter_report["cached"] is False


def test_only_tasks_of_one_training_share_its_seconds() -> None:
    alone = run("method=unruly", "task=clustering")["clustering"]
    together = run("method=unruly", "rerun=all")
    assert alone.shared == together["link_prediction"].shared == ["load"]
    for task in ("clustering", "classification"):
        assert together[task].shared == ["load", "hide", "filter", "fit"]
