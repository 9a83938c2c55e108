"""Fills cells on a GPU that is lent for minutes: packs what travels, then runs a list until time.

The cells here are those that take hours or days on two cores (results/costs.md), the cheapest for
what they decide first. Here, in a clean clone, with the raw files in GCLBENCH_MIRROR:

    python scripts/gpu_sweep.py pack            # fills .carry and .whl, which git ignores

It says what the tree, the files and the wheels weigh together, and what to type for the machine
with the GPU, which has no network, no .git and no Hydra. `gpu_call.sh`, which is named there,
measures first and then runs both lists. One alone:

    python scripts/gpu_sweep.py run --plan products --minutes 8 --output "$OUT/products"

`run` makes the sweeps one after the other and ends the one that is under way when the time is over.
What was recorded until then is in records.tar.gz; gpu_sweep.json says how long each sweep
took, and which were not begun. Back here:

    tar -xzf records.tar.gz -C /tmp
    gclbench export --runs /tmp/records --to results/records

    python scripts/gpu_sweep.py run --device cpu --quick --output /tmp/sweep     # without a GPU
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterable
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from gclbench.data.mirror import info, path
from gclbench.machine.environment import device_name, versions

ROOT = Path(__file__).resolve().parent.parent
CARRIED, WHEELS = ROOT / ".carry", ROOT / ".whl"
LIMIT = 64 << 20
"""Bytes that may travel, the tree among them."""

NEEDED = ("hydra-core", "omegaconf", "antlr4-python3-runtime")
"""Packages to bring in the versions that are here, without what they need: the machine with the GPU
has the rest."""

PLANS = {
    "products": (
        "table=nml/1,nml/2 dataset=amazon_computers column=homogcl,phases,grape",
        "table=nml/1,nml/2 dataset=pubmed column=homogcl",
        "table=dmat/1,dmat/3 dataset=amazon_photo method=gca",
        "table=dmat/1 dataset=amazon_photo method=progcl seeds=2-4",
        "table=nml/1,nml/2 dataset=amazon_computers 'column=nml_gcl,nml_gcl w/o M,nml_gcl cosine'",
        "table=nml/1,nml/2 dataset=pubmed column=phases,grape",
        "table=nml/1,nml/2 dataset=amazon_photo column=grace_plus",
        "table=nml/1,nml/2 dataset=amazon_photo column=phases seeds=3-8",
        "table=dmat/3 dataset=amazon_photo method=progcl",
        "table=nml/1,nml/2 dataset=amazon_computers column=mvgrl,progcl,grace_plus",
        "table=nml/1,nml/2 dataset=pubmed column=nml_gcl,grace",
        "table=dmat/1,dmat/3 dataset=coauthor_cs method=gca",
        "table=nml/1,nml/2 dataset=pubmed column=grace_plus,progcl",
        "table=dmat/1,dmat/3 dataset=pubmed method=gca",
    ),
    "launches": (
        "table=dmat/1 dataset=coauthor_phy method=sdcn",
        "table=dmat/1 dataset=coauthor_cs method=sdcn seeds=2-4",
        "table=nml/1,nml/2 dataset=pubmed column=bgrl",
        "table=mmix/2 dataset=pubmed method=graphcl_nodes seeds=3-8",
        "table=mmix/2 dataset=pubmed 'column=i-mix,mmix_mp w/o div' seeds=3-8",
        "table=mmix/2 dataset=pubmed column=mmix_mp seeds=3-9",
        "table=dmat/1,dmat/3 dataset=pubmed method=age",
        "table=mmix/5 dataset=pubmed column=mmix_mp seeds=2-8",
        "table=mmix/7 dataset=pubmed column=binary-mix seeds=3-9",
        "table=nml/1,nml/2 dataset=amazon_photo column=bgrl",
        "table=nml/1,nml/2 dataset=amazon_computers column=bgrl",
        "table=mmix/7 dataset=pubmed 'column=no mixing' seeds=3-13",
        "table=mmix/9 dataset=pubmed 'column=random mixing' seeds=3-14",
        "table=mmix/2 dataset=pubmed column=grace",
        "table=mmix/2,nml/1,nml/2,mmix/5 dataset=pubmed column=mvgrl seeds=4-6",
    ),
}
"""Sweeps in order, a list for trainings that multiply all nodes with all, and one for those of many
small kernels, which leave the GPU idle between them. Of each column three seeds, where a sweep
names no others. The two lists are meant to run beside each other. What is filled is no longer
here."""

CHECKED = ("cora", "citeseer")
"""Datasets that gpu_check.py asks for besides."""

QUICK = ("method=grace method.epochs=1 dataset=digits task=clustering seeds=1",)
"""What `--quick` runs instead."""

WORKERS = 3
"""Processes that share the GPU: one of small graphs leaves it idle between its kernels."""

THREADS = 2
"""Of each process: two lists of sweeps at a time are more than 16 cores would bear otherwise."""

PIPE = "CUDA_MPS_PIPE_DIRECTORY"
"""Set where processes share the GPU by NVIDIA's MPS."""

LEAST = 20.0
"""Seconds under which no sweep is begun."""


def datasets_of(plan: Iterable[str]) -> list[str]:
    """The datasets that sweeps are of, each once."""
    words = (word.partition("=") for sweep in plan for word in shlex.split(sweep))
    return list(dict.fromkeys(value for key, _, value in words if key == "dataset"))


def asked(words: str) -> list[str]:
    """The arguments of gclbench for a sweep of a list."""
    verb = ["sweep"] if "table=" in words else ["-m"]
    return [*verb, *shlex.split(words), *([] if "seeds=" in words else ["seeds=3"])]


