"""The datasets of a process: loaded once for the runs that share them."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gclbench.data.mirror import DataUnavailable
from gclbench.graph import Graph, GraphError, bytes_of
from gclbench.graph.carrier import Data
from gclbench.training.fence import fenced

log = logging.getLogger(__name__)

KEPT_BYTES = 1 << 30
"""Datasets stay in memory up to this size together; the last one always stays."""


@dataclass(frozen=True)
class Loaded:
    """A dataset's graph and the seconds that loading it took."""

    graph: Data
    seconds: float


def graph_of(dataset: Any) -> Graph:
    """What a dataset's `load` returns. Global generators start at 0 there, since all seeds of a
    sweep share a graph; of a global setting that it leaves changed a warning tells.

    Raises:
        DataUnavailable, GraphError: when it cannot be loaded, whatever its code raises, or when it
            is no graph. Runs on other datasets go on then.
    """
    name = f"{type(dataset).__qualname__}.load()"
    with fenced(0) as changed:
        graph = _loaded(dataset, name)
    for what in changed:
        log.warning("%s changed %s for the whole process; it was set back", name, what)
    if not isinstance(graph, Graph):
        raise GraphError(
            f"{name} must return gclbench.graph.make_graph(x, edge_index, y, NAME), and returned"
            f" {type(graph).__name__}"
        )
    return graph


def _loaded(dataset: Any, name: str) -> Any:
    try:
        return dataset.load()
    except (DataUnavailable, GraphError):
        raise
    except (Exception, SystemExit) as error:
        log.debug("%s", name, exc_info=error)
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise GraphError(f"{name} raised {text} ({_line_in(type(dataset), error)})") from error


def _line_in(cls: type, error: BaseException) -> str:
    """The last line of the class's own file on the way to an error; where it has none, the line
    that raised."""
    module = sys.modules.get(cls.__module__)
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if each.filename == getattr(module, "__file__", None)]
    last = (own or frames)[-1]
    return f"{Path(last.filename).name}, line {last.lineno}"


class Datasets:
    """Loads datasets and keeps the latest ones, since the runs of a sweep share them."""

    def __init__(self) -> None:
        self._kept: dict[Any, Loaded] = {}

    def __call__(self, dataset: Any) -> Loaded:
        """The dataset's graph.

        Raises:
            DataUnavailable, GraphError: when it cannot be loaded.
        """
        # A user's file may change while the process goes on.
        key = (dataset, getattr(dataset, "stamp", None))
        loaded = self._kept.pop(key, None)
        if loaded is None:
            started = time.perf_counter()
            graph = graph_of(dataset)
            loaded = Loaded(graph, time.perf_counter() - started)
        self._kept[key] = loaded
        while len(self._kept) > 1 and self._bytes() > KEPT_BYTES:
            self._kept.pop(next(iter(self._kept)))
        return loaded

    def cache_clear(self) -> None:
        """Forgets all of them."""
        self._kept.clear()

    def _bytes(self) -> int:
        return sum(_bytes(kept.graph) for kept in self._kept.values())


def _bytes(graph: Data) -> int:
    return sum(bytes_of(value) for _, value in graph if isinstance(value, torch.Tensor))


load = Datasets()
"""The datasets of this process."""
