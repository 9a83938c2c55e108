"""Numbers that prose quotes: every form of a reference."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest

from gclbench.paper.place import BadReference, Places
from gclbench.paper.quotation import quoted
from gclbench.paper.sources import Collection

ROOT = Path(__file__).resolve().parent.parent.parent
CELL = "dmat/1; cora; dmat_i; acc"
RUNS = "runs; method.name=dmat_i dataset.name=cora"
COMPARED = "compare; dmat_i; method=dmat_i method.epochs=3; acc"
BENCH = {
    "wall": 2.5,
    "rows": [{"graph": "cora", "a.b": 1234, "size": 3 << 30, "share": 0.43}, {}],
    "tests": [
        {"on": name, "equivalent": equivalent, "differs": differs, "mean_difference": by}
        for name, equivalent, differs, by in (
            ("same", True, False, -0.001),
            ("more", False, True, 0.01),
            ("less", False, True, -0.01),
            ("open", False, False, -0.01),
        )
    ],
}


def made_up(record) -> list:
    """Three seeds of DMAT-i on cora, two of them at other settings too, and a failed run."""
    runs = [record(seed=seed, metrics={"acc": 0.70 + 0.02 * seed}) for seed in range(3)]
    runs += [record(seed=seed, epochs=3, metrics={"acc": 0.65 + 0.01 * seed}) for seed in (1, 2)]
    runs += [record(method="kmeans", seed=seed, metrics={"acc": 0.5}) for seed in (2, 3)]
    for run in runs:
        run.seconds = {"fit": 90.0 + 60 * run.seed}
        run.memory = {"rss_peak": 3 << 29}
        run.fit = {"iterations": 1200, "curve": [[1, 1.0]], "mean_cosine": 0.12345}
        scores = [0.30, 0.80, run.metrics["acc"]]  # the untrained one is no epoch to choose
        looks = [[10 * place, {"acc": value}] for place, value in enumerate(scores)]
        for _, found in looks[1:]:
            found["stability"] = found["acc"] / 2
        run.data = {"course": looks}
    return [*runs, record(dataset="acm", status="oom")]


@pytest.fixture
def places(record, tmp_path: Path) -> Places:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "one.json").write_text(json.dumps(BENCH))
    return Places(Collection(tuple(made_up(record))), tmp_path)


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (CELL, "72.0"),
        (f"{CELL}; mean", "72.0"),
        (f"{CELL}; ±", "72.0 ± 2.0"),
        (f"{CELL}; ±; 2 decimals", "72.00 ± 2.00"),
        (f"{CELL}; n", "3"),
        (f"{CELL}; min", "70.0"),
        (f"{CELL}; max", "74.0"),
        (f"{CELL}; seed 1", "72.0"),
        (f"{CELL}; printed", "70.6"),
        (f"{CELL}; printed ±; 2 decimals", "70.57 ± 1.28"),
        (f"{CELL}; difference", "+1.4"),
        ("dmat/1; cora; kmeans; acc; difference", "+14.6"),
        ("dmat/1; cora; dmat_i; seconds.fit", "150"),
        ("dmat/1; cora; dmat_i; seconds.fit; in minutes; ±", "2.50 ± 1.00"),
        ("dmat/1; cora; dmat_i; memory.rss_peak", "1.50"),
        ("dmat/1; cora; dmat_i; fit.iterations", "1,200"),
        ("dmat/1; cora; dmat_i; fit.mean_cosine", "0.123"),
        ("dmat/1; cora; dmat_i; course.acc.untrained", "30.0"),
        ("dmat/1; cora; dmat_i; course.acc.best_over_last; ±", "8.0 ± 2.0"),
        ("dmat/1; cora; dmat_i; course.acc.after_10", "80.0"),
        ("dmat/1; cora; dmat_i; course.stability.after_10", "40.0"),
        ("dmat/1; cora; dmat_i; course.acc.late_least; seed 1", "72.0"),
        ("dmat/1; cora; dmat_i; course.acc.late_mean; seed 2", "74.0"),
        ("dmat/1; cora; dmat_i; course.acc.after_20; seed 1", "72.0"),
        ("dmat/7; cora; as loaded; nodes", "2,708"),
        (f"{RUNS} method.epochs=3; acc", "66.5"),
        (f"{RUNS}  method.epochs=3 method.architecture=[256,128] ; acc ; n", "2"),
        (f"{RUNS} method.epochs=3; seconds.fit; seed 2", "210"),
        # What a record does not name is at its class's default.
        (f"{RUNS} method.epoch_by=last method.epochs=3; acc", "66.5"),
        ("bench/one.json; wall", "2.50"),
        ("bench/one.json; rows.0.a.b", "1,234"),
        ("bench/one.json; rows[graph=cora].size; in GiB", "3"),
        ("bench/one.json; rows[graph=cora].share; in percent", "43.0"),
        ("bench/one.json; rows.0.a.b+wall", "1,236"),
        ("bench/one.json; tests[on=same]; verdict", "equivalent"),
        ("bench/one.json; tests[on=more]; verdict", "above"),
        ("bench/one.json; tests[on=less]; verdict", "below"),
        ("bench/one.json; tests[on=open]; verdict", "undetermined"),
        ("bench/one.json; tests[on=less].mean_difference; in percent", "−1.0"),
        ("summary; total.cells", "1,091"),
        ("summary; papers.dmat.cells+methods.kmeans.cells", "665"),
        (f"{CELL} minus kmeans", "24.0"),
        ("dmat/1; cora; kmeans; acc minus dmat_i; 0 decimals", "−24"),
        (f"{CELL} minus {RUNS} method.epochs=3; acc; ±", "6.5 ± 0.7"),
        (f"{CELL} minus {RUNS} method.epochs=3; acc; n", "2"),
        ("compare; dmat_i; kmeans; acc; cora; acc", "24.0"),
        ("compare; dmat_i; kmeans; acc; cora clustering; acc; verdict", "undetermined"),
        ("compare; kmeans; dmat_i; acc; cora; acc; n", "1"),
        (f"{COMPARED}; cora; acc; ±", "6.5 ± 0.7"),
    ],
)
def test_what_a_reference_says(places: Places, reference: str, text: str) -> None:
    assert quoted(reference, places) == text


def test_a_quoted_comparison_is_corrected_over_the_metrics_asked_for(record, tmp_path) -> None:
    """p is 0.03 in each metric: one line alone is decided, one of two is not."""
    gains = [0.0185 + 0.0116 * place for place in (-1, -1 / 3, 1 / 3, 1)]
    runs = [
        record(method, seed=seed, metrics=dict.fromkeys(("acc", "nmi", "ari"), value + 0.01 * seed))
        for seed, gain in enumerate(gains)
        for method, value in (("dmat_i", 0.5 + gain), ("kmeans", 0.5))
    ]
    places = Places(Collection(tuple(runs)), tmp_path)
    assert quoted("compare; dmat_i; kmeans; acc; cora; acc; verdict", places) == "above"
    assert quoted("compare; kmeans; dmat_i; acc; cora; acc; verdict", places) == "below"
    assert quoted("compare; dmat_i; kmeans; acc nmi; cora; acc; verdict", places) == "undetermined"


def test_a_quoted_comparison_names_its_task_and_graph(record, tmp_path: Path) -> None:
    sizes = [{"name": "sbm", "nodes": nodes} for nodes in (60, 100)]
    runs = [
        record(method, dataset, task, seed, {"acc": level + 0.02 * seed})
        for method, level in (("grace", 0.7), ("kmeans", 0.5))
        for dataset, task in (
            *(("cora", task) for task in ("clustering", "graph_clustering")),
            *((size, "clustering") for size in sizes),
        )
        for seed in range(2)
    ]
    places = Places(Collection(tuple(runs)), tmp_path)
    where = "compare; grace; kmeans; acc"
    with pytest.raises(BadReference, match="several tasks on cora: clustering, graph_clustering"):
        quoted(f"{where}; cora; acc", places)
    assert quoted(f"{where}; cora clustering; acc", places) == "20.0"
    assert quoted(f"{where}; sbm [nodes=100]; acc", places) == "20.0"
    assert quoted(f"{where}; sbm [nodes=60] clustering; acc", places) == "20.0"


def test_the_matrix_of_a_collection_is_quoted_as_that_of_nodes(record, tmp_path: Path) -> None:
    def run(strategy: str, seed: int, accuracy: float):
        return record(
            "graphcl",
            "mutag",
            "graph_classification",
            seed,
            {"accuracy": accuracy},
            negatives=strategy,
            objective="all",
            task_settings={"svm": "linear", "folds": 10},
        )

    runs = [run("uniform", seed, 0.8 + seed / 100) for seed in range(3)]
    runs += [run("augcl", seed, 0.85 + seed / 50) for seed in range(3)]
    places = Places(Collection(tuple(runs)), tmp_path)
    cell = "matrix; mutag; augcl; accuracy/graphcl (InfoNCE)"
    assert quoted(f"{cell}; ±", places) == "87.0 ± 2.0"
    assert quoted(f"{cell} minus uniform; ±", places) == "6.0 ± 1.0"
    with pytest.raises(BadReference):
        quoted("matrix; cora; augcl; accuracy/graphcl (InfoNCE)", places)


def test_several_settings_in_one_cell_are_named(record, tmp_path: Path) -> None:
    runs = [
        record("grace", task="clustering", negatives={"name": "mmix", "diversity": diversity})
        for diversity in (True, False)
    ]
    with pytest.raises(BadReference) as error:
        quoted("matrix; cora; mmix; nmi/grace", Places(Collection(tuple(runs)), tmp_path))
    assert str(error.value) == (
        "this cell has several settings (negatives.diversity=False; negatives.diversity=True):"
        " runs; KEY=VALUE …; METRIC"
    )


@pytest.mark.parametrize(
    ("cell", "verdict"),
    [
        # 72.0 ± 2.0 of three seeds beside 70.57 ± 1.28: two of k-means 14.6 points above.
        (CELL, "undetermined"),
        ("dmat/1; cora; kmeans; acc", "above"),
        ("dmat/1; acm; dmat_i; acc", "failed seeds"),
        ("dmat/1; cora; agc; acc", "not run"),
        ("dmat/7; cora; as loaded; nodes", "as printed"),
    ],
)
def test_a_verdict_is_quoted(places: Places, cell: str, verdict: str) -> None:
    assert quoted(f"{cell}; verdict", places) == verdict


def test_a_cell_without_a_printed_number_has_no_verdict(places: Places) -> None:
    with pytest.raises(BadReference, match="this cell has no verdict"):
        quoted("dmat/1; cora; untrained encoder; acc; verdict", places)


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (
            "dmat/1 | cora | dmat_i | acc",
            "fields are separated by ';': a '|' ends a cell of a Markdown table, even in a comment",
        ),
        ("dmat/1; cora", "'dmat/1; cora' is too short for TABLE; DATASET; COLUMN; METRIC"),
        ("runs; acc", "'runs; acc' is too short for runs; KEY=VALUE …; METRIC"),
        ("dmat/99; cora; a; b", "there is no table 'dmat/99'. Did you mean"),
        (
            "dmat/1; corra; dmat_i; acc",
            "table dmat/1 has no dataset 'corra'. Did you mean 'cora'? It has acm, dblp, cora,",
        ),
        (
            "dmat/1; cora; dmati; acc",
            "table dmat/1 has no column of cora 'dmati'. Did you mean 'dmat_i'? It has kmeans",
        ),
        (
            "dmat/1; cora; dmat_i; accuracy",
            "table dmat/1 has no metric 'accuracy'. It has acc, nmi, ari, macro_f1",
        ),
        (
            "dmat/1; cora; dmat_i; fit.steps",
            "this setting has no field 'fit.steps'. Did you mean 'fit.iterations'? It has"
            " course.acc.after_N, course.acc.best_over_last, course.acc.late_least,"
            " course.acc.late_mean, course.acc.untrained, course.stability.after_N,"
            " course.stability.best_over_last, course.stability.late_least,"
            " course.stability.late_mean, fit.iterations, fit.mean_cosine, memory.rss_peak,"
            " seconds.fit",
        ),
        ("dmat/1; cora; agc; acc", "there is no number: not run"),
        ("dmat/1; acm; dmat_i; acc", "there is no number: OOM ×1"),
        (f"{CELL}; seed 9", "seed 9 has no value; seeds with one: 0, 1, 2"),
        (
            f"{CELL}; median",
            "'median' is nothing to show. There are mean, ±, n, min, max, seed K, printed,"
            " printed ±, difference, verdict, in minutes, in hours, in ms, in GiB, in percent,"
            " K decimals",
        ),
        (f"{CELL}; n; max", "'max' is the second of its kind; one is shown"),
        (f"{CELL}; in minutes", "'in minutes' is for a value in seconds; this is in percent"),
        ("runs; method=x; acc", "a run has no setting 'method'."),
        ("runs; dmat_i; acc", "'dmat_i' is no condition; type runs; KEY=VALUE …; METRIC"),
        (
            f"{RUNS} method.epochs=4; acc",
            "a run with method.name=dmat_i dataset.name=cora has no method.epochs '4'."
            " It has 3, 300",
        ),
        (
            f"{RUNS}; acc",
            "2 settings fit; add what tells one of them: method.epochs=3; method.epochs=300",
        ),
        (f"{RUNS} method.epochs=3; fmi", "this setting has no metric 'fmi'. It has acc"),
        (
            f"{RUNS} method.epochs=3; acc; printed",
            "'printed' is for TABLE; DATASET; COLUMN; METRIC",
        ),
        (f"{RUNS} method.epochs=3; acc; seed 1; ±", "'±' is the second of its kind; one is shown"),
        (
            "bench/two.json; a",
            "results/bench has no file 'two.json'. Did you mean 'one.json'? It has one.json",
        ),
        ("bench/one.json; wal", "bench/one.json has no key 'wal'. Did you mean 'wall'? It has"),
        (
            "bench/one.json; rows.0.b",
            "bench/one.json; rows.0 has no key 'b'. It has graph, a.b, size, share",
        ),
        (
            "bench/one.json; rows[graph=dblp].size",
            "bench/one.json; rows has 0 rows [graph=dblp]; name one",
        ),
        ("bench/one.json; rows.0", "bench/one.json; rows.0 is no number; it has graph, a.b,"),
        ("bench/one.json; tests.0", "bench/one.json; tests.0 is no number; it has on, equivalent,"),
        ("bench/one.json; tests.0; n", "'n' is for a cell or runs; this is one number"),
        ("bench/one.json; rows.0; verdict", "bench/one.json; rows.0 is no number; it has graph"),
        ("bench/one.json; wall; verdict", "'verdict' is for a cell or runs; this is one number"),
        ("bench/one.json; wall; n", "'n' is for a cell or runs; this is one number"),
        ("summary; totals", "summary has no key 'totals'. Did you mean 'total'? It has total,"),
        (f"{CELL}; n minus kmeans", "what is shown stands last, behind minus …"),
        (
            f"{CELL} minus bench/one.json; wall",
            "minus stands between two cells or runs of one unit",
        ),
        (
            "dmat/1; cora; kmeans; acc minus dmat/1; acm; kmeans; acc",
            "no seed is on both sides: 2, 3 and none",
        ),
        (f"{CELL} minus kmeans; ±", "one run has no standard deviation"),
        ("compare; dmat_i; kmeans; acc", "is too short for compare; A; B; METRIC …; DATASET"),
        ("compare; dmat_i; kmaens; acc; cora; acc", "Did you mean 'kmeans'?"),
        ("compare; dmat_i; dmat_i; acc; cora; acc", "are the same settings; name two that differ"),
        ("compare; dmat_i; agc; acc; cora; acc", "compare; dmat_i; agc; acc: 'agc' has no runs."),
        (
            "compare; dmat_i; kmeans; acc; cora; nmi",
            "compare dmat_i kmeans acc has no metric 'nmi'. It has acc",
        ),
        (
            "compare; dmat_i; kmeans; acc; acm; acc",
            "compare dmat_i kmeans acc has no dataset 'acm'. It has cora",
        ),
        (
            "compare; dmat_i; kmeans; acc; cora classification; acc",
            "on cora has no task 'classification'. It has clustering",
        ),
    ],
)
def test_what_is_wrong_is_said_with_what_exists(places: Places, reference: str, text: str) -> None:
    with pytest.raises(BadReference) as error:
        quoted(reference, places)
    assert text in str(error.value)


def test_a_changed_record_fails_the_check(
    record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "make_results.py"))
    told = script["main"].__globals__
    monkeypatch.setitem(told, "ROOT", tmp_path)
    runs = made_up(record)
    monkeypatch.setitem(told, "collect", lambda _: Collection(tuple(runs)))
    (tmp_path / "results" / "notes").mkdir(parents=True)
    notes = tmp_path / "results" / "notes" / "nml.md"
    notes.write_text(f"It has 0<!-- {CELL} -->.\n")
    monkeypatch.chdir(tmp_path)

    def main(*words: str) -> None:
        monkeypatch.setattr(sys, "argv", ["scripts/make_results.py", "--prose", *words])
        script["main"]()

    main()
    assert notes.read_text() == f"It has 72.0<!-- {CELL} -->.\n"
    main("--check")
    runs[0] = record(seed=0, metrics={"acc": 0.5})
    with pytest.raises(SystemExit) as error:
        main("--check")
    assert error.value.code == (
        f"results/notes/nml.md:1: 72.0 stands before <!-- {CELL} -->, the records say 65.3\n"
        "not what the records give: results/notes/nml.md;"
        " run python scripts/make_results.py --prose"
    )
    with pytest.raises(SystemExit, match=r"b\.md: no page of results/NOTES\.md"):
        main("b.md")
