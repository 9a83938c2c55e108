"""The unit of work that is handed to a worker, a Slurm job or a Ray task: one training, evaluated
for each of its tasks."""

from __future__ import annotations

import functools
import logging
import shlex
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from gclbench.records import Record, RunSpec, Store, digest

if TYPE_CHECKING:
    # Imported where they are needed: whoever only reads a sweep waits for neither torch nor Hydra.
    import threading

    from gclbench.config.validation import Experiment
    from gclbench.run.runner import Loaded
    from gclbench.training.watch import Reporter

log = logging.getLogger(__name__)

PREEMPTED = "preempted"
"""The status that `perform` returns for runs that it left for a later attempt; nothing is recorded
for them."""

INTERRUPTED = "the run was interrupted; the same command repeats it"

Outcome = list[tuple[str, str]]
"""(run id, status) of each run of a unit; the status is one of `records.STATUSES` or
`PREEMPTED`."""


@dataclass(frozen=True)
class Unit:
    """Runs of one seed whose tasks share an embedding; plain values only, so that it travels as
    JSON.

    Attributes:
        method, dataset: names, for people.
        overrides: what composes the experiment, without seeds, task, runs_dir, limits and launcher.
        seed: of all its runs. tasks: names. ids: run ids, one per task.
        dataset_hash: content hash of the dataset where the sweep was expanded.
        replaces: per run the `fingerprint` of the record that is to be replaced, empty where there
            is none. A run whose record is another one when the unit's turn comes has been done
            meanwhile.
        device: `auto`, `cpu`, `cuda` or `cuda:1`, looked up where the unit runs.
        time_limit: seconds. memory_limit: GiB. checkpoint_every: seconds. None of them: no limit,
            no checkpoint.
        threads: of torch; None leaves them as they are.
        tracking: name of the tracker that is told of the runs, or None.
    """

    method: str
    dataset: str
    overrides: tuple[str, ...]
    seed: int
    tasks: tuple[str, ...]
    ids: tuple[str, ...]
    dataset_hash: str
    replaces: tuple[str, ...]
    device: str = "auto"
    time_limit: float | None = None
    memory_limit: float | None = None
    checkpoint_every: float | None = None
    threads: int | None = None
    tracking: str | None = None

    @property
    def title(self) -> str:
        return f"{self.method} · {self.dataset} · seed {self.seed} · {', '.join(self.tasks)}"

    def command(self, task: str) -> str:
        """What repeats one of its runs in a shell."""
        own = [
            text
            for text in self.overrides
            if not text.lstrip("+").startswith("task.") or _of_task(text, task)
        ]
        return shlex.join(["gclbench", *own, f"task={task}", f"seeds=[{self.seed}]"])

    def plain(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
        }

    @classmethod
    def from_plain(cls, values: dict[str, Any]) -> Unit:
        """The unit of `plain` values; unknown keys, of a newer version, are left out.

        Raises:
            ValueError: when a field is missing.
        """
        known = {field.name for field in fields(cls)}
        given: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in values.items()
            if key in known
        }
        try:
            return cls(**given)
        except TypeError as error:
            raise ValueError(f"not a unit of work: {error}") from error


def _of_task(override: str, task: str) -> bool:
    return override.lstrip("+").startswith(f"task.{task}.")


def specification(experiment: Experiment, task: str, seed: int, dataset_hash: str) -> RunSpec:
    """What one run of an experiment is."""
    settings, components = experiment.settings, experiment.components
    versions = {
        "protocol": components["tasks"][task].version,
        "method": components["method"].version,
        "filter": components["filter"].version,
    }
    if settings["negatives"]["name"] != "uniform":
        # Plain negatives are no strategy: ids of records from before there were strategies stay.
        versions["negatives"] = components["negatives"].version
    return RunSpec(
        dataset=settings["dataset"],
        filter=settings["filter"],
        method=settings["method"],
        negatives=settings["negatives"],
        task=settings["tasks"][task],
        seed=seed,
        versions=versions,
        dataset_hash=dataset_hash,
    )


def fingerprint(record: Record | None) -> str:
    """16 hexadecimal digits that tell one record of a run from another; empty for None."""
    return "" if record is None else digest(record.to_json())[:16]


def missing(unit: Unit, store: Store) -> tuple[int, ...]:
    """Places in `unit.ids` of the runs that are still to be done: not recorded since the sweep was
    expanded, or interrupted."""
    places = []
    for place, (run_id, replaced) in enumerate(zip(unit.ids, unit.replaces, strict=True)):
        record = store.read(run_id)
        if record is None or record.status == "interrupted" or fingerprint(record) == replaced:
            places.append(place)
    return tuple(places)


def perform(
    unit: Unit, runs_dir: str, report: Reporter | None = None, stop: threading.Event | None = None
) -> Outcome:
    """Runs what is missing of a unit, in whichever process, and records it.

    Args:
        report: told of training progress.
        stop: once it is set, the training writes a checkpoint at its next iteration and ends; the
            runs that are missing then are returned as `PREEMPTED`, without a record, and a later
            call goes on from the checkpoint.

    Returns:
        one (id, status) per run of the unit, those recorded earlier included.

    Raises:
        KeyboardInterrupt: after the runs were recorded as interrupted.
        StoreError: when a record cannot be written.
    """
    from gclbench.config.validation import ConfigErrors

    store = Store(runs_dir)
    places = missing(unit, store)
    left = {unit.ids[place] for place in places}
    outcome = {
        run_id: PREEMPTED if run_id in left else _status(store, run_id) for run_id in unit.ids
    }
    if places and not (stop is not None and stop.is_set()):
        try:
            experiment, specs = _composed(unit, places)
        except ConfigErrors as error:
            for text in error.errors:
                log.error("%s: %s", unit.title, text)
            return [
                (run_id, "failed" if run_id in left else status)
                for run_id, status in outcome.items()
            ]
        try:
            for record in _run(unit, experiment, specs, store, report, stop):
                outcome[record.id] = record.status
        except KeyboardInterrupt:
            # The runner records what it was at; this is for a signal before or after.
            for spec in specs.values():
                if store.read(spec.id) is None:
                    _ended(unit, spec, "interrupted", INTERRUPTED, store)
            raise
    return list(outcome.items())


