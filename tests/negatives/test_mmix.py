"""M-Mix: the node objective against a plain double loop, the diversity loss, variants and scopes,
bad input."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from scipy import stats
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.component.settings import bind
from gclbench.config.validation import ConfigErrors, load
from gclbench.graph import Unsupported
from gclbench.negatives.mmix import SCOPES, VARIANTS, Mmix, MmixNegatives, diversity_loss
from gclbench.negatives.strategy import Pair
from gclbench.training.streams import Streams

CPU = torch.device("cpu")
NODES, WIDTH, THRESHOLD = 6, 4, 0.4
# Node 5 has no neighbour.
EDGES = torch.tensor([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)]).T
EDGE_INDEX = torch.cat([EDGES, EDGES.flip(0)], dim=1)
SETTINGS = [
    (variant, scope)
    for variant in VARIANTS
    for scope in SCOPES
    if variant != "adjacency" or scope == "wp"
]


def made(settings: Mmix, seed: int = 0) -> MmixNegatives:
    strategy = settings.build(WIDTH, NODES, Streams(seed), CPU)
    assert isinstance(strategy, MmixNegatives)
    return strategy.double()


def pair_of(seed: int = 0, **changes: object) -> Pair:
    generator = torch.Generator().manual_seed(seed)
    u, v = (torch.randn(NODES, WIDTH, generator=generator, dtype=torch.float64) for _ in range(2))
    return replace(Pair(u, v, 0.7, 1, 10, edge_index=EDGE_INDEX), **changes)  # type: ignore[arg-type]


@torch.no_grad()
def cosines(strategy: MmixNegatives, z: Tensor) -> Tensor:
    """What `mp` compares, the two projections, or the embeddings themselves."""
    if strategy.query is None or strategy.key is None:
        return z @ z.T
    return (
        normalize(z @ strategy.query.weight.T, dim=1)
        @ normalize(z @ strategy.key.weight.T, dim=1).T
    )


def next_normals(strategy: MmixNegatives) -> Tensor:
    """The N×N normal deviates of the coming draw, 0 where none is needed: one per entry of A + I,
    or a row from each node's seed."""
    generator = torch.Generator()
    generator.set_state(strategy.generators["negatives"].get_state())
    if strategy.settings.scope != "wp":
        seeds = torch.randint(2**31, (NODES,), generator=generator).tolist()
        return torch.stack(
            [
                torch.randn(NODES, generator=generator.manual_seed(seed), dtype=torch.float64)
                for seed in seeds
            ]
        )
    entries = torch.tensor(sorted([*EDGE_INDEX.T.tolist(), *([i, i] for i in range(NODES))])).T
    rows = torch.zeros(NODES, NODES, dtype=torch.float64)
    rows[entries[0], entries[1]] = torch.randn(
        entries.shape[1], generator=generator, dtype=torch.float64
    )
    return rows


def plain_shares(strategy: MmixNegatives, z: Tensor) -> Tensor:
    """λ by loops (paper 002, Eqs. 6 and 7; METHODS 4.1); of `random` those of the coming draw."""
    settings, similar = strategy.settings, cosines(strategy, z)
    own = {"mo": settings.self_share, "binary": 0.5}.get(settings.variant)
    scores = {"random": next_normals(strategy), "adjacency": torch.zeros_like(similar)}.get(
        settings.variant, similar
    )
    edges = torch.zeros(NODES, NODES, dtype=torch.bool)
    edges[EDGE_INDEX[0], EDGE_INDEX[1]] = True
    allowed = {"wp": edges, "all": torch.ones_like(edges), "op": similar >= settings.threshold}[
        settings.scope
    ]
    rows = torch.zeros(NODES, NODES, dtype=torch.float64)
    for i in range(NODES):
        mixed = [j for j in range(NODES) if (j != i and allowed[i, j]) or (j == i and own is None)]
        if settings.variant == "binary" and mixed:
            mixed = [max(mixed, key=scores[i].tolist().__getitem__)]
        total = sum(math.exp(scores[i, j]) for j in mixed)
        for j in mixed:
            rows[i, j] = (1 - (own or 0.0)) * math.exp(scores[i, j]) / total
        if own is not None:
            rows[i, i] = own if mixed else 1.0
    return rows


