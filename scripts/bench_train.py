"""Times DMAT-i's training against a plain eager loop, in the same run, on the same batches and masks.

The plain loop makes every masked view as a copy of the batch with columns set to zero, sends each through the whole
encoder, and takes the log-sum-exps of the full 2B×2B similarity matrix of every view. Both compute the same losses.

    python scripts/bench_train.py [--datasets cora acm] [--passes 3] [--output results/bench/train_cpu.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.config import load
from gclbench.contrast.objectives import multi_view_nce
from gclbench.contrast.unit_rows import unit_rows
from gclbench.contrast.views import dropped_columns
from gclbench.environment import device_name, versions
from gclbench.methods.dmat_i import DmatI
from gclbench.nn.mlp import Mlp

ROUNDS = 3


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
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=method.lr, weight_decay=method.weight_decay, fused=True)
    generator = torch.Generator().manual_seed(1)
    losses = []
    started = time.perf_counter()
    for batch in torch.randperm(len(x), generator=generator).split(method.batch_size):
        dropped = [dropped_columns(x.shape[1], method.mask_fraction, generator) for _ in range(method.views)]
        loss = loss_of(encoder, x[batch], dropped, method.tau)  # type: ignore[operator]
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return time.perf_counter() - started, losses


def measure(dataset: str, rounds: int) -> dict[str, object]:
    """Medians over alternating passes, so that a busy machine slows both alike."""
    experiment = load(["method=dmat_i", f"dataset={dataset}"])
    graph = experiment.components["dataset"].load()
    x = experiment.components["filter"].apply(graph).x
    method = experiment.components["method"]
    times: dict[str, list[float]] = {"plain": [], "fused": []}
    difference = 0.0
    for round_number in range(rounds + 1):
        plain, plain_losses = one_pass(method, x, plain_loss)
        fused, fused_losses = one_pass(method, x, fused_loss)
        difference = max(difference, *(abs(a - b) for a, b in zip(plain_losses, fused_losses, strict=True)))
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["cora", "acm"])
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rows = [measure(dataset, options.passes) for dataset in options.datasets]
    print(f"{'dataset':<14}{'plain s/pass':>14}{'fused s/pass':>14}{'ratio':>8}{'loss diff':>12}")
    for row in rows:
        print(
            f"{row['dataset']:<14}{row['plain_seconds']:>14.3f}{row['fused_seconds']:>14.3f}{row['ratio_median']:>8.2f}{row['largest_loss_difference']:>12.1e}"
        )
    facts = {
        "benchmark": "bench_train",
        "device": device_name("cpu"),
        "threads": torch.get_num_threads(),
        "environment": versions(),
        "rows": rows,
    }
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
