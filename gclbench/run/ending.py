"""How a run ends: the status of its record, and why."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace

from gclbench.component.components import Components
from gclbench.machine.limits import TimeLimit, no_memory_left
from gclbench.training.divergence import steadier
from gclbench.training.watch import Diverged


@dataclass(frozen=True)
class Ending:
    """How a run ended.

    Attributes:
        status: one of `records.STATUSES`.
        reason: one line on why the status is not ok.
        traceback: of a failed run.
    """

    status: str
    reason: str = ""
    traceback: str = ""

    def again(self, times: int) -> Ending:
        """The same ending, of a run that ended so several times."""
        return replace(self, reason=f"{self.reason}, {times} times")

    @classmethod
    def of(cls, error: BaseException, components: Components, stepped: bool) -> Ending:
        """The ending that an exception is.

        Args:
            components: what the run is made of; their settings may keep a loss finite.
            stepped: whether the training had made a step before.
        """
        # Imported here: what only names an ending does not wait for torch.
        from gclbench.graph import Unsupported

        if isinstance(error, Unsupported):
            return cls("unsupported", error.reason)
        if isinstance(error, Diverged):
            advice = steadier(components.method, components.negatives, stepped)
            return cls("diverged", f"{error}{advice}")
        if isinstance(error, TimeLimit):
            return cls("timeout", str(error))
        text = f"{type(error).__name__}: {error}".splitlines()[0].rstrip()
        if _is_out_of_memory(error):
            return cls("oom", text)
        return cls("failed", text, traceback.format_exc())

    @classmethod
    def of_loading(cls, error: BaseException) -> Ending:
        """The ending of a run whose dataset cannot be had: `oom` where its code ran out of
        memory, else `failed`."""
        cause = error.__cause__
        short = cause is not None and _is_out_of_memory(cause)
        return cls("oom" if short else "failed", str(error))


OK = Ending("ok")
INTERRUPTED = Ending("interrupted", "the run was interrupted; its command repeats it")


OF_CUDA = ("CUDA error: out of memory", "STATUS_ALLOC_FAILED")
"""What CUDA and its libraries say that torch does not raise as its own OutOfMemoryError."""


def _is_out_of_memory(error: BaseException) -> bool:
    import torch

    return (
        no_memory_left(error)
        or isinstance(error, torch.OutOfMemoryError)
        or (isinstance(error, RuntimeError) and any(text in str(error) for text in OF_CUDA))
    )
