"""Products with masked columns against products with masked copies."""

from __future__ import annotations

import pytest
import torch

from gclbench.nn.masked_linear import masked_products

WIDTH = 9
DROPPED = {
    "none": [],
    "one": [4],
    "fewer than half": [0, 3, 8],
    "more than half": [0, 1, 2, 4, 5, 6, 8],
    "all but one": [0, 1, 2, 3, 4, 5, 6, 7],
}


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, WIDTH, generator=generator, dtype=torch.float64)
    return x, torch.randn(WIDTH, 3, generator=generator, dtype=torch.float64)


def masked_copy(x: torch.Tensor, columns: list[int]) -> torch.Tensor:
    copy = x.clone()
    for column in columns:
        copy[:, column] = 0.0
    return copy


@pytest.mark.parametrize("names", [[name] for name in DROPPED] + [list(DROPPED), []])
def test_values_and_gradients_equal_those_of_masked_copies(names):
    sets = [DROPPED[name] for name in names]
    x, weight = inputs()
    found_weight, wanted_weight = weight.clone().requires_grad_(), weight.clone().requires_grad_()
    found = masked_products(
        x, found_weight, [torch.tensor(columns, dtype=torch.int64) for columns in sets]
    )
    wanted = [x @ wanted_weight, *(masked_copy(x, columns) @ wanted_weight for columns in sets)]
    assert len(found) == len(wanted) == 1 + len(sets)
    torch.testing.assert_close(list(found), wanted)
    pull = torch.randn(
        len(wanted), 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    sum((factor * output).sum() for factor, output in zip(pull, found)).backward()
    sum((factor * output).sum() for factor, output in zip(pull, wanted)).backward()
    torch.testing.assert_close(found_weight.grad, wanted_weight.grad)


@pytest.mark.parametrize("used", range(4))
def test_gradient_when_only_one_product_is_used(used):
    """The others arrive without a gradient."""
    sets = [[0, 3], DROPPED["more than half"], []]
    x, weight = inputs()
    found_weight, wanted_weight = weight.clone().requires_grad_(), weight.clone().requires_grad_()
    masked_products(
        x, found_weight, [torch.tensor(columns, dtype=torch.int64) for columns in sets]
    )[used].square().sum().backward()
    (masked_copy(x, [[], *sets][used]) @ wanted_weight).square().sum().backward()
    torch.testing.assert_close(found_weight.grad, wanted_weight.grad)


def test_gradient_equals_finite_differences():
    x, weight = inputs()
    sets = [torch.tensor(columns, dtype=torch.int64) for columns in DROPPED.values()]
    assert torch.autograd.gradcheck(
        lambda w: masked_products(x, w, sets), (weight.requires_grad_(),)
    )


def test_input_and_weight_are_left_alone():
    x, weight = inputs()
    before = x.clone(), weight.clone()
    learner = weight.requires_grad_()
    outputs = masked_products(
        x, learner, [torch.tensor([1, 2]), torch.tensor(DROPPED["more than half"])]
    )
    sum(output.sum() for output in outputs).backward()
    assert torch.equal(x, before[0])
    assert torch.equal(weight.detach(), before[1])


def test_columns_that_are_masked_in_the_only_used_product_receive_no_gradient():
    x, weight = inputs()
    learner = weight.requires_grad_()
    masked_products(x, learner, [torch.tensor(DROPPED["more than half"])])[1].sum().backward()
    assert not bool(learner.grad[DROPPED["more than half"]].any())
    assert bool(learner.grad[[3, 7]].all())
