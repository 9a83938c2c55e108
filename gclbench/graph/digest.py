"""The hash of a graph's content."""

from __future__ import annotations

import hashlib

import numpy as np
from torch import Tensor


def digest_of(tensors: list[tuple[str, Tensor]]) -> str:
    """sha256 (hex) over names, shapes, types and bytes; the same on every machine."""
    digest = hashlib.sha256()
    for key, tensor in tensors:
        digest.update(f"{key} {tensor.dtype} {tuple(tensor.shape)};".encode())
        array = tensor.detach().cpu().contiguous().numpy()
        # Little-endian on every machine; no copy is made where it is so already.
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
