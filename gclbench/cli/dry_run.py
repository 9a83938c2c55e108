"""`--dry-run`: what a command would run, as far as records tell. No graph is read."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gclbench.cli.remarks import say_seeds
from gclbench.paper.sources import RESULTS
from gclbench.records import Record, Store, StoreWarnings

if TYPE_CHECKING:
    from gclbench.config.validation import Experiment


def preview(experiments: list[Experiment]) -> int:
    """Says what would be run; exit code 1 where a dataset cannot be had."""
    from gclbench.launch.execution import incomplete
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
    for unit in plan.units:
        print(unit.title)
    for text in plan.unavailable:
        print(f"gclbench: {text}", file=sys.stderr)
    runs = sum(len(unit.ids) for unit in plan.units)
    print(
        f"{len(plan.ids)} runs: {len(plan.done)} are recorded in {store.root}, {runs} are to be"
        f" done in {len(plan.units)} units"
    )
    again = sum(bool(replaced) for unit in plan.units for replaced in unit.replaces)
    if again:
        print(f"{again} of those to be done are recorded, and rerun= makes them again")
    if plan.incomplete:
        print(f"of those recorded {incomplete(plan)}")
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
