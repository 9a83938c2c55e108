"""What papers 000 and 001 prove about their objectives, as statements about ours."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.contrast.mmix import Mmix
from gclbench.contrast.negatives import Pair
from gclbench.contrast.objectives import labelled_tuple, labelled_two_view, multi_view_nce
from gclbench.streams import Streams


def unit(count: int, seed: int, width: int = 4) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return normalize(torch.randn(count, width, generator=generator, dtype=torch.float64), dim=1)


# Paper 000


def anchors_of(u: Tensor, v: Tensor, labels: list[int], tau: float) -> list[dict[str, float]]:
    """Of every anchor x of the 2M-tuple: h(x, x̄), the sums of h over its further positives and its negatives, and their numbers."""
    entries, classes, count = torch.cat([u, v]).tolist(), labels * 2, len(u)
    found = []
    for i, x in enumerate(entries):
        parts = {"counterpart": 0.0, "positives": 0.0, "negatives": 0.0, "m": 0, "q": 0}
        for j, other in enumerate(entries):
            h = math.exp(sum(a * b for a, b in zip(x, other)) / tau)
            if j == i:
                continue
            if j == (i + count) % (2 * count):
                parts["counterpart"] = h
            elif classes[j] == classes[i]:
                parts["positives"] += h
                parts["m"] += 1
            else:
                parts["negatives"] += h
                parts["q"] += 1
        found.append(parts)
    return found


@pytest.mark.parametrize("tau", [0.05, 0.2, 1.0, 4.0])
@pytest.mark.parametrize("labels", [[0] * 6, [0, 1, 0, 2, 1, 0], list(range(6))])
def test_equation_6_with_labels_is_its_label_free_form(tau: float, labels: list[int]) -> None:
    """The printed sum over {x̄}, positives and negatives is every entry of the tuple but x, whatever the labels say."""
    u, v = unit(6, 0), unit(6, 1)
    losses = [
        -math.log(x["counterpart"] / (x["counterpart"] + x["positives"] + x["negatives"])) for x in anchors_of(u, v, labels, tau)
    ]
    assert multi_view_nce(u, [v], tau).item() == pytest.approx(sum(losses) / 12, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_lemma_1(seed: int) -> None:
    """L_DMAT and L_DMT never exceed the unbiased contrastive loss of tuples of the same size (paper 000, Lemma 1).

    L_unbiased(x) = −log h(x, x̄) / (h(x, x̄) + (m + q)·mean of h over the negatives), for m further positives and q negatives.
    """
    chance = torch.Generator().manual_seed(seed)
    count = int(torch.randint(3, 9, (), generator=chance))
    tau = float(torch.empty(()).uniform_(0.05, 3.0, generator=chance))
    labels = torch.randint(0, 3, (count,), generator=chance)
    labels[:2] = torch.tensor([0, 1])  # at least one negative for everyone
    u, v = unit(count, 100 + seed), unit(count, 200 + seed)
    anchors = anchors_of(u, v, labels.tolist(), tau)
    unbiased = [-math.log(x["counterpart"] / (x["counterpart"] + (x["m"] + x["q"]) * x["negatives"] / x["q"])) for x in anchors]
    bound = sum(unbiased) / len(unbiased)
    dmat = labelled_two_view(u, v, labels, tau).item()
    by_hand = [
        -math.log((x["counterpart"] + x["positives"]) / (x["counterpart"] + x["positives"] + x["negatives"])) for x in anchors
    ]
    assert dmat == pytest.approx(sum(by_hand) / len(by_hand), rel=1e-9), "the loss that the lemma is about"
    assert all(one <= other + 1e-12 for one, other in zip(by_hand, unbiased)), "anchor by anchor"
    assert 0 <= dmat <= bound + 1e-12
    # The label-free loss keeps the positives below the line only, so it lies above the labelled one.
    assert dmat <= multi_view_nce(u, [v], tau).item() + 1e-12
    # DMT on the tuple that both copies make: x itself is one positive more, and the same bound holds.
    dmt = labelled_tuple(torch.cat([u, v]), labels.repeat(2), tau).item()
    assert dmt <= dmat + 1e-12 and dmt <= bound + 1e-12


def test_lemma_1_is_not_about_the_label_free_loss() -> None:
    """With false negatives that are near, DMAT-i's loss exceeds the unbiased one: that gap is what τ⁰ measures (Theorem 1)."""
    u = normalize(torch.tensor([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.0]], dtype=torch.float64), dim=1)
    labels, tau = [0, 0, 1], 0.2
    anchors = anchors_of(u, u, labels, tau)
    unbiased = sum(
        -math.log(x["counterpart"] / (x["counterpart"] + (x["m"] + x["q"]) * x["negatives"] / x["q"])) for x in anchors
    ) / len(anchors)
    assert multi_view_nce(u, [u], tau).item() > unbiased + 0.1
    assert labelled_two_view(u, u, torch.tensor(labels), tau).item() < unbiased


