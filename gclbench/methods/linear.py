"""Linear: logistic regression on the features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.embedding import Embedding
from gclbench.graph.carrier import Data
from gclbench.methods.labelled import classes_without_node, labelled_nodes, unseen_classes
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


@METHODS.register("linear")
@dataclass(frozen=True)
class Linear:
    """Linear: logistic regression on the features as they are, or as `filter=…` makes them.

    The regression is task=classification's own, with C by the validation nodes. The embedding is
    that of `kmeans`, which other tasks take.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "it trains nothing but the task's own classifier"

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """x (N×F).

        Raises:
            Unsupported: when the task reveals no labels.
        """
        labelled_nodes(labels, METHODS.name_of(type(self)))
        return Embedding(graph.x, **unseen_classes(classes_without_node(labels, graph.classes), {}))
