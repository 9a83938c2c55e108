"""Embeddings that tell nothing apart: zeros, and rows without entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from small_runs import SMALL
from torch import Tensor
from torch_geometric.data import Data

from gclbench.config.validation import experiment_of
from gclbench.embedding import Embedding
from gclbench.launch.execution import execute
from gclbench.records import Record
from gclbench.run.collapse import collapse_of
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


@dataclass(frozen=True)
class Columnless:
    """A method that finds nothing."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        return Embedding(graph.x[:, :0])


def records(*words: str) -> list[Record]:
    return execute(experiment_of(["device=cpu", *words]))


def test_a_kernel_that_finds_nothing_in_any_graph_is_degenerate() -> None:
    """Single nodes have no paths."""
    np.savez(
        "single.npz",
        x=np.ones((30, 1)),
        edge_index=np.empty((2, 0), dtype=int),
        graph_of=np.arange(30),
        y=np.arange(30) % 2,
    )
    method = ("method=graph_kernel", "method.kernel=shortest_path")
    found = records(*method, "dataset=custom_graphs", "dataset.path=single.npz")
    assert {record.name("task") for record in found} == {"graph_classification", "graph_clustering"}
    for record in found:
        assert record.ok, record.reason
        assert record.degenerate[0] == "every row of the embedding is zero"


def test_an_embedding_without_columns_is_unsupported(
    register_method: Callable[[str, type], None],
) -> None:
    register_method("columnless", Columnless)
    found = records("method=columnless", *SMALL, "task=[clustering,classification]")
    assert len(found) == 2
    for record in found:
        assert (record.status, record.reason) == (
            "unsupported",
            "the method's embedding has 80 rows and no columns, and tells nothing apart; choose"
            " another method, or other settings of it",
        )


def test_rows_of_zeros_are_told_where_there_are_several() -> None:
    assert collapse_of(Embedding(torch.zeros(5, 1))) == ("every row of the embedding is zero",)
    assert collapse_of(Embedding(torch.zeros(1, 1))) == ()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_alike_by_the_size_of_their_entries(scale: float, sparse: bool) -> None:
    """Neither are small rows alike because they are small, nor large ones apart by rounding."""

    def told(last: float) -> tuple[str, ...]:
        z = scale * torch.tensor([[1.0, 2.0], [1.0, 2.0], [1.0, last]])
        return collapse_of(Embedding(z.to_sparse_csr() if sparse else z))

    assert told(2.0 * (1 - 2e-6)) == ("all rows of the embedding are alike",)
    assert told(2.0 * (1 - 1e-4)) == ()
