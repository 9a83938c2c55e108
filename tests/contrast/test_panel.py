"""The row-block engine against a plain double loop, and its gradient against autograd and finite
differences."""

from __future__ import annotations

import math

import pytest
import torch
from panel_loops import blockwise, double_loop, naive, pair_weights, unit
from torch import Tensor

from gclbench.contrast.panel import TILE_ROWS, paired, panel

BLOCKS = (None, 1, 2, 3, 5, 7, 100)


@pytest.mark.parametrize("skip_self", [False, True])
@pytest.mark.parametrize("block", BLOCKS)
def test_rows_columns_and_heads_equal_a_double_loop(block, skip_self):
    count, others = (7, 7) if skip_self else (7, 5)
    u, v = unit(count), unit(others, seed=1)
    weights = pair_weights(count, others)
    mask = (pair_weights(count, others, seed=6) > 0).double()
    reduced = panel(
        u,
        v,
        2.5,
        (None, blockwise(weights), blockwise(mask)),
        skip_self=skip_self,
        columns=True,
        block=block,
    )
    for head, given in enumerate((None, weights, mask)):
        wanted_rows, wanted_columns = double_loop(u, v, 2.5, given, skip_self)
        torch.testing.assert_close(reduced.rows[head].tolist(), wanted_rows)
        torch.testing.assert_close(reduced.columns[head].tolist(), wanted_columns)


def test_columns_only_when_asked_for():
    assert panel(unit(3), unit(4, seed=1), 1.0).columns == ()
    reduced = panel(unit(3), unit(4, seed=1), 1.0, columns=True)
    assert reduced.rows[0].shape == (3,)
    assert reduced.columns[0].shape == (4,)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("skip_self", [False, True])
