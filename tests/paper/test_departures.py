"""How a run's settings differ from those that a printed number stands for."""

from __future__ import annotations

import pytest

from gclbench.paper import config_defaults
from gclbench.paper.printed_beside import printed_beside
from gclbench.paper.tables import find_table
from gclbench.records import flatten


def test_departures_are_told(record) -> None:
    assert printed_beside(record(epochs=3).spec, "acc")[1] == ["method.epochs=3 (paper: 300)"]
    assert printed_beside(record().spec, "acc")[1] == []


def test_another_form_of_the_dataset_is_not_the_papers(record) -> None:
    """Of methods whose settings are printed, of others, and of records from before the dataset had
    the setting."""

    def departures(method: str, **dataset: str) -> list[str]:
        return printed_beside(
            record(method=method, dataset={"name": "coauthor_cs", **dataset}).spec, "acc"
        )[1]

    for method in ("kmeans", "dmat_i"):
        told = [
            departures(method, **dataset)
            for dataset in ({"features": "counts"}, {"features": "binary"}, {})
        ]
        of_dataset = [[text for text in texts if text.startswith("dataset.")] for texts in told]
        assert of_dataset == [
            [],
            ["dataset.features=binary (shipped: counts)"],
            ["dataset.features=unrecorded (shipped: counts)"],
        ]


GNNBP = {"name": "gnnbp", "alpha": 0.1, "rrz": 0.4, "r_max": 1e-6}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, []),
        # Printed for this dataset, and not: both are compared.
        ({"views": 4}, ["method.views=4 (paper: 3)"]),
        ({"activation": "selu"}, ["method.activation=selu (shipped: gelu)"]),
        ({"unit_input": False}, ["method.unit_input=False (shipped: True)"]),
        (
            {"filter": {**GNNBP, "self_loops": False}},
            ["filter.self_loops=False (shipped: True)"],
        ),
        # Of the strategy, where a column does not ask for it.
        (
            {"method": "nml_gcl", "negatives": {"name": "nml", "alpha": 0.123}},
            ["negatives.alpha=0.123 (shipped: 0.1)"],
        ),
    ],
)
def test_every_shipped_setting_is_compared(record, settings, told) -> None:
    metric = "fmi" if settings.get("method") else "acc"
    assert printed_beside(record(**settings).spec, metric)[1] == told


def test_a_setting_that_a_record_lacks_is_not_the_shipped_one(record) -> None:
    def without(kind: str, key: str, **settings) -> list[str]:
        made = record(**settings)
        del made.spec[kind][key]
        return printed_beside(made.spec, "acc")[1]

    assert without("method", "unit_input") == ["method.unit_input=unrecorded (shipped: True)"]
    assert without("method", "tau") == ["method.tau=unrecorded (paper: 1)"]
    assert without("filter", "self_loops") == ["filter.self_loops=unrecorded (shipped: True)"]
    lacking = record(method="deepwalk")
    shipped = lacking.spec["method"].pop("window")
    told = printed_beside(lacking.spec, "acc")[1]
    assert told == [f"method.window=unrecorded (shipped: {shipped})"]
    # Of a setting that is younger than the records the class's default is known.
    older = record("mvgrl", "mutag", "graph_classification")
    del older.spec["method"]["batch_size"]
    (column,) = (each for each in find_table("mmix/3").columns if each.label == "mvgrl")
    assert column.departures(flatten(older.spec)) == ["method.batch_size=128 (shipped: 64)"]


def test_what_a_run_at_the_shipped_setting_does_not_name_may_be_lacking(record) -> None:
    """A setting of the machine, and one that is younger than the records, at its default; at
    another value than its default it must be there."""
    made = record()
    assert "storage" not in made.spec["filter"] and printed_beside(made.spec, "acc")[1] == []
    age = record(method="age", filter="laplacian")
    assert "epoch_by" not in age.spec["method"] and printed_beside(age.spec, "acc")[1] == []
    other = record(method="age", filter="laplacian", epoch_by="validation")
    assert printed_beside(other.spec, "acc")[1] == [
        "method.epoch_by=validation (shipped: clusters)"
    ]


def test_a_late_setting_that_is_shipped_at_another_value_is_named(record, monkeypatch) -> None:
    names = {"dataset.name": "cora", "method.name": "age", "filter.name": "laplacian"}
    shipped = config_defaults.shipped_settings(names)
    assert "method.epoch_by" in config_defaults.unnamed_settings(names)
    monkeypatch.setattr(
        config_defaults, "_shipped", lambda _: {**shipped, "method.epoch_by": "validation"}
    )
    config_defaults._unnamed.cache_clear()
    try:
        assert "method.epoch_by" not in config_defaults.unnamed_settings(names)
    finally:
        config_defaults._unnamed.cache_clear()


def test_a_dataset_s_later_setting_is_the_shipped_one_where_a_record_is_silent(record) -> None:
    def departures(**dataset: str) -> list[str]:
        given = {"name": "amazon_photo", **dataset}
        spec = record(method="grace", dataset=given, task="classification").spec
        return printed_beside(spec, "accuracy")[1]

    assert departures() == []
    assert departures(edges="as_stored") == ["dataset.edges=as_stored (shipped: simple)"]


def test_a_table_may_ask_for_another_form_of_a_dataset_than_the_shipped(record) -> None:
    """The `dmat` paper counts Amazon Photo's edges as its file stores them."""

    def printed_for(**dataset: str) -> str | None:
        given = {"name": "amazon_photo", **dataset}
        value, departs, _ = printed_beside(record(method="kmeans", dataset=given).spec, "acc")
        assert not departs
        return value.source if value else None

    assert printed_for(edges="as_stored") == "dmat Table 1"
    assert printed_for() is None
