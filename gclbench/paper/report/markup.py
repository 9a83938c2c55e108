"""HTML from Python: text is escaped unless it is markup already, so nothing that a record holds can
become an element."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

VOID = frozenset({"br", "hr", "meta", "wbr"})
# What no HTML document may hold: control characters, halves of surrogate pairs (which no file can
# hold either), noncharacters.
UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)

LONG = 60
"""Characters of settings that stand in a table as they are."""


class Markup(str):
    """A piece of HTML; any other string is text."""

    __slots__ = ()


def text(value: object) -> Markup:
    """A value as text of a document: escaped, what cannot be shown replaced by U+FFFD."""
    return Markup(html.escape(UNPRINTABLE.sub("\ufffd", str(value))))


def element(name: str, /, *content: object, **attributes: object) -> Markup:
    """An element; `class_` is written class, `data_key` data-key.

    Args:
        content: markup, text (escaped), iterables of such, or None for nothing.
        attributes: escaped too; None and False leave one out, True writes its name alone.
    """
    written = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        written.append(f" {label}" if value is True else f' {label}="{text(value)}"')
    opening = f"<{name}{''.join(written)}>"
    return Markup(opening if name in VOID else f"{opening}{join(*content)}</{name}>")


def join(*content: object) -> Markup:
    """Pieces one after the other."""
    pieces = []
    for piece in content:
        if piece is None:
            continue
        if isinstance(piece, Markup):
            pieces.append(str(piece))
        elif isinstance(piece, Iterable) and not isinstance(piece, str):
            pieces.append(join(*piece))
        else:
            pieces.append(text(piece))
    return Markup("".join(pieces))


def breakable(value: str) -> Markup:
    """Text that a narrow column may break after `=`, `,` and `.`: settings are long words."""
    return join(
        *(
            join(piece, element("wbr")) if piece[-1] in "=,." else piece
            for piece in re.split(r"(?<=[=,])|(?<=[.])(?=[a-z])", value)
            if piece
        )
    )


def label(value: str) -> Markup:
    """A heading, and below it, smaller, what tells it from others: `dmat_i [tau=0.5]`; folded where
    that is long."""
    name, bracket, settings = value.partition(" [")
    return join(name, told_apart(settings.removesuffix("]"))) if bracket else breakable(value)


def told_apart(settings: str) -> Markup:
    """Settings below a name or a value, folded where they are long."""
    if len(settings) <= LONG:
        return element("small", breakable(settings))
    count = settings.count("=")
    return element(
        "details", element("summary", f"{count} settings"), element("small", breakable(settings))
    )


def lines(*content: object) -> Markup:
    """Pieces on lines of their own, so that a document can be read and compared."""
    return Markup("\n".join(piece for piece in (join(item) for item in content) if piece))


def slug(value: str) -> str:
    """Letters, digits, dots and dashes, for an anchor: `dmat_i [tau=0.5]` as `dmat-i-tau-0.5`."""
    return re.sub(r"[^a-z0-9.]+", "-", value.lower()).strip("-.") or "x"


class Anchors:
    """Ids of a document: each name gets one, and no two names the same."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[str, ...]] = {}

    def of(self, *names: str) -> str:
        """The id of a thing, the same whenever it is asked for: `cell-dmat-1-cora-dmat-i`."""
        wanted = "-".join(slug(name) for name in names)
        found, number = wanted, 1
        while self._taken.setdefault(found, names) != names:
            number += 1
            found = f"{wanted}-{number}"
        return found
