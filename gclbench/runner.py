"""The pipeline: load, hide, filter, fit, evaluate, record.

A *job* is the runs of one seed whose tasks share an embedding: it is fitted once and evaluated for each.
"""

from __future__ import annotations

import contextlib
import functools
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

import torch
from torch_geometric.data import Data

from gclbench import environment
from gclbench.data.mirror import cache_folder
from gclbench.filters.cache import cached
from gclbench.graph import Embedding, Unsupported, with_features, without_labels
from gclbench.records import Record, RunSpec, Store
from gclbench.streams import Streams
from gclbench.watch import Diverged, Reporter, TimeLimit, Watch


@dataclass(frozen=True)
class Job:
    """What is run together.

    Attributes:
        specs: task name to the spec of its run.
        components: `filter`, `method` and `tasks` instances.
        command: task name to the command that repeats that run.
    """

    specs: dict[str, RunSpec]
    components: dict[str, Any]
    device: str
    time_limit: float | None
    command: dict[str, str]

    @property
    def seed(self) -> int:
        return next(iter(self.specs.values())).seed

    @property
    def title(self) -> str:
        spec = next(iter(self.specs.values()))
        return f"{spec.method['name']} · {spec.dataset['name']} · seed {spec.seed} · {', '.join(self.specs)}"


@dataclass(frozen=True)
class Loaded:
    """A dataset's graph and the seconds that loading it took."""

    graph: Data
    seconds: float


@functools.lru_cache(maxsize=1)
def load(dataset: Any) -> Loaded:
    """The dataset's graph; the last one loaded is kept, since the runs of a sweep share it."""
    started = time.perf_counter()
    graph = dataset.load()
    return Loaded(graph, time.perf_counter() - started)


def run(job: Job, loaded: Loaded, store: Store, report: Reporter | None = None) -> list[Record]:
    """Runs a job and records each of its tasks; whatever happens in one run is recorded, not raised.

    Args:
        loaded: the dataset. report: told of training progress.

    Raises:
        KeyboardInterrupt: after a signal; what was recorded stays.
        StoreError: when a record cannot be written.
    """
    graph = loaded.graph
    clock = _Clock(environment.PeakMemory(job.device), loaded.seconds)
    watch = Watch(report, job.time_limit)
    rng = Streams(job.seed)
    records: list[Record] = []
    facts: dict[str, Any] = {"repairs": list(graph.repairs)}
    embedding: Embedding | None = None
    failure: tuple[str, str, str] | None = None
    for name, spec in job.specs.items():
        task = job.components["tasks"][name]
        metrics: dict[str, float] = {}
        outcome = failure
        facts["split"] = {}
        try:
            if outcome is None:
                with clock.phase("split"):
                    split = task.split(graph, rng)
                facts["split"] = {} if split is None else {"protocol": split.protocol, "hash": split.hash}
                if embedding is None:
                    embedding = _embed(job, task, graph, split, rng, watch, clock, facts)
                with clock.phase("evaluate"):
                    metrics = task.evaluate(embedding, graph, split, rng)
                outcome = ("ok", "", "")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            outcome = _status(error)
            if embedding is None and not isinstance(error, Unsupported):
                failure = outcome
        status, reason, trace = outcome
        record = Record(
            id=spec.id,
            spec=asdict(spec),
            status=status,
            metrics=metrics,
            reason=reason,
            traceback=trace,
            seconds=clock.taken(),
            shared=["load", "filter", "fit"] if len(job.specs) > 1 else ["load"],
            memory=clock.memory.read(),
            device=environment.device_name(job.device),
            environment=environment.versions(),
            filter_report=facts.get("filter", {}),
            split=facts.get("split", {}),
            fit=watch.summary(),
            repairs=facts["repairs"],
            command=job.command[name],
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )
        store.write(record)
        records.append(record)
    return records


def _embed(
    job: Job, task: Any, graph: Data, split: Any, rng: Streams, watch: Watch, clock: _Clock, facts: dict[str, Any]
) -> Embedding:
    """Hide, filter, fit: the part that the job's tasks share."""
    spec = next(iter(job.specs.values()))
    with clock.phase("hide"):
        visible = task.hide(graph, split)
        method = job.components["method"]
        negatives = _negatives(spec, method, job.components["negatives"])
        # Only a method that declares that it needs labels sees those that the task reveals.
        labels = task.labels(graph, split) if method.needs_labels else torch.full((graph.num_nodes,), -1, dtype=torch.long)
    component = job.components["filter"]
    with clock.phase("filter"):
        if task.hides or spec.filter["name"] == "none":
            # A held-out graph differs for every seed: keeping its features would fill the disk for nothing.
            filtered, hit = component.apply(visible), False
        else:
            parameters = {**spec.filter, "version": component.version}
            filtered, hit = cached(component, parameters, visible, cache_folder() / "filtered")
    facts["filter"] = {**filtered.report, "cached": hit}
    seen = without_labels(with_features(visible, filtered.x)).to(job.device)
    with clock.phase("fit"):
        embedding = method.fit(seen, labels.to(job.device), rng, watch, **negatives)
        if job.device.startswith("cuda"):
            torch.cuda.synchronize(job.device)
    if not bool(torch.isfinite(embedding.z).all()):
        raise Diverged("the embedding holds NaN or infinite values; a smaller method.lr or a larger method.tau may help")
    return embedding


def _negatives(spec: RunSpec, method: Any, strategy: Any) -> dict[str, Any]:
    """The strategy as an argument of `fit`, for methods that take one.

    Raises:
        Unsupported: when a strategy was chosen for a method without negatives.
    """
    if getattr(method, "takes_negatives", False):
        return {"negatives": strategy}
    if spec.negatives["name"] != "uniform":
        reason = getattr(method, "no_negatives", "it contrasts no pairs of nodes")
        raise Unsupported(
            f"method={spec.method['name']} has no negatives for negatives={spec.negatives['name']} to weight: {reason}; "
            "try it with method=grace or method=dmat_i"
        )
    return {}


def _status(error: BaseException) -> tuple[str, str, str]:
    """(status, reason, traceback) of an exception."""
    if isinstance(error, Unsupported):
        return "unsupported", error.reason, ""
    if isinstance(error, Diverged):
        return "diverged", str(error), ""
    if isinstance(error, TimeLimit):
        return "timeout", str(error), ""
    text = f"{type(error).__name__}: {error}".partition("\n")[0]
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in str(error):
        return "oom", text, ""
    return "failed", text, traceback.format_exc()


class _Clock:
    """Wall-clock seconds per phase, and peak memory."""

    def __init__(self, memory: environment.PeakMemory, load_seconds: float):
        self.memory = memory
        self._seconds: dict[str, float] = {"load": load_seconds}

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - started

    def taken(self) -> dict[str, float]:
        """Seconds so far; `evaluate` starts again for the next task."""
        seconds = {name: round(value, 6) for name, value in self._seconds.items()}
        self._seconds.pop("evaluate", None)
        return seconds
