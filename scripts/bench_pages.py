"""Times steps of training on REDDIT-BINARY with memory in small pages and as runs have it.

    python scripts/bench_pages.py [--rounds 2] [--output results/bench/pages.json]

The first way has arrays of 32 MiB and more mapped by themselves and pages of 4 KiB, as runs had
before; the second is `reusing_memory` with large pages. Steps are those of a training, forward,
backward and update, at shipped batches. Each measure has a process of its own, the ways take turns,
and processor seconds are compared, which another process on the machine slows least. The losses of
the steps are kept, since they must not depend on the way. A table is written beside the JSON.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

STEPS = {"graphcl": 4, "mmix_mp": 2, "gin": 8}
"""Steps that are timed, after a first one, by method."""

WAYS = {"small pages": "0", "as in runs": "1"}
"""The environment variable that makes torch ask for large pages, by way."""

MAPPED_FROM = 32 << 20
KEPT = 256 << 20
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4


def built(name: str) -> Any:
    """The model of a method on REDDIT-BINARY, that of the mixture being the one of its table."""
    import torch

    from gclbench.component.registry import DATASETS, METHODS, NEGATIVES
    from gclbench.training.streams import Streams

    graph = DATASETS.load("reddit_binary")().load()
    cls = METHODS.load(name)
    unlabelled = torch.full((graph.items,), -1)
    if name == "mmix_mp":
        method = cls(objective="nodes", hidden=256, batch_size=256, subgraphs=2)
        negatives = NEGATIVES.load("mmix")(variant="mp")
        return method.model(graph, unlabelled, Streams(0), negatives)
    labels = graph.y.clone() if cls.needs_labels else unlabelled
    return cls().model(graph, labels, Streams(0))


def measured(name: str, way: str) -> dict[str, Any]:
    """Seconds and page faults of a step, the peak of memory and the losses."""
    import torch

    from gclbench.machine.allocator import reusing_memory

    torch.set_num_threads(1)
    steps = STEPS[name]
    model = built(name)
    optimizer = torch.optim.Adam(model.trained(), lr=0.001, fused=True)
    model.train()
    with reusing_memory():
        if way == "small pages":
            library = ctypes.CDLL("libc.so.6")
            library.mallopt(_TRIM_THRESHOLD, KEPT)
            library.mallopt(_MMAP_THRESHOLD, MAPPED_FROM)
            library.mallopt(_MMAP_MAX, 65_536)
        losses = chain.from_iterable(
            model.losses(step=SimpleNamespace(iteration=epoch, total=steps + 1))
            for epoch in range(1, steps + 2)
        )
        values = []

        def step() -> None:
            loss = next(losses)
            values.append(loss.value.item())
            optimizer.zero_grad(set_to_none=True)
            loss.value.backward()
            optimizer.step()

        step()
        before = resource.getrusage(resource.RUSAGE_SELF)
        for _ in range(steps):
            step()
        after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "method": name,
        "way": way,
        "user_s": (after.ru_utime - before.ru_utime) / steps,
        "system_s": (after.ru_stime - before.ru_stime) / steps,
        "faults": (after.ru_minflt - before.ru_minflt) // steps,
        "peak_gib": after.ru_maxrss / 2**20,
        "losses": values,
    }


def in_a_process(name: str, way: str) -> dict[str, Any]:
    """The measure, taken by a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", name, way],
        env={**os.environ, "THP_MEM_ALLOC_ENABLE": WAYS[way], "OMP_NUM_THREADS": "1"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians over the rounds, and whether all losses of a method are the same to the last bit."""
    found = []
    for name in STEPS:
        of_method = [row for row in rows if row["method"] == name]
        for way in WAYS:
            taken = [row for row in of_method if row["way"] == way]
            found.append(
                {
                    "method": name,
                    "way": way,
                    **{
                        key: statistics.median(row[key] for row in taken)
                        for key in ("user_s", "system_s", "faults", "peak_gib")
                    },
                    "same_losses": len({tuple(row["losses"]) for row in of_method}) == 1,
                }
            )
    return found


def table(found: dict[str, Any]) -> str:
    """The numbers as Markdown."""
    lines = [
        "# Pages of memory in trainings on REDDIT-BINARY",
        "",
        f"{found['device']}, torch {found['environment']['torch']}, one thread; load of the machine"
        f" (1, 5, 15 minutes) {found['load_before']} before and {found['load_after']} after, on"
        f" {found['cores']} cores. Medians of {found['rounds']} process(es) each.",
        "",
        "| method | memory | processor seconds a step | of them in the kernel | page faults a step"
        " | peak GiB | the same losses |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    lines += [
        f"| {row['method']} | {row['way']} | {row['user_s'] + row['system_s']:.2f}"
        f" | {row['system_s']:.2f} | {row['faults']:,.0f} | {row['peak_gib']:.2f}"
        f" | {'yes' if row['same_losses'] else 'no'} |"
        for row in found["summary"]
    ]
    return "\n".join([*lines, ""])


def main() -> None:
    """Measures and writes both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("results/bench/pages.json"))
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "WAY"), help="print one measure")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(*arguments.one)))
        return
    # Not above: a measured process imports what it needs by itself.
    import bench_facts

    begun = bench_facts.begun("bench_pages", threads=1)
    rows = [
        in_a_process(name, way) for _ in range(arguments.rounds) for name in STEPS for way in WAYS
    ]
    found = {
        **begun,
        "rounds": arguments.rounds,
        "rows": rows,
        "summary": summary(rows),
    }
    bench_facts.write(arguments.output, found, table)
    print(table(found))


if __name__ == "__main__":
    main()
