"""What methods make of a small graph, by the pipeline of every run."""

from __future__ import annotations

from torch import Tensor

from gclbench.component.registry import METHODS
from gclbench.component.settings import defaults
from gclbench.config.validation import experiment_of
from gclbench.embedding import Embedding
from gclbench.graph import Graph
from gclbench.launch.specification import specification
from gclbench.methods.mvgrl_settings import MvgrlSettings
from gclbench.run.datasets import Loaded
from gclbench.run.pipeline import Pipeline
from gclbench.training.watch import Watch

SMALL = {
    "epochs": "2",
    "patience": "0",
    "architecture": "[8,6]",
    "hidden": "6",
    "batch_size": "12",
    "pretrain_epochs": "2",
    "max_order": "3",
    "repetitions": "1",
    "n_init": "1",
    "walks": "2",
    "length": "5",
}


def of_collections(method: str) -> set[str]:
    """Settings that the method refuses on a single graph."""
    return {"batch_size"} if issubclass(METHODS.load(method), MvgrlSettings) else set()


def embedding(graph: Graph, *overrides: str) -> Tensor:
    """N×d, after two steps or so."""
    return embedded(graph, *overrides).z.detach()


def embedded(graph: Graph, *overrides: str) -> Embedding:
    """The same, with what else a method returns."""
    (method,) = (text.partition("=")[2] for text in overrides if text.startswith("method="))
    known = {*defaults(METHODS.load(method))} - of_collections(method)
    settings = [f"method.{key}={value}" for key, value in SMALL.items() if key in known]
    experiment = experiment_of(
        ["dataset=sbm", "task=classification", *settings, *overrides, "device=cpu"]
    )
    components, task = experiment.components, experiment.components.tasks["classification"]
    spec = specification(experiment, "classification", 3, graph.content_hash)
    pipeline = Pipeline(components, spec, Loaded(graph, 0.0), Watch(), "cpu")
    pipeline.check(task)
    visible, labels = pipeline.hide(task, pipeline.split(task))
    return pipeline.fit(pipeline.filter(task, visible), labels)
