"""Rows below print that no note tells of."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclbench.paper.comparison import compare
from gclbench.paper.filled_table import Comparison
from gclbench.paper.misses import LISTS, MissList, unlisted, untold
from gclbench.paper.sources import Collection
from gclbench.paper.tables import find_table


@pytest.fixture
def tables(record) -> list[Comparison]:
    """Clusters of DMAT-i on cora below print in ARI and macro-F1, at print in the others."""
    runs = [
        record(
            seed=seed,
            metrics={
                "acc": 0.7057 + 0.001 * seed,
                "nmi": 0.5359 + 0.001 * seed,
                "ari": 0.20 + 0.001 * seed,
                "macro_f1": 0.60 + 0.001 * seed,
            },
        )
        for seed in range(3)
    ]
    return [compare(find_table("dmat/1"), Collection(tuple(runs)))]


def test_a_row_below_print_is_to_be_quoted(tables) -> None:
    (text,) = untold(tables, [])
    assert text == (
        "no note tells of dmat/1; cora; dmat_i, which is below print in ari,"
        " macro_f1: say what was tried, with a reference to the cell"
    )


@pytest.mark.parametrize(
    "reference",
    [
        "dmat/1; cora; dmat_i; ari",
        "dmat/1; cora;  dmat_i ; acc; printed",
        "dmat/1; cora; dmat_i; macro_f1; verdict",
    ],
)
def test_a_number_of_the_row_tells_of_it(tables, reference) -> None:
    assert untold(tables, ["dmat/1; cora; agc; acc", reference]) == []


@pytest.mark.parametrize(
    "reference",
    [
        "dmat/1; cora; agc; ari",
        "dmat/1; acm; dmat_i; ari",
        "dmat/3; cora; dmat_i; ap",
        "dmat/1; cora; dmat_i; ari minus kmeans; ±",
        "runs; method.name=dmat_i dataset.name=cora; ari",
        "dmat/1; cora",
    ],
)
def test_other_references_do_not(tables, reference) -> None:
    assert len(untold(tables, [reference])) == 1


def test_a_number_that_is_printed_twice_is_told_once(record) -> None:
    runs = [
        record(
            seed=seed,
            method="mvgrl",
            filter="none",
            method_settings={"objective": "summary"},
            task="classification",
            task_settings={"protocol": "public"},
            metrics={"accuracy": 0.6 + 0.001 * seed},
        )
        for seed in range(3)
    ]
    iclr = compare(find_table("mmix_iclr/1"), Collection(tuple(runs)))
    assert any(entry.verdict == "below" for entry in iclr.entries), "it repeats mmix's numbers"
    assert untold([iclr], []) == []
    names = ("mmix/2", "mmix/9", "nml/1")
    found = [compare(find_table(name), Collection(tuple(runs))) for name in names]
    assert [text.split(";")[0].split()[-1] for text in untold(found, [])] == [*names]
    # Tables 2 and 9 print one number; NML-GCL's paper another.
    (left,) = untold(found, ["mmix/2; cora; mvgrl; accuracy"])
    assert "nml/1; cora; mvgrl" in left


PAGE = Path("results/some.md")


@pytest.fixture
def lists(monkeypatch) -> None:
    one = MissList(PAGE, "## Every miss", ("dmat/1",), ("below", "above"))
    monkeypatch.setattr("gclbench.paper.misses.LISTS", (one,))


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("# Notes\n\n## Every miss\n\n20.1<!-- dmat/1; cora; dmat_i; ari -->\n", False),
        # What other sections quote is not in the list, nor is what is quoted of other rows.
        (
            "20.1<!-- dmat/1; cora; dmat_i; ari -->\n\n## Every miss\n\nNone.\n"
            "\n### More\n\n20.1<!-- dmat/1; cora; dmat_i; ari -->\n",
            True,
        ),
        ("\n## Every miss\n\n20.1<!-- dmat/1; acm; dmat_i; ari -->\n", True),
    ],
)
def test_a_list_of_every_miss_has_to_name_it(tables, lists, text, lacks) -> None:
    told = "results/some.md: 'Every miss' lacks dmat/1; cora; dmat_i, which is below print in"
    found = unlisted(tables, {PAGE: text})
    assert [each.startswith(told) for each in found] == [True] * lacks


def test_a_list_that_is_gone_is_said(tables, lists) -> None:
    (told,) = unlisted(tables, {PAGE: "# Notes\n"})
    assert told == "results/some.md has no '## Every miss', which lists the misses"


def test_a_list_names_its_own_verdicts(record, lists) -> None:
    runs = [record(seed=seed, metrics={"acc": 0.9 + 0.001 * seed}) for seed in range(3)]
    filled = [compare(find_table("dmat/1"), Collection(tuple(runs)))]
    assert untold(filled, []) == []
    (told,) = unlisted(filled, {PAGE: "\n## Every miss\n"})
    assert told.endswith("lacks dmat/1; cora; dmat_i, which is above print in acc")


def test_the_lists_are_there() -> None:
    root = Path(__file__).resolve().parents[2]
    for one in LISTS:
        assert f"\n{one.heading}\n" in (root / one.page).read_text(encoding="utf-8")
        assert all(find_table(name) for name in one.tables)
