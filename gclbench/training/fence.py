"""What a process has once for all its runs: global random generators, and settings of torch and
NumPy. A run neither depends on what the runs before it left of them, nor leaves anything itself."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch


@contextlib.contextmanager
def fenced(seed: int) -> Iterator[list[str]]:
    """Within the block the global generators of torch, NumPy and Python start at a seed. After it
    they go on where they were before, and global settings have the values that they had.

    A component draws from its own streams (`Streams`). One that draws from a global generator all
    the same gives the same numbers for the same seed, whatever ran before.

    Args:
        seed: from 0, below 2³².

    Yields:
        a list that holds, once the block has ended, what it had changed: `torch's default dtype
        (torch.float32) to torch.float64`.
    """
    changed: list[str] = []
    before = {name: get() for name, (get, _) in _settings().items()}
    states = _generators()
    _seed(seed)
    try:
        yield changed
    finally:
        _put_back(states)
        for name, (get, put) in _settings().items():
            now = get()
            if now != before[name]:
                put(before[name])
                changed.append(f"{name} ({before[name]}) to {now}")


Setting = tuple[Callable[[], Any], Callable[[Any], Any]]
"""How a global setting is read, and how it is set."""


def _settings() -> dict[str, Setting]:
    """By name, for a sentence."""
    import torch

    cudnn: Any = torch.backends.cudnn
    return {
        "torch's default dtype": (torch.get_default_dtype, torch.set_default_dtype),
        "torch's default device": (torch.get_default_device, _put_device),
        "torch's gradients": (torch.is_grad_enabled, torch.set_grad_enabled),
        "torch's deterministic algorithms": (
            torch.get_deterministic_debug_mode,
            torch.set_deterministic_debug_mode,
        ),
        "torch's threads": (torch.get_num_threads, torch.set_num_threads),
        "torch's precision of products": (
            torch.get_float32_matmul_precision,
            torch.set_float32_matmul_precision,
        ),
        "torch's detection of anomalies": (
            torch.is_anomaly_enabled,
            torch.autograd.set_detect_anomaly,
        ),
        "cuDNN's benchmark mode": (
            lambda: cudnn.benchmark,
            lambda value: setattr(cudnn, "benchmark", value),
        ),
        "cuDNN's deterministic mode": (
            lambda: cudnn.deterministic,
            lambda value: setattr(cudnn, "deterministic", value),
        ),
        "NumPy's treatment of errors": (np.geterr, lambda value: np.seterr(**value)),
    }


def _put_device(device: torch.device) -> None:
    import torch

    # The processor is what torch takes where nothing is set; set, it costs every call something.
    torch.set_default_device(None if device.type == "cpu" else device)


def _generators() -> dict[str, Any]:
    """The states of the global generators."""
    import torch

    states: dict[str, Any] = {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "cpu": torch.random.get_rng_state(),
    }
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def _seed(seed: int) -> None:
    import torch

    random.seed(seed)
    np.random.seed(seed)
    torch.random.default_generator.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)


def _put_back(states: dict[str, Any]) -> None:
    import torch

    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.random.set_rng_state(states["cpu"])
    if "cuda" in states:
        torch.cuda.set_rng_state_all(states["cuda"])
