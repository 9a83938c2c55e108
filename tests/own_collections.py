"""Small collections of graphs of a user, as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def save_cycles(path: str | Path) -> None:
    """24 circles of 4 to 8 nodes; in every second one a node sees all others."""
    sizes, y = np.arange(24) % 5 + 4, np.arange(24) % 2
    pairs: list[tuple[int, int]] = []
    for first, size, star in zip(np.cumsum(sizes) - sizes, sizes, y, strict=True):
        pairs += [(first + i, first + (i + 1) % size) for i in range(size)]
        pairs += [(first, first + i) for i in range(2, size - 1) if star]
    np.savez(
        path,
        x=np.ones((sizes.sum(), 2)),
        edge_index=np.array(pairs).T,
        graph_of=np.repeat(np.arange(24), sizes),
        y=y,
    )
