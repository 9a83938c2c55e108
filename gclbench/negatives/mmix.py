"""M-Mix: the first view's embeddings become mixtures of several nodes: harder negatives.

M-Mix papers (ICLR submission, KDD 2022). Equations and tables are those of KDD 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from gclbench.component.registry import NEGATIVES
from gclbench.component.settings import Fraction, OneOf, Range
from gclbench.contrast.blocks import block_rows
from gclbench.contrast.objectives import inter_view_nce, multi_view_nce
from gclbench.contrast.unit_rows import unit_rows
from gclbench.graph import Unsupported
from gclbench.negatives.shares import AmongAll, AmongNeighbours, Neighbourhoods
from gclbench.negatives.strategy import Negatives, Pair, Report, WeightRows
from gclbench.nn.prelu import PReLU
from gclbench.training.loop import Loss
from gclbench.training.streams import Streams

VARIANTS = ("mp", "mo", "binary", "random", "adjacency")
SCOPES = ("wp", "all", "op")
BINARY_SHARE = 0.5


@NEGATIVES.register("mmix")
@dataclass(frozen=True)
class Mmix:
    """M-Mix: the first view becomes mixtures of several nodes, shares learned or by similarity.

    Attributes:
        variant: how the shares come about. `mp`: cosines between two learned projections (Eq. 6);
            `mo`: cosines of the embeddings, with a fixed share for the node itself (Eq. 7);
            `binary`: half the most similar other node; `random`: normal deviates, drawn anew in
            each iteration (Table 9); `adjacency`: equal shares of the neighbours and the node
            itself, near what the code as first released does (docs/sources.md).
        scope: what may be mixed with a node: `wp`, its neighbours; `all` nodes; `op`, those whose
            cosine is at least `threshold`.
        threshold: that of `op`.
        diversity: adds the loss that pushes the two projections of `mp` apart; the others have
            none.
        self_share: C, the node's share in its own mixture in `mo`.
        gradient: the loss reaches the shares; without, they are constants of each iteration.
    """

    version: ClassVar[str] = "1"
    takes_sparse: ClassVar[bool] = True
    mixes_nodes: ClassVar[bool] = True

    variant: Annotated[str, OneOf(*VARIANTS)] = "mp"
    scope: Annotated[str, OneOf(*SCOPES)] = "wp"
    diversity: bool = True
    self_share: Fraction = 0.2
    threshold: Annotated[float, Range(least=-1, most=1)] = 0.9
    gradient: bool = True

    @property
    def takes_weights(self) -> bool:
        """Whether edge weights leave nothing to be said: only `wp` reads edges, without weights."""
        return self.scope != "wp"

    def __post_init__(self) -> None:
        if self.variant == "adjacency" and self.scope != "wp":
            raise ValueError(
                f"variant=adjacency mixes neighbours only, and scope is {self.scope};"
                " type negatives.scope=wp"
            )

    def build(self, width: int, nodes: int, rng: Streams, device: torch.device) -> Negatives:
        """Projections of `mp` and the MLP behind the mixture.

        Raises:
            Unsupported: for a graph of one node.
        """
        if nodes < 2:
            raise Unsupported(
                "negatives=mmix mixes a node with others, hence needs two nodes, and this graph"
                " has one"
            )
        return MmixNegatives(self, width, rng)


class MmixNegatives(Negatives):
    """Mixtures, the MLP g behind them, and the node objective (Eqs. 9 and 10).

    Attributes:
        head: g, Linear–PReLU–Linear–PReLU as in the released code, but with biases.
        query, key: P_m and P_n of `mp`, None otherwise.
    """

    joint = True

    def __init__(self, settings: Mmix, width: int, rng: Streams):
        super().__init__()
        self.settings = settings
        with rng.seeded("negatives"):
            self.head = nn.Sequential(
                nn.Linear(width, width), PReLU(), nn.Linear(width, width), PReLU()
            )
            learned = settings.variant == "mp"
            self.query = nn.Linear(width, width, bias=False) if learned else None
            self.key = nn.Linear(width, width, bias=False) if learned else None
            for name, parameter in self.named_parameters():
                if parameter.ndim == 2:
                    nn.init.xavier_uniform_(parameter)
                elif name.endswith("bias"):
                    nn.init.zeros_(parameter)
        self.generators["negatives"] = rng.torch("negatives")
        self._near: tuple[Tensor, Neighbourhoods] | None = None

    def loss(self, pair: Pair) -> Loss:
        """J_node (Eq. 10): the mixed first view against the plain second, plus the diversity loss.

        Raises:
            Unsupported: for scope `wp` where the pair has no edges.
        """
        v = unit_rows(pair.v)
        mixed, diversity = self.mixed(pair.u, pair.edges, pair.block)
        if pair.intra:
            contrast = multi_view_nce(mixed, [v], pair.tau, pair.block)
        else:
            contrast = inter_view_nce(mixed, v, pair.tau, pair.block)
        terms = {"contrast": contrast.detach()}
        if diversity is None:
            return Loss(contrast, terms)
        return Loss(contrast + diversity, {**terms, "diversity": diversity.detach()})

    def mixed(
        self, u: Tensor, edge_index: Tensor | None, block: int | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """What the mixtures of the first view's nodes become behind g, unit rows (N×d), and the
        diversity loss, None where there is none.

        Args:
            u: N×d, rows of any length. edge_index: 2×E among them; None where there is none to
                know.

        Raises:
            Unsupported: for scope `wp` without edges.
        """
        z = unit_rows(u)
        q, k = self._projections(z)
        learns = self.settings.variant == "mp" and self.settings.diversity
        shares = self._shares(z, q, k, edge_index)
        if learns and self.settings.gradient and isinstance(shares, AmongNeighbours):
            mixture, (q, k) = shares.mixture_and_compared(z, block)
        else:
            mixture = shares.mixture(z, block)
        mixed = unit_rows(self.head(mixture))
        return mixed, diversity_loss(q, k) if learns else None

    def branches(self, z: Tensor, edge_index: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        """The directions of the mixed and of the plain branch, which the loss compares."""
        mixed, _ = self.mixed(z, edge_index)
        return mixed, unit_rows(other)

    def embed(self, z: Tensor, edge_index: Tensor) -> Tensor:
        """The sum of both branches, of one encoder. Table 6, `Average`."""
        mixed, plain = self.branches(z, edge_index, z)
        return mixed + plain

    def report(self, pair: Pair) -> Report:
        """The shares, and under scope `op` the finding `mmix_mixed`.

        That is the share of nodes that have any other above the threshold to be mixed with.
        """
        rows, nodes = self._share_rows(pair), len(pair.u)
        if self.settings.scope != "op":
            return Report(mixture=rows)
        size = block_rows(nodes, nodes)
        parts = ((rows(start, min(start + size, nodes)), start) for start in range(0, nodes, size))
        mixed = sum(int((part.diagonal(offset=start) < 1).sum()) for part, start in parts) / nodes
        little = "M-Mix mixed next to nothing: few nodes have another above negatives.threshold"
        return Report(
            mixture=rows, findings={"mmix_mixed": mixed}, remarks=[little] * (mixed < 0.01)
        )

    def _share_rows(self, pair: Pair) -> WeightRows:
        with torch.no_grad():
            z = unit_rows(pair.u)
            shares = self._shares(z, *self._projections(z), pair.edges)

        def rows(start: int, stop: int) -> Tensor:
            with torch.no_grad():
                return shares.rows(start, stop)

        return rows

    def _projections(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """q and k of Eq. 6, unit rows; z itself for the variants that compare embeddings."""
        if self.query is None or self.key is None:
            return z, z
        return unit_rows(self.query(z)), unit_rows(self.key(z))

    def _shares(
        self, z: Tensor, q: Tensor, k: Tensor, edge_index: Tensor | None
    ) -> AmongAll | AmongNeighbours:
        variant = self.settings.variant
        own = {"mo": self.settings.self_share, "binary": BINARY_SHARE}.get(variant)
        if not self.settings.gradient:
            z, q, k = z.detach(), q.detach(), k.detach()
        if self.settings.scope == "wp":
            near = self._neighbourhoods(edge_index, len(z))
            noise = self._noise(len(near), z) if variant == "random" else None

            def entry_scores(chosen: slice, anchor: Tensor, other: Tensor, *rows: Tensor) -> Tensor:
                if variant == "adjacency":
                    return z.new_zeros(len(anchor))
                if noise is not None:
                    return noise[chosen]
                one, another = rows
                return (one.index_select(0, anchor) * another.index_select(0, other)).sum(dim=1)

            compared = () if variant in ("adjacency", "random") else (q, k)
            return AmongNeighbours(
                near, entry_scores, own, best_only=variant == "binary", compared=compared
            )
        seeds = self._seeds(len(z)) if variant == "random" else None

        def scores(start: int, stop: int) -> Tensor:
            return q[start:stop] @ k.T if seeds is None else _normal_rows(seeds[start:stop], z)

        def near_enough(start: int, stop: int) -> Tensor:
            return (q[start:stop] @ k.T).detach() >= self.settings.threshold

        allowed = near_enough if self.settings.scope == "op" else None
        return AmongAll(len(z), scores, own, allowed, best_only=variant == "binary")

    def _neighbourhoods(self, edge_index: Tensor | None, nodes: int) -> Neighbourhoods:
        """Kept for the last edges: a training on the whole graph asks for the same each time."""
        if edge_index is None:
            raise Unsupported(
                "negatives.scope=wp mixes a node with its neighbours, and this method contrasts"
                " batches without edges; negatives.scope=all or negatives.scope=op needs none"
            )
        if self._near is None or self._near[0] is not edge_index or self._near[1].nodes != nodes:
            self._near = (edge_index, Neighbourhoods(edge_index, nodes))
        return self._near[1]

    def _noise(self, count: int, like: Tensor) -> Tensor:
        return torch.randn(count, generator=self.generators["negatives"], dtype=like.dtype).to(
            like.device
        )

    def _seeds(self, count: int) -> list[int]:
        return torch.randint(2**31, (count,), generator=self.generators["negatives"]).tolist()


def diversity_loss(q: Tensor, k: Tensor) -> Tensor:
    """L_div = −(1/N) Σ ‖q_i − k_i‖² of unit rows, to be minimised (Eq. 8).

    Args:
        q, k: N×d, unit rows.
    """
    return 2 * (q * k).sum(dim=1).mean() - 2


def _normal_rows(seeds: list[int], like: Tensor) -> Tensor:
    """A row of N normal deviates per seed: the same numbers whichever block a row is in, and when a
    block is computed again."""
    generator = torch.Generator()
    rows = [
        torch.randn(len(like), generator=generator.manual_seed(seed), dtype=like.dtype)
        for seed in seeds
    ]
    return torch.stack(rows).to(like.device)
