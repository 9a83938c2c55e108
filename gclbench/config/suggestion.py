"""What to say of a key, or of the id of a table or figure, that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from gclbench.component.declared import declared, declared_or_none
from gclbench.component.registry import GROUPS, LAUNCHERS, METHODS, TASKS, nearest

CLOSER_THAN_THE_SAME_NAME = 0.85
"""From this likeness on, a key of the command is meant and not a component's setting of exactly the
name that was typed: `seed` is `seeds`."""

SYNONYMS = {
    "model": "method",
    "learning_rate": "lr",
    "temperature": "tau",
    "wd": "weight_decay",
    "l2": "weight_decay",
    "num_epochs": "epochs",
    "hidden_channels": "hidden",
}
"""Other libraries' names to ours."""


OPTIONS = {"dry_run": "--dry-run", "multirun": "-m", "config_dir": "--config-dir DIR"}
"""Options of a command that are typed as keys."""


def unknown_key(key: str, known: Mapping[str, Any]) -> str:
    """The sentence for a key that nothing chosen has, with the likeliest intended one.

    Args:
        known: every key that exists, such as `method.lr`, to its value.
    """
    if key == "seed":
        return (
            f"'{key}' does not exist. Did you mean 'seeds'? seeds=10 runs 0 to 9, seeds=[3] runs 3"
        )
    if key in OPTIONS:
        return f"'{key}' does not exist. Did you mean the option {OPTIONS[key]}?"
    if key in ("paper", "table"):
        return (
            f"'{key}' is no part of a run: `gclbench sweep table=PAPER/NUMBER` makes a table's"
            " runs, and `gclbench table PAPER/NUMBER` prints it"
        )
    if key == "dataset.path":
        return (
            f"'{key}' is a setting of your own graph: write dataset=custom dataset.path=FILE.npz"
            " or, for a collection of graphs, dataset=custom_graphs"
            " (`gclbench show dataset=custom` shows what the file holds)"
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
            if (found := declared_or_none(LAUNCHERS, name)) is not None and leaf in found.defaults
        ]
        hint = (
            f" Did you mean launcher={' or launcher='.join(having)}, with that setting?"
            if having
            else hint
        )
    if head in GROUPS and not family:
        hint = (hint if same_leaf else "") or _others_with(head, leaf)
        return f"'{key}' does not exist: {head}={known[f'{head}.name']} has no settings.{hint}"
    # In a sweep over methods, the one that lacks the setting.
    whose = f" of {head}={known[f'{head}.name']}" if family and f"{head}.name" in known else ""
    return f"'{key}' does not exist.{hint} Known{whose}: {', '.join(sorted(family) or tops)}"


def setting_of(word: str) -> str | None:
    """The key of the setting that a bare word such as `epochs` or `workers` stands for:
    `method.epochs`, `launcher.workers`; of `model` it is `method`. None where no method and no
    launcher has such a one."""
    setting = SYNONYMS.get(word, word)
    if setting in GROUPS:
        return setting
    for kind, registry in (("method", METHODS), ("launcher", LAUNCHERS)):
        having = (name for name in registry.names() if registry.entries[name].builtin)
        if any(setting in declared(registry, name).defaults for name in having):
            return f"{kind}.{setting}"
    return None


def _others_with(kind: str, setting: str) -> str:
    """Which filters or strategies have a setting that the chosen one lacks."""
    if kind not in ("filter", "negatives"):
        return ""
    registry = GROUPS[kind]
    having = [
        f"{kind}={name}"
        for name in registry.names()
        if registry.entries[name].builtin and setting in declared(registry, name).defaults
    ]
    return f" {' or '.join(having)} has it." if having else ""


def unknown_id(kind: str, name: str, known: Sequence[str]) -> str:
    """The sentence for a table or figure that does not exist.

    It names those of the same paper or number, or the nearest one, and all that exist.

    Args:
        kind: `table` or `figure`. known: ids, `PAPER/NUMBER`.
    """
    related = [each for each in known if name and name.lower() in each.split("/")]
    guess = nearest(name, list(known))
    likely = related or ([guess] if guess else [])
    shown = " or ".join(f"'{each}'" for each in likely[:4]) + (", …" if len(likely) > 4 else "")
    hint = f" Did you mean {shown}?" if likely else ""
    return f"there is no {kind} '{name}'.{hint} Known {kind}s: {', '.join(known)}"
