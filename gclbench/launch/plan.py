"""From experiments to units of work, and which of their runs are recorded already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from gclbench.config.composition import items_of_dataset
from gclbench.config.validation import Experiment
from gclbench.data.mirror import DataUnavailable
from gclbench.graph import GraphError
from gclbench.launch.attempt import fingerprint
from gclbench.launch.specification import specification
from gclbench.negatives.refusal import refusal
from gclbench.records import NAMED_BY_USER, Record, Store, id_of
from gclbench.run import datasets
from gclbench.run.estimate import cost_key
from gclbench.run.saving import lacking, trains_model
from gclbench.run.source_code import outside_code_of_run
from gclbench.run.unit import Unit
from gclbench.tasks import judging
from gclbench.tasks.items import kind_refusal

MENDED_BY_A_LARGER_LIMIT = {"timeout": "time", "oom": "memory"}
"""Status to the limit that may have caused it."""


@dataclass
class Plan:
    """What experiments amount to.

    Attributes:
        units: in the order of the experiments and their seeds, only with runs that are to be done.
        ids: of every run, in order. done: the records of those that are recorded, by run id,
            without loss curves.
        unavailable: one sentence per dataset that cannot be had; its runs are left out.
        incomplete: how many of those recorded lack what `save`, `criterion` or `method.course` asks
            for.
        unkept: of all runs, how many `save` and `criterion` do nothing for, by reason.
        refused: of the runs to be done, how many will be recorded as unsupported, by reason.
        other_names: of those recorded, how many have the graph under another name, by that name.
        other_code: of those recorded, how many are of other code of somebody's own components than
            they have now, by the name of the method.
    """

    units: list[Unit] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    done: dict[str, Record] = field(default_factory=dict)
    unavailable: list[str] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    unkept: dict[str, int] = field(default_factory=dict)
    incomplete: int = 0
    other_names: dict[str, int] = field(default_factory=dict)
    other_code: dict[str, int] = field(default_factory=dict)


def content_hash(dataset: Any) -> str:
    """The hash of a dataset's graph, which is part of its runs' identity."""
    return datasets.load(dataset).graph.content_hash


def expand(
    experiments: Iterable[Experiment],
    store: Store,
    content_hash: Callable[[Any], str] = content_hash,
) -> Plan:
    """Seeds × tasks of every experiment; tasks that share an embedding are one unit; what is
    recorded is left out of the units.

    The store's root is listed once, and of runs that have no folder no file is looked for. A run
    that several experiments name is taken once.
    """
    plan = Plan()
    present = store.ids()
    known: set[str] = set()
    hashes: dict[Any, str | None] = {}
    named: dict[tuple[str, str], list[set[str]]] = {}
    for experiment in experiments:
        dataset = experiment.components.dataset
        if dataset not in hashes:
            try:
                hashes[dataset] = content_hash(dataset)
            except (DataUnavailable, GraphError) as error:
                hashes[dataset] = None
                plan.unavailable.append(str(error))
        found = hashes[dataset]
        if found is not None:
            _expand(experiment, found, store, present, known, plan)
            named.setdefault(_names(experiment), []).append({*experiment.overrides})
    shared = {names: set.intersection(*several) for names, several in named.items()}
    plan.units = [
        replace(unit, apart=tuple(text for text in unit.overrides if text not in common))
        for unit in plan.units
        for common in [shared[unit.method, unit.dataset]]
    ]
    return plan


def _names(experiment: Experiment) -> tuple[str, str]:
    """Of the method and the dataset."""
    return experiment.settings["method"]["name"], experiment.settings["dataset"]["name"]


def _expand(
    experiment: Experiment,
    dataset_hash: str,
    store: Store,
    present: set[str],
    known: set[str],
    plan: Plan,
) -> None:
    """Adds the runs of one experiment."""
    tasks = chosen_tasks(experiment)
    plain = {name: asdict(specification(experiment, name, 0, dataset_hash)) for name in tasks}
    names = {kind: experiment.settings[kind]["name"] for kind in ("dataset", "method", "negatives")}
    method = experiment.components.method
    code = {name: outside_code_of_run(experiment.components, each) for name, each in tasks.items()}
    refused = refusal(method, names["method"], names["negatives"], experiment.components.negatives)
    # A graph of one's own has a name of one's own.
    registered = experiment.settings["dataset"].get(NAMED_BY_USER, names["dataset"])
    items = items_of_dataset(registered)
    reasons = {
        name: kind_refusal(name, task, names["method"], method, names["dataset"], items)
        or refused
        or judging.unlabelled(names["method"], method, name, task)
        or judging.refusal(method, task)
        for name, task in tasks.items()
    }
    asked = bool(experiment.save or experiment.criterion)
    unkept = {
        name: judging.unkept(names["method"], name)
        for name, task in tasks.items()
        if asked and judging.per_fold(method, task)
    }
    no_model = "model" in experiment.save and not trains_model(method)
    groups: dict[str, list[str]] = {}
    for name, task in tasks.items():
        apart = judging.of_one_task(method, task)
        groups.setdefault(name if apart else "shared", []).append(name)
    for seed in experiment.seeds:
        # As RunSpec.id, without copying the settings for every seed.
        ids = {name: id_of({**values, "seed": seed}) for name, values in plain.items()}
        replaces: dict[str, str] = {}
        for name, run_id in ids.items():
            if run_id in known:
                continue
            known.add(run_id)
            plan.ids.append(run_id)
            record = store.read(run_id) if run_id in present else None
            keeps = name not in unkept
            lacks = keeps and record is not None and _lacks(experiment, record, store)
            if keeps and no_model:
                why = f"method={names['method']} trains no model that save= could keep"
                plan.unkept[why] = plan.unkept.get(why, 0) + 1
            if not keeps:
                plan.unkept[unkept[name]] = plan.unkept.get(unkept[name], 0) + 1
            if record is not None and not _repeats(experiment, record, lacks):
                plan.incomplete += lacks
                other = record.name("dataset")
                if other != names["dataset"]:
                    plan.other_names[other] = plan.other_names.get(other, 0) + 1
                if code[name] != record.environment.get("code", code[name]):
                    plan.other_code[names["method"]] = plan.other_code.get(names["method"], 0) + 1
                # Thousands of loss curves would cost more than all the rest, and are not needed
                # here.
                plan.done[run_id] = replace(
                    record,
                    spec=_named(record.spec, experiment.settings["dataset"]),
                    fit={key: value for key, value in record.fit.items() if key != "curve"},
                )
            else:
                replaces[name] = fingerprint(record)
        for group in groups.values():
            left = tuple(name for name in group if name in replaces)
            if left:
                plan.units.append(_unit(experiment, seed, left, ids, replaces, dataset_hash))
                for reason in filter(None, (reasons[name] for name in left)):
                    plan.refused[reason] = plan.refused.get(reason, 0) + 1


def chosen_tasks(experiment: Experiment) -> dict[str, Any]:
    """The tasks that are run: a method that learns from labels makes sense only where a task
    reveals some, unless the command named others."""
    tasks = experiment.components.tasks
    if experiment.components.method.needs_labels and not experiment.tasks_chosen:
        return {name: task for name, task in tasks.items() if name in judging.REVEALING.values()}
    return dict(tasks)


def _unit(
    experiment: Experiment,
    seed: int,
    tasks: tuple[str, ...],
    ids: dict[str, str],
    replaces: dict[str, str],
    dataset_hash: str,
) -> Unit:
    prefixes = tuple(f"task.{name}." for name in tasks)
    return Unit(
        method=experiment.settings["method"]["name"],
        dataset=experiment.settings["dataset"]["name"],
        # Settings of other tasks would be of no task that is chosen.
        overrides=tuple(
            text
            for text in experiment.overrides
            if not text.lstrip("+").startswith("task.") or text.lstrip("+").startswith(prefixes)
        ),
        seed=seed,
        tasks=tasks,
        ids=tuple(ids[name] for name in tasks),
        dataset_hash=dataset_hash,
        replaces=tuple(replaces[name] for name in tasks),
        device=experiment.device,
        time_limit=experiment.time_limit,
        memory_limit=experiment.memory_limit,
        checkpoint_every=experiment.checkpoint_every,
        threads=experiment.threads,
        precision=experiment.precision,
        tracking=experiment.tracking,
        epochs=experiment.settings["method"].get("epochs"),
        save=experiment.save,
        criterion=experiment.criterion,
        cost_key=cost_key(experiment.settings),
    )


def _named(spec: dict[str, Any], dataset: dict[str, Any]) -> dict[str, Any]:
    """A recorded spec with a user's own graph under the name that it has in this command."""
    return {**spec, "dataset": dataset} if NAMED_BY_USER in dataset else spec


