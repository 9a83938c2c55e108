"""The source code that a training is computed by, where no version or commit names it."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gclbench.machine import environment
from gclbench.machine.environment import CHANGED

PACKAGE = Path(__file__).resolve().parent.parent


def code_of(components: Iterable[Any]) -> str:
    """Hexadecimal digits that differ where the code differs: of the modules of other packages'
    components and of their bases, and of all of gclbench where its files differ from its commit.

    A module that is imported from elsewhere by these modules has no part in it.
    """
    files = {
        Path(file)
        for component in components
        for cls in type(component).__mro__
        if (file := getattr(sys.modules.get(cls.__module__), "__file__", None))
        and not Path(file).resolve().is_relative_to(PACKAGE)
    }
    return _hashed(sorted(files)) + _of_the_package()


@functools.cache
def _of_the_package() -> str:
    """Of gclbench as it was when the process first asked."""
    if not environment.versions()["commit"].endswith(CHANGED):
        return ""
    return _hashed(sorted(PACKAGE.rglob("*.py")))


def _hashed(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for file in files:
        try:
            found.update(hashlib.sha256(file.read_bytes()).digest())
        except OSError:  # such as a module of an archive
            found.update(str(file).encode())
    return found.hexdigest()[:16]
