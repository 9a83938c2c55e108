"""`gclbench table` and `gclbench export`."""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gclbench.cli import export, figure, table
from gclbench.paper.tables import NOT_BUILT, TABLES
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
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*TABLES, "matrix", "own", *NOT_BUILT]
    assert all("not built: " in line for line in lines[-len(NOT_BUILT) :])
    assert {"dmat/1", "mmix/2", "nml/1", "contrast/10_10_80"} <= set(TABLES)


def test_table_is_markdown_in_a_pipe(here, capsys) -> None:
    assert table.main(["dmat/1", "--dataset", "cora", "--metric", "acc"]) == 0
    out = capsys.readouterr().out
    assert (
        "| kmeans | OOM ×1 / 35.37 ± 3.72 |" in out
        and "| 71.00 ± 1.00 (3) ~83‡ / 70.57 ± 1.28 (+0.43) |" in out
        and "4 of runs" in out
    )


def test_table_for_the_terminal(here, capsys) -> None:
    assert table.main(["dmat/1", "--format", "terminal", "--dataset", "cora"]) == 0
    assert "71.00 ± 1.00 (3) ~83‡" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("t.csv", "table,dataset,metric"),
        ("t.md", "# dmat/1"),
        ("deep/t", "# dmat/1"),
        ("t.tex", "\\documentclass"),
        ("t.html", "<section"),
    ],
)
def test_output_takes_its_format_from_the_suffix(here, capsys, name: str, begins: str) -> None:
    assert table.main(["dmat/1", "--output", name]) == 0
    assert Path(name).read_text(encoding="utf-8").startswith(begins)
    made = ", made the folder deep" if name.startswith("deep/") else ""
    assert capsys.readouterr().out == f"wrote {name}{made}\n"


def test_exported_records_give_the_same_table(here, capsys) -> None:
    assert export.main(["--to", "results"]) == 0
    out = capsys.readouterr().out
    assert (
        "results/dmat_i/cora.jsonl  3 runs\n" in out
        and "results/kmeans/cora.jsonl  1 run, 1 not ok\n" in out
    )
    assert "4 records of runs in 2 files" in out
    table.main(["dmat/1", "--runs", "runs", "--output", "a.csv"])
    table.main(["dmat/1", "--runs", "results", "--output", "b.csv"])
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert (
        len(list(csv.reader(Path("a.csv").read_text(encoding="utf-8").splitlines())))
        == 1 + 8 * 6 * 13
    )


def test_export_keeps_what_is_there(here, record, capsys) -> None:
    export.main(["--to", "results"])
    Store("more").write(record(seed=7))
    assert export.main(["--runs", "more", "--to", "results"]) == 0
    assert len(Path("results/dmat_i/cora.jsonl").read_text(encoding="utf-8").splitlines()) == 4


def test_a_packed_run_that_is_ok_gives_way_to_no_worse_one(here, record, capsys) -> None:
    export.main(["--to", "results"])
    good = record(seed=7)
    Store("more").write(good)
    export.main(["--runs", "more", "--to", "results"])
    Store("again").write(replace(good, status="failed", metrics={}))
    capsys.readouterr()
    assert export.main(["--runs", "again", "--to", "results"]) == 0
    left_out = "1 left out: what is there is ok, or has data that these lack"
    assert f"0 records of again in 1 file; {left_out}" in capsys.readouterr().out
    kept = {found.id: found.status for found in Store("results").scan()}
    assert kept[good.id] == "ok" and len(kept) == 5


def test_interrupted_runs_are_not_packed(here, record, capsys) -> None:
    Store("more").write(record(seed=7))
    Store("more").write(record(seed=8, status="interrupted", metrics={}))
    assert export.main(["--runs", "more", "--to", "packed"]) == 0
    assert "1 record of more in 1 file; 1 interrupted left out" in capsys.readouterr().out
    assert {found.seed for found in Store("packed").scan()} == {7}
    Store("none").write(record(seed=8, status="interrupted", metrics={}))
    assert export.main(["--runs", "none", "--to", "packed"]) == 2
    assert "every run of none was interrupted (1); repeat the" in capsys.readouterr().err


