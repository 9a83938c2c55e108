"""What a cell says of a printed number, rule by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from scipy import stats

from gclbench.paper.aggregate import Cell
from gclbench.paper.comparison import compare
from gclbench.paper.filled_table import Entry
from gclbench.paper.metrics import Quantity, find_metric
from gclbench.paper.reference import PrintedValue
from gclbench.paper.render.legend import footer
from gclbench.paper.significance import seeds_needed
from gclbench.paper.sources import Collection
from gclbench.paper.tables import find_table
from gclbench.paper.verdict import MARKS, VERDICTS, judged, margin_of, not_judged


def printed(mean: float | None, std: float | None = None, runs: int | None = None) -> PrintedValue:
    return PrintedValue(
        paper="dmat",
        table="1",
        task="clustering",
        dataset="cora",
        method="dmat_i",
        variant="",
        metric="acc",
        protocol=None,
        mean=mean,
        std=std,
        scale="percent",
        runs=runs,
        note="",
        doubtful=False,
        text="",
    )


def entry(
    values: Sequence[float],
    value: PrintedValue | None,
    metric: str = "acc",
    absent: dict[str, tuple[int, ...]] | None = None,
) -> Entry:
    return Entry("cora", metric, "a", Cell(dict(enumerate(values)), absent or {}), value)


def around(mean: float, step: float, seeds: int = 5) -> list[float]:
    """Seeds with a mean, in steps from below to above it: of five, a standard deviation of
    √2.5 steps."""
    return [mean + step * (place - (seeds - 1) / 2) for place in range(seeds)]


def verdict(*entries: Entry) -> str:
    """Of the first of a table's cells."""
    return judged(entries)[0][0].verdict


@pytest.mark.parametrize(
    ("metric", "values", "value", "expected"),
    [
        # The printed mean alone: 0.70, margin one point.
        ("acc", around(0.702, 0.001), printed(0.70), "equivalent"),
        ("acc", around(0.698, 0.001), printed(0.70), "equivalent"),
        ("acc", around(0.72, 0.001), printed(0.70), "above"),
        ("acc", around(0.68, 0.001), printed(0.70), "below"),
        ("acc", around(0.70, 0.02), printed(0.70), "undetermined"),
        ("acc", around(0.715, 0.01), printed(0.70), "undetermined"),
        # Fifteen points more are no reproduction.
        ("acc", around(0.85, 0.001), printed(0.70, 0.002, 10), "above"),
        ("acc", around(0.85, 0.001), printed(0.70), "above"),
        # The printed standard deviation is the margin where it is larger than a point.
        ("acc", around(0.72, 0.001), printed(0.70, 0.05, 10), "equivalent"),
        ("acc", around(0.72, 0.001), printed(0.70, 0.05), "equivalent"),
        ("acc", around(0.72, 0.001), printed(0.70, 0.005), "above"),
        # Less is better.
        ("conductance", around(0.72, 0.001), printed(0.70), "below"),
        ("conductance", around(0.68, 0.001), printed(0.70), "above"),
        ("conductance", around(0.702, 0.001), printed(0.70), "equivalent"),
        # Equal in every seed.
        ("acc", [0.71] * 5, printed(0.70), "equivalent"),
        ("acc", [0.7101] * 5, printed(0.70), "above"),
        ("acc", [0.6899] * 5, printed(0.70, 0.0, 10), "below"),
        ("acc", [0.7101] * 4, printed(0.70), "undetermined"),
        # Too few to tell.
        ("acc", [0.70], printed(0.70), "undetermined"),
        ("acc", [0.90], printed(0.70, 0.001, 10), "undetermined"),
        ("acc", [], printed(0.70), "not run"),
        # Nothing printed, or nothing legible.
        ("acc", around(0.70, 0.001), None, ""),
        ("acc", around(0.70, 0.001), printed(None), ""),
        # Neither direction is better.
        ("bits_per_edge", around(0.70, 0.001), printed(0.70), "not comparable"),
    ],
)
def test_verdicts(
    metric: str, values: Sequence[float], value: PrintedValue | None, expected: str
) -> None:
    found = verdict(entry(values, value, metric))
    assert found == expected and (found in VERDICTS or not found)


