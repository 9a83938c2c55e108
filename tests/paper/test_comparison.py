from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from scipy import stats

from gclbench.paper.comparison import NotInTable, compare
from gclbench.paper.significance import holm
from gclbench.paper.sources import Collection
from gclbench.paper.tables import TABLES, UnknownTable, column_of, find_table


def of(records, name: str = "dmat/1"):
    return compare(
        find_table(name),
        Collection(tuple(records), {item.id: "runs" for item in records}, ("runs",)),
    )


def block(comparison, dataset: str = "cora"):
    return next(item for item in comparison.blocks if item.dataset == dataset)


@pytest.mark.parametrize(
    ("settings", "label"),
    [
        ({"method": "kmeans"}, "kmeans"),
        ({"method": "kmeans", "filter": "gnnbp"}, "k-means on filtered"),
        ({"method": "dmat_i"}, "dmat_i"),
        ({"method": "dmat_i", "epochs": 0}, "untrained encoder"),
        ({"method": "dmat_i", "filter": "none"}, None),
        ({"method": "dmat_i", "train_on": "labelled"}, None),
        ({"method": "dmat_i", "task_settings": {"clusters": 5}}, None),
        ({"method": "agc", "filter": "none"}, "agc"),
        ({"method": "agc", "filter": "agc"}, None),
        ({"method": "age", "filter": "laplacian"}, "age"),
        ({"method": "sdcn", "filter": "none", "protocol": "last"}, "sdcn"),
        ({"method": "sdcn", "filter": "none", "protocol": "oracle"}, None),
        ({"method": "dgi", "filter": "gnnbp"}, None),
        ({"method": "dmat_i", "task": "classification"}, None),
    ],
)
def test_columns_of_clustering(record, settings, label) -> None:
    column = column_of(record(**settings).spec, TABLES["dmat/1"])
    assert (column.label if column else None) == label


@pytest.mark.parametrize(
    ("settings", "label"),
    [
        ({"method": "dmt"}, "dmt"),
        ({"method": "dmt", "epoch_by": "last"}, "dmt (all steps)"),
        ({"method": "dmat"}, "dmat"),
        ({"method": "dmat", "epoch_by": "last"}, "dmat (all steps)"),
        ({"method": "dmat_i"}, "dmat_i (all)"),
        ({"method": "dmat_i", "train_on": "labelled"}, "dmat_i (train nodes)"),
        ({"method": "dmt", "task_settings": {"protocol": "public"}}, None),
    ],
)
def test_columns_of_classification(record, settings, label) -> None:
    column = column_of(record(task="classification", **settings).spec, TABLES["dmat/2"])
    assert (column.label if column else None) == label


def test_every_printed_cell_of_the_three_tables_has_a_place() -> None:
    for table, legible in (("dmat/1", 480), ("dmat/2", 32), ("dmat/3", 80)):
        assert sum(entry.printed is not None for entry in of([], table).entries) == legible


def test_ours_beside_the_paper(record) -> None:
    comparison = of([record(seed=seed, metrics={"acc": 0.70 + 0.001 * seed}) for seed in range(10)])
    entry = block(comparison).entries["acc", "dmat_i"]
    assert entry.printed is not None and entry.printed.mean == pytest.approx(0.7057)
    assert entry.difference == pytest.approx(0.7045 - 0.7057)
    assert entry.show_ours() == "70.45 ± 0.30 (10) ✓‡" and entry.show_printed() == "70.57 ± 1.28"
    assert block(comparison).entries["acc", "kmeans"].ours.show() == "not run"
    assert comparison.tests == 1 and len(comparison.records) == 10 and not comparison.notes


def test_controls_are_not_marked(record) -> None:
    entry = block(of([record(seed=seed, epochs=0) for seed in range(3)])).entries[
        "acc", "untrained encoder"
    ]
    assert (
        entry.ours.n == 3 and entry.printed is None and entry.mark == "" and entry.p_value is None
    )


