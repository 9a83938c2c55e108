"""What to say of a key that nothing chosen has."""

from __future__ import annotations

import difflib
from typing import Any

from gclbench.component.registry import KINDS, LAUNCHERS, TASKS, Registry, nearest

GROUPS: dict[str, Registry] = {**KINDS, "launcher": LAUNCHERS}
"""What is chosen by name: the kinds of components, and where runs go."""

CLOSER_THAN_THE_SAME_NAME = 0.85
"""Likeness from which a key of the command is meant rather than a component's setting of exactly
that name: `seed` is `seeds`."""

SYNONYMS = {
    "model": "method",
    "learning_rate": "lr",
    "temperature": "tau",
    "wd": "weight_decay",
    "l2": "weight_decay",
    "num_epochs": "epochs",
    "hidden_channels": "hidden",
}
"""What other libraries call our keys and settings."""


def unknown_key(key: str, known: dict[str, Any]) -> str:
    """The sentence for a key that nothing chosen has, with the likeliest intended one.

    Args:
        known: every key that there is, `method.lr`, and its value.
    """
    if key == "seed":
        return (
            f"'{key}' does not exist. Did you mean 'seeds'? seeds=10 runs 0 to 9, seeds=[3] runs 3"
        )
    head, _, leaf = key.rpartition(".")
    task = head.removeprefix("task.")
    chosen = sorted({name.split(".")[1] for name in known if name.startswith("task.")})
    if head == f"task.{task}" and task in TASKS.entries and task not in chosen:
        return (
            f"'{key}' is a setting of a task that is not chosen; task=[{','.join([*chosen, task])}]"
            " chooses it too"
        )
    settings = [name for name in known if not name.endswith(".name")]
    tops = sorted({*GROUPS, *(name for name in settings if "." not in name)})
    family = [name for name in settings if head and name.startswith(f"{key.partition('.')[0]}.")]
    same_leaf = [name for name in settings if name.rpartition(".")[2] == leaf]
    leaves = {name.rpartition(".")[2]: name for name in family or settings}
    top = nearest(key, tops) if not head else None
    if (
        top is not None
        and same_leaf
        and difflib.SequenceMatcher(None, key, top).ratio() < CLOSER_THAN_THE_SAME_NAME
    ):
        top = None
    other = SYNONYMS.get(leaf, leaf)
    guess = (
        top
        or next(iter(same_leaf), None)
        or leaves.get(nearest(other, list(leaves)) or "")
        or (other if other in tops else None)
    )
    hint = f" Did you mean '{guess}'?" if guess else ""
    if head == "launcher":
        having = [
            name
            for name in LAUNCHERS.names()
            if leaf in getattr(LAUNCHERS.load(name), "__dataclass_fields__", {})
        ]
        hint = (
            f" Did you mean launcher={' or launcher='.join(having)}, with that setting?"
            if having
            else hint
        )
    if head in GROUPS and not family:
        return f"'{key}' does not exist: {head}={known[f'{head}.name']} has no settings.{hint}"
    return f"'{key}' does not exist.{hint} Known: {', '.join(sorted(family) or tops)}"
