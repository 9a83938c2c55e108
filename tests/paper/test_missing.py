from __future__ import annotations

from dataclasses import replace

from gclbench.paper.comparison import compare
from gclbench.paper.missing import missing
from gclbench.paper.sources import Collection
from gclbench.paper.tables import find_table


def lacking(records, name: str, datasets=(), methods=(), seeds: int = 2) -> list[str]:
    comparison = compare(find_table(name), Collection(tuple(records))).restrict(
        datasets, (), methods
    )
    return missing(comparison, seeds)


STEPS = ("validation", "last")
"""By what the two columns of dmt, and those of dmat, choose their steps."""


def classified(record, method: str, dataset: str = "cora", seeds: int = 2, **settings):
    """Runs of both columns of a method."""
    return [
        record(
            method=method,
            dataset=dataset,
            task="classification",
            seed=seed,
            metrics={"accuracy": 0.8},
            **{"epoch_by": epoch_by, **settings},
        )
        for epoch_by in STEPS
        for seed in range(seeds)
    ]


def test_a_full_table_lacks_nothing(record) -> None:
    assert lacking(classified(record, "dmt"), "dmat/2", ["cora"], ["dmt"]) == []
    assert lacking(classified(record, "dmt"), "dmat/2", ["cora"], ["dmt"], seeds=1) == []


def test_one_of_two_columns_of_a_method_is_named(record) -> None:
    runs = classified(record, "dmt")
    for there, lacks in zip(STEPS, ("'column=dmt (all steps)'", "column=dmt"), strict=True):
        half = [run for run in runs if run.spec["method"]["epoch_by"] == there]
        assert lacking(half, "dmat/2", ["cora"], ["dmt"]) == [
            f"gclbench sweep table=dmat/2 dataset=cora {lacks} seeds=2"
        ]


def test_runs_that_ended_count_and_interrupted_ones_do_not(record) -> None:
    runs = [
        record(method="dmt", task="classification", seed=seed, status=status, epoch_by=epoch_by)
        for epoch_by in STEPS
        for seed, status in enumerate(("oom", "failed", "interrupted"))
    ]
    assert lacking(runs, "dmat/2", ["cora"], ["dmt"], 3) == [
        "gclbench sweep table=dmat/2 dataset=cora method=dmt 'seeds=[2]'"
    ]


def test_a_cell_that_was_refused_is_asked_for_no_more(record) -> None:
    def runs(*statuses: str):
        return [
            record(method="dmt", task="classification", seed=seed, status=status, epoch_by=epoch_by)
            for epoch_by in STEPS
            for seed, status in enumerate(statuses)
        ]

    assert lacking(runs("unsupported"), "dmat/2", ["cora"], ["dmt"], 3) == []
    assert lacking(runs("unsupported", "ok"), "dmat/2", ["cora"], ["dmt"], 3) == [
        "gclbench sweep table=dmat/2 dataset=cora method=dmt 'seeds=[2]'"
    ]
    elsewhere = [
        record(method="dmt", task="classification", status="unsupported", epoch_by=by, lr=0.5)
        for by in STEPS
    ]
    assert lacking(elsewhere, "dmat/2", ["cora"], ["dmt"]) == [
        "gclbench sweep table=dmat/2 dataset=cora method=dmt seeds=2"
    ], "other settings say nothing of the paper's"
    before = [
        replace(run, spec={**run.spec, "versions": {"method": "0"}}) for run in runs("unsupported")
    ]
    assert lacking(before, "dmat/2", ["cora"], ["dmt"], 3) == [
        "gclbench sweep table=dmat/2 dataset=cora method=dmt seeds=3"
    ], "another version says nothing of this one"


def test_other_seeds_count_as_well(record) -> None:
    runs = [
        record(
            method="dmt",
            task="classification",
            seed=seed,
            epoch_by=epoch_by,
            metrics={"accuracy": 0.8},
        )
        for epoch_by in STEPS
        for seed in (5, 6)
    ]
    assert lacking(runs, "dmat/2", ["cora"], ["dmt"], 2) == []
    assert lacking(runs, "dmat/2", ["cora"], ["dmt"], 3) == [
        "gclbench sweep table=dmat/2 dataset=cora method=dmt seeds=1"
    ]


