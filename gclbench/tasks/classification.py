"""Node classification: a linear probe on the frozen embedding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor
from torch.nn.functional import cross_entropy

from gclbench.component.registry import TASKS
from gclbench.component.settings import Count, OneOf, Positive
from gclbench.data.splits import Split, public, pygcn, random_10_10_80
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported, without_labels
from gclbench.tasks.embedding_rows import embedding_rows, standardised
from gclbench.tasks.linear_probe import LinearProbe, fit_linear_probe
from gclbench.tasks.scores import Scores
from gclbench.training.streams import Streams

# 2^-10 … 2^10 in factors of four: validation accuracy changes little in between.
C_GRID = tuple(2.0**exponent for exponent in range(-10, 11, 2))
FURTHER = tuple(2.0**exponent for exponent in range(12, 21, 2))
"""Values of C that follow for as long as each is better than all before."""
PARTS = ("train", "val", "test")


@TASKS.register("classification")
@dataclass(frozen=True)
class Classification:
    """Node classification by logistic regression: accuracy, micro-F1, macro-F1.

    C is chosen by validation accuracy from 2^-10, 2^-8, …, 2^10; of equal ones the smallest. Where
    2^10 is the best, 2^12, 2^14, … follow for as long as each is better, 2^20 at most. The model
    that is tested was fitted on the training nodes with that C, and is not fitted again with the
    validation nodes. Test labels are read once, for the final scores. A method that is itself a
    classifier (gcn, label_propagation) is measured by its own class scores, without a probe.

    Attributes:
        protocol: "random_10_10_80" draws a split per seed; "public" takes the dataset's own masks;
            "pygcn" is another split of Cora, which MVGRL's published numbers are on
            (docs/sources.md).
        normalize: "l2" scales rows to unit length, "standardize" gives every column zero mean and
            unit variance over the training rows, "none" leaves the rows, "auto" is "l2" for
            embeddings with cosine geometry and "none" otherwise.
        max_iter: L-BFGS iterations per value of C.
        tolerance: L-BFGS stops when no entry of the gradient of the mean loss is larger.
    """

    version: ClassVar[str] = "1"
    items: ClassVar[str] = "nodes"
    hides: ClassVar[bool] = False

    protocol: Annotated[str, OneOf("random_10_10_80", "public", "pygcn")] = "random_10_10_80"
    normalize: Annotated[str, OneOf("auto", "l2", "standardize", "none")] = "auto"
    max_iter: Count = 1000
    tolerance: Positive = 1e-5

    def split(self, graph: Graph, rng: Streams) -> Split:
        """Training, validation and test nodes, from the stream `split`, the public masks or Cora's
        file.

        Raises:
            Unsupported: the graph has no labels, fewer than ten labelled nodes, no public masks
                or not Cora where those are asked for, or training nodes of one class only.
        """
        if graph.y is None:
            raise Unsupported(
                f"classification needs labels, and '{graph.name}' has none;"
                " try task=link_prediction, with a method that learns without labels"
            )
        labels = graph.y.numpy()
        split = {
            "random_10_10_80": lambda: random_10_10_80(labels, rng.numpy("split")),
            "public": lambda: public(graph, rng.seed),
            "pygcn": lambda: pygcn(graph),
        }[self.protocol]()
        if len(np.unique(labels[split.parts["train"]])) < 2:
            several = len(np.unique(labels[labels >= 0])) > 1
            raise Unsupported(
                "classification needs two classes or more among the training nodes, and all"
                f" {len(split.parts['train'])} of the split {split.protocol} of '{graph.name}' have"
                f" the same; try another {'seed or ' * several}dataset"
            )
        return split

    def hide(self, graph: Graph, split: Split) -> Graph:
        """The graph itself: labels are withheld through `labels`, edges and features are all
        visible."""
        return graph

    def labels(self, graph: Graph, split: Split) -> Tensor:
        """n labels: the class at training nodes, −1 at all others."""
        visible = torch.full((graph.items,), -1, dtype=torch.long)
        train = torch.from_numpy(split.parts["train"])
        visible[train] = graph.y[train]
        return visible

    def validation(self, graph: Graph, split: Split) -> Callable[[Embedding], float]:
        """`val_accuracy` of an embedding, as `evaluate` would find it, but with no C beyond 2^10.

        Of one with class scores, minus their mean cross-entropy on the validation nodes, which is
        finer. It holds the labels of the training and validation nodes only.

        Args:
            graph: as `hide` gives it.
        """
        train, val = (split.parts[part] for part in PARTS[:2])
        labels, bare = graph.y.numpy(), without_labels(graph)
        y_train, y_val = labels[train], labels[val]

        def score(embedding: Embedding) -> float:
            if embedding.scores is not None:
                own = class_scores(embedding.scores, bare)[val]
                return -float(cross_entropy(own, torch.from_numpy(y_val)))
            z = embedding_rows(embedding, bare, self.normalize, sparse=True)
            x_train, x_val = self._scaled(z[train], z[val])
            return self._probe(x_train, y_train, x_val, y_val, further=()).val_accuracy

        return score

    def evaluate(self, embedding: Embedding, graph: Graph, split: Split, rng: Streams) -> Scores:
        """Scores of the probe, or of the method's own class scores, on the test nodes.

        Returns:
            accuracy, micro_f1 (equal to it, as every node has one label) and macro_f1 (over the
            classes that are true or predicted for some test node) on the test nodes; val_accuracy;
            C, the chosen one; unconverged, the number of fits that stopped at max_iter. In
            place of the last two own_scores (1) where the method's own class scores are read.
            They are degenerate where one class is predicted for all of several classes; their
            floor is the majority class of the training nodes.

        Raises:
            ValueError: the embedding has the wrong number of rows, or class scores the wrong number
                of columns, or one is not finite.
        """
        z = embedding_rows(embedding, graph, self.normalize, sparse=True)
        labels = graph.y.numpy()
        train, val, test = (split.parts[part] for part in PARTS)
        if embedding.scores is not None:
            own = class_scores(embedding.scores, graph).argmax(dim=1).numpy()
            predicted = own[test]
            chosen = {
                "val_accuracy": float((own[val] == labels[val]).mean()),
                "own_scores": 1.0,
            }
        else:
            x_train, x_val, x_test = self._scaled(z[train], z[val], z[test])
            probe = self._probe(x_train, labels[train], x_val, labels[val])
            predicted = probe.predict(x_test)
            chosen = {
                "val_accuracy": probe.val_accuracy,
                "C": probe.C,
                "unconverged": float(probe.unconverged),
            }
        truth = labels[test]
        classes, sizes = np.unique(labels[train], return_counts=True)
        constant = bool((predicted == predicted[0]).all())
        return Scores(
            {**_agreement(truth, predicted), **chosen},
            degenerate=(
                (f"every test node is predicted to be of class {predicted[0]}",)
                if constant and len(np.unique(truth)) > 1
                else ()
            ),
            floor=_agreement(truth, np.full(len(truth), classes[sizes.argmax()])),
        )

    def rows(self, embedding: Embedding, graph: Graph) -> np.ndarray:
        """The rows of all nodes, n×d, scaled as the probe sees them, but by all nodes."""
        z = embedding_rows(embedding, graph, self.normalize)
        return standardised(z) if self.normalize == "standardize" else z

    def _scaled(self, train: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
        """The rows of the parts; by the training rows' mean and deviation where asked.

        Raises:
            Unsupported: to standardise sparse rows is asked for.
        """
        parts = [train.astype(np.float64), *others]
        if self.normalize != "standardize":
            return parts
        if issparse(train):
            raise Unsupported(
                "task.classification.normalize=standardize makes sparse rows dense;"
                " task.classification.normalize=l2 or none leaves them sparse"
            )
        mean, deviation = parts[0].mean(axis=0), parts[0].std(axis=0)
        # A column that is constant over the training rows says nothing; dividing by 1 keeps it
        # finite.
        deviation[deviation == 0] = 1
        return [(x - mean) / deviation for x in parts]

    def _probe(
        self,
        x_train: np.ndarray,
        y_train: np.ndarray,
        x_val: np.ndarray,
        y_val: np.ndarray,
        further: Sequence[float] = FURTHER,
    ) -> LinearProbe:
        return fit_linear_probe(
            x_train, y_train, x_val, y_val, C_GRID, self.max_iter, self.tolerance, further
        )


def class_scores(scores: Tensor, graph: Graph) -> Tensor:
    """The class scores of a method (n×K) on the CPU, float32.

    Raises:
        ValueError: they are not a column for each of the graph's K classes, or not finite.
    """
    found = scores.detach().to(device="cpu", dtype=torch.float32)
    if found.shape[1] != graph.classes:
        raise ValueError(
            f"the class scores have {found.shape[1]} columns, and '{graph.name}' has"
            f" {graph.classes} classes; a method's Embedding(z, scores=…) takes a column for each"
        )
    if not bool(torch.isfinite(found).all()):
        raise ValueError("the class scores hold NaN or infinite values")
    return found


def _agreement(truth: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    from sklearn.metrics import accuracy_score, f1_score

    return {
        "accuracy": float(accuracy_score(truth, predicted)),
        "micro_f1": float(f1_score(truth, predicted, average="micro")),
        "macro_f1": float(f1_score(truth, predicted, average="macro", zero_division=0.0)),
    }


@TASKS.register("classification_public")
@dataclass(frozen=True)
class ClassificationPublic(Classification):
    """Node classification on the dataset's own masks; recorded as task=classification.

    `task=[classification,classification_public]` evaluates one embedding under both protocols. The
    second run is the same as that of
    `task=classification task.classification.protocol=public`.
    """

    recorded_as: ClassVar[str] = "classification"

    protocol: Annotated[str, OneOf("public")] = "public"
