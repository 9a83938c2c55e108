"""The training loop: loss, backward, step, watch, patience, checkpoint. It stands once, here.

A method brings a `Model`: its modules, the loss of an iteration, and the embedding at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from gclbench.embedding import Embedding
from gclbench.machine import precision
from gclbench.training.choice import Choice
from gclbench.training.compiler import compiler_put_off
from gclbench.training.course import Course
from gclbench.training.look import Look
from gclbench.training.patience import Patience
from gclbench.training.replay import Repeated, replay_of
from gclbench.training.watch import Watch

compiler_put_off()


@dataclass(frozen=True)
class Step:
    """Where a training is: iteration number `iteration`, from 1, of `total`."""

    iteration: int
    total: int


@dataclass(frozen=True)
class Loss:
    """What one step of the optimiser makes smaller.

    Attributes:
        value: one number with its gradient.
        terms: what it is the sum of, by name; read to say which of them is not finite.
        final: whether it is the loss that the training ends with. Patience waits until it is.
        noted: its share of the recorded loss, where an iteration has several steps; by default
            `value`.
        judged: what patience compares, of the model before the step; by default `value`.
    """

    value: Tensor
    terms: Mapping[str, Tensor] = field(default_factory=dict)
    final: bool = True
    noted: Tensor | None = None
    judged: Tensor | None = None

    @classmethod
    def of(cls, found: Any, where: str) -> Loss:
        """What came back where a loss has to.

        Args:
            where: from what, as `MyModel.loss`.

        Raises:
            TypeError: when it is something else, or its value is not one number.
        """
        if not isinstance(found, cls):
            kind = type(found).__name__
            raise TypeError(f"{where} must return Loss(value), and returned {kind}")
        value = found.value
        if not (isinstance(value, Tensor) and value.is_floating_point() and value.numel() == 1):
            raise TypeError(
                f"{where} must return Loss(value) of one number, a tensor of floats, and returned"
                f" {_described(value)}"
            )
        return found


class Model(nn.Module):
    """A method at work on one graph. Its parameters and buffers are in every checkpoint.

    Args:
        iterations: of the loop.
        state: what else changes in an iteration, by name: random generators, batches, tensors.
    """

    def __init__(self, iterations: int, **state: Any):
        super().__init__()
        self.iterations = iterations
        self.state = state

    def trained(self) -> Iterable[nn.Parameter]:
        """The parameters that the optimiser moves."""
        return self.parameters()

    def rate(self, step: Step) -> float:
        """The learning rate of an iteration as a share of the method's `lr`."""
        return 1.0

    def loss(self, step: Step) -> Loss:
        """The loss of an iteration."""
        raise TypeError(f"{type(self).__name__} defines no loss")

    def losses(self, step: Step) -> Iterator[Loss]:
        """The losses of an iteration; the optimiser steps after each, before the next is made."""
        yield self.loss(step)

    def repeated(self, step: Step) -> Repeated | None:
        """The iteration as work that a GPU can record and replay, in place of `losses`; None where
        it is not the same work each time. Called once per iteration, since it draws. Of the loss
        `value` and `terms` are read, and `after` follows, as ever."""
        return None

    @property
    def at_one_rate(self) -> bool:
        """Whether every iteration has the method's `lr`: a recorded step keeps the one it had."""
        return type(self).rate is Model.rate

    def after(self, step: Step) -> None:
        """What follows the optimiser's steps of an iteration."""

    def outcome(self) -> Tensor | None:
        """What patience judges the state after the last iteration by, where that is known without
        another iteration; None: it is not judged, and the states before are."""
        return None

    def embed(self, step: Step) -> Embedding:
        """The embedding at the end. Called in eval mode and without gradients.

        Args:
            step: the last iteration, 1 for a model that was not trained.
        """
        raise TypeError(f"{type(self).__name__} defines no embedding")

    def evaluated(self, step: Step) -> Embedding:
        """What tasks read of `embed`: z and its geometry. Called on the way, in eval mode and
        without gradients; a model whose `embed` does more than that says how to do without."""
        return self.embed(step)


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of {value.dtype} and shape {tuple(value.shape)}"
    return type(value).__name__


