"""What a task finds: its metrics, what makes them say little, and what says nothing would score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Scores(dict[str, float]):
    """Metrics by name, fractions.

    Attributes:
        degenerate: one sentence per way in which the result collapsed; the numbers stand, and say
            little.
        floor: by metric, what is reached without looking at the embedding: by the majority class
            of the training nodes, or by clusters dealt at random.
    """

    def __init__(
        self,
        metrics: Mapping[str, float],
        degenerate: Iterable[str] = (),
        floor: Mapping[str, float] | None = None,
    ):
        super().__init__(metrics)
        self.degenerate = tuple(degenerate)
        self.floor = dict(floor or {})
