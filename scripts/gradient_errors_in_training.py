"""How far fast contrasts move the gradient of GRACE's loss during a training.

A training in float32 hands over its two views at some steps. Their gradients by fast contrasts,
about the mean and of the vectors as they are, are compared with float64.

    python scripts/gradient_errors_in_training.py
        --output results/bench/gradient_errors_in_training.json
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_facts
import torch
from emulated_bfloat16 import in_contrasts, in_uncentred_contrasts
from torch import Tensor

from gclbench.config.validation import experiment_of
from gclbench.contrast.objectives import multi_view_nce
from gclbench.contrast.unit_rows import unit_rows
from gclbench.negatives.strategy import Pair
from gclbench.negatives.uniform import UniformNegatives
from gclbench.training.loop import Loss
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

STEPS = (2, 10, 40, 120)


class Listening(UniformNegatives):
    """GRACE's loss, which keeps copies of the pairs of some steps."""

    def __init__(self, steps: tuple[int, ...]):
        super().__init__()
        self.steps, self.calls, self.kept = steps, 0, dict[int, Pair]()

    def loss(self, pair: Pair) -> Loss:
        self.calls += 1
        if self.calls in self.steps:
            self.kept[self.calls] = pair.detached()
        return super().loss(pair)


class Strategy:
    """Stands for `uniform`, and builds what listens."""

    def __init__(self, listening: Listening):
        self.listening = listening

    def build(self, *_: Any) -> Listening:
        return self.listening


def gradient(pair: Pair, context: Callable[[], Any], dtype: torch.dtype) -> Tensor:
    """Of the loss with respect to both views before their rows are scaled, 2N×d float64."""
    u, v = (each.to(dtype).clone().requires_grad_() for each in (pair.u, pair.v))
    with context():
        multi_view_nce(unit_rows(u), [unit_rows(v)], pair.tau).backward()
    assert u.grad is not None and v.grad is not None
    return torch.cat([u.grad, v.grad]).double()


def row(step: int, pair: Pair) -> dict[str, float]:
    """Relative errors at a step, and the length of the mean unit row."""
    exact = gradient(pair, contextlib.nullcontext, torch.float64)

    def error(context: Callable[[], Any]) -> float:
        return float((gradient(pair, context, torch.float32) - exact).norm() / exact.norm())

    return {
        "step": step,
        "mean_length": float(unit_rows(pair.u).mean(dim=0).norm()),
        "float32": error(contextlib.nullcontext),
        "centred": error(in_contrasts),
        "uncentred": error(in_uncentred_contrasts),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    words = ["method=grace", f"dataset={options.dataset}", f"method.epochs={max(options.steps)}"]
    words.append("device=cpu")
    parts = experiment_of(words).components
    graph, listening = parts.dataset.load(), Listening(tuple(options.steps))
    labels = torch.full((graph.num_nodes,), -1)
    torch.set_num_threads(1)
    begun = bench_facts.begun("gradient_errors_in_training", threads=1)
    parts.method.fit(graph, labels, Streams(0), Watch(lambda *_: None), Strategy(listening))
    rows = [row(step, pair) for step, pair in listening.kept.items()]
    for found in rows:
        print(found)
    bench_facts.write(options.output, {**begun, "words": words, "rows": rows})


if __name__ == "__main__":
    main()
