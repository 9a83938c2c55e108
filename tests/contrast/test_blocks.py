"""Row functions in recomputed blocks: the same numbers and gradients for every block size, and no
tile kept."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import Tensor

from gclbench.contrast import blocks
from gclbench.contrast.blocks import Window, block_rows, by_blocks, by_windows, sums_by_blocks
from gclbench.contrast.heap import glibc


def matrix(rows: int, columns: int, seed: int) -> Tensor:
    return torch.randn(
        rows, columns, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


@pytest.mark.parametrize("width", [None, 2])
@pytest.mark.parametrize("block", [1, 2, 3, 6, 7, 50])
def test_values_and_gradients_do_not_depend_on_the_block(block: int, width: int | None) -> None:
    """A function of its rows, of all candidates and of a parameter that no argument names."""
    u, v, scale = (
        matrix(7, 3, 0).requires_grad_(),
        matrix(5, 3, 1).requires_grad_(),
        torch.tensor(0.7).double().requires_grad_(),
    )

    def function(start: int, stop: int) -> Tensor:
        tile = torch.tanh(u[start:stop] @ v.T * scale)
        return tile.sum(dim=1) if width is None else tile[:, :width].square()

    found = by_blocks(function, 7, block)
    wanted = function(0, 7)
    assert torch.equal(found, wanted) or torch.allclose(found, wanted, rtol=1e-12, atol=0)
    pull = matrix(*(7, width or 1), 2).reshape(wanted.shape)
    torch.testing.assert_close(
        torch.autograd.grad((found * pull).sum(), (u, v, scale)),
        torch.autograd.grad((wanted * pull).sum(), (u, v, scale)),
    )


def test_gradient_equals_finite_differences() -> None:
    u = matrix(5, 2, 0).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda z: by_blocks(
            lambda start, stop: (z[start:stop] @ z.T).sort(dim=1).values[:, 1], 5, 2
        ),
        (u,),
    )


def test_blocks_are_dropped_after_the_forward_pass_and_made_again_in_the_backward_pass() -> None:
    calls: list[tuple[int, int]] = []
    saved: list[int] = []
    u = matrix(40, 2, 0).requires_grad_()

    def function(start: int, stop: int) -> Tensor:
        calls.append((start, stop))
        return torch.exp(u[start:stop] @ u.T).sum(dim=1)

    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: saved.append(tensor.numel()) or tensor, lambda tensor: tensor
    ):
        total = by_blocks(function, 40, 16).sum()
    assert calls == [(0, 16), (16, 32), (32, 40)]
    assert max(saved, default=0) <= 80, "nothing of a tile's 640 entries"
    total.backward()
    assert sorted(calls[3:]) == [(0, 16), (16, 32), (32, 40)]


def test_without_gradients_nothing_is_recomputed() -> None:
    calls: list[int] = []

    def function(start: int, stop: int) -> Tensor:
        calls.append(start)
        return torch.arange(start, stop)

    with torch.no_grad():
        assert by_blocks(function, 5, 2).tolist() == [0, 1, 2, 3, 4]
    assert calls == [0, 2, 4]


def test_the_global_random_state_is_left_alone() -> None:
    """Blocks are recomputed without touching torch's generator, from which nothing may be drawn in
    a loop."""
    u = matrix(6, 2, 0).requires_grad_()
    before = torch.random.get_rng_state()
    by_blocks(lambda start, stop: u[start:stop].exp(), 6, 2).sum().backward()
    assert torch.equal(torch.random.get_rng_state(), before)


def test_rows_per_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "KEPT_ENTRIES", 100)
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 40)
    assert block_rows(10, 10) == 10, "all at once as long as it is small"
    assert block_rows(11, 10) == 4
    assert block_rows(10, 10, per_entry=2) == 2
    assert block_rows(10, 100) == 1, "one row at least"
    assert block_rows(0, 10) == 1
    assert block_rows(1000, 0) == 1000


@pytest.mark.parametrize("block", [1, 2, 3, 6, 7, 50])
def test_sums_and_their_gradients_do_not_depend_on_the_block(block: int) -> None:
    """Of rows, of one that asks for no gradient, and of what all blocks share."""
    u, weight = matrix(7, 3, 0).requires_grad_(), matrix(7, 1, 3)
    v, scale = matrix(5, 3, 1).requires_grad_(), torch.tensor(0.7).double().requires_grad_()

    def function(rows: Tensor, weight: Tensor, v: Tensor, scale: Tensor) -> Tensor:
        tile = torch.tanh(rows @ v.T * scale) * weight
        return torch.stack([tile.square().sum(), tile.exp().sum()])

    total, terms = sums_by_blocks(function, (u, weight), (v, scale), block)
    wanted = function(u, weight, v, scale)
    torch.testing.assert_close(terms, wanted.detach())
    assert not terms.requires_grad
    torch.testing.assert_close(
        torch.autograd.grad(total * 3, (u, v, scale)),
        torch.autograd.grad(wanted.sum() * 3, (u, v, scale)),
    )


def test_sums_compute_each_block_once() -> None:
    calls: list[int] = []
    u = matrix(40, 2, 0).requires_grad_()

    def function(rows: Tensor, others: Tensor) -> Tensor:
        calls.append(len(rows))
        return torch.exp(rows @ others.T).sum()[None]

    total, _ = sums_by_blocks(function, (u,), (u.detach(),), 16)
    total.backward()
    assert calls == [16, 16, 8]
    with torch.no_grad():
        alone, _ = sums_by_blocks(function, (u,), (u,), 40)
    torch.testing.assert_close(alone, total.detach())


PEAK = """
import resource, torch
from gclbench.contrast.blocks import block_rows, by_blocks
from gclbench.machine.allocator import reusing_memory
torch.set_num_threads(1)
count = 8000
u, v = (torch.randn(count, 4, requires_grad=True) for _ in range(2))
least = {}
def rows(start, stop):
    theta = u[start:stop] @ v.T
    if start not in least:
        negative = theta.detach().clone()
        negative.diagonal(offset=start).fill_(-torch.inf)
        most = negative.topk(count // 10, dim=1, sorted=False).values
        least[start] = most.amin(dim=1, keepdim=True)
    masked = theta.detach() > least[start]
    across = (theta * 2).masked_fill(masked, -torch.inf)
    out = masked.clone()
    out.diagonal(offset=start).fill_(True)
    within = (u[start:stop] @ u.T * 2).masked_fill(out, -torch.inf)
    return torch.logaddexp(torch.logsumexp(across, dim=1), torch.logsumexp(within, dim=1))
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
before = peak()
with reusing_memory():
    by_blocks(rows, count, block_rows(count, count, 6)).sum().backward()
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(glibc() is None, reason="the C library is not glibc")
def test_resident_memory_does_not_grow_with_the_pairs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PEAK], capture_output=True, text=True, check=True, timeout=600
    )
    # A float32 for each pair would be 244 MiB. As many as three stayed where holes did not fit.
    assert int(done.stdout) < 450


