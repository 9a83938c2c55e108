"""The pipeline: load, hide, filter, fit, evaluate, record.

A *job* is the runs of one seed whose tasks share an embedding: it is fitted once and evaluated for
each.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from gclbench.data.mirror import cache_folder
from gclbench.embedding import Embedding
from gclbench.filters.cache import cached, uncached
from gclbench.graph import Unsupported, with_features, without_labels
from gclbench.machine import environment
from gclbench.machine.limits import alarm, memory_limit
from gclbench.records import Record, RunSpec, Store, StoreError, digest
from gclbench.tasks.items import check_items
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.streams import Streams
from gclbench.training.watch import Diverged, Preempted, Reporter, TimeLimit, Watch

KEPT_BYTES = 1 << 30
"""Datasets are kept in memory for the runs that follow up to this size together; the last one
always."""


@dataclass(frozen=True)
class Job:
    """What is run together.

    Attributes:
        specs: task name to the spec of its run.
        components: `filter`, `method` and `tasks` instances.
        command: task name to the command that repeats that run.
        time_limit: seconds. memory_limit: GiB of the process. checkpoint_every: seconds. None of
            them: no limit, no checkpoint.
    """

    specs: dict[str, RunSpec]
    components: dict[str, Any]
    device: str
    time_limit: float | None
    command: dict[str, str]
    memory_limit: float | None = None
    checkpoint_every: float | None = None

    @property
    def seed(self) -> int:
        return next(iter(self.specs.values())).seed

    @property
    def title(self) -> str:
        spec = next(iter(self.specs.values()))
        return (
            f"{spec.method['name']} · {spec.dataset['name']} · seed {spec.seed} ·"
            f" {', '.join(self.specs)}"
        )


@dataclass(frozen=True)
class Loaded:
    """A dataset's graph and the seconds that loading it took."""

    graph: Data
    seconds: float


class _Datasets:
    """Loads datasets and keeps the latest ones, since the runs of a sweep share them."""

    def __init__(self) -> None:
        self._kept: dict[Any, Loaded] = {}

    def __call__(self, dataset: Any) -> Loaded:
        """The dataset's graph."""
        loaded = self._kept.pop(dataset, None)
        if loaded is None:
            started = time.perf_counter()
            graph = dataset.load()
            loaded = Loaded(graph, time.perf_counter() - started)
        self._kept[dataset] = loaded
        while (
            len(self._kept) > 1
            and sum(_bytes(kept.graph) for kept in self._kept.values()) > KEPT_BYTES
        ):
            self._kept.pop(next(iter(self._kept)))
        return loaded

    def cache_clear(self) -> None:
        """Forgets all of them."""
        self._kept.clear()


def _bytes(graph: Data) -> int:
    return sum(
        value.numel() * value.element_size()
        for _, value in graph
        if isinstance(value, torch.Tensor)
    )


load = _Datasets()


def run(
    job: Job,
    loaded: Loaded,
    store: Store,
    report: Reporter | None = None,
    stop: threading.Event | None = None,
) -> list[Record]:
    """Runs a job and records each of its tasks; whatever happens in one run is recorded, not
    raised.

    Args:
        loaded: the dataset. report: told of training progress.
        stop: once set, the training writes a checkpoint at its next iteration and ends.

    Raises:
        KeyboardInterrupt: after a signal; what was recorded stays, the other runs are recorded as
            interrupted.
        Preempted: after `stop`, holding the records that were written before; the others have none.
        StoreError: when a record cannot be written.
    """
    graph = loaded.graph
    clock = _Clock(environment.PeakMemory(job.device), loaded.seconds)
    checkpoint = _checkpoint(job, store)
    watch = Watch(report, job.time_limit, checkpoint, stop)
    rng = Streams(job.seed)
    records: list[Record] = []
    facts: dict[str, Any] = {"repairs": list(graph.repairs)}
    embedding: Embedding | None = None
    failure: tuple[str, str, str] | None = None

    def ended(name: str, metrics: dict[str, float], outcome: tuple[str, str, str]) -> None:
        records.append(_record(job, name, metrics, outcome, clock, watch, facts))
        store.write(records[-1])

    for name in job.specs:
        task = job.components["tasks"][name]
        metrics: dict[str, float] = {}
        outcome = failure
        facts["split"], facts["data"] = {}, {}
        try:
            if outcome is None:
                check_items(name, task, graph)
                with memory_limit(job.memory_limit), _time_limit(job):
                    with clock.phase("split"):
                        split = task.split(graph, rng)
                    facts["split"] = (
                        {} if split is None else {"protocol": split.protocol, "hash": split.hash}
                    )
                    if embedding is None:
                        embedding = _embed(job, task, graph, split, rng, watch, clock, facts)
                    elif checkpoint is not None:
                        checkpoint.move(_beside(store, job.specs[name]))
                    with clock.phase("evaluate"):
                        metrics = task.evaluate(embedding, graph, split, rng)
                        if hasattr(task, "data"):
                            facts["data"] = task.data(embedding, graph, split, rng)
                outcome = ("ok", "", "")
        except KeyboardInterrupt:
            with contextlib.suppress(StoreError):
                for left in list(job.specs)[len(records) :]:
                    ended(
                        left,
                        {},
                        ("interrupted", "the run was interrupted; the same command repeats it", ""),
                    )
            raise
        except Preempted as preempted:
            preempted.records = records
            raise
        except BaseException as error:
            outcome = _status(error, job.components, watch.reached > 0)
            if embedding is None and not isinstance(error, Unsupported):
                failure = outcome
        ended(name, metrics, outcome)
    if checkpoint is not None and not (failure is not None and failure[0] == "timeout"):
        checkpoint.remove()
    return records


