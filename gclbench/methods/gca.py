"""GCA: graph contrastive learning with adaptive augmentation (Zhu et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gclbench.component.registry import METHODS
from gclbench.component.settings import OneOf
from gclbench.contrast.centrality import CENTRALITIES, capped, column_dropping, edge_dropping
from gclbench.graph.carrier import Data
from gclbench.methods.drops import Drops
from gclbench.methods.two_view import TwoView
from gclbench.nn.sparse import DENSE_FROM, count, normalised_rows


@METHODS.register("gca")
@dataclass(frozen=True)
class Gca(TwoView):
    """GCA: GRACE whose views drop edges and features of unimportant nodes more often.

    These are edges to unimportant nodes, and features that unimportant nodes have.

    Attributes:
        centrality: what makes a node important: `degree`, `pagerank` or `eigenvector`.
    """

    centrality: Annotated[str, OneOf(*CENTRALITIES)] = "degree"

    def drops(self, graph: Data) -> tuple[Drops, Drops]:
        """Probabilities per edge entry and feature column, of which `edge_drop` and `feature_drop`
        are the means (before the cap)."""
        measure = CENTRALITIES[self.centrality]
        centrality = measure(graph.edge_index, len(graph.x), graph.edge_weight)
        edges = edge_dropping(centrality, graph.edge_index)
        x = normalised_rows(graph.x) if self.normalize_features else graph.x
        columns = column_dropping(centrality, x, binary=count(x) < DENSE_FROM * x.numel())
        first, second = (
            Drops(capped(edges, edge), capped(columns, column))
            for edge, column in zip(self.edge_drop, self.feature_drop, strict=True)
        )
        return first, second
