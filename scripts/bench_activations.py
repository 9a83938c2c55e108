"""Times epochs with torch's PReLU and an RReLU by `where`, and with ours.

    python scripts/bench_activations.py [--rounds 5] [--output results/bench/activations.json]

Trainings of a few epochs take turns in one process, on one thread; a time is the least processor
seconds of an epoch, over all rounds. The losses must be the same numbers.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import bench_facts
import torch
from torch import Tensor, nn
from training_floor import epochs

from gclbench.config.validation import experiment_of
from gclbench.machine.allocator import reusing_memory
from gclbench.methods import bgrl, mvgrl_collection
from gclbench.negatives import mmix
from gclbench.nn import gcn, mlp
from gclbench.nn.prelu import PReLU
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

RUNS = (
    "method=dgi dataset=cora",
    "method=graphcl_nodes dataset=cora",
    "method=mvgrl dataset=cora",
    "method=bgrl dataset=cora",
    "method=nml_gcl dataset=cora",
)
EPOCHS = 6


class ByWhere(gcn.RandomisedReLU):
    """The randomised ReLU, in training, as it is usually written."""

    def forward(self, x: Tensor) -> Tensor:
        """Elementwise."""
        slope = torch.empty(x.shape).uniform_(1 / 8, 1 / 3, generator=self.generator)
        return torch.where(x < 0, x * slope, x)


@contextlib.contextmanager
def usual() -> Iterator[None]:
    """Within the block networks are built with torch's PReLU, and the other by `where`."""
    with contextlib.ExitStack() as stack:
        for table in (gcn.GCN_ACTIVATIONS, mlp.ACTIVATIONS):
            changed = {"prelu": nn.PReLU} | ({"rrelu": ByWhere} if "rrelu" in table else {})
            stack.enter_context(mock.patch.dict(table, changed))
        for module in (bgrl, mmix, mvgrl_collection):
            stack.enter_context(mock.patch.object(module, "PReLU", nn.PReLU))
        # None of ours may be left.
        stack.enter_context(mock.patch.object(PReLU, "forward", side_effect=AssertionError))
        yield


def measured(words: str, rounds: int) -> dict[str, Any]:
    """Seconds of an epoch, with either.

    Raises:
        SystemExit: where the losses are not the same numbers.
    """
    parts = experiment_of([*words.split(), f"method.epochs={EPOCHS}", "device=cpu"]).components
    graph = parts.dataset.load()
    labels = torch.full((graph.num_nodes,), -1)
    losses: dict[str, list[float]] = {"usual": [], "ours": []}
    seconds: dict[str, list[float]] = {"usual": [], "ours": []}
    taken = (
        {"negatives": parts.negatives} if getattr(parts.method, "takes_negatives", False) else {}
    )
    for _ in range(rounds):
        for name, context in (("usual", usual), ("ours", contextlib.nullcontext)):

            def train(report: Any, name: str = name) -> None:
                def reporting(done: int, total: int, loss: float) -> None:
                    losses[name].append(loss)
                    report(done, total, loss)

                parts.method.fit(graph, labels, Streams(0), Watch(reporting), **taken)

            with context():
                seconds[name].append(epochs(train, EPOCHS))
    assert len(losses["ours"]) == rounds * EPOCHS
    if losses["usual"] != losses["ours"]:
        raise SystemExit(f"{words}: the losses are not the same")
    least = {name: min(each) for name, each in seconds.items()}
    return {
        **dict(word.split("=") for word in words.split()),
        "seconds_per_epoch": least,
        "share_of_usual": least["ours"] / least["usual"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    facts, rows = bench_facts.begun("bench_activations", threads=1), []
    # As runs have it.
    with reusing_memory():
        for words in RUNS:
            rows.append(measured(words, options.rounds))
            print(words, rows[-1]["seconds_per_epoch"], round(rows[-1]["share_of_usual"], 3))
    bench_facts.write(options.output, {**facts, "rows": rows})


if __name__ == "__main__":
    main()
