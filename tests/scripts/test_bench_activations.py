"""The benchmark of activations compares what it says."""

from __future__ import annotations

import bench_activations
import pytest
import torch
from torch import nn

from gclbench.nn.gcn import GcnEncoder, RandomisedReLU
from gclbench.nn.prelu import PReLU


def test_usual_networks_have_torchs_activations() -> None:
    with bench_activations.usual():
        prelu, rrelu = (GcnEncoder(3, (2,), name) for name in ("prelu", "rrelu"))
        with pytest.raises(AssertionError):
            PReLU()(torch.ones(2))
    assert any(type(layer) is nn.PReLU for layer in prelu.modules())
    assert any(type(layer) is bench_activations.ByWhere for layer in rrelu.modules())
    ours = GcnEncoder(3, (2,), "prelu")
    assert any(type(layer) is PReLU for layer in ours.modules())
    assert PReLU()(torch.ones(2)).tolist() == [1.0, 1.0]


def test_an_activation_by_where_has_the_same_bits() -> None:
    x = torch.linspace(-1.0, 1.0, 20)
    found = []
    for layer in (bench_activations.ByWhere(), RandomisedReLU()):
        layer.generator = torch.Generator().manual_seed(0)
        found.append(layer(x))
    assert torch.equal(*found)


def test_a_run_is_measured() -> None:
    row = bench_activations.measured("method=dgi dataset=sbm dataset.nodes=60", rounds=1)
    assert row["share_of_usual"] > 0
    assert set(row["seconds_per_epoch"]) == {"usual", "ours"}
