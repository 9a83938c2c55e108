"""Arrays of whole numbers, and tensors of arrays."""

from __future__ import annotations

import warnings
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


def compressed_of(matrix: Any) -> Tensor:
    """A tensor of compressed rows of SciPy's csr matrix."""
    pointers, columns = (part.astype(np.int64) for part in (matrix.indptr, matrix.indices))
    with warnings.catch_warnings():
        # PyTorch calls its compressed rows a beta, once per process.
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support", category=UserWarning)
        return torch.sparse_csr_tensor(
            tensor_of(pointers),
            tensor_of(columns),
            tensor_of(matrix.data),
            matrix.shape,
            check_invariants=False,
        )
