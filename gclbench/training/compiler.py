"""torch's compiler, put off until something is compiled.

An optimiser imports it when it is made and when it steps, only to be told that nothing is compiled.
That takes longer than torch itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gclbench.graph.later import Later, put_off

NAME = "torch._dynamo"


class Compiler(Later):
    """What an optimiser asks of the compiler, where nothing is compiled. Anything else imports it:
    `torch.compile` works as ever, a little later."""

    @staticmethod
    def graph_break() -> None:
        """Ends a graph that is being compiled: there is none."""

    @staticmethod
    def disable(function: Callable[..., Any], *_: Any, **__: Any) -> Callable[..., Any]:
        """The function, which is not compiled."""
        return function


def compiler_put_off() -> None:
    """Puts the compiler off, unless it is imported already. Torch is imported."""
    import torch

    put_off(Compiler(NAME), torch.__path__)
