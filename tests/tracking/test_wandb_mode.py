"""When Weights & Biases is asked over the network: only where somebody is logged in."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclbench.tracking.wandb import mode


@pytest.mark.parametrize(
    ("environment", "login", "expected"),
    [
        ({}, False, "offline"),
        ({}, True, "online"),
        ({"WANDB_API_KEY": "k"}, False, "online"),
        ({"WANDB_API_KEY": "k", "GCLBENCH_OFFLINE": "1"}, True, "offline"),
        ({"WANDB_API_KEY": "k", "GCLBENCH_OFFLINE": "true"}, True, "offline"),
        ({"WANDB_API_KEY": "k", "GCLBENCH_OFFLINE": "0"}, True, "online"),
        ({"WANDB_MODE": "disabled"}, True, "disabled"),
    ],
)
def test_nobody_is_asked_for_a_key_in_the_middle_of_a_run(
    environment: dict[str, str],
    login: bool,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("WANDB_API_KEY", "WANDB_MODE", "GCLBENCH_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "netrc"
    file.write_text("machine api.wandb.ai login user password key\n" if login else "")
    file.chmod(0o600)
    monkeypatch.setenv("NETRC", str(file))
    assert mode() == expected
