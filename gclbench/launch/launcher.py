"""What a launcher is: it takes a sweep's units to where they run, and finds them again."""

from __future__ import annotations

import abc
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from gclbench.component.registry import LAUNCHERS
from gclbench.component.settings import bind
from gclbench.training.watch import Reporter

if TYPE_CHECKING:
    from gclbench.launch.sweep import Sweep

Progress = Callable[[str], "AbstractContextManager[Reporter]"]
"""Given a unit's title, a context in which its training reports progress; may be entered from
several threads."""

Note = Callable[[str], None]
"""Told one line for the user."""

QUEUED, RUNNING, ENDED = "queued", "running", "ended"


class LaunchError(RuntimeError):
    """Units cannot be taken anywhere: what was asked, what was found, what to type next."""


class Launcher(abc.ABC):
    """Base of launchers: frozen dataclasses whose fields are the settings `launcher.NAME=VALUE`.

    A launcher never records the same run twice and never decides what is to be done: `unit.perform`
    looks into the store.
    """

    def check(self) -> None:
        """Called before anything is written or started.

        Raises:
            LaunchError: when the launcher cannot work here (not installed, not answering).
        """
        return None

    @property
    def remote(self) -> bool:
        """Whether units run elsewhere, so that devices are looked up there and not here."""
        return False

    @abc.abstractmethod
    def run(self, sweep: Sweep, progress: Progress, note: Note) -> None:
        """Runs every unit and returns when all have ended.

        Raises:
            KeyboardInterrupt: on Ctrl-C, after telling what goes on and how to go on.
            LaunchError, StoreError: when the sweep cannot go on.
        """

    def submit(self, sweep: Sweep) -> list[dict[str, Any]]:
        """Hands a saved sweep over and returns at once.

        Returns:
            jobs, `{"id": …, "units": [places in sweep.units], …}`, which the caller keeps in
            sweep.json.

        Raises:
            LaunchError: when it cannot be handed over.
        """
        from gclbench.launch.background import start

        return start(sweep)

    def states(self, sweep: Sweep) -> dict[str, str]:
        """`QUEUED`, `RUNNING` or `ENDED` by job id, for the jobs of `submit`.

        Raises:
            LaunchError: when nobody answers.
        """
        from gclbench.launch.background import state

        return {job["id"]: state(job) for job in sweep.jobs}

    def cancel(self, sweep: Sweep) -> list[str]:
        """Ends what is queued or running; what is recorded stays.

        Returns the ids of the jobs that it told to end.

        Raises:
            LaunchError: when nobody answers.
        """
        from gclbench.launch.background import end

        return [job["id"] for job in sweep.jobs if end(job)]


def launcher_of(sweep: Sweep) -> Launcher:
    """The launcher that a saved sweep was given to.

    Raises:
        LaunchError: when it is not there any more or does not take its settings.
    """
    errors: list[str] = []
    try:
        launcher = bind(LAUNCHERS.load(sweep.launcher), sweep.options, "launcher", errors)
    except LookupError as error:
        raise LaunchError(str(error)) from error
    if errors:
        raise LaunchError("; ".join(errors))
    return launcher
