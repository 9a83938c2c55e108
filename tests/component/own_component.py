"""A file with a method of one's own, and runs of it."""

from __future__ import annotations

from typing import Any

from gclbench.records import Store

SMALL = ["dataset=sbm", "dataset.nodes=60", "dataset.classes=2", "dataset.features=6"]
MINE = [*SMALL, "method=mine", "task=clustering", "device=cpu"]

SOURCE = '''"""My method."""

from dataclasses import dataclass
from typing import ClassVar

from scale_of_mine import SCALE

from gclbench.component.registry import METHODS
from gclbench.embedding import Embedding


@METHODS.register("mine")
@dataclass(frozen=True)
class Mine:
    """The features, scaled."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    width: int = 3

    def fit(self, graph, labels, rng, watch):
        return Embedding(graph.x[:, : self.width] * SCALE)
'''


def recorded() -> Any:
    (record,) = Store("runs").scan()
    return record