@torch.no_grad()
def plain_objective(strategy: MmixNegatives, pair: Pair) -> float:
    """Eqs. 9 and 10 by loops."""
    z, v = normalize(pair.u, dim=1), normalize(pair.v, dim=1)
    g = normalize(strategy.head(plain_shares(strategy, z) @ z), dim=1)
    loss = 0.0
    for a, b in ((g, v), (v, g)):
        for i in range(NODES):
            across = [float(a[i] @ b[j]) / pair.tau for j in range(NODES)]
            within = (
                [float(a[i] @ a[j]) / pair.tau for j in range(NODES) if j != i]
                if pair.intra
                else []
            )
            loss += (math.log(sum(map(math.exp, across + within))) - across[i]) / (2 * NODES)
    if strategy.settings.diversity and strategy.query is not None and strategy.key is not None:
        q, k = (
            normalize(z @ strategy.query.weight.T, dim=1),
            normalize(z @ strategy.key.weight.T, dim=1),
        )
        loss -= float((q - k).square().sum()) / NODES
    return loss


@pytest.mark.parametrize("variant,scope", SETTINGS)
def test_shares_are_those_of_a_plain_loop(variant: str, scope: str) -> None:
    strategy, pair = made(Mmix(variant=variant, scope=scope, threshold=THRESHOLD)), pair_of()
    expected = plain_shares(strategy, normalize(pair.u, dim=1))
    torch.testing.assert_close(strategy.shares(pair)(0, NODES), expected)


@pytest.mark.parametrize("variant", ["mp", "mo", "binary", "random"])
def test_beyond_the_threshold_are_some_of_some_rows_and_all_of_others(variant: str) -> None:
    """What the comparisons with a plain loop rest on: rows with both kinds of candidates, and a row
    that is left alone."""
    strategy, pair = made(Mmix(variant=variant, scope="op", threshold=THRESHOLD)), pair_of()
    passes = cosines(strategy, normalize(pair.u, dim=1)) >= THRESHOLD
    counts = (passes & ~torch.eye(NODES, dtype=torch.bool)).sum(dim=1).tolist()
    assert min(counts) == 0 and 1 < max(counts) < NODES - 1
    mixed = strategy.shares(pair)(0, NODES) > 0
    if variant == "binary":
        assert mixed.sum(dim=1).tolist() == [min(2, 1 + count) for count in counts]
    else:
        assert torch.equal(mixed, passes | torch.eye(NODES, dtype=torch.bool))


@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize(
    "variant,scope,diversity",
    [*((variant, scope, True) for variant, scope in SETTINGS), ("mp", "wp", False)],
)
def test_the_node_objective_is_the_printed_one(
    variant: str, scope: str, diversity: bool, intra: bool
) -> None:
    strategy = made(Mmix(variant=variant, scope=scope, diversity=diversity, threshold=THRESHOLD))
    pair = pair_of(intra=intra)
    state = strategy.generators["negatives"].get_state()
    expected = plain_objective(strategy, pair)
    for block in (None, 1, 2, NODES):
        strategy.generators["negatives"].set_state(state)
        assert float(strategy(replace(pair, block=block)).detach()) == pytest.approx(
            expected, abs=1e-10
        )
    assert set(strategy.terms) == (
        {"contrast", "diversity"} if variant == "mp" and diversity else {"contrast"}
    )


