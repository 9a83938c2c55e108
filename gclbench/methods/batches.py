"""Batches of nodes without end."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Batches:
    """Batches without end: the nodes are shuffled, cut into batches, and shuffled again when they
    are used up.

    Args:
        nodes: node ids. size: of a batch; the last one of a pass is smaller where it does not
            divide the nodes.
        generator: what shuffles.
    """

    def __init__(self, nodes: Tensor, size: int, generator: torch.Generator):
        self._nodes = nodes
        self._size = size
        self._generator = generator
        self._order = nodes[:0]
        self._given = 0

    def next(self) -> Tensor:
        """Ids of the next batch's nodes."""
        if self._given >= len(self._order):
            self._order = self._nodes[torch.randperm(len(self._nodes), generator=self._generator)]
            self._given = 0
        batch = self._order[self._given : self._given + self._size]
        self._given += self._size
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Where it is in the pass, and the generator that shuffles the next one."""
        return {
            "order": self._order,
            "given": self._given,
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a state that `state_dict` gave."""
        self._order, self._given = state["order"], int(state["given"])
        self._generator.set_state(state["generator"])
