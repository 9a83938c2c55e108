"""What CUDA graphs and several seeds in one process bring, beside what trainings do of it.

A *section* is a part of a training step whose shapes are the same in every step, and which asks the
device for no number: the loss of two views with its gradient (GRACE and its kin; dropped edges
change the encoder's shapes), and DMAT-i's step on a batch behind the draws of batch and masks.
`captured` records a section as a CUDA graph and times its replay beside the plain calls.
`together` trains several seeds of DMAT-i in one process, each on a stream of its own, by plain
calls and by replays, beside one after the other.

Trainings record DMAT-i's iteration (`gclbench/training/replay.py`, there with AdamW, fused), and
nothing else. `gpu_check.py` runs both. tests/scripts/test_gpu_steps.py holds that a section asks
for no number, on a device that is none.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from gclbench.component.registry import NEGATIVES
from gclbench.contrast import panel
from gclbench.contrast.unit_rows import unit_rows
from gclbench.contrast.views import dropped_columns
from gclbench.machine import precision
from gclbench.methods.dmat_i import DmatI
from gclbench.negatives.strategy import Negatives, Pair
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

CAPTURED = ("uniform", "augcl")
"""`progcl_weight` asks the device whether it has begun, `nml` draws slopes on the CPU."""

LATE = Step(60, 100)
TAU = 0.4
WARMING = 3
"""Calls before a section is timed or recorded."""


@dataclass
class Section:
    """A part of a step that is the same work each time.

    Attributes:
        work: does it, on tensors that stay where they are. loss: () of the last call. learned: the
            tensors whose gradients a call makes.
    """

    work: Callable[[], None]
    loss: Tensor
    learned: list[Tensor]


def two_views(nodes: int, width: int) -> tuple[Tensor, Tensor]:
    """Random embeddings of nodes in two views, N×d each; the second is the first and noise."""
    generator = torch.Generator().manual_seed(0)
    u = torch.randn(nodes, width, generator=generator)
    return u, u + torch.randn(nodes, width, generator=generator)


def learned(name: str, u: Tensor, v: Tensor) -> Negatives:
    """A strategy at work that has learned what it learns from two views."""
    strategy = NEGATIVES.load(name)(**STRATEGIES[name]).build(
        u.shape[1], len(u), Streams(0), u.device
    )
    strategy.to(u.device)
    strategy.update(Pair(u, (v,), TAU, LATE))
    return strategy


def loss_section(name: str, nodes: int, width: int, device: str) -> Section:
    """A strategy's loss of two views and its gradient, without an encoder."""
    u, v = (view.to(device) for view in two_views(nodes, width))
    strategy = learned(name, u, v)
    u.requires_grad_()
    v.requires_grad_()
    loss = torch.zeros((), device=device)

    def work() -> None:
        value = strategy(Pair(u, (v,), TAU, LATE)).value
        u.grad, v.grad = torch.autograd.grad(value, (u, v))
        loss.copy_(value.detach())

    return Section(work, loss, [u, v])


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
        capturable=device != "cpu",
    )
    loss = torch.zeros((), device=device)

    def work() -> None:
        anchor, *views = encoder.views(unit_rows(rows), masks)
        value = strategy(Pair(anchor, tuple(views), method.tau, LATE, batched=True)).value
        adam.zero_grad(set_to_none=True)
        value.backward()
        adam.step()
        loss.copy_(value.detach())

    return Section(work, loss, list(encoder.parameters()))


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


def recorded(section: Section) -> torch.cuda.CUDAGraph:
    """A section's work as a CUDA graph, after some calls on a stream aside, which make what stays
    in memory."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARMING):
            section.work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        section.work()
    return graph


def tiles(device: str, quick: bool) -> dict[str, Any]:
    """Seconds of two losses, on two numbers of nodes, by the entries of a tile and the bytes up to
    which a panel's tiles are kept for the backward pass."""
    found = {}
    for nodes, times in ((300, 1),) if quick else ((7_650, 10), (19_717, 4)):
        for name in ("uniform", "progcl_weight"):
            section = loss_section(name, nodes, 16 if quick else 256, device)
            for entries in (1 << power for power in range(22, 27)):
                for kept in (1 << 28, 1 << 34):
                    with (
                        mock.patch.object(panel, "GPU_ENTRIES", entries),
                        mock.patch.object(panel, "KEPT_BYTES", kept),
                    ):
                        section.work()
                        section.work()
                        taken = seconds_of(section.work, device, times)
                    case = f"{name}, {nodes}, tiles of {entries >> 18} MiB, kept to {kept >> 20}"
                    found[case] = taken
    return found