def test_runs_at_other_settings_do_not_count(record) -> None:
    runs = classified(record, "dmt", epochs=3)
    assert lacking(runs, "dmat/2", ["cora"], ["dmt"]) == [
        "gclbench sweep table=dmat/2 dataset=cora method=dmt seeds=2"
    ]


def test_rows_or_columns_whichever_takes_fewer_lines(record) -> None:
    """dmt is complete on three datasets: two lines by rows (their other columns, the other
    datasets), where columns would take as many
    as there are kinds of columns: two."""
    runs = [
        run
        for dataset in ("cora", "acm", "dblp")
        for run in classified(record, "dmt", dataset, epochs=EPOCHS[dataset], **PAPER[dataset])
    ]
    assert lacking(runs, "dmat/2") == [
        "gclbench sweep table=dmat/2 dataset=acm,dblp,cora method=dmat,dmat_i seeds=2",
        (
            "gclbench sweep table=dmat/2"
            " dataset=citeseer,pubmed,amazon_photo,coauthor_cs,coauthor_phy seeds=2"
        ),
    ]
    # One column that lacks one dataset each: by columns.
    runs = [
        run
        for dataset in ("cora", "acm")
        for run in classified(record, "dmt", dataset, epochs=EPOCHS[dataset], **PAPER[dataset])
    ]
    runs += classified(record, "dmat", "cora") + classified(
        record, "dmat", "acm", epochs=400, **PAPER["acm"]
    )
    assert lacking(runs, "dmat/2", ["cora", "acm", "dblp"], ["dmt", "dmat"]) == [
        "gclbench sweep table=dmat/2 dataset=dblp method=dmt,dmat seeds=2"
    ]


EPOCHS = {"cora": 300, "acm": 400, "dblp": 300}
PAPER = {
    "cora": {},
    "acm": {
        "lr": 1e-3,
        "tau": 2.0,
        "mask_fraction": 0.6,
        "views": 4,
        "filter": {"name": "gnnbp", "alpha": 0.4, "rrz": 0.4, "r_max": 1e-5},
    },
    "dblp": {
        "lr": 1e-3,
        "architecture": [256, 256],
        "tau": 2.0,
        "mask_fraction": 0.2,
        "views": 4,
        "weight_decay": 0.05,
        "filter": {"name": "gnnbp", "alpha": 0.6, "rrz": 0.5, "r_max": 1e-4},
    },
}


def test_of_several_settings_in_a_column_the_one_with_the_most_seeds_counts(record) -> None:
    for many, few in (("a", "b"), ("b", "a")):
        runs = [record("kmeans", seed=seed, extra=many) for seed in range(2)]
        found = lacking(
            [*runs, record("kmeans", seed=2, extra=few)], "dmat/1", ["cora"], ["kmeans"], 3
        )
        assert "gclbench sweep table=dmat/1 dataset=cora column=kmeans 'seeds=[2]'" in found


def test_what_is_not_built_and_what_needs_no_runs_is_left_out() -> None:
    assert lacking([], "mmix/8", ["dblp_citation"], ["grace_gat"]) == []
    assert lacking([], "dmat/7") == lacking([], "dmat/8") == []
    assert lacking([], "mmix/6") == ["gclbench sweep table=mmix/6 seeds=2"]


def test_runs_of_another_version_do_not_count(record) -> None:
    runs = classified(record, "dmt")
    here = runs[0].spec["versions"]["method"]
    old = [
        replace(run, spec={**run.spec, "versions": {"method": "0"}})
        for run in runs
        if run.spec["method"]["epoch_by"] == "last"
    ]
    new = [run for run in runs if run.spec["method"]["epoch_by"] == "validation"]
    command = "gclbench sweep table=dmat/2 dataset=cora 'column=dmt (all steps)'"
    assert here != "0"
    assert lacking([*new, *old], "dmat/2", ["cora"], ["dmt"]) == [f"{command} seeds=2"]
    again = [run for run in runs if run not in new and run.seed == 0]
    assert lacking([*new, *old, *again], "dmat/2", ["cora"], ["dmt"]) == [f"{command} 'seeds=[1]'"]
