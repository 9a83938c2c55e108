"""The eye on a training: progress, loss curve, divergence, time limit, checkpoints, preemption."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gclbench.machine.limits import TimeLimit
from gclbench.training import global_generators
from gclbench.training.checkpoint import Checkpoint, Progress, restore, snapshot
from gclbench.training.weights import Weights

CURVE_POINTS = 100
"""Losses kept for the record at most, evenly spaced over the training, and the last one."""

SHARE_OF_CHECKPOINTS = 0.05
"""A checkpoint that takes long to write is written more rarely, so that writing costs this share of
the time at most."""

log = logging.getLogger(__name__)

Reporter = Callable[[int, int, float], None]
"""Called with (iterations done, iterations in all, loss)."""


class Diverged(RuntimeError):
    """The loss is not finite any more."""


class Preempted(BaseException):
    """The run was asked to stop; a later attempt goes on from its checkpoint.

    Not an `Exception`: no method handles it.

    Attributes:
        records: of the unit's runs that had ended before.
    """

    def __init__(self, text: str):
        super().__init__(text)
        self.records: list[Any] = []


class Watch:
    """Passed to a method's `fit`, which walks its iterations through it and calls it once per
    iteration.

    Args:
        report: called with the progress, or None.
        time_limit: seconds of wall-clock from now, earlier attempts of a resumed training included,
            or None.
        checkpoint: what the training goes on from and writes to, or None.
        stop: once set, the training writes a checkpoint at its next iteration and ends with
            `Preempted`.
        keeps_weights: whether `weights` holds what the last training ended with.
    """

    def __init__(
        self,
        report: Reporter | None = None,
        time_limit: float | None = None,
        checkpoint: Checkpoint | None = None,
        stop: threading.Event | None = None,
        keeps_weights: bool = False,
    ):
        self._keeps_weights = keeps_weights
        self.weights: Weights | None = None
        self._report = report
        self._started = time.monotonic()
        self._limit = time_limit
        self._checkpoint = checkpoint
        self._stop = stop
        self._loops = 0
        self._looping = self._left = False
        self._saved: Progress | None = None
        self._finished: list[dict[str, Any]] = []
        self._training_since = self._started
        self._next_writing = 0.0
        self.curve: list[tuple[int, float]] = []
        # Which training of how many alike this one is, as the progress of all of them is told.
        self.share = (0, 1)
        self.reached = 0
        self.last_loss = math.nan
        self.resumed = 0
        self.earlier_seconds = 0.0

    def iterations(self, total: int, **state: Any) -> Iterator[int]:
        """Iteration numbers of a training loop: 1…total, or from where a checkpoint says that an
        earlier attempt was.

        Args:
            state: everything the loop changes, by name: modules, optimisers and other objects with
                `state_dict` and `load_state_dict`, tensors, and random generators. What is named
                here is what a checkpoint holds.

        Raises:
            TypeError: for an object whose state a checkpoint cannot hold.
            Preempted: between two iterations, when the run is asked to stop.
        """
        snapshot(state)
        loop, self._loops = self._loops, self._loops + 1
        if loop == 0:
            self._training_since = time.monotonic()
            if self._checkpoint is not None:
                self._next_writing = self._training_since + self._checkpoint.every
                self._saved = self._checkpoint.read()
        self._looping = True
        for iteration in range(self._taken_up(loop, total, state) + 1, total + 1):
            yield iteration
            if self._left:
                break
            self._between(loop, total, iteration, state)
        self._looping = self._left = False
        if self._checkpoint is not None:
            ended = {"reached": self.reached, "loss": self.last_loss}
            self._finished.append({"state": snapshot(state, copy=True), **ended})

    def leave(self) -> None:
        """Makes the iteration at hand the loop's last one.

        A method with another loop to come says so here: to break out would leave later checkpoints
        without the state that this loop ended with.
        """
        self._left = True

    def _taken_up(self, loop: int, total: int, state: dict[str, Any]) -> int:
        """Iterations of the loop that earlier attempts did."""
        saved = self._saved
        if saved is None or loop > saved.loop:
            return 0
        try:
            if loop < saved.loop:
                ended = saved.finished[loop]
                restore(state, ended["state"])
                # The loop's embedding is that of the iteration at which it ended.
                self.reached, self.last_loss = int(ended["reached"]), float(ended["loss"])
                return total
            if saved.total != total:
                raise ValueError(f"it is of {saved.total} iterations, and the training has {total}")
            restore(state, saved.state)
            global_generators.put_back(saved.generators)
        except TimeLimit:
            raise
        except (ValueError, LookupError, RuntimeError) as error:
            self._saved = None
            path = self._checkpoint.path if self._checkpoint else ""
            log.warning(
                "the checkpoint %s does not fit (%s); the training starts anew", path, error
            )
            return 0
        self.curve = [(int(iteration), float(loss)) for iteration, loss in saved.curve]
        self.reached, self.last_loss = saved.reached, saved.loss
        self.resumed, self.earlier_seconds = saved.resumed + 1, saved.seconds
        return saved.iteration

    def _between(self, loop: int, total: int, iteration: int, state: dict[str, Any]) -> None:
        """After an iteration: the objects are whole, so this is where a checkpoint is taken."""
        stopping = self._stop is not None and self._stop.is_set()
        checkpoint = self._checkpoint
        now = time.monotonic()
        if checkpoint is not None and (stopping or now >= self._next_writing):
            checkpoint.write(
                Progress(
                    loop=loop,
                    total=total,
                    iteration=iteration,
                    state=snapshot(state),
                    finished=self._finished,
                    generators=global_generators.states(),
                    reached=self.reached,
                    loss=self.last_loss,
                    curve=[list(point) for point in self.curve],
                    seconds=self.earlier_seconds + now - self._training_since,
                    resumed=self.resumed,
                )
            )
            done = time.monotonic()
            self._next_writing = done + max(checkpoint.every, (done - now) / SHARE_OF_CHECKPOINTS)
        if stopping:
            raise Preempted(f"stopped at iteration {iteration} of {total}")

    def __call__(
        self, iteration: int, total: int, loss: Any, terms: Mapping[str, Any] | None = None
    ) -> None:
        """Notes iteration number `iteration` (from 1) of `total` and its loss (a number or a
        one-element tensor).

        Args:
            terms: what the loss is the sum of, by name; read only to say which of them broke.

        Raises:
            Diverged: when the loss is NaN or infinite.
            TimeLimit: when the limit has passed.
            Preempted: when the run is asked to stop and does not walk through `iterations`, which
                would write a checkpoint.
        """
        value = float(loss)
        if not math.isfinite(value):
            raise Diverged(
                f"the loss became {value} at iteration {iteration} of {total}{_broken(terms or {})}"
            )
        self.reached, self.last_loss = iteration, value
        if self.curve and iteration <= self.curve[-1][0]:
            self.curve = []  # another training begins: two losses make no one curve
        if on_curve(iteration, total):
            self.curve.append((iteration, value))
        if self._report is not None:
            place, trainings = self.share
            self._report(place * total + iteration, trainings * total, value)
        if self._stop is not None and self._stop.is_set() and not self._looping:
            raise Preempted(f"stopped at iteration {iteration} of {total}")
        if (
            self._limit is not None
            and time.monotonic() - self._started + self.earlier_seconds > self._limit
        ):
            raise TimeLimit(
                f"stopped after {self._limit:g} s at iteration {iteration} of {total};"
                " time_limit=SECONDS sets it"
            )

    def trained(self, model: Any, iteration: int, total: int) -> None:
        """Told of a model in the state that a training ends with, that of an iteration."""
        if self._keeps_weights:
            self.weights = Weights.of(model, iteration, total)

    def summary(self) -> dict[str, Any]:
        """Plain values for the record: iterations, final loss, loss curve as [iteration, loss]
        pairs, how often it was resumed."""
        if not self.reached:
            return {"iterations": 0}
        facts = {
            "iterations": self.reached,
            "loss": self.last_loss,
            "curve": [list(point) for point in self.curve],
        }
        return {**facts, "resumed": self.resumed} if self.resumed else facts


def on_curve(iteration: int, total: int) -> bool:
    """Whether an iteration's loss is one of those that the record keeps."""
    return iteration == total or iteration % max(1, math.ceil(total / CURVE_POINTS)) == 0


def _broken(terms: Mapping[str, Any]) -> str:
    """Which of the loss's terms is not finite, as part of a sentence."""
    if not terms:
        return ""
    for name, term in terms.items():
        # A term may still have its gradient, and torch warns of turning such a one into a number.
        value = float(term.detach() if hasattr(term, "detach") else term)
        if not math.isfinite(value):
            return f" (its term '{name}' is {value})"
    return f" (its terms {', '.join(terms)} are finite, their sum is not)"
