"""An attempt at a unit, in whichever process: what is missing of it is run and recorded."""

from __future__ import annotations

import functools
import logging
from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from gclbench.component.own_files import OwnFileError
from gclbench.component.registry import RegistryConflict, files_of, redefinitions
from gclbench.launch.specification import specification
from gclbench.records import Record, RunSpec, Store, digest
from gclbench.run.ending import INTERRUPTED, Ending
from gclbench.run.unit import Unit

if TYPE_CHECKING:
    # Imported where they are needed: what only reads a sweep waits for neither torch nor Hydra.
    import threading

    from gclbench.config.validation import Experiment
    from gclbench.run.datasets import Loaded
    from gclbench.training.watch import Reporter

log = logging.getLogger(__name__)

PREEMPTED = "preempted"
"""The status that `perform` returns for a run that it left for a later attempt. Such a run has no
record."""

Statuses = dict[str, str]
"""Run id to status, for each run of a unit: one of `records.STATUSES`, or `PREEMPTED`."""


def fingerprint(record: Record | None) -> str:
    """16 hexadecimal digits that differ between two records of one run; empty for None."""
    return "" if record is None else digest(record.to_json())[:16]


def missing(unit: Unit, store: Store) -> tuple[int, ...]:
    """Places in `unit.ids` of the runs that are still to be done.

    These are runs that were interrupted, and runs that have not been recorded since the sweep was
    planned.
    """
    places = []
    for place, (run_id, replaced) in enumerate(zip(unit.ids, unit.replaces, strict=True)):
        record = store.read(run_id)
        worse = ended_worse(store, run_id, replaced)
        status = worse[0] if worse is not None else record.status if record is not None else ""
        as_it_was = worse is None and fingerprint(record) == replaced
        if record is None or status == "interrupted" or as_it_was:
            places.append(place)
    return tuple(places)


def ended_worse(store: Store, run_id: str, replaced: str) -> tuple[str, str] | None:
    """Status and reason of a repetition that ended worse than the ok record that it was to replace,
    which stays as it is; None where there was none.

    Args:
        replaced: fingerprint of that record; empty where a run was to replace none.
    """
    if not replaced or (attempt := store.attempt(run_id)) is None:
        return None
    return attempt if fingerprint(store.read(run_id)) == replaced else None


def perform(
    unit: Unit, runs_dir: str, report: Reporter | None = None, stop: threading.Event | None = None
) -> Statuses:
    """Runs what is missing of a unit and records it.

    Args:
        report: called with the training's progress.
        stop: once it is set, the training writes a checkpoint at its next iteration and ends. The
            runs that are missing then are `PREEMPTED`, and a later call goes on from the
            checkpoint.

    Returns:
        the status of every run of the unit, those recorded earlier included.

    Raises:
        KeyboardInterrupt: after the runs were recorded as interrupted.
        StoreError: when a record cannot be written.
    """
    from gclbench.config.validation import ConfigErrors

    store = Store(runs_dir)
    places = missing(unit, store)
    left = {unit.ids[place] for place in places}
    statuses = {
        run_id: PREEMPTED if run_id in left else status
        for run_id, status in _statuses(store, unit).items()
    }
    if places and not (stop is not None and stop.is_set()):
        try:
            experiment, specs = _composed(unit, places)
        except ConfigErrors as error:
            for text in error.errors:
                log.error("%s: %s", unit.title, text)
            return {**statuses, **dict.fromkeys(left, "failed")}
        try:
            for record in _run(unit, experiment, specs, store, report, stop):
                statuses[record.id] = record.status
        except KeyboardInterrupt:
            # The runner records the runs it was at. This is for a signal before or after them.
            for spec in specs.values():
                if store.read(spec.id) is None:
                    _ended(unit, spec, INTERRUPTED, store)
            raise
    return statuses


def _run(
    unit: Unit,
    experiment: Experiment,
    specs: dict[int, RunSpec],
    store: Store,
    report: Reporter | None,
    stop: threading.Event | None,
) -> list[Record]:
    """Loads the dataset and runs what is missing; the records that were written."""
    from gclbench.config.validation import find_device
    from gclbench.data.mirror import DataUnavailable
    from gclbench.graph import GraphError
    from gclbench.launch.running import announced
    from gclbench.machine.allocator import reusing_memory
    from gclbench.machine.threads import computing_with, threads_of
    from gclbench.run import runner
    from gclbench.tracking import Tracking
    from gclbench.training.watch import Preempted

    names = {unit.tasks[place]: spec for place, spec in specs.items()}
    wrong: list[str] = []
    device = find_device(unit.device, wrong)
    ending = Ending("failed", "; ".join(wrong)) if wrong else None
    try:
        loaded = _loaded(unit, experiment)
    except (DataUnavailable, GraphError) as error:
        found = Ending.of_loading(error)
        ending = replace(found, reason="; ".join([*wrong, found.reason]))
    if ending is not None:
        return [_ended(unit, spec, ending, store) for spec in specs.values()]
    left = replace(unit.only(specs), device=device)
    threads = threads_of(loaded.graph, unit.threads)
    tracking = Tracking(unit.tracking, store.root, names.values())
    records: list[Record] = []
    otherwise = "interrupted"
    try:
        with (
            announced(store, left.ids[0], unit.title, tracking.reporter(report)) as heard,
            computing_with(threads),
            reusing_memory(),
        ):
            records = runner.run(left, names, experiment.components, loaded, store, heard, stop)
    except Preempted as preempted:
        records, otherwise = preempted.records, PREEMPTED
    except KeyboardInterrupt:
        records = [record for spec in names.values() if (record := store.read(spec.id)) is not None]
        raise
    finally:
        tracking.end(records, otherwise)
    return records


