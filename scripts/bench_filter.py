"""Seconds, error and bandwidth of the GnnBP filter, beside plain loops measured in the same run.

Per graph and solver: median wall-clock and processor seconds, the true relative error against a
float64 solution, bytes moved per second (entries × columns × 4 per sweep) over the copy bandwidth
measured in the same run, and the ratio to the power series as a loop of `torch.sparse.mm` and of
scipy products that reaches the same error. Writes JSON and a markdown table.

    python scripts/bench_filter.py --output results/bench/filter_cpu
    python scripts/bench_filter.py --device cuda --output results/bench/filter_h200

On a busy machine wall-clock says more about the neighbours than about the filter: `cpu s ÷ threads`
is what an idle one would take at best, and the load average of the run is in the JSON. Set
OMP_WAIT_POLICY=passive there, or waiting counts as work in the plain loops.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_facts
import scipy.sparse
import torch
from torch import Tensor

from gclbench.component.registry import DATASETS
from gclbench.data.mirror import DataUnavailable
from gclbench.data.rmat import RMAT
from gclbench.filters.chebyshev import Problem
from gclbench.filters.operator import Operator
from gclbench.filters.propagation import exact, pushed
from gclbench.graph import Graph, with_features

R = 0.5
SAMPLE = 13_000_000
"""Numbers whose error is measured at most: all columns of a graph, or evenly spaced ones where it
has more."""

CASES = [
    ("cora", 0.1, 1e-3, "at most 0.8 s"),
    ("citeseer", 0.1, 8e-4, "at most 1.4 s"),
    ("rmat", 0.1, 1.5e-2, "at most 0.45 s"),
    ("cora", 0.01, 1e-3, "at most 1.5 × 54/16 of the first"),
    ("cora", 0.1, 1e-5, ""),
    ("citeseer", 0.4, 1e-5, ""),
    ("pubmed", 0.01, 1e-5, ""),
    ("amazon_photo", 0.03, 1e-5, ""),
    ("coauthor_cs", 0.1, 1e-5, ""),
    ("rmat", 0.1, 1e-5, ""),
]
"""Graph, α, relative error asked, and what issue 3 asks of it on two cores."""

LARGE = ("rmat_large", 0.1, 1e-3, "60 % of copy bandwidth, 1.5 × torch.sparse.mm on an H200")


def load(name: str, scale: int) -> Graph:
    """A dataset, or R-MAT with uniform features: 10⁵ nodes and 1.8·10⁶ entries, or (`rmat_large`)
    10⁷ entries × 128 columns."""
    if not name.startswith("rmat"):
        return DATASETS.load(name)().load()
    fields = {"scale": 17, "nodes": 100_000, "edge_factor": 10, "features": 64}
    if name == "rmat_large":
        fields = {"scale": 20, "nodes": 1 << 20, "edge_factor": 6, "features": 128}
    if scale:
        fields = {"scale": scale, "nodes": 1 << scale, "edge_factor": 10, "features": 64}
    graph = RMAT(**fields).load()
    return with_features(
        graph, torch.rand(graph.x.shape, generator=torch.Generator().manual_seed(0))
    )


def copy_bandwidth(device: str) -> float:
    """Bytes per second, read and written, of copying 256 MiB (1 GiB on a GPU); the best of some."""
    source = torch.ones((1 << 28) if device != "cpu" else (1 << 26), device=device)
    target = torch.empty_like(source)
    best = min(timed(lambda: target.copy_(source), device)[0] for _ in range(6))
    return 2 * 4 * source.numel() / best


def timed(work: Callable[[], Any], device: str) -> tuple[float, float, Any]:
    """Wall-clock seconds, processor seconds of the process, and the result."""
    if device != "cpu":
        torch.cuda.synchronize(device)
    started, processor = time.perf_counter(), time.process_time()
    result = work()
    if device != "cpu":
        torch.cuda.synchronize(device)
    return time.perf_counter() - started, time.process_time() - processor, result


def reference(operator: Operator, x: Tensor, alpha: float, device: str = "cpu") -> Tensor:
    """The filter of these columns in float64, to about 1e-12, by torch's own products."""
    c = 1.0 - alpha
    matrix = operator.symmetric().to(device)
    b = (alpha * x.double()[operator.order]).to(device)
    before, now, omega = b, c * torch.sparse.mm(matrix, b) + b, 2.0 / (2.0 - c * c)
    for _ in range(math.ceil(math.log(2e12) / math.acosh(1.0 / c))):
        before, now = now, omega * (c * torch.sparse.mm(matrix, now) + b - before) + before
        omega = 1.0 / (1.0 - 0.25 * c * c * omega)
    return now.cpu()[operator.rank]


