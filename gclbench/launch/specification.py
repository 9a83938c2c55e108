"""From an experiment to what one of its runs is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gclbench.records import RunSpec

if TYPE_CHECKING:
    # Imported where it is needed: what only reads a sweep does not wait for Hydra.
    from gclbench.config.validation import Experiment


def specification(experiment: Experiment, task: str, seed: int, dataset_hash: str) -> RunSpec:
    """What one run of an experiment is.

    Args:
        dataset_hash: content hash of the dataset's graph.
    """
    settings, components = experiment.settings, experiment.components
    versions = {
        "protocol": components.tasks[task].version,
        "method": components.method.version,
        "filter": components.filter.version,
    }
    if settings["negatives"]["name"] != "uniform":
        # Uniform negatives have no version in the id: records from before there were strategies
        # keep their ids.
        versions["negatives"] = components.negatives.version
    return RunSpec(
        dataset=settings["dataset"],
        filter=settings["filter"],
        method=settings["method"],
        negatives=settings["negatives"],
        task=settings["tasks"][task],
        seed=seed,
        versions=versions,
        dataset_hash=dataset_hash,
    )
