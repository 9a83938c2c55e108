"""Subnormal numbers are taken for zero within a block, and only there."""

from __future__ import annotations

import threading

import pytest
import torch

from gclbench.machine.subnormal import are_flushed, flushed


def product() -> float:
    """Below float32's smallest normal number, 1.2e-38."""
    return float(torch.full((1,), 1e-30) * 1e-10)


def test_subnormals_are_zero_within_the_block() -> None:
    assert product() > 0 and not are_flushed()
    with flushed():
        assert product() == 0 and are_flushed()
    assert product() > 0 and not are_flushed()


def test_gradients_too() -> None:
    """The backward pass of a processor is on the thread that asks for it."""
    weight = torch.full((8,), 1e-30, requires_grad=True)
    with flushed():
        (weight * 1e-10 * 1e-30).sum().backward()
    assert weight.grad is not None and not weight.grad.count_nonzero()


def test_threads_that_begin_within_the_block() -> None:
    found: list[float] = []
    with flushed():
        started = threading.Thread(target=lambda: found.append(product()))
        started.start()
        started.join()
    assert found == [0]


def test_what_was_before_is_put_back() -> None:
    with pytest.raises(ValueError, match="it broke"), flushed():
        raise ValueError("it broke")
    assert not are_flushed()
    torch.set_flush_denormal(True)
    try:
        with flushed():
            pass
        assert are_flushed()
    finally:
        torch.set_flush_denormal(False)


def test_default_dtype_and_device_do_not_matter() -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    try:
        with flushed():
            assert are_flushed()
        assert not are_flushed()
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
