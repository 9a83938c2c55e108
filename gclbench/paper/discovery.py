"""The papers that there are: modules of `papers/`, and those of other installed packages."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from gclbench.paper.publication import Paper

FOLDER = Path(__file__).with_name("papers")
PACKAGE = "gclbench.paper.papers"
GROUP = "gclbench.papers"
"""The entry-point group of other packages: `name = "module"` or `name = "module:PAPER"`."""


class PaperError(ValueError):
    """A module gives no paper, or two give one of the same name; the text says which."""


@functools.cache
def papers() -> dict[str, Paper]:
    """Every paper by name: alphabetically, tables of ours last.

    Raises:
        PaperError: a module cannot be imported or has no `PAPER`, or a name is taken twice.
    """
    found: dict[str, tuple[Paper, str]] = {}
    for paper, origin in (*_builtin(), *_outside()):
        if paper.name in found:
            raise PaperError(
                f"paper '{paper.name}' of {origin} is also defined by {found[paper.name][1]};"
                " rename one of them"
            )
        found[paper.name] = (paper, origin)
    ordered = sorted(
        (paper for paper, _ in found.values()), key=lambda each: (each.ours, each.name)
    )
    return {paper.name: paper for paper in ordered}


def _builtin() -> Iterator[tuple[Paper, str]]:
    for module in pkgutil.iter_modules([str(FOLDER)]):
        name = f"{PACKAGE}.{module.name}"
        yield _paper(importlib.import_module(name), name), name


def _outside() -> Iterator[tuple[Paper, str]]:
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        origin = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        yield _paper(_loaded(point, origin), origin), origin


def _loaded(point: EntryPoint, origin: str) -> Any:
    try:
        return point.load()
    except (ImportError, AttributeError, ValueError) as error:
        raise PaperError(
            f"paper '{point.name}' of {origin} cannot be loaded from {point.value}: {error}"
        ) from error


def _paper(found: Any, origin: str) -> Paper:
    paper = found if isinstance(found, Paper) else getattr(found, "PAPER", None)
    if not isinstance(paper, Paper):
        raise PaperError(
            f"{origin} gives no paper; its module defines"
            " PAPER = Paper(name=…, title=…, tables=…) (docs/papers.md)"
        )
    return paper
