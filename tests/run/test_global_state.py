"""What a process has once for all runs: a run neither depends on it nor leaves anything in it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from small_runs import run
from torch import Tensor, nn
from torch_geometric.data import Data

from gclbench.embedding import Embedding
from gclbench.graph import Graph, GraphError, make_graph
from gclbench.machine.subnormal import are_flushed
from gclbench.run.datasets import graph_of
from gclbench.tasks.clustering import Clustering
from gclbench.training.checkpoint import Checkpoint
from gclbench.training.fence import fenced
from gclbench.training.loop import Loss, Model, Step, train
from gclbench.training.streams import Streams
from gclbench.training.watch import Preempted, Watch


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
        torch.backends.cudnn.benchmark,
        torch.backends.cudnn.deterministic,
        torch.backends.cudnn.allow_tf32,
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
    for name in ("benchmark", "deterministic", "allow_tf32"):
        setattr(torch.backends.cudnn, name, not getattr(torch.backends.cudnn, name))


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
    assert len(changed) == len(before)


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


def test_what_a_task_leaves_changed_is_remarked_in_its_own_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluate = Clustering.evaluate

    def spoiling(*given: Any) -> Any:
        np.seterr(all="raise")
        return evaluate(*given)

    monkeypatch.setattr(Clustering, "evaluate", spoiling)
    records = run("method=careless", "task=[clustering,classification]")
    told = {name: record.fit.get("remarks", []) for name, record in records.items()}
    assert [len(told["clustering"]), len(told["classification"])] == [1, 0]
    assert told["clustering"][0].startswith("Clustering.evaluate changed NumPy's treatment of")


def test_a_process_that_uses_torchs_newer_interface_of_precision_is_left_with_it() -> None:
    products: Any = torch.backends.cuda.matmul
    if not hasattr(products, "fp32_precision"):
        pytest.skip("this torch has no newer interface")
    before = products.fp32_precision
    try:
        products.fp32_precision = "tf32"
        with fenced(0) as changed:
            assert torch.get_float32_matmul_precision() == "highest"
        assert changed == [] and products.fp32_precision == "tf32"
        (record,) = run("method=careless", "task=clustering").values()
        assert record.status == "ok", record.reason
    finally:
        products.fp32_precision = before
    with fenced(0) as changed:
        products.fp32_precision = "tf32"
    assert changed == ["torch's precision of products (highest) to set by two interfaces"]
    assert torch.get_float32_matmul_precision() == "highest"


class Drawing(Model):
    """Draws from every global generator in its loss and its embedding."""

    def __init__(self, x: Tensor, iterations: int):
        super().__init__(iterations)
        self.x, self.weight = x, nn.Parameter(torch.ones(()))

    def loss(self, step: Step) -> Loss:
        return Loss((self.weight - sum(draws())) ** 2)

    def embed(self, step: Step) -> Embedding:
        return Embedding(self.x * self.weight + 0 * sum(draws()))


def drawing(watch: Watch, course: int = 0) -> list[tuple[int, float]]:
    """The losses of a training that is looked at every so many iterations."""
    model = Drawing(torch.ones(4, 2), 8)
    with fenced(3):
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), watch, course=course)
    return watch.curve


def test_a_training_that_draws_globally_goes_on_to_the_same_numbers(tmp_path: Any) -> None:
    whole = drawing(Watch())
    stop = threading.Event()

    def until(done: int, total: int, loss: float) -> None:
        if done == 5:
            stop.set()

    def checkpoint() -> Checkpoint:
        return Checkpoint(tmp_path / "state", "key", 1e9)

    with pytest.raises(Preempted):
        drawing(Watch(until, checkpoint=checkpoint(), stop=stop))
    draws()
    assert drawing(Watch(checkpoint=checkpoint())) == whole


def test_looks_on_the_way_change_nothing_of_what_is_drawn_globally() -> None:
    assert drawing(Watch(), course=2) == drawing(Watch())


class Drawn:
    """A dataset whose features come from a global generator."""

    def load(self) -> Graph:
        x = np.random.rand(4, 2)
        return make_graph(x, np.array([[0, 1, 2], [1, 2, 3]]), None, "drawn", undirected=True)


def test_a_dataset_that_draws_globally_is_the_same_graph_each_time() -> None:
    assert graph_of(Drawn()).content_hash == graph_of(Drawn()).content_hash


class Spoilt:
    """A dataset that leaves a setting changed."""

    def load(self) -> Graph:
        torch.set_default_dtype(torch.float64)
        return Drawn().load()


def test_what_a_dataset_leaves_changed_is_put_back_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    graph_of(Spoilt())
    assert torch.get_default_dtype() == torch.float32
    assert caplog.messages == [
        "Spoilt.load() changed torch's default dtype (torch.float32) to torch.float64 for the whole"
        " process; it was set back"
    ]


class Unreadable:
    """A dataset whose file is not there."""

    def load(self) -> Graph:
        return make_graph(np.load("nowhere.npz")["x"], np.ones((2, 1)), None, "nowhere")


def test_a_load_that_fails_names_the_line_of_the_dataset() -> None:
    with pytest.raises(GraphError, match=r"Unreadable\.load\(\) raised FileNotFoundError") as told:
        graph_of(Unreadable())
    assert "(test_global_state.py, line " in str(told.value)


def test_trainings_take_subnormal_numbers_for_zero_and_evaluations_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[str, bool]] = []
    for where, owner in (("fit", Careless), ("evaluate", Clustering)):
        plain = getattr(owner, where)

        def noted(*args: Any, where: str = where, plain: Any = plain) -> Any:
            seen.append((where, are_flushed()))
            return plain(*args)

        monkeypatch.setattr(owner, where, noted)
    before = are_flushed()
    run("method=careless", "task=clustering")
    assert not before and seen == [("fit", True), ("evaluate", False)]
    run("method=careless", "method.fails=true", "task=clustering")
    assert not are_flushed()
