"""M-Mix's node objective against a plain double loop, the diversity loss, what is evaluated."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from mmix_loops import (
    CPU,
    EDGE_INDEX,
    NODES,
    SETTINGS,
    THRESHOLD,
    made,
    pair_of,
    plain_shares,
    shares_of,
)
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.contrast.objectives import inter_view_nce
from gclbench.negatives.mmix import VARIANTS, Mmix, MmixNegatives, diversity_loss
from gclbench.negatives.strategy import Pair
from gclbench.training.streams import Streams


@torch.no_grad()
def plain_objective(strategy: MmixNegatives, pair: Pair) -> float:
    """Eqs. 9 and 10 by loops."""
    z, v = normalize(pair.u, dim=1), normalize(pair.v, dim=1)
    g = normalize(strategy.head(plain_shares(strategy, z) @ z), dim=1)
    loss = 0.0
    for a, b in ((g, v), (v, g)):
        for i in range(NODES):
            across = [float(a[i] @ b[j]) / pair.tau for j in range(NODES)]
            within = (
                [float(a[i] @ a[j]) / pair.tau for j in range(NODES) if j != i]
                if pair.intra
                else []
            )
            loss += (math.log(sum(map(math.exp, across + within))) - across[i]) / (2 * NODES)
    if strategy.settings.diversity and strategy.query is not None and strategy.key is not None:
        q, k = (
            normalize(z @ strategy.query.weight.T, dim=1),
            normalize(z @ strategy.key.weight.T, dim=1),
        )
        loss -= float((q - k).square().sum()) / NODES
    return loss


@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize(
    "variant,scope,diversity",
    [*((variant, scope, True) for variant, scope in SETTINGS), ("mp", "wp", False)],
)
def test_the_node_objective_is_the_printed_one(
    variant: str, scope: str, diversity: bool, intra: bool
) -> None:
    strategy = made(Mmix(variant=variant, scope=scope, diversity=diversity, threshold=THRESHOLD))
    pair = pair_of(intra=intra)
    state = strategy.generators["negatives"].get_state()
    expected = plain_objective(strategy, pair)
    for block in (None, 1, 2, NODES):
        strategy.generators["negatives"].set_state(state)
        loss = strategy(replace(pair, block=block))
        assert float(loss.value.detach()) == pytest.approx(expected, abs=1e-10)
    assert set(loss.terms) == (
        {"contrast", "diversity"} if variant == "mp" and diversity else {"contrast"}
    )


@pytest.mark.parametrize("variant,scope", SETTINGS)
@pytest.mark.parametrize("gradient", [True, False])
def test_loss_and_gradient_do_not_depend_on_the_block(
    variant: str, scope: str, gradient: bool
) -> None:
    settings = Mmix(variant=variant, scope=scope, threshold=0.1, gradient=gradient)
    found = []
    for block in (None, 1, 4):
        strategy, pair = made(settings), pair_of(block=block)
        pair = replace(pair, u=pair.u.requires_grad_(), views=(pair.v.requires_grad_(),))
        loss = strategy(pair).value
        loss.backward()
        assert pair.u.grad is not None and pair.v.grad is not None
        grads = [
            parameter.grad
            for parameter in strategy.joint_parameters()
            if parameter.grad is not None
        ]
        found.append(
            torch.cat(
                [
                    loss.detach()[None],
                    pair.u.grad.flatten(),
                    pair.v.grad.flatten(),
                    *map(torch.flatten, grads),
                ]
            )
        )
    assert torch.isfinite(found[0]).all() and float(found[0].abs().max()) > 0
    assert torch.allclose(found[0], found[1], rtol=0, atol=1e-12) and torch.allclose(
        found[0], found[2], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("block", [None, 4])
@pytest.mark.parametrize("variant,scope", SETTINGS)
def test_the_gradient_agrees_with_finite_differences(
    variant: str, scope: str, block: int | None
) -> None:
    """With respect to both views, the MLP g and, of `mp`, P_m and P_n."""
    strategy, pair = (
        made(Mmix(variant=variant, scope=scope, threshold=THRESHOLD)),
        pair_of(block=block),
    )
    state, names = (
        strategy.generators["negatives"].get_state(),
        [name for name, _ in strategy.named_parameters()],
    )
    assert ("query.weight" in names and "key.weight" in names) == (variant == "mp")

    def loss(u: Tensor, v: Tensor, *parameters: Tensor) -> Tensor:
        strategy.generators["negatives"].set_state(state)
        return torch.func.functional_call(
            strategy, dict(zip(names, parameters)), replace(pair, u=u, views=(v,))
        ).value

    assert torch.autograd.gradcheck(
        loss,
        (pair.u.requires_grad_(), pair.v.requires_grad_(), *strategy.parameters()),
        fast_mode=True,
    )


def test_constant_shares_leave_the_projections_to_the_diversity_loss() -> None:
    frozen = made(Mmix(diversity=False, gradient=False))
    frozen(pair_of()).value.backward()
    assert frozen.query is not None and frozen.query.weight.grad is None
    learned = made(Mmix(diversity=False))
    learned(pair_of()).value.backward()
    assert learned.query is not None and learned.query.weight.grad is not None
    assert float(learned.query.weight.grad.abs().max()) > 0


@pytest.mark.parametrize("variant,scope", SETTINGS)
def test_constant_shares_leave_the_embeddings_what_they_are_mixed_of(
    variant: str, scope: str
) -> None:
    """The gradient is that of mixtures by given shares."""
    settings = Mmix(
        variant=variant, scope=scope, threshold=THRESHOLD, diversity=False, gradient=False
    )
    strategy, pair = made(settings), pair_of(intra=False)
    shares = plain_shares(strategy, normalize(pair.u, dim=1))
    first, second = (pair.u.clone().requires_grad_() for _ in range(2))
    strategy(replace(pair, u=first)).value.backward()
    mixed = normalize(strategy.head(shares @ normalize(second, dim=1)), dim=1)
    inter_view_nce(mixed, normalize(pair.v, dim=1), pair.tau).backward()
    torch.testing.assert_close(first.grad, second.grad, rtol=0, atol=1e-12)
    assert float(second.grad.abs().max()) > 1e-3


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_encoders_optimiser_trains_all_of_its_weights(variant: str) -> None:
    """Those of g always, P_m and P_n where there are any."""
    strategy = made(Mmix(variant=variant))
    trained = {id(parameter) for parameter in strategy.joint_parameters()}
    # Two layers and two slopes: six; and the two projections.
    assert len(trained) == (8 if variant == "mp" else 6)
    assert trained == {id(parameter) for parameter in strategy.parameters()}


def test_weights_start_as_xavier_has_them() -> None:
    """Uniform to ±√(6 / (in + out)), wider than PyTorch's own; biases at 0, as in the papers."""
    strategy = Mmix().build(64, NODES, Streams(0), CPU)
    bound = math.sqrt(6 / 128)
    matrices = [parameter for parameter in strategy.parameters() if parameter.ndim == 2]
    assert len(matrices) == 4
    assert all(0.98 * bound < float(matrix.detach().abs().max()) <= bound for matrix in matrices)
    biases = [parameter for name, parameter in strategy.named_parameters() if name.endswith("bias")]
    assert len(biases) == 2 and not any(bool(bias.any()) for bias in biases)


