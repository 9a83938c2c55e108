"""Features that float32 cannot hold as they are: a recorded repair, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

from gclbench.graph import GraphError, make_graph

EDGES = np.array([[0, 1], [1, 0]])


def made(x: Any) -> tuple[list[list[float]], tuple[str, ...]]:
    graph = make_graph(x, EDGES, None, "g")
    return graph.x.tolist(), graph.repairs


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_tiny_features_are_scaled_by_a_power_of_two(form: Any) -> None:
    x, repairs = made(form(np.array([[2.0**-100, 0.0], [0.0, 2.0**-99]])))
    assert x == [[0.5, 0.0], [0.0, 1.0]]
    assert repairs == (
        "All features multiplied by 2^99: the largest is 1.58e-30, and the squares of such numbers"
        " vanish in float32.",
    )


def test_columns_that_vary_in_their_last_digits_are_shifted() -> None:
    x, repairs = made(np.array([[1.6e9 + 1, 0.25], [1.6e9 + 3, 0.5]]))
    assert x == [[0.0, 0.25], [2.0, 0.5]]
    assert len(repairs) == 1 and repairs[0].startswith(
        "1 feature column(s) vary by less than float32 can tell from their size (the first is"
        " column 0, "
    )
    assert made(np.array([[2**53 + 2, 1], [2**53 + 6, 2]]))[0] == [[0.0, 1.0], [4.0, 2.0]]


@pytest.mark.parametrize("lowest", [10**18, -(10**18), 2**63 - 20, -(2**63)])
@pytest.mark.parametrize("form", [np.asarray, torch.tensor, list])
def test_whole_numbers_beyond_float64_are_shifted_exactly(lowest: int, form: Any) -> None:
    x, repairs = made(form([[lowest + 1, 0], [lowest + 5, 1], [lowest + 18, 2]]))
    assert x == [[0.0, 0.0], [4.0, 1.0], [17.0, 2.0]]
    assert len(repairs) == 1 and "their smallest value was subtracted" in repairs[0]


def test_whole_numbers_of_the_whole_range_are_told_apart() -> None:
    unsigned = np.array([[2**64 - 1], [2**64 - 9]], dtype=np.uint64)
    assert made(unsigned)[0] == [[8.0], [0.0]]
    assert made(np.array([[-(2**63)], [2**63 - 1]])) == ([[-(2.0**63)], [2.0**63]], ())
    assert made(np.array([[10**18], [10**18]]))[1] == (), "a constant column has nothing to lose"


@pytest.mark.parametrize("lowest", [10**18, 1.6e9])
def test_a_full_column_of_a_sparse_matrix_is_refused(lowest: float) -> None:
    x = scipy.sparse.csr_matrix(np.array([[0, lowest + 1], [1, lowest + 5]]))
    with pytest.raises(GraphError, match="1 feature column.* lose .* the first is column 1, with"):
        made(x)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_a_column_that_vanishes_beside_others_is_an_error(form: Any) -> None:
    with pytest.raises(GraphError, match="the first is column 1, with values up to 3e-50. Scale"):
        made(form(np.array([[1.0, 1e-50], [2.0, 3e-50]])))


@pytest.mark.parametrize(
    "x",
    [
        [[0.1, 0.1], [0.1, 0.2]],
        [[1e-50, 0.5], [1.0, 0.25]],
        [[1e6, 0.5], [1e6 + 100, 0.25]],
    ],
)
def test_features_that_keep_their_information_stay_as_they_are(x: list[list[float]]) -> None:
    array = np.array(x)
    assert made(array) == (array.astype(np.float32).tolist(), ())


def test_what_is_beyond_float32_is_told_as_before() -> None:
    with pytest.raises(GraphError, match="are not finite"):
        made(np.array([[1e300, 0.0], [1.0, 1.0]]))
