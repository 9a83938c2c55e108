"""Seconds per epoch of trainings, and the floor under them: their products and exponentials at the
rates that this machine reaches, measured in the same run.

Products and exponentials are counted as they happen, in every step, forward and backward, by a
dispatch mode. Times are processor seconds of one thread, so that a shared machine hardly moves
them. `bench_train.py --floor` prints the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from emulated_bfloat16 import FACTORS
from gpu_steps import LATE, STRATEGIES, TAU, learned, two_views
from plain_grace import train as plain_grace
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from gclbench.config.validation import experiment_of
from gclbench.contrast.panel import TILE_ROWS
from gclbench.contrast.unit_rows import unit_rows
from gclbench.filters.cache import uncached
from gclbench.graph import with_features, without_labels
from gclbench.machine import precision
from gclbench.machine.environment import cache_folder
from gclbench.negatives.strategy import Pair
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

aten = torch.ops.aten
EXPONENTIALS = {aten.exp.default, aten.exp_.default, aten.exp.out}


class Counter(TorchDispatchMode):
    """Counts while it is entered.

    Attributes:
        flops: of products, float64 ones counted twice. Propagation is in no floor: torch's sparse
            kernels are not counted, and a sparse factor elsewhere counts by its entries.
            exponentials: of entries.
    """

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0.0
        self.exponentials = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in FACTORS:
            left, right = (args[place] for place in FACTORS[func])
            wide = 2 if left.dtype == torch.float64 else 1
            entries = left.numel() if left.layout == torch.strided else left._nnz()
            self.flops += 2.0 * wide * entries * right.shape[-1]
        elif func in EXPONENTIALS:
            self.exponentials += args[0].numel()
        return func(*args, **(kwargs or {}))


@dataclass(frozen=True)
class Rates:
    """What the machine reaches on one thread: products of large matrices (flop/s) in float32, and
    in fast precision where the hardware has it; exponentials of a tile in cache (entries/s)."""

    products: float
    fast: float | None
    exponentials: float

    def floor(self, flops: float, exponentials: float, fast: bool = False) -> float:
        """Seconds."""
        rate = self.fast if fast and self.fast else self.products
        return flops / rate + exponentials / self.exponentials


def quickest(work: Callable[[], object], rounds: int = 5) -> float:
    """The least processor seconds of several calls."""
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def rates() -> Rates:
    """Measured now."""
    x, tile = torch.rand(1536, 1536), torch.rand(256, 512)
    out = torch.empty_like(tile)

    def exponentials() -> None:
        for _ in range(200):
            torch.exp(tile, out=out)

    flops = 2.0 * len(x) ** 3
    fast = None
    if precision.usual("cpu") == precision.IN_CONTRASTS:
        short = x.bfloat16()
        fast = flops / quickest(lambda: short @ short)
    elif precision.usual("cpu"):
        with precision.trained_with(precision.usual("cpu")), precision.products():
            fast = flops / quickest(lambda: x @ x)
    return Rates(flops / quickest(lambda: x @ x), fast, 200 * tile.numel() / quickest(exponentials))


def epochs(work: Callable[[Callable[[int, int, float], None]], object], count: int) -> float:
    """The least processor seconds of an epoch after the first, which warms up."""
    marks: list[float] = []
    work(lambda done, total, loss: marks.append(time.process_time()))
    return min(after - before for before, after in zip(marks, marks[1:], strict=False))


def measure(words: list[str], count: int, known: Rates) -> dict[str, Any]:
    """One method on one graph: seconds per epoch, what is in it, and the share of the floor.

    Args:
        words: `method=grace dataset=cora …`. count: epochs, 2 or more.
    """
    experiment = experiment_of([*words, f"method.epochs={count}", "device=cpu"])
    parts = experiment.components
    graph = parts.dataset.load()
    seen = without_labels(
        with_features(graph, uncached(parts.filter, graph, cache_folder() / "filtered").x)
    )
    labels = torch.full((graph.num_nodes,), -1)
    taken = (
        {"negatives": parts.negatives} if getattr(parts.method, "takes_negatives", False) else {}
    )
    counters: list[tuple[float, int]] = []

    def train(report: Callable[[int, int, float], None]) -> None:
        parts.method.fit(seen, labels, Streams(0), Watch(report), **taken)

    counter = Counter()

    def counted(done: int, total: int, loss: float) -> None:
        counters.append((counter.flops, counter.exponentials))

    with counter:
        train(counted)
    # Between two reports lies one epoch.
    once = Counter()
    (flops, exponents), (flops_after, exponents_after) = counters[-2:]
    once.flops, once.exponentials = flops_after - flops, exponents_after - exponents
    seconds = {"float32": epochs(train, count)}
    products = precision.resolved(
        precision.FAST,
        experiment.settings["method"],
        experiment.settings["negatives"]["name"],
        "cpu",
    )
    if products:
        with precision.trained_with(products):
            seconds["fast"] = epochs(train, count)
    floors = {name: known.floor(once.flops, once.exponentials, name == "fast") for name in seconds}
    row: dict[str, Any] = {
        "words": " ".join(words),
        "nodes": graph.num_nodes,
        "seconds_per_epoch": seconds,
        "fast_products": products,
        "gigaflop": once.flops / 1e9,
        "million_exponentials": once.exponentials / 1e6,
        "floor_seconds": floors,
        "share_of_floor": {name: floors[name] / taken for name, taken in seconds.items()},
    }
    if experiment.settings["method"]["name"] == "grace" and not taken_otherwise(parts.negatives):
        row["plain_seconds_per_epoch"] = epochs(
            lambda report: plain_grace(graph, parts.method, 0, report), count
        )
    return row


def losses(nodes: int, width: int, rounds: int = 5) -> dict[str, Any]:
    """Seconds of a loss of two views with its gradient, without an encoder, beside a bare loop of
    the plain loss's products, exponentials and sums over tiles. The quickest of some rounds: the
    first ones compute what a training keeps, and compile products of new shapes."""
    u, v = two_views(nodes, width)

    def bare() -> None:
        bare_loop(unit_rows(u), unit_rows(v))

    seconds = {"bare loop": quickest(bare, rounds)}
    fast: dict[str, float] = {}
    if precision.usual("cpu") not in ("", precision.IN_CONTRASTS):
        with precision.trained_with(precision.usual("cpu")), precision.products():
            fast["bare loop"] = quickest(bare, rounds)
    in_contrasts: dict[str, float] = {}
    counters = {}
    for name in STRATEGIES:
        strategy = learned(name, u, v)

        def step(strategy: Any = strategy) -> None:
            one, other = u.clone().requires_grad_(), v.clone().requires_grad_()
            strategy(Pair(one, (other,), TAU, LATE)).value.backward()

        seconds[name] = quickest(step, rounds)
        if precision.usual("cpu"):
            with precision.trained_with(precision.usual("cpu")), precision.products():
                fast[name] = quickest(step, rounds)
        if precision.FACTORS_IN_CONTRASTS in precision.ways("cpu"):
            with precision.trained_with(precision.FACTORS_IN_CONTRASTS), precision.products():
                in_contrasts[name] = quickest(step, rounds)
        with Counter() as counters[name]:
            step()
    return {
        "nodes": nodes,
        "width": width,
        "seconds": seconds,
        "fast_seconds": fast,
        "fast_in_contrasts_seconds": in_contrasts,
        "gigaflop": {name: counter.flops / 1e9 for name, counter in counters.items()},
        "million_exponentials": {name: one.exponentials / 1e6 for name, one in counters.items()},
    }


def about_fast() -> list[str]:
    """What a reader should know of the floors in fast precision here."""
    if precision.FACTORS_IN_CONTRASTS in precision.ways("cpu"):
        return [
            "Fast are all products, or those of panels alone where a method was shown equivalent"
            " so (`contrasts`). The floor takes all products at the fast rate, so the share is low"
            " there."
        ]
    if precision.usual("cpu") != precision.IN_CONTRASTS:
        return []
    return [
        "Fast are the products of panels alone. The floor takes all products at that rate, so"
        " the share is low where an encoder has many. Nothing is shortened in `dgi`, `cca_ssg`,"
        " `bgrl`, `mvgrl`, `graphcl_nodes`, `gae`, `age` and `infograph`: their two rows"
        " differ by noise, and differences of that size say nothing of the others.",
    ]


def bare_loop(u: Tensor, v: Tensor) -> None:
    """Forward and backward over the tiles of one panel between views and of the half of two within
    them, in memory that is there already. What it computes is of no use."""
    nodes, sums, pull = len(u), torch.zeros(len(u)), torch.zeros_like(u)
    memory = torch.empty(2, TILE_ROWS, nodes)
    for anchors, candidates, half in ((u, v, False), (u, u, True), (v, v, True)):
        for backward in (False, True):
            for start in range(0, nodes, TILE_ROWS):
                block, others = anchors[start : start + TILE_ROWS], candidates[start * half :]
                tile, slope = (part[: len(block), : len(others)] for part in memory)
                torch.mm(block, others.T, out=tile).exp_()
                if not backward:
                    torch.sum(tile, dim=1, out=sums[: len(block)])
                    torch.sum(tile, dim=0, out=sums[: len(others)])
                    continue
                torch.add(sums[: len(block), None], sums[: len(others)], out=slope).mul_(tile)
                pull[: len(block)].addmm_(slope, others)
                pull[: len(others)].addmm_(slope.T, block)


def taken_otherwise(negatives: Any) -> bool:
    """Whether a strategy other than the plain one is at work, which the plain loop has not."""
    return type(negatives).__name__ != "Uniform"


def least(losses: dict[str, Any], name: str, known: Rates) -> float:
    """Seconds of a loss's products and exponentials in float32."""
    return known.floor(1e9 * losses["gigaflop"][name], 1e6 * losses["million_exponentials"][name])


