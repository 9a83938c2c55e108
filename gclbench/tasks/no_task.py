"""What stands for a task where an embedding alone is asked for: all of the graph is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gclbench.graph import Graph


@dataclass(frozen=True)
class NoTask:
    """Holds out nothing, needs no labels and measures nothing.

    Attributes:
        items: kind of the graph's items.
    """

    hides: ClassVar[bool] = False

    items: str = "nodes"

    def split(self, graph: Graph, rng: Any) -> None:
        """Nothing is held out."""

    def hide(self, graph: Graph, split: None) -> Graph:
        """The graph as it is."""
        return graph
