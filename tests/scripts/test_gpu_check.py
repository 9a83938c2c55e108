"""The GPU check on a machine without one: it runs without Hydra, writes both files and lists what
it left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gclbench.machine import precision

ROOT = Path(__file__).resolve().parent.parent.parent
WITHOUT_HYDRA = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("hydra", "omegaconf"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
import runpy
sys.path.insert(0, "scripts")
sys.argv = ["gpu_check.py", *sys.argv[1:]]
runpy.run_path("scripts/gpu_check.py", run_name="__main__")
"""


def check(*arguments: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    settings = {
        "OMP_NUM_THREADS": "1",
        "GCLBENCH_OFFLINE": "1",
        "GCLBENCH_DATA": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-c", WITHOUT_HYDRA, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True
    )


@pytest.mark.slow
def test_a_quick_check_on_the_cpu_without_hydra(tmp_path: Path) -> None:
    done = check("--device", "cpu", "--quick", "--output", str(tmp_path / "out"), tmp_path=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    facts = json.loads((tmp_path / "out" / "gpu_check.json").read_text())
    assert set(facts["parts"]) == {
        "kernel alone",
        "filter benchmark",
        "training",
        "steps",
        "workers",
        "largest",
        "dmat_i on digits",
    }
    assert not any("failed" in part["result"] for part in facts["parts"].values()), facts["parts"]
    rows = facts["parts"]["filter benchmark"]["result"]["rows"]
    assert {row["solver"] for row in rows} == {"chebyshev", "series", "push"}
    assert all(row["error"] <= 1e-3 for row in rows if row["solver"] != "push")
    precisions = ["float32", *(["fast"] if precision.usual("cpu") else [])]
    cases = [f"2708×1433, {name}" for name in precisions]
    assert list(facts["parts"]["training"]["result"]) == cases
    assert facts["parts"]["largest"]["result"]["columns"] == 50
    for cases in facts["parts"]["workers"]["result"]["seconds"].values():
        assert set(cases) == {"1", "2"} and all(taken > 0 for taken in cases.values()), cases
    assert any("kernel tests: they need a GPU" in line for line in facts["not_run"])
    table = (tmp_path / "out" / "gpu_check.md").read_text()
    assert "| dmat_i on digits |" in table and "ACC" in table and "# GnnBP filter on" in table


@pytest.mark.slow
def test_no_time_left_is_said(tmp_path: Path) -> None:
    done = check(
        "--device",
        "cpu",
        "--quick",
        "--seconds",
        "0",
        "--output",
        str(tmp_path / "out"),
        tmp_path=tmp_path,
    )
    facts = json.loads((tmp_path / "out" / "gpu_check.json").read_text())
    assert any(line.startswith("filter benchmark: out of time") for line in facts["not_run"]), (
        done.stderr[-500:]
    )


def test_several_calls_make_one_page() -> None:
    import gpu_page

    def call(commit: str, device: str = "a GPU", not_run: tuple[str, ...] = (), **parts: str):
        found = {name: {"seconds": 1.0, "result": {"failed": said}} for name, said in parts.items()}
        environment = {"commit": commit}
        return {"device": device, "environment": environment, "parts": found, "not_run": not_run}

    facts = gpu_page.merged(
        [call("one", steps="x", training="y", not_run=("largest: late",)), call("two", largest="z")]
        + [call("three", steps="w", not_run=("dmat_i on acm: its data are not here",))],
        ("Others ran beside it.",),
    )
    told = {
        name: (part["commit"], part["result"]["failed"]) for name, part in facts["parts"].items()
    }
    assert told == {"steps": ("three", "w"), "training": ("one", "y"), "largest": ("two", "z")}
    assert facts["not_run"] == ["dmat_i on acm: its data are not here"]
    page = gpu_page.markdown(facts)
    assert "| training | one | 1.0 | FAILED: y |" in page and "\nOthers ran beside it.\n" in page
    with pytest.raises(SystemExit, match="a GPU, another do not belong on one page"):
        gpu_page.merged([call("one"), call("two", device="another")])


def test_some_parts_alone(tmp_path: Path) -> None:
    import gpu_check

    check = gpu_check.Check("cpu", True, 60.0, tmp_path / "out", ("steps", "dmat_i"))
    for name in ("steps", "training", "dmat_i on cora"):
        check.part(name, 0.0, lambda: {"failed": "it did not"})
        check.skip(name, "it need not")
    assert list(check.facts["parts"]) == ["steps", "dmat_i on cora"]
    assert [line.partition(":")[0] for line in check.facts["not_run"]] == [
        "steps",
        "dmat_i on cora",
    ]


def test_a_part_that_is_none_is_said_before_any_is_run(tmp_path: Path) -> None:
    done = check(
        *("--device", "cpu", "--quick", "--output", str(tmp_path / "out")),
        *("--parts", "dmat_i", "tranining"),
        tmp_path=tmp_path,
    )
    assert done.returncode == 2
    assert "no part begins with tranining; there are kernel tests, kernel alone," in done.stderr
    assert done.stdout == "" and not (tmp_path / "out").exists()


def test_no_gpu_is_said_at_once(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = check("--output", str(tmp_path / "out"), tmp_path=tmp_path)
    assert done.returncode == 2
    assert (
        "torch sees no GPU; --device cpu --quick tries what can be tried without one" in done.stderr
    )
    assert not (tmp_path / "out").exists()


def test_a_part_that_goes_on_for_too_long_is_broken_off_and_what_was_found_is_on_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import gpu_check

    from gclbench.data.mirror import DataUnavailable

    def absent() -> None:
        raise DataUnavailable("no raw files")

    check = gpu_check.Check("cpu", True, 0.1 - gpu_check.GRACE, tmp_path / "out")
    check.part("training", -60, lambda: time.sleep(20))
    facts = json.loads((tmp_path / "out" / "gpu_check.json").read_text())
    assert facts["parts"]["training"]["result"]["failed"].startswith(
        "OutOfTime: broken off 15 s after the end of the time"
    )
    assert "FAILED: OutOfTime" in (tmp_path / "out" / "gpu_check.md").read_text()
    check = gpu_check.Check("cpu", True, 60.0, tmp_path / "out")
    check.part("dmat_i on acm", 0, absent)
    assert check.facts["not_run"] == ["dmat_i on acm: its data are not here"]
