"""The pair network of AUGCL, its losses, and the weights made of its uncertainty, pair by pair."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.negatives.uncertainty import (
    NETWORK_ESTIMATORS,
    PairNetwork,
    classifier_loss,
    gambler_loss,
    hardest,
    relative_uncertainty,
    uncertainty,
)


def unit(seed: int, count: int = 9, width: int = 4) -> Tensor:
    return normalize(
        torch.randn(
            count, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
        ),
        dim=1,
    )


def network(classes: int = 3) -> PairNetwork:
    torch.manual_seed(0)
    made = PairNetwork(4, classes).double()
    torch.nn.init.normal_(made.first.bias)
    return made


def test_the_split_first_layer_is_that_of_the_concatenated_pair() -> None:
    made, u, v = network(), unit(0), unit(1)
    together = made.last(made.second(made.first(torch.cat([u, v], dim=1)).relu()).relu())
    assert torch.allclose(made(made.anchors(u) + made.candidates(v)), together, rtol=0, atol=1e-12)


@pytest.mark.parametrize("reward", [1.1, 1.9, 2.0])
def test_the_gamblers_loss(reward: float) -> None:
    logits = 2 * torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.tensor([0, 1, 1, 0, 1])
    expected = 0.0
    for row, label in zip(logits.tolist(), labels.tolist()):
        p = [math.exp(x) / sum(math.exp(y) for y in row) for x in row]
        expected -= math.log(p[label] + p[2] / reward) / 5
    assert float(gambler_loss(logits, labels, reward)) == pytest.approx(expected, abs=1e-12)
    assert torch.autograd.gradcheck(
        lambda x: gambler_loss(x, labels, reward), logits.requires_grad_()
    )


def test_a_lost_bet_costs_a_finite_amount() -> None:
    logits = torch.tensor([[200.0, 0.0, 0.0]])
    assert float(gambler_loss(logits, torch.tensor([1]), 1.9)) == pytest.approx(
        200 - math.log(1 + 1 / 1.9), rel=1e-5
    )


def test_a_low_reward_makes_abstention_pay_when_the_label_is_a_coin_toss() -> None:
    """Abstaining keeps 1/o for sure, betting wins with probability ½: at o = 2 they are equal,
    below it abstention is better."""
    labels = torch.tensor([0, 1])
    bet = torch.tensor([[0.0, 0.0, -30.0]] * 2, dtype=torch.float64)
    abstain = torch.tensor([[-30.0, -30.0, 0.0]] * 2, dtype=torch.float64)
    assert float(gambler_loss(abstain, labels, 1.2)) < float(gambler_loss(bet, labels, 1.2)) - 0.1
    assert float(gambler_loss(abstain, labels, 2.0)) == pytest.approx(
        float(gambler_loss(bet, labels, 2.0)), abs=1e-6
    )


@pytest.mark.parametrize("reward", [1.2, 2.0])
def test_the_gamblers_classifier_is_trained_at_the_reward_asked_for(reward: float) -> None:
    """−log(p_label + g/o), g the abstention (AUGCL paper)."""
    logits, labels = (
        torch.tensor([[0.3, 1.2, 0.8], [1.0, -0.4, 0.1]], dtype=torch.float64),
        torch.tensor([0, 1]),
    )
    p = [[math.exp(x) / sum(map(math.exp, row)) for x in row] for row in logits.tolist()]
    expected = -(math.log(p[0][0] + p[0][2] / reward) + math.log(p[1][1] + p[1][2] / reward)) / 2
    assert float(classifier_loss("gambler", logits, labels, reward)) == pytest.approx(
        expected, abs=1e-12
    )
    assert float(classifier_loss("gambler", logits, labels, 3.2 - reward)) != pytest.approx(
        expected, abs=1e-2
    )


def test_two_class_estimators_are_trained_by_cross_entropy() -> None:
    logits, labels = torch.tensor([[1.0, 3.0]], dtype=torch.float64), torch.tensor([0])
    expected = math.log(math.exp(1) + math.exp(3)) - 1
    assert float(classifier_loss("entropy", logits, labels, 1.9)) == pytest.approx(expected)


def test_estimators_are_those_of_the_appendix() -> None:
    logits = torch.tensor([[0.3, 1.2]], dtype=torch.float64)
    p = math.exp(0.3) / (math.exp(0.3) + math.exp(1.2))
    assert float(uncertainty("softmax_response", logits)) == pytest.approx(1 - max(p, 1 - p))
    assert float(uncertainty("entropy", logits)) == pytest.approx(
        -p * math.log(p) - (1 - p) * math.log(1 - p)
    )
    gambler = torch.tensor([[0.3, 1.2, -0.5]], dtype=torch.float64)
    total = math.exp(0.3) + math.exp(1.2) + math.exp(-0.5)
    assert float(uncertainty("gambler", gambler)) == pytest.approx(math.exp(-0.5) / total)


def test_the_hardest_are_the_most_similar_others() -> None:
    u, v = unit(0), unit(1)
    similarities = u @ v.T
    for i, found in enumerate(hardest(u, v, 3).tolist()):
        others = sorted((j for j in range(9) if j != i), key=lambda j: -float(similarities[i, j]))
        assert sorted(found) == sorted(others[:3])


@pytest.mark.parametrize("estimator", NETWORK_ESTIMATORS)
def test_weights_are_uncertainty_over_its_mean(
    estimator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, u, v = network(3 if estimator == "gambler" else 2), unit(0), unit(1)
    chosen = hardest(u, v, 4)
    for floats in (1, 128 * 4 * 2, 1 << 20):
        monkeypatch.setattr("gclbench.negatives.uncertainty.TILE_FLOATS", floats)
        with torch.no_grad():
            found = relative_uncertainty(made, estimator, u, v, chosen)
            for i in range(9):
                plain = [
                    float(uncertainty(estimator, made(made.anchors(u[i]) + made.candidates(v[j]))))
                    for j in chosen[i]
                ]
                assert found[i].tolist() == pytest.approx(
                    [value / (sum(plain) / 4) for value in plain], abs=1e-12
                )


def test_a_network_that_is_certain_about_all_leaves_the_weights_at_one() -> None:
    made, u, v = network().float(), unit(0).float(), unit(1).float()
    with torch.no_grad():
        made.last.weight.zero_()
        made.last.bias.copy_(torch.tensor([0.0, 0.0, -200.0]))
        assert torch.equal(
            relative_uncertainty(made, "gambler", u, v, hardest(u, v, 4)), torch.ones(9, 4)
        )
