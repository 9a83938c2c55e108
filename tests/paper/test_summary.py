from __future__ import annotations

from gclbench.component.registry import DATASETS
from gclbench.data.mirror import verify
from gclbench.paper.comparison import compare
from gclbench.paper.sources import Collection
from gclbench.paper.summary import NOT_AT_HAND, Tally, markdown, summary
from gclbench.paper.tables import TABLES, find_table


def of(records, *names: str):
    return summary(compare(find_table(name), Collection(tuple(records))) for name in names)


def test_without_records_no_legible_number_is_run() -> None:
    found = of([], "dmat/1")
    # DGI and ProGCL are printed as missing on three datasets, GCA on one.
    # Three of these were printed as not converged: no run decides them.
    starred = found.total.out_of_reach
    assert found.total == Tally(not_run=480 - 6 * 7, out_of_reach=starred) and 0 < starred < 20
    assert found.papers == {"dmat": found.total} and found.total.decidable == 438 - starred


def test_what_became_of_printed_numbers(record) -> None:
    def spread(mean: float) -> list[float]:
        return [mean + 0.001 * step for step in (-1, 0, 1)]

    metrics = {
        "acc": 0.7057,
        "nmi": 0.60,
        "ari": 0.20,
        "macro_f1": 0.66,
    }  # printed: 70.57, 53.59, 47.34, 69.33
    runs = [
        record(seed=seed, metrics={name: spread(mean)[seed] for name, mean in metrics.items()})
        for seed in range(3)
    ] + [
        record(dataset="acm", epochs=3, metrics={"acc": 0.9}),
        record(dataset="dblp", status="diverged"),
        record(method="kmeans", metrics={"acc": 0.01}),
    ]
    found = of(runs, "dmat/1")
    # Of the 48 cells: four on cora, where two metrics are missing; one of acm's at other settings,
    # where five are missing; all six of dblp failed.
    assert found.methods["dmat_i"] == Tally(
        equivalent=1,
        above=1,
        below=2,
        failed_seeds=2 + 5 + 6,
        not_comparable=1,
        not_run=5 * 6,
        equivalent_after_holm=1,
        fitted=4,  # labels of cora had been seen before DMAT-i's last choices
        at_half_level=4,
    )
    assert found.methods["kmeans"] == Tally(
        undetermined=1, failed_seeds=5, not_run=42, out_of_reach=2
    ), "one run is not testable; two numbers are printed as not converged"
    assert found.methods["dmat_i"].decidable == 48, "a run at the paper's settings decides acm's"
    assert found.methods["dmat_i"].decided == 4 and found.methods["kmeans"].decided == 0
    assert found.total == sum(found.methods.values(), Tally()) and found.total.cells == 438


def test_each_number_counts_once(record) -> None:
    both = of([], "mmix/2", "mmix_iclr/1")
    assert (
        both.papers["mmix"].cells == 57
        and both.papers["mmix_iclr"].cells == 51
        and both.total.cells == 57
    )
    times = of([], "dmat/4")
    assert times.total == Tally(not_run=57, out_of_reach=57) and times.total.decidable == 0
    assert "| **total** | 57 | 0 (0%) | – |" in markdown(times)
    other = of([record(epochs=3, metrics={"acc": 0.7})], "dmat/1")
    assert other.methods["dmat_i"].not_comparable == 1
    assert other.methods["dmat_i"].out_of_reach == 0
    quoted = of([], "nml/1")
    assert 0 < quoted.total.out_of_reach < quoted.total.not_run


def test_the_datasets_that_are_not_at_hand(mirror) -> None:
    asked = {
        dataset for table in TABLES.values() if table.source == "runs" for dataset in table.datasets
    }
    lacking = {
        name
        for name in asked & DATASETS.entries.keys()
        if any(state.state == "missing" for state in verify(name))
    }
    assert lacking == set(NOT_AT_HAND)
