"""Warnings about a store: all are kept, the first few of a kind are logged, the others counted."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

LOGGED = 5
"""Warnings of a kind that are logged one by one."""

UNREADABLE = "files or lines are no readable records; they are left out"
NEWER = "records were written by a newer gclbench; fields unknown here are left out"
DIFFERENT = "runs have several records of different content; the newer one that is ok is used"

log = logging.getLogger(__name__)


@dataclass
class StoreWarnings:
    """Warnings about one store or several.

    Attributes:
        texts: all of them, in order, logged or not.
        logged: False logs none.
    """

    texts: list[str] = field(default_factory=list)
    logged: bool = True
    _counts: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, text: str) -> None:
        """Notes a warning, and logs it as one line if it is among the first of its kind."""
        text = " ".join(text.split())
        self.texts.append(text)
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if self.logged and self._counts[kind] <= LOGGED:
            log.warning("%s", text)

    def sum_up(self, where: str) -> None:
        """Logs how many there were of each kind that was not logged in full, and counts anew."""
        for kind, count in self._counts.items():
            if self.logged and count > LOGGED:
                log.warning(
                    "%s: %d more like these: in all %d %s", where, count - LOGGED, count, kind
                )
        self._counts.clear()
