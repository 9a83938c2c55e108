"""Times the trainings on collections of graphs, their reader and a kernel.

InfoGraph and GraphCL on MUTAG stand against plain torch_geometric scripts (`plain_graphs.py`) with
the same losses, and against those scripts on batches that lie ready: what their layers, losses and
optimiser take alone. Each side has a process of its own, ours with memory as runs have it
(`reusing_memory`). The sides take turns, and processor seconds are compared, so that a busy machine
slows all alike. REDDIT-BINARY is one epoch of GraphCL in a process of its own; so are its reader
and the kernel of its Weisfeiler-Lehman subtrees.

    python scripts/bench_graphs.py [--rounds 3] [--output results/bench/graphs.json]

The numbers are also written as a table beside the JSON, with the ending .md.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import bench_facts
import torch
from plain_graphs import (
    contrast,
    discrimination,
    embedded,
    graphcl_batches,
    infograph_batches,
    single_graphs,
    train_graphcl,
    train_infograph,
)

from gclbench.component.registry import DATASETS
from gclbench.contrast.local_global import nodes_against_graphs
from gclbench.contrast.objectives import others_nce
from gclbench.contrast.unit_rows import unit_rows
from gclbench.graph import Graph
from gclbench.machine.allocator import reusing_memory
from gclbench.methods.graph_kernel import GraphKernel
from gclbench.methods.graphcl import Graphcl
from gclbench.methods.infograph import Infograph
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

SIDES: dict[str, tuple[Any, Any, Any]] = {
    "infograph": (Infograph, train_infograph, infograph_batches),
    "graphcl": (Graphcl, train_graphcl, graphcl_batches),
}
"""Our method, the plain script and its batches, by name."""

GOAL = 0.3
"""Share of the plain script's time."""


def taken(train: Callable[[], Any]) -> tuple[float, float]:
    """Processor and wall-clock seconds."""
    wall, used = time.perf_counter(), time.process_time()
    train()
    return time.process_time() - used, time.perf_counter() - wall


def ours(name: str, seed: int) -> tuple[float, float]:
    """What a training of ours takes, labels unseen."""
    method, graph = SIDES[name][0](), mutag()

    def train() -> None:
        method.fit(graph, torch.full((graph.items,), -1), Streams(seed), Watch())

    with reusing_memory():
        return taken(train)


def theirs(name: str, seed: int) -> tuple[float, float]:
    """What the plain script takes."""
    kind, train, batches = SIDES[name]
    graph, method = mutag(), kind()

    def whole() -> None:
        graphs = single_graphs(graph)
        encoder = train(graph.x.shape[1], method, seed, batches(graphs, method, seed))
        embedded(encoder, graphs, method.batch_size)

    return taken(whole)


def steps_alone(name: str, seed: int) -> tuple[float, float]:
    """What its layers, losses and optimiser take, where the batches of all epochs lie ready."""
    kind, train, batches = SIDES[name]
    graph, method = mutag(), kind()
    ready = list(batches(single_graphs(graph), method, seed))
    return taken(lambda: train(graph.x.shape[1], method, seed, ready))


@cache
def mutag() -> Graph:
    """Read once in a process."""
    return DATASETS.load("mutag")().load()


def against_plain(name: str, rounds: int) -> dict[str, Any]:
    """Medians over alternating trainings; the first of each side warms up."""
    new = get_context("spawn")
    sides = {"plain": theirs, "steps_alone": steps_alone, "ours": ours}
    found: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
    with ExitStack() as stack:
        processes = {
            side: stack.enter_context(
                ProcessPoolExecutor(1, new, torch.set_num_threads, (torch.get_num_threads(),))
            )
            for side in sides
        }
        for seed in range(rounds + 1):
            for side, train in sides.items():
                found[side].append(processes[side].submit(train, name, seed).result())
    used = {side: [processor for processor, _ in found[side][1:]] for side in sides}
    ratios, steps = (
        [one / plain for one, plain in zip(used[side], used["plain"], strict=True)]
        for side in ("ours", "steps_alone")
    )
    return {
        "method": name,
        "epochs": SIDES[name][0]().epochs,
        "plain_processor_seconds": statistics.median(used["plain"]),
        "steps_alone_processor_seconds": statistics.median(used["steps_alone"]),
        "processor_seconds": statistics.median(used["ours"]),
        "plain_seconds": statistics.median(wall for _, wall in found["plain"][1:]),
        "seconds": statistics.median(wall for _, wall in found["ours"][1:]),
        "steps_alone_share": statistics.median(steps),
        "ratio_median": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "goal": GOAL,
    }


def loss_differences() -> dict[str, float]:
    """How far both ways to either loss are apart on the same rows."""
    generator = torch.Generator().manual_seed(0)
    u, v = torch.randn(2, 128, 96, generator=generator)
    nodes = torch.randn(2300, 96, generator=generator) / 3
    graph_of = torch.arange(2300) * 128 // 2300
    graphcl = contrast(u, v, 0.2) - others_nce(unit_rows(u), unit_rows(v), 0.2)
    infograph = discrimination(nodes, v, graph_of) - nodes_against_graphs(nodes, v, graph_of)
    return {"graphcl": abs(graphcl.item()), "infograph": abs(infograph.item())}


