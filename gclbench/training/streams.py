"""Named random streams: every use of chance in a run has its own, derived from the run's seed.

The stream called `views` of seed 3 gives the same numbers whichever other streams are read, in
whichever order, and whichever other seeds run.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


class Streams:
    """The random streams of one run.

    Args:
        seed: the run's seed, a non-negative integer.
    """

    def __init__(self, seed: int):
        self.seed = seed

    def __repr__(self) -> str:
        return f"Streams(seed={self.seed})"

    def integer(self, name: str) -> int:
        """A number below 2³¹ that depends on the seed and the stream's name only."""
        digest = hashlib.sha256(f"{self.seed}/{name}".encode()).digest()
        return int.from_bytes(digest[:4], "little") & 0x7FFFFFFF

    def numpy(self, name: str) -> np.random.Generator:
        """A fresh NumPy generator at the start of the stream."""
        return np.random.default_rng(self.integer(name))

    def torch(self, name: str, device: str | torch.device = "cpu") -> torch.Generator:
        """A fresh torch generator at the start of the stream."""
        import torch

        return torch.Generator(device=device).manual_seed(self.integer(name))

    @contextlib.contextmanager
    def seeded(self, name: str) -> Iterator[None]:
        """Within the block, torch's global CPU generator reads this stream (for layer
        initialisation)."""
        import torch

        state = torch.random.get_rng_state()
        torch.random.default_generator.manual_seed(self.integer(name))
        try:
            yield
        finally:
            torch.random.set_rng_state(state)


@contextlib.contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Within the block, torch's global generator of the device goes on from this one, and this one
    from it afterwards: for layers that take no generator (dropout of torch_geometric)."""
    import torch

    device = generator.device
    own = (
        torch.random.default_generator
        if device.type == "cpu"
        else torch.cuda.default_generators[device.index or 0]
    )
    state = own.get_state()
    own.set_state(generator.get_state())
    try:
        yield
    finally:
        generator.set_state(own.get_state())
        own.set_state(state)
