"""The phases of a run that its unit's tasks share: split, hide, filter, fit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from gclbench.component.components import Components
from gclbench.component.settings import of_this_machine
from gclbench.data.mirror import cache_folder
from gclbench.data.splits import Split
from gclbench.embedding import Embedding
from gclbench.filters.cache import cached, uncached
from gclbench.graph import Unsupported, is_sparse, with_features, without_labels
from gclbench.graph.carrier import Data
from gclbench.machine import environment, precision, subnormal
from gclbench.negatives.refusal import refusal
from gclbench.records import RunSpec
from gclbench.run import datasets
from gclbench.run.abilities import names_of, weights_refusal, with_readable_features
from gclbench.run.clock import Clock
from gclbench.run.collapse import collapse_of
from gclbench.run.datasets import Loaded
from gclbench.run.returned import number, plain, scores_of
from gclbench.run.source_code import outside_code, outside_code_of_run
from gclbench.tasks import judging
from gclbench.tasks.criteria import value_of
from gclbench.tasks.scores import Scores
from gclbench.training.fence import fenced
from gclbench.training.streams import Streams
from gclbench.training.watch import Diverged, Watch

LOOKED_AT = 1 << 20
"""Entries of a tensor that are looked at, to see whether a method wrote into it."""


class Pipeline:
    """The phases of one unit, each timed, and what the record says of them.

    Args:
        spec: of the unit's first run; its runs differ by their tasks only.
        device: `cpu`, `cuda` or `cuda:1`.
        asked: precision of the training's products: `auto`, `float32` or `fast`.

    Attributes:
        graph: the dataset as loaded.
        filter_report: what the filter's solver did, once it has run.
        fit_report: what the training found besides its losses, once it has ended.
        collapsed: why its embedding tells the items not apart, as sentences.
    """

    def __init__(
        self,
        components: Components,
        spec: RunSpec,
        loaded: Loaded,
        watch: Watch,
        device: str,
        asked: str = precision.AUTO,
    ):
        self.graph = loaded.graph
        self.rng = Streams(spec.seed)
        self.watch = watch
        self.memory = environment.PeakMemory(device)
        self.clock = Clock(loaded.seconds)
        self.filter_report: dict[str, Any] = {}
        self.fit_report: dict[str, Any] = {}
        self.collapsed: tuple[str, ...] = ()
        self._told: list[tuple[Any, str]] = []
        self._visible = loaded.graph
        self._components = components
        # Now, since somebody may edit a file while this trains.
        self._codes = {
            name: outside_code_of_run(components, task) for name, task in components.tasks.items()
        }
        self._spec = spec
        self._device = device
        self._products = precision.resolved(asked, spec.method, spec.negatives["name"], device)

    @property
    def precision(self) -> str:
        """Of the products so far: `fast` once a training has stepped so, else `float32`."""
        return precision.FAST if self.fast else precision.FLOAT32

    @property
    def fast(self) -> str:
        """What is fast in the training so far (`precision.ways`); empty for float32, and before a
        step."""
        return self._products if self.watch.reached else ""

    @contextlib.contextmanager
    def _phase(self, name: str, component: Any, method: str) -> Iterator[None]:
        """A phase of the run: timed, and fenced off from what the process has once (`fenced`). What
        the component's method has changed of that is put back, and remarked."""
        # What a filter gives is kept for all seeds.
        seed = 0 if name == "filter" else self.rng.integer(f"global {name}")
        changed: list[str] = []
        try:
            with self.clock.phase(name), fenced(seed) as changed:
                yield
        finally:
            # All tasks of the unit share what its filter and its training did.
            owner = component if name in ("split", "evaluate") else None
            self._told += [
                (
                    owner,
                    f"{type(component).__qualname__}.{method} changed {what} for the whole process;"
                    " it was set back.",
                )
                for what in changed
            ]

    def code(self, task: str) -> str:
        """Digits of the code of components that are not gclbench's own; empty where all are."""
        return self._codes[task]

    def remarks_of(self, task: str) -> list[str]:
        """What the components did besides in a task's run, as sentences."""
        mine = (None, self._components.tasks[task])
        return list(dict.fromkeys(text for owner, text in self._told if owner in mine))

    def check(self, task: Any) -> None:
        """Whether the method and its strategy suit the task and the graph.

        Raises:
            Unsupported: when the method takes no strategy for negatives and one was chosen, or
                chooses by a validation score that the task does not give, or learns from labels
                that it does not reveal; when the graph has edge weights that a component does not
                use.
        """
        method, names = self._components.method, names_of(self._spec)
        strategy = self._components.negatives
        reason = (
            refusal(method, names["method"], names["negatives"], strategy)
            or judging.unlabelled(names["method"], method, self._spec.task["name"], task)
            or judging.refusal(method, task)
            or weights_refusal(self.graph, self._components, names)
        )
        if reason is not None:
            raise Unsupported(reason)

    def split(self, task: Any) -> Split | None:
        """What the task holds out; None where it holds out nothing."""
        with self._phase("split", task, "split"):
            return task.split(self.graph, self.rng)

    def hide(self, task: Any, split: Split | None) -> tuple[Data, Tensor | list[Tensor]]:
        """The graph that a training may see, and the labels (n,), −1 where they are unknown; for a
        method that learns from labels and a task with folds a list of them, one for each fold."""
        method = self._components.method
        with self._phase("hide", task, "hide"):
            self._visible = visible = task.hide(self.graph, split)
            if judging.reads_validation(method):
                visible = judging.judged(visible, task, split)
            if judging.trains_apart(method, task):
                visible = judging.set_apart(visible, task, split)
            if method.needs_labels:
                reveal = task.fold_labels if judging.per_fold(method, task) else task.labels
                return visible, reveal(self.graph, split)
            # Only a method that declares that it needs labels sees those that a task reveals.
            return visible, torch.full((self.graph.items,), -1, dtype=torch.long)

    def filter(self, task: Any, visible: Data) -> Data:
        """The visible graph with filtered features and no labels, on the device.

        Raises:
            Unsupported: when features would have to be dense and do not fit the memory so.
        """
        component, folder = self._components.filter, cache_folder() / "filtered"
        visible = with_readable_features(visible, self._components, names_of(self._spec))
        with self._phase("filter", component, "apply"):
            if task.hides or self._spec.filter["name"] == "none":
                # A graph with held-out edges is another one for every seed. Its features would
                # fill the disk and never be read again.
                filtered, hit = uncached(component, visible, folder, self._device), False
            else:
                parameters = {
                    **self._spec.filter,
                    **of_this_machine(component),
                    "version": component.version,
                    **({"code": code} if (code := outside_code([component])) else {}),
                }
                filtered, hit = cached(component, parameters, visible, folder, self._device)
        self.filter_report = {**filtered.report, "cached": hit}
        return without_labels(with_features(visible, filtered.x)).to(self._device)

    def fits(self, seen: Data, labels: Tensor | list[Tensor]) -> Embedding | list[Embedding]:
        """The method's embedding; of several labels an embedding each, of trainings that start
        alike. The record then has the curve and the findings of the last."""
        if isinstance(labels, Tensor):
            return self.fit(seen, labels)
        found = []
        for place, one in enumerate(labels):
            self.watch.share = place, len(labels)
            found.append(self.fit(seen, one))
        return found

    def fit(self, seen: Data, labels: Tensor) -> Embedding:
        """The method's embedding.

        Raises:
            TypeError: when the method returns something else, or changed the graph.
            Diverged: when the embedding is not finite.
            Unsupported: when it has no columns.
        """
        method, negatives = self._components.method, self._components.negatives
        taken = {"negatives": negatives} if getattr(method, "takes_negatives", False) else {}
        before = _marks(seen)
        fitting = self._phase("fit", method, "fit")
        with fitting, subnormal.flushed(), precision.trained_with(self._products):
            found = method.fit(seen, labels.to(self._device), self.rng, self.watch, **taken)
            if self._device.startswith("cuda"):
                torch.cuda.synchronize(self._device)
        if written := [key for key, mark in _marks(seen).items() if mark != before[key]]:
            # Later runs of this process load the dataset anew instead of the changed one.
            datasets.load.cache_clear()
            raise TypeError(
                f"{type(method).__qualname__}.fit wrote into graph.{' and graph.'.join(written)},"
                " which other runs share; work on a copy, such as x = graph.x.clone()"
            )
        where = f"{type(method).__qualname__}.fit"
        found = Embedding.of(found, where)
        if not found.z.shape[1]:
            raise Unsupported(
                f"the method's embedding has {len(found.z)} rows and no columns, and tells nothing"
                " apart; choose another method, or other settings of it"
            )
        entries = found.z.values() if is_sparse(found.z) else found.z
        if not bool(torch.isfinite(entries).all()):
            raise Diverged("the embedding holds NaN or infinite values")
        if self._spec.filter["name"] != "none":
            # Another graph's features would reach it unfiltered.
            found = replace(found, encode=None)
        if found.scores is not None and not bool(torch.isfinite(found.scores).all()):
            raise Diverged("the class scores hold NaN or infinite values")
        self.collapsed = tuple(dict.fromkeys([*self.collapsed, *collapse_of(found)]))
        contrast, self.fit_report = found.contrast, {}
        # What a strategy finds in an encoder that was not trained says nothing of it.
        if self.watch.reached or (contrast is None and (found.findings or found.remarks)):
            cosine = {} if contrast is None else {"mean_cosine": contrast.mean_cosine()}
            told = {"findings": found.findings, "remarks": list(found.remarks)}
            told = plain(told, "findings or remarks", where)
            self.fit_report = {**cosine, **told["findings"], "remarks": told["remarks"]}
        return found

    def evaluate(
        self, task: Any, embedding: Embedding | list[Embedding], split: Split | None
    ) -> tuple[Scores, dict[str, Any]]:
        """(metrics, what the task keeps for a figure) of what `fits` returned.

        Raises:
            TypeError, ValueError: when the task returns something else (`run.returned`).
        """
        name, keeps = type(task).__qualname__, getattr(task, "data", None)
        with self._phase("evaluate", task, "evaluate"):
            found = task.evaluate(embedding, self.graph, split, self.rng)
            scores = scores_of(found, f"{name}.evaluate")
            kept = {} if keeps is None else keeps(embedding, self.graph, split, self.rng)
        if not isinstance(kept, Mapping):
            kind = type(kept).__name__
            raise TypeError(f"{name}.data must return values by name, and returned {kind}")
        return scores, plain(kept, "data", f"{name}.data")

    def course(
        self, task: Any, embedding: Embedding | list[Embedding], split: Split | None
    ) -> list[tuple[int, dict[str, float]]]:
        """(iterations, metrics) of the embeddings on the way; empty where none were kept. Of
        clusters also their `stability`: how far they are those of the embedding before.

        Raises:
            Unsupported: when the task needs more of an embedding than its rows.
        """
        with self._phase("evaluate", task, "evaluate"):
            found: list[tuple[int, dict[str, float]]] = []
            before = None
            for iterations, passed in _on_the_way(embedding):
                scores = scores_of(
                    task.evaluate(passed, self.graph, split, self.rng),
                    f"{type(task).__qualname__}.evaluate",
                )
                found.append((iterations, {**scores, **scores.since(before)}))
                before = scores
            return found

    def criterion(
        self, name: str, task: Any, embedding: Embedding, split: Split | None
    ) -> float | None:
        """The value of what a search chooses by (`tasks.criteria`); None where it has none."""
        with self._phase("evaluate", task, "evaluate"):
            loss = self.watch.last_loss
            found: Any = value_of(name, task, self._visible, split, embedding, loss, self.rng)
            where = type(task).__qualname__
            return None if found is None else number(found, f"criterion '{name}'", where)


def _marks(graph: Data) -> dict[str, tuple[int, float]]:
    """By name of a tensor that runs share, what changes when somebody writes into it: torch's
    count of writes, and the sum of some rows, for those who write past torch."""
    found = {}
    for key in ("x", "edge_index", "edge_weight"):
        tensor = graph.get(key)
        if tensor is None:
            continue
        if is_sparse(tensor):
            tensor = tensor.values()
        rows = tensor.T if key == "edge_index" else tensor
        some = rows[:: max(1, rows.numel() // LOOKED_AT)]
        version = 0 if tensor.is_inference() else tensor._version
        found[key] = version, float(some.sum(dtype=torch.float64))
    return found


def _on_the_way(
    embedding: Embedding | list[Embedding],
) -> Iterator[tuple[int, Embedding | list[Embedding]]]:
    """The course of what `fits` returned: iterations, and an embedding or one for each fold."""
    if isinstance(embedding, Embedding):
        yield from embedding.on_the_way()
        return
    for passed in zip(*(one.on_the_way() for one in embedding), strict=True):
        yield passed[0][0], [each for _, each in passed]
