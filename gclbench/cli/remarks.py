"""What is said before a command runs: what its words stand for, where that is not plain, and what
was mended in a user's graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

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
    from gclbench.machine.precision import AUTO, FAST, FLOAT32, LEAST_TEMPERATURE, resolved, ways

    asked = {each.precision for each in experiments}
    # Elsewhere the machine is another one.
    here = all(each.launcher_name == "local" for each in experiments)
    if len(asked) > 1 or AUTO in asked or not here:
        return
    (wanted,), device = asked, experiments[0].device

    def is_fast(method: Mapping[str, Any], negatives: Mapping[str, Any]) -> bool:
        return bool(resolved(wanted, method, negatives["name"], device))

    exact = dict.fromkeys(
        each.settings["method"]["name"]
        for each in experiments
        if not is_fast(each.settings["method"], each.settings["negatives"])
    )
    if wanted == FAST and exact:
        why = (
            f"since τ is below {LEAST_TEMPERATURE}"
            if ways(device)
            else f"since {device} has no fast products here (gclbench doctor)"
        )
        say(f"precision=fast is float32 for {', '.join(exact)}, {why}")
    others = [
        record
        for record in plan.done.values()
        if record.fit.get("iterations")  # k-means has no step that could be fast
        and record.environment.get("precision", FLOAT32) != wanted
        and (wanted == FLOAT32 or is_fast(record.spec["method"], record.spec["negatives"]))
    ]
    if others:
        say(
            f"of the recorded runs {len(others)} {'was' if len(others) == 1 else 'were'} made with"
            f" precision={FLOAT32 if wanted == FAST else FAST}; rerun=all replaces them,"
            " runs_dir=FOLDER keeps both"
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
