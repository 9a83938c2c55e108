"""LP: label propagation (Zhu, Ghahramani and Lafferty 2003), by torch_geometric's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import one_hot
from torch_geometric.nn.models import LabelPropagation as Propagation

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.labelled import classes_without_node, labelled_nodes
from gclbench.methods.supervised import unseen_classes
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

LEAST = 1e-30
"""A share of a class counts as at least so much, so that its logarithm is finite."""


@METHODS.register("label_propagation")
@dataclass(frozen=True)
class LabelPropagation:
    """Label propagation: each node takes the mean of its neighbours' shares of the classes.

    It is a weighted mean where edges have weights.

    Training nodes keep their label: the limit is the harmonic function of the graph. Features have
    no part in it. A node that no training node reaches has no share of any class; it is given the
    classes' shares of the training nodes.

    Attributes:
        steps: of the propagation.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "it trains nothing"

    steps: Count = 1000

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """Shares of the classes (N×K), and their logarithms as class scores.

        Raises:
            Unsupported: when the task reveals no labels, or the graph has no edges.
        """
        train = labelled_nodes(labels, type(self).__name__).to(labels.device)
        if not graph.edge_index.shape[1]:
            raise Unsupported(f"label_propagation walks along edges, and '{graph.name}' has none")
        known = one_hot(labels[train], graph.classes).to(torch.float32)
        start = known.new_zeros(graph.num_nodes, graph.classes)
        start[train] = known
        target, weight = graph.edge_index[1], graph.edge_weight
        wide = None if weight is None else weight.double()
        degree = torch.bincount(target, wide, minlength=graph.num_nodes)
        share = 1 / degree[target].to(torch.float32)
        shares = Propagation(self.steps, alpha=1.0)(
            start,
            graph.edge_index,
            edge_weight=share if weight is None else share * weight,
            post_step=lambda found: found.index_copy(0, train, known),
        )
        total = shares.sum(dim=1, keepdim=True)
        lost = total[:, 0] == 0
        shares = torch.where(lost[:, None], known.mean(dim=0), shares / total.clamp(min=LEAST))
        findings = {"unreached": int(lost.sum())}
        return Embedding(
            shares,
            scores=shares.clamp(min=LEAST).log(),
            **unseen_classes(classes_without_node(labels, graph.classes), findings),
        )
