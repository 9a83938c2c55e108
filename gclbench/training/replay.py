"""An iteration recorded as a CUDA graph, and replayed.

A step on a batch of some hundred rows is a few hundred small kernels. A GPU waits most of that time
for Python, which puts them into its queue one after the other; a recorded iteration is put there in
one call (results/bench/gpu_check.md has both times). The kernels are the same, and so are the
numbers.

A model says what of its iteration can be recorded (`Model.repeated`). On a processor, and where
something is decided between the loss and the optimiser's step, nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from gclbench.training.loop import Loss, Model

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


class Replay:
    """Does a model's iterations: the first as they are, then by replays of a recorded one.

    Iterations whose tensors have other shapes than the first's are done as they are, as the last
    batch of a pass.

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
        self._shapes: list[torch.Size] = []
        self._done = 0
        self._held: list[Tensor] = []
        self._found: list[Loss] = []
        self._again: Callable[[], None] | None = None

    def __call__(self, work: Repeated) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Does an iteration and returns its loss, which the next one overwrites, and its terms."""
        device = next(self._model.parameters()).device
        drawn = [tensor.to(device) for tensor in work.drawn]
        shapes = [tensor.shape for tensor in drawn]
        self._shapes = self._shapes or shapes
        if shapes != self._shapes:
            return _told(self._step(work, drawn))
        if self._done < WARMING:
            self._done += 1
            with _aside(device):
                return _told(self._step(work, drawn))
        if self._again is None:
            self._held = drawn

            def again() -> None:
                self._found = [self._step(work, self._held)]

            self._again = self._record(again)
        for held, tensor in zip(self._held, drawn, strict=True):
            held.copy_(tensor)
        self._again()
        return _told(self._found[0])

    def _step(self, work: Repeated, drawn: list[Tensor]) -> Loss:
        loss = work.loss(*drawn)
        self._optimiser.zero_grad(set_to_none=True)
        loss.value.backward()
        self._optimiser.step()
        return loss


def replay_of(model: Model, optimiser: torch.optim.Optimizer, patience: int) -> Replay | None:
    """What does a model's iterations where they can be recorded: on a GPU, at one rate, and with
    nothing that looks at the loss before the step."""
    parameter = next(model.parameters(), None)
    if parameter is None or parameter.device.type != "cuda" or patience or not model.at_one_rate:
        return None
    return Replay(model, optimiser)


def recorded(work: Callable[[], None]) -> Callable[[], None]:
    """A CUDA graph of some work, as the function that replays it."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    replay: Callable[[], None] = graph.replay
    return replay


def _told(loss: Loss) -> tuple[Tensor, Mapping[str, Tensor]]:
    return loss.value.detach(), loss.terms


@contextmanager
def _aside(device: torch.device) -> Iterator[None]:
    """On a GPU a stream of its own, which waits for the work before it and is waited for: what is
    done before a recording must not be on the default one."""
    if device.type != "cuda":
        yield
        return
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream(device).wait_stream(stream)
