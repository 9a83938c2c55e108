"""PYTHONPATH of processes that a sweep starts, here and on other machines."""

from __future__ import annotations

import os
from pathlib import Path

import gclbench


def typed() -> str:
    """This process's PYTHONPATH in absolute folders, for a process that begins elsewhere; empty
    where there is none."""
    return os.pathsep.join(_folders())


def with_source() -> str:
    """The same with the folder of this gclbench first, so that the process finds this one."""
    source = [str(Path(gclbench.__file__).resolve().parent.parent)] if gclbench.__file__ else []
    return os.pathsep.join(dict.fromkeys([*source, *_folders()]))


def _folders() -> list[str]:
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [str(Path(path).absolute()) for path in paths if path]
