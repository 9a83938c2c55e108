"""Overrides of everyday: `method=grace`, `seeds=[3,7-9]`, `method.tau=0.4`, `dataset.path=a/x.npz`.

Hydra's grammar takes a quarter of a second to import, which is half of a short answer. These words
mean the same with and without it (tests/config/test_plain_override.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

KEY = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")
NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?")
TEXT = re.compile(r"(?:[A-Za-z_]|\.{0,2}/)[\w./-]*", re.ASCII)
RANGE = re.compile(r"(?:0|[1-9][0-9]{0,17})-[1-9][0-9]{0,17}")

MEANT_OTHERWISE = ("null", "true", "false", "inf", "nan")
"""Words that stand for a value, in any case."""


@dataclass(frozen=True)
class PlainOverride:
    """What Hydra's `Override` says of such a word.

    Attributes:
        input_line: the word. key_or_group: `method.tau`. package: always None.
    """

    input_line: str
    key_or_group: str
    meant: Any
    package: None = None

    def value(self) -> Any:
        """`grace`, 10, 0.4, or a list of such."""
        return list(self.meant) if isinstance(self.meant, tuple) else self.meant

    def is_add(self) -> bool:
        """Whether it starts with `+`, which a plain word does not."""
        return False

    is_force_add = is_delete = is_sweep_override = is_add


def plain_override(word: str) -> PlainOverride | None:
    """A word that needs no grammar; None for any other."""
    key, _, text = word.partition("=")
    if KEY.fullmatch(key) is None:
        return None
    listed = text.startswith("[") and text.endswith("]")
    values = [_value(item) for item in (text[1:-1].split(",") if listed else [text])]
    if None in values:
        return None
    return PlainOverride(word, key, tuple(values) if listed else values[0])


def _value(text: str) -> str | int | float | None:
    if WHOLE.fullmatch(text):
        return int(text)
    if NUMBER.fullmatch(text):
        return float(text)
    if RANGE.fullmatch(text):
        return text
    return text if TEXT.fullmatch(text) and text.lower() not in MEANT_OTHERWISE else None
