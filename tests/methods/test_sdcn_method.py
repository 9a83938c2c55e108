"""SDCN's steps written out with dense matrices."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from gclbench.component.settings import identity_of
from gclbench.graph import Unsupported, make_graph
from gclbench.machine.precision import TF32, trained_with
from gclbench.methods import sdcn
from gclbench.methods.sdcn import Sdcn, row_normalised, soft_assignment, target_distribution
from gclbench.nn import autoencoder
from gclbench.nn.autoencoder import Autoencoder
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.streams import Streams
from gclbench.training.watch import Preempted, Watch

NODES, F, K = 15, 8, 3
NONE = torch.full((NODES,), -1)
SMALL = Sdcn(epochs=4, pretrain_epochs=2, batch_size=6, architecture=(6, 7), code=4, lr=0.01)


@pytest.fixture
def graph():
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(NODES) % K
    x = torch.rand(NODES, F, generator=generator) + torch.nn.functional.one_hot(y, F)
    near = torch.rand(NODES, NODES, generator=generator) < 0.2
    near[4], near[:, 4] = False, False
    return make_graph(x, near.triu(1).nonzero().T, y, "small", undirected=True)


def dense_propagation(graph) -> torch.Tensor:
    a = torch.eye(NODES)
    a[graph.edge_index[0], graph.edge_index[1]] = 1
    return a / a.sum(dim=1, keepdim=True)


def test_rows_of_the_propagation_sum_to_one(graph):
    matrix, dense = row_normalised(graph.edge_index, NODES), dense_propagation(graph)
    torch.testing.assert_close(matrix.matrix.to_dense(), dense)
    torch.testing.assert_close(matrix.transposed.to_dense(), dense.T)
    assert dense[4, 4] == 1


def test_assignments_against_loops():
    rng = np.random.default_rng(0)
    code, centres = rng.normal(size=(6, 2)), rng.normal(size=(3, 2))
    kernel = np.array([[1 / (1 + ((z - c) ** 2).sum()) for c in centres] for z in code])
    q = kernel / kernel.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        soft_assignment(torch.from_numpy(code), torch.from_numpy(centres)), q
    )
    p = np.array([[q[i, j] ** 2 / q[:, j].sum() for j in range(3)] for i in range(6)])
    np.testing.assert_allclose(
        target_distribution(torch.from_numpy(q)), p / p.sum(axis=1, keepdims=True)
    )


def test_the_main_training_by_hand(graph):
    """Without pre-training, so that what is trained starts from the initial weights."""
    method = Sdcn(
        **{
            **SMALL.__dict__,
            "pretrain_epochs": 0,
            "self_supervision": 0.3,
            "gcn_weight": 0.2,
            "protocol": "oracle",
        }
    )
    watch = Watch()
    found = method.fit(graph, NONE, Streams(2), watch)

    rng = Streams(2)
    with rng.seeded("init"):
        ae = Autoencoder(F, (6, 7), 4)
        sizes = [F, 6, 7, 4, K]
        weights = [
            nn.Parameter(nn.init.xavier_uniform_(torch.empty(a, b)))
            for a, b in zip(sizes[:-1], sizes[1:], strict=True)
        ]
    x, p_matrix = graph.x, dense_propagation(graph)

    def forward() -> tuple[torch.Tensor, torch.Tensor]:
        h1, h2, code = ae.hidden(x @ ae.weight)
        g = torch.relu(p_matrix @ x @ weights[0])
        g = torch.relu(p_matrix @ ((g + h1) / 2) @ weights[1])
        g = torch.relu(p_matrix @ ((g + h2) / 2) @ weights[2])
        return code, (p_matrix @ ((g + code) / 2) @ weights[3]).softmax(dim=1)

    from gclbench.methods.clusters import partition

    centres = nn.Parameter(partition(forward()[0], K, 20, rng.integer("centres")).centres.clone())
    optimiser = torch.optim.Adam([*ae.parameters(), *weights, centres], lr=0.01)
    losses, clusters = [], []
    for _ in range(4):
        code, prediction = forward()
        clusters.append(prediction.argmax(dim=1))
        q = soft_assignment(code, centres)
        p = target_distribution(q.detach())
        loss = (
            ae.reconstruction_error(code, x)
            + 0.3 * (p * (p / q).log()).sum() / NODES
            + 0.2 * (p * (p / prediction).log()).sum() / NODES
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert [loss for _, loss in watch.curve] == pytest.approx(losses, rel=1e-4)
    code, prediction = forward()
    torch.testing.assert_close(found.z, code.detach(), rtol=1e-3, atol=1e-4)
    assert torch.equal(found.clusters, prediction.argmax(dim=1))
    assert found.history.tolist() == torch.stack(clusters).tolist()


def test_large_sparse_features_are_not_rebuilt_in_the_main_training(graph, monkeypatch):
    x = graph.x * (torch.arange(F) == torch.arange(NODES)[:, None] % F)
    sparse = make_graph(x, graph.edge_index, graph.y, "sparse", undirected=True)
    plain, products = Watch(), Watch()
    SMALL.fit(sparse, NONE, Streams(2), plain)
    found, real = [], Autoencoder._squares_by_products

    def told(self, h, x):
        found.append(len(h))
        return real(self, h, x)

    monkeypatch.setattr(Autoencoder, "_squares_by_products", told)
    monkeypatch.setattr(autoencoder, "GRAM_FROM", x.numel())
    SMALL.fit(sparse, NONE, Streams(2), products)
    assert found == [NODES] * SMALL.epochs
    assert [loss for _, loss in products.curve] == pytest.approx(
        [loss for _, loss in plain.curve], rel=1e-4
    )


def test_pre_training_lowers_the_reconstruction_error(graph):
    told: list[float] = []
    Sdcn(**{**SMALL.__dict__, "pretrain_epochs": 40, "epochs": 0}).fit(
        graph, NONE, Streams(0), Watch(lambda done, total, loss: told.append(loss))
    )
    assert len(told) == 40 and told[-1] < 0.8 * told[0]


HELD_OUT = replace(SMALL, pretrain_until="held_out", pretrain_lr=0.05, epochs=3, batch_size=5)


def test_pre_training_until_held_out_rows_get_no_better(graph):
    """Its passes, its stop and its way back, by hand."""
    found = replace(HELD_OUT, epochs=0).fit(graph, NONE, Streams(4), Watch())
    rng = Streams(4)
    with rng.seeded("init"):
        ae = Autoencoder(F, (6, 7), 4)
    order = torch.randperm(NODES, generator=rng.torch("held_out"))
    held_out, rows = graph.x[order[:1]], order[1:]
    dice, rate = rng.torch("batches"), torch.optim.Adam(ae.parameters(), lr=0.05, fused=True)

    def error(x: torch.Tensor) -> torch.Tensor:
        return ae.reconstruction_error(ae.hidden(x @ ae.weight)[-1], x)

    errors, codes = [], []
    while len(errors) < 11 or min(errors[-10:]) <= min(errors[:-10]):
        with torch.no_grad():
            errors.append(error(held_out).item())
            codes.append(ae.hidden(graph.x @ ae.weight)[-1])
        for batch in rows[torch.randperm(NODES - 1, generator=dice)].split(5):
            rate.zero_grad()
            error(graph.x[batch]).backward()
            rate.step()
    best = min(range(len(errors)), key=errors.__getitem__)
    assert 0 < best == len(errors) - 11 and len(set(errors)) == len(errors)
    assert found.findings == {"pretrained_epochs": best}
    torch.testing.assert_close(found.z, codes[best], rtol=1e-3, atol=1e-4)


def test_the_held_out_error_which_decides_is_not_shortened(graph, monkeypatch):
    seen, error = {}, sdcn.Pretraining.error

    def noted(self, rows):
        seen.setdefault(len(rows), set()).add(torch.get_float32_matmul_precision())
        return error(self, rows)

    monkeypatch.setattr(sdcn.Pretraining, "error", noted)
    with trained_with(TF32):
        replace(HELD_OUT, epochs=0).fit(graph, NONE, Streams(4), Watch())
    assert seen == {1: {"highest"}, 5: {"high"}, 4: {"high"}}


def test_held_out_rows_change_no_older_run_and_no_label_is_read(graph):
    assert "pretrain_until" not in identity_of(Sdcn())
    assert identity_of(HELD_OUT)["pretrain_until"] == "held_out"
    assert SMALL.fit(graph, NONE, Streams(0), Watch()).findings == {}
    first, again = (
        HELD_OUT.fit(graph, labels, Streams(1), Watch()) for labels in (NONE, graph.y.clone())
    )
    assert torch.equal(first.z, again.z) and first.findings == again.findings


def test_held_out_pre_training_ends_at_its_limit(graph, monkeypatch):
    monkeypatch.setattr(sdcn, "HELD_OUT_LIMIT", 4)
    watch = Watch()
    found = replace(HELD_OUT, epochs=0).fit(graph, NONE, Streams(4), watch)
    assert len(watch.curve) == 4 and found.findings["pretrained_epochs"] <= 3


def test_too_few_rows_to_hold_any_out():
    few = make_graph(np.eye(9), np.array([[0], [1]]), None, "few", undirected=True)
    asked = "held_out holds out a tenth of the nodes, and there are 9; method.pretrain_until=epochs"
    with pytest.raises(Unsupported, match=asked):
        replace(HELD_OUT, clusters=2).fit(few, torch.full((9,), -1), Streams(0), Watch())


@pytest.mark.parametrize("back", [-1, 1])
def test_a_stop_before_and_after_the_early_end_of_the_pre_training(graph, tmp_path, back):
    """One iteration into the main training, the checkpoint holds how the pre-training ended."""
    straight = HELD_OUT.fit(graph, NONE, Streams(2), Watch())
    at = int(straight.findings["pretrained_epochs"]) + 11 + back
    stop, told = threading.Event(), []

    def until(done: int, total: int, loss: float) -> None:
        told.append(total)
        if len(told) == at:
            stop.set()

    def checkpoint() -> Checkpoint:
        return Checkpoint(tmp_path / "state", "key", 1e9)

    with pytest.raises(Preempted):
        HELD_OUT.fit(graph, NONE, Streams(2), Watch(until, checkpoint=checkpoint(), stop=stop))
    assert told[-1] == (1000 if back < 0 else 3)
    watch = Watch(checkpoint=checkpoint())
    resumed = HELD_OUT.fit(graph, NONE, Streams(2), watch)
    assert watch.resumed == 1 and torch.equal(resumed.z, straight.z)
    assert torch.equal(resumed.clusters, straight.clusters)
    assert resumed.findings == straight.findings


def test_the_protocol_changes_nothing_but_the_history(graph):
    last, oracle = (
        Sdcn(**{**SMALL.__dict__, "protocol": name}).fit(graph, NONE, Streams(0), Watch())
        for name in ("last", "oracle")
    )
    assert torch.equal(last.z, oracle.z) and torch.equal(last.clusters, oracle.clusters)
    assert last.history is None and oracle.history.shape == (4, NODES)


def test_no_widths():
    with pytest.raises(ValueError, match="architecture needs at least one width"):
        Sdcn(architecture=())
