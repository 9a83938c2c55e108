"""Sections of a step that a CUDA graph can hold, tried without a GPU."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from gclbench.methods.dmat_i import DmatI

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

import gpu_steps  # noqa: E402
from other_device import DEVICE, DeviceFault, quiet, rehearsal  # noqa: E402

SMALL = DmatI(architecture=(8, 6), batch_size=12)


def sections(device: str):
    yield from (
        gpu_steps.loss_section(name, nodes, 6, device)
        for name in gpu_steps.CAPTURED
        for nodes in (20, 300)
    )
    yield gpu_steps.batch_section(SMALL, 12, 10, device)


def test_a_section_waits_for_nothing():
    with rehearsal():
        for section in sections(DEVICE):
            section.work()  # an optimiser makes its state in the first step
            with quiet():
                section.work()
            assert torch.isfinite(section.loss.inner)


@pytest.mark.parametrize(
    "planted",
    [
        lambda x: x.sum().item(),
        lambda x: x.tolist(),
        lambda x: bool((x > 0).all()),
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: x + torch.ones(len(x)).to(DEVICE),
        lambda x: x.to("cpu"),
        lambda x: x.copy_(torch.ones(len(x))),
        lambda x: x[torch.tensor([0])],
    ],
)
def test_what_waits_is_found(planted):
    with rehearsal():
        x = torch.arange(3.0).to(DEVICE)
        planted(x)
        with quiet(), pytest.raises(DeviceFault, match="waits for the device"):
            planted(x)


def test_the_batch_is_trained():
    section = gpu_steps.batch_section(SMALL, 12, 10, "cpu")
    section.work()
    first = float(section.loss)
    for _ in range(20):
        section.work()
    assert float(section.loss) < first


def test_the_loss_has_its_gradient():
    section = gpu_steps.loss_section("uniform", 20, 6, "cpu")
    section.work()
    assert 0 < float(section.loss) < 20


def test_without_a_gpu_there_is_no_replay():
    facts = gpu_steps.report("cpu", quick=True)
    assert set(facts["graphs"]) == {"loss of uniform", "step of dmat_i"}
    assert all(set(row) == {"plain"} for row in facts["graphs"].values())
    losses = {name.partition(",")[0] for name in facts["losses"]}
    assert losses == set(gpu_steps.STRATEGIES)
    line = gpu_steps.summary(facts)
    assert "replayed" not in line and "4 seeds at once" in line


def test_a_replay_is_told():
    facts = {
        "losses": {"uniform, float32": 0.5},
        "graphs": {"step": {"plain": 0.002, "replayed": 0.001, "same_loss": False}},
        "seeds": {"seeds": 4, "one_after_the_other": 2.0, "at_once": 1.0},
    }
    assert gpu_steps.summary(facts) == (
        "losses: uniform, float32 500.0 ms; graphs: step 2.00 ms plain and 1.00 ms replayed"
        " (ANOTHER loss); 4 seeds at once: 0.50 of the time"
    )
