"""The rows of an embedding in the form that a task measures them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gclbench.embedding import Embedding
from gclbench.graph import Graph


def embedding_rows(embedding: Embedding, graph: Graph, normalize: str = "auto") -> np.ndarray:
    """The embedding as a float32 array (n×d) on the host, rows scaled to unit length where asked.

    Args:
        embedding: one row per item.
        graph: the graph that is evaluated, of n items.
        normalize: "l2" divides every row by its Euclidean length; "auto" does so for embeddings
            trained on cosine similarity (`geometry == "cosine"`), whose lengths carry no meaning;
            any other value leaves the rows as they are. A row of zeros stays a row of zeros.

    Raises:
        ValueError: the embedding has another number of rows, or holds NaN or infinite values.
    """
    z: Tensor = embedding.z.detach()
    if z.shape[0] != graph.items:
        whole = "graph" if graph.item_kind == "nodes" else "collection"
        raise ValueError(
            f"the embedding has shape {tuple(z.shape)}, but the {whole} has {graph.items}"
            f" {graph.item_kind}; a method's fit must return one row for each of them:"
            f" a tensor {graph.items}×d"
        )
    z = z.to(device="cpu", dtype=torch.float32)
    broken = int((~torch.isfinite(z)).any(dim=1).sum())
    if broken:
        raise ValueError(
            f"the embedding holds NaN or infinite values in {broken} of {graph.items} rows; "
            "training diverged: lower method.lr or raise the temperature, then run again"
        )
    if normalize == "l2" or (normalize == "auto" and embedding.geometry == "cosine"):
        z = torch.nn.functional.normalize(z, dim=1)
    return z.numpy()
