"""The words of a command as overrides, and what a sweep of them stands for.

Hydra's grammar reads each word: `method=dmat`, `method.lr=1e-4`, `seeds=[3,7]`; several values,
`a=1,2`, are a sweep. It is imported for words that need it.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import shlex
import unicodedata
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from gclbench.component.registry import GROUPS, KINDS, did_you_mean
from gclbench.config.plain_override import PlainOverride, plain_override
from gclbench.config.quoting import quoted

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override, RangeSweep

OF_THE_COMMAND = (
    "runs_dir",
    "rerun",
    "launcher",
    "tracking",
    "save",
    "criterion",
    "precision",
    "threads",
    "device",
    "time_limit",
    "memory_limit",
    "checkpoint_every",
    "method.course",
    "dataset.direction",
    "dataset.called",
    "dataset.chunk",
    "filter.storage",
    "filter.out_of_core",
)
"""Keys that a sweep has one value of; another would make no other run."""

SAME_AS = {"dataset.called": "dataset.name"}
"""Other words for a key."""

REMOVALS = {
    "filter": "filter=none applies no filter",
    "task": "task=[NAME,NAME] names the tasks to run",
}
"""What to write instead of `~KEY`."""


KEY = re.compile(r"[+~]*[A-Za-z_][\w./@:-]*", re.ASCII)
"""What a word begins with that sets something."""

TEXTS = ("dataset.path", "dataset.name", "runs_dir")
"""Keys whose value is text and may hold any character. What Hydra's grammar cannot read is taken as
it is; a comma still parts the values of a sweep."""


class Unreadable(ValueError):
    """A word that Hydra's grammar cannot read."""


class ConfigErrors(ValueError):
    """Everything that is wrong with a command.

    Attributes:
        errors: one sentence each.
    """

    def __init__(self, errors: list[str]):
        super().__init__("\n".join(errors))
        self.errors = errors


def key_of(word: str) -> str:
    """`method.lr` of `+method.lr=1`: the key of a word that may not be readable yet."""
    return word.lstrip("+~").partition("=")[0]


def sweep(overrides: list[str]) -> list[list[str]]:
    """The commands that `-m` stands for: `a=1,2 b=x,y` becomes four, the last key changing fastest.

    Raises:
        ConfigErrors: when an override cannot be read.
    """
    errors: list[str] = []
    choices: list[list[str]] = []
    for override in parse(overrides, errors, allow_sweeps=True):
        if isinstance(override, PlainOverride) or not override.is_sweep_override():
            choices.append([str(override.input_line)])
            continue
        if _of_the_command(override.key_or_group) or (
            override.key_or_group == "dataset.name" and _of_a_file(overrides)
        ):
            errors.append(
                f"'{override.input_line}' names several values,"
                f" and a sweep has one {override.key_or_group}; {_one_of(override)}"
            )
            continue
        try:
            choices.append([f"{override.get_key_element()}={value}" for value in _swept(override)])
        except Unreadable as error:
            errors.append(
                f"'{override.input_line}' cannot be swept: {error};"
                " write the values out, as in KEY=A,B"
            )
            continue
        if override.key_or_group == "seeds":
            errors.append(_seeds_not_swept(override, ",".join(_swept(override))))
        elif not choices[-1]:
            errors.append(
                f"'{override.input_line}' stands for no value at all, so there is nothing to run"
            )
    if errors:
        raise ConfigErrors(errors)
    return [list(combination) for combination in itertools.product(*choices)]


def _swept(override: Override) -> list[str]:
    """The values of a sweep, `dataset=glob(co*)` included.

    Raises:
        Unreadable: for a sweep whose values cannot be written out.
    """
    from hydra.core.override_parser.types import Glob, RangeSweep
    from hydra.errors import HydraException

    pattern = override.value()
    if isinstance(pattern, Glob) and override.key_or_group in KINDS:
        return pattern.filter(KINDS[override.key_or_group].names())
    try:
        if isinstance(pattern, RangeSweep):
            override = replace(override, _value=_as_typed(pattern))
        return list(override.sweep_string_iterator())
    except HydraException as error:
        raise Unreadable(str(error)) from error


