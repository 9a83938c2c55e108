"""The page on what training adds to untrained encoders."""

from __future__ import annotations

from gclbench.paper.comparison import compare
from gclbench.paper.sources import Collection
from gclbench.paper.tables import find_table
from gclbench.paper.training_gains import page

TRAINED = [0.70, 0.72, 0.71, 0.74, 0.69]


def runs(record, values, metric: str = "acc", **settings) -> list:
    return [
        record(seed=seed, metrics={metric: value}, **settings) for seed, value in enumerate(values)
    ]


def of(records, *names: str) -> list[str]:
    collection = Collection(tuple(records))
    return page([compare(find_table(name), collection) for name in names]).splitlines()


def test_gains_are_counted_by_verdict_and_lacking_ones_listed(record) -> None:
    better = runs(record, TRAINED) + runs(record, [value - 0.1 for value in TRAINED], epochs=0)
    lines = of(better, "dmat/1")
    assert "| dmat/1 | 1 | 1 | 0 | 0 | 0 | 0 | 0 |" in lines
    assert "| **total** | 1 | 1 | 0 | 0 | 0 | 0 | 0 |" in lines
    assert lines[-1] == "| --- | --- | --- | --- | --- |", "no cell is without a gain"
    same = runs(record, TRAINED) + runs(record, [value + 0.0001 for value in TRAINED], epochs=0)
    lines = of(same[:5] + same[5:], "dmat/1")
    assert "| dmat/1 | 1 | 0 | 1 | 0 | 0 | 0 | 0 |" in lines
    assert lines[-1] == "| dmat/1 | cora | dmat_i‡ | acc | −0.01 (5) ✓ |"
    worse = runs(record, TRAINED) + runs(record, [value + 0.1 for value in TRAINED], epochs=0)
    assert of(worse, "dmat/1")[-1] == "| dmat/1 | cora | dmat_i‡ | acc | −10.00 (5) ▼ |"


def test_what_has_no_untrained_run_is_counted(record) -> None:
    lines = of([*runs(record, TRAINED), *runs(record, TRAINED, method="kmeans")], "dmat/1")
    assert "| dmat/1 | 1 | 0 | 0 | 0 | 0 | 0 | 1 |" in lines, "k-means has no encoder"


def test_numbers_that_another_version_prints_again_are_not(record) -> None:
    public = {"task": "classification", "task_settings": {"protocol": "public"}}
    found = runs(record, TRAINED, "accuracy", method="mmix_mp", **public)
    lines = of(found, "mmix/2", "mmix_iclr/1")
    assert any(line.startswith("| mmix/2 | ") for line in lines)
    assert not any(line.startswith("| mmix_iclr") for line in lines)
