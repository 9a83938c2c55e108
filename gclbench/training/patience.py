"""Early stopping on the training loss, as DGI and MVGRL do it."""

from __future__ import annotations

import copy
import math
from typing import Any

from torch import Tensor, nn


class Patience:
    """Ends a training whose loss has not reached a new lowest value for a while, and goes back to
    the state that had it.

    Labels have no part in it. Its own state can be kept in a checkpoint.

    Args:
        iterations: without a new lowest loss that end the training; 0 never ends it, and the last
            state stays.
        module: what is kept.
    """

    def __init__(self, iterations: int, module: nn.Module):
        self._iterations = iterations
        self._module = module
        self._lowest = math.inf
        self._waited = 0
        self._kept: dict[str, Any] | None = None
        self._steps_kept = 0
        self._judged = 0

    def spent(self, loss: float | Tensor, steps: int) -> bool:
        """Notes the loss of the module as it is now, after so many steps.

        Returns:
            True when the training should end.
        """
        if not self._iterations:
            return False
        value = float(loss)
        self._judged += 1
        if value < self._lowest:
            self._lowest, self._waited = value, 0
            self._kept, self._steps_kept = copy.deepcopy(self._module.state_dict()), steps
        else:
            self._waited += 1
        return self._waited >= self._iterations

    def restore(self) -> None:
        """Puts the module into the state of the lowest loss."""
        if self._kept is not None:
            self._module.load_state_dict(self._kept)

    def findings(self) -> dict[str, float]:
        """`steps_kept`: the steps behind the state that was kept; empty where none was."""
        return {} if self._kept is None else {"steps_kept": self._steps_kept}

    def remarks(self) -> list[str]:
        """A sentence where the state that was kept is the untrained one."""
        if self._kept is None or self._steps_kept:
            return []
        if self._judged == 1:
            return [
                "the training ended before a second loss was compared, so early stopping kept the"
                f" untrained state (method.patience={self._iterations})"
            ]
        return [
            "the loss never fell below its first value, so early stopping kept the untrained state"
            f" (method.patience={self._iterations})"
        ]

    def state_dict(self) -> dict[str, Any]:
        """Lowest loss, iterations waited since, the module's state then, its steps, and how many
        losses were compared."""
        return {
            "lowest": self._lowest,
            "waited": self._waited,
            "kept": self._kept,
            "steps_kept": self._steps_kept,
            "judged": self._judged,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a state that `state_dict` gave."""
        self._lowest, self._waited, self._kept = (
            float(state["lowest"]),
            int(state["waited"]),
            copy.deepcopy(state["kept"]),
        )
        self._steps_kept, self._judged = int(state["steps_kept"]), int(state["judged"])
