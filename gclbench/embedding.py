"""What a method returns: the embedding, and what analyses may see of its training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Contrast:
    """The last pair of views of a contrastive training, for analyses of its negatives.

    Attributes:
        u, v: what the loss compared: unit rows (N×d).
        tau: temperature τ.
        weights: (start, stop) → (stop−start)×N: the rows of weights that anchors u[start:stop] give
            their negatives v, with mean 1; None for a strategy that mixes.
        mixture: (start, stop) → (stop−start)×N: the share of each node in each anchor's mixture;
            None for a strategy that does not mix.
    """

    u: Tensor
    v: Tensor
    tau: float
    weights: Callable[[int, int], Tensor] | None = None
    mixture: Callable[[int, int], Tensor] | None = None

    def mean_cosine(self) -> float:
        """Mean cosine between different rows of v, rows of zeros left out.

        It is 1 where all rows point one way, and where fewer than two are left.
        """
        # Rows have length 1 or 0. No second tensor as large as v is made.
        nodes = int((torch.linalg.vector_norm(self.v, dim=1) > 0.5).sum())
        total = float(self.v.sum(dim=0, dtype=torch.float64).square().sum())
        return (total - nodes) / (nodes * (nodes - 1)) if nodes > 1 else 1.0


@dataclass(frozen=True)
class Embedding:
    """What a method returns.

    Attributes:
        z: embeddings (n×d), float32: one row for each item of the graph.
        geometry: `euclidean`, or `cosine` when the method was trained on cosine similarities;
            tasks L2-normalise the rows of a `cosine` embedding when their `normalize` is `auto`.
        contrast: what `task=contrast` looks at; None where a method contrasts no nodes.
        clusters: (n,) int64, the method's own clustering, where clusters are part of what it
            defines (age, sdcn); else None.
        history: (iterations×n), its clusterings during the training, where a setting asked for
            them; else None.
        encode: embeds the items of another `Graph` (without labels) by the method as trained: a
            tensor (items×d) whose rows are comparable with one another. None where a method embeds
            nothing but what it was given.
        findings: numbers about the training, or lists of them, by name, from the method and its
            strategy for negatives. They go into the run's record.
        remarks: sentences about the findings that a reader of the numbers should see.
        course: (iterations, n×d) of embeddings on the way, of the same geometry, where a setting
            asked for them (`training.course`).
        scores: (n×K), logits of the classes 0 … K−1, where a classifier is what the method defines
            (gcn, gin, label_propagation); task=classification and task=graph_classification read
            them in place of a machine of their own. Else None.

    Raises:
        TypeError: for a `z`, clusters or scores of another type.
        ValueError: for a `z` that is no matrix, an unknown geometry, or clusters or scores that
            are not one per item.
    """

    z: Tensor
    geometry: str = "euclidean"
    contrast: Contrast | None = None
    clusters: Tensor | None = None
    history: Tensor | None = None
    findings: Mapping[str, Any] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    encode: Callable[[Any], Tensor] | None = None
    course: Sequence[tuple[int, Tensor]] = ()
    scores: Tensor | None = None

    @classmethod
    def of(cls, found: Any, where: str) -> Embedding:
        """What came back where an embedding has to.

        Args:
            where: from what, as `Grace.fit`.

        Raises:
            TypeError: when it is something else.
        """
        if not isinstance(found, cls):
            kind = type(found).__name__
            raise TypeError(f"{where} must return Embedding(z), and returned {kind}")
        return found

    def __post_init__(self) -> None:
        _check_type(self.z, "an embedding")
        if self.scores is not None:
            _check_type(self.scores, "a matrix of class scores")
        for name in ("clusters", "history"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, Tensor):
                raise TypeError(f"{name} are a tensor, not {type(given).__name__}")
        if self.z.dim() != 2:
            raise ValueError(
                "an embedding is a matrix (items × dimensions);"
                f" this one has shape {tuple(self.z.shape)}"
            )
        if self.geometry not in ("euclidean", "cosine"):
            raise ValueError(
                f"the geometry of an embedding is 'euclidean' or 'cosine', not '{self.geometry}'"
            )
        if self.clusters is not None and self.clusters.shape != self.z.shape[:1]:
            raise ValueError(
                f"{self.z.shape[0]} items have one cluster each;"
                f" these clusters have shape {tuple(self.clusters.shape)}"
            )
        if self.history is not None and (
            self.history.dim() != 2 or self.history.shape[1] != self.z.shape[0]
        ):
            raise ValueError(
                f"a history is a matrix (iterations × {self.z.shape[0]} items);"
                f" this one is {tuple(self.history.shape)}"
            )
        if self.scores is not None and (
            self.scores.dim() != 2 or self.scores.shape[0] != self.z.shape[0]
        ):
            raise ValueError(
                f"class scores are a matrix ({self.z.shape[0]} items × classes);"
                f" these are {tuple(self.scores.shape)}"
            )

    def on_the_way(self) -> Iterator[tuple[int, Embedding]]:
        """The embeddings of its course, each with the iterations behind it."""
        for iterations, z in self.course:
            yield iterations, Embedding(z.to(self.z.device), self.geometry)


def _check_type(given: Any, what: str) -> None:
    """Raises TypeError for what is no tensor of real numbers."""
    right = isinstance(given, Tensor) and not (given.is_complex() or given.dtype == torch.bool)
    if not right:
        kind = str(given.dtype) if isinstance(given, Tensor) else type(given).__name__
        raise TypeError(f"{what} is a tensor of numbers (torch.float32), and this one is {kind}")
    if given.layout not in (torch.strided, torch.sparse_csr):
        raise TypeError(
            f"{what} is a dense tensor or a sparse_csr one, and this one is {given.layout}:"
            " .to_dense() or .to_sparse_csr() makes it one"
        )