def reddit() -> dict[str, Any]:
    """One epoch of GraphCL on REDDIT-BINARY; the embedding at the end is not part of it."""
    graph = DATASETS.load("reddit_binary")().load()
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    model: Any = Graphcl(epochs=1).model(graph, torch.full((graph.items,), -1), Streams(0))
    optimiser = torch.optim.Adam(model.trained(), lr=0.01, fused=True)
    ahead = [0.0]  # seconds of what could be made while the batch before trains

    def noted(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*given: Any) -> Any:
            begin = time.process_time()
            found = make(*given)
            ahead[0] += time.process_time() - begin
            return found

        return made

    cut = model.collection.batches

    def batches(parts: Sequence[torch.Tensor]) -> Iterator[Any]:
        following = noted(partial(next, cut(parts), None))
        return iter(following, None)

    model.view, model.collection.batches = noted(model.view), batches

    def epoch() -> None:
        for loss in model.losses(step=None):
            optimiser.zero_grad(set_to_none=True)
            loss.value.backward()
            optimiser.step()

    model.train()
    with reusing_memory():
        used, wall = taken(epoch)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "dataset": "reddit_binary",
        "nodes": graph.num_nodes,
        "features": graph.x.shape[1],
        "processor_seconds": used,
        "seconds": wall,
        "views_share": ahead[0] / used,
        "peak_gib_after_loading": loaded,
        "peak_gib": peak,
    }


def data() -> dict[str, Any]:
    """REDDIT-BINARY read from its text files, and the kernel of its Weisfeiler-Lehman subtrees."""
    dataset = DATASETS.load("reddit_binary")()
    dataset.load()  # decompresses what a mirror holds compressed
    read = [taken(dataset.load) for _ in range(3)]
    graph = dataset.load()
    used, wall = taken(lambda: GraphKernel().matrix(graph, Streams(0)))
    return {
        "read_processor_seconds": statistics.median(one for one, _ in read),
        "read_seconds": statistics.median(one for _, one in read),
        "kernel_processor_seconds": used,
        "kernel_seconds": wall,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def table(found: dict[str, Any]) -> str:
    """The numbers as Markdown."""
    lines = [
        "# Trainings on collections of graphs",
        "",
        f"{found['device']}, torch {found['environment']['torch']}, {found['threads']} thread(s);"
        f" load of the machine (1, 5, 15 minutes) {found['load_before']} before and"
        f" {found['load_after']} after, on {found['cores']} cores.",
        "Seconds are the processor's, so that other work on the machine counts little; wall-clock"
        " seconds stand in the JSON file.",
        "",
        "| method, MUTAG | epochs | plain torch_geometric, s | its layers, losses and optimiser"
        " alone, s | gclbench, s | share of the plain script | goal |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['method']} | {row['epochs']} | {row['plain_processor_seconds']:.2f}"
        f" | {row['steps_alone_processor_seconds']:.2f} | {row['processor_seconds']:.2f}"
        f" | {row['ratio_median']:.2f}"
        f" ({row['ratio_min']:.2f}–{row['ratio_max']:.2f}) | ≤ {row['goal']} |"
        for row in found["mutag"]
    ]
    one = found["reddit"]
    lines += [
        "",
        "Where the layers, losses and optimiser of the plain script take more than the goal by"
        " themselves, batches that cost nothing would not reach it.",
        "",
        f"GraphCL, one epoch on REDDIT-BINARY ({one['nodes']:,} nodes, {one['features']} features):"
        f" {one['processor_seconds']:.1f} processor seconds, {one['seconds']:.1f} s of wall-clock;"
        f" peak memory {one['peak_gib']:.2f} GiB, {one['peak_gib_after_loading']:.2f} GiB of it"
        f" reached by loading. {100 * one['views_share']:.0f} % of the seconds go into cutting"
        " batches and drawing views: what making them while the batch before trains could save at"
        " most, on a core that has nothing else to do.",
        "",
    ]
    files = found["data"]
    lines += [
        f"REDDIT-BINARY read from text: {files['read_processor_seconds']:.1f} processor seconds"
        f" (goal: 5). The kernel of Weisfeiler-Lehman subtrees (GraKeL, five iterations):"
        f" {files['kernel_processor_seconds']:.0f} processor seconds (goal: 120), peak memory"
        f" {files['peak_gib']:.2f} GiB.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measures and writes both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("results/bench/graphs.json"))
    parser.add_argument("--only-reddit", action="store_true", help="print that part and end")
    parser.add_argument("--only-data", action="store_true", help="likewise")
    parser.add_argument("--only-mutag", action="store_true", help="likewise")
    arguments = parser.parse_args()
    if arguments.only_reddit or arguments.only_data:
        print(json.dumps(reddit() if arguments.only_reddit else data()))
        return
    begun = bench_facts.begun("bench_graphs", threads=torch.get_num_threads())
    rows = [against_plain(name, arguments.rounds) for name in SIDES]
    if arguments.only_mutag:
        print(json.dumps(rows, indent=1))
        return
    of_reddit, of_data = (
        subprocess.run(
            [sys.executable, __file__, part], check=True, capture_output=True, text=True
        ).stdout
        for part in ("--only-reddit", "--only-data")
    )
    found = {
        **begun,
        "loss_differences": loss_differences(),
        "mutag": rows,
        "reddit": json.loads(of_reddit.splitlines()[-1]),
        "data": json.loads(of_data.splitlines()[-1]),
    }
    bench_facts.write(arguments.output, found, table)
    print(table(found))


if __name__ == "__main__":
    main()
