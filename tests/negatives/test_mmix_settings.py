"""M-Mix's settings: the ends of their ranges, bad input, what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from mmix_loops import (
    CPU,
    NODES,
    WIDTH,
    made,
    pair_of,
    shares_of,
)

from gclbench.component.settings import bind
from gclbench.config.validation import ConfigErrors, experiment_of
from gclbench.graph import Unsupported
from gclbench.negatives.mmix import Mmix
from gclbench.training.streams import Streams


def test_a_batch_without_edges_has_no_neighbours_to_mix() -> None:
    with pytest.raises(
        Unsupported,
        match=r"negatives\.scope=wp mixes a node with its neighbours.*negatives\.scope=all",
    ):
        made(Mmix())(pair_of(edge_index=None))
    assert torch.isfinite(made(Mmix(scope="all"))(pair_of(edge_index=None)).value)


def test_a_graph_of_one_node_is_refused() -> None:
    with pytest.raises(
        Unsupported, match="mixes a node with others, hence needs two nodes, and this graph has one"
    ):
        Mmix().build(WIDTH, 1, Streams(0), CPU)


@pytest.mark.parametrize(
    "setting,text",
    [
        ("self_share=1", r"negatives\.self_share=1 is out of range: it must be ≥ 0 and < 1"),
        ("self_share=-0.1", r"negatives\.self_share=-0\.1 is out of range"),
        ("threshold=1.5", r"negatives\.threshold=1\.5 is out of range: it must be ≥ -1 and ≤ 1"),
        ("variant=mu", r"negatives\.variant='mu' must be one of mp, mo, binary, random, adjacency"),
    ],
)
def test_settings_out_of_range(setting: str, text: str) -> None:
    with pytest.raises(ConfigErrors, match=text):
        experiment_of(["method=grace", "dataset=cora", "negatives=mmix", f"negatives.{setting}"])


@pytest.mark.parametrize(
    "values",
    [
        {"variant": "mo", "self_share": 0},
        {"variant": "mo", "scope": "op", "threshold": 1},
        {"variant": "mo", "scope": "op", "threshold": -1},
        {"variant": "mo", "scope": "op", "threshold": 1, "self_share": 0},
        {"variant": "mp", "scope": "op", "threshold": 1},
        {"variant": "mp", "scope": "op", "threshold": -1},
        {"variant": "binary", "scope": "op", "threshold": 1},
        {"variant": "random", "scope": "op", "threshold": 1},
    ],
    ids=str,
)
def test_the_ends_of_the_ranges_are_accepted_and_give_finite_losses(values: dict[str, Any]) -> None:
    errors: list[str] = []
    settings = bind(Mmix, values, "negatives", errors)
    assert errors == []
    strategy, pair = made(settings), pair_of()
    pair.u.requires_grad_()
    loss = strategy(pair).value
    loss.backward()
    assert (
        pair.u.grad is not None
        and bool(torch.isfinite(pair.u.grad).all())
        and bool(torch.isfinite(loss))
    )
    rows = shares_of(strategy, pair.detached())(0, NODES)
    if values.get("threshold") == 1:
        assert torch.equal(rows, torch.eye(NODES, dtype=torch.float64)), "no other is a copy"
    elif values.get("threshold") == -1:
        torch.testing.assert_close(
            rows, shares_of(made(replace(settings, scope="all")), pair.detached())(0, NODES)
        )
    else:
        assert rows.diagonal().tolist() == [
            0,
            0,
            0,
            0,
            0,
            1,
        ], "a node without neighbours stays itself all the same"


def test_fixed_mixing_over_all_nodes_is_refused() -> None:
    with pytest.raises(
        ConfigErrors, match=r"variant=adjacency mixes neighbours only.*negatives\.scope=wp"
    ):
        experiment_of(
            [
                "method=grace",
                "dataset=cora",
                "negatives=mmix",
                "negatives.variant=adjacency",
                "negatives.scope=all",
            ]
        )
