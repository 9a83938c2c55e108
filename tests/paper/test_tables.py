"""What tables there are, what they hold, and how their cells are filled."""

from __future__ import annotations

import dataclasses
import math
import re

import pytest

from gclbench.data.catalog import CATALOG
from gclbench.paper.aggregate import Fact
from gclbench.paper.comparison import compare
from gclbench.paper.config_defaults import shipped_settings
from gclbench.paper.reference import printed_values
from gclbench.paper.render import markdown
from gclbench.paper.sources import Collection
from gclbench.paper.tables import NOT_BUILT, TABLES, UnknownTable, find_table

# Cells of our tables that have a printed value (a legible one or a remark on why there is none).
PLACES = {
    "dmat/1": 480,
    "dmat/2": 32,
    "dmat/3": 80,
    "dmat/4": 64 + 57,
    "dmat/5": 24,
    "dmat/7": 32,
    "dmat/8": 88,
    "mmix/1": 27,
    "mmix/2": 57,
    "mmix/5": 30,
    "mmix/6": 9,
    "mmix/7": 12,
    "mmix/8": 5,
    "mmix/9": 15,
    "mmix/3": 90,
    **dict.fromkeys(("mmix/4", "mmix/9-graphs", "mmix_iclr/5-graphs", "mmix_iclr/9"), 20),
    **dict.fromkeys(("mmix/6-graphs", "mmix_iclr/10-graphs"), 12),
    **dict.fromkeys(("mmix/10", "mmix_iclr/6"), 40),
    "mmix_iclr/2": 85,
    "mmix_iclr/1": 51,
    "mmix_iclr/3": 12,
    "mmix_iclr/4": 4,
    "mmix_iclr/5": 15,
    "mmix_iclr/8": 30,
    "mmix_iclr/10": 9,
    "nml/1": 72,
    "nml/2": 120,
    "contrast/10_10_80": 0,
    "contrast/weights": 0,
    "contrast/mixing": 0,
    "contrast/mixing_validation": 0,
    "contrast/mixing_nmi": 0,
    "contrast/mixing_shares": 0,
}


def of(records, name: str):
    return compare(
        find_table(name),
        Collection(tuple(records), {item.id: "runs" for item in records}, ("runs",)),
    )


def cell(comparison, dataset: str, metric: str, column: str):
    (found,) = [
        e
        for e in comparison.entries
        if (e.dataset, e.metric, e.column) == (dataset, metric, column)
    ]
    return found


def test_every_printed_cell_of_our_columns_has_a_place() -> None:
    assert {
        name: sum(entry.printed is not None for entry in of([], name).entries) for name in TABLES
    } == PLACES


def test_every_printed_table_is_built_or_named() -> None:
    printed = {f"{value.paper}/{value.table}" for value in printed_values()}
    assert printed <= set(TABLES) | set(NOT_BUILT) and not set(TABLES) & set(NOT_BUILT)
    with pytest.raises(UnknownTable, match="table mmix_iclr/7 is not built: datasets: mmix/1"):
        find_table("mmix_iclr/7")


@pytest.mark.parametrize(
    ("printed", "again"), [("2", "1"), ("5", "8"), ("6", "10"), ("7", "3"), ("8", "4"), ("9", "5")]
)
def test_both_versions_of_mmix_print_the_same_cells(printed: str, again: str) -> None:
    one, other = of([], f"mmix/{printed}"), of([], f"mmix_iclr/{again}")
    places = {(e.dataset, e.metric, e.column): e.show_printed() for e in one.entries}
    for entry in other.entries:
        assert places[entry.dataset, entry.metric, entry.column] == entry.show_printed()
    assert f"(ICLR submission), Table {again}" in other.definition.title


@pytest.mark.parametrize("table", ["mmix/2", "mmix/5", "mmix/7", "mmix/9"])
def test_every_table_of_mixtures_has_the_controls(table: str) -> None:
    """No mixing, fixed mixing over the adjacency, random shares: without them no gain can be put
    down to mixing (docs/sources.md, mmix)."""
    assert {"no mixing", "fixed mixing", "random mixing"} <= {
        column.label for column in TABLES[table].columns
    }


