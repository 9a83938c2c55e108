"""What CUDA graphs and several seeds in one process would bring, measured before either is built.

A *section* is the part of a training step whose shapes are the same in every step, and which asks
the device for no number: the loss of two views with its gradient (GRACE and its kin; dropped edges
change the encoder's shapes), and DMAT-i's whole step on a batch. `captured` records a section as a
CUDA graph and times its replay beside the plain calls. `together` trains several seeds of DMAT-i in
one process, each on a stream of its own, beside one after the other.

`gpu_check.py` runs both. tests/scripts/test_gpu_steps.py holds that a section asks for no number,
on a device that is none.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.contrast.unit_rows import unit_rows
from gclbench.contrast.views import dropped_columns
from gclbench.machine import precision
from gclbench.methods.dmat_i import DmatI
from gclbench.negatives.strategy import Pair
from gclbench.nn.mlp import Mlp
from gclbench.training.loop import Step
from gclbench.training.streams import Streams

STRATEGIES: dict[str, dict[str, Any]] = {
    "uniform": {},
    "progcl_weight": {"start_epoch": 1},
    "augcl": {},
    "nml": {"inner_steps": 1},
}
"""Whose losses are timed, and their settings."""

CAPTURED = ("uniform",)
"""The others ask the device whether they have begun."""

LATE = Step(60, 100)
TAU = 0.4


@dataclass
class Section:
    """A part of a step that is the same work each time.

    Attributes:
        work: does it, on tensors that stay where they are. loss: () of the last call.
    """

    work: Callable[[], None]
    loss: Tensor


def loss_section(name: str, nodes: int, width: int, device: str) -> Section:
    """A strategy's loss of two views and its gradient, without an encoder."""
    generator = torch.Generator().manual_seed(0)
    u = torch.randn(nodes, width, generator=generator)
    v = (u + torch.randn(nodes, width, generator=generator)).to(device)
    u = u.to(device)
    strategy = NEGATIVES.load(name)(**STRATEGIES[name]).build(
        width, nodes, Streams(0), torch.device(device)
    )
    strategy.update(Pair(u, (v,), TAU, LATE))
    u.requires_grad_()
    v.requires_grad_()
    loss = torch.zeros((), device=device)

    def work() -> None:
        value = strategy(Pair(u, (v,), TAU, LATE)).value
        u.grad, v.grad = torch.autograd.grad(value, (u, v))
        loss.copy_(value.detach())

    return Section(work, loss)


def batch_section(method: DmatI, nodes: int, features: int, device: str, seed: int = 0) -> Section:
    """DMAT-i's step on a batch: views, loss, gradient and Adam. Batch and masks stay the same."""
    streams = Streams(seed)
    rows = torch.randn(nodes, features, generator=streams.torch("batches")).to(device)
    masks = [
        dropped_columns(features, method.mask_fraction, streams.torch("views")).to(device)
        for _ in range(method.views)
    ]
    with streams.seeded("init"):
        encoder = Mlp(features, method.architecture, method.activation)
    encoder.to(device)
    strategy = NEGATIVES.load("uniform")().build(
        method.architecture[-1], nodes, streams, torch.device(device)
    )
    adam = torch.optim.Adam(
        encoder.parameters(),
        lr=method.lr,
        weight_decay=method.weight_decay,
        capturable=device.startswith("cuda"),
    )
    loss = torch.zeros((), device=device)

    def work() -> None:
        anchor, *views = encoder.views(unit_rows(rows), masks)
        value = strategy(Pair(anchor, tuple(views), method.tau, LATE, batched=True)).value
        adam.zero_grad(set_to_none=True)
        value.backward()
        adam.step()
        loss.copy_(value.detach())

    return Section(work, loss)


def seconds_of(work: Callable[[], object], device: str, times: int) -> float:
    """Mean seconds of a call, the device's queue empty before and after."""
    finish(device)
    started = time.perf_counter()
    for _ in range(times):
        work()
    finish(device)
    return (time.perf_counter() - started) / times


