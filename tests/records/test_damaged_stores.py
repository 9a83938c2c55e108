"""Whatever lies in a store: every reader goes on, and every file that is no record is named."""

from __future__ import annotations

import copy
import json
import logging
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from example_records import another

from gclbench.cli import main
from gclbench.paper.comparison import compare
from gclbench.paper.render import as_csv, markdown
from gclbench.paper.run_summary import closing_table
from gclbench.paper.sources import collect
from gclbench.paper.tables import TABLES
from gclbench.records import Record, Store, StoreError, pack, rows
from gclbench.records.store_warnings import LOGGED

ROOT = Path(__file__).resolve().parents[2]
MUTATIONS = int(os.environ.get("GCLBENCH_MUTATIONS", "200"))
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    3.5,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "nan",
    "\ud800",
    "a/b\\c",
    "../..",
    "line\nline",
    "\x00",
    "<b>",
    [],
    {},
    [[]],
    [1, "a", None],
    {"name": 3},
    {"name": "x", "y": [None]},
    {"": ""},
    {"a": {"b": {"c": [1]}}},
)


@pytest.fixture(scope="module")
def real() -> list[Record]:
    """Committed records of three tasks."""
    found: dict[str, Record] = {}
    for record in Store(ROOT / "results/records/dmat_i").scan():
        found.setdefault(record.name("task"), record)
    return list(found.values())


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where anything stands in plain values; of long lists the first three."""
    found = [path] if path else []
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value[:3])
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        found += places(item, (*path, key))
    return found


def mutated(record: Record, chance: random.Random) -> bytes:
    """A record's text with one thing changed: a value, a key, a key gone, or bytes."""
    text = record.to_json()
    kind = chance.randrange(5)
    if kind == 0:
        raw = bytearray(text.encode())
        for _ in range(chance.randrange(1, 4)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        return bytes(raw)
    if kind == 1:
        start = chance.randrange(len(text))
        return (text[:start] + text[start + chance.randrange(1, 200) :]).encode()
    data = json.loads(text)
    *parents, last = chance.choice(places(data))
    holder = data
    for key in parents:
        holder = holder[key]
    if kind == 2 and isinstance(holder, dict):
        del holder[last]
    elif kind == 3 and isinstance(holder, dict):
        holder[str(chance.choice(VALUES))] = holder.pop(last)
    else:
        holder[last] = copy.deepcopy(chance.choice(VALUES))
    return json.dumps(data).encode()


def read_everything(folder: Path) -> int:
    """What the verbs do with a store; the number of records that were taken."""
    collection = collect([str(folder)])
    for definition in TABLES.values():
        comparison = compare(definition, collection)
        for text in (markdown(comparison), as_csv(comparison)):
            text.encode()
    closing_table(collection.records).plain()
    rows.as_csv(collection.records)
    rows.as_jsonl(collection.records)
    for record in collection.records:
        assert Record.from_json(record.to_json()) == record or "nan" in record.to_json().lower()
    return len(collection.records)


@pytest.mark.slow
def test_mutations_of_real_records_are_taken_or_named(real: list[Record], tmp_path: Path) -> None:
    """Each in a store of its own first, so that a mutation that broke a reader would be known; then
    all tables of all of them at once."""
    chance = random.Random(6)
    taken = named = 0
    for number in range(MUTATIONS):
        content = mutated(chance.choice(real), chance)
        path = tmp_path / "all" / f"{number:04d}" / "record.json"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        alone = tmp_path / "alone" / "record.json"
        alone.parent.mkdir(exist_ok=True)
        shutil.copy(path, alone)
        collection = collect([str(alone.parent)])
        taken += len(collection.records)
        named += any(str(alone) in text for text in collection.warnings)
        assert collection.records or collection.warnings, content
        for record in collection.records:
            name = record.name("task")
            compare(
                TABLES[{"clustering": "dmat/1", "classification": "dmat/2"}.get(name, "dmat/3")],
                collection,
            )
            closing_table([record]).plain()
    assert taken > MUTATIONS / 5 and named > MUTATIONS / 5, (
        "the mutations are too harmless, or too harmful"
    )
    assert read_everything(tmp_path / "all") > 0


def test_verbs_over_mutations(
    real: list[Record], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(7)
    store = tmp_path / "runs"
    store.mkdir()
    (store / "lines.jsonl").write_bytes(
        b"".join(
            mutated(chance.choice(real), chance).replace(b"\n", b" ") + b"\n" for _ in range(200)
        )
    )
    good = another(real[0], 99)
    Store(store).write(good)
    before = logging.root.handlers[:]
    for arguments in (
        ["table", "dmat/1", "--runs", str(store)],
        ["table", "matrix", "--runs", str(store)],
        ["status", str(store)],
        ["show", good.id, "--runs", str(store)],
        ["export", "--runs", str(store), "--output", str(tmp_path / "out.csv")],
        ["export", "--runs", str(store), "--to", str(tmp_path / "packed")],
    ):
        assert main(arguments) in (0, 1), arguments
        assert capfd.readouterr().out
    logging.root.handlers[:] = before


@pytest.fixture
def good(real: list[Record], tmp_path: Path) -> Path:
    """A store with one record."""
    Store(tmp_path / "runs").write(real[0])
    return tmp_path / "runs"


def as_folder(path: Path) -> None:
    path.mkdir()


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


def as_circle(path: Path) -> None:
    path.symlink_to(path.name)


def holding(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content) and None


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (as_folder, "is a folder, not a file"),
        (as_pipe, "neither a file nor a folder"),
        (as_dangling_link, "a link to nothing"),
        (as_circle, "cannot be read"),
        (holding(b""), "it is empty"),
        (holding(b"\x00" * 512), "not valid JSON"),
        (holding(bytes(range(256))), "not UTF-8 at byte 128"),
        (holding(b'{"id": "a", "id": "b"}'), "its key 'id' is there twice"),
        (holding(b"[" * 50_000), "nested too deeply"),
        (
            holding(b'{"runs": [1, 2], "tool": "another"}'),
            "no 'id' field, so not a gclbench record",
        ),
    ],
)
def test_what_is_no_record_is_named_once(
    good: Path, make: Callable[[Path], None], why: str, caplog: Any
) -> None:
    (good / "bad").mkdir()
    make(good / "bad" / "record.json")
    with caplog.at_level(logging.WARNING):
        collection = collect([str(good)])
    assert len(collection.records) == 1
    (warning,) = collection.warnings
    assert (
        f"{good}/bad/record.json" in warning
        and why in warning
        and "left out" in warning
        and "\n" not in warning
    )
    assert [record.getMessage() for record in caplog.records] == [warning]
    assert Store(good).read("bad") is None


