"""A small collection: paths of one class, rings with chords of the other."""

from __future__ import annotations

import torch

from gclbench.graph import Graph, make_graph

FEATURES = 4


def small_collection(graphs: int = 24, seed: int = 0) -> Graph:
    """Graphs of 4 to 13 nodes with one-hot features; the last has one node."""
    generator = torch.Generator().manual_seed(seed)

    def draw(least: int, most: int) -> int:
        return int(torch.randint(least, most, (1,), generator=generator))

    edges, graph_of, total = [], [], 0
    for number in range(graphs):
        nodes = draw(4, 14) if number < graphs - 1 else 1
        ring = number % 2 == 1
        pairs = [(i, i + 1) for i in range(nodes - 1)]
        if ring and nodes > 3:
            pairs += [(0, nodes - 1), (0, draw(2, nodes - 1))]
        edges += [(total + u, total + v) for u, v in pairs]
        graph_of += [number] * nodes
        total += nodes
    labels = torch.randint(0, FEATURES, (total,), generator=generator)
    x = torch.nn.functional.one_hot(labels, FEATURES).float()
    y = torch.arange(graphs) % 2
    return make_graph(
        x, torch.tensor(edges).T, y, "small", graph_of=torch.tensor(graph_of), undirected=True
    )
