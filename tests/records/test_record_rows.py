"""Records as a flat table, and `gclbench export --output`."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from example_records import SPEC, another, full_record, record

from gclbench.cli import export
from gclbench.records import Record, Store
from gclbench.records.rows import FIRST, LAST, as_csv, as_jsonl, as_parquet, rows


def several() -> list[Record]:
    """One that is ok, one whose every field holds something, one with odd values."""
    odd = replace(
        SPEC,
        seed=1,
        method={
            "name": "dmat_i",
            "architecture": [256, 128],
            "lr": None,
            "bias": True,
            "mode": "a",
        },
    )
    strange = replace(odd, seed=2, method={**odd.method, "mode": 3, "lr": 0.1})
    return [
        record(
            metrics={"acc": 0.5, "nmi": 0.25},
            seconds={"fit": 2.0},
            memory={"rss_peak": 1 << 33},
            command="gclbench a='x,\"y\"'",
        ),
        another(full_record(), 4),
        record(odd, metrics={"acc": math.nan, "auc": math.inf}, reason="caf\udce9\nand more"),
        record(
            strange,
            metrics={"acc": 1},
            environment={"commit": "abc"},
            split={"protocol": "random", "hash": "cd"},
        ),
    ]


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_columns_are_in_documented_order() -> None:
    columns, found = rows(several())
    assert columns[: len(FIRST)] == list(FIRST) and columns[-len(LAST) :] == list(LAST)
    middle = columns[len(FIRST) : -len(LAST)]
    assert middle == [
        *[
            "metric.acc",
            "metric.auc",
            "metric.nmi",
            "seconds.fit",
            "seconds.load",
            "memory.rss_peak",
        ],
        *[
            "dataset_hash",
            "filter.alpha",
            "method.architecture",
            "method.bias",
            "method.lr",
            "method.mode",
        ],
        *["split.hash", "versions.method", "versions.task"],
    ]
    assert [row["id"] for row in found] == sorted(item.id for item in several())


def test_csv_says_what_the_records_say() -> None:
    found = {row["id"]: row for row in table(as_csv(several()))}
    first, full, odd, strange = (found[item.id] for item in several())
    assert (
        first["dataset"],
        first["filter"],
        first["method"],
        first["negatives"],
        first["task"],
        first["seed"],
    ) == (
        "cora",
        "gnnbp",
        "dmat_i",
        "uniform",
        "clustering",
        "3",
    )
    assert (first["metric.acc"], first["metric.nmi"], first["metric.auc"]) == (
        "0.5",
        "0.25",
        "",
    ), "fractions; empty is no value"
    assert (first["method.architecture"], first["seconds.fit"], first["memory.rss_peak"]) == (
        "[256,128]",
        "2.0",
        "8589934592",
    )
    assert first["command"] == "gclbench a='x,\"y\"'"
    assert (full["status"], full["reason"], full["protocol"]) == (
        "failed",
        "ValueError: ü ≠ u",
        "random",
    )
    assert (odd["metric.acc"], odd["metric.auc"], odd["method.lr"], odd["method.bias"]) == (
        "nan",
        "inf",
        "",
        "true",
    )
    assert odd["reason"] == "caf\udce9\nand more"
    assert (strange["method.mode"], strange["commit"], strange["split.hash"]) == ("3", "abc", "cd")


def test_jsonl_says_the_same() -> None:
    lines = [json.loads(line) for line in as_jsonl(several()).splitlines()]
    found = {row["id"]: row for row in lines}
    first, _, odd, strange = (found[item.id] for item in several())
    assert (
        first["method.architecture"] == [256, 128]
        and "metric.auc" not in first
        and first["seed"] == 3
    )
    assert odd["metric.acc"] == "nan" and "method.lr" not in odd and strange["method.lr"] == 0.1
    flat = table(as_csv(several()))
    for line, row in zip(lines, flat, strict=True):
        assert set(line) == {key for key, value in row.items() if value}


def test_a_setting_that_is_called_like_a_column_hides_nothing() -> None:
    spec = {**SPEC.__dict__, "status": "odd", "metric": {"acc": "odd"}, "seconds": 5}
    (row,) = rows([replace(record(), spec=spec)])[1]
    assert (row["status"], row["metric.acc"], row["seconds"]) == ("ok", 0.5, 5)
    assert (row["spec.status"], row["spec.metric.acc"]) == ("odd", "odd")


def test_parquet_is_read_back() -> None:
    parquet = pytest.importorskip(
        "pyarrow.parquet", reason="pyarrow is not installed: pip install 'gclbench[parquet]'"
    )
    content = as_parquet(several())
    read = parquet.read_table(io.BytesIO(content))
    assert read.column_names == rows(several())[0]
    kinds = {name: str(read.schema.field(name).type) for name in read.column_names}
    assert (
        kinds["seed"],
        kinds["metric.acc"],
        kinds["seconds.fit"],
        kinds["memory.rss_peak"],
        kinds["method.lr"],
    ) == (
        "int64",
        "double",
        "double",
        "int64",
        "double",
    )
    assert (kinds["method.bias"], kinds["method.mode"], kinds["method.architecture"]) == (
        "bool",
        "string",
        "string",
    )
    found = {row["id"]: row for row in read.to_pylist()}
    first, _, odd, strange = (found[item.id] for item in several())
    assert (
        first["metric.auc"] is None
        and first["method.architecture"] == "[256,128]"
        and first["metric.nmi"] == 0.25
    )
    assert (
        math.isnan(odd["metric.acc"])
        and odd["metric.auc"] == math.inf
        and odd["reason"] == "caf\\udce9\nand more"
    )
    assert (odd["method.mode"], strange["method.mode"]) == ("a", "3") and strange[
        "metric.acc"
    ] == 1.0
    assert as_parquet(several()) == content == as_parquet(reversed(several()))


# --- the verb


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for item in several():
        Store("runs").write(item)
    return tmp_path


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_twice_is_the_same_bytes(here: Path, suffix: str, capsys: Any) -> None:
    if suffix == "parquet":
        pytest.importorskip(
            "pyarrow", reason="pyarrow is not installed: pip install 'gclbench[parquet]'"
        )
    assert export.main(["--output", f"out/a.{suffix}"]) == 0
    assert capsys.readouterr().out == f"out/a.{suffix}  4 runs, 1 not ok, made the folder out\n"
    export.main(["--to", "packed"])
    assert export.main(["--runs", "packed", "--output", "b", "--format", suffix]) == 0
    assert Path(f"out/a.{suffix}").read_bytes() == Path("b").read_bytes(), "and from packed records"


def test_a_table_on_standard_output(here: Path, capsys: Any) -> None:
    assert export.main(["--format", "csv"]) == 0
    assert [row["seed"] for row in table(capsys.readouterr().out)] == [
        str(row["seed"]) for row in rows(several())[1]
    ]


def test_flat_rows_in_a_store_are_named_as_no_records(here: Path, caplog: Any) -> None:
    export.main(["--output", "runs/flat.jsonl"])
    assert len(list(Store("runs").scan())) == 4
    assert "runs/flat.jsonl line 1 is not a readable record: no 'spec' field" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say either --output FILE.csv (or .parquet, .jsonl) for a table, or --to FOLDER"),
        (["--to", "a", "--output", "b.csv"], "say either --output"),
        (
            ["--output", "a.xlsx"],
            (
                "a.xlsx has none of the suffixes .csv, .parquet, .jsonl; say --format"
                " csv|parquet|jsonl"
            ),
        ),
        (["--format", "parquet"], "Parquet is no text to print; say --output FILE.parquet"),
        (["--output", "runs"], "runs has none of the suffixes"),
        (["--output", "file/a.csv"], "cannot write file/a.csv"),
    ],
)
def test_commands_that_are_wrong(
    here: Path, capsys: Any, arguments: list[str], message: str
) -> None:
    Path("file").write_text("")
    assert export.main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"gclbench export: {message}")


def test_without_pyarrow_it_is_said_what_to_install(
    here: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert export.main(["--output", "a.parquet"]) == 2
    expected = (
        "gclbench export: Parquet needs pyarrow, which is not installed: pip install"
        " 'gclbench[parquet]'\n"
    )
    assert capsys.readouterr().err == expected and not Path("a.parquet").exists()
