"""Methods of another package in tables: what counts as the paper's settings, controls, commands."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import pytest

from gclbench.cli import table
from gclbench.component.declared import admits, declared, marked
from gclbench.component.registry import DATASETS, KINDS, METHODS, Entry
from gclbench.component.settings import Count, Machine, Positive, Range, SameIdAtDefault
from gclbench.paper import run_words
from gclbench.paper.advice import another
from gclbench.paper.columns import Column, is_
from gclbench.paper.comparison import compare
from gclbench.paper.config_defaults import can_be_untrained, shipped_settings, unnamed_settings
from gclbench.paper.deciding import undecided
from gclbench.paper.filled_table import Block
from gclbench.paper.filling import fill
from gclbench.paper.gains import CONTROLS, commands, never_untrained
from gclbench.paper.head_to_head import NothingToCompare, head_to_head
from gclbench.paper.own_tables import missing_runs
from gclbench.paper.reference import PrintedValue
from gclbench.paper.sources import Collection
from gclbench.paper.table_definition import Definition
from gclbench.paper.verdict import NOT_COMPARABLE, judged
from gclbench.records import Record, Store, id_of


@dataclass(frozen=True)
class Loose:
    """It takes an untrained encoder."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    paper: ClassVar[Mapping[str, Mapping[str, Any]]] = {"cora": {"width": 32}}

    epochs: Annotated[int, Range(least=0)] = 5
    lr: Positive = 0.01
    width: Count = 16
    later: Annotated[bool, SameIdAtDefault()] = False
    cores: Annotated[int, Machine()] = 1

    def fit(self, graph, labels, rng, watch):
        raise NotImplementedError


@dataclass(frozen=True)
class Strict(Loose):
    """It takes none."""

    epochs: Count = 5


SETTINGS = {"epochs": 5, "lr": 0.01, "width": 16}
MINE = Definition(
    paper="mine",
    number="1",
    title="clusters",
    task="clustering",
    datasets=("digits", "sbm"),
    metrics=("acc",),
    columns=tuple(Column(name, (is_("method.name", name),), name) for name in ("loose", "strict")),
)


@pytest.fixture(autouse=True)
def package(monkeypatch) -> None:
    """`outside.methods` is another package's module, in a folder as modules usually are."""
    monkeypatch.setitem(sys.modules, "outside.methods", sys.modules[__name__])
    for cls in (Loose, Strict):
        name = cls.__name__.lower()
        entry = Entry(name, "from mine 1.0", f"outside.methods:{cls.__name__}", "mine 1.0", False)
        monkeypatch.setitem(METHODS.entries, name, entry)


DIGITS = {"name": "digits", "neighbours": 10}
SBM = {"name": "sbm", **declared(DATASETS, "sbm").defaults}


def runs(record, method: str, dataset: Any = DIGITS, values=(0.5, 0.6, 0.55), **settings):
    given = {**SETTINGS, **settings}
    return [
        record(method=method, dataset=dataset, seed=seed, metrics={"acc": value}, **given)
        for seed, value in enumerate(values)
    ]


def test_what_a_class_says_is_shipped_and_marks_and_bounds_are_read_from_it() -> None:
    names = {"method.name": "loose", "dataset.name": "cora", "filter.name": "none"}
    shipped = shipped_settings(names)
    assert {key: shipped[f"method.{key}"] for key in SETTINGS} == {**SETTINGS, "width": 32}
    assert unnamed_settings(names) >= {"method.later", "method.cores"}
    assert marked(METHODS, "loose", Machine) == {"cores"}
    assert admits(METHODS, "loose", "width", 1) and not admits(METHODS, "loose", "width", 0)
    assert not admits(METHODS, "loose", "depth", 1)
    assert can_be_untrained("loose") and not can_be_untrained("strict")


def test_which_of_our_methods_can_be_left_untrained_is_read_without_importing_them() -> None:
    ours = [name for name, entry in METHODS.entries.items() if entry.builtin]
    refusing = [
        name
        for name in ours
        if admits(METHODS, name, "epochs", 1) and not admits(METHODS, name, "epochs", 0)
    ]
    assert refusing == ["deepwalk", "graph2vec"]
    assert not can_be_untrained("kmeans") and not can_be_untrained("nobody's")


def test_a_method_that_cannot_be_imported_has_no_shipped_settings(monkeypatch) -> None:
    entry = Entry("gone", "from mine 1.0", "no_such_module:Gone", "mine 1.0", False)
    monkeypatch.setitem(METHODS.entries, "gone", entry)
    assert shipped_settings({"method.name": "gone", "dataset.name": "cora"}) == {}
    assert not can_be_untrained("gone")


