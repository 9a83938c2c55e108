"""Several trainings at once on one GPU: one process, several processes, several under MPS.

A training of small kernels leaves most of a GPU idle. Processes of their own draw and launch at the
same time, and share the GPU in slices; NVIDIA's Multi-Process Service (MPS) lets their kernels run
beside each other. What `launcher.workers=auto` should take on a GPU depends on it: one worker for
each GPU is what it takes so far.

`gpu_check.py` runs `report`. A worker is this file itself, begun with `--train`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from gclbench.component.registry import DATASETS, METHODS, NEGATIVES

TRAINED = {"dmat_i": 400, "grace": 100}
"""Methods and their epochs: an iteration that is recorded as a CUDA graph, and one that is not."""

AT_ONCE = (1, 4)
"""Numbers of processes. They are few, since every one has to start and to warm up."""

DAEMON = "nvidia-cuda-mps-control"


def trained(method: str, dataset: str, epochs: int, device: str, seed: int) -> None:
    """One training at the method's defaults but for its epochs, without filter and evaluation."""
    import torch

    from gclbench.training.streams import Streams
    from gclbench.training.watch import Watch

    graph = DATASETS.load(dataset)().load().to(device)
    labels = torch.full((graph.num_nodes,), -1, device=device)
    made = METHODS.load(method)(epochs=epochs)
    taken = {"negatives": NEGATIVES.load("uniform")()} if made.takes_negatives else {}
    made.fit(graph, labels, Streams(seed), Watch(), **taken)
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def work(method: str, dataset: str, epochs: int, device: str, seeds: list[int]) -> None:
    """A worker's life: a short training that loads what is loaded once, a line that says so, a line
    that lets it begin, its seeds, and a line at the end."""
    trained(method, dataset, min(epochs, 10), device, 0)
    print("ready", flush=True)
    sys.stdin.readline()
    for seed in seeds:
        trained(method, dataset, epochs, device, seed)
    print("done", flush=True)


def seconds_of(
    method: str, dataset: str, epochs: int, device: str, processes: int, seeds: int
) -> float:
    """Seconds until so many processes have trained `seeds` seeds between them, all of them warm
    before.

    Raises:
        RuntimeError: when a worker ends before its work does.
    """
    started = []
    with tempfile.TemporaryFile("w+") as said:
        for place in range(processes):
            own = [str(seed) for seed in range(place, seeds, processes)]
            options = [method, dataset, str(epochs), device, *own]
            started.append(
                subprocess.Popen(
                    [sys.executable, __file__, "--train", *options],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    text=True,
                )
            )
        try:
            for process in started:
                _hears(process, "ready", said)
            begun = time.perf_counter()
            for process in started:
                assert process.stdin is not None
                # One that has ended in the meantime is told below.
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write("\n")
                    process.stdin.flush()
            for process in started:
                _hears(process, "done", said)
            return time.perf_counter() - begun
        finally:
            for process in started:
                process.kill()
                process.communicate()


def _hears(process: subprocess.Popen[str], expected: str, said: TextIO) -> None:
    assert process.stdout is not None
    if process.stdout.readline().strip() != expected:
        said.seek(0)
        lines = said.read().strip().splitlines() or ["it said nothing"]
        raise RuntimeError(f"a worker ended before it was {expected}: {lines[-1]}")


@contextlib.contextmanager
def mps() -> Iterator[None]:
    """Within the block processes that begin share the GPU by MPS, whose daemon ends with it.

    Raises:
        FileNotFoundError: where the daemon is not installed.
        subprocess.SubprocessError: where it does not start.
    """
    with tempfile.TemporaryDirectory() as folder:
        own = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        before = {name: os.environ.get(name) for name in own}
        os.environ.update(own)
        try:
            subprocess.run([DAEMON, "-d"], check=True, timeout=20, capture_output=True)
            try:
                yield
            finally:
                subprocess.run([DAEMON], input="quit\n", text=True, timeout=20, check=False)
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def report(device: str, quick: bool) -> dict[str, Any]:
    """Seconds of eight seeds by method and number of processes, without and with MPS.

    What fails is told in the place of its seconds; the others go on.

    Raises:
        DataUnavailable: when cora's files are not here.
    """
    dataset = "sbm" if quick else "cora"
    DATASETS.load(dataset)().load()
    seeds, numbers = (2, (1, 2)) if quick else (8, AT_ONCE)
    found: dict[str, Any] = {"dataset": dataset, "seeds": seeds, "seconds": {}, "mps": {}}

    def measure(case: str, method: str, epochs: int, processes: int) -> None:
        try:
            taken: float | str = seconds_of(method, dataset, epochs, device, processes, seeds)
        except RuntimeError as error:
            taken = str(error)
        found["seconds"].setdefault(method, {})[case] = taken

    for method, usual in TRAINED.items():
        epochs = 3 if quick else usual
        for processes in numbers:
            measure(str(processes), method, epochs, processes)
        if not device.startswith("cuda") or shutil.which(DAEMON) is None:
            found["mps"][method] = f"not run: no GPU, or no {DAEMON}"
            continue
        try:
            with mps():
                for processes in numbers[1:]:
                    measure(f"{processes}, MPS", method, epochs, processes)
        except (OSError, subprocess.SubprocessError) as error:
            found["mps"][method] = f"failed: {error}"
    return found


def better_by_mps(facts: Mapping[str, Any]) -> bool:
    """Whether several processes took less time by MPS, of every method."""
    most = str(AT_ONCE[-1])
    pairs = [(cases.get(most), cases.get(f"{most}, MPS")) for cases in facts["seconds"].values()]
    return bool(pairs) and all(
        isinstance(plain, float) and isinstance(shared, float) and shared < plain
        for plain, shared in pairs
    )


def summary(facts: Mapping[str, Any]) -> str:
    """One line: of each method the seconds by number of processes."""
    told = (
        f"{method}: "
        + ", ".join(
            f"{case} {taken:.1f} s" if isinstance(taken, float) else f"{case} FAILED ({taken})"
            for case, taken in cases.items()
        )
        for method, cases in facts["seconds"].items()
    )
    about = dict.fromkeys(f"; MPS {remark}" for remark in facts["mps"].values())
    head = f"{facts['seeds']} seeds on {facts['dataset']} by processes"
    return f"{head}: {'; '.join(told)}{''.join(about)}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", nargs="+", metavar="WORD", help="what a worker is to do")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, help="a JSON file")
    parser.add_argument(
        "--better-by-mps",
        type=Path,
        metavar="FILE",
        help="exit 0 where gpu_check.json says that several processes are faster by MPS",
    )
    options = parser.parse_args()
    if options.better_by_mps:
        parts = json.loads(options.better_by_mps.read_text())["parts"]
        found = parts.get("workers", {}).get("result", {})
        return 0 if "seconds" in found and better_by_mps(found) else 1
    if options.train:
        method, dataset, epochs, device, *seeds = options.train
        work(method, dataset, int(epochs), device, [int(seed) for seed in seeds])
        return 0
    facts = report(options.device, options.quick)
    print(summary(facts))
    if options.output is not None:
        options.output.write_text(json.dumps(facts, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
