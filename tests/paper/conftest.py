"""Synthetic records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from gclbench.component.declared import declared
from gclbench.component.registry import METHODS
from gclbench.paper import discovery, reference
from gclbench.paper.config_defaults import shipped_settings, unnamed_settings
from gclbench.records import Record, RunSpec

PAPER_CORA = {
    "epochs": 300,
    "architecture": [256, 128],
    "tau": 1.0,
    "lr": 1e-4,
    "weight_decay": 0.02,
    "batch_size": 512,
    "mask_fraction": 0.08,
    "views": 3,
    "train_on": "all",
}
GNNBP_CORA = {"name": "gnnbp", "alpha": 0.1, "rrz": 0.4, "r_max": 1e-6}
TASK_SETTINGS: dict[str, dict[str, Any]] = {
    "clustering": {"clusters": None, "n_init": 10},
    "classification": {"protocol": "random_10_10_80"},
    "link_prediction": {"val_fraction": 0.05, "test_fraction": 0.1},
}

CACHES = (
    discovery._found,
    discovery._warn,
    reference._read,
    reference._warn,
    reference.printed_settings,
    reference._by_name,
)
"""What is read of papers once in a process."""


def make_record(
    method: str = "dmat_i",
    dataset: dict[str, Any] | str = "cora",
    task: str = "clustering",
    seed: int = 0,
    metrics: dict[str, float] | None = None,
    status: str = "ok",
    reason: str = "",
    filter: dict[str, Any] | str | None = None,
    negatives: dict[str, Any] | str = "uniform",
    commit: str = "abc123",
    created: str = "2026-01-01T00:00:00+00:00",
    task_settings: dict[str, Any] | None = None,
    **settings: Any,
) -> Record:
    """A record of a made-up run; `dmat_i` has the paper's settings for cora unless `settings` says
    otherwise. What is not said of a method, filter or strategy is as shipped."""
    ours = method in ("dmt", "dmat", "dmat_i")
    if filter is None:
        filter = GNNBP_CORA if ours else "none"
    said = {
        "dataset": {"name": dataset} if isinstance(dataset, str) else dataset,
        "filter": {"name": filter} if isinstance(filter, str) else filter,
        "method": {"name": method, **(PAPER_CORA if ours else {}), **settings},
        "negatives": {"name": negatives} if isinstance(negatives, str) else negatives,
    }
    names = {f"{kind}.name": values["name"] for kind, values in said.items()}
    unnamed = unnamed_settings(names)
    for key, value in shipped_settings(names).items():
        kind, _, leaf = key.partition(".")
        if kind != "dataset" and key not in unnamed:
            said[kind] = {**said[kind], leaf: said[kind].get(leaf, value)}
    spec = RunSpec(
        **said,
        task={"name": task, **TASK_SETTINGS.get(task, {}), **(task_settings or {})},
        seed=seed,
        versions={"task": "1", "method": version_of(method)},
        dataset_hash="f" * 64,
    )
    values = {"acc": 0.7 + 0.01 * seed} if metrics is None and status == "ok" else metrics or {}
    return Record(
        spec.id,
        asdict(spec),
        status,
        values,
        reason=reason,
        environment={"commit": commit},
        created=created,
    )


def version_of(method: str) -> str:
    """The code's."""
    entry = METHODS.entries.get(method)
    return declared(METHODS, method).version if entry and entry.builtin else "1"


@pytest.fixture
def record() -> Callable[..., Record]:
    return make_record


@pytest.fixture
def points(monkeypatch) -> Iterator[list[EntryPoint]]:
    """The entry points of other packages; a test appends."""
    found: list[EntryPoint] = []
    monkeypatch.setattr(
        discovery, "entry_points", lambda group: [*found] * (group == discovery.GROUP)
    )
    for cache in CACHES:
        cache.cache_clear()
    yield found
    for cache in CACHES:
        cache.cache_clear()
