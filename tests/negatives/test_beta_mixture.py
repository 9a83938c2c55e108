"""The Beta mixture against SciPy's densities and a plain EM."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from gclbench.negatives import beta_mixture
from gclbench.negatives.beta_mixture import BetaMixture, DegenerateMixture


def sample(count: int = 4000, share: float = 0.2) -> np.ndarray:
    """A share of Beta(30, 6), the rest of Beta(8, 12)."""
    rng = np.random.default_rng(0)
    high = rng.random(count) < share
    return np.where(high, rng.beta(30, 6, count), rng.beta(8, 12, count))


def plain_em(x: np.ndarray, high_weight: float, steps: int) -> tuple[list[list[float]], int]:
    """EM with SciPy's densities and the moments written out: ([α, β, weight] of both components,
    how often they changed places)."""
    parts, changes = [[1.0, 2.0, 1 - high_weight], [2.0, 1.0, high_weight]], 0
    for _ in range(steps):
        likelihood = np.stack([weight * stats.beta.pdf(x, a, b) for a, b, weight in parts])
        share = likelihood / likelihood.sum(axis=0)
        means = [np.average(x, weights=r) for r in share]
        parts = []
        for r, mean in zip(share, means, strict=True):
            variance = np.average((x - mean) ** 2, weights=r)
            a = mean * (mean * (1 - mean) / variance - 1)
            parts.append([a, a * (1 - mean) / mean, r.mean()])
        if means[0] > means[1]:
            parts.reverse()
            changes += 1
        if parts[1][1] < 1:
            parts[1][1] = 1.01
    return parts, changes


@pytest.mark.parametrize("steps", [1, 3, 10])
@pytest.mark.parametrize("chunk", [700, 1 << 20])
def test_the_fit_is_that_of_a_plain_em(steps, chunk, monkeypatch):
    monkeypatch.setattr(beta_mixture, "_CHUNK", chunk)
    x = sample()
    found = BetaMixture.fit(torch.from_numpy(x), high_weight=0.05, steps=steps)
    np.testing.assert_allclose([found.low, found.high], plain_em(x, 0.05, steps)[0], rtol=1e-8)


def test_it_finds_the_components_of_a_sample():
    found = BetaMixture.fit(torch.from_numpy(sample(40_000)), steps=60)
    for component, (a, b, weight) in ((found.low, (8, 12, 0.8)), (found.high, (30, 6, 0.2))):
        assert component[0] / sum(component[:2]) == pytest.approx(a / (a + b), abs=0.01)
        assert component[2] == pytest.approx(weight, abs=0.02)


@pytest.mark.parametrize("dtype,tolerance", [(torch.float64, 1e-10), (torch.float32, 1e-4)])
def test_the_posterior_is_bayes_rule_with_scipys_densities(dtype, tolerance):
    mixture = BetaMixture((8.0, 12.0, 0.8), (30.0, 6.0, 0.2))
    x = np.linspace(0.01, 0.99, 50)
    densities = [weight * stats.beta.pdf(x, a, b) for a, b, weight in (mixture.low, mixture.high)]
    wanted = torch.from_numpy(densities[0] / (densities[0] + densities[1])).to(dtype)
    torch.testing.assert_close(
        mixture.low_probability(torch.from_numpy(x).to(dtype)), wanted, rtol=0, atol=tolerance
    )


def test_the_ends_of_the_interval_have_a_finite_posterior():
    values = torch.tensor([0.0, 1.0])
    mixture = BetaMixture.fit(torch.cat([torch.from_numpy(sample()).float(), values]))
    assert bool(torch.isfinite(mixture.low_probability(values)).all())


def test_the_components_are_told_apart_by_their_means():
    swapped = BetaMixture.fit(1 - torch.from_numpy(sample()), high_weight=0.95, steps=20)
    assert swapped.low[0] / sum(swapped.low[:2]) < swapped.high[0] / sum(swapped.high[:2])


def test_the_high_component_has_no_pole_at_one():
    x = np.random.default_rng(0).beta(4, 0.3, 2000)
    mixture = BetaMixture.fit(torch.from_numpy(x), high_weight=0.9, steps=1)
    assert mixture.high[1] == beta_mixture.HIGH_BETA


def test_em_may_change_which_component_is_the_high_one():
    """Unions of two or three heaps, some of which rise to 1."""
    rng = np.random.default_rng(1)
    changed, without_pole = 0, 0
    for _ in range(100):
        x = np.concatenate(
            [
                rng.beta(*np.exp(rng.uniform(0, 4, 2)), rng.integers(50, 600))
                for _ in range(rng.integers(2, 4))
            ]
        )
        try:
            mixture = BetaMixture.fit(torch.from_numpy(x), high_weight=0.05, steps=10)
        except DegenerateMixture:
            continue
        wanted, changes = plain_em(x.clip(beta_mixture.EDGE, 1 - beta_mixture.EDGE), 0.05, 10)
        np.testing.assert_allclose([mixture.low, mixture.high], wanted, rtol=1e-6)
        changed += changes > 0
        without_pole += changes > 0 and mixture.high[1] == beta_mixture.HIGH_BETA
    assert changed > 0 and without_pole > 0


def test_a_component_that_vanishes_is_told():
    with pytest.raises(
        DegenerateMixture, match=r"step 1 a component holds \d.*e-\d+ of the sample"
    ):
        BetaMixture.fit(torch.from_numpy(sample()), high_weight=1e-12)


@pytest.mark.parametrize(
    "values,message",
    [
        (torch.full((100,), 0.5), r"step 1 a component has mean 0.5 and variance 0: it is a point"),
        (torch.tensor([0.0, 1.0]).repeat(50), r"no Beta distribution has both|it is a point"),
        (torch.empty(0), r"step 1 a component holds nan of the sample"),
        (torch.tensor([0.3]), r"it is a point"),
    ],
)
def test_a_sample_without_two_components(values, message):
    with pytest.raises(DegenerateMixture, match=message):
        BetaMixture.fit(values)


def test_probabilities_leave_the_values_as_they_are():
    """They are computed in place of copies."""
    values = torch.linspace(0, 1, 9)
    BetaMixture((2.0, 5.0, 0.9), (9.0, 2.0, 0.1)).low_probability(values)
    assert torch.equal(values, torch.linspace(0, 1, 9))
