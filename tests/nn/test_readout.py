"""Readouts of the graphs of a batch."""

from __future__ import annotations

import torch
from torch_geometric.nn import global_add_pool

from gclbench.nn.readout import READOUTS


def test_sums_and_their_gradients_are_pygs_digit_by_digit() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(9, 4, generator=generator).requires_grad_()
    graph_of = torch.tensor([0, 0, 0, 0, 1, 1, 3, 3, 3])  # graph 2 has no node left
    # What a layer's readout gets where several stand side by side: a part of wider rows.
    weights = torch.randn(4, 12, generator=generator)[:, 4:8]
    results = []
    for readout in (READOUTS["sum"], global_add_pool):
        found = readout(x, graph_of, 4)
        results.append((found, *torch.autograd.grad((found * weights).sum(), x)))
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)
    assert torch.equal(results[0][0][2], torch.zeros(4))
