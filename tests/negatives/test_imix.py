"""i-Mix: the loss against a plain double loop, the draws of shares and partners, bad input."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from scipy.stats import beta, kstest
from torch.nn.functional import normalize

from gclbench.config.validation import ConfigErrors, experiment_of
from gclbench.graph import Unsupported
from gclbench.negatives.imix import Imix, ImixNegatives
from gclbench.negatives.strategy import Pair, RowMixture
from gclbench.training.loop import Step
from gclbench.training.streams import Streams

CPU = torch.device("cpu")
NODES = 6


def made(alpha: float = 1.0, seed: int = 0, nodes: int = NODES) -> ImixNegatives:
    strategy = Imix(alpha).build(4, nodes, Streams(seed), CPU)
    assert isinstance(strategy, ImixNegatives)
    return strategy


def pair_of(**changes: object) -> Pair:
    generator = torch.Generator().manual_seed(0)
    u, v = (torch.randn(NODES, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    return replace(Pair(u, (v,), 0.6, Step(1, 10)), **changes)  # type: ignore[arg-type]


def plain_loss(pair: Pair, mixture: RowMixture) -> float:
    """Cross-entropy with both labels of each mixture, read from either view."""
    u, v = normalize(pair.u, dim=1), normalize(pair.v, dim=1)
    loss = 0.0
    for i in range(NODES):
        own, partner = float(mixture.share[i]), int(mixture.partner[i])
        for node, share in ((i, own), (partner, 1 - own)):
            # u_i is the anchor and v of the node its positive; then v of the node is the anchor and
            # u_i its positive.
            for anchor, a, b in ((i, u, v), (node, v, u)):
                terms = [float(a[anchor] @ b[j]) / pair.tau for j in range(NODES)]
                if pair.intra:
                    terms += [
                        float(a[anchor] @ a[j]) / pair.tau for j in range(NODES) if j != anchor
                    ]
                loss += (
                    share
                    * (math.log(sum(map(math.exp, terms))) - float(u[i] @ v[node]) / pair.tau)
                    / (2 * NODES)
                )
    return loss


@pytest.mark.parametrize("intra", [True, False])
def test_the_loss_has_both_nodes_as_positives(intra: bool) -> None:
    strategy, pair = made(), pair_of(intra=intra)
    mixture = strategy.mixture(NODES, CPU)
    assert not torch.equal(mixture.partner, torch.arange(NODES))
    for block in (None, 1, 4):
        assert float(strategy(replace(pair, block=block)).value) == pytest.approx(
            plain_loss(pair, mixture), abs=1e-10
        )


@pytest.mark.parametrize("block", [None, 2])
def test_the_gradient_agrees_with_finite_differences(block: int | None) -> None:
    strategy, pair = made(), pair_of(block=block)
    strategy.mixture(NODES, CPU)
    u, v = pair.u.requires_grad_(), pair.v.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda u, v: strategy(replace(pair, u=u, views=(v,))).value, (u, v)
    )


@pytest.mark.parametrize("alpha", [0.3, 1.0, 4.0])
def test_shares_follow_a_beta_distribution_folded_at_one_half(alpha: float) -> None:
    mixture = made(alpha, nodes=4000).mixture(4000, CPU)
    share = mixture.share[:, 0].double().numpy()
    assert mixture.share.shape == (4000, 1) and share.min() >= 0.5
    folded = lambda x: beta.cdf(x, alpha, alpha) - beta.cdf(1 - x, alpha, alpha)  # noqa: E731
    assert kstest(share, folded).pvalue > 1e-3
    assert torch.equal(mixture.partner.sort().values, torch.arange(4000))


def test_draws_differ_between_iterations_and_repeat_with_the_seed() -> None:
    first, second = made(), made()
    draws = [first.mixture(NODES, CPU), first.mixture(NODES, CPU), second.mixture(NODES, CPU)]
    assert not torch.equal(draws[0].share, draws[1].share)
    assert torch.equal(draws[0].share, draws[2].share) and torch.equal(
        draws[0].partner, draws[2].partner
    )


def test_shares_name_the_node_and_its_partner() -> None:
    strategy = made()
    assert strategy.report(pair_of()).mixture is None, "nothing is drawn yet"
    mixture = strategy.mixture(NODES, CPU)
    rows = strategy.report(pair_of()).mixture
    assert rows is not None
    whole = rows(0, NODES)
    assert torch.allclose(whole.sum(dim=1), torch.ones(NODES, dtype=torch.float64))
    assert torch.equal(rows(2, 4), whole[2:4])
    for i in range(NODES):
        expected = float(mixture.share[i]) + (
            1 - float(mixture.share[i]) if int(mixture.partner[i]) == i else 0
        )
        assert float(whole[i, i]) == pytest.approx(expected)


def test_a_method_that_does_not_mix_inputs_is_refused() -> None:
    with pytest.raises(
        Unsupported, match="this method does not let a strategy do so; try it with method=grace"
    ):
        made()(pair_of())


def test_a_graph_of_one_node_is_refused() -> None:
    with pytest.raises(Unsupported, match="hence needs two nodes, and this graph has one"):
        made(nodes=1)


def test_alpha_must_be_positive() -> None:
    with pytest.raises(ConfigErrors, match=r"negatives\.alpha=0 is out of range: it must be > 0"):
        experiment_of(["method=grace", "dataset=cora", "negatives=imix", "negatives.alpha=0"])
