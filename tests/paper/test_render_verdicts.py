"""Verdicts, tests and fitted cells in every format."""

from __future__ import annotations

import csv
import io

import pytest
from rich.console import Console
from scipy import stats

from gclbench.paper.comparison import compare
from gclbench.paper.render import as_csv, html, latex, markdown, terminal
from gclbench.paper.sources import Collection
from gclbench.paper.tables import find_table


def collection(records) -> Collection:
    return Collection(tuple(records), {item.id: "results" for item in records}, ("results",))


def apart(record):
    """Nine seeds of DMAT-i, and a failed one of k-means."""
    failed = record(method="kmeans", seed=9, status="oom", commit="def456")
    return [
        *[record(seed=seed, metrics={"acc": 0.70 + 0.001 * seed}) for seed in range(9)],
        failed,
    ]


def test_csv(record) -> None:
    rows = list(
        csv.DictReader(
            io.StringIO(as_csv(compare(find_table("dmat/1"), collection(apart(record)))))
        )
    )
    assert len(rows) == 8 * 6 * 13
    (row,) = [
        item
        for item in rows
        if (item["dataset"], item["metric"], item["column"]) == ("cora", "acc", "dmat_i")
    ]
    assert (row["ours_mean"], row["n"], row["without_value"]) == ("0.704000", "9", "")
    assert (row["verdict"], row["tested_against"], row["margin"], row["seeds_needed"]) == (
        "equivalent",
        "runs",
        "0.012800",
        "",
    )
    # Nine runs of 0.70 + 0.001·seed have a variance of 7.5e-6, ten of the paper's one of 0.0128².
    ours, theirs = 7.5e-6 / 9, 0.0128**2 / 10
    degrees = (ours + theirs) ** 2 / (ours**2 / 8 + theirs**2 / 9)
    error = (ours + theirs) ** 0.5
    differs, within = (stats.t.sf(gap / error, degrees) for gap in (0.0017, 0.0128 - 0.0017))
    assert float(row["p_holm"]) == pytest.approx(2 * differs, rel=1e-3)
    assert float(row["p_equivalence"]) == pytest.approx(within, rel=1e-3) and within < 0.05
    assert row["p_equivalence_holm"] == row["p_equivalence"], "one test alone"
    assert float(row["detectable"]) == pytest.approx(error * 3.15, rel=0.02)
    assert row["fitted"] == "DMAT-i: activation and self-loops; DMAT-i: biases"
    assert (row["paper_mean"], row["paper_std"], row["paper_runs"], row["difference"]) == (
        "0.705700",
        "0.012800",
        "10",
        "-0.001700",
    )
    assert (row["ours"], row["paper"], row["paper_settings"]) == (
        "70.40 ± 0.27 (9)",
        "70.57 ± 1.28",
        "yes",
    )
    assert row["command"] == "gclbench sweep table=dmat/1 dataset=cora method=dmat_i column=dmat_i"
    (row,) = [
        item
        for item in rows
        if (item["dataset"], item["metric"], item["column"]) == ("cora", "acc", "kmeans")
    ]
    assert (row["without_value"], row["verdict"], row["fitted"]) == ("OOM ×1", "failed seeds", "")
    assert row["tested_against"] == row["p_holm"] == row["p_equivalence"] == row["margin"] == ""
    (row,) = [
        item
        for item in rows
        if (item["dataset"], item["metric"], item["column"]) == ("pubmed", "acc", "dgi")
    ]
    assert (row["ours_mean"], row["n"], row["paper_mean"], row["paper_note"]) == (
        "",
        "0",
        "",
        "printed as missing (out of GPU memory per caption)",
    )


def test_the_spread_that_a_table_is_tested_against(record) -> None:
    """Not that of ten classifiers on one encoder."""
    rows = [
        record(
            method="grace",
            task="classification",
            seed=seed,
            metrics={"accuracy": 0.8 + 0.001 * seed},
            task_settings={"protocol": "public"},
        )
        for seed in range(3)
    ]
    comparison = compare(find_table("nml/1"), collection(rows))
    assert "over ten classifiers on one encoder, not over trainings." in markdown(comparison)
    (row,) = [
        line for line in csv.DictReader(io.StringIO(as_csv(comparison))) if line["tested_against"]
    ]
    assert (row["tested_against"], row["paper_runs"]) == ("printed mean", "")


def test_the_cells_that_are_fitted_and_by_what(record) -> None:
    """In every format; k-means depends on no such choice."""
    rows = [
        record(seed=seed, dataset="acm", method=method)
        for seed in range(2)
        for method in ("dmat_i", "kmeans")
    ]
    shown = compare(find_table("dmat/1"), collection(rows)).restrict(["acm"], ["acc"])
    told = (
        "‡ settings chosen after the cell's own labels had been seen (docs/choices.md): DMAT-i: all"
        " rows of its table; DMAT-i: encoder's input."
    )
    file = io.StringIO()
    terminal(shown, Console(file=file, width=400))
    for text, sign in (
        (markdown(shown), "‡"),
        (html(shown).replace("&#x27;", "'"), "‡"),
        (file.getvalue(), "‡"),
        (latex(shown).replace(r"\textquotesingle{}", "'"), r"\textdaggerdbl{}"),
    ):
        lines = [line for line in text.splitlines() if "(2)" in line]
        assert sum(line.count(sign) for line in lines) == 1, text
        assert told.replace("‡", sign) in text
    fitted = {row["column"]: row["fitted"] for row in csv.DictReader(io.StringIO(as_csv(shown)))}
    both = "DMAT-i: all rows of its table; DMAT-i: encoder's input"
    assert (fitted["dmat_i"], fitted["kmeans"]) == (both, "")
    for only, there in (("ours", True), ("paper", False)):
        assert ("‡" in markdown(shown, only)) == there
        assert ("fitted" in as_csv(shown, only).splitlines()[0]) == there
    plain = compare(find_table("dmat/1"), collection([record(method="kmeans")]))
    assert "‡" not in markdown(plain)