def test_a_column_of_each_definition_is_named_once_and_metrics_and_measures_agree() -> None:
    for definition in TABLES.values():
        labels = [column.label for column in definition.columns]
        assert len(set(labels)) == len(labels) and not any("," in label for label in labels), (
            "column=A,B names them"
        )
        assert set(definition.measures) <= set(definition.metrics)


def test_commands_name_the_column_only_where_the_method_has_several() -> None:
    assert (
        cell(of([], "mmix/5"), "cora", "nmi", "mvgrl").command
        == "gclbench sweep table=mmix/5 dataset=cora method=mvgrl"
    )
    comparison = of([], "mmix/7")
    assert (
        cell(comparison, "cora", "accuracy", "mo-mix-op").command
        == "gclbench sweep table=mmix/7 dataset=cora method=mmix_mo column=mo-mix-op"
    )
    assert (
        cell(of([], "mmix/6"), "cora", "accuracy", "branch a").command
        == "gclbench sweep table=mmix/6 dataset=cora method=mmix_mp 'column=branch a'"
    )
    assert cell(of([], "mmix/8"), "dblp_citation", "accuracy", "grace_gat").command == ""
    assert (
        cell(of([], "dmat/7"), "cora", "nodes", "as loaded").command == "gclbench show dataset=cora"
    )


# --- settings


def test_shipped_settings_are_what_hydra_composes() -> None:
    from gclbench.config.validation import experiment_of

    for command in (
        ["method=grace", "dataset=pubmed", "negatives=nml"],
        ["method=mmix_mo", "dataset=citeseer"],
        ["method=dmat_i", "dataset=acm"],
        ["method=nml_gcl", "dataset=wiki_cs"],
        ["method=age", "dataset=dblp"],
        ["method=kmeans", "dataset=coauthor_cs"],
    ):
        settings = experiment_of([*command, "task=clustering", "device=cpu"]).settings
        flat = {
            f"{kind}.{key}": value
            for kind in ("method", "filter", "negatives", "dataset")
            for key, value in settings[kind].items()
        }
        shipped = shipped_settings(flat)
        assert shipped and {key: flat[key] for key in shipped if key in flat} == {
            key: shipped[key] for key in shipped if key in flat
        }
        unknown = {key for key in flat if key not in shipped and not key.endswith(".name")}
        assert not unknown, "every setting is known"


def test_settings_of_generated_graphs_are_nobodys() -> None:
    flat = {"method.name": "dgi", "dataset.name": "sbm", "dataset.nodes": 80}
    assert not [key for key in shipped_settings(flat) if key.startswith("dataset.")]
    assert (
        shipped_settings({**flat, "dataset.name": "coauthor_phy"})["dataset.features"] == "counts"
    )


def test_runs_of_other_settings_are_not_taken_for_the_papers(record) -> None:
    """Where the paper prints no settings, the shipped ones are its code's."""
    runs = [
        record(
            method="grace",
            task="classification",
            task_settings={"protocol": "public"},
            metrics={"accuracy": 0.81},
            **settings,
        )
        for settings in ({"epochs": 200}, {"epochs": 3})
    ]
    whole = of(runs, "nml/1")
    assert (
        cell(whole, "cora", "accuracy", "grace").records == (runs[0],)
        and cell(whole, "cora", "accuracy", "grace").faithful
    )
    assert whole.notes == (
        (
            "cora: runs of grace at other settings are not shown: 1 with method.epochs=3 (shipped:"
            " 200)."
        ),
    )
    alone = of(runs[1:], "nml/1")
    entry = cell(alone, "cora", "accuracy", "grace")
    assert not entry.faithful and entry.show_ours() == "81.00 (1)†"
    assert alone.notes == (
        "cora: grace was not run at the paper's settings: method.epochs=3 (shipped: 200).",
    )


