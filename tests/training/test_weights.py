"""Weights of trained models: written, read without running code, put into another model."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
import torch
from torch import nn

from gclbench.training.weights import Weights, WeightsError


class Small(nn.Module):
    """A layer, and a buffer with a row per node."""

    def __init__(self, features: int, nodes: int):
        super().__init__()
        self.layer = nn.Linear(features, 2)
        self.register_buffer("rows", torch.full((nodes, 1), float(nodes)))


def test_weights_come_back_as_they_were(tmp_path: Path) -> None:
    model = Small(3, 5)
    Weights.of(model, 4, 9).write(tmp_path / "model.pt")
    before = model.layer.weight.detach().clone()
    with torch.no_grad():
        model.layer.weight.zero_()
    read = Weights.read(tmp_path / "model.pt")
    read.put(model)
    assert (read.iteration, read.total) == (4, 9)
    assert torch.equal(model.layer.weight, before)


def test_rows_of_another_graph_stay_and_other_features_do_not_fit() -> None:
    weights = Weights.of(Small(3, 5), 1, 1)
    other = Small(3, 7)
    weights.put(other)
    assert torch.equal(other.rows, torch.full((7, 1), 7.0))
    assert torch.equal(other.layer.weight, weights.tensors["layer.weight"])
    with pytest.raises(WeightsError, match=r"shape \(2, 3\) for 'layer.weight'.*needs \(2, 4\)"):
        weights.put(Small(4, 5))


class Attack:
    """What unpickling would run."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("attacked",)


@pytest.mark.parametrize("kind", ["pickle", "torch", "text", "other format"])
def test_a_file_of_something_else_is_refused_and_runs_nothing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.pt"
    match kind:
        case "pickle":
            path.write_bytes(pickle.dumps(Attack()))
        case "torch":
            torch.save({"format": 1, "tensors": Attack()}, path)
        case "text":
            path.write_text("weights")
        case _:
            torch.save({"format": 2, "tensors": {}, "iteration": 1, "total": 1}, path)
    with pytest.raises(WeightsError, match=r"model\.pt (is damaged, or holds no we|has format 2)"):
        Weights.read(path)
    assert not (tmp_path / "attacked").exists()