@pytest.mark.parametrize("variant,scope", SETTINGS)
@pytest.mark.parametrize("gradient", [True, False])
def test_loss_and_gradient_do_not_depend_on_the_block(
    variant: str, scope: str, gradient: bool
) -> None:
    settings = Mmix(variant=variant, scope=scope, threshold=0.1, gradient=gradient)
    found = []
    for block in (None, 1, 4):
        strategy, pair = made(settings), pair_of(block=block)
        pair = replace(pair, u=pair.u.requires_grad_(), v=pair.v.requires_grad_())
        loss = strategy(pair)
        loss.backward()
        assert pair.u.grad is not None and pair.v.grad is not None
        grads = [
            parameter.grad
            for parameter in strategy.joint_parameters()
            if parameter.grad is not None
        ]
        found.append(
            torch.cat(
                [
                    loss.detach()[None],
                    pair.u.grad.flatten(),
                    pair.v.grad.flatten(),
                    *map(torch.flatten, grads),
                ]
            )
        )
    assert torch.isfinite(found[0]).all() and float(found[0].abs().max()) > 0
    assert torch.allclose(found[0], found[1], rtol=0, atol=1e-12) and torch.allclose(
        found[0], found[2], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("block", [None, 4])
@pytest.mark.parametrize("variant,scope", SETTINGS)
def test_the_gradient_agrees_with_finite_differences(
    variant: str, scope: str, block: int | None
) -> None:
    """With respect to both views, the MLP g and, of `mp`, P_m and P_n."""
    strategy, pair = (
        made(Mmix(variant=variant, scope=scope, threshold=THRESHOLD)),
        pair_of(block=block),
    )
    state, names = (
        strategy.generators["negatives"].get_state(),
        [name for name, _ in strategy.named_parameters()],
    )
    assert ("query.weight" in names and "key.weight" in names) == (variant == "mp")

    def loss(u: Tensor, v: Tensor, *parameters: Tensor) -> Tensor:
        strategy.generators["negatives"].set_state(state)
        return torch.func.functional_call(
            strategy, dict(zip(names, parameters)), replace(pair, u=u, v=v)
        )

    assert torch.autograd.gradcheck(
        loss,
        (pair.u.requires_grad_(), pair.v.requires_grad_(), *strategy.parameters()),
        fast_mode=True,
    )


@pytest.mark.parametrize("variant,scope", SETTINGS)
def test_shares_are_rows_that_sum_to_one(variant: str, scope: str) -> None:
    strategy = made(Mmix(variant=variant, scope=scope, threshold=0.5))
    rows = strategy.shares(pair_of())
    whole = rows(0, NODES)
    assert torch.allclose(whole.sum(dim=1), torch.ones(NODES, dtype=torch.float64))
    assert torch.allclose(rows(2, 4), whole[2:4], rtol=0, atol=1e-12)
    assert not whole.requires_grad and float(whole.min()) >= 0
    if scope == "wp":
        assert whole[5].tolist() == [0, 0, 0, 0, 0, 1], "a node without neighbours stays itself"
        assert float(whole[0, 3]) == 0
    if variant in ("mo", "binary") and scope == "all":
        assert torch.allclose(
            whole.diagonal(),
            torch.full((NODES,), 0.2 if variant == "mo" else 0.5, dtype=torch.float64),
        )


def test_adjacency_shares_are_those_of_the_neighbourhood() -> None:
    rows = made(Mmix(variant="adjacency")).shares(pair_of())(0, 3)
    third = 1 / 3
    assert torch.allclose(
        rows[0], torch.tensor([third, third, third, 0, 0, 0], dtype=torch.float64)
    )
    assert torch.allclose(
        rows[2], torch.tensor([0.25, 0.25, 0.25, 0.25, 0, 0], dtype=torch.float64)
    )


@pytest.mark.parametrize("scope", ["wp", "all"])
def test_random_shares_are_drawn_anew_and_repeat_with_the_seed(scope: str) -> None:
    first, second, other = (made(Mmix(variant="random", scope=scope), seed) for seed in (0, 0, 1))
    draws = [strategy.shares(pair_of())(0, NODES) for strategy in (first, second, other, first)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.allclose(draws[0], draws[2])
    assert not torch.allclose(draws[0], draws[3]), "each iteration has its own"


@pytest.mark.parametrize("scope", SCOPES)
def test_random_shares_are_a_softmax_of_independent_normal_deviates(scope: str) -> None:
    """Hence log λ_ij − log λ_ik ~ N(0, 2)."""
    nodes = 40
    strategy = MmixNegatives(
        Mmix(variant="random", scope=scope, threshold=-1.0), WIDTH, Streams(0)
    ).double()
    u = torch.randn(nodes, WIDTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    everything = torch.ones(nodes, nodes).fill_diagonal_(0).nonzero().T
    logs = strategy.shares(Pair(u, u, 0.7, 1, 10, edge_index=everything))(0, nodes).log()
    differences = (logs[:, ::2] - logs[:, 1::2]).flatten()
    assert stats.kstest(differences.numpy(), stats.norm(scale=math.sqrt(2)).cdf).pvalue > 1e-3


def test_constant_shares_leave_the_projections_to_the_diversity_loss() -> None:
    frozen = made(Mmix(diversity=False, gradient=False))
    frozen(pair_of()).backward()
    assert frozen.query is not None and frozen.query.weight.grad is None
    learned = made(Mmix(diversity=False))
    learned(pair_of()).backward()
    assert learned.query is not None and learned.query.weight.grad is not None
    assert float(learned.query.weight.grad.abs().max()) > 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_encoders_optimiser_trains_all_of_its_weights(variant: str) -> None:
    """Those of g always, P_m and P_n where there are any."""
    strategy = made(Mmix(variant=variant))
    trained = {id(parameter) for parameter in strategy.joint_parameters()}
    # Two layers and two slopes: six; and the two projections.
    assert len(trained) == (8 if variant == "mp" else 6)
    assert trained == {id(parameter) for parameter in strategy.parameters()}


def test_weights_start_as_xavier_has_them() -> None:
    """Uniform to ±√(6 / (in + out)), wider than PyTorch's own; biases at 0 (the papers' settings)."""
    strategy = Mmix().build(64, NODES, Streams(0), CPU)
    bound = math.sqrt(6 / 128)
    matrices = [parameter for parameter in strategy.parameters() if parameter.ndim == 2]
    assert len(matrices) == 4
    assert all(0.98 * bound < float(matrix.detach().abs().max()) <= bound for matrix in matrices)
    biases = [parameter for name, parameter in strategy.named_parameters() if name.endswith("bias")]
    assert len(biases) == 2 and not any(bool(bias.any()) for bias in biases)


def test_the_diversity_loss_lowers_the_self_share() -> None:
    """Minimised, it pushes q_i and k_i apart, which is what it is for (paper 002, Section 3.2)."""
    strategy = made(Mmix())
    assert strategy.query is not None and strategy.key is not None
    with torch.no_grad():
        strategy.key.weight.copy_(strategy.query.weight + 0.1 * strategy.key.weight)
    pair = pair_of()
    before = strategy.shares(pair)(0, 5).diagonal().mean()
    optimiser = torch.optim.SGD([strategy.query.weight, strategy.key.weight], lr=0.5)
    for _ in range(20):
        optimiser.zero_grad()
        diversity_loss(*strategy._projections(normalize(pair.u, dim=1))).backward()
        optimiser.step()
    assert strategy.shares(pair)(0, 5).diagonal().mean() < before - 0.05


def test_what_is_evaluated_is_the_sum_of_both_branches() -> None:
    strategy, pair = made(Mmix(variant="mo")), pair_of()
    z = normalize(pair.u, dim=1)
    mixed = normalize(strategy.head(plain_shares(strategy, z) @ z), dim=1)
    assert torch.allclose(
        strategy.embed(pair.u, EDGE_INDEX, pair.v), mixed + normalize(pair.v, dim=1)
    )
    assert torch.allclose(strategy.embed(pair.u, EDGE_INDEX), mixed + z)


def test_a_batch_without_edges_has_no_neighbours_to_mix() -> None:
    with pytest.raises(
        Unsupported,
        match=r"negatives\.scope=wp mixes a node with its neighbours.*negatives\.scope=all",
    ):
        made(Mmix())(pair_of(edge_index=None))
    assert torch.isfinite(made(Mmix(scope="all"))(pair_of(edge_index=None)))


def test_a_graph_of_one_node_is_refused() -> None:
    with pytest.raises(
        Unsupported, match="mixes a node with others, hence needs two nodes, and this graph has one"
    ):
        Mmix().build(WIDTH, 1, Streams(0), CPU)


@pytest.mark.parametrize(
    "setting,text",
    [
        ("self_share=1", r"negatives\.self_share=1 is out of range: it must be ≥ 0 and < 1"),
        ("self_share=-0.1", r"negatives\.self_share=-0\.1 is out of range"),
        ("threshold=1.5", r"negatives\.threshold=1\.5 is out of range: it must be ≥ -1 and ≤ 1"),
        ("variant=mu", r"negatives\.variant='mu' must be one of mp, mo, binary, random, adjacency"),
    ],
)
def test_settings_out_of_range(setting: str, text: str) -> None:
    with pytest.raises(ConfigErrors, match=text):
        load(["method=grace", "dataset=cora", "negatives=mmix", f"negatives.{setting}"])


@pytest.mark.parametrize(
    "values",
    [
        {"variant": "mo", "self_share": 0},
        {"variant": "mo", "scope": "op", "threshold": 1},
        {"variant": "mo", "scope": "op", "threshold": -1},
        {"variant": "mo", "scope": "op", "threshold": 1, "self_share": 0},
        {"variant": "mp", "scope": "op", "threshold": 1},
        {"variant": "mp", "scope": "op", "threshold": -1},
        {"variant": "binary", "scope": "op", "threshold": 1},
        {"variant": "random", "scope": "op", "threshold": 1},
    ],
    ids=str,
)
def test_the_ends_of_the_ranges_are_accepted_and_give_finite_losses(values: dict[str, Any]) -> None:
    errors: list[str] = []
    settings = bind(Mmix, values, "negatives", errors)
    assert errors == []
    strategy, pair = made(settings), pair_of()
    pair.u.requires_grad_()
    loss = strategy(pair)
    loss.backward()
    assert (
        pair.u.grad is not None
        and bool(torch.isfinite(pair.u.grad).all())
        and bool(torch.isfinite(loss))
    )
    rows = strategy.shares(pair.detached())(0, NODES)
    if values.get("threshold") == 1:
        assert torch.equal(rows, torch.eye(NODES, dtype=torch.float64)), "no other is a copy"
    elif values.get("threshold") == -1:
        torch.testing.assert_close(
            rows, made(replace(settings, scope="all")).shares(pair.detached())(0, NODES)
        )
    else:
        assert rows.diagonal().tolist() == [
            0,
            0,
            0,
            0,
            0,
            1,
        ], "a node without neighbours stays itself all the same"


def test_fixed_mixing_over_all_nodes_is_refused() -> None:
    with pytest.raises(
        ConfigErrors, match=r"variant=adjacency mixes neighbours only.*negatives\.scope=wp"
    ):
        load(
            [
                "method=grace",
                "dataset=cora",
                "negatives=mmix",
                "negatives.variant=adjacency",
                "negatives.scope=all",
            ]
        )


def test_scope_op_tells_how_many_nodes_have_anything_to_be_mixed_with() -> None:
    z = torch.eye(4, WIDTH, dtype=torch.float64).repeat_interleave(
        torch.tensor([3, 1, 2, 1]), dim=0
    )
    pair = Pair(z, z, 1.0, 1, 1)
    settings = Mmix(variant="mo", scope="op", threshold=0.5)
    remarks = MmixNegatives(settings, WIDTH, Streams(0)).remarks
    assert remarks({"mmix_mixed": 0.009})[0].startswith("M-Mix mixed next to nothing")
    assert remarks({"mmix_mixed": 0.01}) == remarks({}) == []
    assert MmixNegatives(settings, WIDTH, Streams(0)).double().findings(pair) == {
        "mmix_mixed": 5 / 7
    }
    assert MmixNegatives(replace(settings, threshold=-1.0), WIDTH, Streams(0)).double().findings(
        pair
    ) == {"mmix_mixed": 1.0}
    assert (
        MmixNegatives(replace(settings, scope="all"), WIDTH, Streams(0)).double().findings(pair)
        == {}
    )