def test_hyper_parameters_beside_the_printed(record) -> None:
    other = record(dataset="acm", lr=5e-3, filter={"name": "gnnbp", "alpha": 0.4})
    del other.spec["filter"]["r_max"]
    comparison = of([record(), other], "dmat/8")
    shown = {metric: cell(comparison, "cora", metric, "dmat_i") for metric in comparison.metrics}
    assert (shown["n_epochs"].show_ours(), shown["n_epochs"].show_printed()) == ("300 ✓", "300")
    assert (shown["architecture"].show_ours(), shown["architecture"].show_printed()) == (
        "256-128 ✓",
        "256-128",
    )
    assert (shown["learning_rate"].show_ours(), shown["learning_rate"].show_printed()) == (
        "0.0001 ✓",
        "1e-4",
    )
    other = cell(comparison, "acm", "learning_rate", "dmat_i")
    assert (other.show_ours(), other.show_printed(), other.show_difference()) == (
        "0.005",
        "1e-3",
        "+0.004",
    )
    # The settings of the one made-up run on acm are cora's; what it has no word on is not known.
    assert cell(comparison, "acm", "r_max", "dmat_i").show_ours() == "not counted"
    # Nothing is recorded on pubmed: the configs are shown.
    assert all(
        cell(comparison, "pubmed", metric, "dmat_i").mark == "✓" for metric in comparison.metrics
    )


# --- counts


def test_counts_of_datasets_beside_the_printed() -> None:
    comparison = of([], "dmat/7")
    assert cell(comparison, "acm", "edges", "as loaded").show_ours() == "13128 ✓"
    dblp = cell(comparison, "dblp", "nodes", "as loaded")
    assert (dblp.show_ours(), dblp.show_printed(), dblp.show_difference()) == (
        "4057",
        "4058 (?)",
        "−1",
    )
    assert isinstance(dblp.ours, Fact) and dblp.ours.n == 0
    assert "dblp: 4058 is a slip: the release has 4057 nodes." in comparison.notes
    assert cell(comparison, "pubmed", "nodes", "as loaded").show_ours() == "19717 ✓"
    text = markdown(comparison)
    assert (
        "| cora | 2708 ✓ / 2708 | 7 ✓ / 7 | 1433 ✓ / 1433 | 5278 / 5429 (−151) |" in text
        and "Welch" not in text
    )


def test_a_dataset_whose_files_were_never_seen_is_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = dataclasses.replace(CATALOG["pubmed"], counts=None, notes="Never seen.")
    monkeypatch.setitem(CATALOG, "pubmed", page)
    comparison = of([], "dmat/7")
    assert cell(comparison, "pubmed", "nodes", "as loaded").show_ours() == "not counted"
    assert "pubmed: Never seen." in comparison.notes


def test_counts_of_mmix_are_printed_with_two_swapped() -> None:
    comparison = of([], "mmix/1")
    edges = cell(comparison, "dblp_citation", "edges", "as loaded")
    assert (edges.show_ours(), edges.show_printed()) == ("52867", "44338 (?)")
    for dataset in ("pubmed", "dblp_citation"):
        assert any(
            note.startswith(f"{dataset}: the paper's Pubmed and DBLP edge counts are swapped")
            for note in comparison.notes
        )
    doubtful = {
        (entry.dataset, entry.metric)
        for entry in comparison.entries
        if entry.printed and entry.printed.doubtful
    }
    assert doubtful == {("pubmed", "edges"), ("dblp_citation", "edges")}


# --- times and quantiles


def timed(record, fit: float | None, filter_seconds: float = 0.0, device: str = "one", **settings):
    made = record(metrics={"acc": 0.7}, **settings)
    made.seconds = {
        "load": 100.0,
        "filter": filter_seconds,
        "evaluate": 50.0,
        **({} if fit is None else {"fit": fit}),
    }
    made.device = device
    return made


