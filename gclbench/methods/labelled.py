"""The nodes that a method learns from where it learns from labels."""

from __future__ import annotations

import torch
from torch import Tensor

from gclbench.graph import Unsupported


def labelled_nodes(labels: Tensor, method: str) -> Tensor:
    """The nodes whose label may be seen, in ascending order (int64, on the CPU).

    Args:
        labels: (N,), −1 where a label may not be seen. method: its name, for the error.

    Raises:
        Unsupported: when there are fewer than two.
    """
    nodes = torch.arange(len(labels))[labels.cpu() >= 0]
    if len(nodes) < 2:
        raise Unsupported(
            f"{method} learns from labelled nodes and sees {len(nodes)}; only"
            " task=classification reveals labels, those of its training nodes"
        )
    return nodes


def classes_without_node(labels: Tensor, classes: int) -> list[int]:
    """The classes 0 … K−1 that no visible label has: nothing can be learnt of them."""
    seen = set(labels[labels >= 0].tolist())
    return [name for name in range(classes) if name not in seen]
