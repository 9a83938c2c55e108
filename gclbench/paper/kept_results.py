"""Results of statistical tests, kept in the cache folder.

SciPy and statsmodels take two seconds to import, and the tests of a table are mostly those of the
last time it was printed. What is kept counts for these versions of the libraries and of the code.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.metadata
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from gclbench.machine.environment import cache_folder
from gclbench.records import write_atomically

MOST = 50_000
"""Results that a file holds. Beyond, it starts anew with those of the last process."""

LIBRARIES = ("numpy", "scipy", "statsmodels")

Given = ParamSpec("Given")
Found = TypeVar("Found")


class Results:
    """The results of one file of code, by what was asked."""

    def __init__(self, source: Path):
        self._source = source
        self._new: dict[str, Any] = {}

    def __call__(self, compute: Callable[Given, Found]) -> Callable[Given, Found]:
        """Decorates a function of plain numbers and lists that returns such: as JSON holds them."""

        @functools.wraps(compute)
        def asked(*given: Given.args, **named: Given.kwargs) -> Found:
            question = json.dumps([compute.__name__, given, named])
            key = hashlib.sha256(question.encode()).hexdigest()[:32]
            for known in (self._new, self._kept):
                if key in known:
                    return known[key]
            if not self._new:
                atexit.register(self.keep)
            self._new[key] = found = compute(*given, **named)
            return found

        return asked

    @functools.cached_property
    def _kept(self) -> dict[str, Any]:
        return self._read()

    @functools.cached_property
    def _path(self) -> Path:
        versions = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]
        content = hashlib.sha256(f"{versions}".encode() + self._source.read_bytes()).hexdigest()
        return cache_folder() / "statistics" / f"{content[:24]}.json"

    def _read(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(self._path.read_text(encoding="utf-8"))
            if isinstance(found, dict):
                return found
        return {}

    def keep(self) -> None:
        """Writes what is new beside what other processes wrote; a folder that cannot be written
        keeps nothing."""
        with contextlib.suppress(OSError):
            all_of_them = {**self._read(), **self._new}
            if len(all_of_them) > MOST:
                all_of_them = self._new
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, json.dumps(all_of_them).encode())
