"""An iteration that is recorded and replayed; without a GPU by a stand-in for the recording."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
import torch
from other_device import DEVICE, quiet, rehearsal

from gclbench.graph.carrier import Data
from gclbench.machine.limits import TimeLimit
from gclbench.methods.bgrl import Bgrl
from gclbench.methods.dmat_i import DmatI, DmatIModel
from gclbench.negatives.augcl import Augcl
from gclbench.training import loop, replay
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.loop import Loss, Step
from gclbench.training.replay import Repeated
from gclbench.training.streams import Streams
from gclbench.training.watch import Preempted, Watch

METHOD = DmatI(epochs=12, architecture=(8, 6), batch_size=12)
CPU = torch.device("cpu")


def graph(nodes: int = 30, features: int = 10) -> Data:
    x = torch.randn(nodes, features, generator=torch.Generator().manual_seed(1))
    data = Data(x=x, edge_index=torch.empty(2, 0, dtype=torch.long))
    data.validation = lambda embedding: -float((embedding.z[0] - embedding.z[1]).norm())
    return data


def unlabelled(data: Data) -> torch.Tensor:
    return torch.full((len(data.x),), -1, device=data.x.device)


def model_of(method: DmatI = METHOD, negatives=None, data: Data | None = None):
    data = graph() if data is None else data
    return method.model(data, unlabelled(data), Streams(0), negatives)


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


def recorded_by(recording, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on each training on this processor is recorded so, or not at all."""

    def replay_of(model, optimiser, patience):
        return None if recording is None else replay.Replay(CPU, optimiser, recording)

    monkeypatch.setattr(loop, "replay_of", replay_of)


def trained(method: DmatI, watch: Watch | None = None):
    data = graph()
    watch = Watch() if watch is None else watch
    return method.fit(data, unlabelled(data), Streams(0), watch), watch


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"batch_size": 500},
        {"views": 1, "mask_fraction": 0.0},
        {"epochs": 4, "epoch_is": "pass"},
        {"course": 3},
        {"epoch_by": "validation", "course": 5},
    ],
)
def test_a_replayed_training_is_the_same_to_the_bit(settings, monkeypatch):
    method, recording = replace(METHOD, **settings), Recording()
    recorded_by(None, monkeypatch)
    wanted, plain = trained(method)
    recorded_by(recording, monkeypatch)
    found, watch = trained(method)
    assert torch.equal(found.z, wanted.z) and found.findings == wanted.findings
    assert [steps for steps, _ in found.course] == [steps for steps, _ in wanted.course]
    for (_, ours), (_, theirs) in zip(found.course, wanted.course, strict=True):
        assert torch.equal(ours, theirs)
    assert watch.curve == plain.curve and len(watch.curve) == 12
    # 30 nodes in batches of 12, 12 and 6: the third of each pass has another shape.
    shapes = [12] if "batch_size" in settings else [8, 4]
    assert recording.made == len(shapes)
    assert recording.replayed == sum(times - replay.WARMING for times in shapes)


def test_a_replayed_training_goes_on_from_its_checkpoint(monkeypatch, tmp_path):
    recorded_by(None, monkeypatch)
    wanted, _ = trained(METHOD)
    recorded_by(Recording(), monkeypatch)
    stop = threading.Event()

    def stopping(done: int, *_: object) -> None:
        if done == 7:
            stop.set()

    path = tmp_path / "checkpoint.pt"
    with pytest.raises(Preempted):
        trained(METHOD, Watch(stopping, checkpoint=Checkpoint(path, "key", every=1e9), stop=stop))
    again = Recording()
    recorded_by(again, monkeypatch)
    found, watch = trained(METHOD, Watch(checkpoint=Checkpoint(path, "key", every=1e9)))
    assert watch.resumed == 1 and again.made == 0, "five iterations of two shapes are too few"
    assert torch.equal(found.z, wanted.z)


def test_what_the_caller_keeps_is_not_written():
    weight = torch.nn.Parameter(torch.ones(()))
    adam = torch.optim.Adam([weight])
    done = replay.Replay(CPU, adam, Recording())
    kept = [torch.tensor(float(number)) for number in range(6)]
    told = [float(done(Repeated((one,), lambda x: Loss(x * weight)))[0]) for one in kept]
    assert [float(one) for one in kept] == [0, 1, 2, 3, 4, 5]
    assert told == pytest.approx([0, 1, 2, 3, 4, 5], rel=0.1), "each of its own tensor"


def test_no_more_recordings_than_there_is_room_for():
    weight = torch.nn.Parameter(torch.ones(()))
    recording = Recording()
    done = replay.Replay(CPU, torch.optim.Adam([weight]), recording)
    for size in range(1, replay.MOST + 3):
        for _ in range(replay.WARMING + 2):
            done(Repeated((torch.ones(size),), lambda x: Loss((x * weight).sum())))
    assert recording.made == replay.MOST and recording.replayed == 2 * replay.MOST


def test_what_cannot_be_recorded_goes_on_as_it_is(monkeypatch, caplog):
    recorded_by(None, monkeypatch)
    wanted, _ = trained(METHOD)

    def refused(work):
        raise RuntimeError("operation not permitted when stream is capturing\nand more")

    recorded_by(refused, monkeypatch)
    with caplog.at_level(logging.WARNING):
        found, _ = trained(METHOD)
    assert torch.equal(found.z, wanted.z)
    assert [line.getMessage() for line in caplog.records] == [
        "training steps are not recorded, with the same result: operation not permitted when stream"
        " is capturing"
    ]


