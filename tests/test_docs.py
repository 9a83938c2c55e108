"""What the pages promise: links that resolve, a source for every method, no notes from outside the
repository."""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from pathlib import Path

import pytest

from gclbench.component.registry import METHODS

ROOT = Path(__file__).resolve().parent.parent
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


MADE = ("docs/reference.md",)
"""Pages that the site makes from the code (scripts/reference.py)."""


def dead(path: Path) -> list[str]:
    """The page's links whose file or heading does not exist."""
    broken = []
    for link in links(path):
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        made = target.is_relative_to(ROOT) and name(target) in MADE
        missing = not (target.exists() or made) or not target.is_relative_to(ROOT)
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
    [page for page in PAGES if page != CHANGELOG],
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


def test_the_contents_of_the_sources_have_every_paragraph_in_order() -> None:
    page = ROOT / "docs" / "sources.md"
    listed = [link.removeprefix("#") for link in links(page) if link.startswith("#")]
    headings = re.findall(r"^#{1,2} +(.+?) *$", prose(page.read_text(encoding="utf-8")), re.M)[1:]
    slugs = [re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings]
    assert listed[: len(slugs)] == slugs


@pytest.mark.parametrize("folder", ["gclbench", "configs", "scripts", "tests"])
def test_pages_that_the_code_names_exist(folder: str) -> None:
    missing = {
        f"{name(path)}: {page}"
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".yaml", ".sh"} and "__pycache__" not in path.parts
        for page in re.findall(
            r"\b(?:docs|results/notes)/[\w]+\.md\b", path.read_text(encoding="utf-8")
        )
        if not (ROOT / page).is_file() and page not in MADE
    }
    assert missing == set()


CITED = re.compile(
    r"\b(?:METHODS|DESIGN|ANCHORS)\s+(?:section\s+)?\d|\b(?:METHODS|DESIGN|ANCHORS|TABLES)\.md\b"
    r"|\b(?:METHODS|DESIGN|ANCHORS)\s+(?:has|have|says?|asks?|prints?)\b"
)
"""Notes that are not in the repository, cited; METHODS alone is a registry."""

NUMBERED = re.compile(
    r"\b(?i:papers?)\s+00[0-4]\b|\b00[0-4](?:'s\b|,?\s+(?:Table|Figure|Eqs?\.|section)\b)"
)
"""A paper by the number of a file that is not in the repository; its name is in docs/papers.md."""

CODE = [
    path
    for folder in ("gclbench", "configs", "scripts", "tests")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".yaml", ".sh"}
    and "__pycache__" not in path.parts
    and path != Path(__file__).resolve()
]


def words(path: Path) -> str:
    """What a reader of the file reads as prose, on one line: of Python its comments and strings,
    whose lone words are names and paths; of others everything."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        text = " ".join(
            token.string for token in tokens if token.type in kinds and " " in token.string
        )
    return re.sub(r"[\s#]+", " ", text)


@pytest.mark.parametrize("pattern", [CITED, NUMBERED], ids=["notes", "papers by number"])
def test_no_code_cites_notes_from_outside(pattern: re.Pattern[str]) -> None:
    found = [f"{name(path)}: {hit}" for path in CODE for hit in pattern.findall(words(path))]
    assert not found, "\n".join(
        ["cite the paper's name, docs/sources.md or docs/choices.md", *found]
    )


@pytest.mark.parametrize("page", [page for page in PAGES if page != CHANGELOG], ids=name)
def test_no_page_names_a_paper_by_a_number(page: Path) -> None:
    assert NUMBERED.findall(page.read_text(encoding="utf-8")) == []


def test_citations_are_told_from_names(tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    file.write_text(
        '"""Paper 000 is cited here\n(METHODS\n3.5), and METHODS is a registry."""\n'
        "# DESIGN section 2\n"
        'METHODS = {"TABLES.md": 1}\n'
        'print(f"{METHODS} of METHODS says, of 002\'s Table 8")\n'
    )
    assert CITED.findall(words(file)) == ["METHODS 3", "DESIGN section 2", "METHODS says"]
    assert NUMBERED.findall(words(file)) == ["Paper 000", "002's"]


def test_what_the_code_cites_of_the_sources_is_there() -> None:
    headings = anchors(ROOT / "docs" / "sources.md")
    cited = {
        (name(path), heading)
        for path in CODE
        for heading in re.findall(r"docs/sources\.md(?:#|, )(\w+)", words(path))
    }
    assert {(file, heading) for file, heading in cited if heading not in headings} == set()
