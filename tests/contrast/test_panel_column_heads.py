"""Columns with weights of their own, against the dense matrix and autograd."""

from __future__ import annotations

import pytest
import torch
from panel_loops import blockwise, pair_weights, unit

from gclbench.contrast.panel import panel

BLOCKS = (None, 1, 3, 7, 100)
HEADS = 2


def weights(seed: int, count: int, others: int) -> list[torch.Tensor]:
    return [pair_weights(count, others, seed=seed + head) for head in range(HEADS)]


@pytest.mark.parametrize("scale", [3.0, 60.0])
@pytest.mark.parametrize("block", BLOCKS)
def test_columns_have_their_own_weights(block, scale):
    of_rows, of_columns = weights(3, 7, 5), weights(20, 7, 5)
    pull = torch.randn(4, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    found = []
    for engine in (True, False):
        u, v = unit(7).requires_grad_(), unit(5, seed=1).requires_grad_()
        if engine:
            heads = (tuple(map(blockwise, of_rows)), tuple(map(blockwise, of_columns)))
            reduced = panel(u, v, scale, heads[0], columns=True, column_heads=heads[1], block=block)
            outputs = [*reduced.rows, *reduced.columns]
        else:
            e = (scale * u @ v.T).exp()
            outputs = [(e * w).sum(dim=1).log() for w in of_rows]
            outputs += [(e * w).sum(dim=0).log() for w in of_columns]
        total = sum((p[: len(o)] * o).sum() for p, o in zip(pull, outputs, strict=True))
        total.backward()
        found.append([*outputs, u.grad, v.grad])
    for ours, wanted in zip(*found, strict=True):
        torch.testing.assert_close(ours, wanted)


@pytest.mark.parametrize("scale", [3.0, 60.0])
@pytest.mark.parametrize("skip_self", [False, True])
@pytest.mark.parametrize("block", BLOCKS)
def test_half_the_pairs_are_enough_for_weights_that_are_not_symmetric(block, skip_self, scale):
    of_rows = weights(3, 7, 7)
    assert not torch.equal(of_rows[0], of_rows[0].T)
    pull = torch.randn(HEADS, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    found = []
    for engine in (True, False):
        z = unit(7).requires_grad_()
        if engine:
            outputs = panel(
                z,
                z,
                scale,
                tuple(map(blockwise, of_rows)),
                skip_self=skip_self,
                symmetric=True,
                column_heads=tuple(blockwise(w.T.contiguous()) for w in of_rows),
                block=block,
            ).rows
        else:
            e = (scale * z @ z.T).exp()
            kept = 1 - torch.eye(7, dtype=e.dtype) if skip_self else torch.ones_like(e)
            outputs = tuple((e * w * kept).sum(dim=1).log() for w in of_rows)
        sum((p * o).sum() for p, o in zip(pull, outputs, strict=True)).backward()
        found.append([*outputs, z.grad])
    for ours, wanted in zip(*found, strict=True):
        torch.testing.assert_close(ours, wanted)


@pytest.mark.parametrize(
    ("heads", "more"),
    [
        (1, {}),  # nothing is reduced over the anchors
        (1, {"columns": True, "symmetric": True}),  # the columns are the rows
        (2, {"columns": True}),
        (None, {"columns": True}),
    ],
)
def test_column_heads_without_a_place_are_refused(heads, more):
    z, w = unit(4), blockwise(pair_weights(4, 4))
    given = (None,) if heads is None else (w,) * heads
    with pytest.raises(ValueError, match=r"column_heads needs either columns or symmetric.* got"):
        panel(z, z, 1.0, given, column_heads=(w,), **more)
