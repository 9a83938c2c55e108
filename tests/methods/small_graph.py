"""A small graph, and the two matrices of MVGRL's views written out."""

from __future__ import annotations

import torch
from torch import Tensor

from gclbench.graph import Graph, make_graph

NODES, INPUTS, WIDTH = 14, 7, 5


def small_graph() -> Graph:
    """14 nodes with 7 features."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(NODES, INPUTS, generator=generator)
    edges = (torch.rand(NODES, NODES, generator=generator) < 0.2).triu(1).nonzero().T
    return make_graph(x, edges, None, "small", undirected=True)


def views_of(edge_index: Tensor, alpha: float = 0.2) -> tuple[Tensor, Tensor]:
    """S and α (I − (1−α) S)⁻¹, N×N."""
    a = torch.eye(NODES)
    a[edge_index[1], edge_index[0]] = 1
    scale = a.sum(dim=1).rsqrt()
    s = scale[:, None] * a * scale
    return s, alpha * torch.linalg.inv(torch.eye(NODES) - (1 - alpha) * s)
