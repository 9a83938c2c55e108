"""The unit of work: runs of one seed whose tasks share an embedding."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from gclbench.component.own_files import as_typed


@dataclass(frozen=True)
class Unit:
    """Runs of one seed that share a training, which each task then evaluates.

    It holds plain values only and travels as JSON, to a worker, a Slurm job or a Ray task.

    Attributes:
        method, dataset: names, for people.
        overrides: what composes the experiment, without seeds, task, runs_dir, limits and launcher.
        seed: of all its runs.
        tasks: names.
        ids: run ids, one per task.
        dataset_hash: content hash of the dataset where the sweep was planned.
        replaces: per run, the fingerprint of the record that it replaces; empty where there is
            none. If the record is another one when the unit's turn comes, the run has been done
            in the meantime.
        device: `auto`, `cpu`, `cuda` or `cuda:1`; looked up where the unit runs.
        time_limit: seconds; None is no limit.
        memory_limit: GiB; None is no limit.
        checkpoint_every: seconds; None writes no checkpoint.
        threads: to compute with; None is what `machine.threads` says of the graph.
        precision: of the training's products, as asked for: `auto`, `float32` or `fast`.
        tracking: name of the tracker that shows the runs, or None.
        epochs: of its training, None where the method has no such setting; for the estimate of
            its time.
        save: what the runs leave beside their records (`run.saving`).
        criterion: a number that they record for a search (`tasks.criteria`), or None.
        cost_key: what tells of its method and of its dataset how long it takes
            (`run.estimate.cost_key`); empty where nothing is to be estimated.
        apart: the overrides that not all experiments of this method and dataset in the sweep have.
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
    precision: str = "auto"
    tracking: str | None = None
    epochs: int | None = None
    save: tuple[str, ...] = ()
    criterion: str | None = None
    cost_key: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """`dmat_i · cora · seed 0 · clustering, classification`; with what tells it apart,
        `dmat_i (filter=none) · cora · …`."""
        method = self.method + (f" ({' '.join(self.apart)})" if self.apart else "")
        return f"{method} · {self.dataset} · seed {self.seed} · {', '.join(self.tasks)}"

    @property
    def limits(self) -> dict[str, float]:
        """The limits that there are, as a record names them: `time` in seconds, `memory` in GiB."""
        limits = {"time": self.time_limit, "memory": self.memory_limit}
        return {kind: limit for kind, limit in limits.items() if limit is not None}

    def command(self, task: str, files: Iterable[str] = ()) -> str:
        """What repeats one of its runs in a shell.

        Args:
            files: those of the user's own that its components come from.
        """
        own = [
            text
            for text in self.overrides
            if not text.lstrip("+").startswith("task.") or _of_task(text, task)
        ]
        asked = [] if self.precision == "auto" else [f"precision={self.precision}"]
        asked += [] if self.threads is None else [f"threads={self.threads}"]
        words = [*own, f"task={task}", f"seeds=[{self.seed}]", *asked, *as_typed(files)]
        return shlex.join(["gclbench", *words])

    def only(self, places: Iterable[int]) -> Unit:
        """The unit with the runs at these places."""
        chosen = tuple(places)
        return replace(
            self,
            tasks=tuple(self.tasks[place] for place in chosen),
            ids=tuple(self.ids[place] for place in chosen),
            replaces=tuple(self.replaces[place] for place in chosen),
        )

    def plain(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
        }

    @classmethod
    def from_plain(cls, values: dict[str, Any]) -> Unit:
        """The unit of `plain` values; keys of a newer version are left out.

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
