"""The precision of a training's products: `precision=auto`, `float32` or `fast`.

`fast` rounds the two factors of a product to the hardware's short format (bfloat16 on a processor
with AMX, TF32 on a GPU) and sums in float32. On a processor with AMX it is, for some methods, the
products of panels alone (`contrast.panel`), of vectors about their mean. On one with AVX512-BF16
and no AMX it is these for all methods, and they are rounded to bfloat16 besides.
Exponentials, sums, parameters and the optimiser stay float32. Only the steps of a training are
computed so: filters, k-means, probes, metrics and the embedding itself never are. Hardware without
such products computes float32.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from importlib.resources import files
from typing import Any

AUTO, FLOAT32, FAST = "auto", "float32", "fast"
PRECISIONS = (AUTO, FLOAT32, FAST)

SHOWN = "fast_methods.json"
"""Beside this file: by what was fast, the methods whose results with `fast` were shown to be
equivalent, each with what showed it. `scripts/equivalence.py --adopt` fills it."""

TF32_FROM = (8, 0)
"""Compute capability of the first GPUs with TF32 products."""

TF32, EVERYWHERE = "TF32", "bfloat16"
"""What is fast on a GPU, and what is on a processor with AMX: all products of a step."""

FACTORS_IN_CONTRASTS = "bfloat16 factors in centred contrasts"
"""What is fast on a processor with AMX for methods that were shown equivalent so and not with
`EVERYWHERE`."""

IN_CONTRASTS = "bfloat16 in centred contrasts"
"""What is fast on a processor with AVX512-BF16 and no AMX."""

LEAST_TEMPERATURE = 0.1
"""Below it contrasts stay float32, whatever is asked: a loss's gradient is then a small difference
of large terms, and short factors can move it by more than it is
(results/bench/gradient_errors.md, gradient_errors_in_contrasts.md)."""

_products: ContextVar[str] = ContextVar("what is fast in the steps of a training", default="")


def shown_equivalent(products: str) -> dict[str, Any]:
    """Method name to what showed that `fast` changes its results by less than the margin.

    Args:
        products: what was fast, as `ways` names it.
    """
    known = json.loads(files("gclbench.machine").joinpath(SHOWN).read_text(encoding="utf-8"))
    return dict(known.get(products, {}))


def ways(device: str) -> tuple[str, ...]:
    """What can be fast on a device, the usual one first; empty where nothing is."""
    if device.startswith("cuda"):
        import torch

        return (TF32,) if torch.cuda.get_device_capability(device) >= TF32_FROM else ()
    if device != "cpu":
        return ()
    from gclbench.contrast.short_factors import has_own, torch_shortens

    if torch_shortens():
        return (EVERYWHERE, FACTORS_IN_CONTRASTS)
    return (IN_CONTRASTS,) if has_own() else ()


def usual(device: str) -> str:
    """What is fast for a method that is on no list; empty where nothing is."""
    return next(iter(ways(device)), "")


def resolved(asked: str, method: Mapping[str, Any], negatives: str, device: str) -> str:
    """What is fast in a run of a method, as `ways` names it; empty is float32.

    `auto` is `fast` for the methods of `shown_equivalent` only, with the strategy for negatives
    that they were shown with, and in the way that they were shown in.

    Args:
        method: its name and settings. negatives: the strategy's name.
    """
    if asked == FLOAT32:
        return ""
    if method.get("tau") is not None and method["tau"] < LEAST_TEMPERATURE:
        return ""
    for way in ways(device):
        shown = shown_equivalent(way).get(method["name"])
        if shown and shown["negatives"] == negatives:
            return way
    return usual(device) if asked == FAST else ""


@contextlib.contextmanager
def trained_with(products: str) -> Iterator[None]:
    """Within the block the steps of a training are computed with what `resolved` gave."""
    before = _products.set(products)
    try:
        yield
    finally:
        _products.reset(before)


@contextlib.contextmanager
def products() -> Iterator[None]:
    """Within the block products are computed as `trained_with` says; the training loop enters it
    for each step.

    Raises:
        ValueError: for products of no known name.
    """
    chosen = _products.get()
    if not chosen:
        yield
        return
    from gclbench.contrast.short_factors import (
        SHORT,
        ByTorch,
        Copies,
        matmul_precision,
        short_factors,
    )

    made: dict[str, Callable[[], contextlib.AbstractContextManager[None]]] = {
        TF32: lambda: matmul_precision("high"),
        EVERYWHERE: lambda: matmul_precision(SHORT),
        FACTORS_IN_CONTRASTS: lambda: short_factors(ByTorch),
        IN_CONTRASTS: lambda: short_factors(Copies),
    }
    if chosen not in made:
        raise ValueError(f"no products are called {chosen!r}; known are {', '.join(made)}")
    with made[chosen]():
        yield


@contextlib.contextmanager
def exact_products() -> Iterator[None]:
    """Within the block of a step products are of float32 factors: for what decides and is no
    loss."""
    from gclbench.contrast.short_factors import matmul_precision, short_factors

    with matmul_precision("highest"), short_factors(None):
        yield


def described(device: str) -> str:
    """One line of `gclbench doctor`."""
    found = ways(device)
    if not found:
        return f"float32 on {device}: torch makes no bfloat16 or TF32 products, so fast is the same"
    first, *others = ((way, ", ".join(sorted(shown_equivalent(way)))) for way in found)
    also = [f"; {way} for {methods}" for way, methods in others if methods]
    return (
        f"fast on {device} is {first[0]}; auto takes it for methods shown equivalent:"
        f" {first[1] or 'none yet'}{''.join(also)}"
    )
