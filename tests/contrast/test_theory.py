"""What the DMAT, M-Mix and AUGCL papers prove about their objectives, as statements about ours."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from gclbench.contrast.objectives import labelled_tuple, labelled_two_view, multi_view_nce
from gclbench.negatives.augcl import weighted_nce
from gclbench.negatives.mmix import Mmix
from gclbench.negatives.strategy import Pair
from gclbench.training.loop import Step
from gclbench.training.streams import Streams


def unit(count: int, seed: int, width: int = 4) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return normalize(torch.randn(count, width, generator=generator, dtype=torch.float64), dim=1)


# DMT / DMAT / DMAT-i paper


def anchors_of(u: Tensor, v: Tensor, labels: list[int], tau: float) -> list[dict[str, float]]:
    """Of every anchor x of the 2M-tuple: h(x, x̄), the sums of h over its further positives and its
    negatives, and their numbers."""
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
    """The printed sum over {x̄}, positives and negatives is every entry of the tuple but x,
    whatever the labels say."""
    u, v = unit(6, 0), unit(6, 1)
    losses = [
        -math.log(x["counterpart"] / (x["counterpart"] + x["positives"] + x["negatives"]))
        for x in anchors_of(u, v, labels, tau)
    ]
    assert multi_view_nce(u, [v], tau).item() == pytest.approx(sum(losses) / 12, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_lemma_1(seed: int) -> None:
    """L_DMAT and L_DMT never exceed the unbiased contrastive loss of tuples of the same size (DMAT
    paper, Lemma 1).

    L_unbiased(x) = −log h(x, x̄) / (h(x, x̄) + (m + q)·mean of h over the negatives), for m further
    positives and q negatives.
    """
    chance = torch.Generator().manual_seed(seed)
    count = int(torch.randint(3, 9, (), generator=chance))
    tau = float(torch.empty(()).uniform_(0.05, 3.0, generator=chance))
    labels = torch.randint(0, 3, (count,), generator=chance)
    labels[:2] = torch.tensor([0, 1])  # at least one negative for everyone
    u, v = unit(count, 100 + seed), unit(count, 200 + seed)
    anchors = anchors_of(u, v, labels.tolist(), tau)
    unbiased = [
        -math.log(
            x["counterpart"] / (x["counterpart"] + (x["m"] + x["q"]) * x["negatives"] / x["q"])
        )
        for x in anchors
    ]
    bound = sum(unbiased) / len(unbiased)
    dmat = labelled_two_view(u, v, labels, tau).item()
    by_hand = [
        -math.log(
            (x["counterpart"] + x["positives"])
            / (x["counterpart"] + x["positives"] + x["negatives"])
        )
        for x in anchors
    ]
    assert dmat == pytest.approx(sum(by_hand) / len(by_hand), rel=1e-9), (
        "the loss that the lemma is about"
    )
    assert all(one <= other + 1e-12 for one, other in zip(by_hand, unbiased)), "anchor by anchor"
    assert 0 <= dmat <= bound + 1e-12
    # The label-free loss keeps the positives below the line only, so it lies above the labelled
    # one.
    assert dmat <= multi_view_nce(u, [v], tau).item() + 1e-12
    # DMT on the tuple that both copies make: x itself is one positive more, and the same bound
    # holds.
    dmt = labelled_tuple(torch.cat([u, v]), labels.repeat(2), tau).item()
    assert dmt <= dmat + 1e-12 and dmt <= bound + 1e-12


def test_lemma_1_is_not_about_the_label_free_loss() -> None:
    """With false negatives that are near, DMAT-i's loss exceeds the unbiased one: that gap is what
    τ⁰ measures (Theorem 1)."""
    u = normalize(torch.tensor([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.0]], dtype=torch.float64), dim=1)
    labels, tau = [0, 0, 1], 0.2
    anchors = anchors_of(u, u, labels, tau)
    unbiased = sum(
        -math.log(
            x["counterpart"] / (x["counterpart"] + (x["m"] + x["q"]) * x["negatives"] / x["q"])
        )
        for x in anchors
    ) / len(anchors)
    assert multi_view_nce(u, [u], tau).item() > unbiased + 0.1
    assert labelled_two_view(u, u, torch.tensor(labels), tau).item() < unbiased


# M-Mix paper (ICLR submission), Proposition 1: z_i, z_j, z_k of unit length, ⟨z_i, z_j⟩ > ⟨z_i,
# z_k⟩. A mixture with λ_j > λ_k is harder than the one with the two weights exchanged.


def shares_of(variant: str, z: Tensor) -> Tensor:
    """M-Mix's λ among all nodes; the projections of `mp` are the identity, so that its scores are
    the cosines."""
    width = z.shape[1]
    negatives = (
        Mmix(variant=variant, scope="all")
        .build(width, len(z), Streams(0), torch.device("cpu"))
        .double()
    )
    if variant == "mp":
        with torch.no_grad():
            for projection in (negatives.query, negatives.key):
                projection.weight.copy_(torch.eye(width, dtype=torch.float64))
    rows = negatives.report(Pair(z, (z,), 1.0, Step(1, 1))).mixture
    assert rows is not None
    return rows(0, len(z))


def exchanged(shares: Tensor, j: int, k: int) -> Tensor:
    order = list(range(len(shares)))
    order[j], order[k] = k, j
    return shares[order]


@pytest.mark.parametrize("variant", ["mo", "mp"])
@pytest.mark.parametrize("seed", range(5))
def test_proposition_1_the_more_similar_node_gains_by_the_larger_weight(
    seed: int, variant: str
) -> None:
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
    """H(ẑ, z_j) exceeds both similarities of the exchanged mixture, by λ_i(⟨z_i, z_j⟩ − ⟨z_i, z_k⟩)
    the second of them."""
    z = unit(3, seed)
    if z[0] @ z[1] < z[0] @ z[2]:
        z = z[[0, 2, 1]]
    shares = shares_of(variant, z)[0]
    mixed, other = shares @ z, exchanged(shares, 1, 2) @ z
    assert mixed @ z[1] > max(other @ z[1], other @ z[2])
    torch.testing.assert_close(mixed @ z[1] - other @ z[2], shares[0] * (z[0] @ z[1] - z[0] @ z[2]))


@pytest.mark.parametrize("variant", ["mo", "mp"])
def test_proposition_1_needs_that_the_others_take_no_side(variant: str) -> None:
    """The proof sets the other nodes' terms aside as a constant; a node near z_k in the mixture
    upsets its second inequality."""
    angles = torch.tensor(
        [0.0, 0.5, -0.7, -0.9], dtype=torch.float64
    )  # z_i, z_j, z_k, one more near z_k
    z = torch.stack([angles.cos(), angles.sin()], dim=1)
    assert z[0] @ z[1] > z[0] @ z[2]
    shares = shares_of(variant, z)[0]
    mixed, other = shares @ z, exchanged(shares, 1, 2) @ z
    assert mixed @ z[1] > other @ z[1], "the first one holds all the same"
    assert mixed @ z[1] < other @ z[2]


@pytest.mark.parametrize("variant", ["mo", "mp"])
def test_m_mix_gives_the_larger_weights_to_the_more_similar_nodes(variant: str) -> None:
    """What the proposition asks for; by rearrangement no other order of these weights brings the
    mixture nearer to its anchor."""
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


# AUGCL paper


def test_theorem_1_of_paper_004() -> None:
    """Around h_ij − h_ii + 2 m_ij = −2 the loss is e^{−2/τ}(N−1 + (1/τ) Σ_j (h_ij − h_ii + 2 m_ij +
    2)) to first order (Eq. 6).

    With unit rows h_ij − h_ii = ½(‖z_i − z_i⁺‖² − ‖z_i − z_j‖²), so this is (1/2τ) Σ_j (‖z_i −
    z_i⁺‖² − ‖z_i − z_j‖² + 4 m_ij) up to
    factor and constant: a triplet loss of squared distances whose margin is 4 m_ij = 2τ log(α
    u_ij), the printed last line less its slips (m_ij for 4 m_ij, norms without squares in Eq. 4,
    and the two distances exchanged in Eq. 6).
    """
    tau, count = 0.2, 6
    generator = torch.Generator().manual_seed(0)
    anchor = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    directions = torch.randn(count, 3, generator=generator, dtype=torch.float64)
    logs = torch.randn(count - 1, generator=generator, dtype=torch.float64)

    def both(size: float) -> tuple[float, float]:
        """The loss of one anchor and its triplet form, `size` away from the expansion point."""
        positive = normalize(anchor + size * directions[0], dim=0)
        negatives = normalize(-anchor + size * directions[1:], dim=1)
        margin = tau / 2 * (size * logs)
        u, v = anchor.expand(count, 3), torch.cat([positive[None], negatives])
        weights = torch.ones(count, count, dtype=torch.float64)
        weights[0, 1:] = (2 * margin / tau).exp()
        per_anchor = []
        for i in range(count):
            scores = (u[i] @ v.T) / tau
            per_anchor.append(float((weights[i] * (scores - scores[i]).exp()).sum().log()))
        mean = float(weighted_nce(u, v, tau, lambda start, stop: weights[start:stop]))
        assert mean == pytest.approx(sum(per_anchor) / count)
        near, far = (anchor - positive).square().sum(), (anchor - negatives).square().sum(dim=1)
        triplet = ((near - far + 4 * margin) / (2 * tau)).sum()
        return per_anchor[0], float(
            math.exp(-2 / tau) * (count - 1 + (count - 1) * 2 / tau + triplet)
        )

    scale = (count - 1) * math.exp(-2 / tau)
    loss, expansion = both(0.0)
    assert loss == pytest.approx(expansion, rel=scale), "log(1 + x) is x up to x²"
    errors, changes = [], []
    for size in (1e-1, 1e-2, 1e-3):
        moved, predicted = both(size)
        errors.append(abs((moved - loss) - (predicted - expansion)) / scale)
        changes.append(abs(moved - loss) / scale)
    assert changes[1] > 1e-3, "the first-order term is there"
    # The remainder is of second order, up to the logarithm's own x².
    assert errors[0] < 5 * 1e-2 and errors[1] < 5 * 1e-4 + 2 * scale * changes[1]
    assert errors[2] < 5 * 1e-6 + 2 * scale * changes[2]
