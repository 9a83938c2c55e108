"""Times DMAT-i's and GRACE's training against plain eager loops, in the same run, on the same
batches, masks and views.

The plain loop makes every masked view as a copy of the batch with columns set to zero, sends each
through the whole encoder, and takes the log-sum-exps of the full 2B×2B similarity matrix of every
view. Both compute the same losses. GRACE's counterpart is `plain_grace.py`; the two trainings take
turns epoch by epoch, so that a busy machine slows both alike.

    python scripts/bench_train.py [--datasets cora acm] [--passes 3]
                                  [--output results/bench/train_dmat_i_cpu.json]
    python scripts/bench_train.py --grace cora [--epochs 200] [--seeds 3]
                                  [--output results/bench/train_grace_cpu.json]
    python scripts/bench_train.py --floor [--output results/bench/train_cpu.json]
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import bench_facts
import torch
import training_floor
from plain_grace import train as plain_grace
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.config.validation import experiment_of
from gclbench.contrast.objectives import multi_view_nce
from gclbench.contrast.unit_rows import unit_rows
from gclbench.contrast.views import dropped_columns
from gclbench.embedding import Embedding
from gclbench.machine import precision
from gclbench.machine.allocator import reusing_memory
from gclbench.machine.environment import instructions
from gclbench.methods.dmat_i import DmatI
from gclbench.nn.mlp import Mlp
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

FLOORS = [
    "method=grace dataset=cora",
    "method=grace dataset=cora negatives=progcl_weight negatives.start_epoch=1",
    "method=grace dataset=cora negatives=nml",
    "method=grace dataset=sbm dataset.nodes=200 negatives=nml negatives.metric=pairwise"
    " negatives.inner_steps=1",
    "method=gca dataset=cora",
    "method=augcl dataset=cora",
    "method=homogcl dataset=cora",
    "method=grape dataset=cora",
    "method=grace_plus dataset=cora",
    "method=phases dataset=cora",
    "method=mmix_mp dataset=cora",
    "method=local_gcl dataset=cora",
    "method=dmat_i dataset=cora",
    "method=dgi dataset=cora",
    "method=cca_ssg dataset=cora",
    "method=bgrl dataset=cora",
    "method=mvgrl dataset=cora",
    "method=graphcl_nodes dataset=cora",
    "method=gae dataset=cora",
    "method=age dataset=cora",
    "method=infograph dataset=mutag",
    "method=graphcl dataset=mutag",
]
"""What `--floor` times by itself."""

LOSSES = (7650, 256)
"""Nodes and width of the losses that `--floor` times: those of GRACE on amazon_photo."""


def plain_loss(encoder: Mlp, x: Tensor, dropped: list[Tensor], tau: float) -> Tensor:
    """Eq. 7 averaged over views, the direct way."""
    losses = []
    for columns in dropped:
        masked = x.clone()
        masked[:, columns] = 0.0
        both = normalize(torch.cat([encoder(x), encoder(masked)]), dim=1)
        similarity = both @ both.T / tau
        similarity.fill_diagonal_(-torch.inf)
        count = len(x)
        positives = torch.cat([similarity.diagonal(count), similarity.diagonal(-count)])
        losses.append((similarity.logsumexp(dim=1) - positives).mean())
    return torch.stack(losses).mean()


def fused_loss(encoder: Mlp, x: Tensor, dropped: list[Tensor], tau: float) -> Tensor:
    """What the method does."""
    anchor, *views = (unit_rows(view) for view in encoder.views(x, dropped))
    return multi_view_nce(anchor, views, tau)


def one_pass(method: DmatI, x: Tensor, loss_of: object) -> tuple[float, list[float]]:
    """Seconds and losses of one pass over all batches, from the same start every time."""
    torch.manual_seed(0)
    encoder = Mlp(x.shape[1], method.architecture, method.activation)
    optimiser = torch.optim.AdamW(
        encoder.parameters(), lr=method.lr, weight_decay=method.weight_decay, fused=True
    )
    generator = torch.Generator().manual_seed(1)
    losses = []
    started = time.perf_counter()
    for batch in torch.randperm(len(x), generator=generator).split(method.batch_size):
        dropped = [
            dropped_columns(x.shape[1], method.mask_fraction, generator)
            for _ in range(method.views)
        ]
        loss = loss_of(encoder, x[batch], dropped, method.tau)  # type: ignore[operator]
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return time.perf_counter() - started, losses


def measure(dataset: str, rounds: int) -> dict[str, object]:
    """Medians over alternating passes, so that a busy machine slows both alike."""
    experiment = experiment_of(["method=dmat_i", f"dataset={dataset}"])
    graph = experiment.components.dataset.load()
    x = experiment.components.filter.apply(graph).x
    method = experiment.components.method
    times: dict[str, list[float]] = {"plain": [], "fused": []}
    difference = 0.0
    for round_number in range(rounds + 1):
        plain, plain_losses = one_pass(method, x, plain_loss)
        fused, fused_losses = one_pass(method, x, fused_loss)
        difference = max(
            difference, *(abs(a - b) for a, b in zip(plain_losses, fused_losses, strict=True))
        )
        if round_number:  # the first pass warms up
            times["plain"].append(plain)
            times["fused"].append(fused)
    ratios = [plain / fused for plain, fused in zip(times["plain"], times["fused"], strict=True)]
    return {
        "dataset": dataset,
        "plain_seconds": statistics.median(times["plain"]),
        "fused_seconds": statistics.median(times["fused"]),
        "ratio_median": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "largest_loss_difference": difference,
    }


class Turns:
    """Lets two trainings run one epoch each in turn, and notes every epoch's loss, wall-clock and
    processor seconds."""

    def __init__(self) -> None:
        self.mine = [threading.Semaphore(1), threading.Semaphore(0)]
        self.epochs: list[list[tuple[float, float, float]]] = [[], []]
        self.results: list[Tensor | None] = [None, None]

    def run(self, first: Callable[..., Tensor], second: Callable[..., Tensor]) -> None:
        """Calls both with a reporter of (epoch, total, loss); both report equally often."""
        threads = [
            threading.Thread(target=self._one, args=(number, train))
            for number, train in enumerate((first, second))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _one(self, number: int, train: Callable[..., Tensor]) -> None:
        started = [0.0, 0.0]

        def begin() -> None:
            self.mine[number].acquire()
            started[:] = [time.perf_counter(), time.process_time()]

        def report(epoch: int, total: int, loss: float) -> None:
            self.epochs[number].append(
                (loss, time.perf_counter() - started[0], time.process_time() - started[1])
            )
            self.mine[1 - number].release()
            begin()

        begin()
        try:
            self.results[number] = train(report)
        finally:
            self.mine[1 - number].release()


def measure_grace(dataset: str, epochs: int | None, seed: int) -> dict[str, object]:
    """Both trainings from one seed: their times, largest difference of losses, and accuracies."""
    override = [] if epochs is None else [f"method.epochs={epochs}"]
    experiment = experiment_of(
        ["method=grace", f"dataset={dataset}", "task=classification", *override]
    )
    graph, method = experiment.components.dataset.load(), experiment.components.method
    task, uniform = (
        experiment.components.tasks["classification"],
        experiment.components.negatives,
    )
    labels = torch.full((graph.num_nodes,), -1)
    # One epoch each warms up: the first product of a process pays for setting its threads and
    # memory up.
    short = type(method)(**{**vars(method), "epochs": 1})
    turns = Turns()
    for chosen in (short, method):
        turns = Turns()
        turns.run(
            lambda report, chosen=chosen: plain_grace(graph, chosen, seed, report),
            lambda report, chosen=chosen: (
                chosen.fit(graph, labels, Streams(seed), Watch(report), uniform).z
            ),
        )
    rng = Streams(seed)
    split = task.split(graph, rng)
    row: dict[str, object] = {
        "dataset": dataset,
        "epochs": method.epochs,
        "seed": seed,
        "protocol": split.protocol,
    }
    for name, passed, z in zip(("plain", "streamed"), turns.epochs, turns.results, strict=True):
        if z is None:
            raise SystemExit(
                f"the {name} training of {dataset} ended with an exception; it is printed above"
            )
        row[f"{name}_seconds"] = sum(wall for _, wall, _ in passed)
        row[f"{name}_processor_seconds"] = sum(used for _, _, used in passed)
        row[f"{name}_median_epoch_seconds"] = statistics.median(wall for _, wall, _ in passed)
        row[f"{name}_accuracy"] = task.evaluate(Embedding(z, geometry="cosine"), graph, split, rng)[
            "accuracy"
        ]
    pairs = list(zip(*turns.epochs, strict=True))
    gaps = [abs(plain[0] - ours[0]) / abs(plain[0]) for plain, ours in pairs]
    # Rounding errors grow from epoch to epoch, as they do between two plain trainings that differ
    # in the last digit.
    row["relative_loss_difference_first_ten_epochs"] = max(gaps[:10])
    row["largest_relative_loss_difference"] = max(gaps)
    row["share_of_plain_time"] = float(row["streamed_seconds"]) / float(row["plain_seconds"])  # type: ignore[arg-type]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["cora", "acm"])
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument(
        "--grace", nargs="+", metavar="DATASET", help="time GRACE on these instead of DMAT-i"
    )
    parser.add_argument(
        "--floor",
        nargs="*",
        metavar="'KEY=VALUE …'",
        help="time these runs (some by default) and the floor under each; OUTPUT gets a .md too",
    )
    parser.add_argument("--epochs", type=int, help="of GRACE; the official setting when not given")
    parser.add_argument(
        "--seeds", type=int, default=1, help="of GRACE: accuracies of one are no comparison"
    )
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.floor is not None:
        if options.epochs is not None and options.epochs < 2:
            parser.error("--floor times the epochs after the first; give --epochs 2 or more")
        floor(options.floor or FLOORS, options.epochs or 4, options.output)
        return
    begun = bench_facts.begun("bench_train", threads=torch.get_num_threads())
    if options.grace:
        rows = [
            measure_grace(dataset, options.epochs, seed)
            for dataset in options.grace
            for seed in range(options.seeds)
        ]
        for row in rows:
            print("\n".join(f"{name:<42}{value}" for name, value in row.items()))
    else:
        rows = [measure(dataset, options.passes) for dataset in options.datasets]
        show(rows)
    bench_facts.write(options.output, {**begun, "rows": rows})


def floor(runs: list[str], epochs: int, output: Path | None) -> None:
    """Seconds per epoch of runs, and their floors."""
    torch.set_num_threads(1)
    begun = bench_facts.begun("bench_train --floor", threads=1)
    known = training_floor.rates()
    rows = []
    # As runs have it.
    with reusing_memory():
        for words in runs:
            rows.append(training_floor.measure(words.split(), epochs, known))
            print(words, rows[-1]["seconds_per_epoch"], rows[-1]["share_of_floor"], flush=True)
        losses = training_floor.losses(*LOSSES)
    facts = {
        **begun,
        "instructions": instructions(),
        "fast_products": precision.usual("cpu"),
        "rates": asdict(known),
        "rows": rows,
        "losses": losses,
    }

    def page(facts: dict[str, Any]) -> str:
        return training_floor.markdown(rows, known, facts)

    bench_facts.write(output, facts, page)
    print(page(facts))


def show(rows: list[dict[str, object]]) -> None:
    """DMAT-i's table."""
    print(f"{'dataset':<14}{'plain s/pass':>14}{'fused s/pass':>14}{'ratio':>8}{'loss diff':>12}")
    for row in rows:
        print(
            f"{row['dataset']:<14}{row['plain_seconds']:>14.3f}{row['fused_seconds']:>14.3f}{row['ratio_median']:>8.2f}{row['largest_loss_difference']:>12.1e}"
        )


if __name__ == "__main__":
    main()
