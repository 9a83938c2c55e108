"""A look at a training on its way: the embedding as it is now, and nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gclbench.training import global_generators
from gclbench.training.checkpoint import restore, snapshot
from gclbench.training.watch import Diverged

if TYPE_CHECKING:
    from torch import nn

    from gclbench.embedding import Embedding


class Look:
    """Embeds in eval mode and without gradients, and puts modules, generators and batches back.

    Args:
        module: what embeds. state: what else an embedding may change, by name.
        embed: the embedding as it is now, after so many iterations.
    """

    def __init__(
        self, module: nn.Module, state: Mapping[str, Any], embed: Callable[[int], Embedding]
    ):
        self._module, self._objects, self._embed = module, {"model": module, **state}, embed

    def __call__(self, iterations: int) -> tuple[Embedding, dict[str, Any]]:
        """The embedding after so many iterations, and the state that it was made in, by name.

        Raises:
            Diverged: when the embedding is not finite.
        """
        import torch

        state, generators = snapshot(self._objects, copy=True), global_generators.states()
        self._module.eval()
        with torch.no_grad():
            embedding = self._embed(iterations)
        if not bool(torch.isfinite(embedding.z).all()):
            raise Diverged(f"the embedding after {iterations} iterations is not finite")
        self._module.train()
        restore(self._objects, state)
        global_generators.put_back(generators)
        return embedding, state
