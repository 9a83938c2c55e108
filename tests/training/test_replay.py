"""An iteration that is recorded and replayed; without a GPU by a stand-in for the recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from other_device import DEVICE, quiet, rehearsal

from gclbench.graph.carrier import Data
from gclbench.methods.bgrl import Bgrl
from gclbench.methods.dmat_i import DmatI
from gclbench.negatives.augcl import Augcl
from gclbench.training import loop, replay
from gclbench.training.loop import Step
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch

METHOD = DmatI(epochs=12, architecture=(8, 6), batch_size=12)


def graph(nodes: int = 30, features: int = 10) -> Data:
    x = torch.randn(nodes, features, generator=torch.Generator().manual_seed(1))
    return Data(x=x, edge_index=torch.empty(2, 0, dtype=torch.long))


def unlabelled(data: Data) -> torch.Tensor:
    return torch.full((len(data.x),), -1, device=data.x.device)


class Recording:
    """Does what a CUDA graph does: nothing when it is made, the same work on the same memory when
    it is replayed."""

    def __init__(self) -> None:
        self.made = self.replayed = 0

    def __call__(self, work: Callable[[], None]) -> Callable[[], None]:
        self.made += 1

        def again() -> None:
            self.replayed += 1
            work()

        return again


def trained(method: DmatI, monkeypatch: pytest.MonkeyPatch, recording: Recording | None):
    def replay_of(model, optimiser, patience):
        return None if recording is None else replay.Replay(model, optimiser, recording)

    monkeypatch.setattr(loop, "replay_of", replay_of)
    watch = Watch()
    data = graph()
    return method.fit(data, unlabelled(data), Streams(0), watch), watch


@pytest.mark.parametrize("settings", [{}, {"batch_size": 500}, {"views": 1, "mask_fraction": 0.0}])
def test_a_replayed_training_is_the_same_to_the_bit(settings, monkeypatch):
    method, recording = replace(METHOD, **settings), Recording()
    wanted, plain = trained(method, monkeypatch, None)
    found, watch = trained(method, monkeypatch, recording)
    assert torch.equal(found.z, wanted.z)
    assert watch.curve == plain.curve and len(watch.curve) == 12
    # 30 nodes in batches of 12, 12 and 6: the third of each pass has another shape.
    shapes = [12] if "batch_size" in settings else [8, 4]
    assert recording.made == len(shapes)
    assert recording.replayed == sum(times - replay.WARMING for times in shapes)


def test_whole_passes_are_replayed_too(monkeypatch):
    method = replace(METHOD, epochs=4, epoch_is="pass")
    wanted, _ = trained(method, monkeypatch, None)
    found, _ = trained(method, monkeypatch, Recording())
    assert torch.equal(found.z, wanted.z)


def test_a_strategy_that_learns_is_not_recorded(monkeypatch):
    recording = Recording()
    monkeypatch.setattr(
        loop, "replay_of", lambda model, adam, _: replay.Replay(model, adam, recording)
    )
    data = graph()
    METHOD.fit(data, unlabelled(data), Streams(0), Watch(), Augcl())
    assert not recording.made


def test_what_is_recorded_waits_for_nothing():
    with rehearsal():
        data = graph().to(DEVICE)
        model = METHOD.model(data, unlabelled(data), Streams(0)).to(DEVICE)
        work = model.repeated(Step(1, 12))
        assert work is not None
        drawn = [tensor.to(DEVICE) for tensor in work.drawn]
        work.loss(*drawn).value.backward()
        with quiet():
            work.loss(*drawn).value.backward()


def test_only_a_gpu_records():
    data = graph()
    model = METHOD.model(data, unlabelled(data), Streams(0))
    adam = METHOD.optimiser(model)
    assert replay.replay_of(model, adam, 0) is None
    assert not any(group["capturable"] for group in adam.param_groups)


class OnGpu:
    """What `replay_of` asks of a model, as one on a GPU says it."""

    def __init__(self, at_one_rate: bool = True):
        self.at_one_rate = at_one_rate

    def parameters(self):
        return iter([SimpleNamespace(device=torch.device("cuda"))])


def test_on_a_gpu_nothing_may_come_between_loss_and_step(monkeypatch):
    monkeypatch.setattr(replay, "Replay", lambda model, optimiser: "a replay")
    assert replay.replay_of(OnGpu(), None, 0) == "a replay"
    assert replay.replay_of(OnGpu(), None, patience=20) is None
    assert replay.replay_of(OnGpu(at_one_rate=False), None, 0) is None
    monkeypatch.setenv("GCLBENCH_CUDA_GRAPHS", "0")
    assert replay.replay_of(OnGpu(), None, 0) is None


def test_a_rate_that_changes_is_seen():
    data = graph()
    assert METHOD.model(data, unlabelled(data), Streams(0)).at_one_rate
    bgrl = Bgrl().model(data, unlabelled(data), Streams(0))
    assert not bgrl.at_one_rate


@pytest.mark.gpu
def test_a_recorded_training_is_the_same_to_the_bit_on_a_gpu(monkeypatch):
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")

    def fitted():
        data = graph(300, 40).to("cuda")
        method = replace(METHOD, epochs=60, batch_size=128)
        return method.fit(data, unlabelled(data), Streams(0), Watch()).z

    recordings: list[int] = []
    own = replay.recorded

    def counted(work):
        recordings.append(1)
        return own(work)

    monkeypatch.setattr(replay, "recorded", counted)
    found = fitted()
    assert len(recordings) == 2, "batches of 128, 128 and 44 rows"
    monkeypatch.setattr(loop, "replay_of", lambda *_: None)
    assert torch.equal(fitted(), found)
    assert len(recordings) == 2
