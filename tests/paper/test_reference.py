from __future__ import annotations

import csv
from collections import Counter

import pytest

from gclbench.paper.reference import CSV, printed, printed_settings, printed_values

# Rows per (paper, table, first word of the task) as transcribed from the papers.
COUNTS = {
    ("000", "1"): 480,
    ("000", "2"): 40,
    ("000", "3"): 80,
    ("000", "4"): 64,
    ("000", "5"): 24,
    ("000", "7"): 32,
    ("000", "8"): 88,
    ("001", "1"): 75,
    ("001", "2"): 120,
    ("001", "3"): 12 + 8,
    ("001", "4"): 10,
    ("001", "5"): 35,
    ("001", "6"): 40,
    ("001", "8"): 42,
    ("001", "9"): 20,
    ("001", "10"): 21,
    ("002", "2"): 84,
    ("002", "3"): 130,
    ("002", "4"): 20,
    ("002", "5"): 42,
    ("002", "6"): 21,
    ("002", "7"): 8 + 12,
    ("002", "8"): 12,
    ("002", "9"): 35,
    ("002", "10"): 40,
    ("003", "1"): 78,
    ("003", "2"): 120,
}


def rows() -> list[dict[str, str]]:
    with CSV.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_rows_per_table() -> None:
    assert Counter((row["paper"], row["table"]) for row in rows()) == COUNTS


def test_the_mixing_table_has_twelve_node_and_eight_image_rows() -> None:
    found = Counter(
        (row["paper"], row["task"].split()[0])
        for row in rows()
        if (row["paper"], row["table"]) in (("001", "3"), ("002", "7"))
    )
    assert found == {
        ("001", "node"): 12,
        ("001", "image"): 8,
        ("002", "node"): 12,
        ("002", "image"): 8,
    }


def test_every_row_becomes_a_value() -> None:
    assert len(printed_values()) == len(rows()) == sum(COUNTS.values())


def test_percent_becomes_a_fraction() -> None:
    (value,) = printed("acm", "dmat_i", "clustering", "acc")
    assert (value.paper, value.table, value.scale, value.runs) == ("dmat", "1", "percent", 10)
    assert value.mean == pytest.approx(0.9160) and value.std == pytest.approx(0.0070)
    assert value.show() == "91.60 ± 0.70"
    assert value.source == "dmat Table 1"


def test_a_printed_fraction_stays_one() -> None:
    value = printed("cora", "mmix_mp", "clustering", "nmi")[0]
    assert (value.paper, value.mean, value.std, value.scale) == ("mmix", 0.6483, None, "fraction")
    assert value.show() == "64.83"


@pytest.mark.parametrize(
    ("dataset", "method", "metric", "text"),
    [
        ("pubmed", "dgi", "acc", "–"),
        ("dblp", "age", "acc", "*62.49 ± 0.76"),
        ("citeseer", "kmeans", "nmi", "18.42 ± 3.26 (?)"),
        ("pubmed", "grape", "fmi", "OOM"),
        ("cora", "nml_gcl", "fmi", "58.23"),
    ],
)
def test_remarks_are_shown(dataset: str, method: str, metric: str, text: str) -> None:
    assert printed(dataset, method, "clustering", metric)[0].show() == text


def test_a_cut_off_cell_is_not_legible() -> None:
    (value,) = printed("pubmed", "dmat", "classification", "accuracy")
    assert value.mean is None and value.show() == "?"


@pytest.mark.parametrize(
    ("dataset", "method", "task", "metric"),
    [
        ("amazon_photo", "nml_gcl", "clustering", "ari"),
        ("amazon_computers", "grace_plus", "classification", "accuracy"),
        ("wiki_cs", "bgrl", "classification", "accuracy"),
        ("coauthor_phy", "ssgc", "link_prediction", "ap"),
        ("amazon_photo", "dmat_i", "clustering", "macro_f1"),
        ("imdb_binary", "mmix_mo", "graph_classification", "accuracy"),
        ("ppi", "grace", "classification", "micro_f1"),
        ("coil_del", "mmix_mp", "similarity", "pair_auc_n10"),
        ("citeseer", "dmt", "classification", "accuracy"),
    ],
)
def test_our_names(dataset: str, method: str, task: str, metric: str) -> None:
    assert printed(dataset, method, task, metric)