@pytest.mark.parametrize("block", BLOCKS)
def test_gradient_equals_autograd_of_the_whole_matrix(block, skip_self, columns):
    count = 7
    weights = pair_weights(count, count)
    pull = torch.randn(4, count, dtype=torch.float64, generator=torch.Generator().manual_seed(9))

    def loss(outputs: list[Tensor]) -> Tensor:
        return sum((factor * output).sum() for factor, output in zip(pull, outputs))

    gradients = []
    for engine in (True, False):
        u, v = unit(count).requires_grad_(), unit(count, seed=1).requires_grad_()
        if engine:
            reduced = panel(
                u,
                v,
                3.0,
                (None, blockwise(weights)),
                skip_self=skip_self,
                columns=columns,
                block=block,
            )
            outputs = [*reduced.rows, *reduced.columns]
        else:
            plain, weighted = (
                naive(u, v, 3.0, None, skip_self),
                naive(u, v, 3.0, weights, skip_self),
            )
            outputs = [plain[0], weighted[0]] + ([plain[1], weighted[1]] if columns else [])
        loss(outputs).backward()
        gradients.append((u.grad, v.grad))
    torch.testing.assert_close(gradients[0], gradients[1])


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("skip_self", [False, True])
@pytest.mark.parametrize("block", BLOCKS)
def test_self_panel_gradient_counts_both_sides(block, skip_self, columns):
    """Anchors that are the candidates receive the gradient of both roles."""
    weights = pair_weights(6, 6)  # not symmetric, so the two roles differ
    pull = torch.randn(2, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    gradients = []
    for engine in (True, False):
        z = unit(6).requires_grad_()
        if engine:
            reduced = panel(
                z, z, 2.0, (blockwise(weights),), skip_self=skip_self, columns=columns, block=block
            )
            outputs = [*reduced.rows, *reduced.columns]
        else:
            outputs = list(naive(z, z, 2.0, weights, skip_self))[: 2 if columns else 1]
        sum((factor * output).sum() for factor, output in zip(pull, outputs)).backward()
        gradients.append(z.grad)
    torch.testing.assert_close(gradients[0], gradients[1])


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("skip_self", [False, True])
@pytest.mark.parametrize("block", BLOCKS)
def test_symmetric_weights_give_the_same_from_half_the_pairs(block, skip_self, columns):
    weights = pair_weights(7, 7)
    weights = weights + weights.T
    heads = (blockwise(weights), None, blockwise(weights.sqrt()))
    pull = torch.randn(6, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    found = []
    for symmetric in (True, False):
        z = unit(7).requires_grad_()
        reduced = panel(
            z,
            z,
            2.0,
            heads,
            skip_self=skip_self,
            symmetric=symmetric,
            columns=columns,
            block=block,
        )
        outputs = [*reduced.rows, *reduced.columns]
        sum((factor * output).sum() for factor, output in zip(pull, outputs)).backward()
        found.append((*outputs, z.grad))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("skip_self", [False, True])
@pytest.mark.parametrize("candidates", ["across", "across, weighted", "among"])
def test_several_kept_tiles_give_the_value_and_the_gradient_of_the_whole_matrix(
    candidates, skip_self
):
    """Nothing is recomputed, so each tile must still hold its own numbers in the backward pass."""
    count = 2 * TILE_ROWS + 88
    weights = pair_weights(count, count) if candidates == "across, weighted" else None
    pull = torch.randn(2, count, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    saved: list[tuple[int, ...]] = []

    def pack(tensor: Tensor) -> Tensor:
        saved.append(tuple(tensor.shape))
        return tensor

    found = []
    for engine in (True, False):
        u, v = unit(count).requires_grad_(), unit(count, seed=1).requires_grad_()
        others = u if candidates == "among" else v
        if engine:
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                heads = (None if weights is None else blockwise(weights),)
                reduced = panel(u, others, 3.0, heads, skip_self=skip_self, columns=True)
            outputs = (reduced.rows[0], reduced.columns[0])
        else:
            outputs = naive(u, others, 3.0, weights, skip_self)
        sum((factor * output).sum() for factor, output in zip(pull, outputs)).backward()
        found.append((*outputs, *(z.grad for z in (u, others))))
    torch.testing.assert_close(*found)
    first = [start if candidates == "among" else 0 for start in (0, TILE_ROWS, 2 * TILE_ROWS)]
    kept = [(rows, count - start) for rows, start in zip((TILE_ROWS, TILE_ROWS, 88), first)]
    assert [shape for shape in saved if shape in kept] == kept


@pytest.mark.parametrize("block", [None, 2])
def test_gradient_equals_finite_differences(block):
    weights = pair_weights(4, 5) + 0.1
    u, v = unit(4, 3).requires_grad_(), unit(5, 3, seed=1).requires_grad_()

    def across(u: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        reduced = panel(u, v, 2.0, (None, blockwise(weights)), columns=True, block=block, bound=4.0)
        return *reduced.rows, *reduced.columns

    def among(z: Tensor) -> Tensor:
        return panel(z, z, 2.0, skip_self=True, block=block, bound=4.0).rows[0]

    assert torch.autograd.gradcheck(across, (u, v))
    assert torch.autograd.gradcheck(among, (u,))


@pytest.mark.parametrize("only", ["anchors", "candidates"])
def test_only_one_side_learns(only):
    u, v = unit(5), unit(4, seed=1)
    learner = (u if only == "anchors" else v).requires_grad_()
    panel(u, v, 2.0, columns=True, block=2).rows[0].sum().backward()
    found, learner.grad = learner.grad, None
    naive(u, v, 2.0)[0].sum().backward()
    torch.testing.assert_close(found, learner.grad)


@pytest.mark.parametrize("skip_self", [False, True])
def test_every_block_size_gives_the_same_in_float32(skip_self):
    results = []
    for block in BLOCKS:
        u, v = (
            unit(9, 8, dtype=torch.float32).requires_grad_(),
            unit(9, 8, seed=1, dtype=torch.float32).requires_grad_(),
        )
        reduced = panel(u, v, 2.0, columns=True, skip_self=skip_self, block=block)
        loss = (reduced.rows[0] + 2 * reduced.columns[0]).mean()
        loss.backward()
        results.append((loss.detach(), u.grad, v.grad))
    for result in results[1:]:
        torch.testing.assert_close(result, results[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("block", [None, 2])
def test_a_row_without_any_weight_is_minus_infinity_and_pulls_on_nothing(block):
    weights = torch.ones(5, 5, dtype=torch.float64)
    weights[2] = 0.0
    weights[:, 3] = 0.0
    u, v = unit(5).requires_grad_(), unit(5, seed=1).requires_grad_()
    reduced = panel(u, v, 2.0, (blockwise(weights),), columns=True, block=block)
    found_rows, found_columns = reduced.rows[0], reduced.columns[0]
    assert found_rows[2] == -math.inf
    assert found_columns[3] == -math.inf
    assert int(torch.isinf(torch.cat([found_rows, found_columns])).sum()) == 2
    torch.logaddexp(found_rows, torch.ones_like(found_rows)).sum().backward(retain_graph=True)
    torch.logaddexp(found_columns, torch.ones_like(found_columns)).sum().backward()
    assert bool(torch.isfinite(u.grad).all())
    assert bool(torch.isfinite(v.grad).all())
    assert not bool(u.grad[2].any())
    assert not bool(v.grad[3].any())
    assert bool(u.grad[1].any())


def test_one_node_without_itself_is_minus_infinity():
    z = unit(1).requires_grad_()
    row = panel(z, z, 1.0, skip_self=True).rows[0]
    assert row.item() == -math.inf
    torch.logaddexp(row, torch.zeros(1, dtype=torch.float64)).sum().backward()
    assert not bool(z.grad.any())


def test_a_bound_for_vectors_that_are_not_unit():
    u, v = 3 * unit(5), 2 * unit(4, seed=1)
    wanted, _ = double_loop(u, v, 1.5, None, False)
    torch.testing.assert_close(panel(u, v, 1.5, bound=9.0).rows[0].tolist(), wanted)


def test_negative_scale_for_distances():
    u, v = unit(4), unit(5, seed=1)
    wanted, _ = double_loop(u, v, -3.0, None, False)
    torch.testing.assert_close(panel(u, v, -3.0).rows[0].tolist(), wanted)


def test_second_derivatives_are_refused():
    """The backward pass treats the recomputed tile as constant; a silent wrong number would be
    worse than an error."""
    z = unit(4).requires_grad_()
    (slope,) = torch.autograd.grad(panel(z, z, 1.0).rows[0].square().sum(), z, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="symmetric needs the anchors for candidates"):
        panel(unit(3), unit(3), symmetric=True)
    with pytest.raises(
        ValueError, match=r"M×d anchors and N×d candidates, got \(3, 4\) and \(3, 5\)"
    ):
        panel(unit(3, 4), unit(3, 5))
    with pytest.raises(ValueError, match=r"got \(4,\) and \(3, 4\)"):
        panel(torch.ones(4), unit(3, 4))
    with pytest.raises(
        ValueError, match="skip_self needs as many anchors as candidates, got 3 and 4"
    ):
        panel(unit(3), unit(4), skip_self=True)


def test_paired_similarities():
    u, v = unit(3), unit(3, seed=1)
    wanted = [2.0 * sum(a * b for a, b in zip(x, y)) for x, y in zip(u.tolist(), v.tolist())]
    assert paired(u, v, 2.0).tolist() == pytest.approx(wanted)
