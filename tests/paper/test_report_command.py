"""What `gclbench report` writes and says: without records, with damaged ones, wrong commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from report_reading import Reading

from gclbench.cli import main
from gclbench.paper.report import drawings
from gclbench.records import Record, Store

Make = Callable[..., Record]


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes most of the time."""
    monkeypatch.setattr(drawings, "FIGURES", {})


def test_no_records_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == 0
    assert re.fullmatch(r"wrote report.html \(0\.\d MB\): 0 records\n", capsys.readouterr().out)
    document = (tmp_path / "report.html").read_text(encoding="utf-8")
    reading = Reading(document)
    assert (
        "There is no record yet" in document
        and "gclbench method=dmat_i dataset=cora seeds=10" in document
    )
    assert "91.60 ± 0.70" in document, "the papers' numbers are there"
    assert "cells" not in reading.ids and not reading.all("article")


def test_damaged_records_are_named_at_the_top(
    record: Make,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Store(tmp_path / "runs")
    store.write(record())
    broken = tmp_path / "runs" / "feed" / "record.json"
    broken.parent.mkdir()
    broken.write_text('{"id": "feed"', encoding="utf-8")
    output = tmp_path / "deep" / "report.html"
    assert main(["report", "--runs", str(tmp_path / "runs"), "--output", str(output)]) == 0
    capsys.readouterr()
    header = output.read_text(encoding="utf-8").partition("<header>")[2].partition("<main>")[0]
    assert "1 warning while the records were read" in header and str(broken) in header
    assert any(str(broken) in message for message in caplog.messages)


def test_wrong_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--runs", "nowhere"]) == 2
    assert "there is no folder 'nowhere'" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["report", "--output", "file/report.html"]) == 2
    assert "cannot write file/report.html" in capsys.readouterr().err
    (tmp_path / "folder").mkdir()
    assert main(["report", "--output", "folder"]) == 2
    assert "cannot write folder" in capsys.readouterr().err
