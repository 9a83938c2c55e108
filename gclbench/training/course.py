"""The course of a training: its embedding every few iterations, for tasks to evaluate later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gclbench.training.look import Look

if TYPE_CHECKING:
    from torch import Tensor


class Course:
    """Keeps embeddings of the untrained state, of every `every`-th iteration and of the last one.

    Nothing is chosen by them: what a task finds of them is recorded beside a run's metrics. Its own
    state can be kept in a checkpoint.

    Args:
        every: iterations between two.
    """

    def __init__(self, every: int, look: Look):
        self._every, self._look = every, look
        self._kept: list[tuple[int, Tensor]] = []

    def pass_by(self, iterations: int, last: bool = False) -> None:
        """Keeps the embedding as it is now, after so many iterations, if it is time to.

        Args:
            last: it is the end of the training.

        Raises:
            Diverged: when the embedding is not finite.
        """
        if self._kept and self._kept[-1][0] >= iterations:
            return
        if last or iterations % self._every == 0:
            embedding, _ = self._look(iterations)
            self._kept.append((iterations, embedding.z.detach().cpu()))

    @property
    def embeddings(self) -> tuple[tuple[int, Tensor], ...]:
        """(iterations, n×d) of each embedding that was kept."""
        return tuple(self._kept)

    def state_dict(self) -> dict[str, Any]:
        """The embeddings so far."""
        return {"every": self._every, "kept": [list(each) for each in self._kept]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a state that `state_dict` gave.

        Raises:
            ValueError: when it has embeddings of other iterations; the training begins anew.
        """
        if state["every"] != self._every:
            raise ValueError(f"a course of every {state['every']} iterations, not {self._every}")
        self._kept = [(int(iterations), z) for iterations, z in state["kept"]]
