"""AGE's training written out with N×N matrices."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, normalize

from gclbench.component.settings import identity_of
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported, make_graph
from gclbench.methods import age
from gclbench.methods.age import Age, Best, PairProducts, ScaledLinear
from gclbench.methods.pair_ranking import least_similar
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

NODES = 20
NONE = torch.full((NODES,), -1)


@pytest.fixture
def graph():
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(NODES, 6, generator=generator) + 2 * torch.nn.functional.one_hot(
        torch.arange(NODES) % 2, 6
    )
    return make_graph(
        x, torch.tensor([[0, 1], [2, 3]]), torch.arange(NODES) % 2, "small", undirected=True
    )


def scaled(layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    h = layer(x)
    least, largest = h.min(dim=1, keepdim=True).values, h.max(dim=1, keepdim=True).values
    return normalize((h - least) / (largest - least), dim=1)


def test_four_epochs_by_hand(graph):
    method = Age(
        epochs=4,
        update_every=2,
        hidden=5,
        lr=0.05,
        batch_size=25,
        upper_start=0.2,
        upper_end=0.1,
        lower_start=0.2,
        lower_end=0.6,
    )
    watch = Watch()
    found = method.fit(graph, NONE, Streams(1), watch)

    rng = Streams(1)
    with rng.seeded("init"):
        layer = nn.Linear(6, 5)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.05)
    generator, z, losses, at_updates = rng.torch("pairs"), normalize(graph.x, dim=1), [], []
    for epoch in range(1, 5):
        if epoch in (1, 3):
            # 20 % of 400 pairs and the lower 80 %; after the second epoch 15 % and 60 %.
            count, least = (80, 320) if epoch == 1 else (60, 240)
            cosines = (z @ z.T).flatten()
            most = cosines.topk(count).indices.sort().values
            most = most[torch.randperm(count, generator=generator)]
            threshold = float(cosines.sort().values[least - 1])
            reference = z
        mean = 0.0
        for batch in most.split(25):
            negatives = least_similar(reference, threshold, len(batch), generator)
            pairs = torch.cat([batch, negatives])
            encoded = scaled(layer, graph.x)
            logits = (encoded @ encoded.T).flatten()[pairs]
            loss = binary_cross_entropy_with_logits(
                logits, (torch.arange(len(pairs)) < len(batch)).float()
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            mean += loss.item() * len(batch) / len(most)
        losses.append(mean)
        if epoch % 2 == 0:
            z = scaled(layer, graph.x).detach()
            at_updates.append(z)
    assert [loss for _, loss in watch.curve] == pytest.approx(losses, rel=1e-4)
    assert min(float((found.z - candidate).abs().max()) for candidate in at_updates) < 1e-4
    assert (
        found.geometry == "cosine"
        and found.clusters is not None
        and len(found.clusters.unique()) == 2
    )


def test_products_of_pairs_have_the_gradient_of_the_dense_matrix():
    z = torch.rand(5, 3, dtype=torch.float64, requires_grad=True)
    one, other = (
        torch.tensor([0, 1, 1, 4, 0]),
        torch.tensor([2, 1, 3, 0, 2]),
    )  # a pair twice, a node with itself
    assert torch.autograd.gradcheck(lambda rows: PairProducts.apply(rows, one, other), z)
    torch.testing.assert_close(PairProducts.apply(z, one, other), (z @ z.T)[one, other])


def test_the_epoch_with_the_least_index_is_kept():
    best = Best()
    for number, index in enumerate([2.0, 0.5, 1.0, 0.5]):
        best.offer(torch.full((1, 1), float(number)), torch.tensor([number]), index)
    assert best.index == 0.5 and best.z is not None and best.z.item() == 3 == best.clusters.item()


def test_no_index_keeps_the_latest():
    best = Best()
    for number in range(2):
        best.offer(torch.full((3, 1), float(number)), torch.zeros(3), math.inf)
    assert best.z is not None and best.z[0].item() == 1


def test_the_epoch_by_the_index_of_its_clusters(graph, monkeypatch):
    indices = iter([0.9, 0.2, 0.7])
    monkeypatch.setattr(age, "davies_bouldin", lambda z, clusters: next(indices))
    embeddings: list[torch.Tensor] = []
    encoded = age.encoded
    monkeypatch.setattr(
        age, "encoded", lambda encoder, x: embeddings.append(encoded(encoder, x)) or embeddings[-1]
    )
    kept = Age(epochs=6, update_every=2, hidden=5, lr=0.05, upper_start=0.2).fit(
        graph, NONE, Streams(1), Watch()
    )
    assert kept.clusters is not None and kept.clusters.shape == (NODES,) and len(embeddings) == 3
    assert torch.equal(kept.z, embeddings[1]) and not torch.equal(kept.z, embeddings[2])


def test_the_epoch_by_validation_pairs(graph):
    seen: list[torch.Tensor] = []

    def validation(embedding: Embedding) -> float:
        assert embedding.geometry == "cosine"
        seen.append(embedding.z)
        return [1.2, 1.7, 1.5][len(seen) - 1]

    graph.validation = validation
    method = Age(
        epochs=6, update_every=2, hidden=5, lr=0.05, upper_start=0.2, epoch_by="validation"
    )
    found = method.fit(graph, NONE, Streams(1), Watch())
    assert len(seen) == 3 and found.clusters is None
    assert torch.equal(found.z, seen[1]) and not torch.equal(found.z, seen[2])


def test_a_task_without_validation_pairs(graph):
    with pytest.raises(
        Unsupported,
        match=(
            r"validation nodes or pairs, and this task has none; task=classification and"
            r" task=link_prediction have some, and method.epoch_by=last needs none"
        ),
    ):
        Age(epoch_by="validation").fit(graph, NONE, Streams(1), Watch())
    assert (
        "epoch_by" not in identity_of(Age())
        and identity_of(Age(epoch_by="validation"))["epoch_by"] == "validation"
    )


def test_constant_features_end(graph):
    # Their cosines, summed in another order, are above the threshold by more than the usual
    # rounding.
    flat = make_graph(
        torch.ones(40, 3000),
        torch.tensor([[0, 1], [2, 3]]),
        torch.arange(40) % 2,
        "flat",
        undirected=True,
    )
    found = Age(epochs=1, update_every=1, hidden=4).fit(
        flat, torch.full((40,), -1), Streams(0), Watch()
    )
    assert bool(torch.isfinite(found.z).all())


def test_no_epochs_embed_with_the_untrained_encoder(graph):
    found = Age(epochs=0, hidden=5).fit(graph, NONE, Streams(1), Watch())
    with Streams(1).seeded("init"):
        torch.testing.assert_close(found.z, scaled(nn.Linear(6, 5), graph.x))


def test_a_row_of_equal_entries_becomes_zero():
    layer = ScaledLinear(2, 3)
    nn.init.constant_(layer.linear.weight, 1.0)
    nn.init.zeros_(layer.linear.bias)
    out = layer(torch.ones(2, 2))
    assert not out.any()
    out.sum().backward()
    assert bool(torch.isfinite(layer.linear.weight.grad).all())
