"""What a task makes of a method's training: whether it judges embeddings on the way, whether it
reveals labels, and whether it has one training for all that it evaluates.

A task that can judge has `validation(graph, split)`: from the graph that a training may see to the
score of an embedding on the validation nodes or pairs, larger is better. A method asks for it by a
true `reads_validation`.

A task that makes what it scores from some of the items has `apart(graph, split)`: the mask of the
others. A method that learns on things of that kind says so by a true `trains_apart`, and takes its
own from those others.
"""

from __future__ import annotations

import copy
from typing import Any

from gclbench.data.splits import Split
from gclbench.graph import Graph
from gclbench.tasks.items import items_of

REVEALING = {"nodes": "classification", "graphs": "graph_classification"}
"""The task that reveals labels of training items, by kind of items."""

UNJUDGED = (
    "method.epoch_by=validation chooses by the task's validation nodes or pairs, and this task has"
    " none; task=classification and task=link_prediction have some, and method.epoch_by=last needs"
    " none"
)


def reads_validation(method: Any) -> bool:
    """Whether a method chooses by the validation score; not where it does not say."""
    return bool(getattr(method, "reads_validation", False))


def reads_labels(method: Any) -> bool:
    """Whether a method learns from labels, or chooses by those of the validation part."""
    return bool(method.needs_labels or reads_validation(method))


def of_one_task(method: Any, task: Any) -> bool:
    """Whether a training serves this task only: it depends on the task's split."""
    return bool(task.hides or reads_labels(method) or trains_apart(method, task))


def trains_apart(method: Any, task: Any) -> bool:
    """Whether a method keeps away from the items that a task made its own from."""
    return bool(getattr(method, "trains_apart", False) and hasattr(task, "apart"))


def per_fold(method: Any, task: Any) -> bool:
    """Whether a method is trained anew for each fold of a task, on the labels of the others."""
    return bool(method.needs_labels and hasattr(task, "fold_labels"))


def unkept(method_name: str, task_name: str) -> str:
    """Why `save` and `criterion` do nothing for a method that is trained per fold."""
    return (
        f"method={method_name} is trained once for each fold of task={task_name}, so there is no"
        " one embedding that save= could keep or criterion= could judge"
    )


def refusal(method: Any, task: Any) -> str | None:
    """Why a task does not suit a method that chooses by validation, as a sentence; else None.

    A method may say so in its own words, `unjudged`.
    """
    if not reads_validation(method) or hasattr(task, "validation"):
        return None
    return getattr(method, "unjudged", UNJUDGED)


def unlabelled(method_name: str, method: Any, task_name: str, task: Any) -> str | None:
    """Why a method of ours that learns from labels finds none in a task of ours, as a sentence;
    else None. Methods of other packages may do without, and their tasks may reveal some."""
    ours = all(type(one).__module__.startswith("gclbench.") for one in (method, task))
    if not method.needs_labels or not ours or task_name in REVEALING.values():
        return None
    return (
        f"method={method_name} learns from labels, and task={task_name} reveals none;"
        f" task={REVEALING[items_of(task)]} reveals those of its training {items_of(task)}"
    )


def judged(visible: Graph, task: Any, split: Split | None) -> Graph:
    """A shallow copy of what a training may see, with the task's score as its `validation`."""
    changed = copy.copy(visible)
    changed.validation = task.validation(visible, split)
    return changed


def set_apart(visible: Graph, task: Any, split: Split | None) -> Graph:
    """A shallow copy of what a training may see, with the items that it may train on as its
    `left_by_task` (n, bool)."""
    changed = copy.copy(visible)
    changed.left_by_task = task.apart(visible, split)
    return changed
