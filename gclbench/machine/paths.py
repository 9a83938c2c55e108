"""Paths as users type them, and what to say where nothing is there."""

from __future__ import annotations

from pathlib import Path


def expanded(path: str) -> str:
    """`~/x` with the home folder in it, also where the shell left it; every other path as it is."""
    try:
        return str(Path(path).expanduser()) if path.startswith("~") else path
    except RuntimeError:  # nobody of that name
        return path


def no_file(path: Path) -> str:
    """`there is no file g`, or `g is a folder, not a file`."""
    return f"{path} is a folder, not a file" if path.is_dir() else f"there is no file {path}"


def no_folder(path: Path | str) -> str:
    """`there is no folder 'g'`, or `'g' is a file, not a folder`."""
    if Path(path).is_file():
        return f"'{path}' is a file, not a folder"
    return f"there is no folder '{path}'"
