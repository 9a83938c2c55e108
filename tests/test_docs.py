"""What the pages promise: links that resolve, a source for every method, no notes from outside the
repository."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from gclbench.component.registry import METHODS

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ROOT / "results" / "tables"
CHANGELOG = ROOT / "CHANGELOG.md"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "results").rglob("*.md")),
]
"""Every page of the repository; folders that only a working copy has are left out."""

OUTSIDE = re.compile(r"\b(?:METHODS|DESIGN|ANCHORS)\b|\bTABLES\.md\b")
"""Notes that are not in the repository."""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(text: str) -> str:
    """The text without fenced blocks."""
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """What a link to a heading of the page may name, as GitHub makes it: small letters, digits and
    underscores, a hyphen for a space, a number behind a heading that stood before."""
    found: set[str] = set()
    seen: Counter[str] = Counter()
    for heading in re.findall(
        r"^#{1,6} +(.+?) *$", prose(path.read_text(encoding="utf-8")), flags=re.MULTILINE
    ):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def links(path: Path) -> list[str]:
    """Targets of the page's links and pictures that lie in the repository."""
    text = re.sub(r"`[^`\n]*`", "", prose(path.read_text(encoding="utf-8")))
    targets = re.findall(r"\]\(([^()\s]+)\)", text)
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def dead(path: Path) -> list[str]:
    """The page's links whose file or heading does not exist."""
    broken = []
    for link in links(path):
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        missing = not target.exists() or not target.is_relative_to(ROOT)
        if missing or (anchor and (target.suffix != ".md" or anchor not in anchors(target))):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_resolves(page: Path) -> None:
    assert dead(page) == []


def test_dead_links_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    other = tmp_path / "other.md"
    other.write_text("# A title, `code` too\n\n## age\n\n## age\n\n```\n# no_heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](other.md#a-title-code-too) [c](other.md#age-1) [d](https://x.org/none)\n"
        "[e](none.md) [f](other.md#age-2) [g](#here) ![h](none.svg) [i](other.md#no_heading)\n"
        "[j](../outside.md) `[k](none.md)`\n\n```\n[l](none.md)\n```\n"
    )
    assert dead(page) == [
        "none.md",
        "other.md#age-2",
        "#here",
        "none.svg",
        "other.md#no_heading",
        "../outside.md",
    ]


def test_the_pages_that_people_start_from_have_links() -> None:
    for page in (ROOT / "README.md", ROOT / "results" / "NOTES.md"):
        assert len(links(page)) > 5, page


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page != CHANGELOG and GENERATED not in page.parents],
    ids=name,
)
def test_no_page_cites_notes_from_outside(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", prose(page.read_text(encoding="utf-8")))
    assert OUTSIDE.findall(text) == [], "cite the paper, docs/sources.md or docs/choices.md"


def test_every_method_has_a_paragraph_on_its_sources() -> None:
    headings = anchors(ROOT / "docs" / "sources.md")
    ours = [each for each, entry in METHODS.entries.items() if entry.builtin]
    assert len(ours) > 20
    assert [each for each in ours if each not in headings] == []


@pytest.mark.parametrize("folder", ["gclbench", "configs", "scripts", "tests"])
def test_pages_that_the_code_names_exist(folder: str) -> None:
    missing = {
        f"{name(path)}: {page}"
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".yaml", ".sh"} and "__pycache__" not in path.parts
        for page in re.findall(
            r"\b(?:docs|results/notes)/[\w]+\.md\b", path.read_text(encoding="utf-8")
        )
        if not (ROOT / page).is_file()
    }
    assert missing == set()
