"""Versions of components in records, beside the code's."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from gclbench.component.declared import declared
from gclbench.component.registry import KINDS
from gclbench.paper import matrix
from gclbench.paper.aggregate import group_records
from gclbench.paper.comparison import compare
from gclbench.paper.component_versions import (
    PARTS,
    REDONE,
    age,
    of_newest_versions,
    others,
    recorded_seeds,
    sentence,
)
from gclbench.paper.drawing.selection import most
from gclbench.paper.own_tables import missing_runs, own_tables
from gclbench.paper.sources import Collection
from gclbench.paper.summary import printed_cells
from gclbench.paper.tables import find_table
from gclbench.records import Record

OLD = {"method.name": "grace", "versions.method": "0", "negatives.name": "uniform"}


@pytest.mark.parametrize("part", PARTS)
def test_the_source_says_the_version_that_the_class_has(part: str) -> None:
    kind = KINDS[part]
    ours = [name for name, entry in kind.entries.items() if entry.builtin]
    assert ours
    for name in ours:
        assert declared(kind, name).version == kind.load(name).version


def test_a_version_is_read_without_importing_what_takes_seconds() -> None:
    code = (
        "import sys\nfrom gclbench.paper.component_versions import others\n"
        f"assert others({OLD})\nsys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_ten_is_newer_than_nine() -> None:
    assert age({"method": "10"}) > age({"method": "9", "negatives": "2"}) > age({"method": "9"})
    assert age({"method": "9", "filter": "2"}, ("method",)) == age({"method": "9"}, ("method",))


def test_only_other_versions_of_ours_are_told() -> None:
    here = KINDS["method"].load("grace").version
    assert others(OLD) == [f"grace 0 (here {here})"]
    assert others({**OLD, "versions.method": here}) == []
    assert others({"method.name": "of_another_package", "versions.method": "0"}) == []
    assert others({"method.name": "grace"}) == []
    told = sentence([("grace on cora", OLD), ("grace on acm", OLD), ("dgi on cora", {})])
    assert told == (
        f"Runs of other versions than the code has: grace 0 (here {here}): grace on cora,"
        " grace on acm."
    )


def of_version(version: str, each: Record) -> Record:
    """The record as if the code had that version of the method then."""
    versions = {**each.spec["versions"], "method": version}
    return replace(each, spec={**each.spec, "versions": versions}, id=f"{each.id[:15]}{version}")


def test_of_two_versions_a_table_has_the_newer_and_says_so(record) -> None:
    now = [record(seed=seed) for seed in range(2)]
    before = [of_version("0", record(seed=seed, metrics={"acc": 0.1})) for seed in range(3)]
    filled = compare(find_table("dmat/1"), Collection((*before, *now)))
    (block,) = (each for each in filled.blocks if each.dataset == "cora")
    assert block.entries["acc", "dmat_i"].ours.n == 2
    assert [entry.ours.n for _, entry in printed_cells([filled]) if entry.ours.n] == [2]
    assert filled.notes == ("cora: 3 runs of dmat_i are not shown, of other versions: method 0.",)
    assert own_tables(Collection((*before, *now))) == []
    # Alone they are shown.
    filled = compare(find_table("dmat/1"), Collection(tuple(before)))
    (block,) = (each for each in filled.blocks if each.dataset == "cora")
    assert block.entries["acc", "dmat_i"].ours.n == 3 and not filled.notes


@pytest.mark.parametrize(("status", "shown"), [("interrupted", 3), ("failed", 0)])
def test_an_interrupted_run_of_the_newer_version_hides_nothing(record, status, shown) -> None:
    before = [of_version("0", record(seed=seed)) for seed in range(3)]
    filled = compare(find_table("dmat/1"), Collection((*before, record(status=status))))
    (block,) = (each for each in filled.blocks if each.dataset == "cora")
    cell = block.entries["acc", "dmat_i"].ours
    assert cell.n == shown and (cell.show_absent() == "failed ×1") == (not shown)
    assert len(filled.notes) == 1


def test_versions_are_told_beside_a_dagger_and_in_the_matrix(record) -> None:
    runs = [record(tau=0.4), of_version("0", record(tau=0.4))]
    _, told = compare(find_table("dmat/1"), Collection(tuple(runs))).notes
    assert told == "cora: 1 run of dmat_i is not shown, of other versions: method 0."
    run = record(method="grace", task="classification", metrics={"accuracy": 0.8})
    filled = compare(matrix.table(("cora",)), Collection((run, of_version("0", run))))
    told = "cora: 1 run of grace with uniform is not shown, of other versions: method 0."
    assert told in filled.notes


def test_a_figure_takes_the_newest_version_and_not_the_one_with_more_runs(record) -> None:
    now = [record(seed=seed) for seed in range(2)]
    before = [of_version("0", record(seed=seed)) for seed in range(3)]
    shown = most(group_records([*before, *now]))
    assert shown is not None and [each.id for each in shown.records] == [each.id for each in now]


def test_versions_are_of_one_setting(record) -> None:
    now, other = record(epochs=3), of_version("0", record(epochs=4))
    groups = group_records([of_version("0", now), now, other])
    assert [group.records for group in of_newest_versions(groups)] == [
        group.records for group in groups if group.records != (of_version("0", now),)
    ]


def test_seeds_that_need_no_run(record) -> None:
    there = [record(), record(seed=1, status="failed"), record(seed=2, status=REDONE)]
    assert recorded_seeds(there) == {0, 1}
    assert recorded_seeds([of_version("0", each) for each in there]) == set()


@pytest.mark.parametrize("table", ["own", "matrix"])
def test_a_run_of_an_older_version_is_asked_for_anew(record, table: str) -> None:
    def asked(runs: list[Record]) -> str:
        if table == "matrix":
            filled = compare(matrix.table(("cora",)), Collection(tuple(runs)))
            lines = matrix.commands(filled, 1, all_cells=False)
            return "".join(line for line in lines if "method=grace " in line)
        filled = [
            compare(own, Collection(tuple(runs))) for own in own_tables(Collection(tuple(runs)))
        ]
        return "".join(line for own in filled for line in missing_runs(own, 1))

    graph = {"own": "digits", "matrix": "cora"}[table]
    there = [
        record(method="grace", dataset=graph, task=task, metrics={metric: 0.8})
        for task, metric in (("classification", "accuracy"), ("clustering", "nmi"))
    ]
    word = {"own": "seeds=1", "matrix": "negatives=uniform"}[table]
    assert word not in asked(there)
    assert word in asked([of_version("0", each) for each in there])
    assert word in asked([replace(each, status=REDONE, metrics={}) for each in there])
