"""PHASES against plain loops over pairs."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.component.settings import bind
from gclbench.graph import Unsupported
from gclbench.negatives.phases import Phases, PhasesNegatives
from gclbench.negatives.strategy import Pair
from gclbench.negatives.uniform import UniformNegatives
from gclbench.training.loop import Step
from gclbench.training.streams import Streams

NODES, WIDTH = 9, 5


def random(seed: int) -> Tensor:
    return torch.randn(
        NODES, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def a_pair(iteration: int = 100, **more) -> Pair:
    return Pair(
        random(1).requires_grad_(), (random(2).requires_grad_(),), 0.4, Step(iteration, 100), **more
    )


def built(**settings) -> PhasesNegatives:
    made = Phases(**{"most": 0.4, **settings}).build(WIDTH, NODES, Streams(0), torch.device("cpu"))
    assert isinstance(made, PhasesNegatives)
    return made


def reference(pair: Pair, masked: int) -> Tensor:
    u, v = normalize(pair.u, dim=1), normalize(pair.v, dim=1)
    losses = []
    for a, b in ((u, v), (v, u)):
        theta, rho = a @ b.T / pair.tau, a @ a.T / pair.tau
        for i in range(NODES):
            ranked = sorted((j for j in range(NODES) if j != i), key=lambda j: -theta[i, j].item())
            below = torch.exp(theta[i, i])
            for j in ranked[masked:]:
                below = below + torch.exp(theta[i, j])
                if pair.intra:
                    below = below + torch.exp(rho[i, j])
            losses.append(-torch.log(torch.exp(theta[i, i]) / below))
    return torch.stack(losses).mean()


@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize("block", [None, 1, 4])
@pytest.mark.parametrize(("iteration", "masked"), [(100, 3), (80, 3), (50, 1), (60, 2)])
def test_loss_and_gradient_equal_those_of_a_loop_over_pairs(iteration, masked, block, intra):
    """Of 8 negatives: 0.4 is 3 of them, halfway 0.2 is 1, at two thirds 0.27 is 2."""
    ours = a_pair(iteration, block=block, intra=intra)
    plain = a_pair(iteration, intra=intra)
    loss = built()(ours).value
    wanted = reference(plain, masked)
    torch.testing.assert_close(loss, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(loss, (ours.u, ours.v)), torch.autograd.grad(wanted, (plain.u, plain.v))
    )


def test_single_precision_holds_the_smallest_temperature():
    """e^200 is no float32."""
    u, v = random(1).float().requires_grad_(), random(2).float().requires_grad_()
    ours = replace(a_pair(), u=u, views=(v,), tau=0.005)
    plain = replace(a_pair(), tau=0.005)
    loss, wanted = built()(ours).value, reference(plain, 3)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss.double(), wanted, rtol=1e-5, atol=0)
    gradient = torch.autograd.grad(loss, (u, v))
    right = torch.autograd.grad(wanted, (plain.u, plain.v))
    torch.testing.assert_close([x.double() for x in gradient], [*right], rtol=1e-4, atol=1e-4)


def test_gradient_equals_finite_differences():
    pair, strategy = a_pair(block=4), built()

    def loss(u: Tensor, v: Tensor) -> Tensor:
        return strategy(replace(pair, u=u, views=(v,))).value

    assert torch.autograd.gradcheck(loss, (pair.u, pair.v), fast_mode=True)


@pytest.mark.parametrize(
    ("iteration", "share"), [(1, 0.0), (20, 0.0), (35, 0.1), (50, 0.2), (80, 0.4), (100, 0.4)]
)
def test_the_share_rises_after_a_warm_up_and_the_loss_is_final_when_it_stands(iteration, share):
    strategy = built()
    assert strategy.share(Step(iteration, 100)) == pytest.approx(share)
    pair = a_pair(iteration)
    loss = strategy(pair)
    assert loss.final == (iteration >= 80)
    plain = UniformNegatives()(pair).value
    assert bool(loss.value == plain) == (iteration <= 35), "0.1 of 8 negatives is none"


def test_of_equal_similarities_none_is_masked():
    same = torch.ones(NODES, WIDTH, dtype=torch.float64)
    pair = replace(a_pair(), u=same, views=(same,))
    torch.testing.assert_close(built()(pair).value, UniformNegatives()(pair).value)


def test_one_negative_is_always_left():
    pair = a_pair()
    few = replace(pair, u=pair.u[:2], views=(pair.v[:2],))
    strategy = built(most=0.99)
    torch.testing.assert_close(strategy(few).value, UniformNegatives()(few).value)
    assert bool(strategy(pair).value.isfinite())


def test_the_report_is_the_mask():
    pair = a_pair()
    found = built().report(pair).weights
    assert found is not None
    theta = normalize(pair.u, dim=1) @ normalize(pair.v, dim=1).T
    weight = found(0, NODES)
    for i in range(NODES):
        ranked = sorted((j for j in range(NODES) if j != i), key=lambda j: -theta[i, j].item())
        assert [float(weight[i, j]) for j in ranked] == pytest.approx([0.0] * 3 + [8 / 5] * 5)
    early = built().report(a_pair(10)).weights
    assert early is not None and bool((early(0, NODES) == 1).all())


def test_what_it_needs_is_said():
    with pytest.raises(Unsupported, match="needs two nodes or more, and this graph has 1"):
        Phases().build(WIDTH, 1, Streams(0), torch.device("cpu"))
    errors: list[str] = []
    assert bind(Phases, {"begin": 0.8, "end": 0.5}, "negatives", errors) is None
    assert errors == [
        "negatives: begin=0.8 must be less than end=0.5, for example negatives.begin=0.2"
        " negatives.end=0.8"
    ]


PEAK = """
import resource, torch
from gclbench.machine.allocator import reusing_memory
from gclbench.negatives.phases import Phases
from gclbench.negatives.strategy import Pair
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
torch.set_num_threads(1)
nodes = 8000
u, v = (torch.randn(nodes, 4, requires_grad=True) for _ in range(2))
strategy = Phases(end=0.5).build(4, nodes, Streams(0), u.device)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
before = peak()
with reusing_memory():
    strategy.loss(Pair(u, (v,), 0.5, Step(1, 1))).value.backward()
print(peak() - before)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_pairs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PEAK], capture_output=True, text=True, check=True, timeout=600
    )
    # A float32 for each pair would be 244 MiB.
    assert int(done.stdout) < 200
