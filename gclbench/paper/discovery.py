"""The papers that there are: modules of `papers/`, and those of other installed packages."""

from __future__ import annotations

import functools
import importlib
import logging
import pkgutil
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from gclbench.paper.printed_file import UnreadableFile, filed
from gclbench.paper.publication import Paper

log = logging.getLogger(__name__)

FOLDER = Path(__file__).with_name("papers")
PACKAGE = "gclbench.paper.papers"
GROUP = "gclbench.papers"
"""The entry-point group of other packages: `name = "module"` or `name = "module:PAPER"`."""


class PaperError(ValueError):
    """A module gives no paper, one whose values cannot be read, or one of a name that is taken; the
    text says which."""


def papers() -> dict[str, Paper]:
    """Every paper by name: alphabetically, tables of ours last.

    A paper of another package that cannot be had is left out, as `faults` says: commands that do
    not ask for it go on.

    Raises:
        PaperError: a module of `papers/` has no `PAPER`, or a name is taken twice there.
    """
    _warn()
    return readable()


def readable() -> dict[str, Paper]:
    """The same, without a warning of those that are left out."""
    return _found()[0]


def faults() -> tuple[str, ...]:
    """Why papers of other packages are left out: a sentence for each."""
    return _found()[1]


@functools.cache
def _warn() -> None:
    """Once in a process."""
    for fault in faults():
        log.warning("%s; the paper is left out", fault)


@functools.cache
def _found() -> tuple[dict[str, Paper], tuple[str, ...]]:
    found: dict[str, tuple[Paper, str]] = {}
    for paper, origin in _builtin():
        _add(paper, origin, found)
    left_out = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        origin = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        try:
            _add(_with_values(_paper(_loaded(point, origin), origin), origin), origin, found)
        except PaperError as error:
            left_out.append(str(error))
    ordered = sorted(
        (paper for paper, _ in found.values()), key=lambda each: (each.ours, each.name)
    )
    return {paper.name: paper for paper in ordered}, tuple(left_out)


def _add(paper: Paper, origin: str, found: dict[str, tuple[Paper, str]]) -> None:
    if paper.name in found:
        raise PaperError(
            f"paper '{paper.name}' of {origin} is also defined by {found[paper.name][1]};"
            " rename one of them"
        )
    found[paper.name] = (paper, origin)


def _with_values(paper: Paper, origin: str) -> Paper:
    """The paper, whose printed values can be read."""
    try:
        filed(paper.values or ())
    except UnreadableFile as error:
        raise PaperError(f"paper '{paper.name}' of {origin}: {error}") from error
    return paper


def _builtin() -> Iterator[tuple[Paper, str]]:
    for module in pkgutil.iter_modules([str(FOLDER)]):
        name = f"{PACKAGE}.{module.name}"
        yield _paper(importlib.import_module(name), name), name


def _loaded(point: EntryPoint, origin: str) -> Any:
    try:
        return point.load()
    except Exception as error:  # whatever the code of another package raises while it is imported
        raise PaperError(
            f"paper '{point.name}' of {origin} cannot be loaded from {point.value}:"
            f" {type(error).__name__}: {' '.join(str(error).split())}"
        ) from error


def _paper(found: Any, origin: str) -> Paper:
    paper = found if isinstance(found, Paper) else getattr(found, "PAPER", None)
    if not isinstance(paper, Paper):
        raise PaperError(
            f"{origin} gives no paper; its module defines"
            " PAPER = Paper(name=…, title=…, tables=…) (docs/papers.md)"
        )
    return paper
