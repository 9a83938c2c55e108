from __future__ import annotations

import csv
import io

from rich.console import Console

from gclbench.paper.comparison import compare
from gclbench.paper.render import as_csv, markdown, terminal
from gclbench.paper.sources import Collection
from gclbench.paper.tables import find_table


def collection(records, store: str = "results") -> Collection:
    return Collection(tuple(records), {item.id: store for item in records}, (store,))


def runs(record):
    good = [record(seed=seed, metrics={"acc": 0.70 + 0.001 * seed}) for seed in range(9)]
    return [*good, record(seed=9, status="oom", commit="def456")]


def test_markdown_has_two_lines_per_metric(record) -> None:
    lines = markdown(
        compare(find_table("dmat/1"), collection(runs(record))).restrict(["cora"], ["acc", "conductance"])
    ).splitlines()
    assert lines[0] == "# dmat/1: node clustering, DMT / DMAT / DMAT-i paper, Table 1"
    assert lines[2] == "## cora"
    heading = [cell.strip() for cell in lines[4].split("|")]
    ours, paper = ([cell.strip() for cell in lines[number].split("|")] for number in (6, 7))
    place = heading.index("dmat_i")
    assert (ours[1], ours[2], paper[2]) == ("acc", "ours", "paper")
    assert (ours[place], paper[place]) == ("70.40 ± 0.27 (9; OOM ×1) ✓", "70.57 ± 1.28")
    assert ours[heading.index("kmeans")] == "not run" and paper[heading.index("untrained encoder")] == ""


def test_footer_names_the_records(record) -> None:
    text = markdown(compare(find_table("dmat/1"), collection(runs(record))))
    assert text.endswith("- Records: 10 (10 of results). Commits: abc123, def456.\n")
    assert "Holm-corrected over the 1 tested cells" in text and "▲ significantly better" in text and "(?) doubtful" in text


def test_a_narrow_table_is_one_grid(record) -> None:
    rows = [record(method="dmt", task="classification", seed=seed, metrics={"accuracy": 0.84 + 0.001 * seed}) for seed in range(3)]
    text = markdown(compare(find_table("dmat/2"), collection(rows)))
    assert "| cora | accuracy | 84.10 ± 0.10 (3) ✓ / 84.30 ± 0.25 | not run / 83.92 ± 0.45 | not run / ? | not run / ? |" in text
    assert text.count("\n| ---") == 1 and "ten are assumed" in text


def test_an_asterisk_is_escaped_in_markdown() -> None:
    assert "| \\*62.49 ± 0.76 |" in markdown(compare(find_table("dmat/1"), Collection()).restrict(["dblp"], ["acc"]))


def test_twice_the_same_bytes_in_any_order(record) -> None:
    records = [*runs(record), *[record(method="kmeans", seed=seed) for seed in range(3)]]
    definition = find_table("dmat/1")
    one, other = compare(definition, collection(records)), compare(definition, collection(records[::-1]))
    assert markdown(one) == markdown(other) and as_csv(one) == as_csv(other)


def test_csv(record) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(compare(find_table("dmat/1"), collection(runs(record)))))))
    assert len(rows) == 8 * 6 * 12
    (row,) = [item for item in rows if (item["dataset"], item["metric"], item["column"]) == ("cora", "acc", "dmat_i")]
    assert (row["ours_mean"], row["n"], row["without_value"], row["mark"]) == ("0.704000", "9", "OOM ×1", "✓")
    assert (row["paper_mean"], row["paper_std"], row["paper_runs"], row["difference"]) == (
        "0.705700",
        "0.012800",
        "10",
        "-0.001700",
    )
    assert 0 < float(row["p_holm"]) <= 1
    (row,) = [item for item in rows if (item["dataset"], item["metric"], item["column"]) == ("pubmed", "acc", "dgi")]
    assert (row["ours_mean"], row["n"], row["paper_mean"], row["paper_note"]) == (
        "",
        "0",
        "",
        "printed as missing (out of GPU memory per caption)",
    )


def test_terminal_splits_metrics_that_do_not_fit(record) -> None:
    comparison = compare(find_table("dmat/1"), collection(runs(record))).restrict(["cora"])
    shown = {}
    for width in (100, 200):
        file = io.StringIO()
        terminal(comparison, Console(file=file, width=width))
        shown[width] = file.getvalue()
        assert "70.40 ± 0.27 (9; OOM ×1) ✓" in shown[width] and "70.57 ± 1.28" in shown[width]
    assert shown[100].count("untrained encoder") == 3 and shown[200].count("untrained encoder") == 1


def test_no_records() -> None:
    text = markdown(compare(find_table("dmat/3"), Collection()))
    assert "not run / 92.41 ± 0.28" in text
    assert text.endswith("- Records: none for this table (read: no folder; there is neither results/ nor runs/ here).\n")
