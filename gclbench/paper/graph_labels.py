"""What tells graphs of one dataset's name apart: two files, or two generated graphs, are two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gclbench.paper.aggregate import Group, differences
from gclbench.records import digest

OF_A_GRAPH = ("dataset", "versions.protocol")
"""Beginnings of the settings of a graph, its content's hash among them, and the version of how its
items are divided."""


def graph_key(flat: Mapping[str, Any]) -> str:
    """Equal for groups of one graph under one version of the task's protocol."""
    return digest({key: value for key, value in flat.items() if key.startswith(OF_A_GRAPH)})


def graph_labels(groups: Iterable[Group]) -> dict[str, str]:
    """Key of each graph to its label: the dataset's name, and what tells it from others of that
    name, as `sbm [nodes=100]`."""
    by_name: dict[str, dict[str, Group]] = {}
    for group in groups:
        by_name.setdefault(group.name("dataset"), {}).setdefault(graph_key(group.flat), group)
    found: dict[str, str] = {}
    for name, graphs in by_name.items():
        alone = [_graph_alone(group) for group in graphs.values()]
        for key, text in zip(graphs, differences(alone), strict=True):
            parts = [part for part in text.split(", ") if part.startswith(OF_A_GRAPH)]
            told = ", ".join(part.removeprefix("dataset.") for part in parts)
            found[key] = f"{name} [{told}]" if told else name
    return found


def _graph_alone(group: Group) -> Group:
    """The group's settings that may tell its graph from another."""
    kinds = {"dataset", "dataset_hash", "versions"}
    return Group({kind: value for kind, value in group.settings.items() if kind in kinds}, ())
