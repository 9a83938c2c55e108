"""Histograms of a graph's node labels or degrees: controls without any structure beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import OneOf
from gclbench.embedding import Embedding
from gclbench.graph.carrier import Data
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

LAST_BIN = 64
"""Degrees from this one on share a bin."""


@METHODS.register("histogram")
@dataclass(frozen=True)
class Histogram:
    """Histogram of each graph's node labels or degrees: a control for collections of graphs.

    Attributes:
        of: `features` adds up the features of the graph's nodes: how often each label occurs, where
            they are one-hot. `degrees` counts nodes by degree, those of 64 and more together.
    """

    version: ClassVar[str] = "1"
    items: ClassVar[tuple[str, ...]] = ("graphs",)
    needs_labels: ClassVar[bool] = False
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "it trains nothing"

    of: Annotated[str, OneOf("features", "degrees")] = "features"

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """Counts (G×bins), not trained on anything."""
        return Embedding(self.counts(graph), encode=self.counts)

    def counts(self, graph: Data) -> Tensor:
        """The histogram of every graph of a collection (G×bins)."""
        from torch_geometric.nn import global_add_pool

        if self.of == "features":
            return global_add_pool(graph.x, graph.graph_of, graph.items)
        degrees = torch.bincount(graph.edge_index[0], minlength=graph.num_nodes)
        bins = graph.graph_of * (LAST_BIN + 1) + degrees.clamp(max=LAST_BIN)
        flat = torch.bincount(bins, minlength=graph.items * (LAST_BIN + 1))
        return flat.view(graph.items, -1).float()
