"""The Python face: `import gclbench` and its four functions."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra.core.override_parser.overrides_parser import OverridesParser

import gclbench
from gclbench.cli import main
from gclbench.component.registry import METHODS
from gclbench.config.spelling import in_python, overrides_of
from gclbench.config.validation import ConfigErrors
from gclbench.config.validation import experiment_of as validated
from gclbench.data.mirror import DataUnavailable
from gclbench.graph import GraphError
from gclbench.machine import allocator
from gclbench.paper.comparison import compare
from gclbench.paper.filled_table import NotInTable
from gclbench.paper.sources import MissingStore, collect
from gclbench.paper.tables import UnknownTable, find_table
from gclbench.records import Store
from gclbench.run import datasets
from gclbench.tasks.clustering import Clustering

SMALL = {"dataset": "sbm", "dataset.nodes": 60, "dataset.classes": 2, "device": "cpu"}
QUICK = {**SMALL, "method": "kmeans", "task": "clustering"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("GCLBENCH_OFFLINE", "1")
    monkeypatch.delenv("GCLBENCH_MIRROR", raising=False)
    datasets.load.cache_clear()
    return tmp_path


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_it_imports_nothing_heavy() -> None:
    heavy = ("torch", "torch_geometric", "sklearn", "scipy", "numpy", "pandas", "hydra", "rich")
    assert python(f"import sys, gclbench; print([n for n in {heavy} if n in sys.modules])") == "[]"


def test_run_stays_the_function_when_the_room_of_that_name_is_imported() -> None:
    code = (
        "import gclbench; from gclbench.run import unit, ending; import gclbench.run.clock;"
        "print(type(gclbench.run).__name__, unit.Unit.__name__)"
    )
    assert python(code) == "function Unit"


# --- run


def test_runs_come_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    table = gclbench.run(**{**QUICK, "task": ["clustering", "classification"]}, seeds=2)
    first = ["id", "dataset", "filter", "method", "negatives", "task", "seed", "status"]
    assert list(table.columns[:8]) == first
    assert list(table.columns[-3:]) == ["seconds", "device", "reason"]
    assert list(zip(table["task"], table["seed"], strict=True)) == [
        ("clustering", 0),
        ("classification", 0),
        ("clustering", 1),
        ("classification", 1),
    ]
    assert set(table["status"]) == {"ok"} and set(table["reason"]) == {""}
    for row in table.to_dict("records"):
        record = Store("runs").read(row["id"])
        assert record is not None
        assert {name: row[name] for name in record.metrics} == record.metrics
        assert row["seconds"] == sum(record.seconds.values())
        assert (row["filter"], row["negatives"]) == ("none", "uniform")
    # Classification has no NMI.
    assert table["nmi"].isna().tolist() == [False, True] * 2
    assert "kmeans · sbm · seed 1" in capsys.readouterr().err


def test_what_the_command_has_recorded_is_not_run_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"{key}={value}" for key, value in QUICK.items()]) == 0
    recorded = {record.id for record in Store("runs").scan()}
    capsys.readouterr()
    fits: list[int] = []
    kmeans: Any = METHODS.load("kmeans")
    plain = kmeans.fit

    def fit(self: Any, graph: Any, labels: Any, rng: Any, watch: Any) -> Any:
        fits.append(rng.seed)
        return plain(self, graph, labels, rng, watch)

    monkeypatch.setattr(kmeans, "fit", fit)
    table = gclbench.run(**QUICK, seeds=3)
    assert fits == [1, 2] and recorded < set(table["id"])
    assert "1 of 3 runs are recorded in runs; rerun=all" in capsys.readouterr().err
    again = gclbench.run(**QUICK, seeds=3, progress=False)
    assert fits == [1, 2] and again.equals(table)
    assert capsys.readouterr().err == ""


def test_positional_overrides_and_another_store() -> None:
    words = [f"{key}={value}" for key, value in QUICK.items()]
    table = gclbench.run(*words, "seeds=[5]", runs_dir=Path("of mine") / "store")
    assert table["seed"].tolist() == [5]
    assert [record.id for record in Store("of mine/store").scan()] == table["id"].tolist()
    assert not Path("runs").exists()


@pytest.mark.parametrize("ask", [gclbench.run, gclbench.embed])
def test_freed_memory_is_kept_while_a_run_computes(
    ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    @contextlib.contextmanager
    def noted() -> Iterator[None]:
        seen.append("begun")
        yield
        seen.append("handed back")

    monkeypatch.setattr(allocator, "reusing_memory", noted)
    ask(**QUICK, progress=False)
    assert seen == ["begun", "handed back"]


def test_a_run_that_fails_is_a_row_that_says_why() -> None:
    table = gclbench.run(**{**QUICK, "method": "grace", "method.lr": 1e30}, progress=False)
    (row,) = table.to_dict("records")
    assert row["status"] == "diverged" and row["reason"].startswith("the loss became nan")
    assert "acc" not in table


@pytest.mark.slow
def test_worker_processes_take_the_runs() -> None:
    table = gclbench.run(**QUICK, seeds=2, progress=False, **{"launcher.workers": 2})
    assert table["status"].tolist() == ["ok", "ok"]


@pytest.mark.parametrize(
    "settings,words",
    [
        ({"method": "gracee"}, ["method=gracee"]),
        ({"methd": "grace"}, ["methd=grace"]),
        ({"method.lrr": 0.1, "time_limit": 0}, ["method.lrr=0.1", "time_limit=0"]),
        ({"method": ["grace", "dgi"]}, ["method=[grace,dgi]"]),
        ({"task": ["clustering", "nope"]}, ["task=[clustering,nope]"]),
    ],
)
def test_wrong_settings_are_told_as_by_the_command(
    settings: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(ConfigErrors) as told:
        validated(words)
    for call in (gclbench.run, gclbench.embed):
        with pytest.raises(ValueError) as found:
            call(**settings)
        assert str(found.value) == "\n".join(map(in_python, told.value.errors))
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 3, -2, 0.1, 1e-07, 1e30, "gnnbp", "my runs", "a,b", "[x]", "{a:1}"),
        *("it's", "C:\\runs", "end\\", "\\'", "a=b", "ümlaut/ß", "", "3", "null", "$HOME", "x:y"),
        *("Null", "true", "nan", "-inf", "nullable"),
        *([], [3, 7], [0.2, 0.3], ["a b", "c"], [[1], None], {"qos": "long", "exclude": "node 7"}),
    ],
)
def test_a_value_is_the_same_after_the_grammar_ofoverrides_of(value: Any) -> None:
    (text,) = overrides_of({"key": value})
    assert OverridesParser.create().parse_override(text).value() == value


def test_values_of_other_libraries_are_numbers_too() -> None:
    given = {"a": np.int64(3), "b": np.float32(0.5), "c": (1, 2), "d": Path("a/b"), "e": range(2)}
    assert overrides_of(given) == ["a=3", "b=0.5", "c=[1,2]", "d=a/b", "e=[0,1]"]
    with pytest.raises(TypeError, match=r"method.lr=<object .*> is of type object; a setting is"):
        overrides_of({"method.lr": object()})


# --- load


def test_a_graph_is_loaded_by_name() -> None:
    graph = gclbench.load("sbm", nodes=70, classes=2)
    assert graph.num_nodes == 70 and graph.classes == 2 and graph.x.dtype == torch.float32
    assert graph.y is not None


def test_a_graph_that_cannot_be_loaded() -> None:
    with pytest.raises(ValueError, match="there is no dataset 'kora'. Did you mean 'cora'?"):
        gclbench.load("kora")
    with pytest.raises(ValueError, match="'dataset.nods' does not exist. Did you mean"):
        gclbench.load("sbm", nods=3)
    with pytest.raises(DataUnavailable, match="GCLBENCH_OFFLINE"):
        gclbench.load("cora")
    with pytest.raises(GraphError, match="there is no file a b.npz"):
        gclbench.load("custom", path="a b.npz")


# --- embed


@pytest.mark.parametrize("task", ["clustering", "link_prediction"])
def test_an_embedding_is_the_one_that_a_run_evaluates(
    task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gclbench.tasks.link_prediction import LinkPrediction

    settings = {**SMALL, "method": "grace", "method.epochs": 3, "filter": "gnnbp", "task": task}
    seen: list[torch.Tensor] = []
    for cls in (Clustering, LinkPrediction):
        plain = cls.evaluate

        def evaluate(self: Any, embedding: Any, *rest: Any, plain: Any = plain) -> Any:
            seen.append(embedding.z)
            return plain(self, embedding, *rest)

        monkeypatch.setattr(cls, "evaluate", evaluate)
    found = gclbench.embed(seed=4, progress=False, **settings)
    assert seen == [] and not Path("runs").exists()
    assert found.dtype == np.float32 and found.shape[0] == 60
    gclbench.run(**settings, seeds=[4], progress=False)
    (trained,) = seen
    assert np.array_equal(found, trained.numpy())


def test_tasks_that_hide_edges_have_another_embedding() -> None:
    settings = {**SMALL, "method": "grace", "method.epochs": 3, "progress": False}
    whole = gclbench.embed(**settings)
    assert np.array_equal(whole, gclbench.embed(**settings, task=["classification", "clustering"]))
    assert not np.array_equal(whole, gclbench.embed(**settings, task="link_prediction"))


@pytest.mark.parametrize(
    "settings,status,reason",
    [
        ({"method": "grace", "method.lr": 1e30}, "diverged", "the loss became nan"),
        ({"method": "grace", "time_limit": 1e-6}, "timeout", "stopped after 1e-06 s at iteration"),
        (
            {"method": "kmeans", "negatives": "nml"},
            "unsupported",
            'method="kmeans" has no negatives',
        ),
    ],
)
def test_a_training_that_comes_to_nothing_says_why(
    settings: dict[str, Any], status: str, reason: str
) -> None:
    with pytest.raises(gclbench.RunFailed) as found:
        gclbench.embed(**{**SMALL, **settings})
    assert (found.value.status, found.value.reason[: len(reason)]) == (status, reason)
    assert str(found.value).startswith(f"{settings['method']} · sbm · seed 0: {status}: {reason}")


def test_seeds_of_an_embedding_are_one() -> None:
    with pytest.raises(ValueError, match="gclbench.embed takes one seed, as seed=3; gclbench.run"):
        gclbench.embed(**SMALL, seeds=3)


@pytest.mark.parametrize("seed", ["3-5", -1, 1.5, None, [3], True])
def test_a_seed_of_an_embedding_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"seed=.* must be one whole number from 0, as seed=3"):
        gclbench.embed(**SMALL, seed=seed)
    with pytest.raises(ValueError, match=r"seed=.* must be one whole number from 0, as seed=3"):
        gclbench.fit(graph=None, method="grace", seed=seed)


def test_seeds_are_found_as_they_are_asked_for() -> None:
    words = {**SMALL, "method": "kmeans", "task": "clustering", "progress": False}
    assert list(gclbench.run(**words, seeds=["0-1", 5])["seed"]) == [0, 1, 5]
    for asked in ("0-1", [0, 1], ["0-1"]):
        assert sorted(gclbench.runs("runs", seed=asked)["seed"]) == [0, 1]
    assert sorted(gclbench.runs("runs", seed=["1-5"])["seed"]) == [1, 5]
    assert len(gclbench.runs("runs", seed={"0-90000", 5})) == 3, "a filter has no limit"
    for wrong in ("5-1", ["x"], "3-", [1.5, "3-5"], [None, "3-5"]):
        with pytest.raises(ValueError, match='names no seeds; one is 3, a range is "3-7"'):
            gclbench.runs("runs", seed=wrong)


@pytest.mark.parametrize(
    "settings, told",
    [
        (
            {"method": ["grace", "dgi"]},
            "To run each: [gclbench.run(method=name, …) for name in ['grace', 'dgi']]",
        ),
        ({"device": "gpu"}, 'device="gpu" must be auto, cpu, cuda or cuda:0'),
        (
            {"method": "kmeans", "negatives": "nml", **SMALL},
            'for negatives="nml" to weight: it trains nothing; try it with method="grace" or',
        ),
    ],
)
def test_errors_are_worded_for_python(settings: dict[str, Any], told: str) -> None:
    with pytest.raises((ValueError, gclbench.RunFailed)) as found:
        gclbench.embed(**settings, progress=False)
    assert told in str(found.value)
    assert "gclbench -m" not in str(found.value)


# --- table


def test_a_table_has_a_row_per_cell() -> None:
    gclbench.run(**{**QUICK, "seeds": 3}, progress=False)
    whole = gclbench.table("dmat/1", runs="runs")
    filled = compare(find_table("dmat/1"), collect(["runs"]))
    assert len(whole) == len(filled.entries)
    some = gclbench.table("dmat/1", runs=["runs"], dataset="acm", metric=["acc", "nmi"])
    assert set(some["dataset"]) == {"acm"} and set(some["metric"]) == {"acc", "nmi"}
    entry = filled.restrict(["acm"], ["acc"]).entries[0]
    row = some.iloc[0]
    assert (row["column"], row["n"]) == (entry.column, 0)
    assert entry.printed is not None and row["paper_mean"] == pytest.approx(entry.printed.mean)
    assert np.isnan(row["ours_mean"]) and row["verdict"] == "not run"


def test_a_tables_numbers_are_those_of_the_records(
    monkeypatch: pytest.MonkeyPatch, write_records: Callable[..., list[float]]
) -> None:
    values = write_records("runs", seeds=3)
    table = gclbench.table("dmat/1", runs="runs", dataset="acm", metric="acc", method="kmeans")
    row = table[table["n"] > 0].iloc[0]
    assert row["n"] == 3
    assert row["ours_mean"] == pytest.approx(np.mean(values), abs=1e-6)
    assert row["ours_std"] == pytest.approx(np.std(values, ddof=1), abs=1e-6)


@pytest.fixture
def write_records() -> Callable[..., list[float]]:
    """Writes records of k-means on ACM, as if they had been run; gives their accuracies."""
    from dataclasses import asdict

    from gclbench.launch.specification import specification
    from gclbench.records import Record

    def write(folder: str, seeds: int) -> list[float]:
        experiment = validated(["method=kmeans", "dataset=acm", "task=clustering"])
        values = []
        for seed in range(seeds):
            spec = specification(experiment, "clustering", seed, "ab" * 32)
            values.append(0.5 + 0.01 * seed**2)
            Store(folder).write(Record(spec.id, asdict(spec), "ok", {"acc": values[-1]}))
        return values

    return write


def test_a_table_that_is_not_there() -> None:
    with pytest.raises(UnknownTable, match="there is no table 'dmatt/1'. Did you mean 'dmat/1'?"):
        gclbench.table("dmatt/1")
    with pytest.raises(NotInTable, match="table dmat/1 has no dataset 'digits'; it has"):
        gclbench.table("dmat/1", dataset="digits")
    with pytest.raises(LookupError, match="there is no dataset 'digts'. Did you mean 'digits'"):
        gclbench.table("matrix", dataset="digts")
    with pytest.raises(MissingStore, match="nowhere"):
        gclbench.table("dmat/1", runs="nowhere")
