"""`method=ending`, which ends as its setting says."""

from __future__ import annotations

import itertools
import math
import os
import signal
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from torch import Tensor
from torch_geometric.data import Data

from gclbench.component.settings import OneOf
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.records import Store
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

SMALL = ("dataset=sbm", "dataset.nodes=60", "dataset.classes=2", "dataset.features=6")


@dataclass(frozen=True)
class Ending:
    """A method that ends as it is told; `interrupt` from its second fit on."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    fits: ClassVar[Any] = itertools.count()

    how: Annotated[
        str,
        OneOf(
            "ok",
            "diverge",
            "memory",
            "raise",
            "slow",
            "unsupported",
            "interrupt",
            "terminate",
            "tensor",
        ),
    ] = "ok"

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        match self.how:
            case "diverge":
                watch(1, 2, math.inf)
            case "memory":
                raise MemoryError
            case "raise":
                raise RuntimeError("it broke")
            case "slow":
                watch(1, 2, 0.0)
            case "unsupported":
                raise Unsupported("not for this graph")
            case "tensor":
                return graph.x
            case "interrupt":
                if next(type(self).fits):
                    raise KeyboardInterrupt
            case "terminate":
                os.kill(os.getpid(), signal.SIGTERM)
        return Embedding(graph.x)


def records(folder: str = "runs") -> list[Any]:
    return list(Store(folder).scan())
