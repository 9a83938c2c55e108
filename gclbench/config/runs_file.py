"""A file of runs: `gclbench sweep FILE.yaml`.

    common: dataset=cora,citeseer seeds=3
    runs:
      - method=grace method.tau=0.4
      - method=dgi,bgrl method.lr=1e-3,1e-4

Each entry of `runs` is a sweep of its own, as typed after `gclbench -m`: words in one text, or a
list of them. Words in `common` stand in every entry that does not set the same key. A file that is
a list is its `runs`.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from gclbench.component.registry import nearest
from gclbench.config.named_settings import with_named_settings
from gclbench.config.overrides import ConfigErrors, key_of, sweep
from gclbench.machine.paths import no_file

KEYS = ("common", "runs")


def commands_of(path: Path, more: list[str]) -> list[list[str]]:
    """The commands of a file, without sweeps.

    Args:
        more: words for every entry, which take the place of its own.

    Raises:
        ConfigErrors: with everything that is wrong with the file, by entry.
    """
    errors: list[str] = []
    common, entries = _read(path, errors)
    commands: list[list[str]] = []
    for number, words in enumerate(entries, start=1):
        merged = _over(_over(common, words), more)
        try:
            commands += with_named_settings(sweep(merged))
        except ConfigErrors as error:
            errors += [f"{path}, entry {number}: {text}" for text in error.errors]
    if errors:
        raise ConfigErrors(list(dict.fromkeys(errors)))
    return [list(words) for words in dict.fromkeys(map(tuple, commands))]


def _over(words: list[str], above: list[str]) -> list[str]:
    """Words, and others that take the place of those of the same key."""
    keys = {key_of(word) for word in above}
    return [*(word for word in words if key_of(word) not in keys), *above]


def _read(path: Path, errors: list[str]) -> tuple[list[str], list[list[str]]]:
    import yaml

    if not path.is_file():
        raise ConfigErrors(
            [f"{no_file(path)}; give one with gclbench sweep FILE.yaml (docs/sweeps.md)"]
        )
    try:
        found: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigErrors([f"{path} cannot be read: {error}"]) from error
    except yaml.YAMLError as error:
        text = " ".join(str(error).split())
        raise ConfigErrors([f"{path} cannot be read as YAML: {text}"]) from error
    given = {"runs": found} if isinstance(found, list) else found
    if not isinstance(given, dict) or not given.get("runs"):
        raise ConfigErrors(
            [f"{path} has no 'runs': a list of commands, as in - method=grace dataset=cora"]
        )
    for key in given:
        if key not in KEYS:
            guess = nearest(str(key), list(KEYS))
            hint = f" Did you mean '{guess}'?" if guess else ""
            errors.append(f"{path} has an unknown key '{key}'.{hint} Known: {', '.join(KEYS)}")
    runs = given["runs"] if isinstance(given["runs"], list) else [given["runs"]]
    entries = [_words(path, f"entry {place}", run, errors) for place, run in enumerate(runs, 1)]
    return _words(path, "common", given.get("common") or [], errors), entries


def _words(path: Path, where: str, value: Any, errors: list[str]) -> list[str]:
    if isinstance(value, str):
        try:
            return shlex.split(value, comments=True)
        except ValueError as error:
            errors.append(f"{path}, {where}: {error}")
            return []
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return value
    errors.append(f"{path}, {where}: {value!r} is neither a text of KEY=VALUE nor a list of them")
    return []
