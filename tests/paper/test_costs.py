"""What the missing runs would take: from records, from the first epochs, or unknown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from gclbench.paper import costs
from gclbench.paper.comparison import compare
from gclbench.paper.costs import FirstEpochs
from gclbench.paper.sources import Collection
from gclbench.paper.tables import find_table
from gclbench.run.estimate import Durations, name_key

PAIR = ("grape", "cora")


def lines_of(records, probes, *names: str) -> list[list[str]]:
    collection = Collection(tuple(records))
    page = costs.page([compare(find_table(name), collection) for name in names], collection, probes)
    rows = [line for line in page.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_first_epochs_tell_the_rest() -> None:
    assert FirstEpochs("ok", "", 5.0, 9.0, None).seconds(101) == 5 + 2 * 100
    assert FirstEpochs("ok", "", 5.0, None, None).seconds(100) == 500, (
        "a bound: all of it in each epoch"
    )
    assert FirstEpochs("ok", "", 5.0, 4.0, None).seconds(100) == 5, "noise makes no time negative"
    assert FirstEpochs("ok", "", 5.0, None, None).seconds(None) == 5, "a method without epochs"
    assert FirstEpochs("oom", "too large", None, None, None).seconds(100) is None


def test_records_come_before_probes(record) -> None:
    ran = Durations.of(
        [replace(record(method="grape", epochs=100), seconds={"fit": 7.0})], name_key
    )
    epochs = costs.epochs_of(PAIR)
    assert epochs == 100, "those of the shipped settings on cora"
    probes = {PAIR: FirstEpochs("ok", "", 3.0, None, None)}
    assert costs.a_seed(PAIR, ran, probes) == (7.0, "records")
    assert costs.a_seed(PAIR, Durations(), probes) == (300.0, "one epoch")
    assert costs.a_seed(PAIR, Durations(), {}) == (None, "unknown")
    failed = {PAIR: FirstEpochs("unsupported", "the pattern is dense", None, None, None)}
    assert costs.a_seed(PAIR, Durations(), failed) == (None, "unsupported: the pattern is dense")
    assert costs.epochs_of(("linear", "cora")) is None


def test_every_cell_without_a_run_is_counted_once() -> None:
    probes = {PAIR: FirstEpochs("ok", "", 3.0, 7.0, 2.0**31)}
    rows = lines_of([], probes, "nml/1", "nml/2")
    by_pair = {(row[0], row[1]): row[2:] for row in rows}
    # Accuracy, FMI and ARI: three cells, in two columns of one name: one training a seed.
    assert by_pair[PAIR] == ["3", "", "", "3 min", "2.0", "one and three epochs"]
    assert by_pair["grape", "citeseer"] == ["3", "", "", "", "", "no record of the dataset"]
    twice = lines_of([], probes, "nml/1", "nml/2", "nml/2")
    assert twice == rows


def test_a_dataset_that_nothing_was_trained_on_says_so(record) -> None:
    ran = [replace(record(method="dgi", dataset="citeseer"), seconds={"fit": 7.0})]
    by_pair = {(row[0], row[1]): row[-1] for row in lines_of(ran, {}, "nml/2")}
    assert by_pair["grape", "citeseer"] == "unknown", "another method was trained there"
    assert by_pair["grape", "cora"] == "no record of the dataset"


def test_the_total_is_of_what_is_known() -> None:
    collection = Collection(())
    page = costs.page(
        [compare(find_table("nml/2"), collection)],
        collection,
        {PAIR: FirstEpochs("ok", "", 12.0, None, None)},
    )
    assert ": 0 s for 0 of " in page and "at most 60 min for 2 more" in page
    assert "| grape | cora | 2 |  |  | ≤ 20 min |  | one epoch |" in page


def test_what_undetermined_cells_would_take_is_said(record) -> None:
    runs = tuple(
        replace(record(seed=seed, metrics={"acc": acc}), seconds={"fit": 60.0})
        for seed, acc in enumerate((0.60, 0.64, 0.70))
    )
    comparison = compare(find_table("dmat/1"), Collection(runs))
    (needed,) = [entry.needed for entry in comparison.entries if entry.needed]
    page = costs.page([comparison], Collection(runs), {})
    assert (
        "Undetermined cells: 1. No number of seeds up to 1,000 would decide 0 of them, as they"
        " stand. Seeds that would decide 1 of the others, each with a chance of 80 %, take"
        f" {needed - 3} min, one after"
    ) in page


def test_probes_are_read_from_the_file(tmp_path: Path) -> None:
    row = {"method": "grape", "dataset": "cora", "status": "ok", "reason": ""}
    path = tmp_path / "costs.json"
    path.write_text(json.dumps({"rows": [{**row, "first": 1.0, "third": None, "memory": 5.0}]}))
    assert costs.read_probes(path) == {PAIR: FirstEpochs("ok", "", 1.0, None, 5.0)}
    assert costs.read_probes(tmp_path / "none.json") == {}
    now = costs.versions_of("grape")
    for components, there in ((now, True), ({**now, "negatives": "0"}, False)):
        path.write_text(
            json.dumps(
                {
                    "rows": [
                        {
                            **row,
                            "first": 1.0,
                            "third": None,
                            "memory": 5.0,
                            "components": components,
                        }
                    ]
                }
            )
        )
        assert bool(costs.read_probes(path)) == there, "another version tells nothing"


def test_other_versions_and_strategies_tell_nothing(record) -> None:
    runs = [
        replace(record(method="grape", epochs=100, negatives=negatives), seconds={"fit": fit})
        for negatives, fit in (("grape", 7.0), ("uniform", 99.0))
    ]
    old = replace(
        runs[0], spec={**runs[0].spec, "versions": {"method": "0"}}, seconds={"fit": 50.0}
    )
    assert costs.a_seed(PAIR, costs.durations([*runs, old]), {}) == (7.0, "records")
    few = replace(record(method="grape", epochs=2, negatives="grape"), seconds={"fit": 4.0})
    scaled = costs.a_seed(PAIR, costs.durations([few]), {})
    assert scaled == (200.0, "scaled from recorded epochs")


def test_runs_on_a_gpu_are_no_costs_of_a_processor(record) -> None:
    on_gpu = replace(
        record(method="grape", epochs=100, negatives="grape"),
        seconds={"fit": 1.0},
        memory={"gpu_allocated": 5},
    )
    assert costs.a_seed(PAIR, costs.durations([on_gpu]), {}) == (None, "unknown")


def test_runs_at_the_shipped_settings_come_first(record) -> None:
    epochs = costs.epochs_of(("dgi", "cora"))
    shipped, other = (
        replace(record("dgi", "cora", epochs=epochs, propagation=how), seconds={"fit": fit})
        for how, fit in (("adjacency", 5.0), ("diffusion", 90.0))
    )
    cost = costs.a_seed(("dgi", "cora"), costs.durations([shipped, other]), {})
    assert cost == (5.0, "records"), "not the mean of both"
    alone = costs.a_seed(("dgi", "cora"), costs.durations([other]), {})
    assert alone == (90.0, "records"), "better than nothing"
    # What was never trained takes no time to train, at whatever settings.
    untrained = replace(record("dgi", "cora", epochs=0), seconds={"fit": 0.1})
    known = costs.durations([untrained, other])
    assert costs.a_seed(("dgi", "cora"), known, {}) == (90.0, "records")


def test_link_prediction_is_a_training_of_its_own() -> None:
    found = costs.lacking(
        [compare(find_table(name), Collection(())) for name in ("dmat/1", "dmat/3")]
    )
    there = found["gca", "cora"]
    assert there.trainings == {("gca", ""), ("gca", "link_prediction")}
    assert there.tasks == {"clustering", "link_prediction"}


def test_undetermined_cells_are_counted_and_reasons_break_no_row(record) -> None:
    run = replace(record(method="kmeans", metrics={"acc": 0.5}), seconds={"fit": 1.0})
    failed = {("age", "pubmed"): FirstEpochs("failed", "a | b\nc", None, None, None)}
    rows = lines_of([run], failed, "dmat/1")
    assert ["kmeans", "cora", "", "", "1"] in [row[:5] for row in rows], "five values are missing"
    assert [row for row in rows if row[:2] == ["age", "pubmed"]][0][-1].endswith("b c")


def test_cells_at_other_settings_alone_are_counted_apart(record) -> None:
    run = record(method="dmat_i", metrics={"acc": 0.5}, lr=0.5)
    (row,) = [row for row in lines_of([run], {}, "dmat/1") if row[:2] == ["dmat_i", "cora"]]
    assert row[2:5] == ["", "6", ""]