def packed_data(names: Iterable[str]) -> int:
    """Copies the raw files of some datasets to .carry, compressed; returns their bytes."""
    total = 0
    for name in names:
        found = path(name)
        for file in info(name).files:
            target = CARRIED / f"{file.path}.gz"
            target.parent.mkdir(parents=True, exist_ok=True)
            source = found[file.path]
            if source.name == target.name:
                shutil.copyfile(source, target)
            else:
                with gzip.GzipFile(target, "wb", mtime=0) as packed:
                    packed.write(source.read_bytes())
            total += target.stat().st_size
    return total


def packed_wheels() -> int:
    """Brings the wheels of `NEEDED` and makes gclbench's own, all for any Python; returns their
    bytes."""
    WHEELS.mkdir(exist_ok=True)
    exact = [f"{name}=={version(name)}" for name in NEEDED]
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(WHEELS)]
    subprocess.run([*command, *exact, str(ROOT)], check=True)
    return sum(file.stat().st_size for file in WHEELS.iterdir())


def tree_bytes() -> int:
    """Of what git tracks."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], check=True, capture_output=True, text=True
    )
    files = (ROOT / name for name in listed.stdout.split("\0") if name)
    return sum(file.stat().st_size for file in files if file.is_file())


def pack() -> None:
    """Fills .carry and .whl, and says what to type.

    Raises:
        SystemExit: for a tree with changes, whose runs would name a commit that they are not of,
            and for more bytes than travel. Files under results may be missing meanwhile.
    """
    changed = subprocess.run(
        ["git", "-C", str(ROOT), "status", "--porcelain", "--", ".", ":!results"],
        check=True,
        capture_output=True,
    )
    if changed.stdout.strip():
        raise SystemExit("the tree has changes; commit them first, so that runs name their code")
    shutil.rmtree(CARRIED, ignore_errors=True)
    shutil.rmtree(WHEELS, ignore_errors=True)
    parts = {
        "tree": tree_bytes(),
        "data": packed_data([*datasets_of(chain(*PLANS.values())), *CHECKED]),
        "wheels": packed_wheels(),
    }
    said = ", ".join(f"{name} {size / 2**20:.1f}" for name, size in parts.items())
    print(f"MiB: {said}; {sum(parts.values()) / 2**20:.1f} of {LIMIT / 2**20:.0f} that travel")
    if sum(parts.values()) > LIMIT:
        raise SystemExit(
            "too much travels; move results/report.html away meanwhile, or leave the sweeps of a"
            " dataset out of PLANS"
        )
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    (CARRIED / "commit").write_text(f"{commit}\n")
    print(
        "carry .carry and .whl, and call, the second at once after the first:\n"
        "bash scripts/gpu_call.sh first 560 10\n"
        "bash scripts/gpu_call.sh rest 200"
    )


def run(
    plan: Iterable[str],
    device: str,
    minutes: float,
    output: Path,
    workers: int = WORKERS,
    kept: Path | None = None,
) -> dict[str, object]:
    """Runs sweeps until the time is over and puts records and a report into a folder.

    Args:
        plan: what `gclbench sweep`, or `gclbench -m` where no table is named, is given.
        kept: where runs stay for the next call, which skips those that are recorded.
    """
    output.mkdir(parents=True, exist_ok=True)
    runs, end = kept or output / "runs", time.monotonic() + 60 * minutes
    done, not_begun = [], []
    for words in plan:
        left = end - time.monotonic()
        if left < LEAST:
            not_begun.append(words)
            continue
        command = [sys.executable, "-m", "gclbench", *asked(words)]
        command += [f"device={device}", f"launcher.workers={workers}", f"threads={THREADS}"]
        command.append(f"runs_dir={runs}")
        started = time.monotonic()
        # Not in the tree: its gclbench has no configs beside it, the installed one has.
        process = subprocess.Popen(command, cwd=output, start_new_session=True)
        try:
            code: int | None = process.wait(timeout=left)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=LEAST)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        done.append({"sweep": words, "seconds": time.monotonic() - started, "exit_code": code})
    records = output / "records"
    export = ["export", "--runs", str(runs), "--to", str(records)]
    if runs.is_dir():
        subprocess.run([sys.executable, "-m", "gclbench", *export], cwd=output, check=False)
    if records.is_dir():
        with tarfile.open(output / "records.tar.gz", "w:gz") as archive:
            archive.add(records, arcname="records")
        shutil.rmtree(records)
    if kept is None:
        shutil.rmtree(runs, ignore_errors=True)
    facts: dict[str, object] = {
        "device": device_name(device),
        "workers": workers,
        "mps": PIPE in os.environ,
        "sweeps": done,
        "not_begun": not_begun,
        "versions": versions(),
    }
    (output / "gpu_sweep.json").write_text(json.dumps(facts, indent=1) + "\n")
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=("pack", "run"))
    parser.add_argument("--plan", choices=sorted(PLANS), default="products")
    parser.add_argument("--workers", type=int, default=WORKERS, help="processes on the GPU")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--quick", action="store_true", help="one epoch on a small graph")
    parser.add_argument("--output", type=Path, default=Path("gpu_sweep"))
    parser.add_argument("--runs", type=Path, help="a folder where runs stay for the next call")
    options = parser.parse_args()
    if options.verb == "pack":
        pack()
        return
    import torch

    if options.device.startswith("cuda") and not torch.cuda.is_available():
        parser.error("torch sees no GPU; --device cpu --quick tries what can be tried without one")
    plan = QUICK if options.quick else PLANS[options.plan]
    kept = options.runs.resolve() if options.runs else None
    output = options.output.resolve()
    facts = run(plan, options.device, options.minutes, output, options.workers, kept)
    print(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
