"""The store that a printed command's runs go to: the one that was looked in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

RUN = re.compile(r"`(gclbench (?:-m |sweep |[\w.]+=)[^`]*)`")
"""A command in a sentence that makes runs."""


def into(stores: Sequence[str] | None) -> str:
    """What a command needs besides for its runs to go to the one store that was looked in: `
    runs_dir=DIR`; nothing where that is the store of every run, or one of exported records."""
    from gclbench.paper.sources import DEFAULT_STORES, RESULTS

    if not stores or len(stores) > 1 or stores[0] in DEFAULT_STORES:
        return ""
    if Path(stores[0]).resolve().is_relative_to(Path(RESULTS).resolve()):
        return ""
    return f" {shlex.quote(f'runs_dir={_text(stores[0])}')}"


def _text(folder: str) -> str:
    """A folder as a value of an override; blanks need no quotes beside the shell's."""
    from gclbench.config.quoting import quoted

    return quoted(folder) if set(folder) & set("',\"{}[]()=\\") else folder


def with_store(text: str, stores: Sequence[str] | None) -> str:
    """A sentence whose commands have what `into` says."""
    place = into(stores)
    return RUN.sub(lambda found: f"`{found[1]}{place}`", text)