def _statuses(store: Store, unit: Unit) -> Statuses:
    """How each run of a unit has ended; `PREEMPTED` where nothing is recorded."""
    found: Statuses = {}
    for run_id, replaced in zip(unit.ids, unit.replaces, strict=True):
        record, worse = store.read(run_id), ended_worse(store, run_id, replaced)
        status = PREEMPTED if record is None else record.status
        found[run_id] = status if worse is None else worse[0]
    return found


def give_up(unit: Unit, runs_dir: str, ending: Ending) -> Statuses:
    """Records the missing runs of a unit whose process is gone.

    Args:
        ending: what is known of how it ended.

    Returns:
        the status of every run of the unit.
    """
    from gclbench.config.validation import ConfigErrors
    from gclbench.launch.running import no_longer, running

    store = Store(runs_dir)
    for run_id in unit.ids:
        if running(store, run_id) is None:
            no_longer(store, run_id)
    places = missing(unit, store)
    if places:
        try:
            _, specs = _composed(unit, places)
        except ConfigErrors as error:
            # Without a specification there is no record. The sweep's other units go on.
            for text in error.errors:
                known = f"{ending.reason}; {ending.status} is not recorded"
                log.error("%s: %s: %s", unit.title, known, text)
            places, specs = (), {}
        for place in places:
            _ended(unit, specs[place], ending, store)
    found = _statuses(store, unit)
    return {key: ending.status if value == PREEMPTED else value for key, value in found.items()}


def composed(overrides: tuple[str, ...], tasks: tuple[str, ...]) -> Experiment:
    """The experiment of a unit.

    Raises:
        ConfigErrors: when it cannot be composed here.
    """
    # A class that a notebook defines anew is another one.
    return _composed_of(overrides, tasks, redefinitions())


@functools.lru_cache(maxsize=64)
def _composed_of(overrides: tuple[str, ...], tasks: tuple[str, ...], _: int) -> Experiment:
    from gclbench.config.validation import ConfigErrors, experiment_of

    try:
        return experiment_of([*overrides, f"task=[{','.join(tasks)}]"])
    except (OwnFileError, RegistryConflict) as error:
        raise ConfigErrors([str(error)]) from error


def _composed(unit: Unit, places: tuple[int, ...]) -> tuple[Experiment, dict[int, RunSpec]]:
    """The experiment, and the specs of the runs at `places`.

    Raises:
        ConfigErrors: when it cannot be composed here, or comes to other runs than where the sweep
            was planned.
    """
    from gclbench.config.validation import ConfigErrors

    experiment = composed(unit.overrides, unit.tasks)
    specs = {
        place: specification(experiment, unit.tasks[place], unit.seed, unit.dataset_hash)
        for place in places
    }
    for place, spec in specs.items():
        if spec.id != unit.ids[place]:
            raise ConfigErrors(
                [
                    f"{unit.tasks[place]} is run {spec.id} here and was {unit.ids[place]} when the"
                    " sweep was handed over: gclbench, its configs or a file of components have"
                    " changed since; hand the sweep over again"
                ]
            )
    return experiment, specs


def _loaded(unit: Unit, experiment: Experiment) -> Loaded:
    """The dataset.

    Raises:
        DataUnavailable, GraphError: when it cannot be had, or is another one than where the sweep
            was planned.
    """
    from gclbench.graph import GraphError
    from gclbench.run import datasets

    loaded = datasets.load(experiment.components.dataset)
    if loaded.graph.content_hash != unit.dataset_hash:
        raise GraphError(
            f"dataset '{unit.dataset}' has content {loaded.graph.content_hash[:16]} here, and had"
            f" {unit.dataset_hash[:16]} when the sweep was handed over; make the files the same"
            " (`gclbench data verify`), or hand the sweep over again"
        )
    return loaded


def _ended(unit: Unit, spec: RunSpec, ending: Ending, store: Store) -> Record:
    """Writes the record of a run that did not come to its end by itself."""
    from gclbench.machine.environment import versions

    record = Record(
        id=spec.id,
        spec=asdict(spec),
        status=ending.status,
        reason=ending.reason,
        traceback=ending.traceback,
        device=unit.device,
        environment=versions(),
        command=unit.command(unit.tasks[unit.ids.index(spec.id)], files_of(asdict(spec))),
        limits=unit.limits,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )
    store.write(record)
    return record
