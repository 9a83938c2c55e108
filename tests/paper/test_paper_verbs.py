"""`gclbench table` and `gclbench export`."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from gclbench.cli import export, table
from gclbench.paper.tables import TABLES
from gclbench.records import Store


@pytest.fixture
def here(record, tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for seed in range(3):
        Store("runs").write(record(seed=seed))
    Store("runs").write(record(method="kmeans", status="oom"))
    return tmp_path


def test_without_an_id_the_tables_are_listed(capsys) -> None:
    assert table.main([]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [*TABLES, "matrix"]
    assert {"dmat/1", "mmix/2", "nml/1", "contrast/10_10_80"} <= set(TABLES)


def test_table_is_markdown_in_a_pipe(here, capsys) -> None:
    assert table.main(["dmat/1", "--dataset", "cora", "--metric", "acc"]) == 0
    out = capsys.readouterr().out
    assert "| acc | ours | OOM ×1 |" in out and "71.00 ± 1.00 (3) ✓" in out and "4 of runs" in out


def test_table_for_the_terminal(here, capsys) -> None:
    assert table.main(["dmat/1", "--format", "terminal", "--dataset", "cora"]) == 0
    assert "71.00 ± 1.00 (3) ✓" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "begins"), [("t.csv", "table,dataset,metric"), ("t.md", "# dmat/1"), ("deep/t", "# dmat/1")])
def test_output_takes_its_format_from_the_suffix(here, capsys, name: str, begins: str) -> None:
    assert table.main(["dmat/1", "--output", name]) == 0
    assert Path(name).read_text(encoding="utf-8").startswith(begins)
    assert capsys.readouterr().out == f"wrote {name}\n"


def test_exported_records_give_the_same_table(here, capsys) -> None:
    assert export.main(["--to", "results"]) == 0
    out = capsys.readouterr().out
    assert "results/dmat_i/cora.jsonl  3 runs\n" in out and "results/kmeans/cora.jsonl  1 runs, 1 not ok\n" in out
    assert "4 records of runs in 2 files" in out
    table.main(["dmat/1", "--runs", "runs", "--output", "a.csv"])
    table.main(["dmat/1", "--runs", "results", "--output", "b.csv"])
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert len(list(csv.reader(Path("a.csv").read_text(encoding="utf-8").splitlines()))) == 1 + 8 * 6 * 12


def test_export_keeps_what_is_there(here, record, capsys) -> None:
    export.main(["--to", "results"])
    Store("more").write(record(seed=7))
    assert export.main(["--runs", "more", "--to", "results"]) == 0
    assert len(Path("results/dmat_i/cora.jsonl").read_text(encoding="utf-8").splitlines()) == 4


@pytest.mark.parametrize(
    ("verb", "arguments", "message"),
    [
        (table, ["dmat/9"], "gclbench table: there is no table 'dmat/9'. Did you mean 'dmat/"),
        (table, ["dmat/1", "--runs", "nowhere"], "gclbench table: there is no folder 'nowhere'"),
        (table, ["dmat/1", "--dataset", "digits"], "gclbench table: table dmat/1 has no dataset 'digits'"),
        (table, ["dmat/1", "--output", "file/t.md"], "gclbench table: cannot write file/t.md"),
        (export, ["--runs", "nowhere", "--to", "results"], "gclbench export: there is no folder 'nowhere'"),
        (export, ["--runs", "empty", "--to", "results"], "gclbench export: there is no record in empty"),
        (export, ["--to", "file"], "gclbench export: cannot write under file"),
    ],
)
def test_wrong_commands(here, capsys, verb, arguments, message) -> None:
    Path("file").write_text("")
    Path("empty").mkdir()
    assert verb.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(message) and not captured.out


def test_a_damaged_packed_file_is_named(here, capsys) -> None:
    export.main(["--to", "results"])
    Path("results/dmat_i/cora.jsonl").write_text("{\n")
    assert export.main(["--to", "results"]) == 2
    assert "is damaged: not valid JSON" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [table, export])
def test_help_has_examples(verb, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        verb.main(["--help"])
    assert ended.value.code == 0 and "examples:" in capsys.readouterr().out


def test_no_torch_is_imported() -> None:
    code = (
        "import sys; from gclbench.cli import table; table.main(['dmat/1', '--runs', 'tests/paper']); import gclbench.paper.closing; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True).returncode == 0
