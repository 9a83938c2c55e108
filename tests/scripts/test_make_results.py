"""What is made from the committed records, and what should not lie beside it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def script() -> dict[str, object]:
    return runpy.run_path(str(ROOT / "scripts" / "make_results.py"))


def test_files_that_nothing_makes_are_found(script, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in script["MADE"]:
        folder.mkdir(parents=True)
        (folder / "kept.md").write_text("")
    (tmp_path / "results" / "tables" / "old").mkdir()
    (tmp_path / "results" / "tables" / "old" / "dmat-9.md").write_text("")
    (tmp_path / "results" / "NOTES.md").write_text("")
    made = {folder / "kept.md": b"" for folder in script["MADE"]}
    assert script["unexpected"](made) == [Path("results/tables/old/dmat-9.md")]


def test_readme_block_is_a_table_and_a_figure(script, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    from gclbench.paper.sources import Collection

    lines = script["readme_block"](Collection()).splitlines()
    assert (
        lines[2]
        == "| acm | not run | 91.60 ± 0.70 | not run | 70.95 ± 1.44 | not run | 76.72 ± 1.75 |"
    )
    assert lines[-1].startswith("![") and lines[-1].endswith(".svg)")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(text.count(marker) == 1 for marker in script["MARKERS"])


def test_a_row_below_print_has_to_be_quoted_in_the_notes(script, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    from gclbench.paper.sources import Collection

    made = script["made"].__globals__
    found = {}
    monkeypatch.setitem(
        made, "untold", lambda tables, quoted: found.update(quoted=[*quoted]) or ["a row"]
    )
    for name in ("figures", "report", "costs", "baseline_seeds"):
        monkeypatch.setitem(made, name, _Nothing())
    monkeypatch.setitem(made, "readme_block", lambda records: "")
    _, told = script["made"](Collection())
    assert ("a row", False) in told
    assert "mmix/2; cora; mvgrl; accuracy; printed" in found["quoted"]
    # docs/tables.md explains references by the first, in code; README and docs are no notes.
    assert "dmat/1; cora; dmat_i; acc; seed 2" not in found["quoted"]
    assert "dmat/4; pubmed; dmat_i; seconds; printed" not in found["quoted"]


def test_typed_numbers_are_found_in_choices_and_sources(
    script, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for name in ("choices", "sources", "sweeps"):
        (tmp_path / "docs" / f"{name}.md").write_text("It has 73.5.\n")
    pages, told = script["prose"](None)
    assert sorted(path.stem for path in pages) == ["choices", "sources", "sweeps"]
    assert [text.partition(": ")[0] for text, _ in told] == [
        "docs/choices.md:1",
        "docs/sources.md:1",
    ]


class _Nothing:
    """Makes nothing."""

    def __getattr__(self, name: str) -> object:
        return lambda *values: {} if name == "files" else ""
