"""An iteration recorded as a CUDA graph, and replayed.

A step on a batch of some hundred rows is a few hundred small kernels. A GPU waits most of that time
for Python, which puts them into its queue one after the other; a recorded iteration is put there in
one call (results/bench/gpu_check.md has both times). The kernels are the same, and so are the
numbers.

A model says what of its iteration can be recorded (`Model.repeated`). On a processor, and where
something is decided between the loss and the optimiser's step, nothing is. GCLBENCH_CUDA_GRAPHS=0
records nothing on a GPU either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from gclbench.training.loop import Loss, Model

Shapes = tuple[torch.Size, ...]

WARMING = 3
"""Iterations before the one that is recorded: what they leave in memory, as the optimiser's state,
must not be made anew in each replay."""


@dataclass(frozen=True)
class Repeated:
    """An iteration's work, which is the same each time but for some tensors.

    Attributes:
        drawn: what differs, on any device. loss: of `drawn` on the model's device; it asks the
            device for no number, and draws none.
    """

    drawn: tuple[Tensor, ...]
    loss: Callable[..., Loss]


@dataclass(frozen=True)
class _Recording:
    """A recorded step: the tensors that it reads, how it is done again, and what it told."""

    held: list[Tensor]
    again: Callable[[], None]
    told: list[tuple[Tensor, Mapping[str, Tensor]]]


class Replay:
    """Does a model's iterations: the first as they are, then by replays of a recorded one.

    There is a recording for each shape of the tensors that differ: the last batch of a pass has
    fewer rows. All is done on one stream: autograd notes the stream of a parameter's first step.

    Args:
        record: of a function without arguments makes one that does the same work on the same
            memory, and does none yet; a CUDA graph by default.
    """

    def __init__(
        self,
        model: Model,
        optimiser: torch.optim.Optimizer,
        record: Callable[[Callable[[], None]], Callable[[], None]] | None = None,
    ):
        self._model, self._optimiser = model, optimiser
        self._record = record or recorded
        self._device = next(model.parameters()).device
        gpu = self._device.type == "cuda"
        self._stream = torch.cuda.Stream(self._device) if gpu else None
        self._done: dict[Shapes, int] = {}
        self._recordings: dict[Shapes, _Recording] = {}

    def __call__(self, work: Repeated) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Does an iteration and returns its loss, which the next one overwrites, and its terms."""
        drawn = [tensor.to(self._device) for tensor in work.drawn]
        shapes = tuple(tensor.shape for tensor in drawn)
        done = self._done[shapes] = self._done.get(shapes, 0) + 1
        with self._own_stream():
            if done <= WARMING:
                return self._step(work, drawn)
            if shapes not in self._recordings:
                self._recordings[shapes] = self._recorded(work, drawn)
            recording = self._recordings[shapes]
            for held, tensor in zip(recording.held, drawn, strict=True):
                held.copy_(tensor)
            recording.again()
            return recording.told[0]

    def _recorded(self, work: Repeated, held: list[Tensor]) -> _Recording:
        """The step on some tensors, recorded; `told` is filled when the work is done or noted."""
        told: list[tuple[Tensor, Mapping[str, Tensor]]] = []

        def step() -> None:
            told[:] = [self._step(work, held)]

        return _Recording(held, self._record(step), told)

    def _step(self, work: Repeated, drawn: list[Tensor]) -> tuple[Tensor, Mapping[str, Tensor]]:
        loss = work.loss(*drawn)
        self._optimiser.zero_grad(set_to_none=True)
        loss.value.backward()
        self._optimiser.step()
        return loss.value.detach(), {name: term.detach() for name, term in loss.terms.items()}

    @contextmanager
    def _own_stream(self) -> Iterator[None]:
        """On a GPU the stream of all iterations, which waits for the work before and is waited
        for: what is recorded must not be on the default one."""
        if self._stream is None:
            yield
            return
        outside = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(outside)
        with torch.cuda.stream(self._stream):
            yield
        outside.wait_stream(self._stream)


def replay_of(model: Model, optimiser: torch.optim.Optimizer, patience: int) -> Replay | None:
    """What does a model's iterations where they can be recorded: on a GPU, at one rate, and with
    nothing that looks at the loss before the step."""
    if os.environ.get("GCLBENCH_CUDA_GRAPHS") == "0":
        return None
    parameter = next(model.parameters(), None)
    if parameter is None or parameter.device.type != "cuda" or patience or not model.at_one_rate:
        return None
    return Replay(model, optimiser)


def recorded(work: Callable[[], None]) -> Callable[[], None]:
    """A CUDA graph of some work on the current stream, as the function that replays it."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        work()
    replay: Callable[[], None] = graph.replay
    return replay
