from __future__ import annotations

import csv
import io
import re

import pytest
from render_records import apart, collection, ranked_runs, runs
from rich.console import Console

from gclbench.paper.comparison import compare
from gclbench.paper.render import as_csv, html, latex, markdown, terminal
from gclbench.paper.sources import Collection
from gclbench.paper.tables import TABLES, find_table


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_markdown_has_a_row_per_column_and_a_grid_per_dataset(record) -> None:
    shown = compare(find_table("dmat/1"), collection(runs(record))).restrict(
        ["cora", "acm"], ["acc", "conductance"]
    )
    lines = markdown(shown).splitlines()
    assert lines[0] == "# dmat/1: node clustering, DMT / DMAT / DMAT-i paper, Table 1"
    assert [line for line in lines if line.startswith("## ")] == ["## acm", "## cora"]
    here = lines[lines.index("## cora") :]
    assert cells(here[2]) == ["cora", "acc", "conductance"]
    rows = {cells(line)[0]: cells(line)[1:] for line in here[4:17]}
    assert rows["dmat_i"] == [
        "70.40 ± 0.27 (9; OOM ×1)‡ / 70.57 ± 1.28 (−0.17)",
        "OOM ×1, no value ×9‡ / 10.04 ± 0.52",
    ]
    assert rows["kmeans"][0] == "not run / 35.37 ± 3.72" and rows["untrained encoder"] == [
        "not run",
        "not run",
    ]


def test_a_table_without_a_tested_cell_says_so(record) -> None:
    text = markdown(compare(find_table("dmat/1"), collection([])))
    assert "Test against the paper: none;" in text and "tested cells" not in text


def test_a_table_whose_tested_cells_have_all_failed_has_no_test(record) -> None:
    text = markdown(compare(find_table("dmat/1"), collection(runs(record))))
    assert "Test against the paper: none;" in text


def test_a_table_of_another_quantity_than_ours_says_so(record) -> None:
    text = markdown(compare(find_table("mmix/10"), collection([])))
    assert "- Test against the paper: none; its numbers are of another quantity than ours." in text


def test_the_tests_that_were_made_are_told_and_no_others(record) -> None:
    """Of mmix/6 the spreads are over classifiers; of dmat/1 over runs."""

    def told(table: str, method: str, metric: str, **settings: object) -> str:
        runs = [
            record(
                method=method,
                filter="none",
                seed=seed,
                metrics={metric: 0.8 + seed / 100},
                **settings,
            )
            for seed in range(3)
        ]
        filled = compare(find_table(table), collection(runs))
        (line,) = (line for line in markdown(filled).splitlines() if "Test against the" in line)
        return line

    public = {"task": "classification", "task_settings": {"protocol": "public"}}
    nodes = told("mmix/6", "mmix_mp", "accuracy", negatives="mmix", **public)
    assert "t-tests against the printed mean alone, as if it were exact" in nodes
    assert "its spreads are taken for those of classifiers" in nodes and "Welch" not in nodes
    clusters = told("dmat/1", "kmeans", "acc", task="clustering")
    assert "t-tests Welch's, from the printed mean, spread and number of runs; level" in clusters


def test_what_is_not_printed_is_not_said_to_be_tested_or_explained(record) -> None:
    """Nor is a table's test said of its columns that have no printed number."""

    def trained(seed: int, **settings: object):
        value = 0.7 + seed / 100
        return record(task="classification", seed=seed, metrics={"accuracy": value}, **settings)

    splits = {"task_settings": {"protocol": "random_10_10_80"}}
    rows = [trained(seed, method="grace", **splits) for seed in range(3)]
    text = markdown(compare(find_table("contrast/10_10_80"), collection(rows)))
    assert "- Test against the paper: none; none of these numbers is printed." in text
    assert "as printed" not in text and "printed as missing" not in text
    clusters = [
        record(method=name, filter=filter, task="clustering", seed=seed, metrics={"acc": value})
        for name, filter in (("kmeans", "none"), ("kmeans", "gnnbp"))
        for seed, value in enumerate((0.3, 0.31, 0.33))
    ]
    whole = compare(find_table("dmat/1"), collection(clusters))
    text = markdown(whole.restrict(["cora"], methods=["k-means on filtered"]))
    assert "0.31" not in text and "31.33 ± 1.53 (3)" in text, "the runs are shown"
    assert "Test against the paper: none; none of these numbers is printed." in text


def test_gains_name_the_controls_that_there_are(record) -> None:
    """On collections the features of nodes are none."""

    def told(table: str, **settings: object) -> str:
        runs = [
            record(seed=seed, metrics={"accuracy": 0.6 + gain + seed / 100}, **changed)
            for seed in range(3)
            for gain, changed in ((0.0, {**settings, "epochs": 0}), (0.1, settings))
        ]
        text = markdown(compare(find_table(table), collection(runs)))
        (line,) = (line for line in text.splitlines() if line.startswith("- Gain over"))
        return line

    folds = {"folds": 10, "svm": "rbf"}
    collections = {"dataset": "mutag", "task": "graph_classification", "task_settings": folds}
    graphs = told("mmix/3", method="graphcl", **collections)
    assert "the same settings without training, over the seeds" in graphs
    nodes = told(
        "nml/1", method="grace", task="classification", task_settings={"protocol": "public"}
    )
    assert "without training, the raw features, the features after GnnBP" in nodes


