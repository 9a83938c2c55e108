"""A method and its settings as typed: what they stand for on a dataset, and which runs are theirs.

What is typed is a method's name, and overrides as for a run where there are any: `dmat_i`,
`grace method.tau=0.4`, `method=dmat_i filter=none`. On each dataset it stands for what these words
run there: the shipped settings, and what the words say instead.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from gclbench.component.declared import declared_or_none, marked
from gclbench.component.registry import DATASETS, KINDS, METHODS
from gclbench.component.settings import Machine, bind
from gclbench.config.overrides import OF_THE_COMMAND, ConfigErrors, parse
from gclbench.config.validation import resolved
from gclbench.paper import run_words
from gclbench.paper.aggregate import Group
from gclbench.paper.columns import typed
from gclbench.records import NAMED_BY_USER, flatten

CHOSEN = ("method", "filter", "negatives")
A_GRAPH, A_COLLECTION = "cora", "mutag"
"""Any graph and any collection of graphs: some names of methods stand for another one on each."""

NAMED = 8
"""So many recorded settings are named."""


def words_of(text: str, elsewhere: str) -> tuple[str, ...]:
    """The overrides that a text stands for, `method=…` the first.

    Args:
        elsewhere: what to say to settings that are none of a method, its filter and its negatives.

    Raises:
        UnknownName, ConfigErrors, ValueError: for a text that stands for nothing.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"'{text}' cannot be read: {error}") from error
    if words and "=" not in words[0]:
        METHODS.check(words[0])
        words[0] = f"method={words[0]}"
    errors: list[str] = []
    keys = [override.key_or_group for override in parse(words, errors)]
    errors += [
        f"'{key}' is no part of '{text}': {elsewhere}"
        for key in keys
        if key.partition(".")[0] in {*KINDS, "seeds", *OF_THE_COMMAND} - {*CHOSEN}
    ]
    if not errors and "method" not in keys:
        errors.append(f"'{text}' names no method; begin with one: 'dmat_i {text}'")
    if errors:
        raise ConfigErrors(errors)
    settings_anywhere(tuple(words))
    return tuple(words)


def methods_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """The methods that the words stand for, on nodes and on collections of graphs."""
    found = (stands_for(words, dataset).get("method.name") for dataset in (A_GRAPH, A_COLLECTION))
    return tuple(dict.fromkeys(str(name) for name in found if name is not None))


def origin(flat: Mapping[str, Any]) -> str:
    """Under which name the dataset of flattened settings is registered: `custom` of a user's own
    graph."""
    return str(flat.get(f"dataset.{NAMED_BY_USER}", flat["dataset.name"]))


@cache
def settings_of(words: tuple[str, ...], dataset: str) -> dict[str, Any]:
    """What the words set on a dataset, flattened: method, filter and negatives.

    Args:
        dataset: the name under which it is registered.
    """
    known = [f"dataset={dataset}"] if declared_or_none(DATASETS, dataset) else []
    values = resolved([*words, *known])
    found = flatten({kind: values[kind] for kind in CHOSEN})
    # How a run is computed, or what is kept of it, does not tell runs apart.
    own = {
        f"{kind}.{setting}"
        for kind in CHOSEN
        if (name := str(found[f"{kind}.name"])) in KINDS[kind].entries
        for setting in marked(KINDS[kind], name, Machine)
    }
    return {key: value for key, value in found.items() if key not in own}


def stands_for(words: tuple[str, ...], dataset: str) -> dict[str, Any]:
    """The same; nothing where the words have no meaning there, as a setting of GCN on collections
    has none on nodes."""
    try:
        return settings_of(words, dataset)
    except ConfigErrors:
        return {}


def settings_anywhere(words: tuple[str, ...]) -> dict[str, Any]:
    """What the words set, of the method as typed; where they mean nothing so, on a graph or on a
    collection of graphs.

    Raises:
        ConfigErrors: where they mean nothing anywhere.
    """
    try:
        return settings_of(words, "")
    except ConfigErrors:
        if found := stands_for(words, A_GRAPH) or stands_for(words, A_COLLECTION):
            return found
        raise