def finish(device: str) -> None:
    """Waits for what the device still has to do."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def captured(section: Section, twin: Section, device: str, times: int) -> dict[str, Any]:
    """Seconds of a section by plain calls, and of its twin by replays of a CUDA graph.

    Args:
        twin: the same section, made anew. times: calls of each that are timed.

    Returns:
        `plain`, and on a GPU `replayed`, and `same_loss`: whether both end with the same bits.
    """
    warming = 3
    for _ in range(warming):
        section.work()
    plain = seconds_of(section.work, device, times)
    if not device.startswith("cuda"):
        return {"plain": plain}
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(warming):
            twin.work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        twin.work()
    replayed = seconds_of(graph.replay, device, times)
    # Recording does no work, so both have done `warming` + `times` calls.
    return {"plain": plain, "replayed": replayed, "same_loss": bool(section.loss == twin.loss)}


def together(
    method: DmatI, nodes: int, features: int, device: str, seeds: int, times: int
) -> dict[str, float]:
    """Seconds of so many steps of each of some seeds: one seed after the other, and step by step
    in turn, each seed on a stream of its own."""

    def sections() -> list[Section]:
        made = [batch_section(method, nodes, features, device, seed) for seed in range(seeds)]
        for section in made:
            section.work()
        return made

    def in_turn(made: list[Section]) -> None:
        for section in made:
            for _ in range(times):
                section.work()

    def at_once(made: list[Section], streams: list[Any]) -> None:
        for _ in range(times):
            for section, stream in zip(made, streams, strict=True):
                with torch.cuda.stream(stream):
                    section.work()

    one, other = sections(), sections()
    streams = [torch.cuda.Stream() if device.startswith("cuda") else None for _ in range(seeds)]
    finish(device)
    return {
        "one_after_the_other": seconds_of(lambda: in_turn(one), device, 1),
        "at_once": seconds_of(lambda: at_once(other, streams), device, 1),
    }


def report(device: str, quick: bool) -> dict[str, Any]:
    """Losses in both precisions, sections as CUDA graphs, seeds together."""
    nodes, width, times = (300, 16, 2) if quick else (7_650, 256, 20)
    method = DmatI()
    facts: dict[str, Any] = {"nodes": nodes, "width": width, "losses": {}, "graphs": {}}
    precisions = [precision.FLOAT32, *([precision.FAST] if precision.hardware(device) else [])]
    for name in STRATEGIES:
        section = loss_section(name, nodes, width, device)
        section.work()
        for chosen in precisions:
            with precision.trained_with(chosen, device), precision.products():
                section.work()
                taken = seconds_of(section.work, device, times)
            facts["losses"][f"{name}, {chosen}"] = taken
    for name in CAPTURED:
        one, other = (loss_section(name, nodes, width, device) for _ in range(2))
        facts["graphs"][f"loss of {name}"] = captured(one, other, device, times)
    features = 64 if quick else 1_433
    one, other = (batch_section(method, method.batch_size, features, device) for _ in range(2))
    facts["graphs"]["step of dmat_i"] = captured(one, other, device, 10 * times)
    facts["seeds"] = {
        "seeds": 4,
        **together(method, method.batch_size, features, device, 4, 5 * times),
    }
    return facts


def summary(facts: dict[str, Any]) -> str:
    """One line."""
    losses = ", ".join(f"{name} {1e3 * s:.1f} ms" for name, s in facts["losses"].items())
    graphs = ", ".join(
        f"{name} {1e3 * row['plain']:.2f} ms plain"
        + (
            f" and {1e3 * row['replayed']:.2f} ms replayed"
            f" ({'the same' if row['same_loss'] else 'ANOTHER'} loss)"
            if "replayed" in row
            else ""
        )
        for name, row in facts["graphs"].items()
    )
    seeds = facts["seeds"]
    share = seeds["at_once"] / seeds["one_after_the_other"]
    return (
        f"losses: {losses}; graphs: {graphs};"
        f" {seeds['seeds']} seeds at once: {share:.2f} of the time"
    )
