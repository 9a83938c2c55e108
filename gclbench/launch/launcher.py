"""What a launcher is: it takes a sweep's units to where they run, and finds them again."""

from __future__ import annotations

import abc
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from gclbench.component.registry import LAUNCHERS
from gclbench.component.settings import bind
from gclbench.training.watch import Reporter

if TYPE_CHECKING:
    from gclbench.launch.sweep import Job, Sweep

Progress = Callable[[str], "AbstractContextManager[Reporter]"]
"""Given a unit's title, a context in which its training reports progress; may be entered from
several threads."""

Note = Callable[[str], None]
"""Called with one line for the user."""

QUEUED, RUNNING, ENDED = "queued", "running", "ended"


class LaunchError(RuntimeError):
    """Units cannot be taken anywhere: what was asked, what was found, what to type next."""


class Launcher(abc.ABC):
    """Base of launchers: frozen dataclasses whose fields are the settings `launcher.NAME=VALUE`.

    A launcher never decides what is to be done: `attempt.perform` looks into the store, so that no
    run is recorded twice. `background.Detached` is the base of those that hand a sweep to a process
    of this machine.
    """

    def check(self) -> None:
        """Looks whether the launcher works here; called before anything is written or started.

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

    @abc.abstractmethod
    def submit(self, sweep: Sweep) -> list[Job]:
        """Hands a saved sweep over and returns at once.

        Returns:
            its jobs, which the caller keeps in the sweep.

        Raises:
            LaunchError: when it cannot be handed over.
        """

    @abc.abstractmethod
    def states(self, sweep: Sweep) -> dict[str, str]:
        """`QUEUED`, `RUNNING` or `ENDED` by job id, for the jobs of `submit`.

        Raises:
            LaunchError: when the cluster or the process does not answer.
        """

    @abc.abstractmethod
    def cancel(self, sweep: Sweep) -> list[str]:
        """Ends what is queued or running; what is recorded stays.

        Returns:
            the ids of the jobs that it ends.

        Raises:
            LaunchError: when the cluster or the process does not answer.
        """


def launcher_of(sweep: Sweep) -> Launcher:
    """The launcher that a saved sweep was given to.

    Raises:
        LaunchError: when there is no such launcher any more, or it does not take its settings.
    """
    errors: list[str] = []
    try:
        launcher = bind(LAUNCHERS.load(sweep.launcher), sweep.options, "launcher", errors)
    except LookupError as error:
        raise LaunchError(str(error)) from error
    if errors:
        raise LaunchError("; ".join(errors))
    return launcher
