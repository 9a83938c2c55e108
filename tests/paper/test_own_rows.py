"""A user's method as a row of a paper's table: paired with the others, fairly, in every format."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
from scipy.stats import ttest_rel

from gclbench.cli import table
from gclbench.component.registry import UnknownName
from gclbench.config.overrides import ConfigErrors
from gclbench.paper.filling import fill
from gclbench.paper.missing import missing
from gclbench.paper.render import as_csv, html, latex, markdown
from gclbench.paper.report import page
from gclbench.paper.sources import Collection
from gclbench.records import Store

GRACE = [0.70, 0.72, 0.71, 0.74, 0.69]
OWN = [0.80, 0.83, 0.80, 0.85, 0.78]


def runs(record, values, method: str = "grace", split: str = "s", seeds=None, **settings) -> list:
    return [
        replace(
            record(
                method=method,
                task="classification",
                task_settings={"protocol": "public"},
                seed=seed,
                metrics={"accuracy": value},
                **settings,
            ),
            split={"hash": f"{split}{seed}"},
        )
        for seed, value in zip(seeds or range(len(values)), values, strict=True)
    ]


@pytest.fixture
def own(register_method, record):
    """Runs of a method of another package, as a function of their values."""

    @dataclass(frozen=True)
    class Mine:
        version: ClassVar[str] = "1"
        needs_labels: ClassVar[bool] = False
        dimension: int = 8

    register_method("mine", Mine)

    def make(values, **settings):
        return runs(record, values, "mine", **{"dimension": 8, **settings})

    return make


def filled(records, *added: str, **chosen: Any):
    (comparison,) = fill("nml/1", lambda: Collection(tuple(records)), added or ("mine",), **chosen)
    return comparison


def rival(comparison, column: str = "grace", dataset: str = "cora"):
    (found,) = (
        each for each in comparison.rivals if (each.dataset, each.column) == (dataset, column)
    )
    return found.settled


def test_it_is_paired_with_every_other_column(record, own) -> None:
    others = runs(record, [0.79, 0.82, 0.80, 0.84, 0.79], "dgi")
    comparison = filled([*own(OWN), *runs(record, GRACE), *others])
    found = rival(comparison)
    assert found.difference == pytest.approx(sum(OWN) / 5 - sum(GRACE) / 5)
    assert (found.n, found.verdict) == (5, "above")
    plain = [ttest_rel(OWN, GRACE).pvalue, ttest_rel(OWN, [0.79, 0.82, 0.80, 0.84, 0.79]).pvalue]
    assert found.p_value == pytest.approx(2 * min(plain)) and comparison.rival_tests == 2
    assert {each.column for each in comparison.rivals} == {"grace", "dgi"}
    (entry,) = (each for each in comparison.entries if each.ours.values and each.method == "mine")
    assert entry.faithful and entry.printed is None
    assert entry.command == "gclbench sweep table=nml/1 dataset=cora --with mine"


def test_every_format_has_the_row_and_its_differences(record, own) -> None:
    collection = Collection((*own(OWN), *runs(record, GRACE)))
    (comparison,) = fill("nml/1", lambda: collection, ["mine"], ["cora"])
    shown = "+10.00 (5) ▲"
    assert "| mine | 81.20 ± 2.77 (5) |" in markdown(comparison).replace("**", "")
    assert f"| grace | {shown} |" in markdown(comparison)
    assert f"<td>{shown}</td>" in html(comparison)
    assert r"grace & +10.00 (5) $\blacktriangle$ \\" in latex(comparison)
    rows = list(csv.DictReader(io.StringIO(as_csv(comparison))))
    (grace,) = (row for row in rows if row["column"] == "grace")
    assert (grace["difference of mine"], grace["seeds of mine"]) == ("0.100000", "5")
    assert grace["verdict of mine"] == "above" and float(grace["p_holm of mine"]) < 0.05
    report = page(collection, ["mine"])
    assert "mine minus the other columns: accuracy" in report and shown in report
    assert 'id="cell-nml-1-cora-mine"' in report
    # Without it the table is what it was.
    assert "mine" not in as_csv(fill("nml/1", lambda: collection, (), ["cora"])[0])


def test_settings_make_a_row_of_their_own(record) -> None:
    changed = runs(record, OWN, tau=0.9)
    comparison = filled([*runs(record, GRACE), *changed], "grace method.tau=0.9")
    block = comparison.blocks[0].entries
    mine = block["accuracy", "grace method.tau=0.9"]
    assert list(mine.ours.values.values()) == OWN and mine.faithful
    assert list(block["accuracy", "grace"].ours.values.values()) == GRACE
    # What stands in a row is not said to be left out.
    assert not any("other settings are not shown" in note for note in comparison.notes)
    only = filled(changed, "grace method.tau=0.9").blocks[0].entries["accuracy", "grace"]
    assert only.records == ()


def test_runs_at_other_settings_than_asked_are_told(record, own) -> None:
    comparison = filled([*own(OWN, dimension=3), *runs(record, GRACE)])
    assert not comparison.blocks[0].entries["accuracy", "mine"].faithful
    assert comparison.rivals == ()
    said = "cora: mine was not run at the asked settings: method.dimension=3 (asked: 8)."
    assert said in comparison.notes


def test_a_column_at_other_settings_than_the_papers_is_no_rival(record, own) -> None:
    comparison = filled([*own(OWN), *runs(record, GRACE[:3], epochs=3)])
    grace = comparison.blocks[0].entries["accuracy", "grace"]
    assert grace.ours.n == 3 and not grace.faithful
    assert comparison.rivals == () and not any("other seeds" in note for note in comparison.notes)


def test_other_seeds_are_told_and_only_common_ones_paired(record, own) -> None:
    comparison = filled([*own(OWN[:3]), *runs(record, GRACE)])
    assert rival(comparison).n == 3
    assert (
        "cora: mine has seeds=3, and others have other seeds (grace: seeds=5): a pair is compared"
        " over the seeds that both have."
    ) in comparison.notes
    assert any(
        note.startswith("pubmed: mine has no runs; `gclbench table") for note in comparison.notes
    )


def test_two_rows_are_compared_once_and_one_does_not_turn_the_other_away(record, own) -> None:
    """A row of other splits than the table's loses its rank; the other keeps it."""
    changed = runs(record, OWN, tau=0.9, split="t")
    comparison = filled([*own(OWN), *changed, *runs(record, GRACE)], "mine", "grace method.tau=0.9")
    pairs = [(each.own, each.column) for each in comparison.rivals]
    assert pairs == [
        ("mine", "grace"),
        ("mine", "grace method.tau=0.9"),
        ("grace method.tau=0.9", "grace"),
    ]
    assert [each.settled.n for each in comparison.rivals] == [5, 0, 0]
    assert comparison.rival_tests == 1
    block = comparison.blocks[0].entries
    assert block["accuracy", "mine"].faithful and block["accuracy", "mine"].rank == 1
    assert not block["accuracy", "grace method.tau=0.9"].faithful
    # Where nothing else tells which splits are the table's, neither has a rank.
    alone = filled([*own(OWN), *changed], "mine", "grace method.tau=0.9").blocks[0].entries
    assert not any(each.faithful for each in alone.values() if each.records)


