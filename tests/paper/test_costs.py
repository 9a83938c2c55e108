"""What the missing runs would take: from records, from the first epochs, or unknown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from gclbench.paper import costs
from gclbench.paper.comparison import compare
from gclbench.paper.costs import Probe
from gclbench.paper.sources import Collection
from gclbench.paper.tables import find_table
from gclbench.run.estimate import Durations

PAIR = ("grape", "cora")


def lines_of(records, probes, *names: str) -> list[list[str]]:
    collection = Collection(tuple(records))
    page = costs.page([compare(find_table(name), collection) for name in names], collection, probes)
    rows = [line for line in page.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_first_epochs_tell_the_rest() -> None:
    assert Probe("ok", "", 5.0, 9.0, None).seconds(101) == 5 + 2 * 100
    assert Probe("ok", "", 5.0, None, None).seconds(100) == 500, "a bound: all of it in each epoch"
    assert Probe("ok", "", 5.0, 4.0, None).seconds(100) == 5, "noise makes no time negative"
    assert Probe("ok", "", 5.0, None, None).seconds(None) == 5, "a method without epochs"
    assert Probe("oom", "too large", None, None, None).seconds(100) is None


def test_records_come_before_probes(record) -> None:
    ran = Durations.of([replace(record(method="grape", epochs=100), seconds={"fit": 7.0})])
    epochs = costs.epochs_of(PAIR)
    assert epochs == 100, "those of the shipped settings on cora"
    probes = {PAIR: Probe("ok", "", 3.0, None, None)}
    assert costs.a_seed(PAIR, ran, probes) == (7.0, "records")
    assert costs.a_seed(PAIR, Durations(), probes) == (300.0, "one epoch")
    assert costs.a_seed(PAIR, Durations(), {}) == (None, "unknown")
    failed = {PAIR: Probe("unsupported", "the pattern is dense", None, None, None)}
    assert costs.a_seed(PAIR, Durations(), failed) == (None, "unsupported: the pattern is dense")
    assert costs.epochs_of(("linear", "cora")) is None


def test_every_cell_without_a_run_is_counted_once() -> None:
    probes = {PAIR: Probe("ok", "", 3.0, 7.0, 2.0**31)}
    rows = lines_of([], probes, "nml/1", "nml/2")
    by_pair = {(row[0], row[1]): row[2:] for row in rows}
    # Accuracy, FMI and ARI: three cells, in two columns of one name: one training a seed.
    assert by_pair[PAIR] == ["3", "", "3 min", "2.0", "one and three epochs"]
    assert by_pair["grape", "citeseer"] == ["3", "", "", "", "unknown"]
    assert not any(row[1] == "nowhere" for row in rows)
    twice = lines_of([], probes, "nml/1", "nml/2", "nml/2")
    assert twice == rows


def test_the_total_is_of_what_is_known() -> None:
    collection = Collection(())
    page = costs.page(
        [compare(find_table("nml/2"), collection)],
        collection,
        {PAIR: Probe("ok", "", 12.0, None, None)},
    )
    assert "3 seeds of what is not run and known: 60 min for 2 of " in page
    assert "| grape | cora | 2 |  | ≤ 20 min |  | one epoch |" in page


def test_probes_are_read_from_the_file(tmp_path: Path) -> None:
    row = {"method": "grape", "dataset": "cora", "status": "ok", "reason": ""}
    path = tmp_path / "costs.json"
    path.write_text(json.dumps({"rows": [{**row, "first": 1.0, "third": None, "memory": 5.0}]}))
    assert costs.read_probes(path) == {PAIR: Probe("ok", "", 1.0, None, 5.0)}
    assert costs.read_probes(tmp_path / "none.json") == {}
