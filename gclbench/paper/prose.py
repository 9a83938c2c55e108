"""A Markdown page that quotes numbers: `73.5<!-- dmat/1; cora; dmat_i; acc -->`.

The number before such a comment is what the records give. docs/tables.md says what else may stand
behind a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gclbench.paper.place import FORMS, BadReference
from gclbench.paper.verdict import AS_PRINTED, OTHERWISE, VERDICTS

HISTORY = "<!-- history: "
"""A page that begins with it is of the past: nothing in it is looked at."""

OUTSIDE = "outside the records"
"""What a paragraph says whose numbers are marked `outside`."""

MARKS = {
    "setting": "<!-- setting -->",
    "elsewhere": "<!-- elsewhere: who says so -->",
    "outside": "<!-- outside: what was run -->",
}
"""What stands behind a number that is no quotation."""

COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`|(?<=\]\()[^()\s]+(?=\))|https?://\S+", re.M | re.S)
"""What holds no prose: fenced blocks, code, targets of links."""

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_SIGNED = rf"(?:[+−]|(?<![\w)])-)?{_NUMBER}"
_WORDS = "|".join((*VERDICTS, AS_PRINTED, OTHERWISE))
VALUE = re.compile(rf"(?:{_SIGNED}(?: ± {_NUMBER})?|\b(?:{_WORDS})|[^\W\d_]+)$")
"""What a quotation is, directly before its comment."""

DENIED = re.compile(r"\b(not|never|neither|nor|no longer)\s+$")
"""Turns what is quoted behind it round; verdicts that begin with `not` are quoted whole."""

SEVERAL = re.compile(rf"{_SIGNED}(?:(?: ± | / |–|, | and | to ){_SIGNED})*$")
"""The numbers that a mark is for, directly before it."""

_UNIT = r"(?:percent|(?:percentage )?points?\b|times\b|fold\b)"
_QUOTED = r"(?: /|–| and| to) {8,}"
"""What joins a number to one that is quoted, of which blanks are left."""
TYPED = re.compile(
    rf"\d+\.\d+|(?<![\w.,])(?<!e-){_NUMBER}"
    rf"(?=\**(?:\s?%|[\s-]{_UNIT}|×(?!\w|\s?\d))|{_QUOTED}\**(?:%|×|-?{_UNIT}))"
)
"""What looks like a result: a number with decimals, or a whole one of percent, points or times,
also as the first one of a range whose second one is quoted."""

NAME = re.compile(
    r"\b(?:Section|Theorem|arXiv|Python|PyTorch|dgl) \d+(?:\.\d+)+"
    r"|\b(?:Section|Table|Figure|Algorithm|Theorem|[Ii]ssues?|[Ss]eeds?) \d+\b(?!\.\d)"
)
"""A number that only names something: a place in a paper, a paper, a version, an issue, a run."""

WHERE = "docs/tables.md#numbers-in-prose"


@dataclass(frozen=True)
class Finding:
    """What is wrong in a line, counted from 1; `mended` where writing the page mends it."""

    line: int
    text: str
    mended: bool = False


def rewritten(
    text: str, quote: Callable[[str], str], lint: bool = True
) -> tuple[str, list[Finding]]:
    """The page as the records have it, and what was wrong with it.

    Args:
        quote: the text of a reference; raises BadReference. lint: numbers that are typed are wrong
            too, and so are comments that mean nothing.
    """
    if text.startswith(HISTORY):
        return text, []
    plain = _without_code(text)
    pieces: list[str] = []
    findings: list[Finding] = []
    # Without comments, and without the numbers that one stands behind.
    bare = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), plain)
    end = 0
    for found in COMMENT.finditer(plain):
        said = " ".join(found[1].split())
        before = text[max(end, text.rfind("\n", 0, found.start()) + 1) : found.start()]
        line = text.count("\n", 0, found.start()) + 1
        is_reference = ";" in said or (lint and "|" in said)
        covered = (VALUE if is_reference else SEVERAL).search(before)
        start = found.start() - len(covered[0]) if covered else found.start()
        old = text[start : found.start()]
        new = old
        if is_reference:
            try:
                new = quote(said)
            except BadReference as error:
                findings.append(Finding(line, f"<!-- {said} -->: {error}"))
            else:
                if not old:
                    findings.append(Finding(line, f"no number is before {found[0]}; type {new}"))
                    new = old
                elif old != new:
                    told = f"{old} stands before <!-- {said} -->, the records say {new}"
                    findings.append(Finding(line, told, mended=True))
                if denied := DENIED.search(text[max(0, start - 20) : start]):
                    told = f"'{denied[1]}' stands before {found[0]}, which then says the opposite"
                    findings.append(Finding(line, told))
        elif lint:
            findings += [Finding(line, told) for told in _misused(said, old, text, found.start())]
        pieces += [text[end:start], new]
        end = found.start()
        bare = bare[:start] + " " * len(old) + bare[found.start() :]
    pieces.append(text[end:])
    if lint:
        findings += _typed(bare)
    return "".join(pieces), sorted(findings, key=lambda finding: finding.line)


def references(text: str) -> list[str]:
    """What a page quotes: its references, in order. A page of history has none."""
    if text.startswith(HISTORY):
        return []
    said = (" ".join(found[1].split()) for found in COMMENT.finditer(_without_code(text)))
    return [one for one in said if ";" in one]


def _without_code(text: str) -> str:
    """Blanks for what holds no prose; every other character stays in its place."""
    return CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _misused(said: str, old: str, text: str, position: int) -> Iterator[str]:
    """What is wrong with a comment that is no reference."""
    kind, colon, reason = said.partition(":")
    if kind not in MARKS or bool(reason.strip()) != (":" in MARKS[kind]):
        yield f"<!-- {said} --> means nothing; there are {', '.join(MARKS.values())}"
    elif not old:
        yield f"no number is directly before <!-- {said} -->"
    elif kind == "outside" and OUTSIDE not in COMMENT.sub("", _paragraph(text, position)):
        yield f"<!-- {said} --> is in a paragraph or table that does not say '{OUTSIDE}'"


def _paragraph(text: str, position: int) -> str:
    """The lines around a position, up to blank ones."""
    after = text.find("\n\n", position)
    return text[text.rfind("\n\n", 0, position) + 1 : None if after < 0 else after]


def _typed(bare: str) -> Iterator[Finding]:
    found: dict[int, list[str]] = {}
    text = NAME.sub(lambda name: " " * len(name[0]), bare)
    for number in TYPED.finditer(text):
        found.setdefault(text.count("\n", 0, number.start()) + 1, []).append(number[0])
    for line, numbers in found.items():
        yield Finding(
            line,
            f"typed: {', '.join(numbers)}; put <!-- {FORMS['table']} --> directly behind each, or"
            f" {' or '.join(MARKS.values())} ({WHERE})",
        )
