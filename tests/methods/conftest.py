"""What the tests of MVGRL and of its propagations share."""

from __future__ import annotations

import pytest
from methods.small_graph import small_graph

from gclbench.graph import Graph
from gclbench.methods import two_propagations


@pytest.fixture
def graph() -> Graph:
    return small_graph()


@pytest.fixture(params=["features", "products"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Diffuses the features once, or the product with the weights in every step."""
    monkeypatch.setattr(
        two_propagations, "PROPAGATION_COST", {"features": 1e9, "products": 0}[request.param]
    )
    return str(request.param)
