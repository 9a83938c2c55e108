import json
from pathlib import Path
from typing import Any

import bench_facts
import bench_filter
import pytest

from gclbench.machine.environment import device_name


def test_facts_say_where_and_beside_which_load(tmp_path: Path) -> None:
    facts = bench_facts.begun("some", threads=1)
    assert facts["benchmark"] == "some" and facts["device"] == device_name("cpu")
    assert facts["threads"] == 1 and "threads" not in bench_facts.begun("some")
    assert {"commit", "torch"} <= set(facts["environment"])
    bench_facts.write(tmp_path / "new" / "some.json", facts, lambda facts: f"{facts['load_after']}")
    written = json.loads((tmp_path / "new" / "some.json").read_text())
    assert written == facts and len(written["load_before"]) == len(written["load_after"]) == 3
    assert (tmp_path / "new" / "some.md").read_text() == str(facts["load_after"])


@pytest.mark.parametrize(
    ("output", "files"),
    [
        ("v1.json", {"v1.json", "v1.md"}),
        ("v1", {"v1.json", "v1.md"}),
        ("v1.2", {"v1.2.json", "v1.2.md"}),
    ],
)
def test_both_files_stand_side_by_side(output: str, files: set[str], tmp_path: Path) -> None:
    facts: dict[str, Any] = {"rows": []}
    bench_facts.keep(tmp_path / output, facts, lambda _: "a page")
    assert {path.name for path in tmp_path.iterdir()} == files
    assert facts == {"rows": []}, "what is kept as it is has no moment of its own"


def test_without_a_file_the_page_can_still_be_printed() -> None:
    facts: dict[str, Any] = {}
    bench_facts.write(None, facts, lambda _: "a page")
    assert len(facts["load_after"]) == 3


def test_a_report_of_the_filter_is_whole_without_a_file() -> None:
    """gpu_check makes its page of it."""
    page = bench_filter.markdown(bench_filter.report([], "cpu", repeats=1))
    assert page.startswith("# GnnBP filter on ")
