"""Common walks of every two graphs of a collection, from the spectra of their adjacencies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import scipy.sparse

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
    """Eigenvalues of each graph's adjacency, and the squared sum of each one's eigenvector; those
    without a share in the walks are left out.

    Nodes of a class (`_classes`) have equally many walks of every length. So a graph's walks are
    those of the small matrix B of its C classes, Bcd = Ecd / √(sc·sd) with the numbers s of nodes
    and E of edge entries, from and to the vector √s: 1ᵀ Aᵏ 1 = √sᵀ Bᵏ √s.
    """
    classes, owner = _classes(graph)
    sizes = np.bincount(classes)
    entries = scipy.sparse.coo_matrix(
        (np.ones(graph.edge_index.shape[1]), tuple(classes[graph.edge_index.cpu().numpy()])),
        shape=(len(sizes), len(sizes)),
    ).tocsr()
    borders = np.searchsorted(owner, np.arange(graph.items + 1))
    for first, last in pairwise(borders):
        roots = np.sqrt(sizes[first:last])
        small = entries[first:last, first:last].toarray() / np.outer(roots, roots)
        values, vectors = np.linalg.eigh(small)
        weights = (roots @ vectors) ** 2
        kept = weights > WEIGHTLESS * roots @ roots  # the largest eigenvalue's weight always is
        yield values[kept], weights[kept]


def _classes(graph: Data) -> tuple[np.ndarray, np.ndarray]:
    """The coarsest classes of nodes of one graph such that two nodes of a class have equally many
    neighbours in every class: (the class of each node, the graph of each class, ascending).

    Nodes of a class are told apart by the classes of their neighbours until none are. The
    neighbours' classes are compared by the sum of a random number of each, modulo 2⁶⁴.
    """
    rows, columns = graph.edge_index.cpu().numpy()
    member = graph.graph_of.cpu().numpy()
    adjacency = scipy.sparse.csr_matrix(
        (np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=(len(member), len(member))
    )
    draw = np.random.default_rng(0)
    classes, count = member, 0
    while (now := int(classes.max()) + 1) > count:
        count = now
        own, of_neighbour = draw.integers(-(2**63), 2**63, size=(2, count))
        told = own[classes] + adjacency @ of_neighbour[classes]
        _, classes = np.unique(told, return_inverse=True)
    _, one, classes = np.unique(classes, return_index=True, return_inverse=True)
    order = np.argsort(member[one], kind="stable")
    return np.argsort(order)[classes], member[one][order]
