"""The records of a unit's runs, written as the runs end."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

from gclbench.component.registry import files_of
from gclbench.data.splits import Split
from gclbench.embedding import Embedding
from gclbench.machine import environment
from gclbench.records import Record, RunSpec, Store, StoreError
from gclbench.run import saving
from gclbench.run.ending import INTERRUPTED, OK, Ending
from gclbench.run.pipeline import Pipeline
from gclbench.run.unit import Unit


@dataclass
class Result:
    """What one run came to.

    Attributes:
        metrics: name to value, fractions.
        data: what the task keeps for a figure.
        split: what the task held out.
        ending: how the run ended.
        degenerate, floor: as in a record.
        criteria: what a search chooses by, name to value, None where the training has none.
        embedding: what was evaluated; None where that is one for each fold.
        remarks: on what the run was asked for, beside those of its training.
    """

    metrics: dict[str, float] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    split: Split | None = None
    ending: Ending = OK
    degenerate: list[str] = field(default_factory=list)
    floor: dict[str, float] = field(default_factory=dict)
    criteria: dict[str, float | None] = field(default_factory=dict)
    embedding: Embedding | None = None
    remarks: list[str] = field(default_factory=list)


class Recorder:
    """Writes the record of each run of a unit.

    Args:
        specs: by task, of the runs to be done.

    Attributes:
        records: those that were written.
    """

    def __init__(self, unit: Unit, specs: Mapping[str, RunSpec], pipeline: Pipeline, store: Store):
        self.records: list[Record] = []
        self._unit = unit
        self._specs = specs
        self._pipeline = pipeline
        self._store = store

    def write(self, task: str, result: Result) -> None:
        """Records a run, and before that writes what it leaves beside its record.

        Raises:
            StoreError: when the record or one of these files cannot be written.
        """
        record = self._record(task, result)
        self._keep_of(self._store.read(record.id), record)
        if record.ok:
            folder = self._store.path(record.id).parent
            kinds = saving.kinds_of(folder, self._unit.save)
            if kinds and result.embedding is not None:
                weights = self._pipeline.watch.weights
                if left_out := saving.save(folder, kinds, result.embedding, weights):
                    record.fit["too_large"] = left_out
        self.records.append(record)
        self._store.write(record)

    @staticmethod
    def _keep_of(before: Record | None, record: Record) -> None:
        """Of an ok run that is replaced by an ok one: the course of its training, where that is the
        same training; else a remark that the metrics were others, as with another precision."""
        if before is None or not (before.ok and record.ok):
            return
        if _same(before, record):
            alike = before.environment.get("code") == record.environment.get("code")
            # The command of the new run may ask for other things besides, and not for a course.
            if alike and "course" in before.data:
                record.data.setdefault("course", before.data["course"])
            return
        changed = [
            f"{name} {before.environment.get(name, 'not recorded')} then,"
            f" {record.environment.get(name, 'none')} now"
            for name in sorted(
                {*before.environment, *record.environment} - {"gclbench", "platform"}
            )
            if before.environment.get(name) != record.environment.get(name)
        ]
        why = "; ".join(changed) or "computed alike, as far as is recorded"
        other = f"It replaces a run of other metrics ({why})."
        record.fit["remarks"] = [*record.fit.get("remarks", ()), other]

    def interrupt(self) -> None:
        """Records the runs that have no record as interrupted, if the store can be written."""
        with contextlib.suppress(StoreError):
            for task in list(self._specs)[len(self.records) :]:
                self.write(task, Result(ending=INTERRUPTED))

    def _record(self, task: str, result: Result) -> Record:
        spec, pipeline, ending, split = (
            self._specs[task],
            self._pipeline,
            result.ending,
            result.split,
        )
        criteria = {"criteria": result.criteria} if result.criteria else {}
        fit = {**pipeline.watch.summary(), **pipeline.fit_report, **criteria}
        if besides := [*pipeline.remarks_of(task), *result.remarks]:
            fit["remarks"] = [*fit.get("remarks", ()), *besides]
        return Record(
            id=spec.id,
            spec=asdict(spec),
            status=ending.status,
            metrics=result.metrics,
            reason=ending.reason,
            traceback=ending.traceback,
            seconds=pipeline.clock.taken(pipeline.watch.earlier_seconds),
            shared=["load", "hide", "filter", "fit"] if len(self._specs) > 1 else ["load"],
            memory=pipeline.memory.read(),
            device=environment.device_name(self._unit.device),
            environment={
                **environment.versions(),
                "threads": str(environment.threads()),
                "precision": pipeline.precision,
                **({"fast_products": pipeline.fast} if pipeline.fast else {}),
                "instructions": environment.instructions(),
                **({"code": code} if (code := pipeline.code(task)) else {}),
            },
            filter_report=pipeline.filter_report,
            split={} if split is None else {"protocol": split.protocol, "hash": split.hash},
            fit=fit,
            repairs=list(pipeline.graph.repairs),
            limits=self._unit.limits,
            data=result.data,
            degenerate=result.degenerate,
            floor=result.floor,
            command=self._unit.command(task, files_of(asdict(spec))),
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )


def _same(one: Record, other: Record) -> bool:
    """Whether two runs have the same metrics; two that are not finite are the same."""
    return json.dumps(one.metrics, sort_keys=True) == json.dumps(other.metrics, sort_keys=True)
