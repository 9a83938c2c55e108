"""Filter and DMAT-i training against the number of nodes, as in Figure 2 of the DMAT-i paper.

R-MAT graphs with edges = 20 N, 1,000 features, 5 passes.

Each size runs in a process of its own, whose peak memory is read from the system: `rss` counts the
pages of mapped files that happen to be in memory too, which the system takes back when it needs
them; `anonymous` does not (sampled every 20 ms).

    python scripts/bench_scale.py --output results/bench/scale_cpu.json
    python scripts/bench_scale.py --nodes 1000 10000 --device cuda
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import bench_facts
import torch

from gclbench.data.mirror import cache_folder
from gclbench.data.rmat import RMAT
from gclbench.filters.cache import uncached
from gclbench.filters.gnnbp import GnnBP
from gclbench.graph import with_features
from gclbench.machine import memory_map
from gclbench.machine.environment import PeakMemory
from gclbench.methods.dmat_i import DmatI
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

SIZES = (10**3, 10**4, 10**5, 10**6)
NOT_RUN = {
    10**7: (
        "needs a machine with a GPU of 139 GiB, or 100 GiB of disk and hours: 40 GB of features, 40"
        " GB of result"
    )
}


class Sampler(threading.Thread):
    """The largest anonymous memory of this process, and of its GPU use, while it runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.02):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon:"):
                    self.peak = max(self.peak, int(line.split()[1]) * 1024)

    def stop(self) -> int:
        self._done.set()
        self.join()
        return self.peak


def one(nodes: int, features: int, passes: int, tol: float, device: str) -> dict[str, Any]:
    """Seconds of every phase and peak memory of one size."""
    memory, sampler = PeakMemory(device), Sampler()
    sampler.start()
    found: dict[str, Any] = {
        "nodes": nodes,
        "features": features,
        "passes": passes,
        "tol": tol,
        "seconds": {},
        "cpu_seconds": {},
    }

    def phase(name: str, work: Any) -> Any:
        started, processor = time.perf_counter(), time.process_time()
        result = work()
        if device != "cpu":
            torch.cuda.synchronize(device)
        found["seconds"][name] = round(time.perf_counter() - started, 3)
        found["cpu_seconds"][name] = round(time.process_time() - processor, 3)
        return result

    scale = max(1, (nodes - 1).bit_length())
    graph = phase(
        "generate", RMAT(scale=scale, nodes=nodes, edge_factor=20, features=features).load
    )
    found["edges"] = graph.edge_index.shape[1] // 2
    phase("hash", lambda: graph.content_hash)
    folder = cache_folder() / "filtered"
    filtered = phase(
        "filter", lambda: uncached(GnnBP(alpha=0.1, rrz=0.5, tol=tol), graph, folder, device)
    )
    found["filter"] = filtered.report
    found["features_mapped"] = memory_map.is_large(nodes, features)
    seen = phase("check", lambda: with_features(graph, filtered.x))
    seen = seen.to(device) if device != "cpu" else seen
    method = DmatI(epochs=passes, epoch_is="pass")
    watch = Watch()
    labels = torch.full((nodes,), -1, device=device)
    embedding = phase("train", lambda: method.fit(seen, labels, Streams(0), watch))
    found["loss"] = watch.last_loss
    found["iterations"] = watch.summary()["iterations"]
    found["finite"] = bool(torch.isfinite(embedding.z).all())
    found["memory"] = {**memory.read(), "anonymous_peak": sampler.stop()}
    return found


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        f"{'nodes':>9}{'edges':>11}{'generate s':>12}{'filter s':>10}{'train s':>9}"
        f"{'filter cpu s':>14}{'train cpu s':>13}{'rss GB':>8}{'anon GB':>9}"
    ]
    for row in rows:
        if "failed" in row:
            lines.append(f"{row['nodes']:>9}  {row['failed']}")
            continue
        wall, cpu, peak = row["seconds"], row["cpu_seconds"], row["memory"]
        lines.append(
            f"{row['nodes']:>9}{row['edges']:>11}{wall['generate']:>12.1f}{wall['filter']:>10.1f}"
            f"{wall['train']:>9.1f}{cpu['filter']:>14.1f}{cpu['train']:>13.1f}"
            f"{peak['rss_peak'] / 1e9:>8.2f}{peak['anonymous_peak'] / 1e9:>9.2f}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument(
        "--tol", type=float, default=1e-3, help="relative error asked of the filter"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--output", type=Path)
    parser.add_argument(
        "--alone", action="store_true", help="run the one size given here and print its row as JSON"
    )
    options = parser.parse_args()
    if options.alone:
        print(
            json.dumps(
                one(options.nodes[0], options.features, options.passes, options.tol, options.device)
            )
        )
        return
    rows: list[dict[str, Any]] = []
    begun = bench_facts.begun("bench_scale", options.device, torch.get_num_threads())
    for nodes in options.nodes:
        command = [
            sys.executable,
            __file__,
            "--alone",
            "--nodes",
            str(nodes),
            "--features",
            str(options.features),
        ]
        command += [
            "--passes",
            str(options.passes),
            "--tol",
            str(options.tol),
            "--device",
            options.device,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        rows.append(
            json.loads(done.stdout)
            if done.returncode == 0
            else {"nodes": nodes, "failed": f"exit {done.returncode}: {last}"}
        )
        facts = {
            **begun,
            "rows": rows,
            "not_run": [
                f"{size} nodes: {why}" for size, why in NOT_RUN.items() if size not in options.nodes
            ],
        }
        bench_facts.write(options.output, facts)
        print(table(rows[-1:]), flush=True)


if __name__ == "__main__":
    main()