def test_every_table_of_mixtures_of_whole_graphs_has_their_controls() -> None:
    found = [table for table in TABLES.values() if table.task == "graph_classification"]
    mixed = [table for table in found if "mmix_mp" in {each.label for each in table.columns}]
    assert len(mixed) == 8, "Tables 3, 4, 6 and 9 in either version"
    for table in mixed:
        columns = {column.label: column for column in table.columns}
        variants = {
            name: {
                str(condition.values[0])
                for condition in columns[name].where
                if condition.key in ("negatives.name", "negatives.variant")
            }
            for name in ("no mixing", "fixed mixing", "random mixing")
        }
        assert variants == {
            "no mixing": {"uniform"},
            "fixed mixing": {"mmix", "adjacency"},
            "random mixing": {"mmix", "random"},
        }, table.id


def test_machines_are_never_mixed_in_a_column(record) -> None:
    """GraphCL's code has an RBF machine, M-Mix's paper a linear one."""

    def run(svm: str, accuracy: float):
        return record(
            method="graphcl",
            dataset="mutag",
            task="graph_classification",
            metrics={"accuracy": accuracy},
            task_settings={"svm": svm, "folds": 10},
        )

    compared = compare(find_table("mmix/3"), collection([run("linear", 0.8), run("rbf", 0.9)]))
    shown = {
        entry.column: (entry.ours.mean, entry.printed is not None)
        for entry in compared.entries
        if entry.ours.n
    }
    assert shown == {"graphcl": (0.8, True), "graphcl (RBF machine)": (0.9, False)}


def test_footer_names_the_records_and_the_tests(record) -> None:
    text = markdown(compare(find_table("dmat/1"), collection(apart(record))))
    assert text.endswith("- Records: 10 (10 of results). Commits: abc123, def456.\n")
    assert (
        "t-tests Welch's, from the printed mean, spread and number of runs" in text
        and "Holm-corrected over the 1 tested cell of the whole table; equivalence is not" in text
        and "✓ equivalent: two one-sided tests reject a difference of one point" in text
        and "▲ significantly better; ▼ significantly worse; ~ undetermined" in text
        and "(?) doubtful" in text
    )
    assert "Between our columns" not in text, "nothing was paired"
    assert "maximum over epochs by the labels" in text, "what SDCN's printed numbers needed"
    assert "oracle" not in markdown(
        compare(find_table("dmat/1"), collection(runs(record))).restrict(methods=["agc"])
    )


def test_a_printed_mean_without_any_spread_is_of_runs_all_the_same(record) -> None:
    """Of AGC on ACM 78.21 ± 0.00 is printed, over ten runs."""
    agc = [
        record("agc", "acm", seed=seed, metrics={"acc": 0.78 + 0.001 * seed}) for seed in range(3)
    ]
    kmeans = [record("kmeans", "acm", seed=seed) for seed in range(3)]
    text = as_csv(compare(find_table("dmat/1"), collection([*agc, *kmeans])))
    lines = {
        row["column"]: row
        for row in csv.DictReader(io.StringIO(text))
        if (row["dataset"], row["metric"]) == ("acm", "acc")
    }
    for name, printed in (("agc", "78.21 ± 0.00"), ("kmeans", "66.62 ± 0.55")):
        assert (lines[name]["paper"], lines[name]["tested_against"]) == (printed, "runs")


def test_ranks_are_bold_and_underlined(record) -> None:
    shown = compare(find_table("dmat/1"), collection(ranked_runs(record))).restrict(
        ["cora"], ["acc"]
    )
    text = markdown(shown)
    assert (
        "| **70.52 ± 0.19 (5) ✓‡** / 70.57 ± 1.28 (−0.05) |" in text
        and "| <u>50.04 ± 0.38 (5) ▲</u> / 35.37" in text
    )
    assert "| 30.06 ± 0.58 (5)‡ |" in text and "over the 3 tested pairs" in text
    assert r"\textbf{70.52 $\pm$ 0.19 (5) $\checkmark$\textdaggerdbl{}}" in latex(
        shown
    ) and r"\underline{50.04" in latex(shown)
    assert "<strong>70.52 ± 0.19 (5) ✓‡</strong><br>70.57 ± 1.28 (−0.05)" in html(
        shown
    ) and "<u>50.04" in html(shown)
    file = io.StringIO()
    terminal(shown, Console(file=file, width=120, force_terminal=True, color_system="standard"))
    assert re.search(r"\x1b\[1;32m70\.52", file.getvalue()) and re.search(
        r"\x1b\[4;36m50\.04", file.getvalue()
    )
    ranks = {row["column"]: row["rank"] for row in csv.DictReader(io.StringIO(as_csv(shown)))}
    assert (ranks["dmat_i"], ranks["kmeans"], ranks["untrained encoder"]) == ("1", "2", "")