def check_values(words: tuple[str, ...]) -> None:
    """Whether a run would take the values that the words set, so that no command is advised which
    is refused.

    It imports the components, which takes seconds: it is for words without runs.

    Raises:
        ConfigErrors: as a run's, where they fit neither a graph nor a collection of graphs.
    """
    if not any("." in word.partition("=")[0] for word in words):
        return
    told: list[list[str]] = []
    for dataset in ("", A_GRAPH, A_COLLECTION):
        if stands_for(words, dataset):
            values = resolved([*words, *([f"dataset={dataset}"] if dataset else [])])
            errors: list[str] = []
            for kind in CHOSEN:
                given = dict(values[kind])
                bind(KINDS[kind].load(str(given.pop("name"))), given, kind, errors)
            if not errors:
                return
            told.append(errors)
    if told:
        raise ConfigErrors(told[0])


def departing(words: tuple[str, ...], flat: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """How flattened settings differ from what the words stand for: setting to (recorded, asked);
    empty for runs of theirs.

    A setting that a record does not have counts as at its class's default.
    """
    wanted = stands_for(words, origin(flat))
    if not wanted:
        return {"method.name": (str(flat["method.name"]), "")}
    theirs = {key: value for key, value in flat.items() if key.partition(".")[0] in CHOSEN}
    usual = {
        f"{kind}.{key}": value
        for kind in CHOSEN
        if (said := declared_or_none(KINDS[kind], str(flat.get(f"{kind}.name"))))
        for key, value in said.defaults.items()
    }
    found = {
        key: (typed(theirs.get(key, usual.get(key))), typed(wanted.get(key, usual.get(key))))
        for key in dict.fromkeys((*wanted, *theirs))
        if key in theirs or key in usual
    }
    return {key: (ours, asked) for key, (ours, asked) in found.items() if ours != asked}


def no_runs(
    words: tuple[str, ...], text: str, where: str, groups: Iterable[Group], advice: Sequence[str]
) -> str:
    """That nothing is recorded of a text, how runs of its method differ from it, and what to type.

    Args:
        where: behind "has no runs", with a space before it; "" for nowhere at all.
        groups: the recorded settings that were looked through. advice: the command's words.

    Raises:
        ConfigErrors: for values that no run would take.
    """
    check_values(words)
    methods = methods_of(words)
    there = [name for name in methods if any(group.name("method") == name for group in groups)]
    recorded: dict[str, dict[str, None]] = {}
    for group in groups:
        if group.name("method") in methods:
            differs = departing(words, group.flat)
            what = ", ".join(f"{key}={ours}" for key, (ours, _) in differs.items())
            recorded.setdefault(what, {})[group.name("dataset")] = None
    kinds = sorted(recorded, key=lambda what: (what.count(","), what))
    listed = [f"{what} ({', '.join(recorded[what])})" for what in kinds[:NAMED]]
    more = f"; and {len(kinds) - NAMED} more" if len(kinds) > NAMED else ""
    others = " and ".join(there)
    what = f" Recorded runs of {others} have: {'; '.join(listed)}{more}." if listed else ""
    return f"'{text}' has no runs{where}.{what} `{run_words.command(advice)}` makes them"


def label_of(flat: Mapping[str, Any]) -> str:
    """Recorded settings as a text that stands for them: `grace method.tau=0.4`; what the method
    states and what is shipped are left out."""
    method = str(flat["method.name"])
    if declared_or_none(METHODS, method) is None:
        return method
    names = [word for word in run_words.of_method(flat)[1:] if "." not in word.partition("=")[0]]
    words = (f"method={method}", *names)
    # That the words mean nothing here, as where a filter cannot be imported, is no setting.
    departs = {key: ours for key, (ours, _) in departing(words, flat).items()}
    settings = [f"{key}={ours}" for key, ours in departs.items() if key != "method.name"]
    return shlex.join([method, *names, *settings])
