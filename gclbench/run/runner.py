"""A unit's runs: hide, filter, fit, evaluate, record."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gclbench.component.components import Components
from gclbench.component.settings import of_this_machine
from gclbench.embedding import Embedding
from gclbench.graph import Unsupported
from gclbench.machine import environment, precision
from gclbench.machine.limits import TimeLimit, alarm, memory_limit
from gclbench.records import Record, RunSpec, Store, digest
from gclbench.run.datasets import Loaded
from gclbench.run.ending import OK, Ending
from gclbench.run.pipeline import Pipeline
from gclbench.run.recorder import Recorder, Result
from gclbench.run.saving import kinds_of, trains_model
from gclbench.run.source_code import code_of
from gclbench.run.unit import Unit
from gclbench.tasks import judging
from gclbench.tasks.criteria import why_none
from gclbench.tasks.items import check_items
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.watch import Preempted, Reporter, Watch


def run(
    unit: Unit,
    specs: Mapping[str, RunSpec],
    components: Components,
    loaded: Loaded,
    store: Store,
    report: Reporter | None = None,
    stop: threading.Event | None = None,
) -> list[Record]:
    """Runs a unit's tasks and records each; whatever happens in a run is recorded, not raised.

    Args:
        unit: its device is one of this machine.
        specs: by task, of the runs to be done.
        loaded: the dataset, as `datasets.load` gives it.
        report: called with the training's progress.
        stop: once set, the training writes a checkpoint at its next iteration and ends.

    Raises:
        KeyboardInterrupt: after a signal. What was recorded stays; the other runs are recorded as
            interrupted.
        Preempted: after `stop`. It holds the records that were written; the other runs have none.
        StoreError: when a record cannot be written.
    """
    checkpoint = _checkpoint(unit, specs, components, store)
    folders = [store.path(spec.id).parent for spec in specs.values()]
    kept = trains_model(components.method) and any(
        "model" in kinds_of(folder, unit.save) for folder in folders
    )
    watch = Watch(report, unit.time_limit, checkpoint, stop, keeps_weights=kept)
    pipeline = Pipeline(
        components, next(iter(specs.values())), loaded, watch, unit.device, unit.precision
    )
    recorder = Recorder(unit, specs, pipeline, store)
    embedding: Embedding | list[Embedding] | None = None
    failure: Ending | None = None
    for name, spec in specs.items():
        task, result, shared = components.tasks[name], Result(ending=failure or OK), False
        try:
            if failure is None:
                with limited(unit.time_limit, unit.memory_limit):
                    check_items(name, task, unit.method, components.method, loaded.graph)
                    pipeline.check(task)
                    result.split = pipeline.split(task)
                    if embedding is None:
                        if checkpoint is not None:
                            # A later attempt begins at this run where those before it have ended.
                            checkpoint.move(_beside(store, spec))
                        visible, labels = pipeline.hide(task, result.split)
                        shared = True
                        seen = pipeline.filter(task, visible)
                        embedding = pipeline.fits(seen, labels)
                    elif checkpoint is not None:
                        checkpoint.move(_beside(store, spec))
                    found, data = pipeline.evaluate(task, embedding, result.split)
                    result.metrics, result.data = dict(found), data
                    result.degenerate = [*pipeline.collapsed, *found.degenerate]
                    result.floor = found.floor
                    if isinstance(embedding, Embedding):
                        result.embedding = embedding
                    elif unit.save or unit.criterion is not None:
                        result.remarks.append(judging.unkept(unit.method, name) + ".")
                    before = store.read(spec.id)
                    add_what_was_asked_besides(unit, task, embedding, pipeline, result, before)
        except KeyboardInterrupt:
            recorder.interrupt()
            raise
        except Preempted as preempted:
            preempted.records = recorder.records
            raise
        except BaseException as error:
            ending = Ending.of(error, components, stepped=watch.reached > 0)
            result = Result(split=result.split, ending=ending)
            if shared and embedding is None and not isinstance(error, Unsupported):
                failure = ending
        recorder.write(name, result)
    if checkpoint is not None and not (failure is not None and failure.status == "timeout"):
        checkpoint.remove()
    return recorder.records


def add_what_was_asked_besides(
    unit: Unit,
    task: Any,
    embedding: Embedding | list[Embedding],
    pipeline: Pipeline,
    result: Result,
    before: Record | None,
) -> None:
    """The course of the training and the criterion of a search. Neither is part of a run's id, so
    what they lack is a remark and no failure of the run.

    Args:
        before: the record that this one replaces, whose criteria stay those of the run: a search
            may have chosen by them.
    """
    try:
        if course := pipeline.course(task, embedding, result.split):
            result.data["course"] = [[iterations, found] for iterations, found in course]
    except Unsupported as error:
        result.data["course"] = []
        result.remarks.append(f"method.course keeps nothing for this task: {error}.")
    if not isinstance(embedding, Embedding):
        return
    asked = [] if unit.criterion is None else [unit.criterion]
    asked += [] if before is None else before.fit.get("criteria", {})
    for name in dict.fromkeys(asked):
        value, why = None, why_none(name, task)
        try:
            value = pipeline.criterion(name, task, embedding, result.split)
        except Unsupported as error:
            why = str(error)
        result.criteria[name] = value
        if value is None:
            result.remarks.append(f"criterion={name} has no value: {why}.")


@contextlib.contextmanager
def limited(time_limit: float | None, gib: float | None) -> Iterator[None]:
    """Holds the block to limits of time (seconds) and memory (GiB); None is no limit.

    A training looks at the time itself (`Watch`). What does not is ended by an alarm a little after
    the limit.

    Raises:
        MemoryLimit, TimeLimit: when one is passed.
    """
    late = None if time_limit is None else time_limit + max(1.0, 0.1 * time_limit)

    def error() -> TimeLimit:
        return TimeLimit(
            f"stopped after {late:.4g} s (time_limit={time_limit:g}); time_limit=SECONDS sets it"
        )

    with memory_limit(gib), alarm(late, error):
        yield


def _checkpoint(
    unit: Unit, specs: Mapping[str, RunSpec], components: Components, store: Store
) -> Checkpoint | None:
    """What the unit's training goes on from; None where it writes none.

    It lies beside the record of the first run. Its key is a digest of everything that the state
    of the training depends on.
    """
    if unit.checkpoint_every is None:
        return None
    name, spec = next(iter(specs.items()))
    what = asdict(spec)
    if not judging.of_one_task(components.method, components.tasks[name]):
        del what["task"], what["versions"]["protocol"]
    # All that the bits of a step depend on: a training that goes on elsewhere begins anew.
    computed = {
        **{
            name: version
            for name, version in environment.versions().items()
            if name not in ("python", "platform")
        },
        "device": environment.device_name(unit.device),
        "threads": str(environment.threads()),
        "instructions": environment.instructions(),
    }
    asked, negatives = unit.precision, spec.negatives["name"]
    products = precision.resolved(asked, spec.method, negatives, unit.device) or precision.FLOAT32
    parts = [components.method, components.filter, components.negatives, components.tasks[name]]
    key = digest([what, computed, products, of_this_machine(components.filter), code_of(parts)])
    return Checkpoint(_beside(store, spec), key, unit.checkpoint_every)


def _beside(store: Store, spec: RunSpec) -> Path:
    return store.path(spec.id).with_name("checkpoint.pt")
