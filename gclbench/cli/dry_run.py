"""`--dry-run`: what a command would run, as far as records tell. No graph is read."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gclbench.cli.remarks import say_precision, say_seeds
from gclbench.machine import messages
from gclbench.paper.sources import RESULTS
from gclbench.records import Record, Store, StoreWarnings

if TYPE_CHECKING:
    from gclbench.config.validation import Experiment
    from gclbench.launch.plan import Plan


def preview(experiments: list[Experiment]) -> int:
    """Says what would be run; exit code 1 where a graph of one's own cannot be read."""
    from gclbench.launch.execution import incomplete, other_code, packed_beside
    from gclbench.launch.known_graphs import KnownGraphs, refused_unread
    from gclbench.launch.plan import expand
    from gclbench.run.estimate import Durations

    store, known = Store(experiments[0].runs_dir), KnownGraphs()
    gpu = _on_gpu(experiments)
    durations = Durations.of(known.noted(store.scan()), on_gpu=gpu)
    in_results = _in_results(store)
    durations.fallback = Durations.of(known.completed(in_results.values()), on_gpu=gpu)
    hashes = known.content_hashes(experiments)

    def content_hash(dataset: Any) -> str:
        refused_unread(dataset)
        return hashes[dataset]

    plan, present = expand(experiments, store, content_hash), store.ids()
    say_seeds(experiments, plan, print)
    say_precision(experiments, plan, print)
    for unit in plan.units:
        print(unit.title)
    for text in plan.unavailable:
        print(f"gclbench: {text}", file=sys.stderr)
    runs, again = sum(len(unit.ids) for unit in plan.units), _again(plan, store)
    recorded = len(plan.done) + sum(again.values())
    print(
        f"{messages.counted(len(plan.ids), 'run')}: {_are(recorded)} recorded in {store.root},"
        f" {_are(runs)} to be done in {messages.counted(len(plan.units), 'unit')}"
    )
    asked = [each.rerun for each in experiments if each.rerun in ("incomplete", "all")]
    rerun = " or ".join(dict.fromkeys(asked))
    for status, count in sorted(again.items()):
        if status == "ok":
            it = "it" if count == 1 else "them"
            print(f"{_are(count)} recorded, and rerun={rerun} makes {it} again")
        else:
            print(
                f"{_are(count)} recorded as {status} and {'is' if count == 1 else 'are'} run again"
            )
    if plan.incomplete:
        print(f"of those recorded {incomplete(plan)}")
    if plan.other_code:
        print(f"of those recorded {other_code(plan)}")
    ended: dict[str, list[str]] = {}
    for run_id, record in plan.done.items():
        if not record.ok:
            ended.setdefault(record.status, []).append(run_id)
    for status, ids in sorted(ended.items()):
        where = f"gclbench show {ids[0]} --runs {shlex.quote(str(store.root))}"
        print(f"{len(ids)} of the recorded ended as {status}, for example: {where}")
    for reason, count in plan.unkept.items():
        print(f"{count} of all runs: {reason}")
    for reason, count in plan.refused.items():
        print(f"{count} of those to be done will be recorded as unsupported: {reason}")
    there = [
        run_id
        for unit in plan.units
        for run_id in unit.ids
        if run_id not in present and run_id in in_results and in_results[run_id].ok
    ]
    if packed := packed_beside(plan, store):
        print(packed)
    if there:
        print(
            f"{len(there)} of those to be done stand in {RESULTS}, where tables find them;"
            f" {store.root} lacks them, so they would be made again"
        )
    if plan.units:
        print(f"time, one after the other: {durations.left(plan.units, 1)}")
        if by_results := sum(durations.by_fallback(unit) for unit in plan.units):
            print(
                f"times of {by_results} of {len(plan.units)} units are those of runs in {RESULTS},"
                f" as {store.root} has none like them"
            )
    return 1 if plan.unavailable else 0


def _are(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'}"


def _again(plan: Plan, store: Store) -> Counter[str]:
    """How many recorded runs are made again, by the status that they are recorded with."""
    found = (
        store.read(run_id)
        for unit in plan.units
        for run_id, replaced in zip(unit.ids, unit.replaces, strict=True)
        if replaced
    )
    return Counter(record.status for record in found if record is not None)


def _on_gpu(experiments: list[Experiment]) -> bool | None:
    """Whether all would run on a GPU, or none; None where it is not known or some would."""
    kinds = {experiment.device.partition(":")[0] for experiment in experiments}
    return None if kinds not in ({"cpu"}, {"cuda"}) else kinds == {"cuda"}


def _in_results(store: Store) -> dict[str, Record]:
    """The records in the folder of results here, by id, without their curves; none where the store
    lies in it. What else such a folder may hold is not complained about."""
    folder, own = Path(RESULTS).resolve(), store.root.resolve()
    if not folder.is_dir() or own.is_relative_to(folder):
        return {}
    found = {}
    for record in Store(RESULTS).scan(StoreWarnings(logged=False)):
        record.fit.pop("curve", None)
        found[record.id] = record
    return found