def _repeats(experiment: Experiment, record: Record, lacks: bool) -> bool:
    """Whether a recorded run is to be repeated.

    Args:
        lacks: whether it lacks what the command asks its runs for besides the record.
    """
    if experiment.rerun == "incomplete" and lacks:
        return True
    if experiment.rerun in ("failed", "incomplete"):
        return repeatable(record, experiment.time_limit, experiment.memory_limit)
    return experiment.rerun == "all"


def _lacks(experiment: Experiment, record: Record, store: Store) -> bool:
    """Whether a run that is ok lacks a file that `save` names, the value of `criterion`, or the
    scores on the way that `method.course` asks for."""
    if not record.ok:
        return False
    folder, method = store.path(record.id).parent, experiment.components.method
    criterion = experiment.criterion
    too_large = record.fit.get("too_large", ())
    return (
        bool(lacking(folder, experiment.save, method, too_large))
        or (criterion is not None and criterion not in record.fit.get("criteria", {}))
        or not _followed(record, getattr(method, "course", 0))
    )


def _followed(record: Record, every: int) -> bool:
    """Whether a record has scores at each `every` epochs; an empty course is of a task that has
    none."""
    if not every:
        return True
    recorded = [int(epochs) for epochs, _ in record.data.get("course", [[-1, {}]])]
    return not recorded or {*range(0, max(recorded) + 1, every), 0} <= {*recorded}


def repeatable(record: Record, time_limit: float | None, memory_limit: float | None) -> bool:
    """Whether `rerun=failed` repeats a recorded run under these limits (seconds, GiB; None is no
    limit).

    - `failed`, `interrupted`: repeated; they say nothing about the run.
    - `timeout`: repeated if its time limit was smaller than the one now, or is not recorded.
    - `oom`: repeated only if it had a smaller memory limit. Memory that ran out without a limit
      will run out again.
    - Others: not repeated. `diverged` and `unsupported` would end the same way, and `ok` is done.
    """
    if record.status in ("failed", "interrupted"):
        return True
    kind = MENDED_BY_A_LARGER_LIMIT.get(record.status)
    if kind is None:
        return False
    before, now = record.limits.get(kind), time_limit if kind == "time" else memory_limit
    if before is None:
        return kind == "time"
    return now is None or now > before
