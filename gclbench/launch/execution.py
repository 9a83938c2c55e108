"""From a plan to its records: the launcher runs what is not recorded yet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gclbench.component.own_files import as_typed
from gclbench.component.own_files import files as own_files
from gclbench.component.registry import KINDS
from gclbench.component.settings import values_of
from gclbench.launch.attempt import ended_worse
from gclbench.launch.launcher import LaunchError, Note, Progress
from gclbench.launch.plan import Plan, content_hash, expand
from gclbench.launch.sweep import Sweep
from gclbench.records import Record, Store
from gclbench.training.watch import Reporter

if TYPE_CHECKING:
    from gclbench.config.validation import Experiment


def prepare(experiments: Sequence[Experiment]) -> tuple[Plan, Store]:
    """What experiments amount to, and the store of their records.

    The launcher and the folder of records are those of the first experiment: those of a sweep name
    one of each.

    Raises:
        LaunchError, StoreError: when runs cannot go where the launcher takes them, or records
            could not be written.
    """
    first = experiments[0]
    first.launcher.check()
    _check_session(experiments)
    store = Store(first.runs_dir)
    plan = expand(experiments, store)
    if plan.units:
        store.ensure_writable()
    return plan, store


def _check_session(experiments: Sequence[Experiment]) -> None:
    """Whether all processes know all components.

    Raises:
        LaunchError: when runs are to go to other processes, and have a component that only this one
            knows.
    """
    launcher = experiments[0].launcher
    if not launcher.remote and getattr(launcher, "workers", 1) == 1:
        return
    for experiment in experiments:
        for kind, registry in KINDS.items():
            chosen = experiment.settings["tasks" if kind == "task" else kind]
            for name in chosen if kind == "task" else [chosen["name"]]:
                entry = registry.entries.get(str(name))
                if entry is not None and entry.session:
                    raise LaunchError(
                        f"{registry.kind} '{name}' is defined in this session, and other processes"
                        " do not know it; put it into a file FILE.py and call"
                        ' gclbench.use("FILE.py"), or leave launcher.workers and launcher out'
                    )


def packed_beside(plan: Plan, store: Store) -> str:
    """What to say where runs are to be done and the store has packed files; else ""."""
    if not plan.units or not store.holds_packed():
        return ""
    return (
        f"{store.root} holds packed records, as `gclbench export --to` writes them: tables read"
        " them, and a run that only they hold is made again"
    )


def sweep_of(experiment: Experiment, plan: Plan, typed: Sequence[str]) -> Sweep:
    """The units of a plan and the launcher that is to run them. How earlier attempts at them ended
    is forgotten.

    Args:
        experiment: names the launcher and the store.
        typed: the words that the user typed after `gclbench`.
    """
    store = Store(experiment.runs_dir)
    for unit in plan.units:
        for run_id, replaced in zip(unit.ids, unit.replaces, strict=True):
            if replaced:
                store.forget_attempt(run_id)
    return Sweep(
        runs_dir=experiment.runs_dir,
        units=tuple(plan.units),
        launcher=experiment.launcher_name,
        options=values_of(experiment.launcher),
        command=("gclbench", *typed, *as_typed(map(str, own_files()))),
        recorded=len(plan.done),
    )


def carry_out(
    experiment: Experiment, plan: Plan, typed: Sequence[str], progress: Progress, note: Note
) -> None:
    """Has the launcher run a plan's units; returns when all have ended. A repetition that ended
    worse than the record from before is noted.

    Raises:
        KeyboardInterrupt: on Ctrl-C; what was recorded stays.
        LaunchError, StoreError: when the sweep cannot go on.
    """
    sweep = sweep_of(experiment, plan, typed)
    if experiment.launcher.remote:
        sweep.save()
    experiment.launcher.run(sweep, progress, note)
    for run_id, (status, reason) in ended_worse_of(plan, Store(experiment.runs_dir)).items():
        note(
            f"run {run_id} was repeated and ended as {status}: {reason}; its record from before"
            " stays, and is what is shown"
        )


def ended_worse_of(plan: Plan, store: Store) -> dict[str, tuple[str, str]]:
    """Run id to status and reason of the repetitions that ended worse than the record from before,
    which stays."""
    return {
        run_id: worse
        for unit in plan.units
        for run_id, replaced in zip(unit.ids, unit.replaces, strict=True)
        if (worse := ended_worse(store, run_id, replaced)) is not None
    }


@contextlib.contextmanager
def unseen(title: str) -> Iterator[Reporter]:
    """Shows no progress."""
    yield lambda done, total, loss: None


def unheard(text: str) -> None:
    """Shows no note."""


def execute(
    experiment: Experiment, progress: Progress = unseen, note: Note = unheard
) -> list[Record]:
    """Runs what is not recorded yet, and returns the record of every run, in order.

    `gclbench.run` is this with a table as its result.

    Raises:
        LaunchError, StoreError: before anything starts, when runs cannot go where the launcher
            takes them, or records could not be written.
        DataUnavailable, GraphError: when the dataset cannot be had.
        KeyboardInterrupt: on Ctrl-C; what was recorded stays.
    """
    content_hash(experiment.components.dataset)
    plan, store = prepare([experiment])
    if plan.done:
        note(recorded(plan, store))
    if plan.units:
        carry_out(experiment, plan, (*experiment.overrides,), progress, note)
    found = (store.read(run_id) for run_id in plan.ids)
    return [record for record in found if record is not None]


def recorded(plan: Plan, store: Store) -> str:
    """How many of a plan's runs are recorded already, as a line for the user."""
    text = (
        f"{len(plan.done)} of {len(plan.ids)} runs are recorded in {store.root};"
        " rerun=all repeats them"
    )
    for name, count in plan.other_names.items():
        text += f"; {count} of the same graph under the name '{name}', which tables show"
    if plan.incomplete:
        text += f"; {incomplete(plan)}"
    if plan.other_code:
        text += f"; {other_code(plan)}"
    return text


def other_code(plan: Plan) -> str:
    """How many recorded runs are of other code than there is now, and what to do."""
    told = " and ".join(
        f"{count} {'is' if count == 1 else 'are'} of other code of '{name}' than there is now"
        for name, count in plan.other_code.items()
    )
    return f"{told} (rerun=all repeats them; another `version` of the class keeps both)"


def incomplete(plan: Plan) -> str:
    """How many recorded runs have less than is asked for, and what makes it."""
    return (
        f"{plan.incomplete} lack what save=, criterion= or method.course= asks for, and"
        " rerun=incomplete trains these again"
    )
