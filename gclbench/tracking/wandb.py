"""`tracking=wandb`: a run of the project `gclbench` at Weights & Biases, or in a folder of the
store."""

from __future__ import annotations

import netrc
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from gclbench.data.mirror import offline
from gclbench.tracking import Run, Tracker

PROJECT = "gclbench"
HOST = "api.wandb.ai"


class Wandb(Tracker):
    """In the project `WANDB_PROJECT`, else `gclbench`; in `<runs_dir>/wandb` where nobody is logged
    in.

    The configuration holds the settings; `loss` is logged by iteration; the summary holds the
    metrics and, as `gclbench.NAME`, what the record says in a line. A run that is repeated goes on
    in the run of its id.
    """

    package: ClassVar[str] = "wandb"
    extra: ClassVar[str] = "wandb"

    def begin(self, run: Run) -> None:
        import wandb

        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=run.id,
            name=run.name,
            config=dict(run.settings),
            dir=run.runs_dir,
            mode=cast(Any, mode()),
            resume="allow",
            # Runs of one process follow each other, and those that share a training are open at
            # once.
            reinit="create_new",
            settings=wandb.Settings(silent=True, console="off", x_disable_stats=True),
        )

    def losses(self, points: Sequence[tuple[int, float]]) -> None:
        for iteration, loss in points:
            self._run.log({"loss": loss}, step=iteration)

    def end(
        self, status: str, reason: str, metrics: Mapping[str, float], facts: Mapping[str, str]
    ) -> None:
        said = {"status": status, "reason": reason, **facts}
        self._run.summary.update(dict(metrics))
        self._run.summary.update({f"gclbench.{key}": text for key, text in said.items() if text})
        self._run.finish(exit_code=0 if status == "ok" else 1)


def mode() -> str:
    """`WANDB_MODE`; else offline where GCLBENCH_OFFLINE is set or nobody is logged in, who would be
    asked for a key in the middle of a run."""
    asked = os.environ.get("WANDB_MODE", "")
    if asked:
        return asked
    if offline():
        return "offline"
    return "online" if os.environ.get("WANDB_API_KEY") or _logged_in() else "offline"


def _logged_in() -> bool:
    """Whether `wandb login` has left a key."""
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(HOST) is not None
    except (OSError, netrc.NetrcParseError):
        return False
