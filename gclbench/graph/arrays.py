"""Arrays of whole numbers, and tensors of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gclbench.graph.errors import GraphError


def whole(values: Any, what: str, name: str) -> np.ndarray:
    """An integer array as int64. Raises GraphError, which calls it `what`, for another type."""
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise GraphError(
            f"graph '{name}': {what} must be whole numbers (an integer type), not {array.dtype}"
        )
    return array.astype(np.int64, copy=False)


def tensor_of(array: np.ndarray) -> Tensor:
    """A tensor of an array; of its memory where that may be written."""
    array = np.ascontiguousarray(array)
    # torch would warn about, and let code write into, read-only memory (memory-mapped files).
    return torch.from_numpy(array if array.flags.writeable else array.copy())
