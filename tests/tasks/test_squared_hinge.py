"""The machine with the squared hinge: its minimum, its certificate, its line search."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError, cho_factor
from scipy.optimize import minimize
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

from gclbench.tasks import squared_hinge
from gclbench.tasks.squared_hinge import Machine, Rows, _least_along, _newton_step, with_ones
from gclbench.tasks.support_vectors import classify


def data(n: int, d: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    y = (x[:, 0] + rng.standard_normal(n) > 0).astype(int)
    return x, y if classes == 2 else np.where(x[:, 1] > 0.7, 2, y)


def fit(x: np.ndarray, y: np.ndarray, C: float, start: Machine | None = None) -> Machine:
    return squared_hinge.fit(Rows(x), y, C, start)


def objective(w: np.ndarray, x: np.ndarray, s: np.ndarray, C: float) -> tuple[float, np.ndarray]:
    short = np.maximum(0, 1 - s * (x @ w))
    return w @ w / 2 + C * short @ short, w - 2 * C * x.T @ (s * short)


def dual(alpha: np.ndarray, x: np.ndarray, s: np.ndarray, C: float) -> float:
    """The Lagrangian's least value for the constraints' multipliers α."""
    span = x.T @ (alpha * s)
    return float(alpha.sum() - span @ span / 2 - alpha @ alpha / (4 * C))


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("n", "d"), [(80, 5), (30, 60)])
@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_the_minimum(n: int, d: int, classes: int, C: float) -> None:
    x, y = data(n, d, classes, seed=n + classes)
    machine = fit(x, y, C)
    assert machine.unconverged == 0
    assert machine.weights.shape == (1 if classes == 2 else 3, d + 1)
    for number, one in enumerate([1] if classes == 2 else [0, 1, 2]):
        s = np.where(y == one, 1.0, -1.0)
        rows = with_ones(x)
        w = machine.weights[number]
        value = objective(w, rows, s, C)[0]
        # No w is below the dual objective, at any α that is not negative.
        assert value - dual(2 * C * np.maximum(0, 1 - s * (rows @ w)), rows, s, C) <= 1e-9 * value
        other = minimize(objective, np.zeros(d + 1), (rows, s, C), "L-BFGS-B", jac=True)
        assert value <= other.fun * (1 + 1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_where_liblinear_converges_it_says_the_same(classes: int) -> None:
    x, y = data(120, 6, classes, seed=3)
    library = LinearSVC(C=0.1, dual=False, tol=1e-10, max_iter=5000).fit(x, y)
    machine = fit(x, y, 0.1)
    np.testing.assert_allclose(machine.weights[:, :-1], library.coef_, atol=1e-6)
    np.testing.assert_allclose(machine.weights[:, -1], library.intercept_, atol=1e-6)
    fresh = np.random.default_rng(9).standard_normal((500, 6))
    assert np.array_equal(machine.predict(fresh), library.predict(fresh))


def test_a_start_changes_no_minimum() -> None:
    x, y = data(90, 7, 3, seed=5)
    cold = fit(x, y, 100.0)
    warm = fit(x, y, 100.0, fit(x, y, 0.01))
    np.testing.assert_allclose(warm.weights, cold.weights, rtol=1e-4, atol=1e-5)
    again = fit(x, y, 100.0, cold)
    assert np.array_equal(again.weights, cold.weights)


def test_the_gap_to_the_dual_is_half_the_squared_gradient() -> None:
    x, y = data(40, 4, 2, seed=1)
    rows, s, C = with_ones(x), np.where(y == 1, 1.0, -1.0), 2.0
    w = np.random.default_rng(2).standard_normal(5)
    value, gradient = objective(w, rows, s, C)
    least = dual(2 * C * np.maximum(0, 1 - s * (rows @ w)), rows, s, C)
    assert value - least == pytest.approx(gradient @ gradient / 2)


def test_a_row_at_its_margin_counts_where_the_step_leads_inside() -> None:
    """−t + t²/2 + C·t² is least at t = 1 / (1 + 2C), and at 1 without the row."""
    found = _least_along(-1.0, 1.0, np.array([0.0]), np.array([1.0]), 2.0)
    assert found == pytest.approx(0.2)


@pytest.mark.parametrize("seed", range(8))
def test_the_step_is_the_best_along_its_direction(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, s, C = rng.standard_normal((25, 3)), rng.choice([-1.0, 1.0], 25), 10.0 ** (seed % 4 - 1)
    w = rng.standard_normal(3)
    step = -objective(w, x, s, C)[1] * 10.0 ** -rng.integers(0, 4)
    best = _least_along(w @ step, step @ step, 1 - s * (x @ w), -s * (x @ step), C)
    assert best > 0
    assert objective(w + best * step, x, s, C)[1] @ step == pytest.approx(
        0, abs=1e-8 * abs(objective(w, x, s, C)[1] @ step)
    )


def step_from(rows: Rows, inside: np.ndarray, s: np.ndarray, w: np.ndarray, C: float) -> np.ndarray:
    residual = np.where(inside, s - rows.x @ w, 0)
    return _newton_step(rows, inside, residual, w - 2 * C * rows.x.T @ residual, w, C)


@pytest.mark.parametrize("share", [0.1, 0.4, 0.8, 1.0])
@pytest.mark.parametrize("shape", [(8, 20), (20, 14), (60, 4)])
def test_a_step_ends_at_the_minimum_of_the_rows_inside(
    shape: tuple[int, int], share: float
) -> None:
    """Rows inside, fewer or more than columns, than rows outside; products kept or not."""
    rng = np.random.default_rng(0)
    rows, s, C = Rows(rng.standard_normal(shape)), rng.choice([-1.0, 1.0], shape[0]), 3.0
    inside = np.arange(shape[0]) < max(1, round(share * shape[0]))
    w = rng.standard_normal(shape[1] + 1)
    step = step_from(rows, inside, s, w, C)
    x, end = rows.x[inside], w + step
    np.testing.assert_allclose(end + 2 * C * x.T @ (x @ end - s[inside]), 0, atol=1e-8)
    assert np.array_equal(step, step_from(rows, inside, s, w, C)), "what is kept is not changed"


def test_columns_that_drown_the_diagonal_are_solved_all_the_same() -> None:
    """Five equal columns of up to 1e12: XᵀX + I/(2C) has no factor in double precision."""
    column = np.linspace(-1e12, 1e12, 12)
    x = np.stack([column] * 5 + [np.ones(12)], axis=1)
    y = (column > 0).astype(int)
    with pytest.raises(LinAlgError):
        cho_factor(x.T @ x + np.eye(6) / 2e3)
    rows = Rows(x)
    w = step_from(rows, np.full(12, True), np.where(y, 1.0, -1.0), np.zeros(7), 1e3)
    assert np.isfinite(w).all() and np.array_equal(rows.x @ w > 0, y == 1)
    machine = fit(x, y, 1e3)
    assert np.isfinite(machine.weights).all()
    assert np.array_equal(machine.predict(x), y)


def test_a_step_without_a_factor_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows, s, C = Rows(rng.standard_normal((20, 6))), rng.choice([-1.0, 1.0], 20), 0.3
    inside, w = np.arange(20) < 15, 3 * rng.standard_normal(7)
    expected = step_from(rows, inside, s, w, C)

    def fails(*system: object, **options: object) -> None:
        raise LinAlgError

    monkeypatch.setattr("scipy.linalg.cho_factor", fails)
    np.testing.assert_allclose(step_from(rows, inside, s, w, C), expected, rtol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 1e6])
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_rows_of_low_rank_and_of_unequal_size_converge(C: float, scale: float) -> None:
    """135 rows that span 30 dimensions, one of them large: the step is far shorter than its end."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((135, 30)) @ rng.standard_normal((30, 163))
    x[0] *= scale
    y = (x[:, 1] + 5 * rng.standard_normal(135) > 0).astype(int)
    assert fit(x, y, C).unconverged == 0


