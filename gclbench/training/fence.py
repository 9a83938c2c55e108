"""What a process has once for all its runs: global random generators, and settings of torch and
NumPy. A run neither depends on what the runs before it left of them, nor leaves anything itself."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gclbench.training import global_generators

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
    with _one_interface():
        settings = _settings()
        before = {name: _read(get) for name, (get, _) in settings.items()}
        states = global_generators.states()
        global_generators.seed_all(seed)
        try:
            yield changed
        finally:
            global_generators.put_back(states)
            for name, (get, put) in settings.items():
                now = _read(get)
                if now != before[name]:
                    with contextlib.suppress(RuntimeError):
                        put(before[name])
                    changed.append(f"{name} ({before[name]}) to {now}")


Setting = tuple[Callable[[], Any], Callable[[Any], Any]]
"""How a global setting is read, and how it is set."""

MIXED = "set by two interfaces"
"""In the place of a setting that torch does not tell, since its older and its newer interface were
both used."""


def _read(get: Callable[[], Any]) -> Any:
    try:
        return get()
    except RuntimeError:
        return MIXED


def _settings() -> dict[str, Setting]:
    """By name, for a sentence."""
    import torch

    cudnn: Any = torch.backends.cudnn
    found: dict[str, Setting] = {
        "torch's default dtype": (torch.get_default_dtype, torch.set_default_dtype),
        "torch's default device": (torch.get_default_device, _put_device),
        "torch's gradients": (torch.is_grad_enabled, torch.set_grad_enabled),
        "torch's deterministic algorithms": (
            torch.get_deterministic_debug_mode,
            torch.set_deterministic_debug_mode,
        ),
        "torch's threads": (torch.get_num_threads, torch.set_num_threads),
        "torch's detection of anomalies": (
            torch.is_anomaly_enabled,
            torch.autograd.set_detect_anomaly,
        ),
        "torch's precision of products": (_products, _put_products),
        "NumPy's treatment of errors": (np.geterr, lambda value: np.seterr(**value)),
    }
    for name in ("benchmark", "deterministic", "allow_tf32"):
        found[f"cuDNN's {name}"] = (_getter(cudnn, name), _setter(cudnn, name))
    return found


def _getter(owner: Any, name: str) -> Callable[[], Any]:
    return lambda: getattr(owner, name)


def _setter(owner: Any, name: str) -> Callable[[Any], Any]:
    return lambda value: setattr(owner, name, value)


def _put_device(device: torch.device) -> None:
    import torch

    # The processor is what torch takes where nothing is set; set, it costs every call something.
    torch.set_default_device(None if device.type == "cpu" else device)


def _products() -> str:
    import torch

    return torch.get_float32_matmul_precision()


def _put_products(name: str) -> None:
    import torch

    for backend in _backends():
        backend.fp32_precision = "none"
    torch.set_float32_matmul_precision(name)


def _backends() -> list[Any]:
    """What has a precision of its own in torch's newer interface; nothing in an older torch."""
    import torch

    backends = (torch.backends.cuda.matmul, torch.backends.mkldnn)
    found: list[Any] = [getattr(each, "matmul", each) for each in backends]
    return [each for each in found if hasattr(each, "fp32_precision")]


@contextlib.contextmanager
def _one_interface() -> Iterator[None]:
    """Within the block torch's precision of products can be read and set by its older interface,
    which gclbench uses, also where the process has used the newer one."""
    if _read(_products) != MIXED:
        yield
        return
    before = [each.fp32_precision for each in _backends()]
    for each in _backends():
        each.fp32_precision = "none"
    try:
        yield
    finally:
        for each, value in zip(_backends(), before, strict=True):
            each.fp32_precision = value
