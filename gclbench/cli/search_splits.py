"""Whether a trial of a search could see what another seed tests on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gclbench.config.space import Space
    from gclbench.config.validation import Experiment

ONE_SPLIT = ("public", "pygcn")
"""Protocols whose split is the same for every seed, unless a graph comes with several."""

WITH_ONE_PUBLIC = ("cora", "citeseer", "pubmed")
"""Named datasets with one public split."""


def split_per_seed(
    experiments: Sequence[Experiment], criterion: str, spaces: Sequence[Space]
) -> str:
    """How a task's split depends on the seed in a way that would let a trial see what another seed
    tests on; "" where it does not.

    A task that hides edges hides others for every seed. Where each seed draws its labelled nodes,
    the score of the validation nodes depends on them, and so does every number of a training that
    reads labels: its loss, and the clusters of its embedding.

    Args:
        experiments: of one task, each method at its own setting. spaces: what each is searched in.
    """
    from gclbench.tasks.judging import reads_labels

    for experiment, space in zip(experiments, spaces, strict=True):
        (task,) = experiment.components.tasks.values()
        if task.hides:
            return "other edges are held out"
        protocol = getattr(task, "protocol", "")
        reads = criterion == "validation" or any(
            reads_labels(method) for method in _tried(experiment.components.method, space)
        )
        if reads and protocol and not (protocol in ONE_SPLIT and one_is_public(experiment)):
            return f"protocol={protocol}"
    return ""


def _tried(method: Any, space: Mapping[str, Any]) -> Iterator[Any]:
    """A method as it is, and with each value of its settings in a space by itself."""
    yield method
    for key, part in space.items():
        where, _, name = key.rpartition(".")
        for value in part.examples if where == "method" else ():
            # What cannot be set is told elsewhere.
            with contextlib.suppress(TypeError, ValueError):
                yield replace(method, **{name: value})


def one_is_public(experiment: Experiment) -> bool:
    """Whether no seed has a public split of its own: of wiki_cs there are twenty, and a graph of
    one's own may bring as many as it likes, so that it is looked at."""
    if not _of_a_file(experiment):
        return experiment.settings["dataset"]["name"] != "wiki_cs"
    return _splits(experiment) <= 1  # what has none, or cannot be read, its runs tell


def has_one_public(experiment: Experiment) -> bool:
    """Whether the dataset has a public split, and one alone. What is not here is not fetched to
    find out."""
    if not _of_a_file(experiment):
        return experiment.settings["dataset"]["name"] in WITH_ONE_PUBLIC
    return _splits(experiment) == 1


def _of_a_file(experiment: Experiment) -> bool:
    return hasattr(experiment.components.dataset, "stamp")


def _splits(experiment: Experiment) -> int:
    """How many public splits a file of one's own has; 0 where it cannot be read."""
    from gclbench.data.mirror import DataUnavailable
    from gclbench.graph import GraphError
    from gclbench.run import datasets

    try:
        mask = datasets.load(experiment.components.dataset).graph.get("train_mask")
    except (DataUnavailable, GraphError):
        return 0
    if mask is None:
        return 0
    return 1 if mask.dim() < 2 else int(mask.shape[1])
