"""Printed values of another package's paper that cannot be read, or are odd: named, left out."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gclbench.paper import reference
from gclbench.paper.columns import Column, is_
from gclbench.paper.discovery import faults, papers
from gclbench.paper.printed_file import HEADER, UnreadableFile, filed
from gclbench.paper.publication import Paper
from gclbench.paper.table_definition import Definition

LINE = "1,node clustering,Cora,KMeans,ACC,40.0,1.5,"
PAPER = Paper(
    name="mine",
    title="My paper",
    tables=(
        Definition(
            paper="mine",
            number="1",
            title="",
            task="clustering",
            datasets=("cora", "acm"),
            metrics=("acc", "nmi"),
            columns=(
                Column("kmeans", (is_("method.name", "kmeans"),), "kmeans"),
                Column("grace", (is_("method.name", "grace"),), "grace"),
            ),
            not_built={"MoNet": "it is not here"},
        ),
    ),
    not_built={"mine/3": "it has images"},
)


@dataclass
class Point:
    """An entry point that gives a paper."""

    paper: Paper
    name: str = "mine"
    value: str = "my_package"
    dist: Any = None

    def load(self) -> Paper:
        return self.paper


@pytest.fixture
def read(points, tmp_path: Path):
    """What is read of a file's text, or of rows: the values and the faults, without `paper 'mine'`
    and the file's folder."""

    def found(values: Any) -> tuple[list[tuple[str, str, str]], list[str]]:
        path = tmp_path / "printed.csv"
        if isinstance(values, bytes):
            path.write_bytes(values)
            values = path
        points.append(Point(replace(PAPER, values=values)))
        there = [value for value in reference.printed_values() if value.paper == "mine"]
        told = [*faults(), *reference.row_faults().get("mine", ())]
        beginnings = ("paper 'mine' of my_package: ", "paper 'mine': ", f"{tmp_path}/")
        for beginning in beginnings:
            told = [text.removeprefix(beginning) for text in told]
        return [(value.dataset, value.method, value.text) for value in there], told

    return found


def lines(*rows: str) -> bytes:
    return "\n".join([HEADER, *rows, ""]).encode()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            b"",
            "printed.csv, line 1: there is no column table, task, dataset, method, metric, mean;"
            " there is nothing. The first line is table,task,dataset,method,metric,mean,std,note",
        ),
        (
            HEADER.replace("mean", "average").encode(),
            "printed.csv, line 1: there is no column mean; there is table, task, dataset, method,"
            " metric, average, std, note. The first line is " + HEADER,
        ),
        (
            HEADER.replace(",", ";").encode(),
            "printed.csv, line 1: there is no column table, task, dataset, method, metric, mean;"
            f" there is {HEADER.replace(',', ';')}. Its cells must be separated by commas. The"
            f" first line is {HEADER}",
        ),
        (
            lines(LINE, LINE.replace("KMeans", "Mé")).decode().encode("latin-1"),
            "printed.csv, line 3: it is no UTF-8; save it as UTF-8",
        ),
    ],
)
def test_a_file_that_cannot_be_read_leaves_its_paper_out(read, content, text, caplog) -> None:
    values, told = read(content)
    assert (values, told) == ([], [text]) and "mine" not in papers()
    (warning,) = caplog.messages
    assert warning.startswith("paper 'mine' of my_package: /")
    assert warning.endswith(f"{text}; the paper is left out")


def test_what_is_no_file_and_no_rows(read, tmp_path: Path) -> None:
    _, told = read(tmp_path / "nowhere.csv")
    assert told == [
        "nowhere.csv cannot be read: No such file or directory; correct `values` of the paper, or"
        " install the file with its package (package-data in pyproject.toml)"
    ]
    with pytest.raises(UnreadableFile, match="neither a file nor mappings; write values=Path"):
        filed("printed.csv")  # type: ignore[arg-type]


def test_a_file_of_a_spreadsheet_is_read(read) -> None:
    """With a byte-order mark, ends of lines of Windows, empty lines and quoted cells."""
    quoted = LINE.replace("KMeans", '"KMeans"')
    content = b"\xef\xbb\xbf" + lines(quoted, "", ",,,,,,,", " , ,").replace(b"\n", b"\r\n")
    assert read(content) == ([("cora", "kmeans", "40.0")], [])


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (
            LINE.replace("Cora", "Corra"),
            "no dataset 'Corra' (read as corra) is in table mine/1; it has cora, acm. Did you mean"
            " 'cora'? A name of print that is another one here goes into `datasets` of the paper",
        ),
        (
            LINE.replace("KMeans", "KMean"),
            "no method 'KMean' (read as kmean) is in table mine/1; it has kmeans, grace. Did you"
            " mean 'kmeans'? A name of print that is another one here goes into `methods` of the"
            " paper. A row that is not built goes into `not_built` of the table",
        ),
        (
            LINE.replace("ACC", "AC"),
            "no metric 'AC' (read as ac) is in table mine/1; it has acc, nmi. Did you mean 'acc'?"
            " A name of print that is another one here goes into `metrics` of the paper",
        ),
        (
            LINE.replace("clustering", "clusters"),
            "no task 'node clusters' (read as node_clusters) is in table mine/1; it has"
            " clustering. Did you mean 'clustering'? A name of print that is another one here goes"
            " into `tasks` of the paper",
        ),
        ("2" + LINE[1:], "there is no table '2' of the paper; it has 1"),
        (LINE[1:], "there is no table '' of the paper; it has 1"),
        (
            LINE[1:].replace("40.0", "forty"),
            "mean 'forty' is no number; write one, such as 40.0, or leave it empty and say why in"
            " the column note",
        ),
        (
            LINE.replace("40.0", "400"),
            "mean 400 of acc is more than 100 %; correct it: fractions are written in percent;"
            " 'printed as a fraction' or 'not a percentage' in the column note says otherwise",
        ),
        (
            LINE.replace("40.0", "0.4").replace("1.5", "0.015"),
            "mean 0.4 of acc is less than 1 %; correct it: fractions are written in percent;"
            " 'printed as a fraction' or 'not a percentage' in the column note says otherwise",
        ),
        (
            LINE.replace("40.0", "nan"),
            "mean 'nan' is no number; write one, such as 40.0, or leave it empty and say why in"
            " the column note",
        ),
        (
            LINE.replace("1.5", "-1.5"),
            "std -1.5 is negative, and a deviation is not; correct it",
        ),
        (
            LINE + "printed as a fraction",
            "mean 40.0 of acc is more than 1; correct it: fractions are written in percent;"
            " 'printed as a fraction' or 'not a percentage' in the column note says otherwise",
        ),
        (
            LINE.replace("Cora", "Cora, small"),
            'it has 9 cells, and the first line 8; quote a cell that holds a comma: "a, b"',
        ),
        ("1", 'it has 1 cell, and the first line 8; quote a cell that holds a comma: "a, b"'),
    ],
)
def test_an_odd_row_is_named_with_its_line_and_left_out(read, row: str, text: str, caplog) -> None:
    good = LINE.replace("ACC", "NMI")
    values, told = read(lines(good, row))
    assert values == [("cora", "kmeans", "40.0")]
    assert told == [f"printed.csv, line 3: {text}"]
    assert caplog.messages == ["1 row of paper 'mine' is left out; `gclbench doctor` names it"]


