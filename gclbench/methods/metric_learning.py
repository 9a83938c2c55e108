"""What DMT, DMAT and DMAT-i share: an encoder trained on shuffled batches of filtered features
(paper 000, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from gclbench.component.settings import Count, NonNegative, OneOf, Positive, Range, Temperature
from gclbench.contrast.unit_rows import unit_rows
from gclbench.embedding import Contrast, Embedding
from gclbench.graph import Unsupported
from gclbench.methods.subgraphs import edges_among
from gclbench.negatives.strategy import Negatives, Pair, RowMixture, Strategy
from gclbench.negatives.uniform import Uniform
from gclbench.nn.mlp import ACTIVATIONS, Mlp
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

ROWS_AT_ONCE = 8192
"""Nodes encoded together for the final embedding; bounds memory."""


@dataclass(frozen=True)
class MetricLearning:
    """The shared hyper-parameters and training loop.

    Attributes:
        epochs: number of training iterations, `n_epochs` of the paper's Table 8; 0 leaves the
            encoder untrained.
        epoch_is: what one iteration is: one `batch`, or one `pass` over all batches
            (docs/choices.md says why `batch`).
        architecture: width of each encoder layer.
        activation: between layers; none after the last.
        unit_input: scale the filtered features' rows to length 1 first, so that the embedding
            depends on their directions alone.
        tau: temperature t. lr, weight_decay: of AdamW.
        batch_size: nodes per batch; a batch larger than the graph is the graph.
    """

    version: ClassVar[str] = "1"
    no_negatives: ClassVar[str] = "labels say which of its pairs are negatives"

    epochs: Annotated[int, Range(least=0)] = 300
    epoch_is: Annotated[str, OneOf("batch", "pass")] = "batch"
    architecture: tuple[Count, ...] = (256, 128)
    activation: Annotated[str, OneOf(*ACTIVATIONS)] = "gelu"
    unit_input: bool = True
    tau: Temperature = 1.0
    lr: Positive = 1e-3
    weight_decay: NonNegative = 0.02
    batch_size: Annotated[int, Range(least=2)] = 512

    def __post_init__(self) -> None:
        if not self.architecture:
            raise ValueError(
                "architecture needs at least one width, for example method.architecture=[256,128]"
            )

    @property
    def needs_labels(self) -> bool:
        """Whether training reads the labels of training nodes."""
        return True

    def fit(
        self,
        graph: Data,
        labels: Tensor,
        rng: Streams,
        watch: Watch,
        negatives: Strategy | None = None,
    ) -> Embedding:
        """Trains the encoder and embeds every node.

        Args:
            graph: x (N×F) is the filtered features. labels: (N,), −1 where a label may not be seen.
            negatives: settings of the strategy, for a method that takes one; `uniform` is the
                method's own objective.

        Raises:
            Unsupported: when the method needs labels and sees fewer than two, or the graph does not
                suit the strategy.
        """
        x = graph.x
        nodes = torch.arange(len(x))
        if self.needs_labels:
            nodes = nodes[labels.cpu() >= 0]
            if len(nodes) < 2:
                raise Unsupported(
                    f"{type(self).__name__} learns from labelled nodes and sees {len(nodes)}; "
                    "only task=classification reveals labels, those of its training nodes"
                )
        with rng.seeded("init"):
            encoder = Mlp(x.shape[1], self.architecture, self.activation).to(x.device)
        strategy: Negatives | None = None
        if negatives is not None and not isinstance(negatives, Uniform):
            strategy = negatives.build(self.architecture[-1], len(x), rng, x.device).to(x.device)
        parameters = [
            *encoder.parameters(),
            *([] if strategy is None else strategy.joint_parameters()),
        ]
        optimiser = torch.optim.AdamW(
            parameters, lr=self.lr, weight_decay=self.weight_decay, fused=True
        )
        views = rng.torch("views")
        batches_per_pass = math.ceil(len(nodes) / self.batch_size)
        steps = self.epochs * (batches_per_pass if self.epoch_is == "pass" else 1)
        batches = Batches(nodes, self.batch_size, rng.torch("batches"))
        state: dict[str, Any] = {
            "encoder": encoder,
            "strategy": strategy,
            "optimiser": optimiser,
            "views": views,
            "batches": batches,
        }
        for step in watch.iterations(steps, **state):
            batch = batches.next().to(x.device)
            if strategy is None:
                loss = self.objective(
                    encoder, self.inputs(x.index_select(0, batch)), labels[batch], views
                )
            else:
                # The whole graph as a batch: in the graph's order, as a strategy that knows nodes
                # by their number needs it.
                batch = batch.sort().values if len(batch) == len(x) else batch
                among = edges_among(graph.edge_index, batch, len(x))
                pair = partial(
                    Pair, tau=self.tau, iteration=step, total=steps, edge_index=among, nodes=len(x)
                )
                loss = self.against(
                    strategy, encoder, self.inputs(x.index_select(0, batch)), views, pair
                )
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            watch(
                step,
                steps,
                loss.detach(),
                {"contrast": loss.detach()} if strategy is None else strategy.terms,
            )
        with torch.no_grad():
            z = torch.cat([encoder(self.inputs(rows)) for rows in x.split(ROWS_AT_ONCE)])
            contrast = self.last_views(
                encoder, x, views, None if strategy is None else strategy.mixture(len(x), x.device)
            )
            told: dict[str, Any] = {}
            if strategy is not None:
                strategy.eval()
                z = strategy.embed(z, graph.edge_index)
                if contrast is not None:
                    last = Pair(
                        contrast.u,
                        contrast.v,
                        self.tau,
                        iteration=max(1, steps),
                        total=steps,
                        edge_index=graph.edge_index,
                        nodes=len(x),
                        batched=min(self.batch_size, len(nodes)) < len(x),
                    )
                    contrast, told = (
                        replace(contrast, **strategy.reports(last)),
                        strategy.told(last),
                    )
        return Embedding(z, geometry="cosine", contrast=contrast, **told)

    def inputs(self, rows: Tensor) -> Tensor:
        """What the encoder reads of filtered features, M×F."""
        return unit_rows(rows) if self.unit_input else rows

    def objective(self, encoder: Mlp, x: Tensor, labels: Tensor, views: torch.Generator) -> Tensor:
        """The loss of one batch.

        Args:
            x: B×F. labels: (B,). views: the stream that masks are drawn from.
        """
        raise TypeError(f"{type(self).__name__} defines no objective")

    def against(
        self,
        strategy: Negatives,
        encoder: Mlp,
        x: Tensor,
        views: torch.Generator,
        pair: Callable[[Tensor, Tensor], Pair],
    ) -> Tensor:
        """The loss of one batch under a strategy for negatives other than `uniform`.

        Args:
            x: B×F. views: the stream that masks are drawn from. pair: what the strategy is handed,
                from two views' embeddings.
        """
        raise TypeError(f"{type(self).__name__} takes no strategy for negatives")

    def last_views(
        self, encoder: Mlp, x: Tensor, views: torch.Generator, mixture: RowMixture | None
    ) -> Contrast | None:
        """Two views of all nodes by the trained encoder, for analyses; None for methods that
        contrast no views.

        Args:
            x: N×F, filtered. views: the stream that masks are drawn from. mixture: of the first
                view's inputs.
        """
        return None


class Batches:
    """Batches without end: the nodes are shuffled, cut into batches, and shuffled again when they
    are used up.

    Args:
        nodes: node ids. size: of a batch; the last one of a pass is smaller where it does not
            divide the nodes.
        generator: what shuffles.
    """

    def __init__(self, nodes: Tensor, size: int, generator: torch.Generator):
        self._nodes = nodes
        self._size = size
        self._generator = generator
        self._order = nodes[:0]
        self._given = 0

    def next(self) -> Tensor:
        """Ids of the next batch's nodes."""
        if self._given >= len(self._order):
            self._order = self._nodes[torch.randperm(len(self._nodes), generator=self._generator)]
            self._given = 0
        batch = self._order[self._given : self._given + self._size]
        self._given += self._size
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Where it is in the pass, and the generator that shuffles the next one."""
        return {
            "order": self._order,
            "given": self._given,
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a state that `state_dict` gave."""
        self._order, self._given = state["order"], int(state["given"])
        self._generator.set_state(state["generator"])