def test_equivalence_wins_over_a_significant_difference() -> None:
    (found,), _ = judged([entry(around(0.702, 0.001), printed(0.70))])
    # Half a thousandth of standard error: two thousandths are significant, and within the margin.
    assert found.p_value is not None and found.p_value < 0.05
    assert found.verdict == "equivalent" and found.mark == "✓"


def test_a_difference_is_corrected_over_the_table_and_equivalence_is_not() -> None:
    one = entry(around(0.75, 0.021), printed(0.70))
    near = entry(around(0.70, 0.0045), printed(0.70))
    alone, sure = judged([one])[0][0], judged([near])[0][0]
    assert (alone.verdict, sure.verdict) == ("above", "equivalent")
    many = [one, near, *[entry(around(0.70, 0.02), printed(0.70))] * 18, entry([0.7], printed(0.7))]
    found, tests = judged(many)
    assert tests == 20 and alone.p_value is not None and sure.outcome is not None
    raw = stats.ttest_1samp(around(0.75, 0.021), 0.70).pvalue
    assert alone.p_value == pytest.approx(raw) and 0.0025 < raw < 0.05
    assert found[0].p_value == pytest.approx(20 * raw) and found[0].verdict == "undetermined"
    assert found[1].verdict == "equivalent"
    assert found[1].p_equivalence == pytest.approx(20 * sure.outcome.p_equivalence)
    assert found[1].p_equivalence > 0.05 > sure.outcome.p_equivalence


def test_cells_without_a_test_do_not_count_in_the_correction() -> None:
    one = entry(around(0.72, 0.008), printed(0.70))
    others = [
        entry([0.7], printed(0.7)),
        entry(around(0.8, 0.01), None),
        entry(around(0.8, 0.01), printed(0.7), absent={"oom": (7,)}),
        replace(entry(around(0.8, 0.01), printed(0.7)), faithful=False),
        entry(around(0.8, 0.01), printed(0.7), "bits_per_edge"),
    ]
    found, tests = judged([one, *others])
    assert tests == 1 and found[0].p_value == judged([one])[0][0].p_value
    assert all(each.outcome is None and each.p_value is None for each in found[1:])


@pytest.mark.parametrize("reason", ["diverged", "oom", "failed", "not finite", "no value"])
def test_a_failed_seed_leaves_no_mark_to_the_others(reason: str) -> None:
    """Whatever the survivors say."""
    for values in (around(0.70, 0.0001), around(0.9, 0.0001), [0.7], []):
        cell = entry(values, printed(0.70), absent={reason: (7,)})
        (found,), tests = judged([cell])
        assert (found.verdict, found.mark, tests) == ("failed seeds", "", 0)
        assert f"{reason.replace('oom', 'OOM')} ×1" in found.show_ours()


def test_runs_at_other_settings_are_not_comparable() -> None:
    for values in (around(0.70, 0.0001), around(0.9, 0.0001)):
        (found,), tests = judged([replace(entry(values, printed(0.70)), faithful=False)])
        assert (found.verdict, found.mark, tests) == ("not comparable", "", 0)
        assert found.show_ours().endswith("†")


def test_numbers_of_another_task_are_not_comparable() -> None:
    for values in ([0.7], around(0.70, 0.0001), around(0.9, 0.0001)):
        (found,), tests = judged([replace(entry(values, printed(0.70)), comparable=False)])
        assert (found.verdict, found.mark, tests) == ("not comparable", "", 0)
    (empty,), _ = judged([replace(entry([], printed(0.70)), comparable=False)])
    assert empty.verdict == "not run"


def test_times_and_quantiles_are_not_judged() -> None:
    assert not_judged(entry(around(3.0, 0.1), printed(3.0), "seconds")).verdict == "not comparable"
    assert not_judged(entry([], printed(3.0), "seconds")).verdict == "not run"
    assert not_judged(entry([], None, "seconds")).verdict == ""
    # Without a time of the other column on this device there is no ratio, but no run has failed.
    without = entry([], printed(3.0), "ratio", {"no dmat_i on this device": (0,)})
    assert not_judged(without).verdict == "not comparable"
    assert not_judged(entry([], printed(3.0), "seconds", {"oom": (0,)})).verdict == "failed seeds"