def test_the_diversity_loss_lowers_the_self_share() -> None:
    """Minimised, it pushes q_i and k_i apart, which is what it is for (M-Mix paper, KDD 2022,
    Section 3.2)."""
    strategy = made(Mmix())
    assert strategy.query is not None and strategy.key is not None
    with torch.no_grad():
        strategy.key.weight.copy_(strategy.query.weight + 0.1 * strategy.key.weight)
    pair = pair_of()
    before = shares_of(strategy, pair)(0, 5).diagonal().mean()
    optimiser = torch.optim.SGD([strategy.query.weight, strategy.key.weight], lr=0.5)
    for _ in range(20):
        optimiser.zero_grad()
        diversity_loss(*strategy._projections(normalize(pair.u, dim=1))).backward()
        optimiser.step()
    assert shares_of(strategy, pair)(0, 5).diagonal().mean() < before - 0.05


def test_what_is_evaluated_is_of_both_branches() -> None:
    strategy, pair = made(Mmix(variant="mo")), pair_of()
    z = normalize(pair.u, dim=1)
    mixed = normalize(strategy.head(plain_shares(strategy, z) @ z), dim=1)
    first, second = strategy.branches(pair.u, EDGE_INDEX, pair.v)
    assert torch.allclose(first, mixed) and torch.allclose(second, normalize(pair.v, dim=1))
    assert torch.allclose(strategy.embed(pair.u, EDGE_INDEX), mixed + z)
