"""Numbers below the smallest normal one of float32 (1.2e-38), taken for zero in a training.

A processor computes with such subnormal numbers many times more slowly (results/bench/
subnormal.json). A likely source is Adam's weight decay on units of a ReLU that are off for all
nodes: nothing else pulls on their weights, which oscillate about zero ever more closely.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


def are_flushed() -> bool:
    """Whether this thread takes subnormal results for zero."""
    import torch

    small = torch.full((1,), 1e-30, dtype=torch.float32, device="cpu")
    return float(small * 1e-10) == 0


@contextlib.contextmanager
def flushed() -> Iterator[None]:
    """Within the block this thread takes subnormal numbers for zero, and so do threads that it
    starts; those that run already do not. Does nothing on processors that cannot."""
    import torch

    before = are_flushed()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)
