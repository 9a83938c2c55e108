from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from gclbench.graph import Graph, make_graph


@pytest.fixture
def toy() -> Callable[..., Graph]:
    """Makes small graphs with noisy class features, most edges within classes, and masks on
    request."""

    def make(
        nodes: int = 120,
        classes: int = 3,
        edges: int = 600,
        seed: int = 0,
        masks: bool = False,
        y: object = "own",
    ) -> Graph:
        rng = np.random.default_rng(seed)
        labels = rng.permutation(np.arange(nodes) % classes)
        x = (2 * np.eye(classes)[labels] + rng.normal(size=(nodes, classes))).astype(np.float32)
        pairs = rng.integers(0, nodes, (2, edges))
        pairs = pairs[:, (labels[pairs[0]] == labels[pairs[1]]) | (rng.random(edges) < 0.2)]
        # make_graph would note the self-loops as a repair.
        pairs = pairs[:, pairs[0] != pairs[1]]
        part = np.arange(nodes) % 4
        public = (
            {"train_mask": part == 0, "val_mask": part == 1, "test_mask": part >= 2}
            if masks
            else None
        )
        given = torch.from_numpy(labels) if isinstance(y, str) else y
        return make_graph(
            x,
            np.unique(np.sort(pairs, axis=0), axis=1),
            given,
            "toy",
            masks=public,
            undirected=True,
        )

    return make
