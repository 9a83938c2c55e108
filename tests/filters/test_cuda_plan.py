"""How the CUDA kernel's work is cut, and the operators that torch knows it by."""

from __future__ import annotations

import pytest
import torch
from pull_cases import LENGTHS, case

from gclbench.filters.kernels import cuda, plan, pull


def test_a_plan_covers_every_entry_once_longest_first() -> None:
    problem = case(1, lengths=(*LENGTHS, 512 * 6 + 1))
    made = plan.planned(problem.pointers)
    begin, stored = made.items.unbind(dim=1)
    length, row = stored >> 32, ((stored & 0xFFFFFFFF) ^ (1 << 31)) - (1 << 31)
    entries = torch.cat([torch.arange(int(b), int(b + n)) for b, n in zip(begin, length)])
    assert torch.equal(entries.sort().values, torch.arange(len(problem.columns)))
    assert int(length.max()) == plan.SPLIT
    assert torch.equal(row[: made.segments], -1 - torch.arange(made.segments))
    classes = torch.bucketize(length[made.segments :], torch.tensor(plan.CLASSES))
    assert (classes.diff() <= 0).all()
    assert all((row[made.segments :][classes == c].diff() > 0).all() for c in classes.unique()), (
        "rows of a class keep their order"
    )
    degree = problem.pointers.diff()
    covered = torch.zeros_like(degree).index_put_((row[made.segments :],), length[made.segments :])
    for hub, first, end in made.hubs.tolist():
        covered[hub] = length[first:end].sum()
        assert torch.equal(
            begin[first:end], problem.pointers[hub] + plan.SPLIT * torch.arange(end - first)
        )
    assert torch.equal(covered, degree)
    assert len(made.hubs) == int((degree > plan.SPLIT).sum()) == 3


def test_a_plan_is_kept_with_its_tensor_until_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    pointers = case(1).pointers
    first = plan.plan_of(pointers)
    assert plan.plan_of(pointers) is first
    assert plan.plan_of(pointers.clone()) is not first
    pointers.mul_(2)
    assert plan.plan_of(pointers).entries == 2 * first.entries
    kept = len(plan._kept)
    del pointers
    assert len(plan._kept) < kept
    with torch.inference_mode():
        unversioned = case(1).pointers
        assert plan.plan_of(unversioned).entries == first.entries


@pytest.mark.parametrize("with_residual", [True, False])
def test_opcheck_of_the_sweep(with_residual: bool) -> None:
    problem = case(5)
    residual = torch.empty(len(problem.source)) if with_residual else None
    arguments = (*problem.graph, problem.source, problem.base, problem.out, 0.9, 1.2, residual)
    torch.library.opcheck(torch.ops.gclbench.pull_sweep.default, arguments)


@pytest.mark.parametrize("name", ["pull_sweep", "pull_push_round"])
def test_what_is_written_is_always_given(name: str) -> None:
    """torch 2.11 fails otherwise: seen on a GPU, on the first sweep without a residual."""
    arguments = getattr(torch.ops.gclbench, name).default._schema.arguments
    written = [each for each in arguments if each.alias_info and each.alias_info.is_write]
    assert written and not any(each.has_default_value() for each in written)


def test_opcheck_of_the_push() -> None:
    problem = case(5)
    active = torch.zeros(len(problem.source), dtype=torch.int32)
    arguments = (
        *problem.graph,
        problem.source,
        torch.ones(5),
        0.1,
        problem.base,
        problem.out,
        active,
    )
    torch.library.opcheck(torch.ops.gclbench.pull_push_round.default, arguments)


def test_on_the_cpu_the_operators_are_the_plain_version() -> None:
    problem = case(6)
    one, other = problem.out.clone(), problem.out.clone()
    cuda.sweep(*problem.graph, problem.source, problem.base, one, 0.9, 1.2)
    pull.sweep(*problem.graph, problem.source, problem.base, other, 0.9, 1.2)
    assert torch.equal(one, other) and not torch.equal(one, problem.out)
    results = []
    for run in (cuda.push_round, pull.push_round):
        reserve, left, active = (
            problem.base.clone(),
            torch.empty_like(problem.out),
            torch.empty(len(problem.out), dtype=torch.int32),
        )
        run(*problem.graph, problem.source, torch.full((6,), 0.5), 0.1, reserve, left, active)
        results.append((reserve, left, active))
    assert all(torch.equal(*pair) for pair in zip(*results))
