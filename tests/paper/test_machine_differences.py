"""Where runs were computed with other threads, precision, instructions, device or libraries."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from gclbench.paper.machine_differences import beside, differing, sentence
from gclbench.records import Record


def made(
    seed: int, status: str = "ok", device: str = "a", tau: float = 1.0, **facts: str
) -> Record:
    spec: dict[str, Any] = {"method": {"name": "grace", "tau": tau}, "seed": seed}
    return Record(f"{seed}-{tau}", spec, status, device=device, environment=facts)


def test_what_differs_is_counted() -> None:
    runs = [made(0, threads="1"), made(1, threads="2"), made(2, threads="2", precision="float32")]
    assert differing(runs) == {"threads": Counter({"2": 2, "1": 1})}, "old records are float32"
    assert differing([*runs[:2], made(3, device="b", threads="1", precision="fast")]) == {
        "threads": Counter({"1": 2, "2": 1}),
        "precision": Counter({"float32": 2, "fast": 1}),
        "device": Counter({"a": 2, "b": 1}),
    }
    assert differing([made(0, threads="1"), made(1, "failed", threads="2")]) == {}


def test_fast_products_of_two_kinds_are_a_difference() -> None:
    """`fast` is another thing on a GPU than on a processor."""
    kinds = [made(0, precision="fast", fast_products=kind) for kind in ("TF32", "bfloat16")]
    assert differing(kinds) == {"precision": Counter({"fast (TF32)": 1, "fast (bfloat16)": 1})}
    assert differing([kinds[0], kinds[0]]) == {}


def test_other_instructions_are_a_difference_and_unknown_ones_are_none() -> None:
    old, wide = [made(0), made(1)], [made(2, instructions="AVX512")]
    assert differing([*old, *wide]) == {}, "nothing is guessed for runs from before"
    narrow = made(3, instructions="AVX2")
    assert differing([*old, *wide, narrow]) == {
        "instructions": Counter({"not recorded": 2, "AVX512": 1, "AVX2": 1})
    }
    assert differing([*wide, narrow]) == {"instructions": Counter({"AVX512": 1, "AVX2": 1})}
    assert beside(old[0], [*old, *wide]) == [] == beside(wide[0], [*old, *wide])
    assert beside(narrow, [*old, *wide, narrow]) == [
        "instructions: this run AVX2; its cell AVX2 (1 run), AVX512 (1 run), not recorded (2 runs)"
    ]
    assert sentence([("gat on cora", [*old, *wide])]) == ""
    assert sentence([("gat on cora", [*wide, narrow])]) == (
        "Runs of one cell differ in instructions: gat on cora (gclbench show ID)."
    )


def test_a_tables_note_names_its_cells() -> None:
    mixed = [made(0, threads="1"), made(1, threads="2")]
    assert sentence([("grace on cora", [made(0)]), ("dgi on acm", [])]) == ""
    assert sentence([("grace on cora", mixed), ("dgi on acm", [made(0)])]) == (
        "Runs of one cell differ in threads: grace on cora (gclbench show ID)."
    )
    cells = [(f"grace on {name}", mixed) for name in "abcda"]
    assert "threads: grace on a, grace on b, grace on c and 1 more (" in sentence(cells)


def test_a_run_is_held_against_the_other_seeds_of_its_cell() -> None:
    run, others = made(0, threads="1"), [made(1, threads="2"), made(2, threads="2")]
    assert beside(run, [run, *others]) == ["threads: this run 1; its cell 1 (1 run), 2 (2 runs)"]
    assert beside(run, [run, made(1, threads="2", tau=0.5)]) == [], "another cell"


def test_storage_and_libraries_are_told() -> None:
    one, other = made(0, torch="2.13", scipy="1.17"), made(1, torch="2.12", scipy="1.17")
    assert differing([one, other]) == {
        "libraries": Counter({"torch 2.13, scipy 1.17": 1, "torch 2.12, scipy 1.17": 1})
    }
    assert differing([one, made(1)]) == {}, "nothing is guessed for runs from before"
    short = replace(one, id="short", filter_report={"storage": "bfloat16"})
    assert differing([one, short]) == {
        "storage of filtered features": Counter({"float32": 1, "bfloat16": 1})
    }


def test_some_facts_alone_of_other_records() -> None:
    mixed = [made(0, threads="1", precision="fast"), made(1, threads="2")]
    assert sentence([("cora", mixed)], "Ranked columns of a row", ("precision",)) == (
        "Ranked columns of a row differ in precision: cora (gclbench show ID)."
    )
    assert sentence([("cora", mixed)], facts=("device",)) == ""
