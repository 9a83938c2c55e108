"""What the CUDA kernel asks of the tensors it is given: it has no bounds to check them by."""

from __future__ import annotations

import torch
from torch import Tensor

STORAGE = {torch.float32: 4, torch.bfloat16: 2}
"""Bytes of the types that matrices are stored in."""


def check(
    pointers: Tensor, columns: Tensor, matrices: dict[str, Tensor], vectors: dict[str, Tensor]
) -> None:
    """Compares types, shapes, devices and layouts with what the kernel reads.

    Args:
        matrices: the N×K tensors by name, the gathered one first. vectors: the others.

    Raises:
        ValueError: for one that the kernel would read wrongly or past its end.
    """
    (name, first), *others = matrices.items()
    if first.dtype not in STORAGE or first.dim() != 2 or first.shape[1] * 4 >= 1 << 32:
        raise ValueError(
            f"{name} is {first.dtype} of shape {tuple(first.shape)}; the kernel takes float32 and"
            " bfloat16, N×K, K < 2³⁰"
        )
    for other, tensor in others:
        if tensor.dtype != first.dtype or tensor.shape != first.shape:
            raise ValueError(
                f"{other} is {tensor.dtype} of shape {tuple(tensor.shape)}, and {name}"
                f" {first.dtype} of {tuple(first.shape)}"
            )
    rows, width = first.shape
    entries = columns.numel()
    expected = {
        "pointers": (torch.int64, rows + 1),
        "columns": (torch.int32, entries),
        "inverse_degree": (torch.float32, rows),
    }
    expected |= {
        "residual": (torch.float32, rows),
        "threshold": (torch.float32, width),
        "active": (torch.int32, rows),
    }
    every = {"pointers": pointers, "columns": columns, **vectors}
    for other, tensor in every.items():
        dtype, length = expected[other]
        if tensor.dtype != dtype or tensor.shape != (length,):
            raise ValueError(
                f"{other} is {tensor.dtype} of shape {tuple(tensor.shape)}; the kernel takes"
                f" {dtype} of shape ({length},)"
            )
    for other, tensor in {**every, **matrices}.items():
        if tensor.device != first.device or not tensor.is_contiguous():
            raise ValueError(
                f"{other} must be contiguous and on {first.device} like {name};"
                f" it is on {tensor.device}"
            )


def apart(written: dict[str, Tensor], read: dict[str, Tensor]) -> None:
    """Compares the memory of what is written with that of what is read at the same time.

    Raises:
        ValueError: where they overlap.
    """
    for name, tensor in written.items():
        for other, source_ in read.items():
            begin, end = tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes
            if begin < source_.data_ptr() + source_.nbytes and source_.data_ptr() < end:
                raise ValueError(
                    f"{name} and {other} share memory;"
                    " the kernel reads one while it writes the other"
                )
