"""Made-up records for the tests of figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from gclbench.paper.sources import Collection
from gclbench.records import Record, RunSpec

FILTERS: dict[str, dict[str, Any]] = {
    "none": {"name": "none"},
    "gnnbp": {"name": "gnnbp", "alpha": 0.1},
}


def run(
    method: str = "dmat_i",
    task: str = "clustering",
    dataset: str = "cora",
    seed: int = 0,
    metrics: dict[str, float] | None = None,
    negatives: dict[str, Any] | None = None,
    filter: str = "",
    protocol: str = "random_10_10_80",
    svm: str = "linear",
    status: str = "ok",
    seconds: dict[str, float] | None = None,
    data: dict[str, Any] | None = None,
    commit: str = "abc",
    shape: dict[str, Any] | None = None,
    **settings: Any,
) -> Record:
    """A run with the settings that figures look at."""
    own: dict[str, Any] = {"dmat_i": {"epochs": 300, "train_on": "all"}, "kmeans": {}}.get(
        method, {"epochs": 200}
    )
    tasks: dict[str, dict[str, Any]] = {
        "clustering": {"clusters": None},
        "classification": {"protocol": protocol},
        "graph_classification": {"folds": 10, "svm": svm},
    }
    spec = RunSpec(
        dataset={"name": dataset, **(shape or {})},
        filter=FILTERS[filter or ("gnnbp" if method == "dmat_i" else "none")],
        method={"name": method, **own, **settings},
        negatives=negatives or {"name": "uniform"},
        task={"name": task, **tasks.get(task, {})},
        seed=seed,
        versions={"protocol": "1"},
        dataset_hash="0" * 64,
    )
    return Record(
        id=spec.id,
        spec=asdict(spec),
        status=status,
        metrics=(metrics or {}) if status == "ok" else {},
        seconds=seconds or {},
        environment={"commit": commit},
        data=data or {},
        created="2026-01-01T00:00:00+00:00",
    )


def mapped(
    x: list[Any] | None = None,
    y: list[Any] | None = None,
    classes: list[Any] | None = None,
    **settings: Any,
) -> Record:
    """A run of task=tsne."""
    data = {
        "x": [0.0, 1.5, -2.25] if x is None else x,
        "y": [3.0, -1.0, 0.5] if y is None else y,
        "classes": [0, 1, -1] if classes is None else classes,
        "silhouette": 0.25,
    }
    return run(task="tsne", metrics={"silhouette": 0.1}, data=data, **settings)


def hard(seed: int = 0, peak: int = 12, **settings: Any) -> Record:
    """A run of task=contrast whose pairs lie in two bins."""
    shares = {f"hardness_{number:02d}": 0.0 for number in range(1, 21)}
    shares[f"hardness_{peak:02d}"] = 0.75
    shares[f"hardness_{peak + 1:02d}"] = 0.25
    quartiles = {"tau0_q1": 1.0 + seed, "tau0_median": 2.0 + seed, "tau0_q3": 4.0 + seed}
    return run(task="contrast", seed=seed, metrics={**shares, **quartiles}, **settings)


def together(*records: Record, stores: Iterable[str] = ()) -> Collection:
    """A collection of them."""
    return Collection(
        tuple(sorted(records, key=lambda record: record.id)),
        {record.id: "runs" for record in records},
        tuple(stores),
    )