def test_a_cell_that_is_printed_twice_and_many_odd_rows(read, caplog) -> None:
    odd = [LINE.replace("Cora", f"Cora {number}") for number in range(4)]
    values, told = read(lines(LINE, LINE.replace("40.0", "41.0"), *odd))
    assert values == [("cora", "kmeans", "40.0")] and len(told) == 5
    assert told[0].startswith("printed.csv, line 3: it prints the cell of /")
    assert told[0].endswith("printed.csv, line 2 again; take one of the two out")
    assert caplog.messages == ["5 rows of paper 'mine' are left out; `gclbench doctor` names them"]


def test_what_is_not_built_or_not_printed_is_no_fault(read) -> None:
    rows = [
        LINE.replace("KMeans", "MoNet"),
        "3" + LINE[1:],
        LINE.replace("40.0,1.5,", ",,printed as missing"),
        LINE.replace("KMeans", "GRACE").replace("1.5", "–"),
    ]
    values, told = read(lines(*rows))
    assert told == [] and len(values) == 4


def test_rows_as_mappings_are_told_by_their_number(read) -> None:
    (row,) = csv.DictReader([HEADER, LINE])
    short = {key: text for key, text in row.items() if key != "mean"}
    values, told = read([row, short, {**row, "mean": 40.0}])
    assert values == [("cora", "kmeans", "40.0")]
    assert told == [
        f"its values, row 2: there is no mean; a row has {HEADER}",
        "its values, row 3: mean must be text, such as '97.5'",
    ]


def test_maps_that_do_not_fit_are_told(points) -> None:
    (row,) = csv.DictReader([HEADER, LINE])
    points.append(Point(replace(PAPER, values=[row], methods={"KMeans": "kmeans"})))  # type: ignore
    assert not [value for value in reference.printed_values() if value.paper == "mine"]
    (told,) = reference.row_faults()["mine"]
    assert told.startswith("paper 'mine': its values, row 1: the maps of the paper do not fit it: ")


def test_a_setting_that_the_paper_does_not_name(points) -> None:
    (row,) = csv.DictReader([HEADER, "8,settings,Cora,Mine,epoch,300,,"])
    page = replace(PAPER, settings_table="8", settings={"epochs": "method.epochs"})
    points.append(Point(replace(page, values=[row, {**row, "metric": "epochs"}])))
    assert reference.printed_settings("mine", "cora") == {"method.epochs": 300.0}
    assert reference.row_faults()["mine"] == [
        "paper 'mine': its values, row 1: 'epoch' is no setting that the paper names in"
        " `settings`; it names epochs. Did you mean 'epochs'?"
    ]


@pytest.mark.slow
def test_a_run_goes_on_and_doctor_names_what_is_odd(tmp_path: Path) -> None:
    site = tmp_path / "site"
    package = site / "other-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[gclbench.papers]\nmine = odd_paper\n")
    (site / "odd_paper.py").write_text(
        "from pathlib import Path\n\nfrom gclbench.paper.publication import Paper\n\n"
        'PAPER = Paper(name="mine", title="", values=Path(__file__).with_name("printed.csv"))\n'
    )
    paths = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "GCLBENCH_DATA": str(tmp_path / "cache")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-m", "gclbench", *words]
        return subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, env=environment)

    fault = f"{site / 'printed.csv'}, line 1: there is no column table"
    (site / "printed.csv").write_text("a,b\n")
    ran = run("method=kmeans", "dataset=digits", "task=clustering")
    assert ran.returncode == 0 and "digits" in ran.stdout and "Traceback" not in ran.stderr
    assert f"WARNING: paper 'mine' of other 1.0: {fault}" in ran.stderr
    doctor = run("doctor")
    assert doctor.returncode == 1 and not doctor.stderr
    assert f"paper           paper 'mine' of other 1.0: {fault}" in doctor.stdout
    (site / "printed.csv").write_text(f"{HEADER}\n{LINE.replace('40.0', 'forty')}\n")
    doctor = run("doctor")
    assert doctor.returncode == 1
    assert "printed.csv, line 2: mean 'forty' is no number" in doctor.stdout
