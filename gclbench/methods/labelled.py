"""The nodes that a method learns from where it learns from labels."""

from __future__ import annotations

from typing import Any

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


def unseen_classes(unseen: list[int], findings: dict[str, Any]) -> dict[str, Any]:
    """Findings and remarks of an embedding, with the classes that have no training node."""
    if not unseen:
        return {"findings": findings}
    names = ", ".join(map(str, unseen))
    remark = (
        f"no training node has class {names}, so nothing is learnt of"
        f" {'it' if len(unseen) == 1 else 'them'}; task.classification.protocol=random_10_10_80"
        " draws other training nodes for every seed"
    )
    return {
        "findings": {**findings, "classes_without_training_nodes": unseen},
        "remarks": [remark],
    }
