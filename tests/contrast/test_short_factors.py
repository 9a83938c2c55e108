"""Tiles whose products have bfloat16 factors, made in either way."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import emulated_bfloat16
import pytest
import torch
from torch import Tensor

from gclbench.contrast import panel as panel_module
from gclbench.contrast import short_factors
from gclbench.contrast.panel import panel
from gclbench.machine.precision import (
    FACTORS_IN_CONTRASTS,
    IN_CONTRASTS,
    exact_products,
    products,
    trained_with,
)

NODES, OTHERS, WIDTH = 30, 41, 16
SCALE = 2.5
BFLOAT16 = 2.0**-9
"""Half a unit in the last place: of either factor, and of the product."""


@pytest.fixture(autouse=True)
def with_amx(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds as torch does with AMX. torch itself leaves products of this size at float32."""
    real = short_factors.matmul_precision

    def emulated(name: str) -> contextlib.AbstractContextManager[None]:
        return emulated_bfloat16.emulated() if name == short_factors.SHORT else real(name)

    monkeypatch.setattr(short_factors, "matmul_precision", emulated)


@pytest.fixture(params=[IN_CONTRASTS, FACTORS_IN_CONTRASTS])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def fast(way: str) -> Iterator[None]:
    with trained_with(way), products():
        yield