def test_only_one_of_the_two_numbers(here, capsys) -> None:
    question = ["dmat/1", "--dataset", "cora", "--metric", "acc", "--method", "dmat_i"]
    assert table.main([*question, "--only", "ours"]) == 0
    out = capsys.readouterr().out
    assert "71.00 ± 1.00 (3) ~83‡" in out and "70.57" not in out and "| kmeans" not in out
    for format_name in ("markdown", "latex", "html", "csv", "terminal"):
        assert table.main([*question, "--only", "paper", "--format", format_name]) == 0
        out = capsys.readouterr().out
        assert "71.00" not in out and "70.57" in out


def test_commands_of_cells(here, capsys) -> None:
    assert (
        table.main(["dmat/1", "--dataset", "cora", "--method", "dmat_i", "deepwalk", "--command"])
        == 0
    )
    assert capsys.readouterr().out.splitlines() == [
        (
            "gclbench sweep table=dmat/1 dataset=cora method=deepwalk                           #"
            " cora, deepwalk"
        ),
        (
            "gclbench sweep table=dmat/1 dataset=cora method=dmat_i column=dmat_i               #"
            " cora, dmat_i"
        ),
        (
            "gclbench sweep table=dmat/1 dataset=cora method=dmat_i 'column=dmat_i (passes)'    #"
            " cora, dmat_i (passes)"
        ),
        (
            "gclbench sweep table=dmat/1 dataset=cora method=dmat_i 'column=untrained encoder'  #"
            " cora, untrained encoder"
        ),
    ]
    assert table.main(["mmix/8", "--method", "grace_gat", "--command"]) == 0
    assert capsys.readouterr().out == "  # dblp_citation, grace_gat: not built here\n"


def test_a_method_goes_by_the_name_that_both_kinds_of_items_share(here, capsys) -> None:
    assert table.main(["mmix/3", "--dataset", "mutag", "--method", "gcn"]) == 0
    shown = capsys.readouterr().out
    assert "gcn_graphs" in shown and "gat_graphs" not in shown


