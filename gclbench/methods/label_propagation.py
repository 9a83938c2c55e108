"""LP: label propagation (Zhu, Ghahramani and Lafferty 2003)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from gclbench.component.registry import METHODS
from gclbench.component.settings import Count, OneOf, SameIdAtDefault
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.graph.carrier import Data
from gclbench.methods.harmonic import solved, stepped
from gclbench.methods.labelled import classes_without_node, labelled_nodes, unseen_classes
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

LEAST = 1e-30
"""A share of a class counts as at least so much, so that its logarithm is finite."""
STILL = 1e-6
"""Steps that move no share by more have come to the limit, as far as float32 tells."""


@METHODS.register("label_propagation")
@dataclass(frozen=True)
class LabelPropagation:
    """Label propagation: each node takes the mean of its neighbours' shares of the classes.

    It is a weighted mean where edges have weights.

    Training nodes keep their label: the limit is the harmonic function of the graph. Features have
    no part in it. A node that no training node reaches has no share of any class; it is given the
    classes' shares of the training nodes.

    Attributes:
        steps: of the propagation, where `solver=steps`.
        solver: `steps` of the propagation, or `conjugate_gradients`, which give the limit itself.
        class_mass: `none` takes the class of the largest share. `normalised` first scales the
            shares of each class so that, summed over the nodes without a label, classes stand as
            among the training nodes: class mass normalisation (ibid., Section 4).
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True
    takes_negatives: ClassVar[bool] = False
    no_negatives: ClassVar[str] = "it trains nothing"

    steps: Count = 1000
    solver: Annotated[str, OneOf("steps", "conjugate_gradients"), SameIdAtDefault()] = "steps"
    class_mass: Annotated[str, OneOf("none", "normalised"), SameIdAtDefault()] = "none"

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        """Shares of the classes (N×K), and their logarithms as class scores.

        Raises:
            Unsupported: when the task reveals no labels, or the graph has no edges.
            Diverged: when `solver=conjugate_gradients` does not converge.
        """
        train = labelled_nodes(labels, METHODS.name_of(type(self))).to(labels.device)
        if not graph.edge_index.shape[1]:
            raise Unsupported(f"label_propagation walks along edges, and '{graph.name}' has none")
        known = one_hot(labels[train], graph.classes).to(torch.float32)
        findings: dict[str, Any] = {}
        remarks: list[str] = []
        if self.solver == "steps":
            shares, findings["next_step_moves"] = stepped(graph, train, known, self.steps)
            if findings["next_step_moves"] > STILL:
                remarks.append(
                    f"{self.steps:,} steps have not converged: the next one would move a share by"
                    f" {findings['next_step_moves']:.1e}; method.solver=conjugate_gradients gives"
                    " the limit"
                )
        else:
            shares, findings["iterations"] = solved(graph, train, known)
        total = shares.sum(dim=1, keepdim=True)
        lost = total[:, 0] == 0
        shares = shares / total.clamp(min=LEAST)
        if self.class_mass == "normalised":
            shares = by_class_mass(shares, train, known)
        shares = torch.where(lost[:, None], known.mean(dim=0), shares)
        findings["unreached"] = int(lost.sum())
        told = unseen_classes(classes_without_node(labels, graph.classes), findings)
        return Embedding(
            shares,
            scores=shares.clamp(min=LEAST).log(),
            findings=told["findings"],
            remarks=[*told.get("remarks", []), *remarks],
        )


def by_class_mass(shares: Tensor, train: Tensor, known: Tensor) -> Tensor:
    """Shares (N×K) whose columns have the proportions of the training nodes' classes when summed
    over the other nodes, each row then scaled to sum to 1 again (Zhu et al. 2003, Section 4).

    Training nodes keep theirs, and so do nodes and classes without any share.

    Args:
        train: (n,), the training nodes. known: (n, K), their classes, one-hot.
    """
    mass = shares.sum(dim=0) - shares[train].sum(dim=0)
    scaled = shares * (known.mean(dim=0) / mass.clamp(min=LEAST))
    scaled = scaled / scaled.sum(dim=1, keepdim=True).clamp(min=LEAST)
    return scaled.index_copy(0, train, known)
