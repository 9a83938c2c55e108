"""Small graphs, and the filter on them by a dense solve in float64: what every solver is tested
against."""

from __future__ import annotations

import torch
from torch import Tensor


def edges_of(pairs: list[tuple[int, int]]) -> Tensor:
    """Both directions of each pair, sorted: 2×E."""
    both = sorted(pairs + [(b, a) for a, b in pairs])
    return torch.tensor(both, dtype=torch.long).reshape(-1, 2).T.contiguous()


def two_parts_and_loners() -> tuple[Tensor, int]:
    """A dense part with a hub, a path (bipartite, so eigenvalue −1 without self-loops), and two
    nodes without edges."""
    pairs = [(0, node) for node in range(1, 9)] + [(1, 2), (2, 3), (3, 4), (4, 1), (5, 7)]
    pairs += [(node, node + 1) for node in range(9, 15)]
    return edges_of(pairs), 18


def random_graph(nodes: int, seed: int, mean_degree: float) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    upper = torch.triu(
        torch.rand(nodes, nodes, generator=generator) < mean_degree / nodes, diagonal=1
    )
    return (upper | upper.T).nonzero().T.contiguous()


def graphs() -> dict[str, tuple[Tensor, int]]:
    """The shapes that have broken solvers before: edge_index and number of nodes, by name."""
    return {
        "two parts and loners": two_parts_and_loners(),
        "random": (random_graph(60, 1, 5.0), 60),
        "star": (edges_of([(0, node) for node in range(1, 40)]), 40),
        "one edge": (edges_of([(0, 1)]), 2),
        "one node": (edges_of([]), 1),
        "no edges": (edges_of([]), 5),
    }


def signed_features(nodes: int, width: int, seed: int = 0) -> Tensor:
    """N×width normal numbers: column 0 empty, column 1 without negative ones, row 0 empty (where
    there are other rows)."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(nodes, width, generator=generator)
    x[:, 0] = 0.0
    x[:, 1] = x[:, 1].abs()
    if nodes > 1:
        x[0] = 0.0
    return x


def dense_solution(
    edge_index: Tensor, x: Tensor, alpha: float, r: float, self_loops: bool
) -> tuple[Tensor, Tensor]:
    """X = α Dʳ (I − (1−α)P)⁻¹ D⁻ʳ X₀ and the degrees, float64; a node without any entry counts as
    degree 1."""
    nodes = len(x)
    adjacency = torch.zeros(nodes, nodes, dtype=torch.float64)
    adjacency[edge_index[0], edge_index[1]] = 1.0
    if self_loops:
        adjacency += torch.eye(nodes, dtype=torch.float64)
    degree = adjacency.sum(dim=1).clamp(min=1.0)
    transition = adjacency / degree[:, None]
    system = torch.eye(nodes, dtype=torch.float64) - (1.0 - alpha) * transition
    scaled = x.double() * degree[:, None] ** -r
    return alpha * degree[:, None] ** r * torch.linalg.solve(system, scaled), degree


def weighted_error(found: Tensor, wanted: Tensor, degree: Tensor, r: float) -> float:
    """Relative Frobenius error of D^(½−r) X: the norm of the solvers' bound."""
    weight = degree[:, None] ** (0.5 - r)
    size = (wanted * weight).norm()
    return (
        float(((found.double() - wanted) * weight).norm() / size)
        if float(size)
        else float(found.double().norm())
    )
