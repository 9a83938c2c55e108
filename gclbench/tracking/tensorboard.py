"""`tracking=tensorboard`: event files beside the record."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from gclbench.tracking import Run, Tracker

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class TensorBoard(Tracker):
    """`<runs_dir>/<id>/<name>/events.out.tfevents…`, which `tensorboard --logdir <runs_dir>` finds.

    Scalars `loss` by iteration and `metric/NAME`; texts `settings` and `outcome`. A run that is
    repeated hides what an earlier attempt wrote from the same iteration on.
    """

    package: ClassVar[str] = "tensorboard"
    extra: ClassVar[str] = "tensorboard"

    def begin(self, run: Run) -> None:
        self._run = run
        self._writer: SummaryWriter | None = None
        self._last = 0

    def losses(self, points: Sequence[tuple[int, float]]) -> None:
        for iteration, loss in points:
            self._open(iteration).add_scalar("loss", loss, iteration)
            self._last = iteration
        self._open().flush()

    def end(
        self, status: str, reason: str, metrics: Mapping[str, float], facts: Mapping[str, str]
    ) -> None:
        writer = self._open()
        for name, value in metrics.items():
            writer.add_scalar(f"metric/{name}", value, self._last)
        writer.add_text(
            "outcome", _table({"status": status, "reason": reason, **facts}), self._last
        )
        writer.close()

    def _open(self, iteration: int = 1) -> SummaryWriter:
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(
                str(self._run.folder / self._run.name), purge_step=iteration
            )
            self._writer.add_text(
                "settings", _table({"id": self._run.id, **self._run.settings}), iteration
            )
        return self._writer


def _table(values: Mapping[str, object]) -> str:
    """Markdown."""
    cells = [
        (key, " ".join(html.escape(str(value)).replace("|", "\\|").split()))
        for key, value in values.items()
        if value != ""
    ]
    return "\n".join(["| | |", "| --- | --- |", *(f"| {key} | {value} |" for key, value in cells)])
