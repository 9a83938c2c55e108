"""Everything that only a GPU can show, in under 8 minutes, without a network and without Hydra.

Runs, in this order and until the time is used up: the kernel's correctness tests, the kernel alone
against `torch.sparse.mm` and the copy bandwidth, the filter benchmark (bench_filter.py), the
training benchmark in both precisions, losses and steps with and without CUDA graphs, losses by the
size of their tiles (gpu_steps.py), several trainings at once (gpu_workers.py), the filter on 10⁷
nodes × 1,000 features, and DMAT-i at the paper's settings on every dataset whose raw files are here
(GCLBENCH_MIRROR). Writes gpu_check.json and gpu_check.md; what was not run is listed there. --parts
runs some of them alone, --merge makes one page of several calls.

    GCLBENCH_OFFLINE=1 GCLBENCH_MIRROR=… python scripts/gpu_check.py --output "$OUT"
    python scripts/gpu_check.py --device cpu --quick --output /tmp/check     # what can be tried
    without a GPU
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import bench_filter
import gpu_kernel
import gpu_steps
import gpu_workers
import torch
from gpu_page import markdown, merged, write
from torch import Tensor

from gclbench.component.registry import DATASETS
from gclbench.component.settings import bind
from gclbench.config.composition import items_of_dataset
from gclbench.data.file_format import READ_FROM_FILES
from gclbench.data.mirror import DataUnavailable
from gclbench.data.rmat import RMAT
from gclbench.filters.gnnbp import GnnBP
from gclbench.graph import with_features
from gclbench.machine import precision
from gclbench.machine.environment import device_name, versions
from gclbench.machine.limits import alarm
from gclbench.methods.dmat_i import DmatI
from gclbench.paper.papers.dmat.columns import DMAT_DATASETS
from gclbench.paper.reference import printed_settings
from gclbench.tasks.clustering import Clustering
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ("sbm", "rmat", *READ_FROM_FILES)
GRACE = 15.0
"""Seconds that a part may go on for after the end of the time; it is then broken off."""


class OutOfTime(Exception):
    """A part went on for too long."""


class Check:
    """The parts, their results, and the time that is left.

    Args:
        asked: what the names of the parts to run begin with; empty for all.
    """

    def __init__(
        self,
        device: str,
        quick: bool,
        seconds: float,
        output: Path,
        asked: tuple[str, ...] = (),
    ):
        self.device, self.quick, self.output, self.asked = device, quick, output, asked
        self.deadline = time.monotonic() + seconds
        self.met: list[str] = []
        self.facts: dict[str, Any] = {
            "device": device_name(device),
            "environment": versions(),
            "parts": {},
            "not_run": [],
        }

    def left(self) -> float:
        return self.deadline - time.monotonic()

    def part(self, name: str, needs: float, work: Callable[[], Any]) -> None:
        """Runs a part when `needs` seconds are left; whatever it raises is its result, and the next
        one runs."""
        self.met.append(name)
        if self.asked and not name.startswith(self.asked):
            return
        if self.left() < needs:
            self.facts["not_run"].append(
                f"{name}: out of time ({self.left():.0f} s left, {needs:.0f} needed)"
            )
            return
        started = time.monotonic()
        try:
            with alarm(
                self.left() + GRACE,
                lambda: OutOfTime(f"broken off {GRACE:.0f} s after the end of the time"),
            ):
                result = work()
        except DataUnavailable:
            self.skip(name, "its data are not here")
            return
        except Exception as error:
            result = {"failed": f"{type(error).__name__}: {error}"}
        self.facts["parts"][name] = {
            "seconds": round(time.monotonic() - started, 2),
            "commit": self.facts["environment"]["commit"],
            "result": result,
        }
        print(f"{name}: {self.facts['parts'][name]['seconds']} s", flush=True)
        self.write()

    def skip(self, name: str, reason: str) -> None:
        self.met.append(name)
        if self.asked and not name.startswith(self.asked):
            return
        self.facts["not_run"].append(f"{name}: {reason}")

    def write(self) -> None:
        """Both files, with what there is so far."""
        write(self.facts, self.output)


def components(dataset: str) -> tuple[GnnBP, DmatI]:
    """The filter and the method at the settings that the paper prints for a dataset, and at the
    defaults where it prints none."""
    found: dict[str, dict[str, Any]] = {"filter": {}, "method": {}}
    for key, value in printed_settings("dmat", dataset).items():
        kind, _, name = key.partition(".")
        found[kind][name] = value
    errors: list[str] = []
    return bind(GnnBP, found["filter"], "filter", errors), bind(
        DmatI, found["method"], "method", errors
    )


def dmat_i(dataset: str, device: str, limit: float, epochs: int | None = None) -> dict[str, Any]:
    """One seed of DMAT-i, filter and clustering included."""
    graph = DATASETS.load(dataset)().load()
    smoothing, method = components(dataset)
    method = method if epochs is None else replace(method, epochs=epochs)
    started = time.perf_counter()
    filtered = smoothing.apply(graph, device)
    filtering = time.perf_counter() - started
    seen = with_features(graph, filtered.x).to(device)
    labels, rng = torch.full((graph.num_nodes,), -1, device=device), Streams(0)
    fitting, _, embedding = bench_filter.timed(
        lambda: method.fit(seen, labels, rng, Watch(time_limit=limit)), device
    )
    metrics = Clustering().evaluate(embedding, graph, None, rng)
    return {
        "filter_seconds": filtering,
        "fit_seconds": fitting,
        "seconds_per_iteration": fitting / method.epochs,
        "filter": filtered.report,
        "metrics": metrics,
        "paper_acc_is_in": "results/tables/dmat-1.md",
    }


def recording(asked: bool) -> contextlib.AbstractContextManager[object]:
    """Within the block iterations are recorded where they can be, or none is."""
    return mock.patch.dict(os.environ, {} if asked else {"GCLBENCH_CUDA_GRAPHS": "0"})


def training(device: str, quick: bool) -> dict[str, Any]:
    """Seconds per iteration of DMAT-i on random features of two shapes, with float32 products and,
    where the hardware has them, fast ones; the median of three trainings each. On a GPU also
    without the recorded iteration, and whether its embedding has the same bits."""
    found = {}
    precisions = {precision.FLOAT32: ""}
    if precision.usual(device):
        precisions[precision.FAST] = precision.usual(device)
    for nodes, features in ((2_708, 1_433),) if quick else ((2_708, 1_433), (100_000, 1_000)):
        x = torch.randn(nodes, features, generator=torch.Generator().manual_seed(0))
        graph = with_features(bench_filter.load("rmat", 9), torch.zeros(512, 1))
        graph.x = x.to(device)
        method = DmatI(epochs=5 if quick else 200)
        labels = torch.full((nodes,), -1, device=device)
        for chosen, products in precisions.items():
            case, embeddings = f"{nodes}×{features}, {chosen}", []
            for recorded in (True, False) if device != "cpu" else (True,):
                runs, watch = [], Watch()
                for _ in range(3):
                    watch = Watch()
                    with precision.trained_with(products), recording(recorded):
                        taken, _, embedding = bench_filter.timed(
                            lambda m=method, g=graph, y=labels, w=watch: m.fit(g, y, Streams(0), w),
                            device,
                        )
                    runs.append(taken)
                embeddings.append(embedding.z)
                found[case if recorded else f"{case}, not recorded"] = {
                    "seconds_per_iteration": statistics.median(runs) / method.epochs,
                    "runs": runs,
                    "last_loss": watch.last_loss,
                }
            if len(embeddings) > 1:
                found[case]["same_bits"] = torch.equal(*embeddings)
    return found


def random_rows(nodes: int, width: int, pieces: int = 16) -> Tensor:
    """Uniform features, N×d, in place: a second copy of 10⁷ × 1,000 would be 40 GB more.

    Args:
        pieces: filled on a thread each, every one from a generator of its own.
    """
    rows = torch.empty(nodes, width)

    def fill(number: int, piece: Tensor) -> None:
        piece.uniform_(generator=torch.Generator().manual_seed(number))

    with ThreadPoolExecutor(pieces) as threads:
        list(threads.map(fill, range(pieces), rows.chunk(pieces)))
    return rows


def largest(device: str, quick: bool) -> dict[str, Any]:
    """The filter on 10⁷ nodes × 1,000 features: seconds, and the memory that it takes."""
    nodes, scale, width = (1 << 12, 12, 50) if quick else (10_000_000, 24, 1_000)
    started = time.perf_counter()
    graph = RMAT(scale=scale, nodes=nodes, edge_factor=6, features=1).load()
    making = time.perf_counter() - started
    graph = with_features(graph, random_rows(nodes, width))
    seconds, _, filtered = bench_filter.timed(
        lambda: GnnBP(alpha=0.1, tol=1e-3).apply(graph, device), device
    )
    return {
        "nodes": nodes,
        "entries": graph.edge_index.shape[1],
        "columns": width,
        "graph_seconds": making,
        "features_seconds": time.perf_counter() - started - making - seconds,
        "seconds": seconds,
        "filter": filtered.report,
    }


def run(check: Check) -> dict[str, Any]:
    """All parts in order."""
    device, quick = check.device, check.quick
    if device == "cpu":
        check.skip("kernel tests", "they need a GPU, and this run asked for the CPU")
    else:
        check.part("kernel tests", 60, lambda: gpu_kernel.tests(min(150.0, check.left() - 30)))
    check.part("kernel alone", 30, lambda: gpu_kernel.alone(device, quick))
    cases = [("rmat", 0.1, 1e-3, "")] if quick else [*bench_filter.CASES, bench_filter.LARGE]
    check.part(
        "filter benchmark", 60, lambda: bench_filter.report(cases, device, 3, 9 if quick else 0)
    )
    check.part("training", 30, lambda: training(device, quick))
    check.part("steps", 30, lambda: gpu_steps.report(device, quick))
    if device == "cpu":
        check.skip("tiles", "a CPU's are cut to its cache, whatever is asked")
    else:
        check.part("tiles", 30, lambda: gpu_steps.tiles(device, quick))
    check.part("workers", 100, lambda: gpu_workers.report(device, quick))
    check.part("largest", 0 if quick else 100, lambda: largest(device, quick))
    if quick:
        check.part("dmat_i on digits", 0, lambda: dmat_i("digits", device, 60, epochs=5))
        check.skip("dmat_i on the paper's datasets", "this run is --quick")
    else:
        others = [
            name
            for name in DATASETS.names()
            if name not in (*DMAT_DATASETS, *GENERATED) and items_of_dataset(name) == "nodes"
        ]
        for name in (*DMAT_DATASETS, *others):
            check.part(
                f"dmat_i on {name}",
                20,
                lambda name=name: dmat_i(name, device, max(10.0, check.left() - 10)),
            )
    return check.facts


def names(device: str, quick: bool) -> list[str]:
    """Of all parts, in order; none is run."""
    asked = ("no part begins so",)
    check = Check(device, quick, 0.0, Path(), asked)
    run(check)
    return check.met


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small graphs and few epochs: whether it runs, not how fast",
    )
    parser.add_argument(
        "--seconds", type=float, default=440.0, help="no part is begun that may take longer"
    )
    parser.add_argument("--parts", nargs="+", default=[], metavar="NAME", help="run these alone")
    parser.add_argument(
        "--merge",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="gpu_check.json of several calls, for one page; runs nothing",
    )
    parser.add_argument("--note", nargs="+", default=[], help="sentences for --merge's page")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    if options.merge:
        calls = (json.loads(file.read_text()) for file in options.merge)
        write(merged(calls, options.note), options.output)
        return 0
    if options.device != "cpu" and not torch.cuda.is_available():
        print(
            "torch sees no GPU; --device cpu --quick tries what can be tried without one",
            file=sys.stderr,
        )
        return 2
    asked = tuple(options.parts)
    there = names(options.device, options.quick)
    if nothing := [name for name in asked if not any(met.startswith(name) for met in there)]:
        parser.error(f"no part begins with {', '.join(nothing)}; there are {', '.join(there)}")
    check = Check(options.device, options.quick, options.seconds, options.output, asked)
    facts = run(check)
    check.write()
    print(markdown(facts))
    return int(
        any(
            "failed" in part["result"]
            for name, part in facts["parts"].items()
            if not name.startswith("dmat_i")
        )
    )


if __name__ == "__main__":
    sys.exit(main())
