"""`gclbench cancel`: ends a sweep that was handed over."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gclbench.cli.parser import Parser

if TYPE_CHECKING:
    from gclbench.launch.state import SweepState

EXAMPLES = """examples:
  gclbench cancel 20261121-101500-3f2a9c          by its id, or the beginning or the end of it
  gclbench cancel 3f2a9c --runs /scratch/runs

Running runs end as interrupted (in Slurm jobs with a checkpoint and no record). Queued ones are
taken back. What is recorded stays, and the same command goes on from there.
"""


def main(argv: list[str]) -> int:
    """Exit code 0 when the sweep is being ended or has ended, 1 when its launcher does not answer,
    2 for a sweep that is not there."""
    parser = Parser("cancel", "Ends a sweep that was handed over.", EXAMPLES)
    parser.add_argument("sweep", metavar="SWEEP", help="its id, as `gclbench submit` printed it")
    parser.add_argument(
        "--runs", default="runs", metavar="DIR", help="the store it writes to (default: runs)"
    )
    options = parser.parse_args(argv)

    from gclbench.launch.launcher import LaunchError, launcher_of
    from gclbench.launch.state import state_of
    from gclbench.launch.sweep import UnknownSweep, find
    from gclbench.records import StoreError

    try:
        sweep = find(options.runs, options.sweep)
        launcher, before = launcher_of(sweep), sweep.cancelled
        # First of all, so that a process that waits for its jobs does not hand them over again.
        sweep.cancel()
        try:
            # Its jobs of now: others may have been handed over meanwhile.
            ended = launcher.cancel(find(options.runs, sweep.id))
            over = not ended and _over(state_of(sweep))
            if over:
                sweep.cancel(before)
        except LaunchError:
            sweep.cancel(before)
            raise
    except UnknownSweep as error:
        print(f"gclbench cancel: {error}", file=sys.stderr)
        return 2
    except LaunchError as error:
        print(f"gclbench cancel: {error}", file=sys.stderr)
        return 1
    except StoreError as error:
        print(f"gclbench cancel: {error.args[1]}", file=sys.stderr)
        return 1
    if ended:
        print(f"sweep {sweep.id}: asked {len(ended)} of its jobs to end")
    elif over:
        print(f"sweep {sweep.id}: all its runs have ended already")
    else:
        print(f"sweep {sweep.id}: nothing of it was queued or running")
    return 0


def _over(state: SweepState) -> bool:
    """Whether all runs of a sweep have ended; in one that is marked as cancelled nothing waits, so
    what is left has not run."""
    return not state.running and not state.lost
