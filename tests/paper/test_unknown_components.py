"""Own tables of runs whose components are not known here: their file is not given."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gclbench.paper.filling import fill
from gclbench.paper.gains import commands, never_untrained
from gclbench.paper.own_tables import missing_runs
from gclbench.paper.sources import Collection


def typed(words: str, *runs) -> list:
    """Runs as if these words had been typed for them."""
    return [replace(run, command=f"gclbench {words} 'seeds=[0]' threads=1") for run in runs]


def test_what_is_not_known_here_is_run_again_as_it_was_typed(record) -> None:
    """Without `--components`: an own strategy, method and dataset."""
    mine = partial(
        record, method="grace", dataset="digits", negatives={"name": "mine", "weight": 1}
    )
    where = "dataset=digits task=clustering"
    file = "--components my.py"
    collection = Collection(
        (
            *typed(f"method=grace negatives=mine method.epochs=3 {where} {file}", mine(epochs=3)),
            *typed(f"method.epochs=4 negatives=mine method=grace {where} {file}", mine(epochs=4)),
            *typed(f"method=ours method.speed=2 {where} {file}", record("ours", "digits", speed=2)),
            *typed(
                f"method=kmeans dataset=graph dataset.sort=2 task=clustering {file}",
                record("kmeans", {"name": "graph", "sort": 2}),
            ),
        )
    )
    (own,) = fill("own", lambda: collection)
    assert {each.heading for each in own.entries} >= {
        "grace negatives=mine method.epochs=3",
        "grace negatives=mine method.epochs=4",
        "ours method.speed=2",
    }
    assert {*missing_runs(own, 4)} == {
        f"gclbench method=grace negatives=mine method.epochs=3 {where} {file} seeds=1-3",
        f"gclbench method=grace negatives=mine method.epochs=4 {where} {file} seeds=1-3",
        f"gclbench method=ours method.speed=2 {where} {file} seeds=1-3",
        f"gclbench method=kmeans dataset=graph dataset.sort=2 task=clustering {file} seeds=1-3",
    }


def test_a_method_that_was_not_typed_is_named(record) -> None:
    """The one that a run without `method=` is of, with its strategy."""
    run = record("dmat_i", "digits", negatives="mine", filter="none")
    words = "negatives=mine dataset=digits filter=none task=clustering --components my.py"
    (own,) = fill("own", lambda: Collection((*typed(words, run),)))
    assert missing_runs(own, 2) == [
        "gclbench method=dmat_i filter=none negatives=mine dataset=digits task=clustering"
        " --components my.py 'seeds=[1]'"
    ]


def test_one_setting_is_one_row_however_it_was_typed(record) -> None:
    mine = partial(record, method="grace", negatives="mine", lr=0.001)
    collection = Collection(
        (
            *typed("method=grace negatives=mine method.lr=1e-3 dataset=digits", mine()),
            *typed(
                "method.lr=0.001 negatives=mine method=grace method.course=1 dataset=sbm",
                mine(dataset="sbm"),
            ),
        )
    )
    (own,) = fill("own", lambda: collection)
    assert {each.heading for each in own.entries} == {"grace negatives=mine method.lr=0.001"}


def test_the_file_is_that_of_the_newest_run(record) -> None:
    runs = [
        replace(record("ours", "digits"), created="2026-05-01T00:00:00+00:00"),
        replace(record("ours", "sbm"), created="2026-01-01T00:00:00+00:00"),
    ]
    (new,) = typed("method=ours dataset=digits --components new.py", runs[0])
    (old,) = typed("method=ours dataset=sbm --components old.py", runs[1])
    (own,) = fill("own", lambda: Collection((new, old)))
    assert len(lines := missing_runs(own, 2)) == 2
    assert all("--components new.py" in line for line in lines)


def test_a_task_of_ones_own_keeps_its_settings_and_its_file(record) -> None:
    runs = [
        each
        for k in (3, 4)
        for each in typed(
            f"method=grace dataset=digits task=mine task.mine.k={k} --components my.py",
            record("grace", "digits", "mine", task_settings={"k": k}),
        )
    ]
    tables = fill("own", lambda: Collection(tuple(runs)))
    assert [line for table in tables for line in missing_runs(table, 2)] == [
        f"gclbench method=grace dataset=digits task=mine task.mine.k={k} --components my.py"
        " 'seeds=[1]'"
        for k in (3, 4)
    ]


def test_controls_of_what_is_not_known_here_name_its_file(record) -> None:
    run = record(method="grace", dataset="graph", negatives="mine", epochs=3)
    words = "method=grace negatives=mine method.epochs=3 dataset=graph task=clustering"
    ours = record(method="ours", dataset="graph", epochs=3)
    collection = Collection(
        (
            *typed(f"{words} --components a.py --components b.py", run),
            *typed("method=ours dataset=graph task=clustering --components b.py", ours),
        )
    )
    (own,) = fill("own", lambda: collection)
    files = "--components a.py --components b.py"
    lines = commands(own.entries, own.definition.typed_dataset)
    assert lines[0] == (
        "gclbench method=grace negatives=mine method.epochs=0 task=clustering dataset=graph"
        f" seeds=1 {files}"
    )
    assert all("dataset=graph" in line and "--components b.py" in line for line in lines)
    assert never_untrained(own.entries) == [
        "# Whether ours can be left untrained is not known here; with --components FILE.py it is."
    ]


def test_what_no_run_names_the_file_of_is_told_and_not_advised(record) -> None:
    told = (
        "not all of its components are known here, and no run names their file; add --components"
        " FILE.py, or install their package"
    )
    runs = [record(method="ours", dataset="digits", epochs=3), record("grace", "graph", epochs=3)]
    (own,) = fill("own", lambda: Collection(tuple(runs)))
    assert missing_runs(own, 3) == [f"# ours: {told}", f"# graph: {told}"]
    assert missing_runs(own, 1) == []
    strange = record("grace", "digits", negatives="mine", epochs=3)
    (own,) = fill("own", lambda: Collection((strange,)))
    assert missing_runs(own, 1) == [] and len(missing_runs(own, 2)) == 1
    lines = commands(own.entries, own.definition.typed_dataset)
    assert lines and all(line.startswith("gclbench method=kmeans ") for line in lines)


def test_a_file_of_something_else_is_not_named(record) -> None:
    """A run of an own method on an own dataset names both files, and the dataset needs one."""
    ours = record("ours", "graph", epochs=3)
    features = replace(record("kmeans", "graph"), created="2025-01-01T00:00:00+00:00")
    collection = Collection(
        (
            *typed("method=ours dataset=graph --components a.py --components b.py", ours),
            *typed("method=kmeans dataset=graph --components b.py", features),
        )
    )
    (own,) = fill("own", lambda: collection)
    assert {*missing_runs(own, 2)} == {
        "gclbench method=kmeans dataset=graph task=clustering --components b.py 'seeds=[1]'",
        "gclbench method=ours dataset=graph task=clustering --components b.py --components a.py"
        " 'seeds=[1]'",
    }
