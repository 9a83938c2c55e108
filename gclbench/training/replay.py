"""An iteration recorded as a CUDA graph, and replayed.

A step on a batch of some hundred rows is a few hundred small kernels. A GPU waits most of that time
for Python, which puts them into its queue one after the other; a recorded iteration is put there in
one call. The kernels are the same (results/notes/speed.md has what was measured, and of which form
of this file).

A model says what of its iteration can be recorded (`Model.repeated`). On a processor, and where
something is decided between the loss and the optimiser's step, nothing is. GCLBENCH_CUDA_GRAPHS=0
records nothing on a GPU either.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gclbench.machine.limits import TimeLimit

if TYPE_CHECKING:
    from gclbench.training.loop import Loss, Model

log = logging.getLogger(__name__)

Shapes = tuple[torch.Size, ...]
Told = tuple[Tensor, Mapping[str, Tensor]]
"""An iteration's loss and its terms."""

WARMING = 3
"""Iterations of a shape before the one that is recorded: what they leave in memory, as the
optimiser's state, must not be made anew in each replay."""

PASSED_ON = (torch.OutOfMemoryError, TimeLimit)
"""What ends a training, also while a step is recorded."""

MOST = 4
"""Recordings at most: each holds the memory of a step."""


@dataclass(frozen=True)
class Repeated:
    """An iteration's work, which is the same each time but for some tensors.

    It is all of the iteration: one step of the optimiser, whose loss is `loss(*drawn).value`.

    Attributes:
        drawn: what differs, on any device. loss: of `drawn` on the model's device. It asks the
            device for no number, draws none, and reads nothing else that changes between
            iterations but parameters and buffers.
    """

    drawn: tuple[Tensor, ...]
    loss: Callable[..., Loss]


@dataclass(frozen=True)
class _Recording:
    """A recorded step: the tensors that it reads, how it is done again, and where it leaves what it
    tells."""

    held: list[Tensor]
    again: Callable[[], None]
    told: list[Told]


class Replay:
    """Does a model's iterations: the first as they are, then by replays of a recorded one.

    There is a recording for each shape of the tensors that differ: the last batch of a pass has
    fewer rows. What cannot be recorded goes on as it is, and is said once.

    Args:
        record: of a function without arguments makes one that does the same work on the same
            memory, and does none yet; a CUDA graph by default.
    """

    def __init__(
        self,
        device: torch.device,
        optimiser: torch.optim.Optimizer,
        record: Callable[[Callable[[], None]], Callable[[], None]] | None = None,
    ):
        self._device, self._optimiser = device, optimiser
        self._record = record or recorded
        self._done: dict[Shapes, int] = {}
        self._recordings: dict[Shapes, _Recording] = {}
        self._failed = False

    def __call__(self, work: Repeated) -> Told:
        """Does an iteration. The next one overwrites what it returns."""
        drawn = [tensor.to(self._device) for tensor in work.drawn]
        shapes = tuple(tensor.shape for tensor in drawn)
        done = self._done[shapes] = self._done.get(shapes, 0) + 1
        with on_own_stream(self._device):
            if done == WARMING + 1 and len(self._recordings) < MOST and not self._failed:
                self._add(shapes, work, drawn)
            recording = self._recordings.get(shapes)
            if recording is None:
                return self._step(work, drawn)
            for held, tensor in zip(recording.held, drawn, strict=True):
                held.copy_(tensor)
            recording.again()
            return recording.told[0]

    def _add(self, shapes: Shapes, work: Repeated, drawn: list[Tensor]) -> None:
        """Records the step on tensors of these shapes, which does none."""
        told: list[Told] = []
        broken: list[BaseException] = []
        held = [tensor.clone() for tensor in drawn]

        def step() -> None:
            try:
                told[:] = [self._step(work, held)]
            except BaseException as error:
                broken.append(error)
                raise

        try:
            self._recordings[shapes] = _Recording(held, self._record(step), told)
        except RuntimeError as error:
            # A recording that is broken off fails once more, of which torch tells alone.
            first = broken[0] if broken else error
            if not isinstance(first, RuntimeError) or isinstance(first, PASSED_ON):
                raise first from None
            # Nothing of the step was done: it is only noted while it is recorded.
            self._failed = True
            why = str(first).partition("\n")[0]
            log.warning("training steps are not recorded, with the same result: %s", why)

    def _step(self, work: Repeated, drawn: list[Tensor]) -> Told:
        loss = work.loss(*drawn)
        self._optimiser.zero_grad(set_to_none=True)
        loss.value.backward()
        self._optimiser.step()
        # Detached: what keeps a recorded step's graph alive keeps its parameters' nodes in
        # autograd, and those keep the stream they were made on.
        return loss.value.detach(), {name: term.detach() for name, term in loss.terms.items()}


@functools.cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """One for all trainings: each stream has working memory of its own, for as long as the process
    runs."""
    return torch.cuda.Stream(device)


@contextmanager
def on_own_stream(device: torch.device) -> Iterator[None]:
    """On a GPU the block's work is on a stream of its own, since what is recorded must not be on
    the default one. It waits for the work before, and is waited for, also where the block raises:
    its tensors are of memory that others get next."""
    if device.type != "cuda":
        yield
        return
    outside, own = torch.cuda.current_stream(device), _stream(device)
    own.wait_stream(outside)
    try:
        with torch.cuda.stream(own):
            yield
    finally:
        outside.wait_stream(own)


def replay_of(model: Model, optimiser: torch.optim.Optimizer, patience: int) -> Replay | None:
    """What does a model's iterations where they can be recorded: on a GPU, at one rate, with an
    optimiser that can, and with nothing that looks at the loss before the step."""
    device = next((parameter.device for parameter in model.parameters()), None)
    if device is None or device.type != "cuda" or os.environ.get("GCLBENCH_CUDA_GRAPHS") == "0":
        return None
    able = all(group.get("capturable") for group in optimiser.param_groups)
    return Replay(device, optimiser) if able and not patience and model.at_one_rate else None


def recorded(work: Callable[[], None]) -> Callable[[], None]:
    """A CUDA graph of some work on the current stream, as the function that replays it."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        work()
    replay: Callable[[], None] = graph.replay
    return replay