def _run(
    unit: Unit,
    experiment: Experiment,
    specs: dict[int, RunSpec],
    store: Store,
    report: Reporter | None,
    stop: threading.Event | None,
) -> list[Record]:
    """Loads the dataset and runs what is missing; the records that were written."""
    import torch

    from gclbench.config.validation import find_device
    from gclbench.data.mirror import DataUnavailable
    from gclbench.graph import GraphError
    from gclbench.launch.running import announced
    from gclbench.run.runner import Job, run
    from gclbench.tracking import Tracking
    from gclbench.training.watch import Preempted

    names = {unit.tasks[place]: spec for place, spec in specs.items()}
    wrong: list[str] = []
    device = find_device(unit.device, wrong)
    try:
        loaded = _loaded(unit, experiment)
    except (DataUnavailable, GraphError) as error:
        wrong.append(str(error))
    if wrong:
        return [_ended(unit, spec, "failed", "; ".join(wrong), store) for spec in specs.values()]
    if unit.threads is not None:
        torch.set_num_threads(unit.threads)
    job = Job(
        specs=names,
        components=experiment.components,
        device=device,
        time_limit=unit.time_limit,
        command={name: unit.command(name) for name in names},
        memory_limit=unit.memory_limit,
        checkpoint_every=unit.checkpoint_every,
    )
    tracking = Tracking(unit.tracking, store.root, names.values())
    records: list[Record] = []
    otherwise = "interrupted"
    try:
        with announced(
            store, next(iter(names.values())).id, unit.title, tracking.hearing(report)
        ) as heard:
            records = run(job, loaded, store, heard, stop)
    except Preempted as preempted:
        records, otherwise = preempted.records, PREEMPTED
    except KeyboardInterrupt:
        records = [record for spec in names.values() if (record := store.read(spec.id)) is not None]
        raise
    finally:
        tracking.end(records, otherwise)
    return records


def _status(store: Store, run_id: str) -> str:
    record = store.read(run_id)
    return PREEMPTED if record is None else record.status


def give_up(unit: Unit, runs_dir: str, status: str, reason: str) -> Outcome:
    """Records the missing runs of a unit whose process is gone: `oom`, `timeout`, `failed` or
    `interrupted`, with what is known."""
    from gclbench.config.validation import ConfigErrors

    store = Store(runs_dir)
    places = missing(unit, store)
    if places:
        try:
            _, specs = _composed(unit, places)
        except ConfigErrors as error:
            # Without a specification there is no record; the sweep's other units are no matter of
            # this.
            for text in error.errors:
                log.error("%s: %s; %s is not recorded: %s", unit.title, reason, status, text)
            places, specs = (), {}
        for place in places:
            _ended(unit, specs[place], status, reason, store)
    records = [(run_id, store.read(run_id)) for run_id in unit.ids]
    return [(run_id, status if record is None else record.status) for run_id, record in records]


@functools.lru_cache(maxsize=64)
def _experiment(overrides: tuple[str, ...], tasks: tuple[str, ...]) -> Experiment:
    from gclbench.config.validation import load

    return load([*overrides, f"task=[{','.join(tasks)}]"])


def _composed(unit: Unit, places: tuple[int, ...]) -> tuple[Experiment, dict[int, RunSpec]]:
    """The experiment, and the specs of the runs at `places`.

    Raises:
        ConfigErrors: when it cannot be composed here, or comes to other runs than where the sweep
            was expanded.
    """
    from gclbench.config.validation import ConfigErrors

    experiment = _experiment(unit.overrides, unit.tasks)
    specs = {
        place: specification(experiment, unit.tasks[place], unit.seed, unit.dataset_hash)
        for place in places
    }
    for place, spec in specs.items():
        if spec.id != unit.ids[place]:
            raise ConfigErrors(
                [
                    f"{unit.tasks[place]} is run {spec.id} here and was {unit.ids[place]} when the"
                    " sweep was handed over: gclbench or its configs have changed since; hand the"
                    " sweep over again"
                ]
            )
    return experiment, specs


def _loaded(unit: Unit, experiment: Experiment) -> Loaded:
    from gclbench.graph import GraphError
    from gclbench.run.runner import load

    loaded = load(experiment.components["dataset"])
    if loaded.graph.content_hash != unit.dataset_hash:
        raise GraphError(
            f"dataset '{unit.dataset}' has content {loaded.graph.content_hash[:16]} here, and had"
            f" {unit.dataset_hash[:16]} when the sweep was handed over; make the files the same"
            " (`gclbench data verify`), or hand the sweep over again"
        )
    return loaded


def _ended(unit: Unit, spec: RunSpec, status: str, reason: str, store: Store) -> Record:
    """Writes the record of a run that did not come to its end by itself."""
    from gclbench.machine.environment import versions

    record = Record(
        id=spec.id,
        spec=asdict(spec),
        status=status,
        reason=reason,
        device=unit.device,
        environment=versions(),
        command=unit.command(unit.tasks[unit.ids.index(spec.id)]),
        limits={
            key: value
            for key, value in (("time", unit.time_limit), ("memory", unit.memory_limit))
            if value is not None
        },
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )
    store.write(record)
    return record