def test_times_are_of_filter_and_training_and_relative_to_dmat_i_on_the_same_device(record) -> None:
    runs = [
        timed(record, fit, 2.0, seed=seed) for seed, fit in enumerate((8.0, 10.0, 12.0))
    ]  # 10, 12, 14 seconds
    runs += [
        timed(record, 6.0, method="agc", filter="none", seed=0),
        timed(record, 18.0, method="agc", filter="none", seed=1),
    ]
    raw = {"filter": "none", "normalize_features": False}
    runs += [timed(record, 60.0, method="dgi", device="another", **raw)]
    runs += [timed(record, None, method="gca", **raw)]
    comparison = of(runs, "dmat/4")
    assert cell(comparison, "cora", "seconds", "dmat_i").show_ours() == "12.00 ± 2.00 (3)‡"
    assert cell(comparison, "cora", "ratio", "dmat_i").show_ours() == "1.00 ± 0.17 (3)‡"
    agc = cell(comparison, "cora", "ratio", "agc")
    assert agc.ours.values == pytest.approx({0: 0.5, 1: 1.5}) and agc.factor == 1
    # 0.82 s of AGC over 3.06 s of DMAT-i.
    assert agc.show_printed() == "0.27" and agc.show_difference() == "+0.73"
    assert cell(comparison, "cora", "seconds", "agc").show_printed() == "0.82 ± 0.28"
    assert cell(comparison, "cora", "seconds", "agc").show_difference() == "", (
        "seconds of two machines are not subtracted"
    )
    assert cell(comparison, "cora", "ratio", "dgi").show_ours() == "no dmat_i on this device ×1‡"
    assert cell(comparison, "cora", "seconds", "gca").show_ours() == "no value ×1‡"
    assert comparison.tests == comparison.pairs == 0 and not any(
        entry.mark or entry.rank for entry in comparison.entries
    )
    assert cell(comparison, "pubmed", "ratio", "dgi").printed is None, (
        "printed as missing has no ratio"
    )
    text = markdown(comparison)
    assert "- Devices: another; one." in text and "Welch" not in text and "in percent" not in text


def test_quantiles_are_not_fractions(record) -> None:
    runs = [
        record(
            task="contrast",
            seed=seed,
            metrics={"tau0_q1": 1.0, "tau0_median": 2.0 + seed, "tau0_q3": 6.0},
        )
        for seed in range(2)
    ]
    comparison = of(runs, "dmat/5")
    entry = cell(comparison, "cora", "tau0_median", "dmat_i")
    assert (entry.show_ours(), entry.show_printed(), entry.show_difference()) == (
        "2.50 ± 0.71 (2)‡",
        "2.32",
        "+0.18",
    )
    assert (
        entry.mark == ""
        and entry.command == "gclbench sweep table=dmat/5 dataset=cora method=dmat_i"
    )
    assert (
        "| cora | 1.00 ± 0.00 (2)‡ / 1.06 (−0.06) | 2.50 ± 0.71 (2)‡ / 2.32 (+0.18) |"
        in markdown(comparison)
    )


def test_runs_with_another_strategy_are_no_baselines(record) -> None:
    """They are the matrix's."""
    comparison = of(
        [
            record(method="gca", filter="none", negatives=name, normalize_features=False)
            for name in ("uniform", "nml")
        ],
        "dmat/1",
    )
    assert cell(comparison, "cora", "acc", "gca").ours.n == 1
    assert comparison.notes == (
        "cora: runs in no column of this table: gca (filter none) with negatives nml (1).",
    )


# --- what records may hold


def test_one_run_nan_missing_metrics_and_no_variance_are_shown_and_never_raise(record) -> None:
    runs = [
        record(seed=0, metrics={"acc": math.nan, "nmi": 0.5, "ari": 0.4}),
        record(seed=1, metrics={"acc": 0.7, "nmi": 0.5}),
        record(seed=2, metrics={"acc": math.inf, "nmi": 0.5}),
        record(seed=3, metrics={}),
        *[
            record(method="agc", filter="none", seed=seed, metrics={"nmi": 0.6})
            for seed in range(3)
        ],
    ]
    comparison = of(runs, "dmat/1")
    assert (
        cell(comparison, "cora", "acc", "dmat_i").show_ours()
        == "70.00 (1; not finite ×2, no value ×1)‡"
    )
    flat = cell(comparison, "cora", "nmi", "dmat_i")
    assert flat.show_ours() == "50.00 ± 0.00 (3; no value ×1)‡", (
        "the three that are there say nothing alone"
    )
    # A spread of zero can be tested against the paper's 50.05 ± 0.49.
    assert cell(comparison, "cora", "nmi", "agc").verdict == "above"
    assert flat.rank is None and cell(comparison, "cora", "nmi", "agc").rank is None, (
        "but not against another of zero"
    )
    assert cell(comparison, "cora", "ari", "dmat_i").show_ours() == "40.00 (1; no value ×3)‡"
    assert re.search(r"\| dmat_i \| .* \|", markdown(comparison))