def markdown(rows: list[dict[str, Any]], known: Rates, facts: dict[str, Any]) -> str:
    """The table of results/bench/train_cpu.md."""
    lines = [
        "# Seconds per epoch, and the floor under them",
        "",
        f"{facts['device']}, one thread, processor seconds, load of the machine (1, 5, 15"
        f" minutes) {facts['load_before']} before and {facts['load_after']} after.",
        f"Rates in this run: {known.products / 1e9:.0f} GFLOP/s of float32 products, "
        + (f"{known.fast / 1e9:.0f} of fast ones, " if known.fast else "no fast products here, ")
        + f"{known.exponentials / 1e6:.0f} million exponentials a second.",
        "The floor is products ÷ rate + exponentials ÷ rate, as counted in one epoch.",
        "Propagation is not counted: what does little else (`dgi`, `mvgrl`) is far above a floor.",
        *about_fast(),
        "",
        "| run | precision | s/epoch | GFLOP | M exp | floor s | share of floor | plain loop s |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        for name, seconds in row["seconds_per_epoch"].items():
            plain = row.get("plain_seconds_per_epoch") if name == "float32" else None
            products = row.get("fast_products") if name == "fast" else None
            where = ", contrasts" if products == precision.FACTORS_IN_CONTRASTS else ""
            lines.append(
                f"| {row['words']} | {name}{where} | {seconds:.3f} | {row['gigaflop']:.1f}"
                f" | {row['million_exponentials']:.1f} | {row['floor_seconds'][name]:.3f}"
                f" | {100 * row['share_of_floor'][name]:.0f} %"
                f" | {'' if plain is None else f'{plain:.3f}'} |"
            )
    loss = facts["losses"]
    seconds = loss["seconds"]
    lines += [
        "",
        f"A loss of two views of {loss['nodes']:,} nodes, width {loss['width']}, forward and"
        " backward, without an encoder. Not in it: the weights of `progcl_weight` (once in a"
        " training), the network (once) and weights (every fifth iteration) of `augcl`, the steps"
        " of the metric of `nml` (every iteration).",
        "The bare loop has the products, exponentials and sums of GRACE's loss (`uniform`) over the"
        " same tiles, each of them in both passes.",
        "`uniform` keeps the tiles of a panel of this size for the backward pass, and takes less.",
        "`augcl` and `nml` have no pairs within a view.",
        "",
        "The last column is the floor of its products and exponentials over that of `uniform`.",
        "",
        "| loss | s | times the bare loop | times `uniform` | fast s | times fast `uniform`"
        " | fast in contrasts s | GFLOP | M exp | floor, times `uniform`'s |",
        f"|---|{'---:|' * 9}",
    ]
    for name, taken in seconds.items():
        flops, exponentials = (
            loss[what].get(name) for what in ("gigaflop", "million_exponentials")
        )
        floor = "|  |  |  |"
        if flops is not None:
            share = least(loss, name, known) / least(loss, "uniform", known)
            floor = f"| {flops:.0f} | {exponentials:.0f} | {share:.2f} |"
        fast, fast_of = "|  |  ", loss["fast_seconds"]
        if name in fast_of:
            fast = f"| {fast_of[name]:.2f} | {fast_of[name] / fast_of['uniform']:.2f} "
        contrasts = loss["fast_in_contrasts_seconds"].get(name)
        fast += "|  " if contrasts is None else f"| {contrasts:.2f} "
        lines.append(
            f"| {name} | {taken:.2f} | {taken / seconds['bare loop']:.2f}"
            f" | {taken / seconds['uniform']:.2f} {fast}{floor}"
        )
    return "\n".join(lines) + "\n"
