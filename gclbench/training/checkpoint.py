"""A training's state on disk, from which it goes on bit for bit: modules, optimisers, random
generators, iteration, loss curve."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gclbench.machine.limits import TimeLimit
from gclbench.records import write_atomically

FORMAT = 2

log = logging.getLogger(__name__)


@dataclass
class Progress:
    """How far a training is.

    Attributes:
        loop: which of the method's loops it is in, from 0. total: iterations of that loop.
            iteration: those done.
        state: of that loop's objects by name, as `snapshot` gives it. finished: of the loops
            before, at their ends, `state` likewise, and `reached` and `loss` as in `Watch`.
        generators: where the process's own are (`global_generators`). reached, loss, curve: as in
            `Watch`.
        seconds: wall-clock of the training so far. resumed: how often it was taken up again.
    """

    loop: int
    total: int
    iteration: int
    state: dict[str, Any]
    finished: list[dict[str, Any]] = field(default_factory=list)
    generators: dict[str, Any] = field(default_factory=dict)
    reached: int = 0
    loss: float = float("nan")
    curve: list[list[float]] = field(default_factory=list)
    seconds: float = 0.0
    resumed: int = 0


class Checkpoint:
    """The file of one training.

    Args:
        path: where it is. key: what the training is; a file with another key is not taken up.
        every: seconds of wall-clock between two writings.
    """

    def __init__(self, path: Path, key: str, every: float):
        self.path = path
        self.key = key
        self.every = every

    def write(self, progress: Progress) -> None:
        """Writes it in one step.

        A place that cannot be written costs the checkpoint, with a warning, never the run.
        """
        import torch

        buffer = io.BytesIO()
        torch.save({"format": FORMAT, "key": self.key, **asdict_shallow(progress)}, buffer)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.path, buffer.getvalue())
        except OSError as error:
            log.warning(
                "the checkpoint %s cannot be written (%s); the run goes on without",
                self.path,
                error.strerror or error,
            )

    def read(self) -> Progress | None:
        """What was written, or None when there is nothing that this training can go on from (a
        warning says why)."""
        import torch

        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning(
                "the checkpoint %s cannot be read (%s); the training starts anew",
                self.path,
                error.strerror or error,
            )
            return None
        try:
            values = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
            found = values.pop("format"), values.pop("key")
            if found != (FORMAT, self.key):
                log.warning(
                    "the checkpoint %s is of another run, version, code, precision or features;"
                    " the training starts anew",
                    self.path,
                )
                return None
            return Progress(**values)
        except TimeLimit:
            raise
        except Exception as error:  # torch.load raises nearly anything on damaged bytes
            reason = str(error).partition("\n")[0]
            log.warning(
                "the checkpoint %s is damaged (%s); the training starts anew", self.path, reason
            )
            return None

    def move(self, path: Path) -> None:
        """Hands the file on to the next of the runs that share the training."""
        with contextlib.suppress(FileNotFoundError):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                os.replace(self.path, path)
            except FileNotFoundError:
                raise
            except OSError as error:
                log.warning(
                    "the checkpoint %s cannot be moved (%s)", self.path, error.strerror or error
                )
        self.path = path

    def remove(self) -> None:
        """The training is not taken up again."""
        with contextlib.suppress(OSError):
            self.path.unlink()


def asdict_shallow(progress: Progress) -> dict[str, Any]:
    """The fields without copying what they hold."""
    return {name: getattr(progress, name) for name in asdict(Progress(0, 0, 0, {}))}


def snapshot(objects: dict[str, Any], copy: bool = False) -> dict[str, Any]:
    """The state of a loop's objects, by name.

    Args:
        objects: modules, optimisers and others with `state_dict` and `load_state_dict`, tensors,
            generators of torch and NumPy; None stands for what a method does without at some
            settings.
        copy: whether it must not change with the objects any more.

    Raises:
        TypeError: for an object whose state a checkpoint cannot hold.
    """
    state = {name: _state(name, item) for name, item in objects.items() if item is not None}
    return _copied(state) if copy else state


def restore(objects: dict[str, Any], state: dict[str, Any]) -> None:
    """Puts objects into a state that `snapshot` gave.

    Raises:
        ValueError: when the state is not of these objects; they are as before then.
    """
    asked = {name for name, item in objects.items() if item is not None}
    if asked != set(state):
        raise ValueError(
            f"it holds {', '.join(sorted(state)) or 'nothing'}, and the training has"
            f" {', '.join(sorted(asked)) or 'nothing'}"
        )
    before = snapshot(objects, copy=True)
    try:
        for name in state:
            _put(objects[name], state[name])
    except TimeLimit:
        raise
    except Exception as error:
        for name in before:
            _put(objects[name], before[name])
        raise ValueError(str(error).partition("\n")[0]) from error


def _state(name: str, item: Any) -> Any:
    import numpy as np
    import torch

    if isinstance(item, torch.Generator):
        return item.get_state()
    if isinstance(item, np.random.Generator):
        return json.dumps(item.bit_generator.state, default=_plain_array)
    if isinstance(item, torch.Tensor):
        return item.detach()
    if hasattr(item, "state_dict") and hasattr(item, "load_state_dict"):
        return item.state_dict()
    raise TypeError(
        f"watch.iterations({name}=…): an item of type {type(item).__name__} has no state_dict and"
        " load_state_dict, so a checkpoint cannot hold it"
    )


def _plain_array(value: Any) -> Any:
    return value.tolist()


def _put(item: Any, state: Any) -> None:
    import numpy as np
    import torch

    if isinstance(item, torch.Generator):
        item.set_state(state)
    elif isinstance(item, np.random.Generator):
        item.bit_generator.state = json.loads(state)
    elif isinstance(item, torch.Tensor):
        if item.shape != state.shape:
            raise ValueError(
                f"a tensor of shape {tuple(state.shape)} stands where {tuple(item.shape)} is needed"
            )
        with torch.no_grad():
            item.copy_(state)
    else:
        item.load_state_dict(state)


def _copied(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(item) for item in value)
    return value
