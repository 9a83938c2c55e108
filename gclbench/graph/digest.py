"""The hash of a graph's content."""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from torch import Tensor


def digest_of(tensors: list[tuple[str, Tensor]]) -> str:
    """sha256 (hex) over names, shapes, types and bytes; the same on every machine. Of compressed
    rows the bytes are those of their three arrays."""
    digest = hashlib.sha256()
    for key, tensor in tensors:
        digest.update(f"{key} {tensor.dtype} {tuple(tensor.shape)};".encode())
        if tensor.layout == torch.strided:
            digest.update(_bytes(tensor))
            continue
        digest.update(b"compressed rows;")
        for part in (tensor.crow_indices(), tensor.col_indices(), tensor.values()):
            digest.update(_bytes(part))
    return digest.hexdigest()


def _bytes(tensor: Tensor) -> memoryview:
    array = tensor.detach().cpu().contiguous().numpy()
    # Little-endian on every machine; no copy is made where it is so already.
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return array.reshape(-1).view(np.uint8).data
