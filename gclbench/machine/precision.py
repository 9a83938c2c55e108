"""The precision of a training's products: `precision=auto`, `float32` or `fast`.

`fast` rounds the two factors of a product to the hardware's short format (bfloat16 on a processor
with AMX, TF32 on a GPU) and sums in float32. On a processor with AVX512-BF16 and no AMX it is the
products of panels alone (`contrast.panel`): of vectors about their mean, and rounded to bfloat16
besides.
Exponentials, sums, parameters and the optimiser stay float32. Only the steps of a training are
computed so: filters, k-means, probes, metrics and the embedding itself never are. Hardware without
such products computes float32.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from importlib.resources import files
from typing import Any

AUTO, FLOAT32, FAST = "auto", "float32", "fast"
PRECISIONS = (AUTO, FLOAT32, FAST)

SHOWN = "fast_methods.json"
"""Beside this file: by hardware, the methods whose results with `fast` were shown to be equivalent,
each with what showed it. `scripts/equivalence.py --adopt` fills it."""

TF32_FROM = (8, 0)
"""Compute capability of the first GPUs with TF32 products."""

SHORT_ON_CPU = "medium"
"""torch's name for bfloat16 factors; "high", TF32, is a GPU's."""

IN_CONTRASTS = "bfloat16 in centred contrasts"
"""What is fast on a processor with AVX512-BF16 and no AMX."""

LEAST_TEMPERATURE = 0.1
"""Below it contrasts stay float32, whatever is asked: a loss's gradient is then a small difference
of large terms, and short factors can move it by more than it is
(results/bench/gradient_errors.md, gradient_errors_in_contrasts.md)."""

_device: ContextVar[str | None] = ContextVar("device of fast products", default=None)


def shown_equivalent(on: str) -> dict[str, Any]:
    """Method name to what showed that `fast` changes its results by less than the margin.

    Args:
        on: hardware, as `hardware` names it.
    """
    known = json.loads(files("gclbench.machine").joinpath(SHOWN).read_text(encoding="utf-8"))
    return dict(known.get(on, {}))


def hardware(device: str) -> str:
    """What computes fast products on a device, empty where nothing does."""
    if device.startswith("cuda"):
        import torch

        return "TF32" if torch.cuda.get_device_capability(device) >= TF32_FROM else ""
    if device != "cpu":
        return ""
    return _short_on_cpu()


def resolved(asked: str, method: Mapping[str, Any], negatives: str, device: str) -> str:
    """`float32` or `fast`: what a run of a method is computed with.

    `auto` is `fast` for the methods of `shown_equivalent` only, with the strategy for negatives
    that they were shown with, on hardware of the same kind.

    Args:
        method: its name and settings. negatives: the strategy's name.
    """
    if asked == FLOAT32 or not hardware(device):
        return FLOAT32
    if method.get("tau") is not None and method["tau"] < LEAST_TEMPERATURE:
        return FLOAT32
    shown = shown_equivalent(hardware(device)).get(method["name"])
    return FAST if asked == FAST or (shown and shown["negatives"] == negatives) else FLOAT32


@contextlib.contextmanager
def trained_with(precision: str, device: str) -> Iterator[None]:
    """Within the block the steps of a training are computed with a precision of `resolved`."""
    before = _device.set(device if precision == FAST else None)
    try:
        yield
    finally:
        _device.reset(before)


@contextlib.contextmanager
def products() -> Iterator[None]:
    """Within the block products are computed as `trained_with` says; the training loop enters it
    for each step."""
    device = _device.get()
    if device is None:
        yield
        return
    if device == "cpu" and hardware(device) == IN_CONTRASTS:
        from gclbench.contrast.short_factors import short_factors

        with short_factors():
            yield
        return
    with _matmul_precision(SHORT_ON_CPU if device == "cpu" else "high"):
        yield


@contextlib.contextmanager
def exact_products() -> Iterator[None]:
    """Within the block of a step products are of float32 factors: for what decides and is no
    loss."""
    from gclbench.contrast.short_factors import short_factors

    with _matmul_precision("highest"), short_factors(asked=False):
        yield


@contextlib.contextmanager
def _matmul_precision(name: str) -> Iterator[None]:
    """Within the block torch's products of float32 matrices have that precision."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def described(device: str) -> str:
    """One line of `gclbench doctor`."""
    found = hardware(device)
    if not found:
        return f"float32 on {device}: torch makes no bfloat16 or TF32 products, so fast is the same"
    methods = ", ".join(sorted(shown_equivalent(found))) or "none yet"
    return f"fast on {device} is {found}; auto takes it for methods shown equivalent: {methods}"


def _short_on_cpu() -> str:
    from gclbench.contrast.short_factors import has_own, torch_shortens

    if torch_shortens():
        return "bfloat16"
    return IN_CONTRASTS if has_own() else ""
