"""A worker process: it reads units from its standard input, one JSON line each, and writes what
becomes of them to a pipe.

Started by `gclbench.launch.pool`; messages are JSON lines: `{"ready": true}`, `{"progress": [done,
all, loss]}`, `{"ended": {id: status, …}}`, `{"store": text}` when records cannot be written,
`{"error": text}` for a defect of gclbench.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import time
import traceback
from typing import Any

from gclbench.machine import messages
from gclbench.machine.signals import interrupt_once

SECONDS_BETWEEN_REPORTS = 0.5
PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> int:
    """Arguments: the store's folder, the pipe's file descriptor, the parent's process id."""
    runs_dir, channel, parent = argv[0], int(argv[1]), int(argv[2])
    os.dup2(2, 1)  # what a library prints must not look like a table
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent decides
    signal.signal(signal.SIGTERM, interrupt_once)
    _end_with(parent)
    messages.set_up()
    with (
        os.fdopen(channel, "w", encoding="utf-8", buffering=1) as pipe,
        contextlib.suppress(BrokenPipeError),
    ):
        return _serve(runs_dir, pipe)
    return 1


def _serve(runs_dir: str, pipe: Any) -> int:
    from gclbench.launch.attempt import perform
    from gclbench.records import StoreError
    from gclbench.run.unit import Unit

    def tell(**message: Any) -> None:
        pipe.write(json.dumps(message) + "\n")

    last = 0.0

    def report(done: int, total: int, loss: float) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_REPORTS:
            last = time.monotonic()
            tell(progress=[done, total, loss])

    tell(ready=True)
    try:
        while line := sys.stdin.readline():
            try:
                tell(ended=perform(Unit.from_plain(json.loads(line)), runs_dir, report))
            except StoreError as error:
                tell(store=str(error.args[1]))
                return 1
            except (BrokenPipeError, KeyboardInterrupt):
                raise
            except BaseException:
                tell(error=traceback.format_exc())
    except KeyboardInterrupt:
        return 130
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Python is on its way out
    return 0


def _end_with(parent: int) -> None:
    """A worker whose parent was killed ends its run as interrupted (Linux; elsewhere it ends after
    its unit)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
