"""Graph classification: cross-validation of a support vector machine on embeddings of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
from torch import Tensor

from gclbench.component.registry import TASKS
from gclbench.component.settings import OneOf, Range
from gclbench.data.splits import Split, stratified_folds
from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported
from gclbench.tasks.classification import class_scores
from gclbench.tasks.embedding_rows import embedding_rows, standardised, standardises
from gclbench.tasks.scores import Scores
from gclbench.tasks.support_vectors import Fitted, classify
from gclbench.training.streams import Streams

C_GRID = tuple(10.0**exponent for exponent in range(-3, 4))


@TASKS.register("graph_classification")
@dataclass(frozen=True)
class GraphClassification:
    """Graph classification: stratified 10-fold cross-validation of a support vector machine.

    C is chosen from 10^-3, 10^-2, …, 10^3 by cross-validation within the training folds. A test
    fold is read once, for its scores. A run is one seed: a new training and new folds. A method
    that learns from labels is trained anew for each fold, on the labels of the other folds.

    Attributes:
        folds: of the cross-validation. inner_folds: of the training folds, for C.
        svm: `linear`, as M-Mix, InfoGraph and MVGRL have it, or `rbf`, as GraphCL and AUGCL have
            it. γ of `rbf` is 1 / (columns · variance of the training entries).
        normalize: "l2" scales rows to unit length, "standardize" gives every column zero mean and
            unit variance over the training folds, "none" leaves the rows, "auto" is "l2" for
            embeddings with cosine geometry and "standardize" otherwise.
    """

    version: ClassVar[str] = "2"
    items: ClassVar[str] = "graphs"
    hides: ClassVar[bool] = False

    folds: Annotated[int, Range(least=2)] = 10
    inner_folds: Annotated[int, Range(least=2)] = 5
    svm: Annotated[str, OneOf("linear", "rbf")] = "linear"
    normalize: Annotated[str, OneOf("auto", "l2", "standardize", "none")] = "auto"

    def split(self, graph: Graph, rng: Streams) -> Split:
        """The folds, from the stream `split`.

        Raises:
            Unsupported: no labels, one class only, or a class with fewer graphs than folds.
        """
        if graph.y is None:
            raise Unsupported(
                f"graph_classification needs labels, and '{graph.name}' has none; try"
                " task=similarity"
            )
        try:
            return stratified_folds(graph.y.numpy(), self.folds, rng.numpy("split"))
        except Unsupported as error:
            raise Unsupported(
                f"graph_classification of '{graph.name}': "
                + error.reason.replace("take folds=", "take task.graph_classification.folds=")
            ) from error

    def hide(self, graph: Graph, split: Split) -> Graph:
        """The graph itself: labels are withheld through `labels`; all graphs are visible."""
        return graph

    def labels(self, graph: Graph, split: Split) -> Tensor:
        """n times −1: no graph is for training in all folds."""
        return torch.full((graph.items,), -1, dtype=torch.long)

    def fold_labels(self, graph: Graph, split: Split) -> list[Tensor]:
        """For each fold n labels: the class of the graphs in the other folds, −1 at those that it
        tests and at those without a class."""
        found = []
        for test in split.parts.values():
            visible = graph.y.clone()
            visible[torch.from_numpy(test)] = -1
            found.append(visible)
        return found

    def evaluate(
        self, embedding: Embedding | Sequence[Embedding], graph: Graph, split: Split, rng: Streams
    ) -> Scores:
        """Scores over the folds.

        Args:
            embedding: one for all folds, or one for each fold, of a training on the others' labels.
                Of the latter the method's own class scores count where it has some.

        Returns:
            accuracy and macro_f1 (over the classes of each fold), means over the folds;
            accuracy_fold_std, the standard deviation of the folds' accuracies (ddof 1);
            unconverged, the number of fits that stopped early. For embeddings of a fold each with
            class scores of their own also svm_accuracy, that of the machine on the embeddings.
            They are degenerate where one class is predicted for a whole fold; their floor is the
            majority class of each fold's training graphs.

        Raises:
            ValueError: an embedding has the wrong number of rows or is not finite.
        """
        labels, folds = graph.y.numpy(), list(split.parts.values())
        fitted = self._fitted(embedding, graph, split, rng)
        accuracy, macro_f1 = _scores(labels, folds, [one.predicted for one in fitted])
        own = _own(embedding, graph, folds)
        metrics = {"unconverged": float(sum(one.unconverged for one in fitted))}
        if own is not None:
            metrics["svm_accuracy"] = float(np.mean(accuracy))
            accuracy, macro_f1 = _scores(labels, folds, own)
        predicted = [one.predicted for one in fitted] if own is None else own
        constant = sum(bool((each == each[0]).all()) for each in predicted)
        majority, spread = _scores(labels, folds, [_majority(labels, test) for test in folds])
        return Scores(
            {
                "accuracy": float(np.mean(accuracy)),
                "macro_f1": float(np.mean(macro_f1)),
                "accuracy_fold_std": float(np.std(accuracy, ddof=1)),
                **metrics,
            },
            degenerate=(
                (f"one class is predicted for every graph in {constant} of {len(folds)} folds",)
                if constant
                else ()
            ),
            floor={"accuracy": float(np.mean(majority)), "macro_f1": float(np.mean(spread))},
        )

    def rows(self, embedding: Embedding, graph: Graph) -> np.ndarray:
        """The rows of all graphs, n×d, scaled as the machines see them, but by all graphs."""
        z = embedding_rows(embedding, graph, self.normalize)
        return standardised(z) if standardises(self.normalize, embedding.geometry) else z

    def _fitted(
        self, embedding: Embedding | Sequence[Embedding], graph: Graph, split: Split, rng: Streams
    ) -> list[Fitted]:
        """The machine of every fold."""
        labels = graph.y.numpy()
        each = [embedding] * self.folds if isinstance(embedding, Embedding) else embedding
        found = []
        for number, (one, test) in enumerate(zip(each, split.parts.values(), strict=True)):
            z = embedding_rows(one, graph, self.normalize).astype(np.float64)
            train = np.setdiff1d(np.flatnonzero(labels >= 0), test)
            x_train, x_test = self._scaled(z[train], z[test], one.geometry)
            found.append(
                classify(
                    x_train,
                    labels[train],
                    x_test,
                    self.svm,
                    C_GRID,
                    self.inner_folds,
                    rng.integer(f"inner folds {number}"),
                )
            )
        return found

    def _scaled(
        self, train: np.ndarray, test: np.ndarray, geometry: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows scaled by the training rows' mean and deviation, where asked."""
        if not standardises(self.normalize, geometry):
            return train, test
        mean, deviation = train.mean(axis=0), train.std(axis=0)
        # A column that is constant over the training rows says nothing. The bound is finer than
        # `standardised` has it: another one would move recorded numbers.
        deviation[deviation <= 1e-12 * np.abs(mean)] = np.inf
        return (train - mean) / deviation, (test - mean) / deviation


