"""Clusters inside a method: how many, by k-means, and how far they spread.

What AGC, SSGC, AGE and SDCN share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse.linalg import ArpackError, svds
from torch import Tensor

from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.nn.kmeans import kmeans

NEGLIGIBLE = 1e-6
"""A singular value below this share of the largest one counts as zero: features are float32."""

DENSE_UP_TO = 128
"""Smaller side of a matrix up to which all its singular vectors are computed."""

ALIKE = 1e-9
"""Two singular values that differ by a smaller share are taken for one value."""

CANCELLED = 1e-4
"""Below this share of the mean square, a spread has lost most digits of float32."""


def number_of_clusters(graph: Data, asked: int | None, method: str) -> int:
    """The number of clusters a method works with: as set, else the dataset's number of classes.

    Raises:
        Unsupported: when neither is known, or there are fewer nodes.
    """
    k = asked if asked is not None else int(getattr(graph, "classes", 0))
    if k < 1:
        raise Unsupported(
            f"{method} needs a number of clusters, and '{graph.name}' has no labels to take it"
            " from; give it with method.clusters=K"
        )
    if k > graph.items:
        raise Unsupported(
            f"{method} was asked for {k} clusters, and '{graph.name}' has {graph.items} nodes; "
            "give at most that many with method.clusters=K"
        )
    return k


@dataclass(frozen=True)
class Partition:
    """A clustering.

    Attributes:
        clusters: (N,) int64; fewer distinct rows than clusters leave some empty. centres: K×d
            float32.
    """

    clusters: Tensor
    centres: Tensor


def partition(z: Tensor, k: int, n_init: int, seed: int) -> Partition:
    """k-means; a rerun is bit-identical.

    Args:
        z: N×d with N ≥ k.
    """
    found = kmeans(z.detach().cpu().numpy(), k, n_init, seed)
    centres = torch.from_numpy(found.centres.astype(np.float32))
    return Partition(torch.from_numpy(found.clusters).to(z.device), centres.to(z.device))


def spread(x: Tensor, clusters: Tensor) -> float:
    """Mean over the non-empty clusters of the mean squared distance of a cluster's rows to their
    centre.

    Half of AGC's intra-cluster distance (mean over pairs), which has the same minimum. It is the
    mean square less the centre's square. Where little of these is left, rows lie far from zero,
    and their distances to the centres are summed instead, which takes as much memory as x.

    Args:
        x: N×F. clusters: (N,).
    """
    names, of = torch.unique(clusters, return_inverse=True)
    member = torch.nn.functional.one_hot(of, len(names)).T.to(x.dtype)
    sizes = member.sum(dim=1).double()
    centres = (member @ x).double() / sizes[:, None]
    means = _sums(torch.linalg.vector_norm(x, dim=1), of, len(names)) / sizes
    found = (means - centres.square().sum(dim=1)).clamp(min=0.0).mean()
    if found < CANCELLED * means.mean():
        distances = torch.linalg.vector_norm(x - centres.to(x.dtype)[of], dim=1)
        found = (_sums(distances, of, len(names)) / sizes).mean()
    return float(found)


def _sums(lengths: Tensor, of: Tensor, count: int) -> Tensor:
    """The sums of squares of lengths (N), by cluster (N): (count,) float64."""
    sums = torch.zeros(count, dtype=torch.float64, device=lengths.device)
    return sums.index_add_(0, of, lengths.double().square())


def leading_directions(x: Tensor, count: int, start: np.random.Generator) -> tuple[Tensor, Tensor]:
    """The leading left singular vectors of x (N×c) and their singular values (c), c = min(count, N,
    F), largest first.

    A vector whose singular value is zero is zero: features that span fewer dimensions, or are all
    zero, have no direction there.

    Args:
        x: N×F. start: of the Lanczos iteration.
    """
    count = min(count, *x.shape)
    matrix = x.cpu().double().numpy()
    if not matrix.any():
        return x.new_zeros(len(x), count), x.new_zeros(count)
    left, values = _singular(matrix, count, start.standard_normal(min(x.shape)))
    kept = values > NEGLIGIBLE * values[0]
    left, values = (
        np.where(kept, left, 0.0).astype(np.float32),
        np.where(kept, values, 0.0).astype(np.float32),
    )
    return torch.from_numpy(left).to(x.device), torch.from_numpy(values).to(x.device)


def _singular(matrix: np.ndarray, count: int, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if min(matrix.shape) > max(DENSE_UP_TO, 2 * count):
        try:
            left, values, _ = svds(matrix, k=count, v0=start, solver="arpack")
            order = np.argsort(-values)
            left, values = left[:, order], values[order]
            told = values[values > NEGLIGIBLE * values[0]]
            # Of a value that is there several times, Lanczos iteration finds the others from random
            # vectors, which differ from run to run.
            if (told[:-1] - told[1:] > ALIKE * values[0]).all():
                return left, values
        except ArpackError:  # the features span fewer dimensions than asked for
            pass
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    return left[:, :count], values[:count]
