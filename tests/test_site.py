"""The documentation site: it builds without a warning, its commands do what they say, and the
reference has every setting."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from test_readme import call

from gclbench.cli import main
from gclbench.component.declared import declared
from gclbench.component.registry import GROUPS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BLOCK = re.compile(
    r"^(?:<!-- (run|plan|file|elsewhere:) ?(\S*) ?-->\n)?```(\w*)\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
"""A block of a page. `run` is executed as it stands, `plan` with --dry-run, for what takes hours;
`file NAME` is written, `elsewhere: FILE` is executed by another test. Blocks of a page run in order
in one folder, with what is in results/."""

FOLLOWED = {"first-hour": "test_first_hour.py"}
"""Pages that another test follows from the first line to the last."""


def blocks(page: Path) -> list[tuple[str, str, str, str]]:
    """(how, name, language, text) of each block; how is empty where it is not marked."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def marked(page: Path) -> list[tuple[str, str, str, str]]:
    """Those that are executed or written here."""
    return [block for block in blocks(page) if block[0] in ("run", "plan", "file")]


PAGES = [page for page in sorted(DOCS.glob("*.md")) if marked(page)]


def newest(folder: Path) -> str:
    """The id of the run that was recorded last; what RUN stands for on a page."""
    records = list(folder.glob("runs/*/record.json"))
    return max(records, key=lambda path: path.stat().st_mtime_ns).parent.name if records else "RUN"


def commands(text: str) -> list[list[str]]:
    return [
        shlex.split(line, comments=True) for line in text.splitlines() if line.strip(" #") != ""
    ]


def test_pages_for_a_beginner_have_commands_that_run() -> None:
    names = {page.stem for page in PAGES}
    assert {"install", "start", "data", "statistics", "python", "search", "embeddings"} <= names
    marks = sum(
        len(re.findall(r"^<!-- (?:run|plan|file \S+) -->$", page.read_text("utf-8"), re.MULTILINE))
        for page in PAGES
    )
    assert marks == sum(len(marked(page)) for page in PAGES), "a mark stands before no block"


def test_every_block_with_a_command_is_executed() -> None:
    for page in sorted(DOCS.glob("*.md")):
        if page.stem in FOLLOWED:
            text = (ROOT / "tests" / FOLLOWED[page.stem]).read_text(encoding="utf-8")
            assert page.name in text
            continue
        for how, name, _, text in blocks(page):
            if re.search(r"^gclbench ", text, re.MULTILINE):
                assert how, f"{page.name}: {text}"
            if how == "elsewhere:":
                assert (ROOT / name).is_file(), name


@pytest.mark.parametrize(
    "page", [*sorted(DOCS.glob("*.md")), ROOT / "README.md"], ids=lambda page: page.stem
)
def test_runs_that_a_sentence_names_can_be_planned(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if page.stem == "extending":
        return  # its components are the reader's own
    monkeypatch.chdir(tmp_path)
    numpy.savez("graph.npz", x=numpy.eye(3), edge_index=[[0, 1], [1, 2]], y=[0, 1, 1])
    for command in re.findall(r"`gclbench ((?:-m )?\w+=[^`]+)`", page.read_text(encoding="utf-8")):
        if not re.search(r"…|=[A-Z]", command):
            code = main([*shlex.split(command), "--dry-run"])
            assert code == 0, (command, capsys.readouterr().err)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_do_what_they_say(page: Path, mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "results").symlink_to(ROOT / "results")
    for number, (how, name, language, text) in enumerate(marked(page)):
        if how == "file":
            (tmp_path / name).write_text(text, encoding="utf-8")
            continue
        if language == "python":
            script = tmp_path / f"block{number}.py"
            script.write_text(text, encoding="utf-8")
            done = call(tmp_path, script.name)
            assert done.returncode == 0, done.stdout + done.stderr
            continue
        for command in commands(text):
            assert command[0] == "gclbench", command
            words = [newest(tmp_path) if word == "RUN" else word for word in command[1:]]
            done = call(
                tmp_path, "-m", "gclbench", *words, *(["--dry-run"] if how == "plan" else [])
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            assert done.stdout
            if "--output" in words:
                assert (tmp_path / words[words.index("--output") + 1]).stat().st_size > 100


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_has_every_page(site: Path) -> None:
    built = {path.stem for path in site.glob("*.html")}
    assert {page.stem for page in DOCS.glob("*.md")} | {"reference"} <= built
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "<!-- run -->" not in text and "fonts.googleapis" not in text, path


@pytest.mark.slow
def test_the_reference_has_every_setting_with_its_default_and_a_text(site: Path) -> None:
    page = (site / "reference.html").read_text(encoding="utf-8")
    rows = {
        found[1]: found[2]
        for found in re.finditer(
            r"<tr>\s*<td><code>([\w.]+)</code></td>(.*?)</tr>", page, re.DOTALL
        )
    }
    assert len(rows) > 150
    empty = [name for name, cells in rows.items() if re.search(r"<td></td>\s*$", cells)]
    assert empty == []
    for kind, registry in GROUPS.items():
        for name, entry in registry.entries.items():
            if entry.builtin:
                prefix = f"task.{name}" if kind == "task" else kind
                for setting in declared(registry, name).defaults:
                    assert f"{prefix}.{setting}" in rows
    assert 'id="methodgrace"' in page
