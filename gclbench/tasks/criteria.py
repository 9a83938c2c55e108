"""What a search may choose settings by: numbers of a training that no test label has a part in.

| name | better | what |
|---|---|---|
| `validation` | larger | the task's score of its validation nodes or pairs |
| `loss` | smaller | the last loss of the training |
| `silhouette` | larger | mean silhouette of the clusters (Rousseeuw 1987), on at most 5,000 items |
| `calinski_harabasz` | larger | variance between clusters over that within (1974) |
| `davies_bouldin` | smaller | mean likeness of a cluster to the one most like it (1979) |

The clusters are the method's own where it defines some, else those of k-means, as many as the
dataset has classes or `task.clustering.clusters` says. They are made and judged in the rows that
the task evaluates (`rows` of a task that scales columns). The indices are scikit-learn's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gclbench.data.splits import Split
    from gclbench.embedding import Embedding
    from gclbench.graph import Graph
    from gclbench.training.streams import Streams

LARGER_IS_BETTER = {
    "validation": True,
    "loss": False,
    "silhouette": True,
    "calinski_harabasz": True,
    "davies_bouldin": False,
}
"""`criterion=NAME` to its direction."""

SAMPLE = 5000
"""Items that the silhouette is taken over at most: it compares all pairs of them."""

RESTARTS = 10


def value_of(
    name: str,
    task: Any,
    visible: Graph,
    split: Split | None,
    embedding: Embedding,
    loss: float,
    rng: Streams,
) -> float | None:
    """The criterion's value of a training; None where it has none.

    Args:
        visible: the graph that the training saw, as `task.hide` gave it.
        loss: the last one of the training; NaN where there was none.
    """
    if name == "validation":
        judge = getattr(task, "validation", None)
        value = None if judge is None else float(judge(visible, split)(embedding))
    elif name == "loss":
        value = loss
    else:
        value = _index(name, task, visible, embedding, rng)
    return value if value is not None and math.isfinite(value) else None


def why_none(name: str, task: Any) -> str:
    """Why a training that has ended has no value of a criterion, as a clause."""
    if name == "validation" and not hasattr(task, "validation"):
        return "this task has no validation part"
    if name == "validation":
        return "the score is no finite number"
    if name == "loss":
        return "the training has no loss, or none that is finite"
    return "there are fewer than two clusters, or as many as items"


def _index(
    name: str, task: Any, visible: Graph, embedding: Embedding, rng: Streams
) -> float | None:
    """An index of clusters; None where there are fewer than two, or one for each item."""
    import numpy as np
    from sklearn import metrics

    from gclbench.graph import without_labels
    from gclbench.tasks.clustering import fit_kmeans
    from gclbench.tasks.embedding_rows import embedding_rows

    bare = without_labels(visible)
    if callable(getattr(task, "rows", None)):
        z = task.rows(embedding, bare)
    else:
        z = embedding_rows(embedding, bare, getattr(task, "normalize", "auto"))
    asked, seed = getattr(task, "clusters", None), rng.integer("criterion")
    if embedding.clusters is not None and asked is None:
        clusters = embedding.clusters.cpu().numpy()
    else:
        k = asked or bare.classes
        if not 2 <= k < len(z):
            return None
        clusters, _ = fit_kmeans(z, k, RESTARTS, seed)
    if not 2 <= len(np.unique(clusters)) < len(z):
        return None
    if name == "silhouette":
        size = min(SAMPLE, len(z))
        chosen = np.random.default_rng(seed).permutation(len(z))[:size]
        if not 2 <= len(np.unique(clusters[chosen])) < size:
            return None
        return float(metrics.silhouette_score(z[chosen], clusters[chosen]))
    return float(getattr(metrics, f"{name}_score")(z, clusters))
