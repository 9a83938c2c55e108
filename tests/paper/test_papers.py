"""The papers: which there are, how they are found, and one of another package."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import textwrap
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from gclbench.paper import discovery, reference
from gclbench.paper.columns import Column, is_
from gclbench.paper.comparison import compare
from gclbench.paper.discovery import faults, papers
from gclbench.paper.publication import Paper
from gclbench.paper.sources import Collection
from gclbench.paper.table_definition import Definition

MODULE = """
from pathlib import Path

from gclbench.paper.columns import Column, is_
from gclbench.paper.publication import Paper
from gclbench.paper.table_definition import Definition

PAPER = Paper(
    name="elsewhere",
    title="A paper of another package",
    values=Path(__file__).with_name("printed.csv"),
    methods={"KM": ("kmeans", "")},
    datasets={"cora_ml": "cora"},
    runs={"1": 5},
    tables=(
        Definition(
            paper="elsewhere",
            number="1",
            title="clustering",
            task="clustering",
            datasets=("cora",),
            metrics=("acc", "bits_per_edge"),
            columns=(Column("kmeans", (is_("method.name", "kmeans"),), "kmeans"),),
        ),
    ),
)
"""
ROWS = [
    ["table", "task", "dataset", "method", "metric", "mean", "std", "note"],
    ["1", "clustering", "Cora-ML", "KM", "ACC", "40.0", "1.5", ""],
    ["1", "clustering", "Cora-ML", "KM", "bits per edge", "3.25", "", ""],
]


def test_the_papers_and_their_order(points) -> None:
    assert [*papers()] == ["augcl", "dmat", "mmix", "mmix_iclr", "nml", "contrast"]
    assert {paper.key for paper in papers().values()} == {"000", "001", "002", "003", ""}
    for paper in papers().values():
        values = [value for value in reference.printed_values() if value.paper == paper.name]
        # `9 mutag` is of one dataset, and `9-graphs` of a part of a table.
        printed = {value.table for value in values}
        halves = {f"{value.table} {value.dataset}" for value in values}
        assert set(paper.runs) <= printed | halves
        assert set(paper.spread) <= printed | {table.id.partition("/")[2] for table in paper.tables}
        # A spread is over a known number of trainings, or a sentence says what it is instead.
        for table in paper.tables:
            over = {
                value.runs
                for value in values
                if value.table == table.number
                and value.dataset in table.datasets
                and value.std is not None
                and not (value.quoted or value.over_folds)
            }
            # No test holds the seconds of dmat/4 against print.
            if over and table.id != "dmat/4":
                assert (over == {None}) == bool(table.spread), table.id
        assert paper.repeats in ("", *papers())


def test_every_row_of_the_file_is_of_a_paper() -> None:
    with reference.CSV.open(encoding="utf-8", newline="") as file:
        keys = {row["paper"] for row in csv.DictReader(file)}
    assert keys == {paper.key for paper in papers().values() if paper.key}


def test_a_paper_of_another_package(points, tmp_path: Path, monkeypatch, record) -> None:
    (tmp_path / "elsewhere_paper.py").write_text(textwrap.dedent(MODULE), encoding="utf-8")
    with (tmp_path / "printed.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(ROWS)
    monkeypatch.syspath_prepend(str(tmp_path))
    points.append(EntryPoint("elsewhere", "elsewhere_paper", discovery.GROUP))
    try:
        paper = papers()["elsewhere"]
    finally:
        sys.modules.pop("elsewhere_paper", None)
    assert [*papers()][-2:] == ["nml", "contrast"] and [*papers()].index("elsewhere") == 2
    metrics = {"acc": 0.41, "bits_per_edge": 3.0}
    run = record(method="kmeans", filter="none", metrics=metrics)
    filled = compare(paper.tables[0], Collection((run,)))
    shown = {entry.metric: (entry.show_ours(), entry.show_printed()) for entry in filled.entries}
    assert shown == {
        "acc": ("41.00 (1) ~", "40.0 ± 1.5"),
        "bits_per_edge": ("3.00 (1)", "3.25"),
    }
    (value,) = reference.printed("cora", "kmeans", "clustering", "acc", paper="elsewhere")
    assert (value.mean, value.runs, value.source) == (pytest.approx(0.4), 5, "elsewhere Table 1")


def test_rows_given_as_mappings() -> None:
    rows = [dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]
    assert [*reference.rows_of(Paper(name="x", title="", values=rows))] == rows


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("json", "json gives no paper; its module defines PAPER = Paper("),
        (
            "no_such_module_here",
            "paper 'p' of no_such_module_here cannot be loaded from no_such_module_here:"
            " ModuleNotFoundError: No module named 'no_such_module_here'",
        ),
        (
            "gclbench.paper.papers.nml",
            "paper 'nml' of gclbench.paper.papers.nml is also defined by",
        ),
    ],
)
def test_what_is_no_paper_is_named_and_left_out(points, value: str, text: str, caplog) -> None:
    points.append(EntryPoint("p", value, discovery.GROUP))
    assert "p" not in papers() and [*papers()][-2:] == ["nml", "contrast"]
    (fault,) = faults()
    assert fault.startswith(text)
    assert caplog.messages == [f"{fault}; the paper is left out"], "once"


def test_a_broken_paper_stops_no_command_and_doctor_lists_it(tmp_path: Path) -> None:
    package = tmp_path / "site" / "other-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[gclbench.papers]\nmine = no_such_module\n")
    fault = "paper 'mine' of other 1.0 cannot be loaded from no_such_module: ModuleNotFoundError:"
    paths = os.pathsep.join([str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-m", "gclbench", *words]
        environment = {**os.environ, "PYTHONPATH": paths}
        return subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, env=environment)

    swept = run("sweep", "table=dmat/1", "--dry-run")
    assert "Traceback" not in swept.stderr and swept.stderr.startswith(f"WARNING: {fault}")
    asked = run("table", "mine/1", "--runs", ".")
    assert asked.returncode == 2 and f"WARNING: {fault}" in asked.stderr
    assert "there is no table 'mine/1'" in asked.stderr
    doctor = run("doctor")
    assert doctor.returncode == 1 and f"paper           {fault}" in doctor.stdout
    assert "WARNING" not in doctor.stderr


def test_ids_begin_with_the_papers_name() -> None:
    table = Definition(
        paper="other",
        number="1",
        title="",
        task="clustering",
        datasets=(),
        metrics=(),
        columns=(Column("a", (is_("method.name", "a"),)),),
    )
    with pytest.raises(ValueError, match="paper 'mine' has other/1"):
        Paper(name="mine", title="", tables=(table,))