def _own(
    embedding: Embedding | Sequence[Embedding], graph: Graph, folds: list[np.ndarray]
) -> list[np.ndarray] | None:
    """The methods' own classes of the folds; None where they have no scores, or were not trained
    for a fold each."""
    if isinstance(embedding, Embedding):
        return None
    found = [
        class_scores(one.scores, graph).argmax(dim=1).numpy()[test]
        for one, test in zip(embedding, folds, strict=True)
        if one.scores is not None
    ]
    return found or None


def _majority(labels: np.ndarray, test: np.ndarray) -> np.ndarray:
    """The largest class of the labelled graphs outside a fold, for each graph of the fold."""
    train = np.setdiff1d(np.flatnonzero(labels >= 0), test)
    classes, sizes = np.unique(labels[train], return_counts=True)
    return np.full(len(test), classes[sizes.argmax()])


def _scores(
    labels: np.ndarray, folds: list[np.ndarray], predicted: list[np.ndarray]
) -> tuple[list[float], list[float]]:
    """Accuracy and macro-F1 of every fold."""
    from sklearn.metrics import accuracy_score, f1_score

    pairs = [(labels[test], found) for test, found in zip(folds, predicted, strict=True)]
    return (
        [float(accuracy_score(*pair)) for pair in pairs],
        [float(f1_score(*pair, average="macro", zero_division=0.0)) for pair in pairs],
    )
