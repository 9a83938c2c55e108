"""Which runs are being worked on: a small file beside the record to come, renewed while the run
lasts.

It is shown to people. Nothing is decided by it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gclbench.records import Store
from gclbench.records.atomic import beside
from gclbench.training.watch import Reporter

RENEWED_EVERY = 15.0
GONE_AFTER = 90.0
"""Seconds without renewal after which a run on another machine counts as gone."""


@dataclass(frozen=True)
class Running:
    """A unit that is being worked on.

    Attributes:
        title: of the unit.
        host, pid: of the process.
        begun: when the process was begun; a later one may have the same id.
        started: seconds since the epoch, by that machine's clock.
        iteration, total, loss: of its training; 0 of 0 before the first iteration.
    """

    title: str
    host: str
    pid: int
    started: float
    begun: str = ""
    iteration: int = 0
    total: int = 0
    loss: float = float("nan")

    @property
    def doing(self) -> str:
        """`12/300, loss 0.1234` or empty."""
        return f"{self.iteration}/{self.total}, loss {self.loss:.4f}" if self.total else ""


@contextlib.contextmanager
def announced(store: Store, run_id: str, title: str, report: Reporter | None) -> Iterator[Reporter]:
    """Within the block, `gclbench status` shows the run as running.

    The run goes on where the file cannot be written.

    Args:
        run_id: of the unit's first run. title: of the unit.
        report: called with the training's progress too, or None.

    Yields:
        what the training reports its progress to.
    """
    path = store.path(run_id).with_name("running.json")
    pid = os.getpid()
    now = Running(title, socket.gethostname(), pid, time.time(), begun(pid))
    over = threading.Event()

    def write() -> None:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = beside(path)
            temporary.write_text(json.dumps(asdict(now)), encoding="utf-8")
            os.replace(temporary, path)

    def renew() -> None:
        while not over.wait(RENEWED_EVERY):
            write()

    def progress(iteration: int, total: int, loss: float) -> None:
        nonlocal now
        now = replace(now, iteration=iteration, total=total, loss=loss)
        if report is not None:
            # A terminal or a reader that is gone is no fault of the run.
            with contextlib.suppress(OSError):
                report(iteration, total, loss)

    thread = threading.Thread(target=renew, name="gclbench-running", daemon=True)
    try:
        # A signal may come as soon as the file is there.
        write()
        thread.start()
        yield progress
    finally:
        over.set()
        if thread.ident is not None:
            thread.join()
        no_longer(store, run_id)


def no_longer(store: Store, run_id: str) -> None:
    """Takes away what `announced` wrote, also for a process that is gone."""
    path = store.path(run_id).with_name("running.json")
    with contextlib.suppress(OSError):
        path.unlink()
    with contextlib.suppress(OSError):
        # A run that left no record leaves no folder either.
        path.parent.rmdir()


def running(store: Store, run_id: str) -> Running | None:
    """The unit that works on a run, or None."""
    path = store.path(run_id).with_name("running.json")
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        found = Running(
            **{key: value for key, value in facts.items() if key in Running.__dataclass_fields__}
        )
    except (OSError, ValueError, TypeError):
        return None
    if found.host != socket.gethostname():
        return found if fresh(path) else None
    return found if alive(found.pid) and begun(found.pid) == found.begun else None


def alive(pid: int) -> bool:
    """Whether a process of this machine is there and no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


def begun(pid: int) -> str:
    """When a process of this machine was started, in ticks since the machine was; "" where the
    system does not say."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


def fresh(path: Path) -> bool:
    """Whether a file was written lately.

    Its file system's clock decides, since the clocks of machines differ.
    """
    probe = path.parent.parent / f".clock-{uuid.uuid4().hex}"
    try:
        then = path.stat().st_mtime
        try:
            probe.touch()
            now = probe.stat().st_mtime
        finally:
            with contextlib.suppress(OSError):
                probe.unlink()
    except FileNotFoundError:
        return False
    except OSError:
        now = time.time()
    return now - then < GONE_AFTER
