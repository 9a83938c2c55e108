"""`gclbench doctor`: what is there, and what is missing or broken."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import torch

from gclbench.cli import main
from gclbench.component import registry as registries
from gclbench.component.registry import DATASETS, METHODS, Entry

Output = pytest.CaptureFixture[str]


def test_doctor_says_what_is_there(capsys: Output, tmp_path: Path) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in (
        "gclbench",
        "python",
        "torch",
        "hydra-core",
        "commit",
        "GPU",
        "configs         found",
        "offline         yes",
    ):
        assert word in out
    assert f"{len(DATASETS.entries)} dataset, " in out and f"{len(METHODS.entries)} method, " in out
    assert f"{tmp_path / 'cache'} (writable)" in out
    assert f"\ninstructions    {torch.backends.cpu.get_cpu_capability()}, which torch" in out


def test_doctor_goes_on_where_a_name_cannot_be_typed(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [EntryPoint(name, "m:M", METHODS.group) for name in ("a.b", "grace")]
    monkeypatch.setattr(
        registries, "entry_points", lambda group: points if group == METHODS.group else []
    )
    monkeypatch.delitem(METHODS.__dict__, "entries", raising=False)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "component       method 'a.b' of m:M: a name is letters, digits" in out
    assert "; method 'grace' of m:M is also defined in " in out
    assert " dataset, " in out and "offline         " in out


def test_doctor_finds_what_is_missing(
    capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "file"))
    monkeypatch.setenv("GCLBENCH_MIRROR", str(tmp_path / "no_such_folder"))
    monkeypatch.setattr("gclbench.cli.doctor.find_spec", lambda name: None)
    assert main(["doctor"]) == 1
    broken = Entry("broken", "from other 0.1", "nowhere.at_all:Method", "other 0.1", builtin=False)
    monkeypatch.setitem(METHODS.entries, "broken", broken)
    capsys.readouterr()
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert (
        "component       method=broken of other 0.1 cannot be loaded: ModuleNotFoundError: No"
        " module named 'nowhere'" in out
    )
    assert "configs         missing: install gclbench again" in out
    assert (
        "(not writable; set GCLBENCH_DATA)" in out
        and "(there is no such folder; check GCLBENCH_MIRROR)" in out
    )
