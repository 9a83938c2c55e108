"""Seconds of a contrast's loss by how many candidates a part of its products has on a CPU.

The loss of two views by `uniform` and its gradient, without an encoder. `tiles.PRODUCT_COLUMNS`
is what is tried; the widths take turns, and the least processor seconds of each count. Whether the
loss and the gradient are the same in every bit as with whole products is written too.

    python scripts/product_columns.py [--nodes 7650] [--width 256] [--rounds 7]
        [--output results/bench/product_columns.json]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import bench_facts
import torch
from gpu_steps import LATE, TAU, learned, two_views

from gclbench.contrast import tiles
from gclbench.contrast.short_factors import torch_shortens
from gclbench.negatives.strategy import Pair

SHIPPED = tiles.PRODUCT_COLUMNS
WHOLE = 1 << 62
WIDTHS = (WHOLE, 128, 256, 512, 1024, 2048)


def compared(nodes: int, width: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each width of products."""
    u, v = two_views(nodes, width)
    strategy = learned("uniform", u, v)
    seconds = dict.fromkeys(WIDTHS, float("inf"))
    numbers: dict[int, tuple[torch.Tensor, ...]] = {}
    for _ in range(rounds):
        for columns in WIDTHS:
            tiles.PRODUCT_COLUMNS = columns
            one, other = u.clone().requires_grad_(), v.clone().requires_grad_()
            begun = time.process_time()
            loss = strategy(Pair(one, (other,), TAU, LATE)).value
            gradients = torch.autograd.grad(loss, (one, other))
            seconds[columns] = min(seconds[columns], time.process_time() - begun)
            numbers[columns] = (loss, *gradients)
    return [
        {
            "nodes": nodes,
            "width": width,
            "columns": "all" if columns == WHOLE else columns,
            "seconds": round(seconds[columns], 4),
            "times_as_fast": round(seconds[WHOLE] / seconds[columns], 3),
            "same_bits": all(map(torch.equal, numbers[columns], numbers[WHOLE])),
        }
        for columns in WIDTHS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[7650])
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, default=Path("results/bench/product_columns.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    if min(options.nodes) < tiles.PARTS_FROM:
        parser.error(f"below {tiles.PARTS_FROM} nodes products are whole: nothing to time")
    if torch_shortens():
        parser.error("with AMX products are whole, whatever PRODUCT_COLUMNS says: nothing to time")
    begun, rows = bench_facts.begun("product_columns", threads=1), []
    for nodes in options.nodes:
        rows += compared(nodes, options.width, options.rounds)
        print(*rows[-len(WIDTHS) :], sep="\n", flush=True)
    bench_facts.write(options.output, {**begun, "shipped": SHIPPED, "rows": rows})


if __name__ == "__main__":
    main()