@pytest.mark.parametrize("unlike", ["split", "graph"])
def test_other_splits_and_graphs_are_told_and_not_paired(record, own, unlike: str) -> None:
    mine = own(OWN, split="t") if unlike == "split" else own(OWN)
    if unlike == "graph":
        mine = [replace(each, spec={**each.spec, "dataset_hash": "e" * 64}) for each in mine]
    comparison = filled([*mine, *runs(record, GRACE)])
    assert (rival(comparison).n, rival(comparison).verdict) == (0, "not run")
    said = f"cora: mine has another {unlike} than grace at seeds=5: these runs are not paired."
    assert said in comparison.notes
    entry = comparison.blocks[0].entries["accuracy", "mine"]
    assert entry.rank is None and not entry.faithful


def test_what_is_missing_is_the_row(record, own) -> None:
    collection = Collection((*own(OWN), *runs(record, GRACE)))
    (comparison,) = fill("nml/1", lambda: collection, ["mine"], planned=True)
    assert missing(comparison) == [
        "gclbench sweep table=nml/1"
        " dataset=citeseer,pubmed,amazon_photo,amazon_computers,wiki_cs --with mine",
        "gclbench sweep table=nml/1 dataset=cora seeds=5-9 --with mine",
    ]


@pytest.mark.parametrize(
    "added,kind,text",
    [
        ("grce", UnknownName, "there is no method 'grce'. Did you mean 'grace'?"),
        ("grace", ValueError, "'grace' is in table nml/1 already, as grace; add it at other"),
        ("grace method.tauu=1", ConfigErrors, "'method.tauu' does not exist. Did you mean"),
        ("grace dataset=cora", ConfigErrors, "'dataset' is no part of 'grace dataset=cora': a row"),
        ("grace threads=1", ConfigErrors, "'threads' is no part of 'grace threads=1': a row"),
        (
            "grace precision=fast launcher.workers=2",
            ConfigErrors,
            "'precision' is no part of 'grace precision=fast launcher.workers=2'",
        ),
        ("grace 'x", ValueError, "'grace 'x' cannot be read"),
        (
            "dmat",
            ValueError,
            "'dmat' has no runs of table nml/1. `gclbench sweep table=nml/1 --with dmat` makes",
        ),
        (
            "infograph",
            ValueError,
            "'infograph' embeds graphs, and table nml/1 is about nodes; `gclbench list methods`",
        ),
        (
            "grace method.tau=0.5",
            ValueError,
            "'grace method.tau=0.5' has no runs of table nml/1. Recorded runs of grace have:",
        ),
    ],
)
def test_a_row_that_cannot_be_added(record, added: str, kind: type, text: str) -> None:
    with pytest.raises(kind) as found:
        filled(runs(record, GRACE), added)
    assert str(found.value).startswith(text), found.value


def test_tables_that_take_no_row(record) -> None:
    for name in ("own", "matrix"):
        with pytest.raises(ValueError, match=f"{name} is of no paper"):
            fill(name, lambda: Collection(tuple(runs(record, GRACE))), ["dgi"])
    with pytest.raises(ValueError, match="table dmat/7 compares no methods"):
        fill("dmat/7", lambda: Collection(), ["dgi"])


def test_the_command_says_what_is_wrong(record, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    for each in runs(record, GRACE):
        Store("runs").write(each)
    assert table.main(["nml/1", "--with", "grce"]) == 2
    assert capsys.readouterr().err.startswith("gclbench table: there is no method 'grce'. Did you")
    assert table.main(["nml/1", "--with", "dgi method.epochs=1", "--missing"]) == 0
    assert capsys.readouterr().out == "gclbench sweep table=nml/1 --with 'dgi method.epochs=1'\n"
