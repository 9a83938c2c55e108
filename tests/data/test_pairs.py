from __future__ import annotations

import itertools

import numpy as np
import pytest

from gclbench.data.pairs import draw_distinct, number_of_pairs, pair_number, pair_of


def test_the_pairs_of_n_nodes_have_the_first_numbers() -> None:
    pairs = sorted(itertools.combinations(range(60), 2), key=lambda pair: (pair[1], pair[0]))
    u, v = np.array(pairs).T
    assert (
        pair_number(u, v).tolist() == pair_number(v, u).tolist() == list(range(number_of_pairs(60)))
    )
    assert np.stack(pair_of(np.arange(len(pairs)))).T.tolist() == [list(pair) for pair in pairs]


@pytest.mark.parametrize("high", [2, 3, 10**5, 67_108_865, 94_906_267, 2**31])
def test_large_numbers_are_exact(high: int) -> None:
    u = np.array([0, 1, high - 2, high - 1])
    v = np.full(4, high)
    low, top = pair_of(pair_number(u, v))
    assert low.tolist() == u.tolist() and top.tolist() == v.tolist()


def test_draws_are_distinct_and_cover_all() -> None:
    rng = np.random.default_rng(0)
    assert sorted(draw_distinct(rng, 30, 30).tolist()) == list(range(30))
    drawn = draw_distinct(rng, 10**12, 5000)
    assert np.unique(drawn).size == 5000 and 0.45 < drawn.mean() / 10**12 < 0.55
