"""The settings of MVGRL (Hassani & Khasahmadi 2020), on nodes and on collections of graphs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, ClassVar

from torch import Tensor

from gclbench.component.settings import (
    Count,
    NonNegative,
    OneOf,
    Positive,
    Range,
    SameIdAtDefault,
    Temperature,
)
from gclbench.methods.trained import BatchOfGraphs, CourseEvery, EpochBy, Trained
from gclbench.nn.gcn import GCN_ACTIVATIONS


@dataclass(frozen=True)
class MvgrlSettings(Trained):
    """The hyper-parameters.

    Attributes:
        objective: `summary` is the paper's: nodes of each view against the summary of the other
            one, shuffled features for contrast. `nodes` is InfoNCE between the two views' nodes,
            against any strategy for negatives (the base of M-Mix).
        epochs: steps at most. patience: steps without a new lowest training loss that end the
            training; 0: all epochs.
        subgraphs: random sub-graphs that a step averages its loss over; 0: the whole graph. They
            bound the memory of the loss. Propagation by S still walks all nodes; so does the
            diffusion, or it is stored, N×N (`two_propagations`). `patience` then compares losses of
            different sub-graphs.
        subgraph_nodes: nodes of each, drawn uniformly; as many as the graph has, or more: the
            whole graph.
        lr, weight_decay: of Adam.
        hidden: width d of either GCN's one layer. activation: after it.
        alpha: teleport probability of the diffusion α (I − (1−α) S)⁻¹.
        tau, intra: temperature, and whether nodes within a view are contrasted too; of
            `objective=nodes`.
        normalize_features: divide each row of the features by its absolute sum.
        layers, batch_size, levels, train_encoder: of a collection of graphs. Either GCN has
            `layers`, a step has `batch_size` graphs, and an epoch is a pass over all. With
            `objective=nodes` these `levels` are contrasted: the `nodes` of the batch (all, or those
            of `subgraphs` random sets of `subgraph_nodes`), the vectors of `graphs`, or `both`.
            Without `train_encoder` only the heads behind the random GCNs are trained, as in the
            official code.
        branch: what is evaluated: the sum of `both` views' embeddings, or one of them. `a` is the
            graph's, which M-Mix mixes, and `b` that of its diffusion (M-Mix KDD 2022, Table 6). The
            training is the same.
        epoch_by: the embedding is that of the `last` step (with `patience`, of the lowest loss), or
            of the one that the task's `validation` part scores best (docs/choices.md).
        course: epochs between two embeddings that the task evaluates besides, for a figure.
    """

    version: ClassVar[str] = "1"
    takes_weights: ClassVar[bool | tuple[str, ...]] = ("nodes",)
    takes_sparse: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = False
    inductive: ClassVar[bool] = True
    items: ClassVar[tuple[str, ...]] = ("nodes", "graphs")
    no_negatives: ClassVar[str] = (
        "its objective compares nodes with one summary of the graph, not with other nodes;"
        " method.objective=nodes contrasts nodes"
    )

    objective: Annotated[str, OneOf("summary", "nodes")] = "summary"
    epochs: Annotated[int, Range(least=0)] = 3000
    patience: Annotated[int, Range(least=0)] = 20
    subgraphs: Annotated[int, Range(least=0)] = 0
    subgraph_nodes: Annotated[int, Range(least=2)] = 2000
    lr: Positive = 1e-3
    weight_decay: NonNegative = 0.0
    hidden: Count = 512
    activation: Annotated[str, OneOf(*GCN_ACTIVATIONS)] = "prelu"
    alpha: Annotated[float, Range(above=0, most=1)] = 0.2
    tau: Temperature = 1.0
    intra: bool = True
    normalize_features: bool = False
    epoch_by: EpochBy = "last"
    layers: Annotated[Count, SameIdAtDefault()] = 1
    batch_size: Annotated[BatchOfGraphs, SameIdAtDefault()] = 128
    levels: Annotated[str, OneOf("nodes", "graphs", "both"), SameIdAtDefault()] = "both"
    train_encoder: Annotated[bool, SameIdAtDefault()] = True
    branch: Annotated[str, OneOf("both", "a", "b"), SameIdAtDefault()] = "both"
    course: CourseEvery = 0

    def __post_init__(self) -> None:
        if self.objective == "nodes" and not self.train_encoder:
            raise ValueError(
                "train_encoder=false trains the heads of objective=summary alone, and"
                " objective=nodes has none; for an untrained encoder type method.epochs=0"
            )

    @property
    def sub_graph(self) -> int:
        """Nodes of a step's sub-graphs; 0 where it has the whole graph."""
        return self.subgraph_nodes if self.subgraphs else 0

    def for_collections(self) -> str:
        """The first setting away from its default that only a collection reads; empty for none."""
        usual = {field.name: field.default for field in fields(self)}
        names = ("layers", "batch_size", "levels", "train_encoder")
        odd = (name for name in names if getattr(self, name) != usual[name])
        return next((f"method.{name}={getattr(self, name)}" for name in odd), "")

    def evaluated_of(self, a: Tensor, b: Tensor) -> Tensor:
        """What is evaluated of the two views' embeddings."""
        return {"both": a + b, "a": a, "b": b}[self.branch]

    @property
    def takes_negatives(self) -> bool:
        """Only the contrast of nodes has negatives to weight."""
        return self.objective == "nodes"
