"""JOAO: the shares of its augmentations, and JOAOv2's projectors."""

from __future__ import annotations

import pytest
import torch
from methods.small_collection import small_collection

from gclbench.contrast.graph_views import AUGMENTATIONS
from gclbench.methods.joao import Joao, Joaov2, nearest_shares
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

STEP = Step(1, 2)
IDENTITY = AUGMENTATIONS.index("identity")


def built(method):
    return method.model(small_collection(), torch.empty(0), Streams(0))


@pytest.mark.parametrize("point", [(0.2, 0.3, 0.5), (3.0, 1.0, 0.9), (-1.0, -5.0, -1.2), (0, 0, 0)])
def test_nearest_shares_are_those_of_bisection(point) -> None:
    given = torch.tensor(point, dtype=torch.float64)
    low, high = float(given.min()) - 1, float(given.max())
    for _ in range(100):
        middle = (low + high) / 2
        over = float((given - middle).clamp(min=0).sum()) > 1
        low, high = (middle, high) if over else (low, middle)
    found = nearest_shares(given)
    torch.testing.assert_close(found, (given - middle).clamp(min=0), atol=1e-9, rtol=0)
    assert float(found.sum()) == pytest.approx(1)


def test_shares_start_equal_and_move_by_the_losses_and_the_pull(monkeypatch) -> None:
    model = built(Joao(gamma=0.5))
    assert model.shares.tolist() == pytest.approx([0.2] * 5)
    losses = torch.tensor([0.3, 0.1, 0.0, 0.1, 0.0])
    monkeypatch.setattr(model, "losses_by_augmentation", lambda step: losses)
    model.after(STEP)
    first = nearest_shares(torch.full((5,), 0.2) + losses)
    torch.testing.assert_close(model.shares, first)
    model.after(STEP)
    torch.testing.assert_close(model.shares, nearest_shares(first + losses - 0.5 * (first - 0.2)))


def test_views_are_drawn_by_the_shares() -> None:
    model = built(Joao())
    model.shares = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0])
    batch = model.collection.batch(torch.arange(10))
    view, kinds = model.view(batch)
    assert (kinds == IDENTITY).all() and torch.equal(view.x, batch.x)


def test_looking_at_the_losses_changes_no_running_average_and_no_gradient() -> None:
    model = built(Joao(batch_size=5))
    model.train()
    before = {name: value.clone() for name, value in model.named_buffers()}
    losses = model.losses_by_augmentation(STEP)
    assert model.training and losses.shape == (5,) and not losses.requires_grad
    assert any(name.endswith("running_mean") for name in before)
    for name, value in model.named_buffers():
        torch.testing.assert_close(value, before[name], equal_nan=True)


def test_the_loss_of_identity_is_that_of_the_graphs_against_themselves() -> None:
    model = built(Joao(batch_size=24))
    losses = model.losses_by_augmentation(STEP)
    model.eval()
    z = model.projected(model.encoded(model.collection.all), None)
    unit = torch.nn.functional.normalize(z, dim=1)
    scores = unit @ unit.T / 0.2
    others = scores.masked_fill(torch.eye(24, dtype=torch.bool), -torch.inf).logsumexp(dim=1)
    torch.testing.assert_close(losses[IDENTITY], (others - 5.0).mean(), rtol=1e-4, atol=1e-4)


def test_the_shares_are_reported() -> None:
    found = Joao(epochs=2).fit(small_collection(), torch.empty(0), Streams(0), Watch())
    shares = [found.findings[f"joao_{name}"] for name in AUGMENTATIONS]
    assert sum(shares) == pytest.approx(1, abs=1e-5) and shares != pytest.approx([0.2] * 5)


def test_each_graph_goes_through_the_projector_of_its_own_augmentation() -> None:
    model = built(Joaov2())
    z, kinds = torch.randn(7, 96), torch.tensor([0, 1, 2, 3, 4, 0, 2])
    found = model.projected(z, kinds)
    for row, kind in enumerate(kinds.tolist()):
        torch.testing.assert_close(found[row], model.projector[kind](z[row : row + 1])[0])
    torch.testing.assert_close(model.projected(z, None), model.projector[IDENTITY](z))


def test_the_released_projectors_are_one_an_epoch_and_the_first_elsewhere() -> None:
    model = built(Joaov2(projectors="epoch"))
    z, kinds = torch.randn(7, 96), torch.tensor([0, 1, 2, 3, 4, 0, 2])
    model.state["drawn"].fill_(3)
    torch.testing.assert_close(model.projected(z, kinds), model.projector[3](z))
    torch.testing.assert_close(model.projected(z, None), model.projector[0](z))
    torch.testing.assert_close(model.judged(z, kinds), model.projector[0](z))
    drawn = set()
    for _ in range(12):
        list(model.losses(STEP))
        drawn.add(int(model.state["drawn"]))
    assert len(drawn) > 1