def test_a_step_of_nothing_ends_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = data(20, 3, 2, seed=0)
    steps = []

    def nothing(*system: object) -> np.ndarray:
        steps.append(1)
        return np.zeros(4)

    monkeypatch.setattr(squared_hinge, "_newton_step", nothing)
    machine = fit(x, y, 1.0)
    assert machine.unconverged == 1 and not machine.weights.any() and len(steps) == 1


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_c_and_classes_are_those_of_the_library(seed: int, classes: int) -> None:
    """A grid search with liblinear at a small tolerance, over the same inner folds."""
    x, y = data(150, 6, classes, seed)
    fresh = np.random.default_rng(100 + seed).standard_normal((300, 6))
    grid = [1e-3, 1e-2, 1e-1, 1.0, 10.0]
    inner = StratifiedKFold(5, shuffle=True, random_state=seed)
    library = LinearSVC(dual=False, tol=1e-10, max_iter=10_000)
    search = GridSearchCV(library, {"C": grid}, scoring="accuracy", cv=inner).fit(x, y)
    found = classify(x, y, fresh, "linear", grid, 5, seed)
    # Means of the same shares in another order differ in their last bits.
    means = search.cv_results_["mean_test_score"].round(9)
    assert grid[int(np.argmax(means))] == found.C
    library = LinearSVC(C=found.C, dual=False, tol=1e-10, max_iter=10_000).fit(x, y)
    assert np.array_equal(found.predicted, library.predict(fresh))