@pytest.mark.parametrize("ends", [TimeLimit, torch.OutOfMemoryError, KeyboardInterrupt])
def test_what_ends_a_training_ends_it_while_it_is_recorded(ends, monkeypatch):
    loss = DmatIModel.contrast
    steps: list[int] = []

    def broken_off(self, *arguments):
        steps.append(1)
        if len(steps) == replay.WARMING + 2:  # the other shape has had one
            raise ends("enough")
        return loss(self, *arguments)

    def masking(work):
        # torch's own context fails once more where its block has failed.
        try:
            work()
        except BaseException:
            raise RuntimeError("previous error during capture") from None

    monkeypatch.setattr(DmatIModel, "contrast", broken_off)
    recorded_by(masking, monkeypatch)
    with pytest.raises(ends, match="enough"):
        trained(METHOD)
    assert len(steps) == replay.WARMING + 2


@dataclass(frozen=True)
class OfItsOwn(DmatI):
    """A method whose model has another loss."""

    def model(self, graph, labels, rng, negatives=None):
        model = super().model(graph, labels, rng, negatives)
        model.__class__ = OwnLoss
        return model


class OwnLoss(DmatIModel):
    def loss(self, step):
        return Loss(super().loss(step).value * 2)


def test_only_plain_contrasts_of_dense_rows_are_recorded():
    assert model_of().repeated(Step(1, 12)) is not None
    assert model_of(negatives=Augcl()).repeated(Step(1, 12)) is None
    assert model_of(OfItsOwn(**vars(METHOD))).repeated(Step(1, 12)) is None
    sparse = graph()
    sparse.x = sparse.x.to_sparse_csr()
    assert model_of(data=sparse).repeated(Step(1, 12)) is None


def test_what_is_recorded_waits_for_nothing(monkeypatch):
    # Adam as it is recorded, whose counters are on the device too.
    adams = sys.modules["torch.optim.adam"]  # torch.optim hides it
    monkeypatch.setattr(adams, "_get_capturable_supported_devices", lambda *_: ["cuda", DEVICE])
    with rehearsal():
        data = graph().to(DEVICE)
        model = METHOD.model(data, unlabelled(data), Streams(0)).to(DEVICE)
        adam = torch.optim.AdamW(model.trained(), capturable=True)
        work = model.repeated(Step(1, 12))
        assert work is not None
        drawn = [tensor.to(DEVICE) for tensor in work.drawn]
        done = replay.Replay(torch.device(DEVICE), adam)
        done._step(work, drawn)  # the optimiser makes its state in the first step
        with quiet():
            done._step(work, drawn)


class OnGpu:
    """What `replay_of` asks of a model, as one on a GPU says it."""

    def __init__(self, at_one_rate: bool = True):
        self.at_one_rate = at_one_rate

    def parameters(self):
        return iter([SimpleNamespace(device=torch.device("cuda"), is_cuda=True)])

    trained = parameters


def able(capturable: bool = True) -> SimpleNamespace:
    return SimpleNamespace(param_groups=[{"capturable": capturable}])


def test_on_a_gpu_nothing_may_come_between_loss_and_step(monkeypatch):
    assert replay.replay_of(OnGpu(), able(), 0) is not None
    assert replay.replay_of(OnGpu(), able(), patience=20) is None
    assert replay.replay_of(OnGpu(), able(False), 0) is None
    assert replay.replay_of(OnGpu(), SimpleNamespace(param_groups=[{}]), 0) is None
    assert replay.replay_of(OnGpu(at_one_rate=False), able(), 0) is None
    monkeypatch.setenv("GCLBENCH_CUDA_GRAPHS", "0")
    assert replay.replay_of(OnGpu(), able(), 0) is None


def test_only_a_gpu_records(monkeypatch):
    model = model_of()
    adam = METHOD.optimiser(model)
    assert not any(group["capturable"] for group in adam.param_groups)
    assert replay.replay_of(model, able(), 0) is None
    asked: list[dict] = []
    monkeypatch.setattr(
        DmatI, "optimiser_class", staticmethod(lambda _, **given: asked.append(given))
    )
    METHOD.optimiser(OnGpu())
    assert asked[0]["capturable"] is True


def test_patience_is_asked_for(monkeypatch):
    asked: list[int] = []

    def replay_of(model, optimiser, patience):
        asked.append(patience)

    monkeypatch.setattr(loop, "replay_of", replay_of)
    model = model_of()
    loop.train(model, METHOD.optimiser(model), Watch(), patience=5)
    assert asked == [5]


def test_a_rate_that_changes_is_seen():
    assert model_of().at_one_rate
    data = graph()
    assert not Bgrl().model(data, unlabelled(data), Streams(0)).at_one_rate


@pytest.mark.parametrize("fails", [False, True])
def test_the_stream_of_the_steps_waits_and_is_waited_for(fails, monkeypatch):
    said: list[str] = []

    class Stream:
        def __init__(self, name: str):
            self.name = name

        def wait_stream(self, other) -> None:
            said.append(f"{self.name} waits for {other.name}")

    @contextmanager
    def on(stream):
        said.append(f"on {stream.name}")
        yield

    own, outside = Stream("own"), Stream("the default")
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: outside)
    monkeypatch.setattr(torch.cuda, "stream", on)
    monkeypatch.setattr(replay, "_stream", lambda device: own)
    try:
        with replay.on_own_stream(torch.device("cuda")):
            if fails:
                raise TimeLimit("enough")
    except TimeLimit:
        assert fails
    assert said == ["own waits for the default", "on own", "the default waits for own"]


@pytest.mark.gpu
def test_a_recorded_training_is_the_same_to_the_bit_on_a_gpu(monkeypatch):
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")

    def fitted():
        data = graph(300, 40)
        del data.validation
        data = data.to("cuda")
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
    monkeypatch.setenv("GCLBENCH_CUDA_GRAPHS", "0")
    assert torch.equal(fitted(), found)
    assert len(recordings) == 2