def _record(
    job: Job,
    name: str,
    metrics: dict[str, float],
    outcome: tuple[str, str, str],
    clock: _Clock,
    watch: Watch,
    facts: dict[str, Any],
) -> Record:
    """The record of one task's run."""
    status, reason, trace = outcome
    limits = {"time": job.time_limit, "memory": job.memory_limit}
    return Record(
        id=job.specs[name].id,
        spec=asdict(job.specs[name]),
        status=status,
        metrics=metrics,
        reason=reason,
        traceback=trace,
        seconds=clock.taken(watch.earlier_seconds),
        shared=["load", "filter", "fit"] if len(job.specs) > 1 else ["load"],
        memory=clock.memory.read(),
        device=environment.device_name(job.device),
        environment=environment.versions(),
        filter_report=facts.get("filter", {}),
        split=facts.get("split", {}),
        fit={**watch.summary(), **facts.get("fit", {})},
        repairs=facts["repairs"],
        limits={kind: limit for kind, limit in limits.items() if limit is not None},
        data=facts.get("data", {}) if status == "ok" else {},
        command=job.command[name],
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


def _checkpoint(job: Job, store: Store) -> Checkpoint | None:
    """Where the job's training goes on from: beside the record of its first run, known by all that
    its state depends on."""
    if job.checkpoint_every is None:
        return None
    name, spec = next(iter(job.specs.items()))
    what = asdict(spec)
    if not (job.components["tasks"][name].hides or job.components["method"].needs_labels):
        del what["task"], what["versions"]["protocol"]
    versions = {key: environment.versions()[key] for key in ("gclbench", "commit", "torch")}
    return Checkpoint(
        _beside(store, spec),
        digest([what, versions, job.device.partition(":")[0]]),
        job.checkpoint_every,
    )


def _beside(store: Store, spec: RunSpec) -> Path:
    return store.path(spec.id).with_name("checkpoint.pt")


@contextlib.contextmanager
def _time_limit(job: Job) -> Iterator[None]:
    """Ends what does not look at the time itself, as `Watch` does for trainings, a little after the
    limit."""
    limit = job.time_limit
    late = None if limit is None else limit + max(1.0, 0.1 * limit)
    with alarm(
        late,
        lambda: TimeLimit(
            f"stopped after {late:.4g} s (time_limit={limit:g}); time_limit=SECONDS sets it"
        ),
    ):
        yield


def _embed(
    job: Job,
    task: Any,
    graph: Data,
    split: Any,
    rng: Streams,
    watch: Watch,
    clock: _Clock,
    facts: dict[str, Any],
) -> Embedding:
    """Hide, filter, fit: the part that the job's tasks share."""
    spec = next(iter(job.specs.values()))
    with clock.phase("hide"):
        visible = task.hide(graph, split)
        method = job.components["method"]
        negatives = _negatives(spec, method, job.components["negatives"])
        # Only a method that declares that it needs labels sees those that the task reveals.
        labels = (
            task.labels(graph, split)
            if method.needs_labels
            else torch.full((graph.items,), -1, dtype=torch.long)
        )
    component, folder = job.components["filter"], cache_folder() / "filtered"
    with clock.phase("filter"):
        if task.hides or spec.filter["name"] == "none":
            # A held-out graph differs for every seed: keeping its features would fill the disk for
            # nothing.
            filtered, hit = uncached(component, visible, folder, job.device), False
        else:
            parameters = {**spec.filter, "version": component.version}
            filtered, hit = cached(component, parameters, visible, folder, job.device)
    facts["filter"] = {**filtered.report, "cached": hit}
    seen = without_labels(with_features(visible, filtered.x)).to(job.device)
    with clock.phase("fit"):
        embedding = method.fit(seen, labels.to(job.device), rng, watch, **negatives)
        if job.device.startswith("cuda"):
            torch.cuda.synchronize(job.device)
    if not isinstance(embedding, Embedding):
        raise TypeError(
            f"{type(method).__qualname__}.fit must return Embedding(z), and returned"
            f" {type(embedding).__name__}"
        )
    if not bool(torch.isfinite(embedding.z).all()):
        raise Diverged("the embedding holds NaN or infinite values")
    if watch.reached:
        cosine = (
            {} if embedding.contrast is None else {"mean_cosine": embedding.contrast.mean_cosine()}
        )
        facts["fit"] = {**cosine, **embedding.findings, "remarks": list(embedding.remarks)}
    return embedding


def refusal(method: Any, method_name: str, strategy_name: str) -> str | None:
    """Why that method takes no such strategy, as a sentence; None where it does, or where none but
    the plain negatives are asked for.

    Args:
        method: its settings, which may decide (MVGRL's objective).
    """
    if strategy_name == "uniform" or getattr(method, "takes_negatives", False):
        return None
    reason = getattr(method, "no_negatives", "it contrasts no pairs of nodes")
    return (
        f"method={method_name} has no negatives for negatives={strategy_name} to weight: {reason}; "
        "try it with method=grace or method=dmat_i"
    )


def _negatives(spec: RunSpec, method: Any, strategy: Any) -> dict[str, Any]:
    """The strategy as an argument of `fit`, for methods that take one.

    Raises:
        Unsupported: when a strategy was chosen for a method without negatives.
    """
    reason = refusal(method, spec.method["name"], spec.negatives["name"])
    if reason is not None:
        raise Unsupported(reason)
    return {"negatives": strategy} if getattr(method, "takes_negatives", False) else {}


def _status(
    error: BaseException, components: Mapping[str, Any], stepped: bool
) -> tuple[str, str, str]:
    """(status, reason, traceback) of an exception.

    Args:
        stepped: the training made a step before it.
    """
    if isinstance(error, Unsupported):
        return "unsupported", error.reason, ""
    if isinstance(error, Diverged):
        return "diverged", f"{error}{_steadier(components, stepped)}", ""
    if isinstance(error, TimeLimit):
        return "timeout", str(error), ""
    text = f"{type(error).__name__}: {error}".partition("\n")[0]
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in str(
        error
    ):
        return "oom", text, ""
    return "failed", text, traceback.format_exc()


def _steadier(components: Mapping[str, Any], stepped: bool) -> str:
    """Which settings that are in use may keep a loss finite, as the end of a sentence."""
    method, strategy = components["method"], components["negatives"]
    rates = ["method.lr"] * (stepped and hasattr(method, "lr"))
    learns = hasattr(strategy, "lr") and getattr(strategy, "learns", True)
    rates += ["negatives.lr"] * (learns and getattr(method, "takes_negatives", False))
    advice = [f"a smaller {' or '.join(rates)}"] * bool(rates)
    # A method that says that it takes no negatives (MVGRL against a summary) reads no temperature
    # either.
    advice += ["a larger method.tau"] * (
        hasattr(method, "tau") and getattr(method, "takes_negatives", True)
    )
    return f"; {' or '.join(advice)} may help" if advice else ""


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

    def taken(self, earlier_fit: float) -> dict[str, float]:
        """Seconds so far, those of a resumed training's earlier attempts included; `evaluate`
        starts again for the next task."""
        seconds = {
            name: round(value + (earlier_fit if name == "fit" else 0), 6)
            for name, value in self._seconds.items()
        }
        self._seconds.pop("evaluate", None)
        return seconds