def test_equal_means_in_another_order_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tenths, two tenths and one: in another order the sum is larger in its last bit."""
    right = [3, 2, 1], [1, 2, 3]  # of ten held-out rows, in three folds, for two values of C
    # Added one by one; `sum` compensates for rounding from Python 3.12 on.
    first, second = (np.cumsum(np.divide(parts, 10))[-1] for parts in right)
    assert first < second
    answers = iter([count for pair in zip(*right, strict=True) for count in pair])

    def predict(machine: Machine, x: np.ndarray) -> np.ndarray:
        return np.arange(len(x)) >= next(answers, 0)  # all rows are of class 0

    x, y = np.zeros((30, 1)), np.zeros(30, dtype=int)
    monkeypatch.setattr(Machine, "predict", predict)
    assert classify(x, y, x, "linear", (1.0, 2.0), 3, seed=0).C == 1.0


def test_fits_that_stop_early_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = data(60, 5, 3, seed=2)
    assert classify(x, y, x, "linear", (1.0, 100.0), 3, seed=0).unconverged == 0
    monkeypatch.setattr(squared_hinge, "MOST_STEPS", 1)
    # Three hyperplanes: of two C in three inner folds, and of the last fit.
    assert classify(x, y, x, "linear", (1.0, 100.0), 3, seed=0).unconverged == 21


def test_two_classes_are_one_hyperplane_and_its_sign() -> None:
    x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    machine = fit(x, np.array([7, 7, 9, 9]), 1e3)
    assert machine.weights.shape == (1, 2) and machine.classes.tolist() == [7, 9]
    assert machine.predict(np.array([[-0.1], [0.1]])).tolist() == [7, 9]
    # Rows on their margins: w = 1 but for 1/C.
    assert machine.weights[0, 0] == pytest.approx(1, abs=1e-3)
    assert machine.weights[0, 1] == pytest.approx(0, abs=1e-9)


def test_an_inner_fold_may_hold_out_a_whole_class() -> None:
    """One row of class 1: the fold that holds it out trains on class 0 alone."""
    machine = fit(np.eye(3), np.full(3, 7), 1.0)
    assert machine.predict(np.ones((2, 3))).tolist() == [7, 7] and machine.unconverged == 0
    x = np.array([[0.0], [0.1], [0.2], [0.3], [5.0]])
    y = np.array([0, 0, 0, 0, 1])
    found = classify(x, y, x, "linear", (1.0, 10.0), 5, seed=0)
    assert found.predicted.tolist() == y.tolist()
