from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from gclbench.tasks.linear_probe import fit_linear_probe

GRID = [2.0**e for e in range(-10, 11, 2)]


def draw(
    classes: int, n: int = 120, d: int = 6, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, 2 * n)
    x = rng.normal(size=(classes, d))[y] + rng.normal(size=(2 * n, d))
    return x[:n], y[:n], x[n:], y[n:]


@pytest.mark.parametrize("classes", [2, 5])
def test_the_kept_model_is_sklearns_fit_on_the_training_rows_with_the_best_c(classes: int) -> None:
    x, y, x_val, y_val = draw(classes)
    probe = fit_linear_probe(x, y, x_val, y_val, GRID, tolerance=1e-8)
    cold = {C: LogisticRegression(C=C, max_iter=5000, tol=1e-8).fit(x, y) for C in GRID}
    scores = {C: model.score(x_val, y_val) for C, model in cold.items()}
    best = min(C for C in GRID if scores[C] == max(scores.values()))
    assert (probe.C, probe.val_accuracy) == (best, pytest.approx(scores[best]))
    np.testing.assert_allclose(probe.weights, cold[best].coef_, atol=1e-4)
    np.testing.assert_allclose(probe.bias, cold[best].intercept_, atol=1e-4)
    np.testing.assert_array_equal(probe.predict(x_val), cold[best].predict(x_val))
    assert probe.unconverged == 0


def test_ties_go_to_the_smallest_c_whatever_the_order_of_the_grid() -> None:
    x = np.array([[-5.0], [-4.0], [4.0], [5.0]])
    y = np.array([0, 0, 1, 1])
    assert fit_linear_probe(x, y, x, y, [16.0, 0.25, 1.0]).C == 0.25


def small(scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows so small that they need little regularisation."""
    x, y, x_val, y_val = draw(5)
    return x * scale, y, x_val * scale, y_val


def test_larger_values_follow_only_while_the_last_one_is_the_best() -> None:
    grid, further = [1.0, 4.0], [16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0]
    rows = small(0.02)
    scores = {
        C: LogisticRegression(C=C, max_iter=5000, tol=1e-8).fit(*rows[:2]).score(*rows[2:])
        for C in [*grid, *further]
    }
    assert scores[4.0] > scores[1.0]
    followed = [4.0]
    for C in further:
        if scores[C] <= scores[followed[-1]]:
            break
        followed.append(C)
    assert 1 < len(followed) < 1 + len(further)
    found = fit_linear_probe(*rows, grid, tolerance=1e-8, further=further)
    assert (found.C, found.val_accuracy) == (followed[-1], pytest.approx(scores[followed[-1]]))
    capped = fit_linear_probe(*rows, grid, tolerance=1e-8, further=further[:1])
    assert capped.C == 16.0
    short = [
        fit_linear_probe(*rows, [C], max_iter=1, tolerance=1e-12, further=further[:1]).unconverged
        for C in grid
    ]
    assert short == [2, 2]


def test_a_choice_within_the_grid_is_as_without_larger_values() -> None:
    rows = draw(5)
    plain = fit_linear_probe(*rows, GRID)
    assert GRID[0] < plain.C < GRID[-1]
    found = fit_linear_probe(*rows, GRID, further=[2.0**12])
    assert found.C == plain.C and found.unconverged == plain.unconverged
    np.testing.assert_array_equal(found.weights, plain.weights)


def test_classes_that_training_lacks_count_as_wrong() -> None:
    x = np.array([[-5.0], [-4.0], [4.0], [5.0]])
    probe = fit_linear_probe(x, np.array([3, 3, 8, 8]), x, np.array([3, 3, 8, 1]), [1.0])
    assert probe.val_accuracy == 0.75
    assert probe.predict(x).tolist() == [3, 3, 8, 8]


def test_fits_that_stop_early_are_counted_and_never_silent() -> None:
    x, y, x_val, y_val = draw(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        probe = fit_linear_probe(x, y, x_val, y_val, [1.0, 1024.0], max_iter=1)
    assert probe.unconverged == 2


def test_other_warnings_reach_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    class Noisy(LogisticRegression):
        def fit(self, x, y):
            warnings.warn("something else", UserWarning, stacklevel=2)
            return super().fit(x, y)

    monkeypatch.setattr("sklearn.linear_model.LogisticRegression", Noisy)
    x, y, x_val, y_val = draw(2)
    with pytest.warns(UserWarning, match="something else"):
        probe = fit_linear_probe(x, y, x_val, y_val, [1.0])
    assert probe.unconverged == 0


def test_input_that_allows_no_choice_is_refused() -> None:
    x, y, x_val, y_val = draw(2)
    with pytest.raises(ValueError, match="two classes or more among the training rows; found 1"):
        fit_linear_probe(x, np.zeros_like(y), x_val, y_val, GRID)
    with pytest.raises(
        ValueError,
        match="C is chosen on validation rows from a grid; found 0 rows and 11 values of C",
    ):
        fit_linear_probe(x, y, x_val[:0], y_val[:0], GRID)
    with pytest.raises(ValueError, match="found 120 rows and 0 values of C"):
        fit_linear_probe(x, y, x_val, y_val, [])
