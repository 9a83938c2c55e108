"""`launcher=ray`: a sweep as tasks of a Ray cluster, or of a local Ray started for it."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gclbench.component.registry import LAUNCHERS
from gclbench.component.settings import NonNegative, Positive, Range
from gclbench.launch import python_path
from gclbench.launch.background import Detached, attend
from gclbench.launch.launcher import LaunchError, Note, Progress
from gclbench.launch.running import running
from gclbench.records import Store, StoreError

if TYPE_CHECKING:
    from gclbench.launch.attempt import Statuses
    from gclbench.launch.sweep import Sweep
    from gclbench.run.unit import Unit

KNOCK = 5.0
"""Seconds that an address may take to accept a connection."""

FAREWELL = 10.0
"""Seconds that runs have after Ctrl-C to be recorded as interrupted."""


@LAUNCHERS.register("ray")
@dataclass(frozen=True)
class Ray(Detached):
    """Tasks of a Ray cluster, or of a local Ray.

    Attributes:
        address: `HOST:PORT` of a cluster's head, `ray://HOST:PORT` of its client server, or `auto`
            for one on this machine; a Ray of its own is started here when not given.
        cpus: per unit. gpus: per unit, parts of one allowed. retries: of a unit whose worker died;
            then it is recorded as failed.
    """

    address: str | None = None
    cpus: Positive = 1.0
    gpus: NonNegative = 0.0
    retries: Annotated[int, Range(least=0)] = 1

    @property
    def remote(self) -> bool:
        return True

    def check(self) -> None:
        try:
            import ray  # noqa: F401
        except ImportError as error:
            raise LaunchError("launcher=ray needs Ray: pip install 'gclbench[ray]'") from error
        if self.address is not None and self.address != "auto":
            knock(self.address)

    def run(self, sweep: Sweep, progress: Progress, note: Note) -> None:
        import ray

        attend(sweep)
        begun: list[Unit] = []
        try:
            with self._connected(ray, note):
                attempt = ray.remote(
                    num_cpus=self.cpus, num_gpus=self.gpus, max_retries=self.retries
                )(_perform)
                runs_dir, folder = str(Path(sweep.runs_dir).absolute()), str(Path.cwd())
                places = {
                    attempt.remote(unit.plain(), runs_dir, folder): place
                    for place, unit in enumerate(sweep.units)
                }
                try:
                    self._collect(ray, sweep, places, note)
                except BaseException:
                    begun += at_work(sweep)
                    for task in places:
                        # What ended in the meantime, or a Ray that is gone, needs no ending.
                        with contextlib.suppress(Exception):
                            ray.cancel(task)
                    with contextlib.suppress(Exception):
                        ray.wait(list(places), num_returns=len(places), timeout=FAREWELL)
                    raise
        finally:
            record_interrupted(begun, sweep.runs_dir)

    def _collect(self, ray: Any, sweep: Sweep, places: dict[Any, int], note: Note) -> None:
        from gclbench.launch.attempt import give_up
        from gclbench.run.ending import Ending

        waiting = list(places)
        while waiting:
            (task,), waiting = ray.wait(waiting, num_returns=1)
            unit = sweep.units[places[task]]
            try:
                ended = ray.get(task)
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, StoreError):
                    raise error.cause from error
                first = f"{type(error.cause).__name__}: {error.cause}".partition("\n")[0]
                ended = give_up(unit, sweep.runs_dir, Ending("failed", first, str(error)))
            except ray.exceptions.RayError as error:
                status = "oom" if isinstance(error, ray.exceptions.OutOfMemoryError) else "failed"
                times = f", {self.retries + 1} times" if self.retries else ""
                first = str(error).strip().partition("\n")[0]
                reason = f"its Ray worker died{times}: {type(error).__name__}: {first}"
                ended = give_up(unit, sweep.runs_dir, Ending(status, reason))
            statuses = ", ".join(sorted(set(ended.values())))
            note(
                f"{unit.title}: {statuses} ({len(sweep.units) - len(waiting)} of"
                f" {len(sweep.units)})"
            )

    @contextlib.contextmanager
    def _connected(self, ray: Any, note: Note) -> Iterator[None]:
        """Within it, Ray is there.

        Raises:
            LaunchError: when it does not start, refuses, or has not what a unit needs.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        # By default Ray retries workers that were killed for memory without end.
        own: dict[str, Any] = {
            "include_dashboard": False,
            "_system_config": {"task_oom_retries": self.retries},
        }
        ending = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(
                address=self.address or "local",
                logging_level=logging.ERROR,
                log_to_driver=False,
                runtime_env={"env_vars": environment()},
                **({} if self.address else own),
            )
        except Exception as error:
            # Ray raises ConnectionError, RuntimeError, ValueError, TimeoutError and others here.
            where = f"launcher.address={self.address}" if self.address else "a local Ray"
            first = str(error).strip().partition("\n")[0]
            # Newer Ray clusters want a token, and say so in a log line of their own only.
            hint = (
                "; if the cluster asks for a token,"
                " set Ray's own RAY_AUTH_MODE=token and its token first"
                if self.address
                else ""
            )
            raise LaunchError(
                f"launcher=ray: {where} does not work: {type(error).__name__}: {first}{hint}"
            ) from error
        if ending is not None and threading.current_thread() is threading.main_thread():
            # Ray's own handler aborts the process, and no message says how to go on.
            signal.signal(signal.SIGTERM, ending)
        try:
            self._check_room(ray, note)
            yield
        finally:
            ray.shutdown()

    def _check_room(self, ray: Any, note: Note) -> None:
        nodes = [node["Resources"] for node in ray.nodes() if node.get("Alive")]
        for name, wanted in (("CPU", self.cpus), ("GPU", self.gpus)):
            most = max((node.get(name, 0.0) for node in nodes), default=0.0)
            if wanted > most:
                text = (
                    f"launcher=ray: a unit asks for {wanted:g} {name}s (launcher.{name.lower()}s),"
                    f" the largest node has {most:g}"
                )
                if self.address is None:
                    raise LaunchError(text)
                note(f"{text}; it waits until the cluster has such a node")


