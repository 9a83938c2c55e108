from __future__ import annotations

import gc
import logging
from pathlib import Path

import pytest

from gclbench.paper.aggregate import group_records
from gclbench.paper.sources import MissingStore, collect
from gclbench.records import Store, pack


def test_a_run_in_two_stores_is_taken_once(record, tmp_path: Path) -> None:
    one, other = str(tmp_path / "results"), str(tmp_path / "runs")
    pack([record(seed=0), record(seed=1)], Path(one))
    Store(other).write(record(seed=1))
    Store(other).write(record(seed=2))
    found = collect([one, other])
    assert sorted(item.seed for item in found.records) == [0, 1, 2]
    assert found.per_store(found.records) == {one: 2, other: 1}


def test_the_one_that_is_ok_wins_and_the_difference_is_named(
    record, tmp_path: Path, caplog
) -> None:
    one, other = str(tmp_path / "a"), str(tmp_path / "b")
    Store(one).write(record(status="failed", created="2026-02-01"))
    Store(other).write(record(created="2026-01-01"))
    with caplog.at_level(logging.WARNING):
        found = collect([one, other])
    assert [item.status for item in found.records] == ["ok"] and found.origin[
        found.records[0].id
    ] == other
    assert "differs between" in caplog.text


def test_default_stores_are_those_that_exist(record, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert collect().stores == ()
    Store("runs").write(record())
    assert collect().stores == ("runs",) and len(collect().records) == 1


def test_a_named_store_must_exist(tmp_path: Path) -> None:
    with pytest.raises(
        MissingStore, match=r"there is no folder '.*nowhere'; name folders of records with --runs"
    ):
        collect([str(tmp_path / "nowhere")])


def test_groups_are_made_once_and_are_those_of_group_records(record, tmp_path: Path) -> None:
    for seed in range(3):
        Store(tmp_path).write(record(seed=seed))
    found = collect([str(tmp_path)])
    assert found.groups is found.groups
    assert [group.records for group in found.groups] == [
        group.records for group in group_records(found.records)
    ]


def test_warnings_of_all_stores_are_kept(record, tmp_path: Path) -> None:
    for name in ("a", "b"):
        Store(tmp_path / name).write(record(metrics={"acc": len(name) + ord(name)}))
        (tmp_path / name / "bad.jsonl").write_text("{}\n")
    warnings = collect([str(tmp_path / "a"), str(tmp_path / "b")]).warnings
    assert ["bad.jsonl line 1" in text for text in warnings] == [True, True, False]
    assert "differs between" in warnings[2]


def test_reading_leaves_the_garbage_collector_as_it_was(record, tmp_path: Path) -> None:
    Store(tmp_path).write(record())
    assert gc.isenabled()
    collect([str(tmp_path)])
    assert gc.isenabled()
    gc.disable()
    try:
        collect([str(tmp_path)])
        assert not gc.isenabled()
    finally:
        gc.enable()
