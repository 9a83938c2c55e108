"""The datasets on which two sides are compared: forms of a published one, names."""

from __future__ import annotations

import pytest
from example_records import record

from gclbench.config.validation import experiment_of
from gclbench.launch.specification import specification
from gclbench.paper.head_to_head import NothingToCompare, head_to_head
from gclbench.paper.head_to_head_rows import texts
from gclbench.paper.sources import Collection
from gclbench.records import Record


def runs(*words: str, first: float = 0.5) -> list[Record]:
    """Three records of a command; no dataset is read."""
    experiment = experiment_of([*words, "task=clustering"])
    return [
        record(
            specification(experiment, "clustering", seed, "ab" * 32),
            metrics={"acc": first + 0.01 * seed**2},
            command=f"gclbench {' '.join(words)}",
        )
        for seed in range(3)
    ]


def compared(a: str, b: str, *records: list[Record]):
    return head_to_head((a, b), Collection(tuple(one for each in records for one in each)))


def test_two_methods_meet_on_the_form_of_a_dataset_that_one_of_them_is_run_on() -> None:
    """DMAT-i is run on the edges as they are stored, k-means on each edge once."""
    ours = runs("method=dmat_i", "dataset=amazon_photo")
    simple = runs("method=kmeans", "dataset=amazon_photo", first=0.3)
    stored = runs("method=kmeans", "dataset=amazon_photo", "dataset.edges=as_stored", first=0.4)
    found = compared("dmat_i", "kmeans", ours, simple, stored)
    assert [(line.dataset, line.settled.n) for line in found.lines] == [("amazon_photo", 3)]
    assert found.lines[0].settled.difference == pytest.approx(0.1), "on the same edges"
    assert not any("was not run on amazon_photo" in remark for remark in found.remarks)


def test_the_form_stands_in_what_is_typed_next() -> None:
    ours = runs("method=dmat_i", "dataset=amazon_photo")
    with pytest.raises(NothingToCompare) as error:
        compared("dmat_i", "kmeans", ours, runs("method=kmeans", "dataset=amazon_photo"))
    told = str(error.value)
    for method, form in (("kmeans", "as_stored"), ("dmat_i", "simple")):
        words = f"gclbench method={method} dataset=amazon_photo dataset.edges={form} task="
        assert words in told


def test_a_form_that_neither_side_is_run_on_is_left_out() -> None:
    stored = [
        runs(f"method={name}", "dataset=amazon_photo", "dataset.edges=as_stored")
        for name in ("kmeans", "dgi")
    ]
    with pytest.raises(NothingToCompare, match="'kmeans' has no runs"):
        compared("kmeans", "dgi", *stored)


def test_names_keep_their_hyphens() -> None:
    sides = [
        runs(
            "method=kmeans", "dataset=sbm", "dataset.homophily=1e-05", f"filter={name}", first=value
        )
        for name, value in (("none", 0.3), ("ssgc", 0.5))
    ]
    other = runs("method=kmeans", "dataset=sbm", "dataset.homophily=0.01", "filter=none")
    more = runs("method=kmeans", "dataset=sbm", "dataset.homophily=0.01", "filter=ssgc")
    found = compared("kmeans", "kmeans filter=ssgc", *sides, other, more)
    rows = texts(found)
    assert any("homophily=1e-05" in row[0] for row in rows) and any("−" in row[5] for row in rows)
