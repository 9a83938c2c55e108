"""The rows of an embedding in the form that a task measures them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gclbench.embedding import Embedding


def embedding_rows(embedding: Embedding, nodes: int, normalize: str = "auto") -> np.ndarray:
    """The embedding as a float32 array N×d on the host, its rows scaled to unit length where asked.

    Args:
        embedding: one row per node.
        nodes: N, the number of nodes of the graph that is evaluated.
        normalize: "l2" divides every row by its Euclidean length; "auto" does so for embeddings
            trained on cosine similarity (`geometry == "cosine"`), whose lengths carry no meaning;
            any other value leaves the rows as they are. A row of zeros stays a row of zeros.

    Raises:
        ValueError: the embedding has another number of rows, or holds NaN or infinite values.
    """
    z: Tensor = embedding.z.detach()
    if z.shape[0] != nodes:
        raise ValueError(
            f"the embedding has shape {tuple(z.shape)}, but the graph has {nodes} nodes; "
            f"a method's fit must return one row per node: a tensor {nodes}×d"
        )
    z = z.to(device="cpu", dtype=torch.float32)
    broken = int((~torch.isfinite(z)).any(dim=1).sum())
    if broken:
        raise ValueError(
            f"the embedding holds NaN or infinite values in {broken} of {nodes} rows; "
            "training diverged: lower method.lr or raise the temperature, then run again"
        )
    if normalize == "l2" or (normalize == "auto" and embedding.geometry == "cosine"):
        z = torch.nn.functional.normalize(z, dim=1)
    return z.numpy()