def error(found: Tensor, wanted: Tensor) -> float:
    return float((found.double() - wanted).norm() / wanted.norm())


def plain_loops(
    operator: Operator,
    x: Tensor,
    alpha: float,
    tol: float,
    wanted: Tensor,
    columns: Tensor,
    device: str,
) -> dict[str, Any]:
    """The series in a loop of whole products, float32: seconds of as many sweeps as its error
    (1−α)^k needs.

    More than 12 sweeps are counted as that many times the mean of 12; the error is then that of the
    formula. The way of matrix and features to a GPU counts once. scipy has no products there and is
    left out.
    """
    sweeps = math.ceil(math.log(tol) / math.log(1.0 - alpha))
    done = min(sweeps, 12)
    matrix = operator.symmetric(torch.float32)
    rows = scipy.sparse.csr_matrix(
        (matrix.values().numpy(), matrix.col_indices().numpy(), matrix.crow_indices().numpy()),
        matrix.shape,
    )
    here = x[operator.order]
    found: dict[str, Any] = {"sweeps": sweeps, "sweeps_run": done}

    def with_torch() -> Tensor:
        on_device, b = there
        y = b.clone()
        for _ in range(done):
            y = torch.sparse.mm(on_device, y).mul_(1.0 - alpha).add_(b)
        return y.mul_(alpha)

    def with_scipy() -> Any:
        b = here.numpy()
        y = b.copy()
        for _ in range(done):
            y = rows @ y
            y *= 1.0 - alpha
            y += b
        return y * alpha

    loops = {"torch.sparse.mm": with_torch, "scipy": with_scipy}
    for name, loop in loops.items():
        if name == "scipy" and device != "cpu":
            found[name] = {"failed": "it has no products on a GPU"}
            continue
        try:
            copying, copied, there = timed(lambda: (matrix.to(device), here.to(device)), device)
            seconds, processor, result = timed(loop, device)
        except (torch.OutOfMemoryError, MemoryError) as problem:
            found[name] = {"failed": str(problem).partition("\n")[0]}
            continue
        found[name] = {
            "seconds": copying + seconds * sweeps / done,
            "cpu_seconds": copied + processor * sweeps / done,
        }
        if done == sweeps:
            y = torch.as_tensor(result).cpu()[operator.rank]
            found[name]["error"] = error(y[:, columns], wanted)
    return found


def sparse_first_sweep(operator: Operator, x: Tensor) -> dict[str, float]:
    """One sweep on the features as a sparse matrix (scipy), against one on dense slices: what
    sparse-aware first sweeps could save."""
    matrix = operator.transition()
    rows = scipy.sparse.csr_matrix(
        (matrix.values().numpy(), matrix.col_indices().numpy(), matrix.crow_indices().numpy()),
        matrix.shape,
    )
    features = scipy.sparse.csr_matrix(x[operator.order].numpy())
    _, sparse, product = timed(lambda: rows @ features, "cpu")
    one, two = (Problem(0.5, R, tol, False) for tol in (0.9, 1e-3))
    (_, short, few), (_, long, many) = (
        timed(lambda p=p: exact(operator, x, p)[1], "cpu") for p in (one, two)
    )
    dense = (long - short) / max(1, many.sweeps - few.sweeps)
    return {
        "density": features.nnz / x.numel(),
        "after": product.nnz / x.numel(),
        "sparse_cpu_seconds": sparse,
        "dense_cpu_seconds": dense,
    }


