"""The rows of an embedding in the form that a task measures them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gclbench.embedding import Embedding
from gclbench.graph import Graph, Unsupported, is_sparse
from gclbench.graph.features import matrix_of
from gclbench.machine import memory_map

LARGEST_ENTRY = 1e16
"""Of an embedding: thousands of squares are summed in float32, which ends at 3·10³⁸."""


def embedding_rows(
    embedding: Embedding, graph: Graph, normalize: str = "auto", sparse: bool = False
) -> Any:
    """The embedding as a float32 array (n×d) on the host, rows scaled to unit length where asked.

    A sparse embedding comes as SciPy's csr matrix where the task takes one, else as an array.

    Args:
        embedding: one row per item.
        graph: the graph that is evaluated, of n items.
        normalize: "l2" divides every row by its Euclidean length; "auto" does so for embeddings
            trained on cosine similarity (`geometry == "cosine"`), whose lengths carry no meaning;
            any other value leaves the rows as they are. A row of zeros stays a row of zeros.
        sparse: whether the task takes a csr matrix.

    Raises:
        Unsupported: a sparse embedding would have to be dense and does not fit the memory so.
        ValueError: the embedding has another number of rows, or holds NaN, infinite values, or
            numbers beyond `LARGEST_ENTRY`.
    """
    z: Tensor = embedding.z.detach()
    if z.shape[0] != graph.items:
        whole = "graph" if graph.item_kind == "nodes" else "collection"
        raise ValueError(
            f"the embedding has shape {tuple(z.shape)}, but the {whole} has {graph.items}"
            f" {graph.item_kind}; a method's fit must return one row for each of them:"
            f" a tensor {graph.items}×d"
        )
    if sparse and is_sparse(z):
        return _matrix(z, embedding, normalize)
    z = dense_rows(z)
    z = z.to(device="cpu", dtype=torch.float32)
    broken = int((~torch.isfinite(z)).any(dim=1).sum())
    if broken:
        raise ValueError(
            f"the embedding holds NaN or infinite values in {broken} of {graph.items} rows; "
            "training diverged: lower method.lr or raise the temperature, then run again"
        )
    if z.numel():
        _check_size(max(float(z.max()), -float(z.min())))
    if normalize == "l2" or (normalize == "auto" and embedding.geometry == "cosine"):
        z = torch.nn.functional.normalize(z, dim=1)
    return z.numpy()


def _check_size(largest: float) -> None:
    """Raises ValueError for an embedding whose largest entry is beyond `LARGEST_ENTRY`."""
    if largest > LARGEST_ENTRY:
        raise ValueError(
            f"the embedding holds numbers up to {largest:.0e}, whose squares float32 does not hold:"
            " the training diverged (lower method.lr), or the graph's features are to be scaled"
        )


def standardises(normalize: str, geometry: str) -> bool:
    """Whether a task on graphs standardises columns: where asked, and by `auto` for embeddings
    whose lengths carry a meaning."""
    return normalize == "standardize" or (normalize == "auto" and geometry != "cosine")


def standardised(z: np.ndarray) -> np.ndarray:
    """Rows (n×d) whose columns have zero mean and unit variance; a constant column is zero.

    Constant up to rounding, here of float32: the probes scale by their training rows and keep a
    column whose deviation is smaller than that.
    """
    mean, deviation = z.mean(axis=0), z.std(axis=0)
    deviation[deviation <= 1e-6 * np.abs(mean)] = np.inf
    return (z - mean) / deviation


def dense_rows(z: Tensor) -> Tensor:
    """An embedding as a dense matrix, itself where it is one.

    Raises:
        Unsupported: it is sparse, and too large for the memory as a dense one.
    """
    if not is_sparse(z):
        return z
    rows, columns = z.shape
    if not memory_map.fits(rows, columns):
        raise Unsupported(
            f"this reads the embedding as a dense matrix, and {rows:,} × {columns:,} numbers take"
            f" {4 * rows * columns / (1 << 30):,.1f} GiB, of which"
            f" {memory_map.available_memory() / (1 << 30):,.1f} GiB are free; task=classification"
            " takes a sparse embedding, and a method with an encoder returns a smaller one"
        )
    return z.to_dense()


def _matrix(z: Tensor, embedding: Embedding, normalize: str) -> Any:
    from sklearn.preprocessing import normalize as scaled

    rows = matrix_of(z)
    if not np.isfinite(rows.data).all():
        raise ValueError("the embedding holds NaN or infinite values")
    if rows.nnz:
        _check_size(float(np.abs(rows.data).max()))
    unit = normalize == "l2" or (normalize == "auto" and embedding.geometry == "cosine")
    return scaled(rows) if unit else rows
