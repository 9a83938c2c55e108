"""Whether a trial of a search could see what another seed tests on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gclbench.config.validation import Experiment

ONE_SPLIT = ("public", "pygcn")
"""Protocols whose split is the same for every seed, unless a graph comes with several."""

MAY_READ = ("epoch_by", "train_on")
"""Settings of methods by which a training may come to read training or validation labels."""


def split_per_seed(
    experiments: Iterable[Experiment], criterion: str, searched: Collection[str]
) -> str:
    """How a task's split depends on the seed in a way that would let a trial see what another seed
    tests on; "" where it does not.

    A task that hides edges hides others for every seed. Where each seed draws its labelled nodes,
    the score of the validation nodes depends on them, and so does every number of a training that
    reads labels: its loss, and the clusters of its embedding.

    Args:
        experiments: of one task, each method at its own setting. searched: names of settings that
            trials differ in.
    """
    for experiment in experiments:
        (task,) = experiment.components.tasks.values()
        if task.hides:
            return "other edges are held out"
        protocol = getattr(task, "protocol", "")
        reads = criterion == "validation" or _reads_labels(experiment.components.method, searched)
        if reads and protocol and not (protocol in ONE_SPLIT and _one_is_public(experiment)):
            return f"protocol={protocol}"
    return ""


def _reads_labels(method: Any, searched: Collection[str]) -> bool:
    from gclbench.tasks.judging import reads_validation

    return bool(
        method.needs_labels or reads_validation(method) or any(key in searched for key in MAY_READ)
    )


def _one_is_public(experiment: Experiment) -> bool:
    """Whether the dataset comes with one split: of wiki_cs there are twenty, and a graph of one's
    own may bring as many as it likes."""
    from gclbench.data.mirror import DataUnavailable
    from gclbench.graph import GraphError
    from gclbench.run import datasets

    try:
        graph = datasets.load(experiment.components.dataset).graph
    except (DataUnavailable, GraphError):
        return experiment.settings["dataset"]["name"] != "wiki_cs"
    mask = graph.get("train_mask")
    return mask is None or mask.dim() < 2 or mask.shape[1] < 2
