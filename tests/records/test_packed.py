"""Records packed into files of a method and a dataset: what is merged, kept and replaced."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from example_records import SPEC, another, full_record, record

from gclbench.records import SCHEMA, Record, Store, pack


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_pack_groups_sorts_and_is_read_as_a_store(tmp_path):
    made = [
        record(replace(SPEC, seed=seed, dataset={"name": name}))
        for seed in range(3)
        for name in ("cora", "dblp")
    ]
    odd = another(full_record(), 3)
    written, _ = pack([*reversed(made), odd], tmp_path / "results")
    assert written == [
        tmp_path / "results" / "dmat_i" / "cora.jsonl",
        tmp_path / "results" / "dmat_i" / "dblp.jsonl",
    ]
    lines = written[0].read_text(encoding="utf-8").split("\n")[:-1]
    assert [json.loads(line)["id"] for line in lines] == sorted(
        item.id for item in [*made[::2], odd]
    )
    assert list(Store(tmp_path / "results").scan()) == sorted(
        [*made, odd], key=lambda item: item.id
    )
    assert names(tmp_path) == ["results/dmat_i/cora.jsonl", "results/dmat_i/dblp.jsonl"]


def test_pack_again_merges_and_replaces(tmp_path):
    first = [record(replace(SPEC, seed=seed)) for seed in range(3)]
    pack(first, tmp_path)
    newer = replace(first[1], metrics={"acc": 0.9})
    added = record(replace(SPEC, seed=7))
    pack([newer, added], tmp_path)
    found = {item.id: item for item in Store(tmp_path).scan()}
    assert found == {first[0].id: first[0], newer.id: newer, first[2].id: first[2], added.id: added}
    before = (tmp_path / "dmat_i" / "cora.jsonl").read_bytes()
    pack([added, newer], tmp_path)
    assert (tmp_path / "dmat_i" / "cora.jsonl").read_bytes() == before, (
        "the same records make the same bytes"
    )


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_packed_lines_of_one_run_the_ok_one_stays(tmp_path, order):
    """Two branches that are merged leave them."""
    ok, failed = record(), record(status="failed", metrics={}, created="2030-01-01")
    path = tmp_path / "dmat_i" / "cora.jsonl"
    path.parent.mkdir()
    lines = [f"{each.to_json()}\n" for each in (ok, failed)][::order]
    path.write_text("".join(lines), encoding="utf-8")
    added = record(replace(SPEC, seed=7))
    assert pack([added], tmp_path)[1] == []
    assert {each.id: each for each in Store(tmp_path).scan()} == {ok.id: ok, added.id: added}
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2


def test_a_packed_line_of_a_newer_schema_keeps_what_is_unknown_here(tmp_path):
    there = {**json.loads(record().to_json()), "schema": SCHEMA + 1, "of_tomorrow": [1]}
    path = tmp_path / "dmat_i" / "cora.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps(there) + "\n", encoding="utf-8")
    pack([record(replace(SPEC, seed=7)), Record.from_json(json.dumps(there))], tmp_path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert there in lines and len(lines) == 2
    pack([record(metrics={"acc": 0.9})], tmp_path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert not any("of_tomorrow" in line for line in lines) and len(lines) == 2


def test_a_run_with_less_data_replaces_no_packed_one(tmp_path):
    """A course or a criterion is there for those who asked for it; another run did not."""
    plain = record()
    followed = replace(plain, data={"course": [[0, {"acc": 0.1}]]})
    judged = replace(plain, fit={"criteria": {"loss": 1.0}})
    assert pack([followed], tmp_path)[1] == []
    for poorer in (plain, judged):
        assert pack([poorer], tmp_path)[1] == [plain.id]
        assert list(Store(tmp_path).scan()) == [followed]
    both = replace(followed, fit=judged.fit)
    assert pack([both], tmp_path)[1] == []
    assert pack([followed], tmp_path)[1] == [plain.id]
    assert list(Store(tmp_path).scan()) == [both]
    newer = replace(both, metrics={"acc": 0.9})
    assert pack([newer], tmp_path)[1] == []
    assert list(Store(tmp_path).scan()) == [newer]


def test_pack_does_not_drop_what_it_cannot_read(tmp_path):
    pack([record()], tmp_path)
    path = tmp_path / "dmat_i" / "cora.jsonl"
    damaged = path.read_bytes() + b'{"id": "half a rec'
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=f"not valid JSON .*, in {path} line 2"):
        pack([record(replace(SPEC, seed=5))], tmp_path)
    assert path.read_bytes() == damaged


def test_a_store_says_whether_packed_files_stand_in_it(tmp_path):
    store = Store(tmp_path)
    assert not Store(tmp_path / "nowhere").holds_packed()
    store.write(full_record())
    (tmp_path / "wandb").mkdir()
    (tmp_path / "wandb" / "events.jsonl").write_text("")
    assert not store.holds_packed(), "runs of folders, and what is another tool's"
    pack([full_record()], tmp_path / "records")
    assert store.holds_packed() and Store(tmp_path / "records").holds_packed()