def at_work(sweep: Sweep) -> list[Unit]:
    """The units whose runs are being worked on."""
    store = Store(sweep.runs_dir)
    return [unit for unit in sweep.units if any(running(store, run_id) for run_id in unit.ids)]


def record_interrupted(units: list[Unit], runs_dir: str) -> None:
    """Records the runs of units whose workers Ray ended before they could record them."""
    from gclbench.launch.attempt import give_up
    from gclbench.run.ending import INTERRUPTED

    store = Store(runs_dir)
    for unit in units:
        if all(store.read(run_id) is None for run_id in unit.ids):
            with contextlib.suppress(StoreError):
                give_up(unit, runs_dir, INTERRUPTED)


def knock(address: str) -> None:
    """Looks whether something at `HOST:PORT` or `ray://HOST:PORT` accepts a connection.

    Raises:
        LaunchError: when nothing does.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise LaunchError(
            f"launcher.address={address} is no address: HOST:PORT, ray://HOST:PORT, or auto"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK).close()
    except (OSError, OverflowError) as error:
        raise LaunchError(
            f"launcher.address={address}: nobody answers there ({error}); `ray status` on the"
            " cluster's head prints its address,"
            " and without launcher.address a local Ray is started"
        ) from error


PASSED_ON = ("GCLBENCH_", "MLFLOW_", "WANDB_", "OMP_", "MKL_", "OPENBLAS_", "ATEN_CPU_CAPABILITY")
"""How the variables begin that workers on a cluster need: gclbench's, those of trackers
(docs/tracking.md), and those on which threads and the last bits depend (docs/records.md)."""

SECRET = ("KEY", "PASSWORD", "TOKEN", "SECRET")
"""What is in the names of those that stay here: Ray shows a worker's variables on its dashboard."""


def environment() -> dict[str, str]:
    """The variables of this process that workers need, and Python's path."""
    chosen = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(PASSED_ON) and not any(part in name for part in SECRET)
    }
    paths = python_path.typed()
    return {**chosen, "PYTHONPATH": paths} if paths else chosen


def _perform(plain: dict[str, Any], runs_dir: str, folder: str) -> Statuses:
    """In a worker."""
    from gclbench.launch.attempt import perform
    from gclbench.run.unit import Unit

    # Paths in settings, such as dataset.path, are relative to where the sweep was started.
    with contextlib.suppress(OSError):
        os.chdir(folder)
    return perform(Unit.from_plain(plain), runs_dir)