def _stepped_with(model: Model, found: Any) -> Loss:
    """A loss that the optimiser can step with.

    Raises:
        TypeError: when it is something else.
    """
    where = f"{type(model).__qualname__}.loss"
    loss = Loss.of(found, where)
    if not loss.value.requires_grad:
        raise TypeError(
            f"{where} returned a value without a gradient, so there is nothing to train by; compute"
            " it from the model's parameters, not of .detach(), .item() or under no_grad()"
        )
    return loss


def train(
    model: Model,
    optimiser: torch.optim.Optimizer,
    watch: Watch,
    patience: int = 0,
    score: Callable[[Embedding], float] | None = None,
    course: int = 0,
) -> Embedding:
    """Trains a model and returns its embedding.

    Args:
        patience: iterations without a new lowest loss that end the training, which then goes back
            to the state of the lowest loss; 0 never ends it.
        score: of an embedding, larger is better. With it the training goes back to the state of the
            best score that `Choice` has seen, whatever ended it.
        course: iterations between two embeddings that are kept beside the returned one (`Course`);
            0 keeps none.

    Raises:
        Diverged, TimeLimit, Preempted: as `Watch` does.
        TypeError: when the model's losses or its embedding are something else.
    """
    # A module that an earlier loop has trained is in eval mode.
    model.train()
    waiting = Patience(patience, model)
    total, rate = model.iterations, optimiser.defaults["lr"]

    def evaluated(iterations: int) -> Embedding:
        found = model.evaluated(Step(max(1, iterations), total))
        return Embedding.of(found, f"{type(model).__qualname__}.embed")

    look = Look(model, model.state, evaluated)
    choice = None if score is None else Choice(model, look, score)
    passed = Course(course, look) if course else None
    own = {"optimiser": optimiser, "patience": waiting, "choice": choice, "course": passed}
    state = {"model": model, **own, **model.state}
    replay = replay_of(model, optimiser, patience)
    done = total
    whole: Tensor | float | None = None
    for iteration in watch.iterations(total, **state):
        step = Step(iteration, total)
        if whole is None and iteration > 1:  # as of an earlier attempt, whose loss is read back
            whole = watch.last_loss
        if choice is not None:
            choice.look(iteration - 1)
        if passed is not None:
            passed.pass_by(iteration - 1)
        for group in optimiser.param_groups:
            group["lr"] = rate * model.rate(step)
        noted: Tensor | float = 0.0
        terms: Mapping[str, Tensor] = {}
        over = False
        work = None if replay is None else model.repeated(step)
        with precision.products():
            if replay is not None and work is not None:
                noted, terms = replay(work)
            for given in model.losses(step) if work is None else ():
                loss = _stepped_with(model, given)
                value = loss.value.detach()
                noted, terms = noted + (value if loss.noted is None else loss.noted), loss.terms
                judged = value if loss.judged is None else loss.judged
                over = loss.final and waiting.spent(judged, iteration - 1)
                if over:
                    # Of an iteration of several steps that breaks off only a share is known.
                    if loss.noted is not None and whole is not None:
                        noted, terms = whole, {}
                    break
                optimiser.zero_grad(set_to_none=True)
                loss.value.backward()
                optimiser.step()
        watch(iteration, total, noted, terms)
        whole = noted
        if over:
            done = iteration - 1
            watch.leave()
            continue
        model.after(step)
    if patience and done == total and (judged_last := model.outcome()) is not None:
        waiting.spent(judged_last, done)
    replay = None  # its recordings hold the memory of a step each
    if passed is not None:
        passed.pass_by(done, last=True)
    kept: Patience | Choice = waiting
    reached = watch.reached
    if choice is not None:
        choice.look(done, last=True)
        # A strategy reports of the iteration whose state is kept: it may not have begun by then.
        (reached, _), kept = choice.best, choice
    kept.restore()
    model.eval()
    with torch.no_grad():
        found = model.embed(Step(max(1, reached), total))
        embedding = Embedding.of(found, f"{type(model).__qualname__}.embed")
    watch.trained(model, max(1, reached), total)
    findings = {**kept.findings(), **embedding.findings}
    remarks = [*kept.remarks(), *embedding.remarks]
    course_of = () if passed is None else passed.embeddings
    return replace(embedding, findings=findings, remarks=remarks, course=course_of)
