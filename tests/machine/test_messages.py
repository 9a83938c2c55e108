"""Pieces of what is printed."""

from __future__ import annotations

import pytest

from gclbench.machine.messages import counted, elsewhere


@pytest.mark.parametrize(
    ("folder", "words"),
    [("runs", ""), ("results", " --runs results"), ("my runs", " --runs 'my runs'")],
)
def test_a_printed_command_names_another_store(folder: str, words: str) -> None:
    assert elsewhere(folder) == words


def test_a_count_has_its_plural() -> None:
    assert [counted(count, "run") for count in (0, 1, 1200)] == ["0 runs", "1 run", "1,200 runs"]
