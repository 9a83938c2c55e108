"""Batch normalisation with a debiased running average."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gclbench.nn.batch_norm import DebiasedBatchNorm, settle


def test_running_averages_weight_batches_by_powers_of_the_decay():
    norm = DebiasedBatchNorm(3, decay=0.9)
    batches = [
        torch.randn(8, 3, generator=torch.Generator().manual_seed(seed)) + seed for seed in range(5)
    ]
    for batch in batches:
        norm(batch)
    shares = torch.tensor([0.9 ** (4 - index) for index in range(5)])
    shares /= shares.sum()
    mean = sum(share * batch.mean(dim=0) for share, batch in zip(shares, batches, strict=True))
    variance = sum(share * batch.var(dim=0) for share, batch in zip(shares, batches, strict=True))
    torch.testing.assert_close(norm.running_mean, mean)
    torch.testing.assert_close(norm.running_var, variance)


def test_training_uses_the_batch_and_evaluation_the_averages():
    norm, plain = DebiasedBatchNorm(3), nn.BatchNorm1d(3)
    batch = torch.randn(8, 3, generator=torch.Generator().manual_seed(0)) * 4 + 2
    torch.testing.assert_close(norm(batch), plain(batch))
    norm.eval()
    before = norm.running_mean.clone()
    torch.testing.assert_close(
        norm(batch), (batch - batch.mean(dim=0)) / (batch.var(dim=0) + norm.eps).sqrt()
    )
    assert torch.equal(norm.running_mean, before)


def test_the_average_goes_on_after_its_state_was_loaded():
    first = DebiasedBatchNorm(2, decay=0.5)
    batches = [
        torch.full((4, 2), float(value)) + torch.arange(4.0)[:, None] for value in (0, 10, 20)
    ]
    for batch in batches:
        first(batch)
    second = DebiasedBatchNorm(2, decay=0.5)
    second(batches[0])
    third = DebiasedBatchNorm(2, decay=0.5)
    third.load_state_dict(second.state_dict())
    for batch in batches[1:]:
        third(batch)
    assert torch.equal(first.running_mean, third.running_mean)


def test_settled_statistics_are_those_of_the_inputs_whatever_came_before():
    network = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.ReLU(), nn.BatchNorm1d(2))
    x = torch.randn(24, 3, generator=torch.Generator().manual_seed(0))
    network(x * 100)
    network.eval()
    settle(network, x)
    first = network[0](x).detach()
    torch.testing.assert_close(network[1].running_mean, first.mean(dim=0))
    torch.testing.assert_close(network[1].running_var, first.var(dim=0))
    second = network[2](
        (first - first.mean(dim=0)) / (first.var(dim=0, unbiased=False) + 1e-5).sqrt()
    )
    torch.testing.assert_close(network[3].running_mean, second.mean(dim=0))
    assert not network.training and network[1].momentum == 0.1
    assert all(parameter.grad is None for parameter in network.parameters())


def test_a_failure_leaves_the_network_as_it_was():
    network = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval()
    with pytest.raises(RuntimeError):
        settle(network, torch.ones(4, 5))
    assert not network.training and network[1].momentum == 0.1


def test_an_average_of_its_own_is_refused():
    with pytest.raises(TypeError, match="a DebiasedBatchNorm keeps its own average"):
        settle(nn.Sequential(DebiasedBatchNorm(3)), torch.ones(4, 3))
