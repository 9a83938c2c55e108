"""What a run leaves beside its record where the command asks for it: `save=[embedding,model]`."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gclbench.records import StoreError, unwritable, write_atomically

if TYPE_CHECKING:
    from gclbench.embedding import Embedding
    from gclbench.training.weights import Weights

log = logging.getLogger(__name__)

EMBEDDING, ITEMS, MODEL = "embedding.npy", "items.npy", "model.pt"

FILES = {"embedding": EMBEDDING, "model": MODEL}
"""What `save` may name, and the file that shows that it is there."""


def lacking(
    folder: Path, asked: Iterable[str], method: Any, too_large: Iterable[str] = ()
) -> list[str]:
    """What is asked for and not beside a record.

    Args:
        folder: of the run. method: one that trains no model lacks none.
        too_large: what the run was asked for and could not keep (`save`).
    """
    return [
        kind
        for kind in asked
        if not (folder / FILES[kind]).is_file()
        and (kind != "model" or trains_model(method))
        and kind not in too_large
    ]


def trains_model(method: Any) -> bool:
    """Whether a method, or its class, trains a model whose weights can be kept."""
    return hasattr(method, "model")


def kinds_of(folder: Path, asked: Iterable[str]) -> set[str]:
    """What a run is to leave: what is asked for, and what an earlier attempt left, so that files
    beside a record are always of that record."""
    return {*asked, *(kind for kind, name in FILES.items() if (folder / name).is_file())}


def save(
    folder: Path, kinds: Iterable[str], embedding: Embedding | None, weights: Weights | None
) -> dict[str, str]:
    """Writes a run's files, each in one step, and returns why a kind of them is not written.

    `embedding.npy` is float32 (items × dimensions); `items.npy` holds the number of each row's item
    in the dataset, from 0; `model.pt` the weights.

    Args:
        weights: None for a method that trains no model; then there is no `model.pt`.

    Raises:
        StoreError: when one cannot be written; the text names it.
    """
    from gclbench.graph import Unsupported
    from gclbench.tasks.embedding_rows import dense_rows

    path, left_out = folder, {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if "embedding" in kinds and embedding is not None:
            try:
                z = dense_rows(embedding.z.detach()).cpu().float().numpy()
                files = {ITEMS: np.arange(len(z)), EMBEDDING: z}
            except Unsupported as error:
                files, left_out["embedding"] = {}, str(error)
                log.warning("%s is not written: %s", EMBEDDING, error)
                for name in (ITEMS, EMBEDDING):
                    # An earlier attempt's, and the record is of this one.
                    (folder / name).unlink(missing_ok=True)
            for name, array in files.items():
                path = folder / name
                write_atomically(path, array_bytes(array))
        if "model" in kinds and weights is not None:
            path = folder / MODEL
            weights.write(path)
    except OSError as error:
        raise StoreError(error.errno, unwritable(path, error)) from error
    return left_out


def array_bytes(array: np.ndarray) -> bytes:
    """An `.npy` file of an array of numbers."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()