def test_the_margin_is_a_point_or_the_printed_spread() -> None:
    assert margin_of(printed(0.7), True) == margin_of(printed(0.7, 0.002), True) == 0.01
    assert margin_of(printed(0.7, 0.03), True) == 0.03
    # A point is a margin of fractions only.
    assert (margin_of(printed(2.0), False), margin_of(printed(2.0, 0.3), False)) == (0.0, 0.3)
    known = Quantity("bits", "number", "lower")
    exact = replace(entry([2.0, 2.01, 2.0], printed(2.0), "bits"), described=known)
    assert verdict(exact) == "undetermined" and find_metric("acc").is_fraction


def test_a_printed_spread_enters_the_test_with_its_number_of_trainings_only() -> None:
    """1.55 points are certain against the number, and open against three runs of it."""
    values = around(0.7155, 0.001)
    with_runs, without = printed(0.70, 0.009, 3), printed(0.70, 0.009)
    assert verdict(entry(values, with_runs)) == "undetermined"
    assert verdict(entry(values, without)) == "above"
    outcome = judged([entry(values, with_runs)])[0][0].outcome
    assert outcome is not None and outcome.others == 3
    spread = 0.001 * 2.5**0.5
    welch = stats.ttest_ind_from_stats(0.7155, spread, 5, 0.70, 0.009, 3, equal_var=False)
    assert outcome.p_difference == pytest.approx(welch.pvalue)


def test_which_papers_spreads_are_over_trainings(record) -> None:
    """Ten trainings in Table 1 of dmat; ten classifiers on one encoder in Table 1 of nml."""
    runs = [
        *[record(seed=seed, metrics={"acc": 0.7 + 0.001 * seed}) for seed in range(3)],
        *[
            record(
                method="grace",
                task="classification",
                seed=seed,
                task_settings={"protocol": "public"},
                metrics={"accuracy": 0.8 + 0.001 * seed},
            )
            for seed in range(3)
        ],
    ]
    collection = Collection(tuple(runs))
    (clusters,) = [
        each for each in compare(find_table("dmat/1"), collection).entries if each.outcome
    ]
    (classes,) = [each for each in compare(find_table("nml/1"), collection).entries if each.outcome]
    assert clusters.printed is not None and classes.printed is not None
    assert clusters.printed.std and classes.printed.std, "both are printed with a spread"
    assert (clusters.printed.runs, classes.printed.runs) == (10, None)
    assert clusters.outcome is not None and clusters.outcome.others == 10
    assert classes.outcome is not None and classes.outcome.others == 0
    alone = stats.ttest_1samp([0.8, 0.801, 0.802], classes.printed.mean).pvalue
    assert classes.outcome.p_difference == pytest.approx(alone)
    assert find_table("nml/1").spread and not find_table("dmat/1").spread


def test_an_open_cell_says_how_many_seeds_would_decide() -> None:
    """Of the table's number of tests; nothing where none would, or where one run tells nothing."""
    wide = entry(around(0.715, 0.01), printed(0.70))
    (found,), _ = judged([wide])
    assert found.outcome is not None and found.needed == seeds_needed(found.outcome, 1)
    assert found.needed is not None and found.mark == f"~{found.needed}"
    assert found.show_ours() == f"71.50 ± 1.58 (5) ~{found.needed}"
    crowded = judged([wide, *[entry(around(0.70, 0.02), printed(0.70))] * 30])[0][0]
    assert crowded.needed == seeds_needed(found.outcome, 31) and crowded.needed > found.needed
    assert judged([entry([0.7], printed(0.7))])[0][0].mark == "~"
    never = judged([entry(around(0.715, 0.01), printed(0.70, 0.02, 2))])[0][0]
    assert (never.verdict, never.needed, never.mark) == ("undetermined", None, "~")
    assert judged([entry(around(0.9, 0.001), printed(0.7))])[0][0].needed is None


def test_signs() -> None:
    assert [MARKS.get(name, "") for name in VERDICTS] == ["✓", "▲", "▼", "~", "", "", ""]