def _as_typed(numbers: RangeSweep) -> RangeSweep:
    """A range whose sums are those of the digits that were typed: 0.2, 0.4 and 0.6, not
    0.6000000000000001, which would be another run.

    Raises:
        Unreadable: for a step of 0, or an end that is not finite.
    """
    parts = {name: getattr(numbers, name) for name in ("start", "stop", "step")}
    if not parts["step"] or not all(math.isfinite(number) for number in parts.values()):
        told = ", ".join(f"{name} {number}" for name, number in parts.items())
        raise Unreadable(f"a range has finite ends and a step that is not 0, and this has {told}")
    if all(isinstance(number, int) for number in parts.values()):
        return numbers
    # A float keeps 15 digits of what was typed. Hydra adds up the decimals that the binary numbers
    # are, and sorts such a range by the binary sums.
    exact = {name: Decimal(f"{number:.15g}") for name, number in parts.items()}
    return replace(numbers, **exact)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> Override | PlainOverride:
    """One override; a sweep repeats most of them in every command.

    Raises:
        Unreadable: when it cannot be read.
    """
    if (plain := plain_override(text)) is not None:
        return plain
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    key, equals, value = text.partition("=")
    parts = value.split(",")
    try:
        try:
            return OverridesParser.create().parse_override(text)
        except HydraException:
            if not equals or key not in TEXTS or not all(parts):
                raise
            verbatim = ",".join(part if part[0] in "'\"" else quoted(part) for part in parts)
            return OverridesParser.create().parse_override(f"{key}={verbatim}")
    except HydraException as error:
        raise Unreadable(str(error)) from error


def parse(
    overrides: list[str], errors: list[str], allow_sweeps: bool = False
) -> list[Override | PlainOverride]:
    """The overrides that can be read.

    Args:
        errors: gets a sentence for each of the others: text that is no override, a removal, several
            values where there is no sweep, a key that is set twice.
    """
    parsed: list[Override | PlainOverride] = []
    seen: dict[str, str] = {}
    for text in overrides:
        try:
            override = _parsed(text)
        except Unreadable:
            errors.append(_unreadable(text))
            continue
        found = _error(override, text, allow_sweeps)
        key = SAME_AS.get(override.key_or_group, override.key_or_group)
        before = seen.setdefault(key, text) if found is None else text
        if before != text:
            found = f"'{key}' is set twice, by '{before}' and '{text}'; leave one of them out"
        if found is None:
            parsed.append(override)
        else:
            errors.append(found)
    return parsed


def unaccented(text: str) -> str:
    """Letters without what stands above or below them: e for é."""
    return "".join(
        letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter)
    )


def _unreadable(text: str) -> str:
    """What to say of a word that is no override; Hydra's own words speak of its grammar."""
    key, equals, value = text.partition("=")
    if not equals:
        return (
            f"cannot read '{text}': settings are KEY=VALUE, as in dataset=cora"
            " (`gclbench --help` has examples)"
        )
    if not all(part.strip() for part in value.split(",")):
        given = ",".join(part for part in value.split(",") if part.strip())
        return f"'{text}' has a comma without a value beside it; write {key}={given or 'VALUE'}"
    pairs = (("[", "]"), ("(", ")"), ("{", "}"))
    for opening, closing in pairs:
        if value.count(opening) != value.count(closing):
            return (
                f"cannot read '{text}': a '{opening}' or '{closing}' has no other one; a list is"
                f" written {key}=[A,B], and text that holds brackets is quoted twice:"
                f" {shlex.quote(f'{key}={quoted(value)}')}"
            )
    if value.startswith("[") and re.search(r",\s*\]$", value):
        given = re.sub(r"[\s,]+\]$", "]", value)
        return f"'{text}' has a comma without a value behind it; write {key}={given}"
    hyphens = re.sub("[‐‑‒–—−]", "-", value)
    of_seeds = key == "seeds" and re.fullmatch(r"[\[\]0-9,-]+", hyphens)
    if hyphens != value and (of_seeds or re.fullmatch(r"-[0-9.eE+-]+", hyphens)):
        return f"'{text}' has a dash that is no hyphen; did you mean {key}={hyphens}?"
    if not KEY.fullmatch(key):
        bare = key.strip()
        if KEY.fullmatch(bare):
            return (
                f"'{text}' has blanks beside the setting or its '='; write {bare}={value.strip()}"
            )
        plain = unaccented(bare)
        hint = did_you_mean(plain, known=[*GROUPS, *OF_THE_COMMAND]) if "." not in plain else ""
        return f"'{key}' does not exist: a setting is letters, digits, _ and dots.{hint}"
    first, *others = value.split()
    if others and all("=" in word for word in others):
        return (
            f"'{text}' is one word of {1 + len(others)} settings; without the quotes each is a word"
            f" of its own: {' '.join([f'{key}={first}', *others])}"
        )
    return (
        f"cannot read '{text}': text with blanks, quotes or signs other than ./@+-_ is quoted"
        f" twice, for the shell and for gclbench: {shlex.quote(f'{key}={quoted(value)}')}"
    )


