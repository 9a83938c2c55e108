"""The memory that is left, as control groups and the machine say."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclbench.machine import free_memory
from gclbench.machine.free_memory import available_memory


def groups(tmp_path: Path, line: str, files: dict[str, str]) -> list[int]:
    (tmp_path / "cgroup").write_text(f"9:cpu:/elsewhere\n{line}\n")
    for name, text in files.items():
        (tmp_path / "fs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fs" / name).write_text(text)
    return free_memory._left_in_groups(str(tmp_path / "cgroup"), str(tmp_path / "fs"))


def test_every_group_above_the_process_counts(tmp_path: Path) -> None:
    """Version 2, as of Slurm: the job's group has the limit, that of the step has none."""
    found = groups(
        tmp_path,
        "0::/job/step",
        {
            "job/step/memory.max": "max\n",
            "job/step/memory.current": "50\n",
            "job/memory.max": "1000\n",
            "job/memory.current": "300\n",
            "job/memory.stat": "anon 200\ninactive_file 40\n",
        },
    )
    assert found == [740]


def test_version_1_as_in_a_container(tmp_path: Path) -> None:
    """The path is that of the host, and the container sees its own group alone."""
    found = groups(
        tmp_path,
        "3:memory:/docker/abc",
        {
            "memory/memory.limit_in_bytes": "800",
            "memory/memory.usage_in_bytes": "500",
            "memory/memory.stat": "inactive_file 9\ntotal_inactive_file 10\n",
        },
    )
    assert found == [310]


def test_without_groups_the_machine_alone_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert groups(tmp_path, "0::/", {}) == []
    assert free_memory._left_in_groups(str(tmp_path / "none")) == []
    monkeypatch.setattr(free_memory, "_left_in_groups", list)
    whole = available_memory()
    assert 1 << 20 < whole < 1 << 62
    monkeypatch.setattr(free_memory, "_left_in_groups", lambda: [whole // 2, -5])
    assert available_memory() == 0
