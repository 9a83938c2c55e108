"""A support vector machine on frozen rows; C is chosen by cross-validation of the training rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gclbench.tasks import squared_hinge

PAIR_STEPS = 200_000
"""Of a fit with similarities, at most. `unconverged` counts those that stop there."""

NEGLIGIBLE = 1e-10
"""A direction whose singular value is below this share of the largest one is left out."""


@dataclass(frozen=True)
class Fitted:
    """What the machine says of the test rows.

    Attributes:
        predicted: a class for each.
        C: the chosen one.
        unconverged: how many fits stopped before they had converged.
    """

    predicted: np.ndarray
    C: float
    unconverged: int


def classify(
    x_train: np.ndarray,
    y_train: np.ndarray,
    x_test: np.ndarray,
    kernel: str,
    grid: Sequence[float],
    folds: int,
    seed: int,
) -> Fitted:
    """Fits on the training rows and predicts the test rows.

    C is the one with the largest mean accuracy over inner folds of the training rows, of equal ones
    the smallest; the machine is then fitted on all training rows.

    `linear` is liblinear's machine with the squared hinge, one class against the rest, brought to
    its minimum (`squared_hinge`). Rows of more columns than there are training rows are first
    turned into coordinates of the space that those span, which changes no solution. `rbf` is
    libsvm's: hinge, classes in pairs, on similarities that all fits share.

    Args:
        x_train: n×d, float64, finite; y_train: n classes, at least two. x_test: m×d.
        kernel: `linear`, or `rbf` with γ = 1 / (d · variance of all entries of x_train).
        grid: values of C.
        folds: inner folds; fewer where the smallest class has fewer rows, at least two.
        seed: of the inner folds.
    """
    smallest = int(np.unique(y_train, return_counts=True)[1].min())
    inner = max(2, min(folds, smallest))
    if kernel == "linear":
        return _linear(*_rows(x_train, x_test), y_train, sorted(grid), inner, seed)
    return _rbf(*_similarities(x_train, x_test), y_train, sorted(grid), inner, seed)


def _linear(
    own: np.ndarray, other: np.ndarray, y: np.ndarray, grid: list[float], folds: int, seed: int
) -> Fitted:
    """The machine on rows (n×d and m×d); each C starts where the one before it ended."""
    early = 0
    hits = np.zeros(len(grid))
    for train, held_out in _inner(folds, seed, y):
        rows, machine = squared_hinge.Rows(own[train]), None
        for place, C in enumerate(grid):
            machine = squared_hinge.fit(rows, y[train], C, machine)
            early += machine.unconverged
            hits[place] += np.mean(machine.predict(own[held_out]) == y[held_out])
    chosen = grid[_first_best(hits)]
    machine = squared_hinge.fit(squared_hinge.Rows(own), y, chosen)
    return Fitted(machine.predict(other), chosen, early + machine.unconverged)


def _first_best(scores: np.ndarray) -> int:
    """The place of the largest score; sums of the same shares in another order, which differ in
    their last bits, are equal."""
    return int(np.argmax(np.round(scores, 9)))


def _inner(folds: int, seed: int, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    from sklearn.model_selection import StratifiedKFold

    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*least populated class.*")
        return list(split.split(y, y))


def _rbf(
    own: np.ndarray, other: np.ndarray, y: np.ndarray, grid: list[float], folds: int, seed: int
) -> Fitted:
    """The machine on similarities (n×n and m×n)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    machine = SVC(kernel="precomputed", max_iter=PAIR_STEPS, cache_size=500)
    search = GridSearchCV(
        machine,
        {"C": grid},
        scoring="accuracy",
        cv=_inner(folds, seed, y),
        refit=lambda results: _first_best(results["mean_test_score"]),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(own, y)
    early = 0
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            early += 1
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return Fitted(search.predict(other), float(search.best_params_["C"]), early)


def _rows(x_train: np.ndarray, x_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows (n×d, m×d) in at most n coordinates, with the same inner products."""
    if x_train.shape[1] <= x_train.shape[0]:
        return x_train, x_test
    left, values, right = np.linalg.svd(x_train, full_matrices=False)
    kept = values > NEGLIGIBLE * values[0]
    if not kept.any():  # rows of zeros: an embedding that collapsed
        return x_train[:, :1], x_test[:, :1]
    return left[:, kept] * values[kept], x_test @ right[kept].T


def _similarities(x_train: np.ndarray, x_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """exp(−γ‖x − y‖²) of the training rows among themselves (n×n), and of the test rows with them
    (m×n)."""
    lengths = np.square(x_train).sum(axis=1)
    gamma = 1.0 / (x_train.shape[1] * (x_train.var() or 1.0))

    def similarities(x: np.ndarray) -> np.ndarray:
        apart = np.square(x).sum(axis=1)[:, None] + lengths - 2 * x @ x_train.T
        return np.exp(-gamma * np.maximum(apart, 0))

    return similarities(x_train), similarities(x_test)