def test_holm_is_over_the_whole_table_and_survives_a_restriction(record) -> None:
    accuracies, informations = (
        [0.69 + 0.01 * seed for seed in range(4)],
        [0.50 + 0.01 * seed for seed in range(4)],
    )
    runs = [
        record(seed=seed, metrics={"acc": acc, "nmi": nmi})
        for seed, (acc, nmi) in enumerate(zip(accuracies, informations))
    ]
    whole = of(runs)
    raw = [
        stats.ttest_ind_from_stats(
            statistics.mean(values), statistics.stdev(values), 4, *printed, 10, equal_var=False
        ).pvalue
        for values, printed in ((accuracies, (0.7057, 0.0128)), (informations, (0.5359, 0.0122)))
    ]
    expected = holm(raw)
    assert expected != raw and whole.tests == 2
    shown = whole.restrict(["cora"], ["nmi"])
    assert (
        [item.dataset for item in shown.blocks] == ["cora"]
        and shown.metrics == ("nmi",)
        and shown.tests == 2
    )
    for metric, p_value in zip(("acc", "nmi"), expected):
        assert block(shown).entries[metric, "dmat_i"].p_value == pytest.approx(p_value)


def test_the_paper_setting_is_shown_and_others_are_named(record) -> None:
    comparison = of(
        [record(seed=0), record(seed=1), record(seed=0, epochs=3, metrics={"acc": 0.1})]
    )
    assert [column for column in block(comparison).columns if column.startswith("dmat_i")] == [
        "dmat_i",
        "dmat_i (passes)",
    ]
    assert block(comparison).entries["acc", "dmat_i"].ours.n == 2
    assert block(comparison).entries["acc", "dmat_i (passes)"].ours.n == 0
    assert comparison.notes == (
        (
            "cora: runs of dmat_i at other settings are not shown: 1 with method.epochs=3 (paper:"
            " 300)."
        ),
    )


def test_of_a_sweep_the_first_settings_are_named_and_the_others_counted(record) -> None:
    notes = of(
        [
            record(),
            *[record(epochs=epochs, seed=seed) for epochs in range(1, 9) for seed in range(2)],
        ]
    ).notes
    told = "; ".join(f"2 with method.epochs={epochs} (paper: 300)" for epochs in range(1, 3))
    assert notes == (
        f"cora: runs of dmat_i at other settings are not shown: {told}; 12 at 6 further settings.",
    )


def test_a_setting_that_is_not_the_papers_is_said_to_be_so(record) -> None:
    comparison = of([record(epochs=3, lr=1e-3)])
    assert comparison.notes == (
        (
            "cora: dmat_i was not run at the paper's settings: method.lr=0.001 (paper: 0.0001),"
            " method.epochs=3 (paper: 300)."
        ),
    )


def test_another_reading_of_the_printed_epochs_is_a_column_without_a_printed_number(record) -> None:
    comparison = of([record(epoch_is="batch"), record(epoch_is="pass", metrics={"acc": 0.5})])
    batches, passes = (
        block(comparison).entries["acc", name] for name in ("dmat_i", "dmat_i (passes)")
    )
    assert batches.ours.values == {0: 0.7} and batches.printed is not None
    assert passes.ours.values == {0: 0.5} and passes.printed is None and not passes.verdict
    assert comparison.notes == ()


def test_settings_that_nobody_states_are_columns_of_their_own(record) -> None:
    comparison = of([record(extra="a"), record(extra="b", metrics={"acc": 0.5})])
    columns = [column for column in block(comparison).columns if column.startswith("dmat_i [")]
    assert sorted(columns) == ["dmat_i [method.extra=a]", "dmat_i [method.extra=b]"]
    assert block(comparison).entries["acc", "dmat_i [method.extra=b]"].ours.values == {0: 0.5}
    assert "dmat_i" in block(comparison, "acm").columns


def test_runs_in_no_column_are_noted(record) -> None:
    outside = [
        record(seed=seed, filter="none", negatives=name)
        for seed in range(2)
        for name in ("uniform", "nml")
    ]
    comparison = of([*outside, record(method="gca", filter="none", negatives="imix")])
    kinds = (
        "dmat_i (filter none) with negatives nml (2), uniform (2); gca (filter none) with negatives"
        " imix (1)"
    )
    assert comparison.notes == (f"cora: runs in no column of this table: {kinds}.",)
    many = [record(method="gca", filter="none", negatives=name) for name in ("imix", "nml", "mmix")]
    assert of(many).notes == (
        "cora: runs in no column of this table: 3 of gca (filter none) with 3 kinds of negatives.",
    )
    # k-means and its like have no negatives to name.
    comparison = of([record(seed=seed, filter="none") for seed in range(2)])
    assert comparison.notes == (
        "cora: runs in no column of this table: 2 of dmat_i (filter none).",
    )


