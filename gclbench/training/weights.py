"""The weights of a trained model, as a file that is read without running code from it."""

from __future__ import annotations

import io
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from gclbench.records import write_atomically

if TYPE_CHECKING:
    from torch import Tensor, nn

FORMAT = 1


class WeightsError(ValueError):
    """A file of weights that cannot be read, or weights that do not fit a model."""


@dataclass(frozen=True)
class Weights:
    """What a training ended with.

    Attributes:
        tensors: parameters and buffers by name, on the CPU.
        iteration: the one that the embedding is of: where the validation score chose a state, its
            own, else that at which the training ended, also where patience then went back to an
            earlier state (`steps_kept`). total: iterations of the training.
    """

    tensors: dict[str, Tensor]
    iteration: int
    total: int

    @classmethod
    def of(cls, model: nn.Module, iteration: int, total: int) -> Weights:
        """The weights of a model, copied. What is no tensor, such as the state of an optimiser, is
        left out."""
        import torch

        tensors = {
            name: value.detach().cpu().clone()
            for name, value in model.state_dict().items()
            if isinstance(value, torch.Tensor)
        }
        return cls(tensors, iteration, total)

    def write(self, path: Path) -> None:
        """Writes them in one step.

        Raises:
            OSError: when the file cannot be written; what was there stays.
        """
        import torch

        buffer = io.BytesIO()
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        torch.save({"format": FORMAT, **plain}, buffer)
        write_atomically(path, buffer.getvalue())

    @classmethod
    def read(cls, path: Path) -> Weights:
        """The weights of a file. `torch.load(…, weights_only=True)` reads it: tensors and numbers
        only, and no code of the file is run.

        Raises:
            OSError: when there is no such file, or it cannot be read.
            WeightsError: when it holds no weights of this format.
        """
        import torch

        content = path.read_bytes()
        try:
            values = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
            found = values.pop("format")
            if found != FORMAT:
                raise WeightsError(f"{path} has format {found}, and this gclbench reads {FORMAT}")
            return cls(**values)
        except WeightsError:
            raise
        except Exception as error:  # torch.load raises nearly anything on damaged bytes
            raise WeightsError(f"{path} is damaged, or holds no weights of gclbench") from error

    def put(self, model: nn.Module) -> None:
        """Puts them into a model of the same settings, which may be at work on another graph.

        Buffers with a row for each node of the graph stay as the model has them.

        Raises:
            WeightsError: when a parameter is missing or has another shape.
        """
        import torch

        parameters = {name for name, _ in model.named_parameters()}
        with torch.no_grad():
            for name, value in model.state_dict().items():
                if not isinstance(value, torch.Tensor):
                    continue
                given = self.tensors.get(name)
                if given is not None and given.shape == value.shape:
                    value.copy_(given)
                elif name in parameters:
                    found = "nothing" if given is None else f"shape {tuple(given.shape)}"
                    raise WeightsError(
                        f"the weights have {found} for '{name}', and the model needs"
                        f" {tuple(value.shape)}"
                    )
