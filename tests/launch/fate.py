"""A method of a test package whose runs end as their seed says: what a sweep meets on a bad day."""

from __future__ import annotations

import math
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch

from gclbench.embedding import Embedding

RAISES, DIVERGES, TAKES_ALL_MEMORY, TAKES_ALL_TIME, IS_KILLED, IS_KILLED_ONCE, LEAVES = (
    1,
    3,
    5,
    7,
    11,
    12,
    13,
)


@dataclass(frozen=True)
class Fate:
    """Ends as its seed says."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False

    pause: float = 0.0

    def fit(self, graph, labels, rng, watch) -> Embedding:
        """The features, if it comes to that."""
        time.sleep(self.pause)
        match rng.seed:
            case 1:
                raise RuntimeError("this run raises")
            case 3:
                watch(1, 10, math.nan)
            case 5:
                hoard = [
                    torch.empty(1 << 24) for _ in range(1 << 10)
                ]  # 64 MiB each, 64 GiB; untouched: no time is spent
                return Embedding(hoard[0])
            case 7:
                for step in range(1, 10_000):
                    time.sleep(0.01)
                    watch(step, 10_000, 0.5)
            case 11:
                os.kill(os.getpid(), signal.SIGKILL)
            case 12:
                mark = Path(os.environ["GCLBENCH_DATA"]) / "killed once"
                if not mark.exists():
                    mark.parent.mkdir(parents=True, exist_ok=True)
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
            case 13:
                os._exit(9)
        return Embedding(graph.x)


def install(folder: Path) -> Path:
    """Puts the package into a folder as pip does; with the folder on PYTHONPATH any Python has
    `method=fate`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fate.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    metadata = folder / "gclbench_fate-0.1.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: gclbench-fate\nVersion: 0.1\n", encoding="utf-8"
    )
    (metadata / "entry_points.txt").write_text(
        "[gclbench.methods]\nfate = fate:Fate\n", encoding="utf-8"
    )
    return folder
