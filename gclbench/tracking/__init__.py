"""Runs shown in a tracker, such as TensorBoard, MLflow or Weights & Biases, besides their records.

Off by default: `tracking=NAME`.

A tracker is a display. Nothing is read from it, and a run's identity does not depend on it. It is
called from a thread of its own: what goes wrong in it, or takes too long, is logged once and does
not hold up the run.
"""

from __future__ import annotations

import abc
import importlib
import importlib.util
import logging
import math
import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from gclbench.component.registry import nearest
from gclbench.records import Record, RunSpec, flatten
from gclbench.training.watch import Reporter, on_curve

PATIENCE = 30.0
"""Seconds that a run waits at its end for its tracker."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Run:
    """What a tracker gets of a run before it begins.

    Attributes:
        id: of the run. name: for people, `dmat_i-cora-clustering-0`. settings: of its spec, flat:
            `method.lr` to value.
        folder: `<runs_dir>/<id>`, where its record will be. runs_dir: the store.
    """

    id: str
    name: str
    settings: Mapping[str, Any]
    folder: Path
    runs_dir: Path


class Tracker(abc.ABC):
    """One run in one tracker.

    Every method is called from the same thread, in this order, and may raise anything.

    Attributes:
        package: what must be importable. extra: which extra of gclbench brings it.
    """

    package: ClassVar[str]
    extra: ClassVar[str]

    @abc.abstractmethod
    def begin(self, run: Run) -> None:
        """The run begins, or goes on after it was preempted."""

    @abc.abstractmethod
    def losses(self, points: Sequence[tuple[int, float]]) -> None:
        """(iteration, loss) in order, a hundred in all: those that the record will hold."""

    @abc.abstractmethod
    def end(
        self, status: str, reason: str, metrics: Mapping[str, float], facts: Mapping[str, str]
    ) -> None:
        """The run ends: `status` is its record's, or `preempted` where it has none.

        Always the last call.

        Args:
            metrics: finite ones. facts: for people: device, commit, command and what else the
                record says in a line.
        """


TRACKERS = {
    "tensorboard": "gclbench.tracking.tensorboard:TensorBoard",
    "mlflow": "gclbench.tracking.mlflow:MLflow",
    "wandb": "gclbench.tracking.wandb:Wandb",
}
"""`tracking=NAME` to where the tracker is."""


def tracker(name: str) -> type[Tracker]:
    """The tracker called `name`; its package is not imported yet."""
    module, _, cls = TRACKERS[name].partition(":")
    return getattr(importlib.import_module(module), cls)


def absent(name: str) -> str:
    """What to tell a user whose tracker is not installed; empty where it is."""
    cls = tracker(name)
    if importlib.util.find_spec(cls.package) is not None:
        return ""
    return (
        f"tracking={name} needs the package {cls.package}, which is not installed:"
        f" pip install 'gclbench[{cls.extra}]'"
    )


def chosen(value: Any, errors: list[str], here: bool) -> str | None:
    """The tracker that `tracking=VALUE` names; notes what is wrong with it.

    Args:
        here: False where runs go elsewhere: whether its package is there is not known then.
    """
    if value is None:
        return None
    if not isinstance(value, str) or value not in TRACKERS:
        guess = nearest(str(value), [*TRACKERS])
        hint = f" Did you mean '{guess}'?" if guess else ""
        errors.append(f"tracking={value} must be null or one of {', '.join(TRACKERS)}.{hint}")
        return None
    missing = absent(value) if here else ""
    errors += [missing] if missing else []
    return value


class Tracking:
    """The trackers of runs that share a training.

    Args:
        name: a key of `TRACKERS`, or None for no tracker.
        runs_dir: the store. specs: of the runs.
        make: makes a tracker; by default the class that `name` stands for.
    """

    def __init__(
        self,
        name: str | None,
        runs_dir: Path,
        specs: Iterable[RunSpec],
        make: Callable[[], Tracker] | None = None,
    ):
        self._name = name
        self._make = make
        self._calls: queue.SimpleQueue[tuple[int, float] | _End] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        if name is not None and name not in _left_behind:
            self._runs = [_run(spec, runs_dir) for spec in specs]
            self._thread = threading.Thread(
                target=self._serve, name="gclbench-tracking", daemon=True
            )
            self._thread.start()

    def reporter(self, report: Reporter | None) -> Reporter | None:
        """A reporter that shows progress in the trackers and passes it on to `report`."""
        if self._thread is None:
            return report

        def heard(iteration: int, total: int, loss: float) -> None:
            if on_curve(iteration, total):
                self._calls.put((iteration, loss))
            if report is not None:
                report(iteration, total, loss)

        return heard

    def end(self, records: Iterable[Record], otherwise: str) -> None:
        """Shows how the runs ended, and waits a while for the trackers.

        Args:
            records: of the runs that have one. otherwise: status of the others.
        """
        if self._thread is None:
            return
        self._calls.put(_End({record.id: record for record in records}, otherwise))
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            _left_behind.add(str(self._name))
            log.warning(
                "tracking=%s has not answered for %g s and is off from here on; the runs are"
                " recorded and go on",
                self._name,
                PATIENCE,
            )
        self._thread = None

    def _serve(self) -> None:
        try:
            self._follow()
        except BaseException as error:  # whatever a tracker raises
            text = " ".join(f"{type(error).__name__}: {error}".split())
            log.warning(
                "tracking=%s failed and is off for this training, which goes on: %s",
                self._name,
                text,
            )

    def _follow(self) -> None:
        """The trackers' thread, from the beginning of the runs to their end."""
        trackers: list[Tracker] = []
        for run in self._runs:
            trackers.append(tracker(str(self._name))() if self._make is None else self._make())
            trackers[-1].begin(run)
        while True:
            points, end = self._waiting()
            for one in trackers if points else ():
                one.losses(points)
            if end is not None:
                for run, one in zip(self._runs, trackers, strict=True):
                    one.end(*end.of(run))
                return

    def _waiting(self) -> tuple[list[tuple[int, float]], _End | None]:
        """What has been said since the last time, at least one thing."""
        points: list[tuple[int, float]] = []
        call = self._calls.get()
        while not isinstance(call, _End):
            points.append(call)
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                return points, None
        return points, call


