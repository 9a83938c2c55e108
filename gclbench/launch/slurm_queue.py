"""Slurm's own commands: which jobs are queued, running or gone.

Works with and without accounting (no sacct).
"""

from __future__ import annotations

import getpass
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

from gclbench.component.registry import nearest
from gclbench.launch.launcher import ENDED, QUEUED, RUNNING, LaunchError

PROGRAMS = ("sbatch", "squeue", "scancel", "scontrol", "srun")

PATIENCE = 30.0
"""Seconds that a Slurm command may take."""

_WAITING = {
    "PENDING",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "SPECIAL_EXIT",
    "RESV_DEL_HOLD",
    "PREEMPTED",
    "REVOKED",
}
_GOING = {
    "RUNNING",
    "COMPLETING",
    "CONFIGURING",
    "RESIZING",
    "SIGNALING",
    "STAGE_OUT",
    "STOPPED",
    "SUSPENDED",
}

_NOT_NOW = (
    "node not available",
    "nodes required for job are down",
    "reserved for jobs in higher priority",
)
"""What `sbatch --test-only` says of a job that would wait, not fail."""


@dataclass(frozen=True)
class JobState:
    """What squeue says of a job: `word` is Slurm's (`PENDING`, `OUT_OF_MEMORY`, …; empty when it
    has forgotten the job)."""

    word: str = ""
    reason: str = ""

    @property
    def phase(self) -> str:
        """`QUEUED`, `RUNNING` or `ENDED`."""
        return QUEUED if self.word in _WAITING else RUNNING if self.word in _GOING else ENDED


def ask(*command: str, patience: float = PATIENCE) -> subprocess.CompletedProcess[str]:
    """Runs a Slurm command.

    Raises:
        LaunchError: when it is not there or gives no answer in time.
    """
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=patience, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError as error:
        raise LaunchError(
            f"launcher=slurm: '{command[0]}' is not installed here; start from a login node of the"
            " cluster, or use launcher=local"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise LaunchError(
            f"launcher=slurm: `{' '.join(command)}` gave no answer in {patience:g} s; is the"
            " cluster up?"
        ) from error


def check_answering() -> None:
    """Raises LaunchError unless Slurm's commands are here and its controller answers."""
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    if absent:
        raise LaunchError(
            f"launcher=slurm: {', '.join(absent)} not found on PATH, so Slurm is not installed on"
            " this machine; start from a login node of the cluster, or use launcher=local"
        )
    answer = ask("scontrol", "ping", patience=10.0)
    if answer.returncode != 0 or " is UP" not in answer.stdout:
        told = _first(answer.stderr) or _first(answer.stdout) or "no answer"
        raise LaunchError(
            f"launcher=slurm: the Slurm controller does not answer ({told}); `scontrol ping` tells"
            " when it does again"
        )


def check_options(flags: list[str]) -> None:
    """Has Slurm judge a job's options without handing it over.

    Raises:
        LaunchError: with what Slurm says, and the partitions there are when it is about those.
    """
    answer = ask("sbatch", "--test-only", *flags, "--wrap=true")
    told = " ".join(
        line.strip()
        for line in answer.stderr.splitlines()
        if line.strip() and not line.startswith("Try ")
    )
    if answer.returncode == 0 or any(text in told.lower() for text in _NOT_NOW):
        return
    text = (
        f"launcher=slurm: Slurm does not take these options: {told or 'it says nothing'} (sbatch"
        f" {' '.join(flags)})"
    )
    if "partition" in told:
        known = sorted(set(ask("sinfo", "-h", "-o", "%R").stdout.split()))
        asked = next(
            (flag.partition("=")[2] for flag in flags if flag.startswith("--partition=")), ""
        )
        guess = nearest(asked, known)
        text += f". Partitions: {', '.join(known)}" + (
            f". Did you mean launcher.partition={guess}?" if guess else ""
        )
    elif "node configuration" in told:
        text += (
            "; `sinfo -o '%P %c %m %G'` prints the CPUs, memory (MB)"
            " and GPUs of each partition's nodes"
        )
    raise LaunchError(text)


def states(ids: Iterable[str]) -> dict[str, JobState]:
    """What Slurm says of each job or array task (`12`, `12_3`).

    Raises:
        LaunchError: when the controller does not answer.
    """
    wanted = list(ids)
    masters = sorted({job.partition("_")[0] for job in wanted})
    if not masters:
        return {}
    answer = ask(
        "squeue",
        "--noheader",
        "--array",
        "--states=all",
        "--format=%i|%T|%r",
        f"--jobs={','.join(masters)}",
    )
    # A job that ended a while ago is forgotten; asked for alone, that is an error.
    if answer.returncode != 0 and "Invalid job id" not in answer.stderr:
        raise LaunchError(
            f"launcher=slurm: squeue does not answer: {_first(answer.stderr) or 'it says nothing'}"
        )
    found: dict[str, JobState] = {}
    for line in answer.stdout.splitlines():
        job, _, rest = line.strip().partition("|")
        word, _, reason = rest.partition("|")
        found[job] = JobState(word, reason)
    return {job: found.get(job, JobState()) for job in wanted}


def cancel(ids: Iterable[str]) -> None:
    """Ends jobs, queued or running; a whole array by its own id.

    Raises:
        LaunchError: when Slurm refuses.
    """
    masters = sorted({job.partition("_")[0] for job in ids})
    if not masters:
        return
    answer = ask("scancel", *masters)
    if answer.returncode != 0:
        raise LaunchError(
            f"launcher=slurm: scancel does not end {', '.join(masters)}: {_first(answer.stderr)}"
            f" (as {getpass.getuser()})"
        )


def largest_array() -> int:
    """Tasks that one job array may have."""
    for line in ask("scontrol", "show", "config").stdout.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "MaxArraySize" and value.strip().isdigit():
            # The largest index is one below MaxArraySize; indices start at 0.
            return max(1, int(value))
    return 1000


def _first(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
