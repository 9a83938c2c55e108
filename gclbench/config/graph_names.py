"""Names of the users' own graphs of one sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gclbench.config.overrides import ConfigErrors
from gclbench.config.quoting import quoted
from gclbench.config.validation import Experiment
from gclbench.data.file_format import as_name
from gclbench.machine.paths import expanded
from gclbench.records import NAMED_BY_USER


def named_apart(experiments: Sequence[Experiment]) -> list[Experiment]:
    """The experiments, in which different files have different names.

    A graph is called after its file. Where two files of a sweep have one name, their folders'
    names are put before it.

    Raises:
        ConfigErrors: where they still have one, or the command gave it to both.
    """
    named = [_after_its_folder(one) if _shared(one, experiments) else one for one in experiments]
    for one in named:
        if _shared(one, named):
            name = one.settings["dataset"]["name"]
            first, second = sorted({_path(other) for other in named if _name(other) == name})[:2]
            raise ConfigErrors(
                [
                    f"dataset.name={name} is the name of two graphs, {first} and {second}; run them"
                    " by two commands with two names, or rename a file"
                ]
            )
    return named


def _shared(one: Experiment, experiments: Sequence[Experiment]) -> bool:
    """Whether another file has the name of an experiment's own graph."""
    return NAMED_BY_USER in one.settings["dataset"] and any(
        _name(other) == _name(one) and _path(other) != _path(one) for other in experiments
    )


def _after_its_folder(one: Experiment) -> Experiment:
    dataset = one.components.dataset
    if getattr(dataset, "called", None) is not None:
        return one
    name = as_name(f"{_path(one).parent.name or 'root'}_{_name(one)}")[:100]
    return replace(
        one,
        settings={**one.settings, "dataset": {**one.settings["dataset"], "name": name}},
        components=replace(one.components, dataset=replace(dataset, called=name)),
        overrides=(*one.overrides, f"dataset.name={quoted(name)}"),
    )


def _name(one: Experiment) -> str:
    return str(one.settings["dataset"]["name"])


def _path(one: Experiment) -> Path:
    return Path(expanded(getattr(one.components.dataset, "path", ""))).resolve()
