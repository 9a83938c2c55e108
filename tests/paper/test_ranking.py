"""Our own columns against each other."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from scipy import stats

from gclbench.paper.aggregate import Cell
from gclbench.paper.filled_table import Entry
from gclbench.paper.ranking import ranked
from gclbench.paper.significance import holm
from gclbench.records import Record

NOISE = (0.001, -0.002, 0.003, 0.0, -0.001, 0.002)


def entry(
    column: str,
    mean: float,
    spread: float = 1.0,
    seeds: int = 6,
    metric: str = "acc",
    dataset: str = "cora",
) -> Entry:
    turn = sum(map(ord, column)) % len(NOISE)
    values = {seed: mean + spread * NOISE[(seed + turn) % len(NOISE)] for seed in range(seeds)}
    return Entry(dataset, metric, column, Cell(values), None, heading=column)


def ranks(*entries: Entry) -> dict[str, int | None]:
    return {item.column: item.rank for item in ranked(entries)[0]}


@pytest.mark.parametrize(
    ("ours", "theirs", "pairs"),
    [
        ({0: 0.5}, {0: 0.6}, 0),
        ({0: 0.5, 1: 0.5}, {2: 0.6, 3: 0.6}, 0),
        ({0: 0.5, 1: 0.6}, {0: 0.5, 1: 0.6}, 1),  # a tie in every seed
        ({0: 0.5, 1: 0.5}, {0: 0.6, 1: 0.6}, 0),  # the same difference in every seed
        ({0: 0.1 + 0.2, 1: 0.3}, {0: 0.3, 1: 0.1 + 0.2}, 1),  # rounding is no difference
        ({0: 0.5, 1: 0.6}, {0: 0.4, 1: 0.3, 2: 0.9}, 1),
    ],
)
def test_what_can_be_paired(ours: dict[int, float], theirs: dict[int, float], pairs: int) -> None:
    row = [
        Entry("cora", "acc", name, Cell(values), None, heading=name)
        for name, values in (("a", ours), ("b", theirs))
    ]
    assert ranked(row)[1] == ranked(row[::-1])[1] == pairs


@pytest.mark.parametrize(("gap", "told"), [(0.0016, False), (0.0018, True)])
def test_a_pair_is_told_apart_at_five_percent_of_its_common_seeds(gap: float, told: bool) -> None:
    noise = (-0.003, -0.002, -0.001, 0.0, 0.0, 0.001, 0.002, 0.003)
    ours = {seed: 0.7 + gap + value for seed, value in enumerate(noise)} | {20: 0.1}
    theirs = dict.fromkeys(range(8), 0.7) | {30: 0.9}
    common = [ours[seed] for seed in range(8)]
    assert (stats.ttest_rel(common, [0.7] * 8).pvalue < 0.05) == told
    row = [
        Entry("cora", "acc", name, Cell(values), None, heading=name)
        for name, values in (("a", ours), ("b", theirs))
    ]
    # Over all their seeds the other one is better: the row's first place is not decided.
    assert [entry.rank for entry in ranked(row)[0]] == [None, None]
    row[0] = replace(row[0], ours=Cell({seed: ours[seed] for seed in range(8)}))
    row[1] = replace(row[1], ours=Cell({seed: theirs[seed] for seed in range(8)}))
    assert [entry.rank for entry in ranked(row)[0]] == ([1, None] if told else [None, None])


def test_best_second_and_rest() -> None:
    assert ranks(entry("a", 0.3), entry("b", 0.9), entry("c", 0.6)) == {"a": None, "b": 1, "c": 2}
    assert ranks(
        *(
            entry(name, mean, metric="conductance")
            for name, mean in (("a", 0.3), ("b", 0.9), ("c", 0.6))
        )
    ) == {
        "a": 1,
        "b": None,
        "c": 2,
    }


def test_the_last_of_two_is_not_second() -> None:
    assert ranks(entry("a", 0.9), entry("b", 0.6)) == {"a": 1, "b": None}


def test_ties_share_a_rank() -> None:
    assert ranks(
        entry("a", 0.9), entry("b", 0.9001), entry("c", 0.6), entry("d", 0.6001), entry("e", 0.2)
    ) == {
        "a": 1,
        "b": 1,
        "c": 2,
        "d": 2,
        "e": None,
    }


def test_nothing_that_can_be_told_apart_has_no_ranks() -> None:
    assert set(ranks(entry("a", 0.9), entry("b", 0.9001), entry("c", 0.9002)).values()) == {None}


def test_what_can_be_told_from_neither_side_has_no_rank() -> None:
    found = ranks(entry("a", 0.9), entry("b", 0.75, spread=80), entry("c", 0.6), entry("d", 0.3))
    assert found == {"a": 1, "b": None, "c": 2, "d": None}


def test_an_untestable_better_cell_leaves_the_row_without_ranks() -> None:
    assert set(ranks(entry("a", 0.95, seeds=1), entry("b", 0.9), entry("c", 0.6)).values()) == {
        None
    }
    assert ranks(entry("a", 0.1, seeds=1), entry("b", 0.9), entry("c", 0.6)) == {
        "a": None,
        "b": 1,
        "c": None,
    }


def test_what_a_cell_of_no_better_rank_beats_has_no_rank() -> None:
    """Few seeds tell a leader from almost nothing; that makes no tie of cells that differ among
    themselves."""
    few = {0: 0.9, 1: 0.92}
    a = {0: 0.88, 1: 0.7, 2: 0.8, 3: 0.81, 4: 0.79, 5: 0.8}
    b = {seed: value - 0.1 - 0.001 * seed for seed, value in a.items()}
    c = {0: 0.2, 1: 0.2201, 2: 0.2, 3: 0.2, 4: 0.2, 5: 0.2}
    cells = {
        "few": few,
        "a": a,
        "b": b,
        "c": c,
        "d": {seed: value - 0.1 - 0.001 * seed for seed, value in c.items()},
    }
    found = ranks(
        *(
            Entry("cora", "acc", name, Cell(values), None, heading=name)
            for name, values in cells.items()
        )
    )
    # b is worse than a, and better than c: c is not the second.
    assert found == {"few": 1, "a": 1, "b": None, "c": None, "d": None}


def test_a_difference_counts_in_the_direction_of_the_common_seeds() -> None:
    """The mean over all seeds is higher, that over the seeds of the test is significantly lower:
    not the best."""
    a = Entry("cora", "acc", "a", Cell({0: 0.5, 1: 0.51, 2: 0.502, 9: 5.0}), None, heading="a")
    b = Entry("cora", "acc", "b", Cell({0: 0.7, 1: 0.7101, 2: 0.7022}), None, heading="b")
    assert ranks(a, b) == {"a": None, "b": None}


def test_cells_not_at_the_papers_settings_take_no_part() -> None:
    found, pairs = ranked(
        [replace(entry("a", 0.99), faithful=False), entry("b", 0.9), entry("c", 0.6)]
    )
    assert [item.rank for item in found] == [None, 1, None] and pairs == 1


def test_a_sweep_of_settings_takes_no_part() -> None:
    sweep = [replace(entry(f"d [{number}]", 0.95), heading="d") for number in range(11)]
    found, pairs = ranked([entry("b", 0.9), entry("c", 0.6), *sweep])
    assert pairs == 1 and [item.rank for item in found[:3]] == [1, None, None]
    assert ranked([entry("b", 0.9), entry("c", 0.6), *sweep[:10]])[1] > math.comb(10, 2)


def test_holm_is_over_all_pairs_of_the_table() -> None:
    """A difference that is significant alone is not, among many pairs of which none differ."""
    one = entry("a", 0.9)
    gaps = (0.003, 0.001, 0.002, 0.004, 0.0, 0.002)
    worse = {seed: value - gaps[seed] for seed, value in one.ours.values.items()}
    other = Entry("cora", "acc", "b", Cell(worse), None, heading="b")
    alone = float(stats.ttest_1samp(gaps, 0.0).pvalue)
    assert 0.002 < alone < 0.05
    assert ranks(one, other) == {"a": 1, "b": None}
    crowd = [entry(name, 0.5, dataset="acm") for name in "abcdefgh"]
    found, pairs = ranked([one, other, *crowd])
    assert pairs == 1 + math.comb(8, 2) and found[0].rank is None
    assert (
        holm([alone, *[1.0] * (pairs - 1)])[0] == pytest.approx(alone * pairs)
        and alone * pairs > 0.05
    )


def test_a_cell_with_a_failed_seed_has_no_rank() -> None:
    best, other, last = entry("a", 0.9), entry("b", 0.7), entry("c", 0.5)
    failed = replace(best, ours=replace(best.ours, absent={"diverged": (7,)}))
    assert ranks(best, other, last) == {"a": 1, "b": 2, "c": None}
    assert ranks(failed, other, last) == {"a": None, "b": 1, "c": None}


@pytest.mark.parametrize("where", [{"dataset_hash": "e"}, {"versions": {"protocol": "2"}}], ids=str)
def test_another_graph_or_protocol_is_another_row(where: dict[str, Any]) -> None:
    usual = Record("r", {"dataset_hash": "f", "versions": {"protocol": "1"}}, "ok")
    other = replace(usual, spec={**usual.spec, **where})
    best, worse = (
        replace(entry(name, mean), records=(record,))
        for name, mean, record in (("a", 0.9, usual), ("b", 0.5, other))
    )
    assert ranks(best, worse) == {"a": None, "b": None}
    assert ranks(best, replace(worse, records=(usual,)))["a"] == 1