# Paper 001, Proposition 1: z_i, z_j, z_k of unit length, ⟨z_i, z_j⟩ > ⟨z_i, z_k⟩. A mixture with λ_j > λ_k is harder than the one
# with the two weights exchanged.


def shares_of(variant: str, z: Tensor) -> Tensor:
    """M-Mix's λ among all nodes; the projections of `mp` are the identity, so that its scores are the cosines."""
    width = z.shape[1]
    negatives = Mmix(variant=variant, scope="all").build(width, len(z), Streams(0), torch.device("cpu")).double()
    if variant == "mp":
        with torch.no_grad():
            for projection in (negatives.query, negatives.key):
                projection.weight.copy_(torch.eye(width, dtype=torch.float64))
    rows = negatives.shares(Pair(z, z, 1.0, 1, 1))
    assert rows is not None
    return rows(0, len(z))


def exchanged(shares: Tensor, j: int, k: int) -> Tensor:
    order = list(range(len(shares)))
    order[j], order[k] = k, j
    return shares[order]


@pytest.mark.parametrize("variant", ["mo", "mp"])
@pytest.mark.parametrize("seed", range(5))
def test_proposition_1_the_more_similar_node_gains_by_the_larger_weight(seed: int, variant: str) -> None:
    """H(ẑ, z_j) − H(ẑ′, z_j) = (λ_j − λ_k)(1 − ⟨z_j, z_k⟩) > 0, whatever else is mixed in."""
    z = unit(6, seed)
    shares = shares_of(variant, z)
    for i, j, k in itertools.permutations(range(6), 3):
        if z[i] @ z[j] > z[i] @ z[k]:
            gain = (shares[i] - exchanged(shares[i], j, k)) @ z @ z[j]
            torch.testing.assert_close(gain, (shares[i, j] - shares[i, k]) * (1 - z[j] @ z[k]))
            assert gain > 0


@pytest.mark.parametrize("variant", ["mo", "mp"])
@pytest.mark.parametrize("seed", range(20))
def test_proposition_1_for_a_mixture_of_the_anchor_and_the_two(seed: int, variant: str) -> None:
    """H(ẑ, z_j) exceeds both similarities of the exchanged mixture, by λ_i(⟨z_i, z_j⟩ − ⟨z_i, z_k⟩) the second of them."""
    z = unit(3, seed)
    if z[0] @ z[1] < z[0] @ z[2]:
        z = z[[0, 2, 1]]
    shares = shares_of(variant, z)[0]
    mixed, other = shares @ z, exchanged(shares, 1, 2) @ z
    assert mixed @ z[1] > max(other @ z[1], other @ z[2])
    torch.testing.assert_close(mixed @ z[1] - other @ z[2], shares[0] * (z[0] @ z[1] - z[0] @ z[2]))


@pytest.mark.parametrize("variant", ["mo", "mp"])
def test_proposition_1_needs_that_the_others_take_no_side(variant: str) -> None:
    """The proof sets the other nodes' terms aside as a constant; a node near z_k in the mixture upsets its second inequality."""
    angles = torch.tensor([0.0, 0.5, -0.7, -0.9], dtype=torch.float64)  # z_i, z_j, z_k, one more near z_k
    z = torch.stack([angles.cos(), angles.sin()], dim=1)
    assert z[0] @ z[1] > z[0] @ z[2]
    shares = shares_of(variant, z)[0]
    mixed, other = shares @ z, exchanged(shares, 1, 2) @ z
    assert mixed @ z[1] > other @ z[1], "the first one holds all the same"
    assert mixed @ z[1] < other @ z[2]


@pytest.mark.parametrize("variant", ["mo", "mp"])
def test_m_mix_gives_the_larger_weights_to_the_more_similar_nodes(variant: str) -> None:
    """What the proposition asks for; by rearrangement no other order of these weights brings the mixture nearer to its anchor."""
    nodes = 6
    z = unit(nodes, 0)
    shares = shares_of(variant, z)
    for anchor in range(nodes):
        others = [j for j in range(nodes) if j != anchor]
        by_cosine = sorted(others, key=lambda j: float(z[anchor] @ z[j]))
        by_share = sorted(others, key=lambda j: float(shares[anchor, j]))
        assert by_cosine == by_share
        found = float(shares[anchor] @ z @ z[anchor])
        for order in itertools.permutations(others):
            moved = shares[anchor].clone()
            moved[others] = shares[anchor, list(order)]
            assert float(moved @ z @ z[anchor]) <= found + 1e-12
