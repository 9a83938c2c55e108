"""Sections of a step that a CUDA graph can hold, tried without a GPU."""

from __future__ import annotations

import sys

import gpu_steps
import pytest
import torch
from other_device import DEVICE, DeviceFault, quiet, rehearsal

from gclbench.contrast import panel
from gclbench.methods.dmat_i import DmatI

SMALL = DmatI(architecture=(8, 6), batch_size=12)


def sections(device: str):
    yield from (
        gpu_steps.loss_section(name, nodes, 6, device)
        for name in gpu_steps.CAPTURED
        for nodes in (20, 300)
    )
    yield gpu_steps.batch_section(SMALL, 12, 10, device)


def test_a_section_waits_for_nothing(monkeypatch):
    # Adam as it is recorded, whose counters are on the device too.
    adam = sys.modules["torch.optim.adam"]  # torch.optim hides it
    monkeypatch.setattr(adam, "_get_capturable_supported_devices", lambda *_: ["cuda", DEVICE])
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
        lambda x: torch.tensor([1.0], device=DEVICE),
        lambda x: torch.as_tensor([1.0], device=DEVICE),
    ],
)
def test_what_waits_is_found(planted):
    with rehearsal():
        x = torch.arange(3.0).to(DEVICE)
        planted(x)
        with quiet(), pytest.raises(DeviceFault, match="waits for the device"):
            planted(x)


@pytest.mark.parametrize("name", gpu_steps.STRATEGIES)
def test_every_loss_is_computed_on_the_device(name):
    with rehearsal():
        section = gpu_steps.loss_section(name, 300, 6, DEVICE)
        section.work()
        assert torch.isfinite(section.loss.inner)
        assert all(tensor.grad is not None for tensor in section.learned)


def test_the_batch_is_trained():
    section = gpu_steps.batch_section(SMALL, 12, 10, "cpu")
    section.work()
    first = float(section.loss)
    for _ in range(20):
        section.work()
    assert float(section.loss) < first


def test_a_loss_section_has_the_strategys_gradient():
    section = gpu_steps.loss_section("uniform", 20, 6, "cpu")
    section.work()
    u, v = (view.requires_grad_() for view in gpu_steps.two_views(20, 6))
    pair = gpu_steps.Pair(u, (v,), gpu_steps.TAU, gpu_steps.LATE)
    value = gpu_steps.learned("uniform", u.detach(), v.detach())(pair).value
    assert float(section.loss) == value.item()
    for ours, wanted in zip(section.learned, torch.autograd.grad(value, (u, v)), strict=True):
        torch.testing.assert_close(ours.grad, wanted)


def test_other_bits_are_seen():
    one, other = (gpu_steps.loss_section("uniform", 20, 6, "cpu") for _ in range(2))
    one.work()
    assert not gpu_steps.same_bits(one, other)
    other.work()
    assert gpu_steps.same_bits(one, other)
    other.learned[1].grad[0, 0] += 1
    assert not gpu_steps.same_bits(one, other)


def test_without_a_gpu_there_is_no_replay():
    facts = gpu_steps.report("cpu", quick=True)
    assert set(facts["graphs"]) == {"loss of uniform", "loss of augcl", "step of dmat_i"}
    assert all(set(row) == {"plain"} for row in facts["graphs"].values())
    losses = {name.partition(",")[0] for name in facts["losses"]}
    assert losses == set(gpu_steps.STRATEGIES)
    line = gpu_steps.summary(facts)
    assert "replayed" not in line and "4 seeds, of the time one after the other: at once" in line


def test_a_replay_is_told():
    facts = {
        "losses": {"uniform, float32": 0.5},
        "graphs": {"step": {"plain": 0.002, "replayed": 0.001, "same_bits": False}},
        "seeds": {
            "seeds": 4,
            "one_after_the_other": 2.0,
            "at_once": 1.0,
            "replayed_one_after_the_other": 0.6,
            "replayed_at_once": 0.5,
        },
    }
    assert gpu_steps.summary(facts) == (
        "losses: uniform, float32 500.0 ms; graphs: step 2.00 ms plain and 1.00 ms replayed"
        " (OTHER bits); 4 seeds, of the time one after the other: at once 0.50,"
        " replayed one after the other 0.30, replayed at once 0.25"
    )


def test_losses_are_timed_by_the_size_of_their_tiles_and_the_sizes_stay():
    before = panel.GPU_ENTRIES, panel.KEPT_BYTES
    found = gpu_steps.tiles("cpu", quick=True)
    assert len(found) == 20 and all(seconds > 0 for seconds in found.values())
    assert "uniform, 300, tiles of 16 MiB, kept to 256" in found
    assert before == (panel.GPU_ENTRIES, panel.KEPT_BYTES)