def test_a_cell_not_at_the_papers_settings_has_a_dagger(record) -> None:
    shown = compare(
        find_table("dmat/1"), collection([record(epochs=3, seed=seed) for seed in range(3)])
    ).restrict(["cora"], ["acc"])
    text = markdown(shown)
    assert "| 71.00 ± 1.00 (3)†‡ / 70.57 ± 1.28 (+0.43) |" in text
    assert (
        "- † not at the paper's settings" in text
        and "not run at the paper's settings: method.epochs=3 (paper: 300)." in text
    )
    assert r"(3)\textdagger{}\textdaggerdbl{}" in latex(shown)
    assert "†" not in markdown(compare(find_table("dmat/1"), collection(runs(record))))


def test_a_narrow_table_is_one_grid(record) -> None:
    rows = [
        record(
            method="dmt",
            task="classification",
            seed=seed,
            metrics={"accuracy": 0.84 + 0.001 * seed},
        )
        for seed in range(3)
    ]
    whole = compare(find_table("dmat/2"), collection(rows))
    text = markdown(whole.restrict(methods=["dmt", "dmat"]))
    assert "| dataset | metric | dmt | dmat | dmt (all steps) | dmat (all steps) |" in text
    assert (
        "| cora | accuracy | 84.10 ± 0.10 (3) ✓‡ / 84.30 ± 0.25 (−0.20) | not run / 83.92 ± 0.45 |"
        " not run | not run |" in text
    )
    assert text.count("\n| ---") == 1
    assert "against the printed mean alone, as if it were exact" in text
    assert "The paper does not say over how many runs its spreads are." in text


def test_a_table_of_one_metric_is_one_grid_with_a_row_per_column(record) -> None:
    rows = [
        record(
            method="grace",
            task="classification",
            dataset=dataset,
            tau=tau,
            metrics={"accuracy": 0.8},
        )
        for dataset, tau in (("amazon_photo", 0.4), ("wiki_cs", 0.4), ("wiki_cs", 0.5))
    ]
    for row in rows:
        del row.spec["method"]["tau"]  # no setting that is shipped
        row.spec["method"]["extra"] = row.id[:2] if row.name("dataset") == "wiki_cs" else 0
    text = markdown(compare(find_table("nml/1"), collection(rows)))
    lines = [cells(line) for line in text.splitlines() if line.startswith("| ")]
    assert lines[0] == [
        "accuracy",
        "cora",
        "citeseer",
        "pubmed",
        "amazon_photo",
        "amazon_computers",
        "wiki_cs",
    ]
    names = [line[0] for line in lines]
    assert names[2:6] == [
        "bgrl",
        "grace",
        *sorted(name for name in names if name.startswith("grace [method.extra=")),
    ]
    assert (
        lines[3][4].startswith("80.00 (1)")
        and lines[3][6] == ""
        and lines[4][6].startswith("80.00 (1)")
        and lines[4][1] == ""
    )


def test_an_asterisk_is_escaped_in_markdown() -> None:
    text = markdown(compare(find_table("dmat/1"), Collection()).restrict(["dblp"], ["acc", "nmi"]))
    assert "| not run / \\*62.49 ± 0.76 |" in text and "; \\* not converged" in text


@pytest.mark.parametrize("render", [markdown, as_csv, latex, html])
def test_twice_the_same_bytes_in_any_order(record, render) -> None:
    records = [
        *runs(record),
        *ranked_runs(record),
        *[record(method="kmeans", seed=seed, filter="gnnbp") for seed in range(3)],
    ]
    records = list({item.id: item for item in records}.values())
    for definition in TABLES.values():
        assert render(compare(definition, collection(records))) == render(
            compare(definition, collection(records[::-1]))
        )


def test_terminal_splits_columns_that_do_not_fit(record) -> None:
    comparison = compare(find_table("dmat/1"), collection(runs(record))).restrict(["cora"])
    shown = {}
    for width in (100, 200):
        file = io.StringIO()
        terminal(comparison, Console(file=file, width=width))
        shown[width] = file.getvalue()
        assert (
            "70.40 ± 0.27 (9; OOM ×1)‡" in shown[width] and "70.57 ± 1.28 (−0.17)" in shown[width]
        )
    assert shown[100].count("untrained encoder") == 3 and shown[200].count("untrained encoder") == 1


def test_no_records() -> None:
    text = markdown(compare(find_table("dmat/3"), Collection()))
    assert "not run / 92.41 ± 0.28" in text
    assert text.endswith(
        "- Records: none for this table (read: no folder; there is neither results/ nor runs/"
        " here).\n"
    )