def measure(
    name: str, alpha: float, tol: float, device: str, repeats: int, bandwidth: float, scale: int = 0
) -> list[dict[str, Any]]:
    """The rows of one case."""
    graph = load(name, scale)
    x, threads = graph.x, torch.get_num_threads() if device == "cpu" else 1
    building, _, operator = timed(lambda: Operator(graph.edge_index, graph.num_nodes, True), "cpu")
    joining, _, _ = timed(lambda: operator.components, "cpu")
    columns = torch.arange(0, x.shape[1], -(-x.numel() // SAMPLE))
    wanted = reference(operator, x[:, columns], alpha, device)
    plain = plain_loops(operator, x, alpha, tol, wanted, columns, device)
    solvers: dict[str, Callable[[Operator], Any]] = {
        "chebyshev": lambda op: exact(op, x, Problem(alpha, R, tol, True), device=device),
    }
    if Problem(alpha, R, tol, False).sweeps <= 100:
        solvers["series"] = lambda op: exact(op, x, Problem(alpha, R, tol, False), device=device)
    if tol >= 5e-4 and alpha >= 0.1:
        solvers["push"] = lambda op: pushed(op, x, alpha, R, 1e-5, device=device)
    found = []
    for solver, run in solvers.items():
        # A fresh operator each time: what one run of the filter pays, the graph's order and
        # components included.
        runs = [
            timed(lambda run=run: run(Operator(graph.edge_index, graph.num_nodes, True)), device)
            for _ in range(repeats)
        ]
        seconds, processor = (
            statistics.median(r[0] for r in runs),
            statistics.median(r[1] for r in runs),
        )
        result, outcome = runs[-1][2]
        moved = 4.0 * operator.entries * x.shape[1] * outcome.sweeps * outcome.touched
        row = {
            "graph": name,
            "nodes": graph.num_nodes,
            "entries": operator.entries,
            "features": x.shape[1],
            "alpha": alpha,
            "tol": tol if solver != "push" else None,
            "solver": solver,
            "seconds": seconds,
            "cpu_seconds": processor,
            "idle_seconds": processor / threads,
            "operator_seconds": building,
            "components_seconds": joining,
            "runs": [r[0] for r in runs],
            "error": error(result[:, columns], wanted),
            "columns_checked": len(columns),
            "bound": outcome.error_bound,
            "bound_norm": outcome.error_norm,
            "sweeps": outcome.sweeps,
            "touched": outcome.touched,
            "unpushed": outcome.unpushed,
            "verified": outcome.verified,
            "slice_width": outcome.slice_width,
            "path": outcome.path,
            "bytes_per_second": moved / seconds,
            "of_copy_bandwidth": moved / seconds / bandwidth,
            "of_copy_bandwidth_cpu": moved / (processor / threads) / bandwidth,
            "plain": plain,
            "bit_identical": all(torch.equal(r[2][0], result) for r in runs),
        }
        for other in ("torch.sparse.mm", "scipy"):
            if "seconds" in plain[other]:
                row[f"ratio_{other}"] = plain[other]["seconds"] / seconds
                row[f"ratio_{other}_cpu"] = (
                    plain[other]["cpu_seconds"] / processor if device == "cpu" else None
                )
        found.append(row)
    return found


def report(
    cases: list[tuple[str, float, float, str]],
    device: str,
    repeats: int,
    scale: int = 0,
    keep: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Everything measured, and what could not be; `keep` is given the facts after each case."""
    bandwidth = copy_bandwidth(device)
    facts: dict[str, Any] = {
        **bench_facts.begun("bench_filter", device, torch.get_num_threads()),
        "copy_bandwidth": bandwidth,
        "rows": [],
        "not_run": [],
        "sparse_first_sweep": {},
    }
    if device == "cpu":
        facts["not_run"].append("everything on CUDA: this run asked for the CPU")
    for name, alpha, tol, asked in cases:
        if keep is not None:
            keep(facts)
        try:
            rows = measure(name, alpha, tol, device, repeats, bandwidth, scale)
        except DataUnavailable:
            facts["not_run"].append(f"{name}: its data are not here")
            continue
        except (torch.OutOfMemoryError, MemoryError) as problem:
            facts["not_run"].append(f"{name}: out of memory ({str(problem).partition(chr(10))[0]})")
            continue
        facts["rows"] += [
            {**row, "asked": asked if row["solver"] == "chebyshev" else ""} for row in rows
        ]
        if (
            device == "cpu"
            and name in ("cora", "coauthor_cs")
            and name not in facts["sparse_first_sweep"]
            and not scale
        ):
            graph = load(name, scale)
            facts["sparse_first_sweep"][name] = sparse_first_sweep(
                Operator(graph.edge_index, graph.num_nodes, True), graph.x
            )
    facts["load_after"] = bench_facts.load()
    return facts


def markdown(facts: dict[str, Any]) -> str:
    """The table."""
    lines = [
        f"# GnnBP filter on {facts['device']}",
        "",
        (
            f"{facts['threads']} thread(s), copy bandwidth {facts['copy_bandwidth'] / 1e9:.1f} GB/s"
            f" (read and written), load average {facts['load_before'][0]:.1f} before and"
            f" {facts['load_after'][0]:.1f} after, commit {facts['environment']['commit']}. Errors"
            " are relative, Frobenius, against a float64 solution; `bound` is the one the filter"
            " reports (largest absolute error for push), over all columns even where the error is"
            " of some. `cpu s ÷ threads` is the processor time, shared out: the wall-clock of an"
            " idle machine at best. Ratios are to the power series in a loop of whole products"
            " that reaches the same error, in processor time on the CPU."
        ),
        "",
        (
            "| graph | α | solver | s | cpu s ÷ threads | error | bound | sweeps | touched | GB/s |"
            " of copy | × torch.sparse.mm | × scipy | asked |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in facts["rows"]:
        sampled = (
            f" ({row['columns_checked']} columns)"
            if row["columns_checked"] < row["features"]
            else ""
        )
        ratios = [
            row.get(f"ratio_{other}_cpu") or row.get(f"ratio_{other}")
            for other in ("torch.sparse.mm", "scipy")
        ]
        lines.append(
            f"| {row['graph']} | {row['alpha']:g} | {row['solver']} | {row['seconds']:.3f} |"
            f" {row['idle_seconds']:.3f} | {row['error']:.1e}{sampled} | {row['bound']:.1e} |"
            f" {row['sweeps']} | {row['touched']:.2f} | {row['bytes_per_second'] / 1e9:.1f} |"
            f" {row['of_copy_bandwidth']:.2f} | "
            + " | ".join("–" if ratio is None else f"{ratio:.1f}" for ratio in ratios)
            + f" | {row['asked']} |"
        )
    if facts["sparse_first_sweep"]:
        lines += [
            "",
            (
                "First sweep on the features as a sparse matrix (scipy), against one on dense"
                " slices, processor seconds:"
            ),
            "",
        ]
        lines += [
            f"- {name}: density {got['density']:.3f}, {got['after']:.3f} after the sweep; sparse"
            f" {got['sparse_cpu_seconds']:.3f}, dense {got['dense_cpu_seconds']:.3f}"
            for name, got in facts["sparse_first_sweep"].items()
        ]
    lines += ["", "Not run:", "", *(f"- {line}" for line in facts["not_run"]), ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--graphs", nargs="+", help="only these")
    parser.add_argument(
        "--output", type=Path, help="path without suffix: .json and .md are written"
    )
    options = parser.parse_args()
    cases = [*CASES, *([LARGE] if options.device != "cpu" else [])]

    def keep(facts: dict[str, Any]) -> None:
        bench_facts.write(options.output, facts, markdown)

    chosen = [case for case in cases if not options.graphs or case[0] in options.graphs]
    facts = report(chosen, options.device, options.repeats, keep=keep)
    keep(facts)
    print(markdown(facts))


if __name__ == "__main__":
    main()
