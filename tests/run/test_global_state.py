"""What a process has once for all runs: a run neither depends on it nor leaves anything in it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from small_runs import run
from torch import Tensor
from torch_geometric.data import Data

from gclbench.embedding import Embedding
from gclbench.graph import Graph, make_graph
from gclbench.run.datasets import graph_of
from gclbench.training.fence import fenced
from gclbench.training.streams import Streams
from gclbench.training.watch import Watch


def draws() -> tuple[float, float, float]:
    """One number of each global generator."""
    return float(torch.rand(1)), float(np.random.rand()), random.random()


def settings() -> tuple[Any, ...]:
    return (
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_grad_enabled(),
        torch.get_deterministic_debug_mode(),
        torch.get_num_threads(),
        torch.get_float32_matmul_precision(),
        torch.is_anomaly_enabled(),
        np.geterr(),
    )


def spoil() -> None:
    """Leaves every global setting at another value."""
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(2)
    torch.set_float32_matmul_precision("medium")
    torch.autograd.set_detect_anomaly(True)
    np.seterr(all="raise")


@dataclass(frozen=True)
class Careless:
    """A method that draws from global generators and leaves global settings changed."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    seen: ClassVar[list[tuple[float, float, float]]] = []

    spoils: bool = False
    fails: bool = False

    def fit(self, graph: Data, labels: Tensor, rng: Streams, watch: Watch) -> Embedding:
        type(self).seen.append(draws())
        if self.spoils:
            spoil()
        if self.fails:
            raise RuntimeError("it broke")
        return Embedding(graph.x)


@pytest.fixture(autouse=True)
def careless(
    register_method: Callable[[str, type], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    register_method("careless", Careless)
    monkeypatch.setattr(Careless, "seen", [])
    monkeypatch.chdir(tmp_path)


def test_global_generators_start_at_the_seed_of_the_run_and_go_on_afterwards() -> None:
    with fenced(5) as changed:
        first = draws()
    with fenced(5):
        assert draws() == first
    with fenced(6):
        assert all(one != other for one, other in zip(draws(), first, strict=True))
    assert changed == []
    torch.manual_seed(1), np.random.seed(1), random.seed(1)
    expected = draws()
    torch.manual_seed(1), np.random.seed(1), random.seed(1)
    with fenced(5):
        draws()
    assert draws() == expected


def test_global_settings_are_put_back_and_named() -> None:
    before = settings()
    with pytest.raises(ZeroDivisionError), fenced(0) as changed:
        spoil()
        raise ZeroDivisionError
    assert settings() == before
    assert changed[0] == "torch's default dtype (torch.float32) to torch.float64"
    assert len(changed) == 8


def test_a_method_that_draws_globally_gives_the_same_numbers_for_the_same_seed() -> None:
    words = ("method=careless", "task=clustering", "rerun=all")
    for seed in (3, 4, 3):
        run(*words, f"seeds=[{seed}]")
    first, other, again = Careless.seen
    assert first == again != other


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_method_leaves_changed_is_put_back_and_remarked(fails: bool) -> None:
    before = settings()
    words = ("method=careless", "method.spoils=true", f"method.fails={fails}", "task=clustering")
    (record,) = run(*words).values()
    assert settings() == before
    assert record.status == ("failed" if fails else "ok")
    assert record.fit["remarks"][0] == (
        "Careless.fit changed torch's default dtype (torch.float32) to torch.float64 for the whole"
        " process; it was set back."
    )


class Drawn:
    """A dataset whose features come from a global generator."""

    def load(self) -> Graph:
        x = np.random.rand(4, 2)
        return make_graph(x, np.array([[0, 1, 2], [1, 2, 3]]), None, "drawn", undirected=True)


def test_a_dataset_that_draws_globally_is_the_same_graph_each_time() -> None:
    assert graph_of(Drawn()).content_hash == graph_of(Drawn()).content_hash
