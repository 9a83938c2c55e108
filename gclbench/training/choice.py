"""The number of training steps, chosen by the task's validation nodes or pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torch import nn

from gclbench.embedding import Embedding
from gclbench.training.look import Look


class Choice:
    """Looks at a training now and then, and keeps the state with the largest validation score.

    It looks at the untrained state, after 1, 2, 3, 4, 5, 7, 9, 12, … iterations (each a quarter
    later than the one before, rounded up), and at the end. Of equal scores the earliest is kept.
    Its own state can be kept in a checkpoint.

    Args:
        module: what is kept. look: at the training that it is in.
        score: of an embedding; larger is better.
    """

    def __init__(self, module: nn.Module, look: Look, score: Callable[[Embedding], float]):
        self._module, self._look, self._score = module, look, score
        self._curve: list[tuple[int, float]] = []
        self._kept: dict[str, Any] = {}

    def look(self, iterations: int, last: bool = False) -> None:
        """Looks at the module as it is now, after so many iterations, if it is time to.

        Args:
            last: it is the end of the training.

        Raises:
            Diverged: when the embedding is not finite.
        """
        if self._curve:
            before = self._curve[-1][0]
            if iterations < before + (1 if last else max(1, math.ceil(before / 4))):
                return
        embedding, state = self._look(iterations)
        score = float(self._score(embedding))
        if all(score > earlier for _, earlier in self._curve):
            self._kept = state["model"]
        self._curve.append((iterations, score))

    @property
    def best(self) -> tuple[int, float]:
        """The iterations behind the state that is kept, and its score."""
        return max(self._curve, key=lambda look: look[1])

    def restore(self) -> None:
        """Puts the module into the state that is kept."""
        self._module.load_state_dict(self._kept)

    def findings(self) -> dict[str, Any]:
        """`steps_kept` and `validation` of the state that is kept, and `validation_curve`: the
        iterations and the score of each look."""
        steps, score = self.best
        curve = [list(look) for look in self._curve]
        return {"steps_kept": steps, "validation": score, "validation_curve": curve}

    def remarks(self) -> list[str]:
        """A sentence where the state that is kept is the untrained one."""
        if self.best[0]:
            return []
        return [
            "no look at the training scored above the untrained state on the validation part, so"
            " that state was kept (method.epoch_by=validation)"
        ]

    def state_dict(self) -> dict[str, Any]:
        """The looks, and the module's state at the best of them."""
        return {"curve": [list(look) for look in self._curve], "kept": self._kept}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a state that `state_dict` gave."""
        self._curve = [(int(iterations), float(score)) for iterations, score in state["curve"]]
        self._kept = state["kept"]
