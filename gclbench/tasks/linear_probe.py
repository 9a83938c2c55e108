"""The linear probe: logistic regression on frozen rows; C is chosen on validation rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class LinearProbe:
    """A fitted probe.

    Attributes:
        classes: the K classes of the training rows, ascending.
        weights: float64, K×d (1×d for two classes).
        bias: float64, K (1 for two classes).
        C: the chosen inverse regularisation strength.
        val_accuracy: its accuracy on the validation rows, a fraction.
        unconverged: how many fits, also beyond the grid, stopped before the tolerance was reached.
    """

    classes: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    C: float
    val_accuracy: float
    unconverged: int

    def predict(self, x: np.ndarray) -> np.ndarray:
        """The likeliest class of every row of `x` (n×d)."""
        return _likeliest(x, self.classes, self.weights, self.bias)


def fit_linear_probe(
    x_train: np.ndarray,
    y_train: np.ndarray,
    x_val: np.ndarray,
    y_val: np.ndarray,
    grid: Sequence[float],
    max_iter: int = 1000,
    tolerance: float = 1e-5,
    further: Sequence[float] = (),
) -> LinearProbe:
    """Fits one logistic regression per C on the training rows and keeps the best on the validation
    rows.

    Each minimises ‖W‖²/2 + C Σ_i cross-entropy_i (multinomial; for two classes the logistic loss)
    with L-BFGS, in ascending order of C, each started from the solution before it. Ties in
    validation accuracy go to the smallest C, the strongest regularisation. Where the largest C of
    the grid is the best, those of `further` follow for as long as each is better than all before:
    rows of small numbers need little regularisation. The kept model has seen
    training rows only: it is not fitted again with the validation rows.

    Args:
        x_train: n×d, an array or SciPy's csr matrix; y_train: n classes, at least two distinct.
        x_val: m×d; y_val: m classes; classes that training rows lack are allowed and count as
            wrong.
        grid: values of C.
        max_iter: L-BFGS iterations per fit.
        tolerance: a fit has converged when the largest entry of the gradient of the mean loss is
            below it.
        further: values of C above the grid's, ascending.

    Raises:
        ValueError: no training or validation rows, fewer than two training classes, or an empty
            grid.
    """
    from sklearn.linear_model import LogisticRegression

    classes = np.unique(y_train)
    if len(classes) < 2:
        raise ValueError(
            "logistic regression needs two classes or more among the training rows;"
            f" found {len(classes)}"
        )
    if not len(y_val) or not len(grid):
        raise ValueError(
            f"C is chosen on validation rows from a grid; found {len(y_val)} rows and {len(grid)}"
            " values of C"
        )
    # scikit-learn would convert to float64 again for every C.
    x_train, x_val = x_train.astype(np.float64), x_val.astype(np.float64)
    model = LogisticRegression(solver="lbfgs", max_iter=max_iter, tol=tolerance, warm_start=True)
    best, chosen, last, unconverged = -1.0, 0.0, 0.0, 0
    weights = bias = np.empty(0)
    grid = sorted(grid)
    for place, C in enumerate([*grid, *further]):
        if place >= len(grid) and chosen != last:
            break
        last = C
        model.set_params(C=C)
        unconverged += _fit(model, x_train, y_train)
        accuracy = float(
            np.mean(_likeliest(x_val, classes, model.coef_, model.intercept_) == y_val)
        )
        if accuracy > best:
            # The next fit starts from these arrays and writes its solution into the model.
            best, chosen, weights, bias = (
                accuracy,
                float(C),
                model.coef_.copy(),
                model.intercept_.copy(),
            )
    return LinearProbe(classes, weights, bias, chosen, best, unconverged)


def _fit(model: Any, x: np.ndarray, y: np.ndarray) -> bool:
    """Fits in place; True when the solver stopped early. Other warnings go on to the caller."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(x, y)
    early = False
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            early = True
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return early


def _likeliest(
    x: np.ndarray, classes: np.ndarray, weights: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    logits = x @ weights.T + bias
    if len(classes) == 2:
        return classes[(logits[:, 0] > 0).astype(np.int64)]
    return classes[logits.argmax(axis=1)]
