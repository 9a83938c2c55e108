"""Handwritten digits with a k-nearest-neighbour graph: real data that needs no download."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph
from torch_geometric.data import Data

from gclbench.component.registry import DATASETS
from gclbench.component.settings import Count
from gclbench.graph import make_graph


@DATASETS.register("digits")
@dataclass(frozen=True)
class Digits:
    """Handwritten digits (scikit-learn), 1797 images of 10 digits, k-nearest-neighbour graph; no download

    The features are the 8×8 grey values divided by 16. Two images are joined when either is among
    the `neighbours` nearest of the other in Euclidean distance.

    Attributes:
        neighbours: k.
    """

    neighbours: Count = 10

    def __post_init__(self) -> None:
        if self.neighbours > 1796:
            raise ValueError(
                f"neighbours={self.neighbours} is too many: there are 1797 images, so at most 1796"
            )

    def load(self) -> Data:
        """The graph (1797 nodes, 64 features, 10 classes)."""
        images, labels = load_digits(return_X_y=True)
        x = images / 16.0
        near = kneighbors_graph(x, self.neighbours, mode="connectivity", metric="euclidean")
        joined = near.maximum(near.T).tocoo()
        return make_graph(x, np.stack([joined.row, joined.col]), labels, "digits")
