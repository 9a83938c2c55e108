"""The report: every table, figure and cell of the papers as one HTML file that needs no network and
no scripts. Imports no torch."""

from __future__ import annotations

from pathlib import Path

from gclbench.paper.report.document import document
from gclbench.paper.sources import Collection
from gclbench.records import deliver

__all__ = ["page", "write"]


def page(collection: Collection) -> str:
    """The report on some records as HTML; the same records give the same text."""
    return document(collection)


def write(collection: Collection, path: Path) -> tuple[int, str]:
    """Writes the report; returns its size in bytes, and what `deliver` says of its folder.

    Raises:
        OSError: when it cannot be written; a report that was there stays as it was.
    """
    content = page(collection).encode()
    return len(content), deliver(path, content)