WINDOWS = [Window(0, 2, 0, 4), Window(2, 5, 1, 7), Window(5, 7, 4, 7)]


@pytest.mark.parametrize("windows", [WINDOWS, [Window(0, 7, 0, 7)]])
def test_windows_give_the_values_and_gradients_of_the_whole(windows: list[Window]) -> None:
    u, v, fixed = (
        matrix(7, 3, 0).requires_grad_(),
        matrix(7, 3, 1).requires_grad_(),
        matrix(7, 3, 2),
    )

    def function(window: Window, u: Tensor, v: Tensor, fixed: Tensor) -> Tensor:
        own = slice(window.start - window.low, window.stop - window.low)
        return torch.tanh(u[own] * v[own]) + (u * fixed).sum() * 0 + fixed[own]

    found, (u_again, v_again, _) = by_windows(function, windows, u, v, fixed)
    wanted = torch.tanh(u * v) + fixed
    torch.testing.assert_close(found, wanted)
    pull = matrix(7, 3, 3)
    torch.testing.assert_close(
        torch.autograd.grad((found * pull).sum() + (u_again * v_again).sum(), (u, v)),
        torch.autograd.grad((wanted * pull).sum() + (u * v).sum(), (u, v)),
    )


def test_inputs_of_windows_have_their_gradient_where_the_rows_are_not_used() -> None:
    u = matrix(7, 3, 0).requires_grad_()
    _, (again,) = by_windows(lambda window, u: u[: window.stop - window.start], WINDOWS, u)
    assert torch.equal(torch.autograd.grad(again.sum(), u)[0], torch.ones(7, 3).double())


def test_a_window_is_made_again_in_the_backward_pass_and_keeps_nothing() -> None:
    calls: list[Window] = []
    u = matrix(7, 3, 0).requires_grad_()

    def function(window: Window, u: Tensor) -> Tensor:
        calls.append(window)
        return u[window.start - window.low : window.stop - window.low].exp()

    rows, _ = by_windows(function, WINDOWS, u)
    assert calls == WINDOWS
    rows.sum().backward()
    assert calls[3:] == WINDOWS[::-1]
    assert u.grad is not None
    torch.testing.assert_close(u.grad, u.detach().exp())
