"""Harmonic functions on a graph (Zhu, Ghahramani and Lafferty 2003): given values at some nodes,
and elsewhere the mean of the neighbours."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg
from torch import Tensor
from torch_geometric.nn.models import LabelPropagation as Propagation

from gclbench.graph.carrier import Data
from gclbench.training.watch import Diverged

TOLERANCE = 1e-10
"""Of the residual of conjugate gradients, as a share of the right-hand side's length."""


def stepped(graph: Data, nodes: Tensor, values: Tensor, steps: int) -> tuple[Tensor, float]:
    """The function after some steps from zero (N×K), and the most that one more step would move it.

    In a step each node takes the mean of its neighbours, by torch_geometric's propagation with the
    weights D⁻¹A; then the given values are put back (Zhu and Ghahramani 2002). The limit is the
    harmonic function; where few values are given it is far.

    Args:
        nodes: (n,), those with given values. values: (n, K).
    """
    start = values.new_zeros(graph.num_nodes, values.shape[1])
    start[nodes] = values
    target, weight = graph.edge_index[1], graph.edge_weight
    wide = None if weight is None else weight.double()
    degree = torch.bincount(target, wide, minlength=graph.num_nodes)
    share = 1 / degree[target].to(torch.float32)
    walked = share if weight is None else share * weight

    def walk(found: Tensor, count: int) -> Tensor:
        return Propagation(count, alpha=1.0)(
            found,
            graph.edge_index,
            edge_weight=walked,
            post_step=lambda moved: moved.index_copy(0, nodes, values),
        )

    found = walk(start, steps)
    return found, float((walk(found, 1) - found).abs().max())


def solved(graph: Data, nodes: Tensor, values: Tensor) -> tuple[Tensor, int]:
    """The function itself (N×K), and the most iterations that one of its columns took.

    The system (D − A)ᵤᵤ f = Aᵤₗ values (ibid., Eq. 5) is solved in float64 by scipy's conjugate
    gradients, preconditioned by Dᵤᵤ. Nodes without a path to a given one stay at 0.

    Args:
        nodes: (n,), those with given values. values: (n, K).

    Raises:
        Diverged: when the residual is not below the tolerance after 10 N iterations.
    """
    count = graph.num_nodes
    source, target = graph.edge_index.cpu().numpy()
    weight = graph.edge_weight
    entries = np.ones(len(source)) if weight is None else weight.cpu().double().numpy()
    adjacency = sparse.csr_array((entries, (target, source)), (count, count))
    given, known = nodes.cpu().numpy(), values.cpu().numpy().astype(np.float64)
    _, component = connected_components(adjacency, directed=False)
    free = np.isin(component, component[given])
    free[given] = False
    rows = np.flatnonzero(free)
    degree = adjacency.sum(axis=1)[rows]
    walks = adjacency[rows]
    system = sparse.diags_array(degree) - walks[:, rows]
    preconditioner = sparse.diags_array(1 / degree)
    found = np.zeros((count, known.shape[1]))
    found[given] = known
    most = 0
    for column, right in enumerate((walks[:, given] @ known).T):
        iterates: list[None] = []
        found[rows, column], failed = cg(
            system,
            right,
            rtol=TOLERANCE,
            maxiter=10 * count,
            M=preconditioner,
            callback=lambda _, seen=iterates: seen.append(None),
        )
        if failed:
            raise Diverged(
                f"conjugate gradients on '{graph.name}' are not within {TOLERANCE:g} after"
                f" {10 * count:,} iterations; method.solver=steps takes steps instead"
            )
        most = max(most, len(iterates))
    return torch.from_numpy(found).to(values), most
