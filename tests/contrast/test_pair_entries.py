"""Numbers of a few pairs against dense matrices."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gclbench.contrast import pair_entries
from gclbench.contrast.pair_entries import PairEntries

ROW = torch.tensor([2, 0, 2, 0, 4, 2])
COLUMN = torch.tensor([1, 3, 0, 2, 4, 5])
VALUE = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], dtype=torch.float64)
ROWS, COLUMNS = 5, 6
LIKE = torch.zeros((), dtype=torch.float64)


def dense(entries: PairEntries) -> Tensor:
    """1 − what `complement` gives, with its diagonal as for any other pair."""
    matrix = torch.zeros(entries.rows, entries.columns, dtype=torch.float64)
    matrix[entries.row, entries.column] = torch.as_tensor(entries.value, dtype=torch.float64)
    return matrix


def test_the_complement_is_one_less_the_entries_in_any_blocks():
    entries = PairEntries(ROW, COLUMN, ROWS, COLUMNS, VALUE)
    wanted = torch.ones(ROWS, COLUMNS, dtype=torch.float64)
    wanted[ROW, COLUMN] -= VALUE
    wanted.diagonal().fill_(0.25)
    tile = entries.complement(LIKE, 0.25)
    assert torch.equal(tile(0, ROWS), wanted)
    assert torch.equal(torch.cat([tile(0, 2), tile(2, 3), tile(3, 5)]), wanted)


def test_pairs_without_numbers_count_once():
    entries = PairEntries(torch.cat([ROW, ROW]), torch.cat([COLUMN, COLUMN]), ROWS, COLUMNS)
    assert len(entries) == len(ROW) and entries.counts.tolist() == [2, 0, 3, 0, 1]
    assert float(dense(entries).sum()) == len(ROW)
    assert torch.equal(entries.complement(LIKE, 9.0)(0, 1), torch.tensor([[9.0, 1, 0, 0, 1, 1]]))


def test_transposed():
    entries = PairEntries(ROW, COLUMN, ROWS, COLUMNS, VALUE)
    assert torch.equal(dense(entries.transposed()), dense(entries).T)


@pytest.mark.parametrize("entries_of_a_block", [1, 8, 1 << 22])
def test_similarities_are_those_of_the_pairs_in_any_blocks(entries_of_a_block, monkeypatch):
    monkeypatch.setattr(pair_entries, "BLOCK_ENTRIES", entries_of_a_block)
    entries = PairEntries(ROW, COLUMN, ROWS, COLUMNS)
    generator = torch.Generator().manual_seed(0)
    u = torch.randn(ROWS, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    v = torch.randn(COLUMNS, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    found = entries.similarities(u, v, 2.0)
    wanted = (2 * u @ v.T)[entries.row, entries.column]
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(found.square().sum(), (u, v), retain_graph=True),
        torch.autograd.grad(wanted.square().sum(), (u, v)),
    )


def test_logsumexp_of_rows_with_and_without_pairs():
    entries = PairEntries(ROW, COLUMN, ROWS, COLUMNS, VALUE)
    own = torch.linspace(-1, 1, ROWS, dtype=torch.float64, requires_grad=True)
    values = torch.linspace(2, -2, len(ROW), dtype=torch.float64, requires_grad=True)
    weight = entries.value
    assert isinstance(weight, Tensor)
    weight = weight.clone().requires_grad_()
    wanted = []
    for i in range(ROWS):
        mine = entries.row == i
        wanted.append((own[i].exp() + (weight[mine] * values[mine].exp()).sum()).log())
    torch.testing.assert_close(entries.logsumexp(values, weight, own), torch.stack(wanted))
    assert torch.autograd.gradcheck(entries.logsumexp, (values, weight, own))


def test_logsumexp_of_far_exponents_and_no_weight_is_finite():
    entries = PairEntries(torch.tensor([0, 1]), torch.tensor([1, 0]), 2, 2)
    values, weight = torch.tensor([200.0, 200.0]), torch.tensor([1.0, 0.0])
    own = torch.tensor([-200.0, -200.0])
    found = entries.logsumexp(values, weight, own)
    assert found.tolist() == pytest.approx([200.0, 200.0 + torch.tensor(1e-30).log().item()])
