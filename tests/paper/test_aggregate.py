from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gclbench.paper.aggregate import Cell, differences, group_records


def test_mean_and_sample_deviation(record) -> None:
    (group,) = group_records(
        [record(seed=seed, metrics={"acc": value}) for seed, value in enumerate([0.5, 0.7, 0.6])]
    )
    cell = group.cell("acc")
    assert cell.values == {0: 0.5, 1: 0.7, 2: 0.6}
    assert cell.mean == pytest.approx(0.6) and cell.std == pytest.approx(
        np.std([0.5, 0.7, 0.6], ddof=1)
    )
    assert cell.show(100) == "60.00 ± 10.00 (3)"


def test_one_run_has_no_deviation(record) -> None:
    (group,) = group_records([record(metrics={"acc": 0.5})])
    assert group.cell("acc").std is None and group.cell("acc").show(100) == "50.00 (1)"


def test_failures_are_counted_not_averaged(record) -> None:
    runs = [
        record(seed=0, metrics={"acc": 0.5}),
        record(seed=1, metrics={"acc": 0.6}),
        record(seed=2, metrics={"acc": math.nan}),
        record(seed=3, metrics={"acc": math.inf}),
        record(seed=4, metrics={"nmi": 0.4}),
        record(seed=5, status="oom"),
        record(seed=6, status="diverged"),
        record(seed=7, status="oom"),
    ]
    (group,) = group_records(runs)
    cell = group.cell("acc")
    assert cell.mean == pytest.approx(0.55) and cell.n == 2
    assert cell.absent == {"diverged": (6,), "oom": (5, 7), "not finite": (2, 3), "no value": (4,)}
    assert cell.statuses == {"diverged": 1, "oom": 2, "not finite": 2, "no value": 1}
    assert cell.show(100) == "55.00 ± 7.07 (2; diverged ×1, OOM ×2, not finite ×2, no value ×1)"


def test_no_run_at_all() -> None:
    assert Cell().show() == "not run" and Cell().mean is None


def test_only_failures(record) -> None:
    (group,) = group_records([record(seed=seed, status="timeout") for seed in range(2)])
    assert group.cell("acc").show() == "timeout ×2"


def test_settings_are_never_mixed(record) -> None:
    groups = group_records([record(seed=0), record(seed=0, epochs=3), record(seed=1)])
    assert sorted([item.seed for item in group.records] for group in groups) == [[0], [0, 1]]


def test_one_run_twice_counts_once(record) -> None:
    earlier = record(seed=0, metrics={"acc": 0.1}, created="2026-01-01")
    later = record(seed=0, metrics={"acc": 0.2}, created="2026-01-02")
    broken = record(seed=0, status="failed", created="2026-01-03")
    for order in ([earlier, later, broken], [broken, later, earlier]):
        (group,) = group_records(order)
        assert group.cell("acc").values == {0: 0.2} and not group.cell("acc").absent


def test_what_differs_is_named_as_typed(record) -> None:
    groups = group_records([record(epochs=3), record(filter="none", epochs=300)])
    assert sorted(differences(groups)) == [
        "filter.name=gnnbp, method.epochs=3",
        "filter.name=none, method.epochs=300",
    ]
    assert differences(groups[:1]) == [""]


def test_settings_of_another_component_are_told_where_they_differ_within_it(record) -> None:
    one, two = record(epochs=3), record(epochs=3)
    two.spec = {**two.spec, "filter": {**two.spec["filter"], "alpha": 0.7}}
    assert sorted(differences(group_records([one, two, record(filter="none", epochs=3)]))) == [
        "filter.alpha=0.1, filter.name=gnnbp",
        "filter.alpha=0.7, filter.name=gnnbp",
        "filter.name=none",
    ]


def test_a_young_setting_at_its_default_is_named_beside_another_value(record) -> None:
    """No record names it at its default, and a heading of nothing would tell nobody apart."""
    usual, other = (record(method="gcn_graphs", dataset="mutag") for _ in range(2))
    other.spec = {**other.spec, "method": {**other.spec["method"], "statistics": "training"}}
    assert "statistics" not in usual.spec["method"]
    assert sorted(differences(group_records([usual, other]))) == [
        "method.statistics=running",
        "method.statistics=training",
    ]


def test_names_of_a_user_s_graph_tell_no_settings_apart(record) -> None:
    def on(name: str, content: str, seed: int = 0, **dataset):
        run = record(dataset={"name": name, "from": "custom", **dataset}, seed=seed)
        return replace(run, spec={**run.spec, "dataset_hash": content})

    same = [on("two", "a" * 64), on("one", "a" * 64, seed=1)]
    (group,) = group_records(same)
    assert (group.name("dataset"), group.called) == ("one", ("two",))
    assert [one.seed for one in group.records] == [0, 1]
    assert group.is_on(["two"]) and group.is_on(["one"]) and not group.is_on(["three"])
    # Another content, another setting, an unknown content, or a dataset that nobody named.
    for other in (
        on("three", "b" * 64),
        on("three", "a" * 64, features="none"),
        on("three", ""),
        record(dataset="three"),
    ):
        found = {each.name("dataset"): each.called for each in group_records([*same, other])}
        assert found == {"one": ("two",), "three": ()}


def test_graphs_of_which_no_record_says_what_they_hold_are_not_one(record) -> None:
    def on(name: str, content: str | None):
        run = record(dataset={"name": name, "from": "custom"})
        return replace(run, spec={**run.spec, "dataset_hash": content})

    for content in ("", None):
        groups = group_records([on("one", content), on("two", content)])
        assert [(group.name("dataset"), group.called) for group in groups] == [
            ("one", ()),
            ("two", ()),
        ]