def test_two_graphs_are_called_dblp() -> None:
    assert {value.paper for value in printed_values() if value.dataset == "dblp"} == {"dmat"}
    assert {value.paper for value in printed_values() if value.dataset == "dblp_citation"} == {
        "mmix",
        "mmix_iclr",
    }


def test_protocols_are_not_mixed() -> None:
    assert printed("cora", "dmt", "classification", "accuracy", "random_10_10_80")
    assert not printed("cora", "dmt", "classification", "accuracy", "public")
    assert {
        value.paper for value in printed("cora", "mvgrl", "classification", "accuracy", "public")
    } == {
        "nml",
        "mmix",
        "mmix_iclr",
    }
    assert not printed("cora", "mvgrl", "classification", "accuracy", "random_10_10_80")
    assert printed("amazon_photo", "mvgrl", "classification", "accuracy", "random_10_10_80")
    assert all(value.protocol for value in printed_values() if value.task == "classification")


def test_the_own_paper_comes_first() -> None:
    assert [value.paper for value in printed("cora", "mmix_mp", "classification", "accuracy")] == [
        "mmix",
        "mmix_iclr",
    ]


def test_doubtful_cells_are_those_of_the_transcription() -> None:
    """Cells that were suspicious or damaged: two of dmat, MVGRL's Cora value, op and wp rows equal
    to the main table's, one AUC."""
    found = {
        (v.paper, v.table, v.dataset, v.method, v.metric) for v in printed_values() if v.doubtful
    }
    both = {("mmix", "7", "2", "10"), ("mmix_iclr", "3", "1", "6")}
    assert found == {
        ("dmat", "1", "citeseer", "kmeans", "nmi"),
        ("dmat", "1", "citeseer", "kmeans", "ari"),
        ("dmat", "7", "dblp", "", "nodes"),
        ("dmat", "7", "amazon_photo", "", "edges"),
        *(
            (paper, mixing, name, f"mvgrl_mo_mix_{scope}", "accuracy")
            for paper, mixing, _, _ in both
            for name in ("cora", "citeseer", "pubmed")
            for scope in ("op", "wp")
        ),
        *((paper, main, "cora", "mvgrl", "accuracy") for paper, _, main, _ in both),
        *(
            (paper, similarity, "coil_del", "mvgrl", "pair_auc_n10")
            for paper, _, _, similarity in both
        ),
    }


def test_doubtful_and_quoted_values_come_last() -> None:
    values = [
        value
        for value in printed("cora", "mvgrl", "classification", "accuracy")
        if value.paper == "mmix"
    ]
    assert [(value.variant, value.doubtful) for value in values] == [
        ("reproduced", False),
        ("as published", True),
    ]


def test_a_reproduced_value_comes_before_the_quoted_one_where_neither_is_doubted() -> None:
    values = printed("citeseer", "mvgrl", "classification", "accuracy", paper="mmix")
    assert [(value.variant, value.doubtful) for value in values] == [
        ("reproduced", False),
        ("as published", False),
    ]


def test_no_two_rows_share_a_name() -> None:
    keys = Counter(
        (v.paper, v.table, v.task, v.dataset, v.method, v.variant, v.metric)
        for v in printed_values()
    )
    assert [key for key, count in keys.items() if count > 1] == []


def test_printed_hyper_parameters() -> None:
    settings = printed_settings("dmat", "cora")
    assert settings["method.epochs"] == 300 and settings["method.lr"] == 1e-4
    assert settings["method.architecture"] == [256, 128] and settings["filter.r_max"] == 1e-6
    assert len(settings) == 11 and not printed_settings("dmat", "digits")
