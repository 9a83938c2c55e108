"""The report: every table, figure and cell of the papers as one HTML file that needs no network and
no scripts. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gclbench.paper.report.document import document
from gclbench.paper.sources import Collection
from gclbench.records import deliver

__all__ = ["page", "write"]


def page(collection: Collection, added: Sequence[str] = ()) -> str:
    """The report on some records as HTML; the same records give the same text.

    Args:
        added: methods and settings, as typed, that stand as rows in the papers' tables.

    Raises:
        UnknownName, ConfigErrors, ValueError: for what is no method, or has no runs of any table.
    """
    return document(collection, added)


def write(collection: Collection, path: Path, added: Sequence[str] = ()) -> tuple[int, str]:
    """Writes the report; returns its size in bytes, and what `deliver` says of its folder.

    Raises:
        UnknownName, ConfigErrors, ValueError: as `page`.
        OSError: when it cannot be written; a report that was there stays as it was.
    """
    content = page(collection, added).encode()
    return len(content), deliver(path, content)