def test_a_folder_that_cannot_be_listed_is_named(
    good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse(folder: str) -> Any:
        if str(folder).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    (good / "locked").mkdir()
    monkeypatch.setattr(os, "scandir", refuse)
    collection = collect([str(good)])
    assert len(collection.records) == 1
    assert collection.warnings == (
        f"{good}/locked cannot be listed: Permission denied; what is in it is left out",
    )


def test_many_damaged_files_are_counted(good: Path, caplog: Any) -> None:
    (good / "log.jsonl").write_text('{"step": 1}\n' * 1000)
    with caplog.at_level(logging.WARNING):
        collection = collect([str(good)])
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == LOGGED + 1 and len(collection.warnings) == 1000
    assert "log.jsonl line 5 is not" in told[LOGGED - 1]
    assert (
        told[LOGGED]
        == f"{good}: 995 more like these: in all 1000 files or lines are no readable records; they"
        " are left out"
    )


def test_links_to_folders_are_followed_and_circles_are_not(
    real: list[Record], good: Path, tmp_path: Path
) -> None:
    Store(tmp_path / "elsewhere").write(another(real[0], 99))
    (good / "scratch").symlink_to(tmp_path / "elsewhere")
    (good / "again").symlink_to(tmp_path / "elsewhere")
    (good / "self").symlink_to(good)
    (tmp_path / "elsewhere" / "back").symlink_to(good)
    collection = collect([str(good)])
    assert len(collection.records) == 2 and not collection.warnings


def test_a_record_in_another_runs_folder_is_not_that_run(
    real: list[Record], good: Path, caplog: Any
) -> None:
    shutil.copytree(good / real[0].id, good / "0123456789abcdef")
    with caplog.at_level(logging.WARNING):
        assert Store(good).read("0123456789abcdef") is None
    assert (
        f"it is of run {real[0].id}, so the folder was copied or renamed; it is treated as missing"
        in caplog.text
    )
    assert len(collect([str(good)]).records) == 1, "the copy is the run that it says it is"


def test_settings_that_are_not_those_of_the_id_are_named_and_left_out(
    real: list[Record], good: Path, caplog: Any
) -> None:
    other = another(real[0], 99)
    changed = replace(other, id=real[0].id)
    (path,), _ = pack([changed], good)
    told = (
        f"its id is {real[0].id}, and its settings are those of run {other.id}, so one of the two"
        " was changed; put the file back as it was, or remove it and repeat the run"
    )
    collection = collect([str(good)])
    (warning,) = collection.warnings
    assert warning == f"{path} line 1 is not a readable record: {told}; it is left out"
    assert [record.id for record in collection.records] == [real[0].id]
    with pytest.raises(ValueError, match=f"{told}, in {path} line 1"):
        pack([real[0]], good)
    Store(good).write(changed)
    assert Store(good).read(real[0].id) is None
    assert f"record.json is not a readable record: {told}; it is treated as missing" in caplog.text


@pytest.mark.parametrize("part", ["versions", "dataset_hash", "schema"])
def test_what_cannot_be_told_of_an_id_is_read(real: list[Record], part: str) -> None:
    """A spec that lacks a part, as older ones may, and the record of a newer gclbench."""
    plain = json.loads(replace(real[0], id="0123456789abcdef").to_json())
    if part == "schema":
        plain["schema"] += 1
    else:
        del plain["spec"][part]
    assert Record.from_json(json.dumps(plain)).id == "0123456789abcdef"


def test_nan_is_no_difference_between_stores(real: list[Record], tmp_path: Path) -> None:
    for folder in ("a", "b"):
        Store(tmp_path / folder).write(replace(real[0], metrics={"acc": float("nan")}))
    assert not collect([str(tmp_path / "a"), str(tmp_path / "b")]).warnings


def test_packing_over_damage_raises_nothing_else(real: list[Record], tmp_path: Path) -> None:
    path = tmp_path / real[0].name("method") / f"{real[0].name('dataset')}.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"\xff\n")
    with pytest.raises(ValueError, match=f"utf-8.*, in {path} line 1"):
        pack([real[0]], tmp_path)
    assert path.read_bytes() == b"\xff\n"


def test_what_mlflow_keeps_in_a_store_is_not_looked_at(good: Path) -> None:
    (good / "mlruns" / "1").mkdir(parents=True)
    (good / "mlruns" / "1" / "record.json").write_text("{")
    collection = collect([str(good)])
    assert len(collection.records) == 1 and not collection.warnings


def test_a_store_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert list(Store(tmp_path / "file").scan()) == []
    with pytest.raises(StoreError):
        Store(tmp_path / "file").ensure_writable()
