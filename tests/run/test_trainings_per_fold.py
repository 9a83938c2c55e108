"""Trainings of a fold each: what one record and one progress say of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from own_collections import save_cycles
from torch import Tensor
from torch_geometric.data import Data

from gclbench.config.validation import experiment_of
from gclbench.embedding import Embedding
from gclbench.launch.attempt import perform
from gclbench.launch.plan import expand
from gclbench.records import Record, Store
from gclbench.training.streams import Streams
from gclbench.training.watch import Reporter, Watch


@dataclass(frozen=True)
class Collapsing:
    """A method that learns from labels, and whose first and second training collapse."""

    version: ClassVar[str] = "1"
    items: ClassVar[tuple[str, ...]] = ("graphs",)
    needs_labels: ClassVar[bool] = True
    trained: ClassVar[list[Tensor]] = []

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        for iteration in (1, 2):
            watch(iteration, 2, 0.5)
        self.trained.append(labels)
        match len(self.trained):
            case 1:
                return Embedding(torch.zeros(24, 2))
            case 2:
                return Embedding(torch.ones(24, 2))
        return Embedding(torch.arange(48.0).reshape(24, 2))


@pytest.fixture(autouse=True)
def registered(register_method: Callable[[str, type], None]) -> None:
    register_method("collapsing", Collapsing)
    Collapsing.trained.clear()
    save_cycles("graphs.npz")


def ran(report: Reporter | None = None) -> Record:
    words = ["method=collapsing", "dataset=custom_graphs", "dataset.path=graphs.npz", "device=cpu"]
    task = ["task=graph_classification", "task.graph_classification.folds=3"]
    (unit,) = expand([experiment_of([*words, *task])], Store("runs")).units
    assert perform(unit, "runs", report) == {unit.ids[0]: "ok"}
    record = Store("runs").read(unit.ids[0])
    assert record is not None and len(Collapsing.trained) == 3
    return record


def test_what_collapsed_in_any_fold_is_told() -> None:
    found = ran().degenerate
    assert found[:2] == [
        "every row of the embedding is zero",
        "all rows of the embedding are alike",
    ]
    assert not any("row" in sentence for sentence in found[2:])


def test_the_progress_is_that_of_all_folds() -> None:
    heard: list[tuple[int, int]] = []
    ran(lambda done, total, loss: heard.append((done, total)))
    assert heard == [(done, 6) for done in range(1, 7)]
