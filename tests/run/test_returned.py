"""What comes back from a component of another package: made a float where it is a number, else a
failed run whose reason says what came back, from where, and what is expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from gclbench.component.registry import FILTERS, TASKS, Entry, Registry
from gclbench.config.validation import experiment_of
from gclbench.embedding import Embedding
from gclbench.filters.filtered import Filtered
from gclbench.launch.execution import execute
from gclbench.methods.trained import Trained
from gclbench.negatives.strategy import Negatives, Pair
from gclbench.negatives.uniform import Uniform
from gclbench.records import Record, Store
from gclbench.run.returned import plain, scores_of
from gclbench.tasks.scores import Scores
from gclbench.training.loop import Loss, Model, Step

SMALL = ("dataset=sbm", "dataset.nodes=60", "dataset.classes=2", "dataset.features=4", "device=cpu")


@dataclass(frozen=True)
class Scored:
    """A task that returns what a test says."""

    version: ClassVar[str] = "1"
    hides: ClassVar[bool] = False
    returned: ClassVar[Any] = {}
    kept: ClassVar[Any] = {}

    def split(self, graph: Any, rng: Any) -> None:
        return None

    def hide(self, graph: Any, split: Any) -> Any:
        return graph

    def evaluate(self, embedding: Any, graph: Any, split: Any, rng: Any) -> Any:
        return type(self).returned

    def data(self, embedding: Any, graph: Any, split: Any, rng: Any) -> Any:
        return type(self).kept


class Weight(Model):
    def __init__(self, x: torch.Tensor):
        super().__init__(2)
        self.x, self.weight = x, nn.Parameter(torch.ones(()))

    def loss(self, step: Step) -> Any:
        return Stepping.made(self)

    def embed(self, step: Step) -> Any:
        return Stepping.embedded(self)


@dataclass(frozen=True)
class Stepping(Trained):
    """A method whose loss and embedding are what a test says."""

    version: ClassVar[str] = "1"
    needs_labels: ClassVar[bool] = False
    made: ClassVar[Callable[[Weight], Any]] = lambda model: Loss(model.weight.square())
    embedded: ClassVar[Callable[[Weight], Any]] = lambda model: Embedding(model.x)

    epochs: int = 2
    lr: float = 0.1

    def model(self, graph: Any, labels: Any, rng: Any, negatives: Any = None) -> Model:
        return Weight(graph.x)


@dataclass(frozen=True)
class Smoothing:
    """A filter that returns what a test says."""

    version: ClassVar[str] = "1"
    returned: ClassVar[Any] = None

    def apply(self, graph: Any, device: str = "cpu", folder: Path | None = None) -> Any:
        return type(self).returned


@pytest.fixture(autouse=True)
def registered(
    register_method: Callable[[str, type], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def register(registry: Registry[Any], name: str, cls: type) -> None:
        entry = Entry(name, "a test's", f"{__name__}:{cls.__name__}", "a test", builtin=False)
        monkeypatch.setitem(registry.entries, name, entry)
        monkeypatch.setitem(registry._classes, name, cls)

    register_method("stepping", Stepping)
    register(TASKS, "scored", Scored)
    register(FILTERS, "smoothing", Smoothing)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GCLBENCH_DATA", str(tmp_path / "data"))


def ran(*words: str) -> Record:
    (record,) = execute(experiment_of([*SMALL, *words]))
    stored = Store("runs").read(record.id)
    assert stored is not None and stored.status == record.status, "what is written can be read"
    return record


@pytest.mark.parametrize(
    "value",
    [
        0.5,
        np.float32(0.5),
        np.float64(0.5),
        torch.tensor(0.5),
        np.array(0.5),
        torch.tensor(0.5).half(),
    ],
)
def test_numbers_of_numpy_and_torch_become_floats(value: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(Scored, "returned", {"acc": value})
    record = ran("method=kmeans", "task=scored")
    assert record.status == "ok" and record.metrics == {"acc": 0.5}
    assert type(record.metrics["acc"]) is float


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ({"acc": "high"}, "Scored.evaluate returned metric 'acc' as str ('high'); it must be one"),
        ({"acc": None}, "metric 'acc' as NoneType (None); it must be one number, such as float"),
        ({"acc": True}, "metric 'acc' as bool (True)"),
        ({"acc": 1j}, "metric 'acc' as complex (1j)"),
        ({"acc": [0.5]}, "metric 'acc' as list ([0.5])"),
        ({"acc": torch.ones(2)}, "metric 'acc' as a Tensor of shape (2,)"),
        ({"acc": 1e70}, "metric 'acc' as 1e+70, which is beyond 1e+60"),
        ({"acc": 10**400}, "metric 'acc' as a whole number of 1329 bits, which is beyond 1e+60"),
        ({"status": 1.0}, "Scored.evaluate returned a metric called 'status', as a column of"),
        (
            {"method.lr": 1.0},
            "setting may be; give it another name, such as 'method_lr_found'",
        ),
        ({"seconds": 1.0}, "give it another name, such as 'seconds_found'"),
        ({1: 0.5}, "Scored.evaluate must return metrics by name, and returned the name 1"),
        (None, "must return metrics by name, such as {'acc': 0.5}, and returned NoneType (None)"),
        (0.5, "such as {'acc': 0.5}, and returned float (0.5)"),
    ],
)
def test_what_is_no_metric_fails_its_run_alone(
    returned: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scored, "returned", returned)
    record = ran("method=kmeans", "task=scored")
    assert record.status == "failed" and reason in record.reason


@pytest.mark.parametrize("floor", [float("nan"), float("inf")])
def test_a_floor_that_no_record_holds_fails_its_run(
    floor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record with it could not be read back, and its run would be made again for ever."""
    monkeypatch.setattr(Scored, "returned", Scores({"acc": 0.5}, [], {"acc": floor}))
    record = ran("method=kmeans", "task=scored")
    assert record.status == "failed"
    assert f"returned floor of 'acc' as {floor}; it must be finite, or left out" in record.reason


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        (None, "Scored.data must return values by name, and returned NoneType"),
        ({"points": [object]}, "Scored.data returned data that hold type"),
        ({"points": {1: 2}}, "Scored.data returned data with the name 1; a record takes"),
    ],
)
def test_data_that_no_record_holds_fails_its_run(
    kept: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scored, "kept", kept)
    assert reason in ran("method=kmeans", "task=scored").reason


