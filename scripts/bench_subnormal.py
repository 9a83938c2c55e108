"""Times a product whose weights are subnormal in part, as torch computes it and with them as zero.

    python scripts/bench_subnormal.py [--rounds 5] [--output results/bench/subnormal.json]

The features are of amazon_photo's shape, zeros and ones; the weights are those of GCA's first layer
there, a third of whose units have subnormal ones, or zeros. Processor seconds on one thread, the
least of all rounds; the four take turns.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import bench_facts
import torch
from torch import Tensor

from gclbench.machine.subnormal import flushed

NODES, FEATURES, UNITS = 7_650, 745, 512
OFF = 3
"""One in so many units has subnormal weights."""


def factors() -> tuple[Tensor, dict[str, Tensor]]:
    """The features, and the weights by what a third of the units has."""
    drawn = torch.Generator().manual_seed(0)
    x = (torch.rand(NODES, FEATURES, generator=drawn) < 0.35).float()
    usual = torch.randn(FEATURES, UNITS, generator=drawn) * 0.05
    subnormal, zero = usual.clone(), usual.clone()
    subnormal[:, ::OFF] *= 1e-38
    zero[:, ::OFF] = 0
    return x, {"usual": usual, "subnormal": subnormal, "zero": zero}


def seconds_of(x: Tensor, weights: Tensor) -> float:
    """Of one product."""
    start = time.process_time()
    torch.mm(x, weights)
    return time.process_time() - start


def measured(rounds: int) -> dict[str, float]:
    """Seconds of a product, by kind of weights; `flushed` is of subnormal ones taken for zero."""
    x, weights = factors()
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, kind in weights.items():
            found.setdefault(name, []).append(seconds_of(x, kind))
        with flushed():
            found.setdefault("flushed", []).append(seconds_of(x, weights["subnormal"]))
    return {name: min(times) for name, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    facts: dict[str, Any] = bench_facts.begun("subnormal weights", threads=1)
    seconds = measured(options.rounds)
    facts |= {
        "shape": [NODES, FEATURES, UNITS],
        "seconds": seconds,
        "times_usual": {name: value / seconds["usual"] for name, value in seconds.items()},
    }
    for name, value in seconds.items():
        print(f"{name:10s} {value:.3f} s")
    bench_facts.write(options.output, facts)


if __name__ == "__main__":
    main()
