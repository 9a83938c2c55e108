"""Small graphs of a user, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gclbench.records import Record, Store


def save(path: str | Path, shift: float = 0.0, **changes: Any) -> None:
    """A graph of two blocks with features, edges and labels; the folder is made.

    Args:
        shift: of the first block's features: another one is another graph.
        changes: of the arrays; None leaves one out.
    """
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    edges = [
        (u, v) for u in range(40) for v in range(u) if rng.random() < 0.05 + 0.2 * (u % 2 == v % 2)
    ]
    arrays = {
        "x": rng.normal(size=(40, 5)) + 2 * labels[:, None] + shift,
        "edge_index": np.array(edges).T,
        "y": labels,
        **changes,
    }
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})


def recorded(folder: str = "runs") -> list[Record]:
    """The records of a store."""
    return list(Store(folder).scan())
