"""Embeddings that have collapsed."""

from __future__ import annotations

from typing import Any

from gclbench.embedding import Embedding

ALIKE = 1e-5
"""Rows count as alike where no entry of two of them differs by more than this share of the largest
entry: rounding of float32 is a hundredth of it."""


def collapse_of(embedding: Embedding) -> tuple[str, ...]:
    """Why an embedding tells its items not apart, as one sentence; empty where it does.

    Rows of cosine geometry are compared by their directions. A single row is no collapse.
    """
    import torch

    from gclbench.graph import is_sparse
    from gclbench.graph.features import matrix_of

    z = embedding.z.detach()
    if len(z) < 2:
        return ()
    if is_sparse(z):
        return _collapse_of_rows(matrix_of(z))
    if embedding.geometry == "cosine":
        z = torch.nn.functional.normalize(z, dim=1, eps=torch.finfo(z.dtype).tiny)
    largest = float(z.abs().max())
    if largest == 0:
        return ("every row of the embedding is zero",)
    if float((z - z[:1]).abs().max()) <= ALIKE * largest:
        rows = "point one way" if embedding.geometry == "cosine" else "are alike"
        return (f"all rows of the embedding {rows}",)
    return ()


def _collapse_of_rows(rows: Any) -> tuple[str, ...]:
    """As `collapse_of`, of SciPy's csr matrix."""
    largest = abs(rows).max()
    if largest == 0:
        return ("every row of the embedding is zero",)
    apart = (rows.max(axis=0) - rows.min(axis=0)).max()
    return ("all rows of the embedding are alike",) if apart <= ALIKE * largest else ()
