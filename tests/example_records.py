"""Records as examples, for the tests of records and of stores."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from gclbench.records import Record, RunSpec, id_of

SPEC = RunSpec(
    dataset={"name": "cora"},
    filter={"name": "gnnbp", "alpha": 0.1},
    method={"name": "dmat_i", "architecture": [256, 128]},
    negatives={"name": "uniform"},
    task={"name": "clustering"},
    seed=3,
    versions={"task": "1", "method": "1"},
    dataset_hash="ab" * 32,
)


def record(spec: RunSpec = SPEC, **fields: Any) -> Record:
    """The record of a run that is ok, unless fields say otherwise."""
    return Record(
        **{
            "id": spec.id,
            "spec": asdict(spec),
            "status": "ok",
            "metrics": {"acc": 0.5},
            "created": "2026-01-01T00:00:00",
            **fields,
        }
    )


def another(item: Record, seed: int) -> Record:
    """The record of the run of another seed, under its id."""
    spec = {**item.spec, "seed": seed}
    return replace(item, id=id_of(spec), spec=spec)


def full_record() -> Record:
    """One in which every field holds something."""
    return record(
        status="failed",
        reason="ValueError: ü ≠ u",
        traceback="line one\nline two \u2028 still two \x85 and \x1c here",
        seconds={"load": 0.1, "fit": 2.5},
        shared=["load"],
        memory={"rss_peak": 1 << 33},
        device="a processor",
        environment={"python": "3.11"},
        filter_report={"solver": "chebyshev", "sweeps": 27},
        split={"protocol": "random", "hash": "cd"},
        fit={"iterations": 2, "loss": 0.5, "curve": [[1, 1.0], [2, 0.5]]},
        repairs=["3 self-loop(s) dropped."],
        limits={"time": 60.0, "memory": 8.0},
        command="gclbench run dataset=cora",
    )