def test_a_time_is_divided_by_the_mean_of_its_own_device(record) -> None:
    def timed(device: str, seconds: float, **settings):
        return replace(record(**settings), device=device, seconds={"fit": seconds})

    agc = {"method": "agc", "filter": "none"}
    comparison = of(
        [
            *(timed("slow", seconds, seed=seed) for seed, seconds in enumerate((30.0, 50.0))),
            timed("fast", 10.0, seed=2),
            timed("slow", 20.0, seed=0, **agc),
            timed("fast", 20.0, seed=1, **agc),
        ],
        "dmat/4",
    )
    assert block(comparison).entries["ratio", "agc"].ours.values == {0: 0.5, 1: 2.0}


def test_unknown_names() -> None:
    with pytest.raises(
        UnknownTable,
        match=(
            r"there is no table 'dmat-1'. Did you mean 'dmat/1'\? Known tables: dmat/1, dmat/2,"
            r" dmat/3"
        ),
    ):
        find_table("dmat-1")
    with pytest.raises(NotInTable, match="blanks between them: --dataset cora acm$"):
        of([]).restrict(["cora,acm"])
    with pytest.raises(NotInTable, match="table dmat/1 has no dataset 'digits'; it has acm, dblp"):
        of([]).restrict(["digits"])
    with pytest.raises(NotInTable, match="has no metric 'auc'"):
        of([]).restrict([], ["auc"])
    for asked in ({"datasets": ["coraa"]}, {"methods": ["dmati"]}, {"metrics": ["accc"]}):
        meant = {"datasets": "cora", "methods": "dmat_i", "metrics": "acc"}[[*asked][0]]
        with pytest.raises(NotInTable, match=rf"\. Did you mean '{meant}'\?$"):
            of([]).restrict(**asked)


def test_rows_scaled_otherwise_stand_in_no_printed_column_but_in_a_control(record) -> None:
    def scaled(how: str, **settings):
        return [
            record(seed=seed, task_settings={"normalize": how}, **settings) for seed in range(2)
        ]

    dgi = {"method": "dgi", "normalize_features": False}
    printed = of([*scaled("auto", **dgi), *scaled("l2", **dgi)])
    assert [column for column in block(printed).columns if column.startswith("dgi")] == ["dgi"]
    assert (
        "cora: runs of dgi at other settings are not shown: 2 with task.normalize=l2 (shipped:"
        " auto)." in printed.notes
    )
    alone = of(scaled("l2", **dgi))
    assert (
        "cora: dgi was not run at the paper's settings: task.normalize=l2 (shipped: auto)."
        in alone.notes
    )
    control = of(
        [
            *scaled("auto", method="kmeans", filter="gnnbp"),
            *scaled("l2", method="kmeans", filter="gnnbp"),
        ]
    )
    assert sum(column.startswith("k-means on filtered [") for column in block(control).columns) == 2


def test_a_run_of_what_a_method_does_not_support_splits_no_column(record) -> None:
    runs = [record("kmeans", seed=seed, metrics={"acc": 0.5 + seed / 100}) for seed in range(3)]
    stray = record("kmeans", negatives="nml", status="unsupported", reason="it has no negatives")
    alone, beside = (
        compare(find_table("dmat/1"), Collection(records)) for records in ((*runs,), (*runs, stray))
    )
    plain, mixed = (
        {block.dataset: block for block in found.blocks}["cora"] for found in (alone, beside)
    )
    assert mixed.columns == plain.columns
    assert mixed.entries["acc", "kmeans"].ours.values == plain.entries["acc", "kmeans"].ours.values
    told = "cora: runs of kmeans at other settings are not shown: 1 with what it does not support."
    assert told in beside.notes and told not in alone.notes
