"""How far a sweep is: from its records, from the units that say that they are running, and from
what its launcher says of its jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gclbench.launch.attempt import ended_worse, missing
from gclbench.launch.launcher import ENDED, QUEUED, RUNNING, LaunchError, launcher_of
from gclbench.launch.running import Running, running
from gclbench.launch.sweep import Sweep
from gclbench.records import Record, Store
from gclbench.run.estimate import Durations
from gclbench.run.unit import Unit


@dataclass(frozen=True)
class SweepState:
    """A sweep now.

    Attributes:
        runs: in all.
        counts: ended runs by status.
        running: units that are being worked on.
        queued: units that wait.
        lost: units without a record that neither run nor wait.
        troubles: records that are not ok.
        left: an estimate of the time left, in words.
        silent: why the launcher did not answer, or "".
    """

    runs: int
    counts: Counter[str]
    running: list[Running]
    queued: int
    lost: int
    troubles: list[Record]
    left: str
    silent: str

    @property
    def over(self) -> bool:
        """Whether nothing of it is running or waiting."""
        return not self.running and not self.queued


def state_of(sweep: Sweep, records: Iterable[Record] = ()) -> SweepState:
    """The state of a sweep.

    Args:
        records: earlier ones, from which the time left is estimated besides the sweep's own.
    """
    store = Store(sweep.runs_dir)
    silent = ""
    try:
        states = launcher_of(sweep).states(sweep)
    except LaunchError as error:
        states, silent = {}, str(error)
    job_of = {
        place: states.get(job.id, ENDED if not silent else QUEUED)
        for job in sweep.jobs
        for place in job.units
    }
    counts: Counter[str] = Counter()
    own: list[Record] = []
    at_work: list[Running] = []
    busy: list[Unit] = []
    waiting: list[Unit] = []
    lost = 0
    beside = store.ids()
    for place, unit in enumerate(sweep.units):
        left = set(missing(unit, store)) if beside & set(unit.ids) else set(range(len(unit.ids)))
        for index, run_id in enumerate(unit.ids):
            record = (
                store.read(run_id)
                if run_id in beside and (index not in left or sweep.cancelled)
                else None
            )
            if record is not None:
                worse = ended_worse(store, run_id, unit.replaces[index])
                if worse is not None:
                    record = replace(record, status=worse[0], reason=worse[1])
                counts[record.status] += 1
                own.append(record)
        if not left:
            continue
        seen = next(
            filter(None, (running(store, run_id) for run_id in unit.ids if run_id in beside)), None
        )
        if seen is not None:
            at_work.append(seen)
            busy.append(unit)
        elif not sweep.cancelled and job_of.get(place, ENDED) in (QUEUED, RUNNING):
            waiting.append(unit)
        else:
            lost += 1
    kinds = {record.on_gpu for record in own if record.ok}
    on_gpu = kinds.pop() if len(kinds) == 1 else None
    asked = sweep.options.get("workers")
    # Of `auto` those that are at work tell how many there are.
    at_once = max(len(at_work), asked if isinstance(asked, int) else 1)
    return SweepState(
        runs=sum(len(unit.ids) for unit in sweep.units),
        counts=counts,
        running=at_work,
        queued=len(waiting),
        lost=lost,
        troubles=[record for record in own if not record.ok],
        left=Durations.of([*records, *own], on_gpu=on_gpu).left([*waiting, *busy], at_once),
        silent=silent,
    )
