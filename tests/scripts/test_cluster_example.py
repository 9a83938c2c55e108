"""The example for a cluster, with a gclbench that only writes down what it was told."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "cluster_example.sh"
GCLBENCH = """#!/bin/sh
echo "$1" >>"$CALLS"
case $1 in
submit) printf '%s' "$SUBMITTED"; exit "$SUBMIT_CODE" ;;
status)
  if [ "$(grep -c status "$CALLS")" -lt 3 ]; then echo "  time left: about 5 s"; fi
  exit 1 ;;
esac
"""


@pytest.mark.parametrize(
    "submitted,code,calls",
    [
        (
            "sweep 20260101-000000-aaaaaa: 20 runs\n",
            0,
            ["data", "submit", "status", "status", "status", "export", "table"],
        ),
        ("nothing is left to hand over\n", 1, ["data", "submit", "export", "table"]),
        ("", 2, ["data", "submit"]),
    ],
    ids=["a run that is not ok while others go on", "all recorded, one not ok", "a wrong command"],
)
def test_it_waits_for_all_runs_and_makes_the_table(
    tmp_path: Path, submitted: str, code: int, calls: list[str]
) -> None:
    program = tmp_path / "bin" / "gclbench"
    program.parent.mkdir()
    program.write_text(GCLBENCH)
    program.chmod(0o755)
    variables = {
        **os.environ,
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "CALLS": str(tmp_path / "calls"),
        "SUBMITTED": submitted,
        "SUBMIT_CODE": str(code),
        "POLL": "0",
    }
    result = subprocess.run(
        [str(SCRIPT)], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=60
    )
    assert (tmp_path / "calls").read_text().split() == calls, result.stdout + result.stderr
    assert (result.returncode != 0) == (code == 2)