_left_behind: set[str] = set()
"""Trackers that did not answer; later runs of this process do not wait for them again."""


@dataclass(frozen=True)
class _End:
    """How runs ended: the records by id, and the status of those without."""

    records: Mapping[str, Record]
    otherwise: str

    def of(self, run: Run) -> tuple[str, str, dict[str, float], dict[str, str]]:
        """The arguments of `Tracker.end`."""
        record = self.records.get(run.id)
        if record is None:
            return self.otherwise, "", {}, {}
        facts = {
            "device": record.device,
            "commit": record.environment.get("commit", ""),
            "command": record.command,
            "created": record.created,
            **{f"seconds.{phase}": f"{seconds:g}" for phase, seconds in record.seconds.items()},
            **{f"memory.{kind}": str(value) for kind, value in record.memory.items()},
        }
        metrics = {name: value for name, value in record.metrics.items() if math.isfinite(value)}
        return record.status, record.reason, metrics, facts


def _run(spec: RunSpec, runs_dir: Path) -> Run:
    settings = flatten(
        {
            kind: value
            for kind, value in asdict(spec).items()
            if kind not in ("seed", "versions", "dataset_hash")
        }
    )
    name = "-".join(
        str(part["name"]) for part in (spec.method, spec.negatives, spec.dataset, spec.task)
    )
    settings["seed"] = spec.seed
    return Run(spec.id, f"{name}-{spec.seed}", settings, runs_dir / spec.id, runs_dir)
