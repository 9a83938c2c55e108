"""Values of Python as the words of a command, `{"seeds": [3, 7]}` is `seeds=[3,7]`, and what the
command says of them in the words of Python."""

from __future__ import annotations

import numbers
import re
from collections.abc import Mapping
from typing import Any

SHELL = re.compile(r"`[^`]*`|'[^']*'")
"""Commands, and what was given: they stay as they are."""

CHOICE = re.compile(r"\b(method|dataset|filter|negatives|task|device)=([A-Za-z_]\w*)")
RANGE = re.compile(r"(\bseeds=|(?<=[\[,]))(\d+-\d+)\b")
"""A range of seeds, which Python would compute: a text there."""

SWEEP = re.compile(
    r"(?:To run each|run a sweep with -m): gclbench -m (\w+)=([\w,]+)(?:\. A list is written .*)?"
)


def in_python(text: str) -> str:
    """An error that is worded for the shell, for who calls a function: `method=grace` becomes
    `method="grace"`, a sweep a call for each."""
    if found := SWEEP.search(text):
        key, names = found[1], found[2].split(",")
        each = f"To run each: [gclbench.run({key}=name, …) for name in {names}]"
        return in_python(text[: found.start()]) + each
    kept = SHELL.findall(text)
    ranges = [RANGE.sub(r'\1"\2"', part) for part in SHELL.split(text)]
    parts = [CHOICE.sub(r'\1="\2"', part) for part in ranges]
    return "".join(part + word for part, word in zip(parts, [*kept, ""], strict=True))


def of_method(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings of the method by their whole names; one that has a dot is taken as it is.

    Raises:
        TypeError: when they are no settings by name.
    """
    if not isinstance(settings, (Mapping, type(None))):
        kind = type(settings).__name__
        raise TypeError(f"settings={settings!r} is a {kind}; settings are {{'lr': 0.1}}, by name")
    return {
        key if "." in key else f"method.{key}": value for key, value in (settings or {}).items()
    }


def overrides_of(settings: Mapping[str, Any]) -> list[str]:
    """Settings as the command takes them: `{"seeds": [3, 7]}` is `seeds=[3,7]`.

    Raises:
        TypeError: for a value that no setting has.
    """
    from gclbench.config.value_text import text_of

    words = []
    for key, value in settings.items():
        try:
            words.append(f"{key}={text_of(value)}")
        except TypeError as error:
            raise TypeError(f"{key}={error}") from None
    return words


def check_one_seed(function: str, keys: Mapping[str, Any], seed: Any) -> None:
    """Raises ValueError for `seeds`, which only `run` takes, and for a seed that is none."""
    if "seeds" in keys:
        raise ValueError(
            f"gclbench.{function} takes one seed, as seed=3; gclbench.run takes seeds, as"
            " seeds=[3, 7], and records them"
        )
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or seed < 0:
        raise ValueError(
            f"seed={seed!r} must be one whole number from 0, as seed=3; gclbench.run takes several,"
            ' as seeds="3-7"'
        )
