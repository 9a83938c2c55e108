"""Columns that ask for another setting than the shipped one: runs at that are in no column."""

from __future__ import annotations

import pytest

from gclbench.component.settings import identity_of
from gclbench.methods.deepwalk import DeepWalk
from gclbench.methods.graph_kernel import ENOUGH, GraphKernel
from gclbench.paper.columns import Column, is_
from gclbench.paper.comparison import compare
from gclbench.paper.missing import missing
from gclbench.paper.sources import Collection
from gclbench.paper.tables import column_of, find_table
from gclbench.records import Record, flatten


def column(table: str, label: str) -> Column:
    (found,) = [each for each in find_table(table).columns if each.label == label]
    return found


def lacking(table: str, dataset: str, label: str, *records: Record) -> list[str]:
    """The commands of a column and dataset whose runs are not among these."""
    together = Collection(records, {each.id: "runs" for each in records}, ("runs",))
    filled = compare(find_table(table), together).restrict([dataset], [], [label])
    return missing(filled, seeds=1)


@pytest.mark.parametrize("table", ["mmix/3", "mmix_iclr/2"])
def test_graphlets_of_enough_samples(record, table: str) -> None:
    def run(samples: int) -> Record:
        return record(
            "graph_kernel",
            "mutag",
            "graph_classification",
            metrics={"accuracy": 0.8},
            kernel="graphlet",
            samples=samples,
            task_settings={"svm": "linear", "folds": 10},
        )

    few, enough = run(100), run(ENOUGH)
    definition, graphlets = find_table(table), column(table, "GK kernel")
    assert column_of(few.spec, definition) is None
    assert column_of(enough.spec, definition) == graphlets
    assert definition.departures(graphlets, flatten(enough.spec)) == []
    (command,) = lacking(table, "mutag", "GK kernel", few)
    assert "dataset=mutag" in command and "GK kernel" in command
    assert lacking(table, "mutag", "GK kernel", enough) == []


def test_other_kernels_keep_their_ids() -> None:
    """What their records name; a number of samples of another default would make it another."""
    assert GraphKernel.version == "1"
    assert identity_of(GraphKernel(kernel="wl")) == {
        "kernel": "wl",
        "iterations": 5,
        "graphlet_nodes": 5,
        "samples": 100,
        "decay": 0.9,
    }


@pytest.mark.parametrize("table", ["mmix/2", "mmix_iclr/1"])
def test_deepwalk_beside_the_features(record, table: str) -> None:
    def run(**settings: bool) -> Record:
        return record(
            "deepwalk",
            task="classification",
            metrics={"accuracy": 0.7},
            task_settings={"protocol": "public"},
            **settings,
        )

    alone, beside = run(), run(features=True)
    definition, label = find_table(table), "deepwalk + features"
    assert "features" not in alone.spec["method"]
    assert column_of(alone.spec, definition) is None
    assert column_of(beside.spec, definition) == column(table, label)
    assert definition.departures(column(table, label), flatten(beside.spec)) == []
    value = definition.printed("cora", column(table, label), "accuracy")
    assert value is not None and (value.text, value.std) == ("70.7", pytest.approx(0.006))
    assert len(lacking(table, "cora", label, alone)) == 1
    assert lacking(table, "cora", label, beside) == []


def test_plain_deepwalk_keeps_its_ids_and_its_column(record) -> None:
    assert "features" not in identity_of(DeepWalk())
    assert identity_of(DeepWalk(features=True))["features"] is True
    assert DeepWalk.version == "1"
    definition = find_table("dmat/1")
    plain = column("dmat/1", "deepwalk")
    assert definition.departures(plain, flatten(record("deepwalk").spec)) == []
    assert definition.departures(plain, flatten(record("deepwalk", features=True).spec)) == [
        "method.features=True (shipped: False)"
    ]


NORMALIZED = "filter.normalize_features"


def ssgc_run(record, dataset: str, normalized: bool) -> Record:
    return record(
        "kmeans",
        dataset,
        "link_prediction",
        filter={
            "name": "ssgc",
            "order": 16,
            "alpha": 0.05,
            "self_loops": True,
            "normalize_features": normalized,
        },
        metrics={"auc": 0.8, "ap": 0.8},
    )


@pytest.mark.parametrize(
    ("dataset", "normalized"), [("cora", False), ("dblp", False), ("coauthor_cs", True)]
)
def test_a_setting_that_differs_by_dataset(record, dataset: str, normalized: bool) -> None:
    """SSGC's features are row-normalised on some graphs of Table 3 and not on others."""
    ssgc = column("dmat/3", "ssgc")
    (form,) = [each for each in ssgc.where if each.key == NORMALIZED]
    assert form.of(dataset) == is_(NORMALIZED, normalized)
    assert form.of(dataset).override("link_prediction") == f"{NORMALIZED}={normalized}"
    with pytest.raises(ValueError, match="differs by dataset"):
        form.override("link_prediction")
    for recorded in (True, False):
        run = flatten(ssgc_run(record, dataset, recorded).spec)
        assert ssgc.matches(run) == form.holds(run) == (recorded == normalized)


def test_a_dataset_without_an_exception_keeps_the_condition() -> None:
    plain = is_("method.lr", 0.1, 0.2, default=0.1)
    assert plain.of("cora") == plain
    assert is_("method.lr", 0.1, on={"acm": 0.3}).of("cora") == is_("method.lr", 0.1)
