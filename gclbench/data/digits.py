"""Handwritten digits with a k-nearest-neighbour graph: real data that needs no download."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gclbench.component.registry import DATASETS
from gclbench.component.settings import Count
from gclbench.graph import Graph, make_graph


@DATASETS.register("digits")
@dataclass(frozen=True)
class Digits:
    """Handwritten digits (scikit-learn), 1797 images, k-nearest-neighbour graph; no download

    The features are the 8×8 grey values divided by 16. Two images are joined when either is among
    the `neighbours` nearest of the other in Euclidean distance. Of images at the same distance the
    one with the smaller index is nearer.

    Attributes:
        neighbours: k.
    """

    neighbours: Count = 10

    def __post_init__(self) -> None:
        if self.neighbours > 1796:
            raise ValueError(
                f"neighbours={self.neighbours} is too many: there are 1797 images, so at most 1796"
            )

    def load(self) -> Graph:
        """The graph (1797 nodes, 64 features, 10 classes)."""
        images, labels = images_and_labels()
        near = nearest_neighbours(images.astype(np.int64), self.neighbours)
        joined = np.zeros((len(images), len(images)), dtype=bool)
        np.put_along_axis(joined, near, True, axis=1)
        return make_graph(images / 16.0, np.stack(np.nonzero(joined | joined.T)), labels, "digits")


def images_and_labels() -> tuple[np.ndarray, np.ndarray]:
    """Grey values 0…16 (1797×64) and digits (1797).

    They are read from scikit-learn's own file: to import it takes longer than torch.
    """
    found = importlib.util.find_spec("sklearn")
    for folder in (found and found.submodule_search_locations) or ():
        path = Path(folder, "datasets", "data", "digits.csv.gz")
        if path.is_file():
            table = np.loadtxt(path, delimiter=",")
            return table[:, :-1], table[:, -1].astype(np.int64)
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return images, labels


def nearest_neighbours(points: np.ndarray, k: int) -> np.ndarray:
    """The k other points nearest to each, nearest first, ties by smaller index (N×k).

    Everything is whole numbers, so no rounding decides a tie: the result is the same with any
    number of threads and on any machine.

    Args:
        points: whole numbers (N×F, int64), N > k; squared distances must fit into int64.
    """
    squares = (points * points).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * (points @ points.T)
    np.fill_diagonal(distances, np.iinfo(np.int64).max)
    return np.argsort(distances, axis=1, kind="stable")[:, :k]
