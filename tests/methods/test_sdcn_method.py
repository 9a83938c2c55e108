"""SDCN's steps written out with dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from gclbench.graph import make_graph
from gclbench.methods.sdcn import Sdcn, row_normalised, soft_assignment, target_distribution
from gclbench.nn.autoencoder import Autoencoder
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

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


def test_pre_training_lowers_the_reconstruction_error(graph):
    told: list[float] = []
    Sdcn(**{**SMALL.__dict__, "pretrain_epochs": 40, "epochs": 0}).fit(
        graph, NONE, Streams(0), Watch(lambda done, total, loss: told.append(loss))
    )
    assert len(told) == 40 and told[-1] < 0.8 * told[0]


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
