"""NML's learned metrics as they start: their weights and their random slopes."""

from __future__ import annotations

import math

import pytest
import torch

from gclbench.negatives.nml import Nml
from gclbench.negatives.nml_metrics import SeparableMetric
from gclbench.training.streams import Streams

NODES = 7


def test_slopes_are_drawn_evenly_from_an_eighth_to_a_third():
    """The range of PyTorch's RReLU, which the official code uses."""
    metric = SeparableMetric(2, 2, torch.Generator().manual_seed(0), detach=False).double()
    with torch.no_grad():
        for layer in (metric.first, metric.second):
            layer.weight.copy_(torch.eye(2))
        images = metric.embedded(
            torch.tensor([[-1.0, 1.0]], dtype=torch.float64).repeat(2000, 1), frozen=True
        )
    slopes = (-images[:, 0] / images[:, 1]).sort().values
    evenly = torch.linspace(1 / 8, 1 / 3, 2000, dtype=torch.float64)
    assert float(slopes[0]) >= 1 / 8 and float(slopes[-1]) <= 1 / 3
    assert float((slopes - evenly).abs().max()) < 0.01
    assert float(slopes[0]) < 1 / 8 + 1e-3 and float(slopes[-1]) > 1 / 3 - 1e-3


@pytest.mark.parametrize("metric", ["separable", "pairwise"])
def test_weights_start_as_xavier_has_them(metric):
    """Uniform to ±√(6 / (in + out)), half as wide again as PyTorch's own for a square layer."""
    made = Nml(metric=metric, hidden=64).build(64, NODES, Streams(0), torch.device("cpu"))
    layers = [
        layer
        for layer in made.modules()
        if isinstance(layer, torch.nn.Linear) and min(layer.weight.shape) > 1
    ]
    assert layers
    for layer in layers:
        bound = math.sqrt(6 / sum(layer.weight.shape))
        assert 0.98 * bound < float(layer.weight.detach().abs().max()) <= bound
