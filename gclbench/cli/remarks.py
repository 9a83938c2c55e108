"""What is said before a command runs: what its words stand for, where that is not plain, and what
was mended in a user's graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from gclbench.component.registry import METHODS
from gclbench.records import NAMED_BY_USER

if TYPE_CHECKING:
    from gclbench.config.validation import Experiment
    from gclbench.launch.plan import Plan


def say_seeds(experiments: list[Experiment], plan: Plan, say: Callable[[str], None]) -> None:
    """`seeds=42` is a number of seeds and not seed 42: says so."""
    seeds = experiments[0].seeds
    counted = len(seeds) > 1 and seeds == tuple(range(len(seeds)))
    if counted and all(each.seeds == seeds for each in experiments):
        say(f"{len(plan.ids)} runs: seeds 0 to {len(seeds) - 1}")


def say_methods(
    commands: list[list[str]], experiments: list[Experiment], say: Callable[[str], None]
) -> None:
    """Which method a typed name stands for on a dataset, where it is another one."""
    said: set[str] = set()
    for words, experiment in zip(commands, experiments, strict=True):
        method, dataset = (experiment.settings[kind]["name"] for kind in ("method", "dataset"))
        for word in words:
            typed = word.removeprefix("method=").strip("'\"")
            # A name of a user's own config is no method's.
            if word.startswith("method=") and typed != method and typed in METHODS.entries:
                said.add(f"method={typed} on {dataset} is {method}")
    for text in sorted(said):
        say(text)


def say_splits(
    commands: list[list[str]], experiments: list[Experiment], say: Callable[[str], None]
) -> None:
    """That a method which learns from labels is given random nodes, where the words chose no
    protocol."""
    drawn: dict[str, list[str]] = {}
    for words, experiment in zip(commands, experiments, strict=True):
        task = experiment.settings["tasks"].get("classification")
        typed = any(word.lstrip("+").startswith("task.classification.protocol=") for word in words)
        if experiment.components.method.needs_labels and task is not None and not typed:
            drawn.setdefault(task["protocol"], []).append(experiment.settings["method"]["name"])
    for protocol, methods in drawn.items():
        if protocol.startswith("random"):
            say(
                f"{', '.join(dict.fromkeys(methods))}: every seed draws its training nodes at"
                f" random (task.classification.protocol={protocol})"
            )


def say_precision(experiments: list[Experiment], plan: Plan, say: Callable[[str], None]) -> None:
    """Where `precision=fast` is float32 all the same, and how many recorded runs have another
    precision than the one that is asked for."""
    from gclbench.machine import precision

    wanted: set[str] = set()
    exact: dict[str, None] = {}
    for each in experiments:
        if each.precision == precision.AUTO or each.launcher_name != "local":
            continue  # elsewhere the machine is another one
        method, negatives = each.settings["method"], each.settings["negatives"]["name"]
        found = precision.resolved(each.precision, method, negatives, each.device)
        wanted.add(precision.FAST if found else precision.FLOAT32)
        if each.precision == precision.FAST and not found:
            why = (
                f"τ is below {precision.LEAST_TEMPERATURE}"
                if precision.ways(each.device)
                else f"{each.device} has no fast products here"
            )
            exact[f"{method['name']}: precision=fast is float32, since {why} (gclbench doctor)"] = (
                None
            )
    for text in exact:
        say(text)
    others = [
        record
        for record in plan.done.values()
        if record.fit.get("iterations")  # k-means has no step that could be fast
        and record.environment.get("precision", precision.FLOAT32) not in wanted
    ]
    if wanted and others:
        say(
            f"of the recorded runs {len(others)} {'was' if len(others) == 1 else 'were'} made with"
            f" precision={'float32' if wanted == {precision.FAST} else 'fast'};"
            " runs_dir=FOLDER records both"
        )


def say_repairs(experiments: list[Experiment], say: Callable[[str], None]) -> None:
    """What was changed in a user's own graphs to make them graphs, once for each."""
    from gclbench.data.mirror import DataUnavailable
    from gclbench.graph import GraphError
    from gclbench.run import datasets

    own = {
        each.components.dataset: each.settings["dataset"]["name"]
        for each in experiments
        if NAMED_BY_USER in each.settings["dataset"]
    }
    for dataset, name in own.items():
        with contextlib.suppress(DataUnavailable, GraphError):  # told with the plan
            for repair in datasets.load(dataset).graph.repairs:
                say(f"{name}: {repair}")