def test_missing_runs(here, capsys) -> None:
    question = ["dmat/1", "--dataset", "cora", "--method", "dmat_i", "kmeans"]
    assert table.main([*question, "--missing", "--seeds", "3"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        (
            "gclbench sweep table=dmat/1 dataset=cora 'column=dmat_i (passes),k-means on"
            " filtered,untrained encoder' seeds=3"
        ),
        "gclbench sweep table=dmat/1 dataset=cora column=kmeans 'seeds=[1,2]'",
        "gclbench method=dmat_i method.epochs=0 task=clustering dataset=cora seeds=3",
        "gclbench method=kmeans task=clustering dataset=cora 'seeds=[1,2]'",
        "gclbench method=kmeans task=clustering task.clustering.normalize=l2 dataset=cora seeds=3",
        "gclbench method=kmeans filter=gnnbp task=clustering dataset=cora seeds=3",
        "gclbench method=kmeans filter=gnnbp task=clustering task.clustering.normalize=l2"
        " dataset=cora seeds=3",
    ]
    assert (
        table.main(["dmat/1", "--dataset", "cora", "--method", "untrained encoder", "--missing"])
        == 0
    )
    assert (
        capsys.readouterr().out
        == "gclbench sweep table=dmat/1 dataset=cora 'column=untrained encoder'\n"
    )
    assert table.main(["dmat/7", "--missing"]) == 0
    assert capsys.readouterr().out == "# nothing is missing\n"


@pytest.mark.parametrize(
    ("verb", "arguments", "message"),
    [
        (table, ["dmat/12"], "gclbench table: there is no table 'dmat/12'. Did you mean 'dmat/"),
        (table, ["dmat/6"], "gclbench table: table dmat/6 is not built: complexities"),
        (
            table,
            ["mmix_iclr/7"],
            "gclbench table: table mmix_iclr/7 is not built: datasets: mmix/1",
        ),
        (
            table,
            ["dmat/1", "--method", "grace"],
            "gclbench table: table dmat/1 has no method 'grace'; it has kmeans, deepwalk",
        ),
        (
            table,
            ["1"],
            (
                "gclbench table: there is no table '1'. Did you mean 'dmat/1' or 'mmix/1' or"
                " 'mmix_iclr/1' or 'nml/1'?"
            ),
        ),
        (
            table,
            ["nml"],
            "gclbench table: there is no table 'nml'. Did you mean 'nml/1' or 'nml/2'?",
        ),
        (
            figure,
            ["dmat/1"],
            "gclbench figure: 'dmat/1' is a table: gclbench table dmat/1. Known figures: dmat/2",
        ),
        (
            figure,
            ["3"],
            (
                "gclbench figure: there is no figure '3'. Did you mean 'dmat/3' or 'mmix/3' or"
                " 'nml/3'?"
            ),
        ),
        (
            table,
            ["dmat/1", "--output", "t.pdf"],
            "gclbench table: t.pdf has none of the suffixes .md, .csv, .tex, .html; say --format",
        ),
        (
            table,
            ["dmat/1", "--command", "--format", "csv"],
            "gclbench table: --format is about a table's cells",
        ),
        (
            table,
            ["dmat/1", "--missing", "--only", "paper"],
            "gclbench table: --only is about a table's cells",
        ),
        (
            table,
            ["dmat/1", "--command", "--missing"],
            "gclbench table: --command, --missing are different questions",
        ),
        (table, ["dmat/1", "--seeds", "3"], "gclbench table: --seeds goes with --missing"),
        (table, ["matrix", "--only", "ours"], "gclbench table: table matrix is always whole"),
        (
            table,
            ["matrix", "--dataset", "corra"],
            "gclbench table: there is no dataset 'corra'. Did you mean 'cora'?",
        ),
        (table, ["dmat/1", "--runs", "nowhere"], "gclbench table: there is no folder 'nowhere'"),
        (
            table,
            ["dmat/1", "--dataset", "digits"],
            "gclbench table: table dmat/1 has no dataset 'digits'",
        ),
        (table, ["dmat/1", "--output", "file/t.md"], "gclbench table: cannot write file/t.md"),
        (
            export,
            ["--runs", "nowhere", "--to", "results"],
            "gclbench export: there is no folder 'nowhere'",
        ),
        (
            export,
            ["--runs", "empty", "--to", "results"],
            "gclbench export: there is no record in empty",
        ),
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
        "import sys; from gclbench.cli import table; [table.main([*words, '--runs', 'tests/paper'])"
        " for words in (['dmat/1'], ['dmat/7'], ['dmat/8'], ['nml/1', '--missing'], ['matrix'])];"
        " import gclbench.paper.run_summary, gclbench.paper.summary; sys.exit('torch' in"
        " sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True
        ).returncode
        == 0
    )


@pytest.mark.parametrize("text", ["0", "x", "-1", "2.5"])
def test_a_number_of_seeds_is_a_whole_one(here, capsys, text) -> None:
    with pytest.raises(SystemExit):
        table.main(["dmat/1", "--missing", f"--seeds={text}"])
    assert f"'{text}' is no number of runs; a whole number from 1" in capsys.readouterr().err


def test_more_seeds_than_a_sweep_takes_are_not_asked_for(here, capsys) -> None:
    assert table.main(["dmat/1", "--missing", "--seeds", "10001"]) == 2
    assert "--seeds 10001: a sweep takes at most 10,000 seeds" in capsys.readouterr().err
