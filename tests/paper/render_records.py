"""Made-up records for the tests of rendered tables."""

from __future__ import annotations

from gclbench.paper.sources import Collection


def collection(records, store: str = "results") -> Collection:
    return Collection(tuple(records), {item.id: store for item in records}, (store,))


def runs(record):
    good = [record(seed=seed, metrics={"acc": 0.70 + 0.001 * seed}) for seed in range(9)]
    return [*good, record(seed=9, status="oom", commit="def456")]


def ranked_runs(record):
    """DMAT-i above k-means above the untrained encoder, in every seed."""
    noise = [0.001, -0.002, 0.003, 0.0, -0.001]
    return [
        record(seed=seed, metrics={"acc": mean + (1 + place) * noise[seed]}, **settings)
        for place, (mean, settings) in enumerate(
            [(0.705, {}), (0.5, {"method": "kmeans"}), (0.3, {"epochs": 0})]
        )
        for seed in range(5)
    ]


def apart(record):
    """Nine seeds of DMAT-i, and a failed one of k-means."""
    failed = record(method="kmeans", seed=9, status="oom", commit="def456")
    return [*runs(record)[:-1], failed]