def captured(section: Section, twin: Section, device: str, times: int) -> dict[str, Any]:
    """Seconds of a section by plain calls, and of its twin by replays of a CUDA graph.

    Args:
        twin: the same section, made anew. times: calls of each that are timed.

    Returns:
        `plain`, and on a GPU `replayed`, and `same_bits`: whether both end with the same loss and
        gradients.
    """
    for _ in range(WARMING):
        section.work()
    plain = seconds_of(section.work, device, times)
    if not device.startswith("cuda"):
        return {"plain": plain}
    graph = recorded(twin)
    # Recording does no work. What the warm calls have left must not pass for a replay's.
    twin.loss.zero_()
    for tensor in twin.learned:
        if tensor.grad is not None:
            tensor.grad.zero_()
    replayed = seconds_of(graph.replay, device, times)
    return {"plain": plain, "replayed": replayed, "same_bits": same_bits(section, twin)}


def same_bits(one: Section, other: Section) -> bool:
    """Whether loss and gradients of two sections are equal."""
    pairs = zip(one.learned, other.learned, strict=True)
    return bool(one.loss == other.loss) and all(
        a.grad is not None and b.grad is not None and torch.equal(a.grad, b.grad) for a, b in pairs
    )


def together(
    method: DmatI, nodes: int, features: int, device: str, seeds: int, times: int
) -> dict[str, float]:
    """Seconds of so many steps of each of some seeds: one seed after the other, and step by step
    in turn, each seed on a stream of its own; on a GPU also by replays, one after the other and in
    turn."""
    gpu = device.startswith("cuda")

    def sections() -> list[Section]:
        made = [batch_section(method, nodes, features, device, seed) for seed in range(seeds)]
        for section in made:
            section.work()
        return made

    streams = [torch.cuda.Stream() if gpu else None for _ in range(seeds)]

    def after_each_other(works: list[Callable[[], None]]) -> None:
        for work in works:
            for _ in range(times):
                work()

    def at_once(works: list[Callable[[], None]]) -> None:
        for _ in range(times):
            for work, stream in zip(works, streams, strict=True):
                with torch.cuda.stream(stream):
                    work()

    one, other = ([section.work for section in sections()] for _ in range(2))
    found = {
        "one_after_the_other": seconds_of(lambda: after_each_other(one), device, 1),
        "at_once": seconds_of(lambda: at_once(other), device, 1),
    }
    if gpu:
        kept = [sections() for _ in range(2)]
        graphs = [[recorded(section).replay for section in made] for made in kept]
        found["replayed_one_after_the_other"] = seconds_of(
            lambda: after_each_other(graphs[0]), device, 1
        )
        found["replayed_at_once"] = seconds_of(lambda: at_once(graphs[1]), device, 1)
    return found


def report(device: str, quick: bool) -> dict[str, Any]:
    """Losses in both precisions, sections as CUDA graphs, seeds together."""
    nodes, width, times = (300, 16, 2) if quick else (7_650, 256, 20)
    method = DmatI()
    facts: dict[str, Any] = {"nodes": nodes, "width": width, "losses": {}, "graphs": {}}
    precisions = {precision.FLOAT32: ""}
    if precision.usual(device):
        precisions[precision.FAST] = precision.usual(device)
    for name in STRATEGIES:
        section = loss_section(name, nodes, width, device)
        section.work()
        for chosen, products in precisions.items():
            with precision.trained_with(products), precision.products():
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
            f" ({'the same' if row['same_bits'] else 'OTHER'} bits)"
            if "replayed" in row
            else ""
        )
        for name, row in facts["graphs"].items()
    )
    seeds = facts["seeds"]
    alone = seeds["one_after_the_other"]
    shares = ", ".join(
        f"{name.replace('_', ' ')} {seconds / alone:.2f}"
        for name, seconds in seeds.items()
        if name not in ("seeds", "one_after_the_other")
    )
    return (
        f"losses: {losses}; graphs: {graphs}; {seeds['seeds']} seeds, of the time one after the"
        f" other: {shares}"
    )
