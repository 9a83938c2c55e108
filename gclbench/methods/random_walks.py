"""Common walks of every two graphs of a collection, from the spectra of their adjacencies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gclbench.graph.carrier import Data

ENTRIES = 2**22
"""Entries of a block of pairs of eigenvalues: 32 MiB."""

WEIGHTLESS = 1e-12
"""An eigenvector whose share in a graph's walks is below this one is left out."""


def common_walks(graph: Data, decay: float) -> np.ndarray:
    """The geometric random walk kernel (Gärtner, Flach & Wrobel, COLT 2003) of G graphs (G×G).

    1ᵀ (I − λ A⊗B)⁻¹ 1, the number of walks that graphs A and B have in common, a step weighing λ.
    A = U diag(μ) Uᵀ and B = V diag(ν) Vᵀ turn it into a sum over pairs of eigenvalues (as
    Vishwanathan et al., JMLR 2010, section 4.3, do for powers): Σᵢⱼ aᵢ bⱼ / (1 − λ μᵢ νⱼ) with the
    weights aᵢ = (uᵢᵀ1)², bⱼ = (vⱼᵀ1)². So a pair of graphs costs the product of their sizes, where
    solving the system on the product graph costs that many times its steps.

    Args:
        decay: λ as a share of the one at which the sum diverges for the densest graph with itself.
    """
    spectra = list(_spectra(graph))
    largest = max((float(np.abs(values).max()) for values, _ in spectra), default=0.0)
    scale = decay / max(largest**2, 1.0)
    values = np.concatenate([values for values, _ in spectra])
    weights = np.concatenate([weights for _, weights in spectra])
    starts = np.cumsum([0, *(len(values) for values, _ in spectra)])[:-1]
    found = np.empty((len(spectra), len(spectra)))
    rows = max(1, ENTRIES // len(values))
    for number, (own, own_weights) in enumerate(spectra):
        total = np.zeros(len(values))
        for first in range(0, len(own), rows):
            part = slice(first, first + rows)
            total += own_weights[part] @ (1 / (1 - scale * np.outer(own[part], values)))
        found[number] = np.add.reduceat(total * weights, starts)
    return found


def _spectra(graph: Data) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The eigenvalues of each graph's adjacency, and the squared sum of each one's eigenvector."""
    member, edges = graph.graph_of.cpu().numpy(), graph.edge_index.cpu().numpy()
    nodes = np.searchsorted(member, np.arange(graph.items + 1))
    entries = np.searchsorted(edges[0], nodes)
    for number in range(graph.items):
        size = nodes[number + 1] - nodes[number]
        adjacency = np.zeros((size, size))
        own = edges[:, entries[number] : entries[number + 1]] - nodes[number]
        adjacency[own[0], own[1]] = 1
        values, vectors = np.linalg.eigh(adjacency)
        weights = vectors.sum(axis=0) ** 2
        kept = weights > WEIGHTLESS * size  # the largest eigenvalue's weight always is
        yield values[kept], weights[kept]
