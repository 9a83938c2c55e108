"""`gclbench figure curve`: loss curves of a user's own runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gclbench.cli import main
from gclbench.paper.training_curves import curves
from gclbench.records import Record, Store

SPEC = {
    "dataset": {"name": "cora"},
    "filter": {"name": "none"},
    "method": {"name": "grace", "lr": 0.1, "tau": 0.4},
    "negatives": {"name": "uniform"},
    "task": {"name": "clustering"},
    "versions": {},
}
"""Without a dataset's hash, so that ids can be what a test likes."""


def record(name: str, curve: list[list[float]], seed: int = 0, **settings: object) -> Record:
    spec = {**SPEC, "seed": seed, "method": {**SPEC["method"], **settings}}
    return Record(name, spec, "ok", fit={"curve": curve})


@pytest.fixture
def store() -> Store:
    """Two seeds of one setting, another setting, and a run that trained nothing."""
    found = Store("runs")
    found.write(record("aa01", [[1, 4.0], [2, 2.0], [3, 1.0]]))
    found.write(record("aa02", [[1, 2.0], [3, 3.0]], seed=1))
    found.write(record("bb01", [[1, 1.0], [2, -1.0]], lr=0.5))
    found.write(record("cc01", []))
    return found


def test_seeds_are_one_line_and_settings_are_told_apart(store: Store) -> None:
    lines = curves([record for record in store.scan() if record.id != "cc01"])
    assert [line.label for line in lines] == [
        "grace · cora lr=0.1 (2 seeds)",
        "grace · cora lr=0.5 (seed 0)",
    ]
    assert (lines[0].x, lines[0].y) == ((1.0, 3.0), (3.0, 2.0)), "means where both have a loss"
    assert (lines[1].x, lines[1].y) == ((1.0, 2.0), (1.0, -1.0))


def test_what_trains_otherwise_is_another_line() -> None:
    """Another version of the method; a task that hides edges from the training."""
    falls, rises = [[1, 2.0], [2, 1.0]], [[1, 1.0], [2, 2.0]]
    first, other = record("aa", falls), record("bb", rises)
    newer = replace(other, spec={**other.spec, "versions": {"method": "2", "task": "5"}})
    assert [line.y for line in curves([first, newer])] == [(2.0, 1.0), (1.0, 2.0)]
    assert curves([first, newer])[1].label == "grace · cora versions.method=2 (seed 0)"
    hidden = replace(other, spec={**other.spec, "task": {"name": "link_prediction"}})
    found = curves([first, hidden])
    assert [(line.label, line.y) for line in found] == [
        ("grace · cora clustering (seed 0)", (2.0, 1.0)),
        ("grace · cora link_prediction (seed 0)", (1.0, 2.0)),
    ]
    shared = replace(first, spec={**first.spec, "task": {"name": "classification"}})
    assert [line.label for line in curves([first, shared])] == ["grace · cora (seed 0)"]
    assert [line.y for line in curves([first, hidden, shared])] == [(2.0, 1.0), (1.0, 2.0)]
    elsewhere = replace(hidden, spec={**hidden.spec, "seed": 1})
    assert len(curves([first, elsewhere])) == 2, "no seed tells that they share a training"


@pytest.mark.parametrize("name", ["curve.svg", "loss.png"])
def test_a_figure_is_drawn(store: Store, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [] if name == "curve.svg" else ["--output", name]
    assert main(["figure", "curve", "aa01", "aa02", "bb", *words]) == 0
    assert capsys.readouterr().out == f"wrote {name}: 3 runs in 2 lines\n"
    content = Path(name).read_bytes()
    if name.endswith("svg"):
        assert re.search(rb"grace . *cora lr=0.5|lr=0\.5", content)
    else:
        assert content.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("dd",), "no recorded run starts with 'dd'"),
        (("aa",), "2 runs start with 'aa'"),
        (("cc01",), "run cc01 (grace · cora) has no loss curve"),
        (("bb01", "--log"), "a loss that is not positive has no logarithm"),
        (("aa01", "--output", "x.pdf"), "written as .svg or .png, not 'x.pdf'"),
        (
            ("aa01", "--output", "runs/aa01/record.json/x.svg"),
            "cannot write runs/aa01/record.json/",
        ),
        (("aa01", "--runs", "nowhere"), "nowhere"),
    ],
)
def test_what_has_no_curve_is_told(
    store: Store, words: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["figure", "curve", *words]) == 2
    assert text in capsys.readouterr().err
