"""k-means of rows: Lloyd's algorithm from k-means++ starts (Arthur and Vassilvitskii 2007), by
scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

ITERATIONS = 300
"""Lloyd's iterations at most, as in scikit-learn."""


@dataclass(frozen=True)
class Means:
    """What k-means finds.

    Attributes:
        clusters: (N,) int64; fewer distinct rows than clusters leave some empty. centres: K×d, in
            the precision of the rows. inertia: sum of squared distances of rows to their centre.
    """

    clusters: np.ndarray
    centres: np.ndarray
    inertia: float


def kmeans(rows: Any, k: int, n_init: int, seed: int, iterations: int = ITERATIONS) -> Means:
    """The restart with the least inertia.

    scikit-learn's threads add up their partial centres in the order in which they finish. It has
    one thread here, so a rerun is bit-identical.

    Args:
        rows: N×d with N ≥ k, an array or a SciPy CSR matrix. n_init: restarts. iterations: of a
            restart, at most.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    model = KMeans(
        n_clusters=k,
        init="k-means++",
        n_init=n_init,
        max_iter=iterations,
        algorithm="lloyd",
        random_state=seed,
    )
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # Fewer distinct rows than clusters: whoever cares counts the clusters that are found.
        warnings.filterwarnings(
            "ignore", category=ConvergenceWarning, message="Number of distinct clusters"
        )
        model.fit(rows)
    return Means(model.labels_.astype(np.int64), model.cluster_centers_, float(model.inertia_))
