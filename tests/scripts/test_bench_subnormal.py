"""The benchmark of subnormal weights measures what it says."""

from __future__ import annotations

import bench_subnormal
import pytest
import torch


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"NODES": 20, "FEATURES": 7, "UNITS": 9}.items():
        monkeypatch.setattr(bench_subnormal, name, value)


def test_a_third_of_the_units_has_subnormal_weights() -> None:
    x, weights = bench_subnormal.factors()
    assert x.shape == (20, 7) and set(x.unique().tolist()) == {0, 1}
    smallest = torch.finfo(torch.float32).tiny
    off, on = weights["subnormal"][:, ::3], weights["subnormal"][:, 1::3]
    assert bool((off != 0).all()) and bool((off.abs() < smallest).all())
    assert bool((on.abs() > smallest).all())
    assert not weights["zero"][:, ::3].any()
    assert torch.equal(weights["zero"][:, 1::3], on)


def test_all_kinds_are_measured() -> None:
    found = bench_subnormal.measured(rounds=2)
    assert set(found) == {"usual", "subnormal", "zero", "flushed"}
    assert all(value >= 0 for value in found.values())
