"""Text in the grammar of overrides."""

from __future__ import annotations

import re

UNQUOTED = re.compile(r"(?!(?:null|true|false|nan|inf)$)[A-Za-z_./][\w./@+-]*", re.IGNORECASE)
"""Text that stays text where an override holds it as it is; other text is quoted."""


def quoted(text: str) -> str:
    """Text as a value of an override."""
    if UNQUOTED.fullmatch(text) and text.isascii():
        return text
    # Backslashes stand for themselves, except before a quote, where each is written twice.
    escaped = re.sub(r"(\\*)('|$)", lambda found: found[1] * 2 + ("\\'" if found[2] else ""), text)
    return f"'{escaped}'"
