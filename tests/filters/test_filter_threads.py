"""Filtered features are the same numbers with any number of threads: the cache has one entry for
all of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from gclbench.component.registry import FILTERS
from gclbench.data.sbm import SBM


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("gnnbp", {"solver": "chebyshev"}),
        ("gnnbp", {"solver": "series"}),
        ("gnnbp", {"solver": "push"}),
        ("ssgc", {}),
        ("agc", {}),
        ("laplacian", {}),
    ],
)
def test_threads_do_not_change_filtered_features(name: str, settings: dict[str, Any]) -> None:
    graph = SBM(nodes=3000, features=100).load()

    def filtered(threads: int) -> Tensor:
        with threadpool_limits(threads):
            torch.set_num_threads(threads)
            return FILTERS.load(name)(**settings).apply(graph).x

    one = filtered(1)
    assert all(torch.equal(filtered(threads), one) for threads in (2, 4))