def test_a_spread_over_folds_has_no_part_in_a_verdict() -> None:
    """Table 3 of `mmix` quotes supervised rows with deviations over folds."""
    over_folds = replace(printed(0.70, 0.06), over_folds=True)
    assert margin_of(over_folds, True) == 0.01 and margin_of(printed(0.70, 0.06), True) == 0.06
    values = around(0.66, 0.002)
    assert verdict(entry(values, over_folds)) == "below"
    assert verdict(entry(values, printed(0.70, 0.06))) == "equivalent"
    shown = compare(find_table("mmix/3"), Collection((), {}, ()))
    folds = {e.column for e in shown.entries if e.printed is not None and e.printed.over_folds}
    assert folds == {"graphsage", "gcn_graphs", "gin", "gin_eps", "gat_graphs"}
    assert all(e.printed.runs is None for e in shown.entries if e.printed and e.printed.over_folds)
    iclr = compare(find_table("mmix_iclr/2"), Collection((), {}, ()))
    assert folds == {e.column for e in iclr.entries if e.printed and e.printed.over_folds}


def test_the_spread_of_a_quoted_row_has_no_part_in_a_verdict() -> None:
    """Table 3 of `mmix` quotes kernels from work that quotes them."""
    quoted = replace(printed(0.70, 0.06), quoted=True)
    assert margin_of(quoted, True) == 0.01
    assert verdict(entry(around(0.66, 0.002), quoted)) == "below"
    for name in ("mmix/3", "mmix_iclr/2"):
        beside = [e.printed for e in compare(find_table(name), Collection(())).entries if e.printed]
        rows = {value.method for value in beside if value.quoted}
        assert rows >= {"sp_kernel", "gk_kernel", "wl_kernel", "mlg_kernel", "random_walk"}
        assert not rows & {"infograph", "mvgrl", "joao", "graphcl", "gin", "mmix_mp"}
        assert all((value.runs is None) == (value.quoted or value.over_folds) for value in beside)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"doubtful": True}, "is doubted"),
        ({"note": "asterisk in paper: convergence issue"}, "did not converge"),
    ],
)
def test_a_printed_number_that_is_no_result_is_not_tested(change: dict, why: str) -> None:
    value = replace(printed(0.70, 0.01), **change)
    assert value.unsettled == why and printed(0.70).unsettled == ""
    fine = entry(around(0.9, 0.002), printed(0.70))
    found, tests = judged([entry(around(0.9, 0.002), value), fine])
    assert [each.verdict for each in found] == ["not comparable", "above"] and tests == 1
    assert verdict(entry([], value)) == "not run"
    assert verdict(entry([0.9], value, absent={"failed": (1,)})) == "failed seeds"


def test_the_line_under_a_table_names_the_rows_whose_spread_is_over_folds(record) -> None:
    runs = [
        record(
            method=method,
            dataset="mutag",
            task="graph_classification",
            seed=seed,
            metrics={"accuracy": 0.8 + 0.01 * seed},
            task_settings={"folds": 10, "svm": "linear"},
        )
        for method in ("gin", "graphcl")
        for seed in range(2)
    ]
    shown = compare(find_table("mmix/3"), Collection(tuple(runs), {}, ("runs",)))
    (line,) = [text for text in footer(shown) if "Test against the paper" in text]
    assert "of graphsage, gcn_graphs, gin, gin_eps, gat_graphs are over the folds of one" in line
    assert "The rows of SP kernel, GK kernel, WL kernel" in line and "are quoted" in line
    tested = {e.column: e.outcome.others for e in shown.entries if e.outcome is not None}
    assert tested == {"gin": 0, "graphcl": 5}


def test_the_line_under_a_table_names_the_numbers_that_are_not_tested(record) -> None:
    runs = [record(method="kmeans", dataset="citeseer", seed=seed) for seed in range(2)]
    (line,) = [
        text
        for text in footer(compare(find_table("dmat/1"), Collection(tuple(runs), {}, ("runs",))))
        if "Test against the paper" in text
    ]
    assert (
        "Not tested, since the printed number is doubted: nmi, ari of kmeans on citeseer." in line
    )
    assert (
        "did not converge: acc, nmi, ari, macro_f1, modularity, conductance of age on dbl" in line
    )
    assert "conductance of sdcn on coauthor_cs." in line


def test_seeds_that_a_cell_has_are_not_called_the_needed_ones() -> None:
    """Twenty did not decide, and against five printed runs fewer are no answer."""
    cell = entry(around(0.74, 0.000433, 20), printed(0.70, 0.0128, 5))
    found, tests = judged([cell] * 24)
    assert found[0].verdict == "undetermined" and found[0].outcome is not None
    assert seeds_needed(found[0].outcome, tests) == 2 and found[0].needed is None
