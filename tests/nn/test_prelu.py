"""PReLU and the randomised ReLU: the bits of torch's own formulas, without branches."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from gclbench.nn.gcn import RandomisedReLU
from gclbench.nn.prelu import PReLU


def inputs(*shape: int) -> tuple[Tensor, Tensor]:
    """Values of both signs with a zero among them, and a gradient."""
    generator = torch.Generator().manual_seed(len(shape))
    x = torch.randn(shape, generator=generator)
    x.view(-1)[0] = 0.0
    return x.requires_grad_(), torch.randn(shape, generator=generator)


@pytest.mark.parametrize("shape", [(5,), (1, 1), (33, 65), (1000, 17), (3, 4, 5)])
@pytest.mark.parametrize("slope", [0.25, -0.3, 0.0])
def test_values_and_gradients_are_those_of_torch(shape: tuple[int, ...], slope: float) -> None:
    x, gradient = inputs(*shape)
    torchs, ours = nn.PReLU(), PReLU()
    found = []
    for layer in (torchs, ours):
        with torch.no_grad():
            layer.weight.fill_(slope)
        value = layer(x)
        found.append((value, *torch.autograd.grad(value, (x, layer.weight), gradient)))
    for theirs, own in zip(*found, strict=True):
        assert torch.equal(theirs, own) and theirs.shape == own.shape


def test_the_slopes_gradient_is_summed_in_torchs_order() -> None:
    """Of so many elements that threads share the sum, and of a transposed gradient."""
    x, gradient = inputs(300, 257)
    turned = gradient.T.contiguous().T
    before = torch.get_num_threads()
    try:
        for threads, pull in ((1, gradient), (2, gradient), (2, turned)):
            torch.set_num_threads(threads)
            theirs, ours = (
                torch.autograd.grad(layer(x), (x, layer.weight), pull)
                for layer in (nn.PReLU(), PReLU())
            )
            assert all(torch.equal(one, other) for one, other in zip(theirs, ours, strict=True))
    finally:
        torch.set_num_threads(before)


def test_a_state_is_one_of_torch() -> None:
    assert PReLU().state_dict() == nn.PReLU().state_dict()
    assert list(PReLU().state_dict()) == ["weight"]


@pytest.mark.parametrize("of", ["x", "slope"])
def test_only_what_is_asked_for_has_a_gradient(of: str) -> None:
    x, gradient = inputs(7, 3)
    layer = PReLU()
    if of == "x":
        layer.requires_grad_(False)
    else:
        x = x.detach()
    layer(x).backward(gradient)
    assert (x.grad is not None) == (of == "x")
    assert (layer.weight.grad is not None) == (of == "slope")


def test_what_is_no_number_stays_so() -> None:
    x = torch.tensor([torch.nan, 1.0, -1.0], requires_grad=True)
    layer = PReLU()
    layer(x).sum().backward()
    assert layer.weight.grad is not None and layer.weight.grad.isnan().all()
    torch.testing.assert_close(layer(x).detach().nan_to_num(7.0), torch.tensor([7.0, 1.0, -0.25]))


def test_a_randomised_relu_takes_one_slope_per_element_where_x_is_negative() -> None:
    x, gradient = inputs(50, 20)
    layer = RandomisedReLU()
    layer.generator = torch.Generator().manual_seed(3)
    value = layer(x)
    (found,) = torch.autograd.grad(value, x, gradient)
    slope = torch.empty(x.shape).uniform_(1 / 8, 1 / 3, generator=torch.Generator().manual_seed(3))
    assert torch.equal(value, torch.where(x < 0, x * slope, x))
    assert torch.equal(found, torch.where(x < 0, gradient * slope, gradient))