def _error(override: Override | PlainOverride, text: str, allow_sweeps: bool) -> str | None:
    """What is wrong with an override that can be read."""
    key = override.key_or_group
    if not key:
        return f"'{text}' names no key; overrides are KEY=VALUE (`gclbench --help` has examples)"
    if override.is_delete():
        advice = REMOVALS.get(key, "KEY=VALUE sets another value")
        return f"'{text}' removes a setting, and every run needs all of them; {advice}"
    if override.package is not None or (
        key in GROUPS and (override.is_add() or override.is_force_add())
    ):
        several = "; task=[NAME,NAME] names several" if key == "task" else ""
        return (
            f"'{text}': '+' and '@' are not used here;"
            f" write {key}={text.partition('=')[2]}{several}"
        )
    if override.is_sweep_override() and not allow_sweeps:
        return _not_swept(override)
    return None


def _of_a_file(overrides: list[str]) -> bool:
    """Whether the graph is one's own, whose name is no other graph."""
    return any(word in ("dataset=custom", "dataset=custom_graphs") for word in overrides)


def _of_the_command(key: str) -> bool:
    return key in OF_THE_COMMAND or key.partition(".")[0] in OF_THE_COMMAND


def _one_of(override: Override | PlainOverride) -> str:
    """What to write instead of several values of what a command has one of."""
    key, _, value = str(override.input_line).partition("=")
    inside = value.replace("[", "").replace("]", "")
    return f"what is kept is a list: {key}=[{inside}]" if key == "save" else "give one of them"


def _not_swept(override: Override | PlainOverride) -> str:
    """What to write instead of several values where there is no sweep."""
    text, key = str(override.input_line), override.key_or_group
    if _of_the_command(key):
        return f"'{text}' names several values, and a command has one {key}; {_one_of(override)}"
    if key == "dataset.path" and Path(text.partition("=")[2]).is_file():
        plain = f"{key}={quoted(text.partition('=')[2])}"
        whole = shlex.quote(plain) if set(plain) & set('"$`\\!') else f'"{plain}"'
        return f"'{text}' names several files by its comma; of one file it is written {whole}"
    if key == "seeds":
        return _seeds_not_swept(override, text.partition("=")[2])
    return (
        f"'{text}' names several values; run a sweep with -m: gclbench -m … {text}."
        " A list is written [a,b]."
    )


def _seeds_not_swept(override: Override | PlainOverride, values: str) -> str:
    """Swept, each number would be a count: seeds=1,2 is seed 0, and seeds 0 and 1."""
    from gclbench.config.seeds import seeds_of

    errors: list[str] = []
    inside = values.replace("[", "").replace("]", "")
    seeds_of(inside.split(","), errors)
    told = "such as seeds=[3,7-9]" if errors else f"seeds=[{inside}]"
    return f"'{override.input_line}' names several values; seeds of one command are a list: {told}"
