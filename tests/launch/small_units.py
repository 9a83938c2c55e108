"""Small units of work, performed in a folder of their own."""

from __future__ import annotations

from gclbench.config.validation import experiment_of
from gclbench.launch.plan import expand
from gclbench.records import Record, Store
from gclbench.run.unit import Unit

SMALL = ("dataset=sbm", "dataset.nodes=80", "dataset.classes=2", "dataset.features=8", "device=cpu")
QUICK = (
    *SMALL,
    "method=dmat_i",
    "method.epochs=20",
    "method.batch_size=32",
    "filter=none",
    "task.clustering.n_init=1",
)
TWO_TASKS = "task=[clustering,classification]"


def units(*overrides: str) -> list[Unit]:
    command = [
        *QUICK,
        *(() if any(text.startswith("task=") for text in overrides) else (TWO_TASKS,)),
        *overrides,
    ]
    return expand([experiment_of(command)], Store("runs")).units


def written(unit: Unit) -> dict[str, str]:
    return {run_id: Store("runs").path(run_id).read_text(encoding="utf-8") for run_id in unit.ids}


def record_of(unit: Unit, place: int = 0) -> Record:
    record = Store("runs").read(unit.ids[place])
    assert record is not None
    return record