def test_arrays_become_lists() -> None:
    found = plain({"a": torch.ones(2, 1), "b": (np.int64(3), np.bool_(True), None)}, "data", "f")
    assert found == {"a": [[1.0], [1.0]], "b": [3, True, None]}
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises(TypeError, match="f returned data that hold list"):
        plain(deep, "data", "f")


def test_scores_keep_what_they_say() -> None:
    class Own(dict[str, float]):
        degenerate = ("one cluster",)
        floor: ClassVar[dict[str, Any]] = {"acc": np.float32(0.25)}

    found = scores_of(Own(acc=1), "f")
    assert (dict(found), found.degenerate, found.floor) == (
        {"acc": 1.0},
        ("one cluster",),
        {"acc": 0.25},
    )


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda model: None, "Weight.loss must return Loss(value), and returned NoneType"),
        (lambda model: model.weight, "Weight.loss must return Loss(value), and returned Parameter"),
        (lambda model: Loss(1.0), "of one number, a tensor of floats, and returned float"),
        (lambda model: Loss(model.x), "returned a tensor of torch.float32 and shape (60, 4)"),
        (lambda model: Loss(torch.tensor(3)), "returned a tensor of torch.int64 and shape ()"),
        (lambda model: Loss(model.weight.detach()), "a value without a gradient, so there is"),
    ],
)
def test_what_is_no_loss_is_told(made: Any, reason: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(Stepping, "made", made)
    record = ran("method=stepping", "task=clustering")
    assert record.status == "failed" and reason in record.reason


@pytest.mark.parametrize(
    ("embedded", "reason"),
    [
        (lambda model: None, "Weight.embed must return Embedding(z), and returned NoneType"),
        (lambda model: model.x, "Weight.embed must return Embedding(z), and returned Tensor"),
        (lambda model: Embedding(model.x.numpy()), "an embedding is a tensor of numbers (torch.fl"),
        (lambda model: Embedding(model.x > 0), "and this one is torch.bool"),
        (lambda model: Embedding(model.x[0]), "an embedding is a matrix (items × dimensions)"),
        (lambda model: Embedding(model.x[:5]), "the embedding has shape (5, 4), but the graph has"),
        (lambda model: Embedding(model.x, clusters=[1]), "clusters are a tensor, not list"),
        (lambda model: Embedding(model.x, scores=3), "a matrix of class scores is a tensor of num"),
        (
            lambda model: Embedding(model.x, findings={"f": object()}),
            "Stepping.fit returned findings or remarks that hold object",
        ),
    ],
)
@pytest.mark.parametrize("epochs", [0, 2])
def test_what_is_no_embedding_is_told(
    embedded: Any, reason: str, epochs: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(Stepping, "embedded", embedded)
    record = ran("method=stepping", f"method.epochs={epochs}", "task=clustering")
    assert record.status == "failed" and reason in record.reason


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_class_scores_that_are_not_finite_end_a_run_as_diverged(
    value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = torch.zeros(60, 2)
    scores[7, 1] = value
    monkeypatch.setattr(Stepping, "embedded", lambda model: Embedding(model.x, scores=scores))
    record = ran("method=stepping", "task=clustering")
    assert record.status == "diverged" and record.metrics == {}
    assert record.reason.startswith("the class scores hold NaN or infinite values")


def test_findings_of_torch_become_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"share": torch.tensor(0.5), "each": np.arange(2)}
    monkeypatch.setattr(Stepping, "embedded", lambda model: Embedding(model.x, findings=found))
    fit = ran("method=stepping", "task=clustering").fit
    assert (fit["share"], fit["each"]) == (0.5, [0, 1])


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        (None, "Smoothing.apply must return Filtered(x), and returned NoneType"),
        (torch.ones(60, 4), "Smoothing.apply must return Filtered(x), and returned Tensor"),
        (Filtered(np.ones((60, 4))), "a tensor of floats, 60 nodes × features, and x is ndarray"),
        (Filtered(torch.ones(5, 4)), "and x is of torch.float32 and shape (5, 4)"),
        (Filtered(torch.ones(60).long()), "and x is of torch.int64 and shape (60,)"),
        (Filtered(torch.ones(60, 4), {"of": object()}), "must return a report of plain values"),
    ],
)
def test_what_is_no_filtered_graph_is_told(
    returned: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Smoothing, "returned", returned)
    record = ran("method=kmeans", "filter=smoothing", "task=clustering")
    assert record.status == "failed" and reason in record.reason


def test_a_strategy_that_returns_no_loss_is_told() -> None:
    class Mine(Negatives):
        def loss(self, pair: Pair) -> Any:
            return pair.u.sum()

    with pytest.raises(TypeError, match=r"Mine.loss must return Loss\(value\), and returned Ten"):
        Mine()(Pair(torch.ones(3, 2), (torch.ones(3, 2),), 0.5, Step(1, 1)))


@pytest.mark.parametrize(
    "base", [["method=grace"], ["method=dmat_i"], ["method=mvgrl", "method.objective=nodes"]]
)
def test_a_strategy_that_builds_none_is_told(
    base: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Uniform, "build", lambda *given: None)
    record = ran(*base, "method.epochs=1", "task=clustering")
    assert record.status == "failed"
    assert "Uniform.build must return a Negatives, and returned NoneType" in record.reason


class Loose(dict[str, float]):
    """Scores of a task that leaves the rest as it comes."""

    floor = None
    degenerate = "all of one class"


def test_a_task_may_leave_out_its_floor_and_say_one_sentence() -> None:
    found = scores_of(Loose(acc=0.5), "Scored.evaluate")
    assert (found.floor, found.degenerate) == ({}, ("all of one class",))
