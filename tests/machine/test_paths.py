"""Paths as users type them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclbench.machine.paths import expanded, no_file, no_folder


def test_a_quoted_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert expanded("~/runs") == "/home/somebody/runs" and expanded("~") == "/home/somebody"
    assert expanded("runs/") == "runs/" and expanded("a/~/b") == "a/~/b"
    assert expanded("~no_such_user_9/x") == "~no_such_user_9/x"


def test_what_is_there_instead_is_said(tmp_path: Path) -> None:
    file = tmp_path / "f"
    assert no_file(file) == f"there is no file {file}"
    assert no_folder(file) == f"there is no folder '{file}'"
    file.write_text("")
    assert no_folder(file) == f"'{file}' is a file, not a folder"
    assert no_file(tmp_path) == f"{tmp_path} is a folder, not a file"
