from __future__ import annotations

from gclbench.paper.comparison import compare
from gclbench.paper.sources import Collection
from gclbench.paper.summary import Tally, markdown, summary
from gclbench.paper.tables import TABLES, find_table


def of(records, *names: str):
    return summary(compare(find_table(name), Collection(tuple(records))) for name in names)


def test_without_records_every_legible_number_is_missing() -> None:
    found = of([], "dmat/1")
    # DGI and ProGCL are printed as missing on three datasets, GCA on one.
    assert found.total == Tally(missing=480 - 6 * 7) and found.papers == {"dmat": found.total}


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
    assert found.methods["dmat_i"] == Tally(
        reproduced=1, above=1, below=2, not_comparable=1, missing=48 - 5
    )
    assert found.methods["kmeans"] == Tally(below=1, missing=47), (
        "one run is not testable, and not within"
    )
    assert found.total == sum(found.methods.values(), Tally()) and found.total.cells == 438


def test_each_number_counts_once(record) -> None:
    both = of([], "mmix/2", "mmix_iclr/1")
    assert (
        both.papers["mmix"].cells == 27
        and both.papers["mmix_iclr"].cells == 21
        and both.total.cells == 27
    )
    times = of([record(method="agc", filter="none")], "dmat/4")
    assert times.total.cells == 57, "seconds, not their ratios too"


def test_facts_are_counted_for_themselves() -> None:
    found = of([], "dmat/7", "dmat/8", "mmix/1")
    assert found.total == Tally() and found.facts == (32 - 5 + 88 + 12 - 4, 5 + 4)


def test_page() -> None:
    text = markdown(of([], *TABLES))
    assert "| dmat | 601 | 0 | 0 | 0 | 0 | 601 |" in text and "| **total** | 870 |" in text
    assert text.count("\n| --- |") == 2 and "123 as printed, 9 not" in text
