"""A sweep: units of work, handed to a launcher.

Where it is saved, a folder beside the records says which runs it holds, who started it, and where
they went.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gclbench.records import StoreError, unwritable, write_atomically
from gclbench.run.unit import Unit

FOLDER = "sweeps"
"""Under a store's root; no record lies there."""

CANCELLED = "cancelled"
"""A file beside sweep.json that `gclbench cancel` makes. A process that waits for the sweep's jobs
writes sweep.json anew, and never takes this away."""


class UnknownSweep(LookupError):
    """There is no such sweep; the text lists those that exist."""


@dataclass(frozen=True)
class Job:
    """What a launcher made of some of a sweep's units: a job of a cluster, or a process.

    Attributes:
        id: of the job. units: their places in `Sweep.units`.
        log: path of its log, or "".
        host, pid, begun: of a process: the machine, the process id, and when it was begun.
        alive: of a process: the file that it renews, for other machines.
    """

    id: str
    units: tuple[int, ...]
    log: str = ""
    host: str = ""
    pid: int = 0
    begun: str = ""
    alive: str = ""

    def plain(self) -> dict[str, Any]:
        """As JSON-ready values, without those that are not known."""
        return {key: value for key, value in asdict(self).items() if value}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Job:
        """The job of `plain` values; keys of a newer version are left out.

        Raises:
            KeyError: when the id or the units are missing.
        """
        known = {field.name for field in fields(cls)}
        given = {key: value for key, value in values.items() if key in known}
        return cls(**{**given, "id": str(values["id"]), "units": tuple(values["units"])})


@dataclass
class Sweep:
    """Units of work and the launcher that they were given to.

    Attributes:
        id: name of its folder.
        runs_dir: the store, as given.
        units: in order; a job refers to them by place.
        launcher: name. options: the launcher's settings as plain values.
        command: what was typed, for people.
        recorded: how many runs had been recorded when it was planned.
        jobs: those of the launcher, so that it finds them again.
        created: UTC time, ISO 8601; for people, nothing is decided by it.
    """

    runs_dir: str
    units: tuple[Unit, ...]
    launcher: str
    options: dict[str, Any]
    command: tuple[str, ...] = ()
    recorded: int = 0
    jobs: list[Job] = field(default_factory=list)
    cancelled: bool = False
    created: str = field(
        default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="seconds")
    )
    id: str = field(
        default_factory=lambda: f"{datetime.now().strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:6]}"
    )

    @property
    def folder(self) -> Path:
        """Where sweep.json and the launcher's logs go: `<runs_dir>/sweeps/<id>`."""
        return Path(self.runs_dir) / FOLDER / self.id

    def save(self) -> Path:
        """Writes sweep.json in one step.

        Raises:
            StoreError: when it cannot be written; the text names the path.
        """
        path = self.folder / "sweep.json"
        values = {key: getattr(self, key) for key in self.__dataclass_fields__ if key != "runs_dir"}
        values["units"] = [unit.plain() for unit in self.units]
        values["jobs"] = [job.plain() for job in self.jobs]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(
                path,
                json.dumps(values, ensure_ascii=False, default=str).encode(
                    "utf-8", "backslashreplace"
                ),
            )
        except OSError as error:
            raise StoreError(error.errno, unwritable(path, error)) from error
        return path

    def cancel(self, value: bool = True) -> None:
        """Notes that nothing of it is to be begun any more, or takes that back.

        Raises:
            StoreError: when it cannot be noted; the text names the path.
        """
        path, self.cancelled = self.folder / CANCELLED, value
        try:
            if value:
                write_atomically(path, b"")
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(error.errno, unwritable(path, error)) from error

    @classmethod
    def read(cls, folder: Path) -> Sweep:
        """The sweep of a folder `<runs_dir>/sweeps/<id>`.

        Raises:
            UnknownSweep: when sweep.json is not there or not readable.
        """
        try:
            values = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
            units = tuple(Unit.from_plain(unit) for unit in values.pop("units"))
            known = {key: value for key, value in values.items() if key in cls.__dataclass_fields__}
            known["command"] = tuple(known.get("command", ()))
            known["cancelled"] = bool(known.get("cancelled")) or (folder / CANCELLED).exists()
            known["jobs"] = [Job.from_plain(job) for job in known.get("jobs", ())]
            return cls(runs_dir=str(folder.parent.parent), units=units, **known)
        except FileNotFoundError as error:
            raise UnknownSweep(f"there is no sweep in {folder}: it holds no sweep.json") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UnknownSweep(
                f"{folder / 'sweep.json'} is not readable as a sweep ({error})"
            ) from error


def sweeps(runs_dir: str) -> list[str]:
    """Ids of the sweeps of a store, oldest first."""
    root = Path(runs_dir) / FOLDER
    return sorted(path.parent.name for path in root.glob("*/sweep.json")) if root.is_dir() else []


def find(runs_dir: str, name: str) -> Sweep:
    """The sweep whose id starts (or ends) with `name`.

    Raises:
        UnknownSweep: when none or several do.
    """
    known = sweeps(runs_dir)
    found = [one for one in known if name and (one.startswith(name) or one.endswith(name))]
    if name in known:
        found = [name]
    if len(found) == 1:
        return Sweep.read(Path(runs_dir) / FOLDER / found[0])
    some = f"{len(found)} sweeps match '{name}'" if found else f"there is no sweep '{name}'"
    listed = ", ".join((found or known)[-8:]) or "none; `gclbench submit …` hands one over"
    raise UnknownSweep(f"{some} in {runs_dir}. Sweeps there: {listed}")
