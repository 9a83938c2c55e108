"""Runs of the tests in this folder: small graphs, methods that end as asked or keep what they
see."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gclbench.component.settings import OneOf
from gclbench.config.validation import experiment_of
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.launch.execution import execute
from gclbench.records import Record
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

SMALL = ("dataset=sbm", "dataset.nodes=80", "dataset.classes=2", "dataset.features=8")


ENDINGS = (
    "fine",
    "nan_loss",
    "nan_embedding",
    "memory",
    "gpu_memory",
    "allocator",
    "error",
    "long",
    "unsupported",
    "exit",
    "rows",
    "sleep",
)


@dataclass(frozen=True)
class Unruly:
    """A method that ends as it is told."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False

    ending: Annotated[str, OneOf(*ENDINGS)] = "fine"

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        match self.ending:
            case "nan_loss":
                watch(1, 10, 0.5)
                watch(2, 10, math.nan)
            case "nan_embedding":
                return Embedding(graph.x * math.inf)
            case "memory":
                raise MemoryError("no room")
            case "gpu_memory":
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
            case "allocator":
                raise RuntimeError(
                    "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"
                    " allocate 8 bytes"
                )
            case "error":
                raise ZeroDivisionError("division of a cake\nby nobody")
            case "long":
                watch(1, 10, 0.5)
            case "unsupported":
                raise Unsupported("this method wants hypergraphs")
            case "exit":
                raise SystemExit(3)
            case "rows":
                return Embedding(graph.x[:-1])
            case "sleep":
                time.sleep(60)
        return Embedding(graph.x)


@dataclass(frozen=True)
class Spy:
    """A method that keeps what it is given."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    seen: ClassVar[list[tuple[Data, Tensor]]] = []

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        type(self).seen.append((graph, labels))
        return Embedding(graph.x)


@dataclass(frozen=True)
class LabelledSpy(Spy):
    """The same, semi-supervised."""

    needs_labels: ClassVar[bool] = True


@dataclass(frozen=True)
class JudgedSpy(Spy):
    """The same, choosing by the validation score."""

    reads_validation: ClassVar[bool] = True


def run(*overrides: str) -> dict[str, Record]:
    """Runs a command; records by task (of one seed)."""
    small = () if "dataset=custom" in overrides else SMALL
    records = execute(experiment_of([*small, "device=cpu", *overrides]))
    return {f"{record.name('task')}": record for record in records}


def write_graph(path: Path, labelled: bool = True, masked: bool = True) -> Path:
    """60 nodes on a ring with chords, two classes, a public split."""
    nodes = np.arange(60)
    edges = np.concatenate([np.stack([nodes, (nodes + step) % 60]) for step in (1, 2, 7)], axis=1)
    arrays: dict[str, Any] = {
        "x": np.random.default_rng(0).normal(size=(60, 5)),
        "edge_index": edges,
    }
    if labelled:
        arrays["y"] = nodes % 2
    if masked:
        arrays |= {
            "train_mask": nodes < 20,
            "val_mask": (nodes >= 20) & (nodes < 30),
            "test_mask": nodes >= 30,
        }
    np.savez(path, **arrays)
    return path
