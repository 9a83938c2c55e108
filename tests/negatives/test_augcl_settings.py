"""AUGCL's settings: the ends of their ranges, bad input, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from augcl_loops import (
    SMALL,
    made,
    pair_of,
    with_gradients,
)

from gclbench.component.settings import bind, values_of
from gclbench.config.validation import ConfigErrors, experiment_of
from gclbench.graph import Unsupported
from gclbench.negatives.augcl import Augcl


@pytest.mark.parametrize(
    "setting,text",
    [
        ("reward=1", r"negatives\.reward=1 is out of range: it must be > 1 and ≤ 2"),
        ("reward=2.1", r"negatives\.reward=2\.1 is out of range"),
        ("base=1.2", r"negatives\.base=1\.2 is out of range"),
        ("hardest=0", r"negatives\.hardest=0 is out of range: it must be ≥ 1"),
        (
            "estimator=distances",
            (
                r"must be one of gambler, softmax_response, entropy, distance\. Did you mean"
                r" 'distance'"
            ),
        ),
    ],
)
def test_settings_out_of_range(setting: str, text: str) -> None:
    with pytest.raises(ConfigErrors, match=text):
        experiment_of(["method=augcl", "dataset=cora", f"negatives.{setting}"])


@pytest.mark.parametrize(
    "values,iteration",
    [({"reward": 2}, 6), ({"base": 0}, 1), ({"base": 1}, 10), ({"hardest": 1, "refresh": 1}, 6)],
    ids=str,
)
def test_the_ends_of_the_ranges_are_accepted_and_give_finite_losses(
    values: dict[str, Any], iteration: int
) -> None:
    errors: list[str] = []
    settings = bind(Augcl, {**values_of(SMALL), **values}, "negatives", errors)
    assert errors == []
    strategy, pair = made(settings), with_gradients(pair_of(iteration))
    strategy.update(pair.detached())
    loss = strategy(pair).value
    assert all(
        bool(torch.isfinite(found).all())
        for found in (loss, *torch.autograd.grad(loss, (pair.u, pair.v)))
    )
    assert bool(strategy.trained) == (values.get("base") != 1)


def test_a_graph_of_two_nodes_is_refused() -> None:
    with pytest.raises(
        Unsupported,
        match=(
            "in two groups, hence needs three nodes, and this graph has 2; negatives=uniform"
            " needs two"
        ),
    ):
        made(nodes=2)