@pytest.mark.parametrize("kind", [*KINDS])
def test_records_of_what_cannot_be_imported_are_shown(
    kind: str, record, monkeypatch, tmp_path
) -> None:
    (tmp_path / "broken_package.py").write_text(
        "from pathlib import Path\n\n"
        'with Path(__file__).with_name("imports.txt").open("a") as file:\n'
        '    file.write("x")\n'
        'raise RuntimeError("no such library")\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    entry = Entry("gone", "from mine 1.0", "broken_package:Gone", "mine 1.0", False)
    monkeypatch.setitem(KINDS[kind].entries, "gone", entry)
    named = {"method": "grace", "dataset": DIGITS, kind: "gone"}
    gone = [record(seed=seed, metrics={"acc": 0.5}, **named) for seed in range(3)]
    # Of another setting, which only the class would tell from the usual one.
    gone += [replace_setting(each, "method", "tau", 0.1) for each in gone]
    there = Collection((*gone, *runs(record, "loose")))
    filled = fill("own", lambda: there)
    shown = [each for own in filled for each in own.entries if each.records]
    assert sum(each.ours.n for each in shown) == 9
    for own in filled:
        missing_runs(own, 5)
        commands(own.entries, own.definition.typed_dataset)
        assert not any("method.name=" in each.column for each in own.entries)
    with pytest.raises(NothingToCompare):
        head_to_head(("grace", "dgi"), there)
    assert (tmp_path / "imports.txt").read_text() == "x", "imported once"


def replace_setting(run: Record, kind: str, setting: str, value: Any) -> Record:
    """The record with another setting."""
    spec = {**run.spec, kind: {**run.spec[kind], setting: value}}
    return replace(run, id=id_of(spec), spec=spec)


def test_runs_at_other_settings_than_the_sweep_s_are_not_the_paper_s(record) -> None:
    there = [
        *runs(record, "loose"),
        *runs(record, "loose", width=8),
        *runs(record, "loose", {**SBM, "nodes": 60}),
    ]
    filled = compare(MINE, Collection(tuple(there)))
    cells = {(entry.dataset, entry.column): entry for entry in filled.entries}
    assert cells["digits", "loose"].ours.n == 3 and cells["digits", "loose"].faithful
    assert not cells["sbm", "loose"].faithful
    assert (
        "digits: runs of loose at other settings are not shown: 3 with method.width=8"
        " (shipped: 16)." in filled.notes
    )
    (said,) = [note for note in filled.notes if note.startswith("sbm: loose")]
    assert said == (
        "sbm: loose was not run at the paper's settings: dataset.nodes=60 (shipped: 1000)."
    )


def test_no_seeds_are_offered_for_runs_that_the_sweep_does_not_make(record) -> None:
    printed = compare(MINE, Collection(tuple(runs(record, "loose", width=8))))
    value = PrintedValue(
        *("mine", "1", "clustering", "digits", "loose", "", "acc", None),
        *(0.55, 0.01, "percent", 5, "", False, "55.0"),
    )
    (entry,) = [each for each in printed.entries if each.records]
    (entry,), tests = judged([replace(entry, printed=value)])
    assert (entry.verdict, tests) == (NOT_COMPARABLE, 0)
    block = Block("digits", (entry.column,), {("acc", entry.column): entry})
    assert undecided(replace(printed, blocks=(block,))) == ["# no cell is undetermined"]


def test_an_untrained_control_has_the_run_s_own_settings(record) -> None:
    there = Collection((*runs(record, "loose", width=8), *runs(record, "strict", width=8)))
    (own,) = fill("own", lambda: there)
    (first, *_) = commands(own.entries, own.definition.typed_dataset)
    assert first == (
        "gclbench method=loose method.epochs=0 method.width=8 task=clustering dataset=digits"
        " seeds=3"
    )
    assert missing_runs(own, 4) == [
        f"gclbench method={name} method.width=8 dataset=digits task=clustering 'seeds=[3]'"
        for name in ("loose", "strict")
    ]
    flat = {"method.name": "loose", "dataset.name": "cora", "method.width": 16}
    assert run_words.of_method(flat) == ["method=loose", "method.width=16"]


def test_a_control_that_no_run_can_be_is_not_asked_for(
    record, tmp_path, monkeypatch, capsys
) -> None:
    there = [*runs(record, "loose"), *runs(record, "strict")]
    (own,) = fill("own", lambda: Collection(tuple(there)))
    gains = {entry.column: {gain.control for gain in entry.gains} for entry in own.entries}
    assert gains == {"loose": {*CONTROLS}, "strict": {*CONTROLS[1:]}}
    said = "# There is no untrained control of strict, which takes no method.epochs=0."
    assert never_untrained(own.entries) == [said]
    store = Store(tmp_path / "runs")
    for each in there:
        store.write(each)
    monkeypatch.chdir(tmp_path)
    assert table.main(["own", "--missing"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "epochs" in line] == [
        "gclbench method=loose method.epochs=0 task=clustering dataset=digits seeds=3",
        said,
    ]


def test_compare_proposes_no_untrained_side_that_is_refused() -> None:
    assert another(("method=loose",), "digits") == "method=loose method.epochs=0"
    assert another(("method=strict",), "digits") == "kmeans"
