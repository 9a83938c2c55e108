"""Wiki-CS (Mernyei and Cangea, 2020): one JSON file with 20 public splits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gclbench.component.registry import DATASETS
from gclbench.data import catalog, mirror
from gclbench.graph import Graph, GraphError, make_graph


def read_wiki_cs(path: Path, repairs: tuple[str, ...] = ()) -> Graph:
    """The graph of a Wiki-CS `data.json`.

    Keys read: `features` (N×F), `labels` (N), `links` (a list of targets for each node),
    `train_masks` and `val_masks` (splits×N), `test_mask` (N). The hyperlinks are directed; the
    graph is made undirected (recorded).

    Args:
        repairs: sentences to record first.

    Raises:
        GraphError: not JSON, a missing key, or values of a wrong shape.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            content = json.load(stream)
    except ValueError as error:
        raise GraphError(f"{path} is not JSON: {error}") from error
    x = _array(content, "features", np.float32, path)
    y = _array(content, "labels", np.int64, path)
    links = _links(content, path)
    if len(links) != x.shape[0]:
        raise GraphError(f"{path}: 'links' has {len(links)} entries for {x.shape[0]} nodes")
    heads = np.repeat(np.arange(len(links)), [len(targets) for targets in links])
    tails = np.array([target for targets in links for target in targets], dtype=np.int64)
    masks = {
        "train_mask": _array(content, "train_masks", np.bool_, path).T,
        "val_mask": _array(content, "val_masks", np.bool_, path).T,
        "test_mask": _array(content, "test_mask", np.bool_, path),
    }
    return make_graph(x, np.stack([heads, tails]), y, "wiki_cs", masks=masks, repairs=repairs)


def _array(content: Any, key: str, dtype: type, path: Path) -> np.ndarray:
    try:
        return np.array(_value(content, key, path), dtype=dtype)
    except (TypeError, ValueError) as error:
        raise GraphError(f"{path}: '{key}' is no array of numbers: {error}") from error


def _links(content: Any, path: Path) -> list[list[int]]:
    links = _value(content, "links", path)
    if not isinstance(links, list) or not all(
        isinstance(targets, list) and all(type(t) is int for t in targets) for targets in links
    ):
        raise GraphError(f"{path}: 'links' must hold a list of node ids for each node")
    return links


def _value(content: Any, key: str, path: Path) -> Any:
    if not isinstance(content, dict) or key not in content:
        known = ", ".join(sorted(content)) if isinstance(content, dict) else "no keys at all"
        raise GraphError(f"{path} has no '{key}'; it has {known}")
    return content[key]


@DATASETS.register("wiki_cs")
@dataclass(frozen=True)
class WikiCS:
    """Wiki-CS, 11701 Wikipedia articles in 10 fields of computer science, with 20 public splits"""

    def load(self) -> Graph:
        """The graph. Raises DataUnavailable without the file."""
        (located,) = mirror.resolve(catalog.info("wiki_cs"))
        return read_wiki_cs(located.path, (located.remark,) if located.remark else ())
