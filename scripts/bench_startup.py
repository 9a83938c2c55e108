"""Times answers and the way to a training: results/bench/startup.json and .md.

python scripts/bench_startup.py [--repeats 5] [--output results/bench/startup.json]

Figures are processor seconds (user and system) of a process of its own, the median and the range of
several. Python's bytecode is kept, as it is where gclbench is installed. The floor is what Python,
torch, and torch_geometric take to be imported. A training is ended where its first step would be.
Each command is run once before it is measured, so that what gclbench keeps in its cache folder is
there.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import bench_facts

ROOT = Path(__file__).resolve().parent.parent

COMMAND = "import sys; from gclbench.cli import main; sys.exit(main(sys.argv[1:]))"
UNTIL_TRAINING = """
import os, sys
from gclbench.cli import main
from gclbench.training import loop
def begun(*_, **__):
    os._exit(0)
loop.train = begun
sys.exit(main(sys.argv[1:]) or "no training began")
"""
OWN_GRAPH = """
import numpy as np
rng = np.random.default_rng(0)
labels = rng.integers(0, 4, 300)
edges = rng.integers(0, 300, (2, 900))
np.savez("graph.npz", x=rng.normal(size=(300, 20)) + labels[:, None], edge_index=edges, y=labels)
"""
FLOORS = {
    "python": "pass",
    "import torch": "import torch",
    "import torch_geometric": "import torch_geometric",
}
ANSWERS = [
    "--help",
    "list",
    "list method",
    "completion bash",
    "status",
    "table",
    "table dmat/1",
    "table own",
    "show ID",
    "show method=dmat_i dataset=cora",
    "method=grase",
    "dataset=custom dataset.path=nowhere.npz",
]
TRAININGS = [
    "method=grace dataset=digits task=clustering seeds=1 rerun=all",
    "method=dmat_i dataset=digits task=clustering seeds=1 rerun=all",
    "method=grace dataset=custom dataset.path=graph.npz task=clustering seeds=1 rerun=all",
]
GOALS = {"answers": 0.5, "trainings": 2.5}


def seconds(code: str, words: list[str], folder: str) -> float:
    """Of the processor, of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code, *words], cwd=folder, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(code: str, words: list[str], folder: str, repeats: int) -> dict[str, float]:
    seconds(code, words, folder)
    found = sorted(seconds(code, words, folder) for _ in range(repeats))
    return {
        "median": round(statistics.median(found), 3),
        "least": round(found[0], 3),
        "most": round(found[-1], 3),
    }


def prepared(folder: str) -> str:
    """A folder with a graph and a recorded run; its id."""
    subprocess.run([sys.executable, "-c", OWN_GRAPH], cwd=folder, check=True)
    words = TRAININGS[0].split() + ["method.epochs=2"]
    subprocess.run(
        [sys.executable, "-c", COMMAND, *words], cwd=folder, check=True, capture_output=True
    )
    return next(path.name for path in Path(folder, "runs").iterdir() if path.is_dir())


def page(found: dict[str, Any]) -> str:
    """The figures as Markdown."""
    lines = [
        "# Start-up",
        "",
        f"{found['device']}, torch {found['environment']['torch']}, {found['repeats']} repeats;"
        f" load of the machine (1, 5, 15 minutes) {found['load_before']} before and"
        f" {found['load_after']} after, on {found['cores']} cores.",
        "Processor seconds, user and system together: median (least–most).",
        "Other work on the machine makes them larger, those of the floor too.",
    ]
    titles = {
        "floors": "Floor: imports",
        "answers": f"Answers; goal: {GOALS['answers']} s",
        "trainings": f"Until a training begins; goal: {GOALS['trainings']} s",
    }
    for part, title in titles.items():
        lines += ["", f"| {title} | s |", "|---|---|"]
        for name, value in found[part].items():
            spread = f"{value['median']:.2f} ({value['least']:.2f}–{value['most']:.2f})"
            lines.append(f"| `{name}` | {spread} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path, default=ROOT / "results/bench/startup.json")
    options = parser.parse_args()
    found = {**bench_facts.begun("bench_startup"), "repeats": options.repeats, "goals": GOALS}
    with tempfile.TemporaryDirectory() as folder:
        # As installed: Python keeps the bytecode of what it has imported, which some machines that
        # build software switch off.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder, "bytecode"))
        run = prepared(folder)
        found["floors"] = {
            name: measured(code, [], folder, options.repeats) for name, code in FLOORS.items()
        }
        found["answers"] = {
            text: measured(COMMAND, text.replace("ID", run).split(), folder, options.repeats)
            for text in ANSWERS
        }
        found["trainings"] = {
            text: measured(UNTIL_TRAINING, text.split(), folder, options.repeats)
            for text in TRAININGS
        }
    bench_facts.write(options.output, found, page)
    print(page(found), end="")


if __name__ == "__main__":
    main()
