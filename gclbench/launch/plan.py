"""From a validated experiment to jobs, and which of their runs are recorded already."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from torch_geometric.data import Data

from gclbench.config import Experiment
from gclbench.records import Record, RunSpec, Store
from gclbench.runner import Job


@dataclass(frozen=True)
class Plan:
    """What an experiment amounts to.

    Attributes:
        jobs: in the order of seeds, only with runs that are to be done.
        done: records that are there already, by run id.
        specs: every run of the experiment, in order.
    """

    jobs: list[Job]
    done: dict[str, Record]
    specs: list[RunSpec]


def plan(experiment: Experiment, graph: Data, store: Store) -> Plan:
    """Expands seeds × tasks, groups the tasks that share an embedding, and drops what is recorded."""
    method = experiment.components["method"]
    labelled = bool(method.needs_labels)
    tasks = experiment.components["tasks"]
    if labelled and not experiment.tasks_chosen:
        # A semi-supervised method makes sense only where a task reveals labels.
        tasks = {name: task for name, task in tasks.items() if name == "classification"}
    jobs: list[Job] = []
    done: dict[str, Record] = {}
    specs: list[RunSpec] = []
    for seed in experiment.seeds:
        groups: dict[str, dict[str, RunSpec]] = {}
        for name, task in tasks.items():
            spec = RunSpec(
                dataset=experiment.settings["dataset"],
                filter=experiment.settings["filter"],
                method=experiment.settings["method"],
                negatives=experiment.settings["negatives"],
                task=experiment.settings["tasks"][name],
                seed=seed,
                versions={
                    "protocol": task.version,
                    "method": method.version,
                    "filter": experiment.components["filter"].version,
                    **_strategy_version(experiment),
                },
                dataset_hash=graph.content_hash,
            )
            specs.append(spec)
            record = store.read(spec.id)
            if record is not None and (experiment.rerun == "never" or (experiment.rerun == "failed" and record.status != "failed")):
                done[spec.id] = record
                continue
            alone = task.hides or labelled
            groups.setdefault(name if alone else "shared", {})[name] = spec
        for group in groups.values():
            command = {name: _command(experiment, name, seed) for name in group}
            jobs.append(Job(group, experiment.components, experiment.device, experiment.time_limit, command))
    return Plan(jobs, done, specs)


def _strategy_version(experiment: Experiment) -> dict[str, str]:
    """The version of a chosen strategy; plain negatives are none, so that ids of records without a strategy stay."""
    strategy = experiment.components["negatives"]
    return {} if experiment.settings["negatives"]["name"] == "uniform" else {"negatives": strategy.version}


def _command(experiment: Experiment, task: str, seed: int) -> str:
    """What repeats one run in a shell: settings of other tasks are left out, since those tasks are not chosen."""
    overrides = [
        text
        for text in experiment.overrides
        if not text.lstrip("+").startswith("task.") or text.lstrip("+").startswith(f"task.{task}.")
    ]
    return shlex.join(["gclbench", *overrides, f"task={task}", f"seeds=[{seed}]"])