def unit(count: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    x = torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    return torch.nn.functional.normalize(x).requires_grad_()


WEIGHTS = torch.rand(NODES, OTHERS, generator=torch.Generator().manual_seed(3))
AMONG = torch.rand(NODES, NODES, generator=torch.Generator().manual_seed(4))


def reduced(case: str, block: int | None) -> tuple[list[Tensor], list[Tensor]]:
    """The reductions, and the gradients of their sum of squares."""
    u, v = unit(NODES, 0), unit(OTHERS, 1)
    if case == "across":
        heads = (None, lambda start, stop: WEIGHTS[start:stop])
        found = panel(u, v, SCALE, heads, columns=True, block=block)
    elif case == "among":
        found = panel(u, u, SCALE, skip_self=True, block=block)
    elif case == "both":
        heads = (None,)
        found = panel(u, u, SCALE, heads, symmetric=True, columns=True, block=block)
    else:
        turned = (lambda start, stop: AMONG.T[start:stop],)
        heads = (lambda start, stop: AMONG[start:stop],)
        found = panel(u, u, SCALE, heads, symmetric=True, column_heads=turned, block=block)
    outputs = [*found.rows, *found.columns]
    inputs = [u, v] if case == "across" else [u]
    total = torch.stack([output.square().sum() for output in outputs]).sum()
    return outputs, list(torch.autograd.grad(total, inputs))


@pytest.mark.parametrize("case", ["across", "among", "turned", "both"])
def test_tiles_are_the_same_kept_and_made_again(
    case: str, fast: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several blocks, which are as one."""
    whole = reduced(case, None)
    monkeypatch.setattr(panel_module, "TILE_ROWS", 8)
    kept = reduced(case, None)
    monkeypatch.setattr(panel_module, "KEPT_BYTES", 0)
    again = reduced(case, None)
    for one, two, three in zip(
        *((*each[0], *each[1]) for each in (kept, again, whole)), strict=True
    ):
        assert torch.equal(one, two)
        error = (one - three).detach().norm() / three.detach().norm()
        assert float(error) < 3 * SCALE * BFLOAT16


@pytest.mark.parametrize("block", [None, 7])
@pytest.mark.parametrize("case", ["across", "among", "turned", "both"])
def test_near_the_exact_ones_and_not_the_same(case: str, block: int | None, way: str) -> None:
    exact = reduced(case, block)
    with trained_with(way), products():
        found = reduced(case, block)
    for short, long in zip((*found[0], *found[1]), (*exact[0], *exact[1]), strict=True):
        error = float((short - long).detach().norm() / long.detach().norm())
        assert 1e-5 < error < 3 * SCALE * BFLOAT16
        assert short.dtype == torch.float32


def test_the_factors_are_rounded_vectors_about_the_mean(fast: None, way: str) -> None:
    u, v = unit(2, 0), unit(3, 1)
    own, middle = u - u.mean(dim=0), v.mean(dim=0)
    left, right = (2.5 * own).bfloat16(), (v - middle).bfloat16()
    product = (left @ right.T).float() if way == IN_CONTRASTS else left.float() @ right.float().T
    added = 2.5 * u @ middle, 2.5 * (v - middle) @ u.mean(dim=0)
    expected = product + added[0][:, None] + added[1]
    found = panel(u, v, 2.5).rows[0]
    torch.testing.assert_close(found, expected.logsumexp(dim=1), rtol=1e-6, atol=1e-6)
    assert not torch.allclose(found, (2.5 * u @ v.T).logsumexp(dim=1), rtol=1e-6, atol=1e-6)


def errors(case: str, common: float, made: type[short_factors.Centred]) -> tuple[float, float]:
    """Of fast products, for rows that share this number in each column: of the log-sum-exps beside
    their deviation, and of the gradient, relative."""
    rows, pulls = [], []
    for short in (False, True):
        u, v = (
            torch.nn.functional.normalize(unit(NODES, seed).detach() + common).requires_grad_()
            for seed in (0, 1)
        )
        with short_factors.short_factors(made if short else None):
            if case == "across":
                found = panel(u, v, SCALE, columns=True, block=7)
            else:
                found = panel(u, u, SCALE, skip_self=True, block=7)
            total = torch.stack([*found.rows, *found.columns]).sum()
            (pull,) = torch.autograd.grad(total, u)
        rows.append(found.rows[0].detach())
        # What a change of the row's length would do counts for nothing.
        pulls.append((pull - (pull * u).sum(dim=1, keepdim=True) * u).detach())
    return (
        float((rows[1] - rows[0]).norm() / (rows[0] - rows[0].mean()).norm()),
        float((pulls[1] - pulls[0]).norm() / pulls[0].norm()),
    )


@pytest.mark.parametrize("case", ["across", "among"])
def test_rows_that_point_nearly_one_way_are_told_apart(case: str) -> None:
    """As they point early in a training. Copies of the vectors as they are would not tell them."""
    for centred in (short_factors.Copies, short_factors.ByTorch):
        assert max(errors(case, 3.0, centred)) < BFLOAT16
    assert min(errors(case, 3.0, emulated_bfloat16.AsTheyAre)) > 5 * BFLOAT16


def test_torch_shortens_the_products_of_both_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile has one product in the forward pass, and one for either side in the backward pass."""
    entered: list[str] = []
    now = short_factors.matmul_precision
    monkeypatch.setattr(
        short_factors, "matmul_precision", lambda name: (entered.append(name), now(name))[1]
    )
    u, v, counts = unit(NODES, 0), unit(OTHERS, 1), []
    with trained_with(FACTORS_IN_CONTRASTS), products():
        total = panel(u, v, SCALE).rows[0].sum()
        counts.append(entered.count(short_factors.SHORT))
        total.backward()
        counts.append(entered.count(short_factors.SHORT))
    assert counts == [1, 3]


def test_no_candidates_have_no_pull(fast: None) -> None:
    u = unit(NODES, 0)
    found = panel(u, u.new_zeros(0, WIDTH), SCALE).rows[0]
    assert torch.equal(found, torch.full((NODES,), -torch.inf))
    (pull,) = torch.autograd.grad(found.exp().sum(), u)
    assert torch.equal(pull, torch.zeros(NODES, WIDTH))


def test_what_is_not_short(fast: None) -> None:
    """Not outside a step, not what decides in it, not float64, not beyond what float32 holds."""
    u, v = unit(NODES, 0), unit(OTHERS, 1)
    with exact_products():
        exact = panel(u, v, SCALE).rows[0]
    assert not torch.equal(panel(u, v, SCALE).rows[0], exact)
    wide = panel(u.double(), v.double(), SCALE).rows[0]
    torch.testing.assert_close(wide, torch.logsumexp(SCALE * u.double() @ v.double().T, dim=1))
    cold = panel(u, v, 60.0).rows[0]
    torch.testing.assert_close(cold, torch.logsumexp(60 * u @ v.T, dim=1), rtol=1e-5, atol=1e-5)


def test_only_the_products_of_contrasts_are_short(fast: None) -> None:
    a, b = torch.randn(2, 96, 96, generator=torch.Generator().manual_seed(0))
    assert torch.get_float32_matmul_precision() == "highest"
    with exact_products():
        exact = a @ b
    assert torch.equal(a @ b, exact)


def test_the_backward_pass_is_short_as_the_forward_pass_was(way: str) -> None:
    """Wherever it runs: torch may call it outside the block."""
    gradients = []
    for inside in (True, False):
        u, v = unit(NODES, 0), unit(OTHERS, 1)
        with trained_with(way), products():
            total = panel(u, v, SCALE, block=7).rows[0].sum()
            if inside:
                total.backward()
        if not inside:
            total.backward()
        gradients.append(u.grad)
    assert torch.equal(*gradients)


def test_without_a_fast_step_nothing_is_rounded() -> None:
    u, v = unit(NODES, 0), unit(OTHERS, 1)
    torch.testing.assert_close(
        panel(u, v, SCALE).rows[0], torch.logsumexp(SCALE * u @ v.T, dim=1), rtol=1e-6, atol=1e-6
    )
