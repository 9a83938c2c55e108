"""Which printed number stands beside a run, and how the run's settings differ from its."""

from __future__ import annotations

import pytest

from gclbench.paper.printed_beside import printed_beside
from gclbench.paper.tables import column_of, find_table

PUBLIC = {"task_settings": {"protocol": "public"}}


@pytest.mark.parametrize(
    ("settings", "metric", "source"),
    [
        ({}, "acc", "dmat Table 1"),
        ({"epochs": 0}, "acc", None),
        ({"filter": "none"}, "acc", None),
        ({"method": "kmeans"}, "acc", "dmat Table 1"),
        ({"method": "kmeans", "filter": "gnnbp"}, "acc", None),
        ({"method": "dmt", "task": "classification"}, "accuracy", "dmat Table 2"),
        ({"method": "dmat_i", "task": "classification"}, "accuracy", None),
        (
            {"method": "dmt", "task": "classification", "task_settings": {"protocol": "public"}},
            "accuracy",
            None,
        ),
        (
            {"method": "grace", "task": "classification", "task_settings": {"protocol": "public"}},
            "accuracy",
            "nml Table 1",
        ),
        (
            {
                "method": "grace",
                "task": "classification",
                "negatives": "nml",
                "task_settings": {"protocol": "public"},
            },
            "accuracy",
            None,
        ),
        (
            {"method": "nml_gcl", "negatives": {"name": "nml", "metric": "separable"}},
            "fmi",
            "nml Table 2",
        ),
        ({"method": "nml_gcl", "negatives": {"name": "nml", "metric": "oracle"}}, "fmi", None),
        # Columns that a paper prints under a name of their own.
        (
            {
                "method": "nml_gcl",
                "task": "classification",
                "negatives": {"name": "nml", "metric": "uniform"},
                **PUBLIC,
            },
            "accuracy",
            "nml Table 1",
        ),
        (
            {
                "method": "mmix_mo",
                "task": "classification",
                "negatives": {"name": "mmix", "variant": "mo", "scope": "op"},
                **PUBLIC,
            },
            "accuracy",
            "mmix Table 7",
        ),
        # Not its Table 7, which has another method's number in this place.
        (
            {
                "method": "mmix_mo",
                "task": "classification",
                "negatives": {"name": "mmix", "variant": "mo", "scope": "wp"},
                **PUBLIC,
            },
            "accuracy",
            "mmix Table 2",
        ),
        ({"task": "contrast"}, "tau0_median", "dmat Table 5"),
        (
            {
                "method": "mmix_mp",
                "task": "classification",
                "negatives": {
                    "name": "mmix",
                    "variant": "adjacency",
                    "scope": "wp",
                    "diversity": True,
                },
                "task_settings": {"protocol": "public"},
            },
            "accuracy",
            None,
        ),
        (
            {
                "method": "mmix_grace",
                "dataset": "dblp_citation",
                "task": "classification",
                "negatives": {"name": "mmix", "variant": "mp", "scope": "wp", "diversity": True},
            },
            "accuracy",
            "mmix Table 8",
        ),
        ({"dataset": "digits"}, "acc", None),
    ],
)
def test_which_printed_value_stands_beside_a_run(record, settings, metric, source) -> None:
    value = printed_beside(record(**settings).spec, metric).value
    assert (value.source if value else None) == source


@pytest.mark.parametrize(
    "method,settings,dataset,shipped,other",
    [
        ("mvgrl", {}, "mutag", "labels", "labels_and_degrees"),
        ("graph_kernel", {"kernel": "wl"}, "imdb_binary", "degrees", "constant"),
    ],
)
def test_runs_on_other_features_are_in_no_column(
    record, method, settings, dataset, shipped, other
) -> None:
    """They would be a second row of Table 3; notes quote them."""

    def column(**features: str) -> str | None:
        made = record(
            method=method,
            dataset={"name": dataset, **features},
            task="graph_classification",
            task_settings={"folds": 10, "svm": "linear"},
            **settings,
        )
        found = column_of(made.spec, find_table("mmix/3"))
        return found.label if found else None

    assert column() == column(features=shipped) == ("mvgrl" if method == "mvgrl" else "WL kernel")
    assert column(features=other) is None
