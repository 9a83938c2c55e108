"""What may follow in a command line; answered without torch."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

from gclbench.cli.parser import KEYS
from gclbench.component.declared import declared
from gclbench.component.own_files import OPTION
from gclbench.component.registry import GROUPS, KINDS

USUAL_METHOD = "dmat_i"
TASKS_OWN = "task"

VALUES = {
    "rerun": "gclbench.config.validation:RERUN",
    "save": "gclbench.config.validation:SAVED",
    "tracking": "gclbench.tracking:TRACKERS",
    "criterion": "gclbench.tasks.criteria:LARGER_IS_BETTER",
    "sampler": "gclbench.cli.search:SAMPLERS",
    "table": "gclbench.paper.tables:TABLES",
}
"""Keys with few values, and where these stand."""

DEVICES = ("auto", "cpu", "cuda")

OF_A_SWEEP = ("paper", "table", "column")
WITH_SETTINGS = ("sweep", "submit", "search", "show", "compare")
"""Verbs that take KEY=VALUE."""


def candidates(words: list[str]) -> list[str]:
    """Whole words that the last of `words` may become, in order; empty where it is anything.

    Args:
        words: those after `gclbench`, the last one as far as it is typed.
    """
    *before, word = words
    verb = before[0] if before else ""
    return sorted(found for found in _offered(verb, before, word) if found.startswith(word))


def _offered(verb: str, before: list[str], word: str) -> list[str]:
    from gclbench.cli import VERBS

    if "=" in word:
        return _values(word)
    runs = verb not in VERBS
    if word.startswith("-"):
        return [*_options("run" if runs or verb == "submit" else verb), OPTION, "--help"]
    if before[1:] == [] and not runs:
        first = _first(verb)
        if first:
            return first
    if not runs and verb not in WITH_SETTINGS:
        return _files(before)
    found = [*VERBS, "-m"] if not before else []
    found += [f"{key}=" for key in KEYS]
    if verb == "search":
        from gclbench.cli.search import DEFAULTS

        found += [f"{key}=" for key in DEFAULTS]
    if verb == "sweep" or before[:2] == ["submit", "sweep"]:
        found += [f"{key}=" for key in OF_A_SWEEP]
    if verb == "compare":
        found += KINDS["method"].names()
    if before == ["show"]:
        found += _recorded()
    return [*found, *_settings(before, word)]


def _first(verb: str) -> list[str]:
    """What the first word after a verb may be; empty where it is anything."""
    match verb:
        case "list":
            return ["datasets", "filters", "methods", "negatives", "tasks"]
        case "data":
            return ["fetch", "verify", "path"]
        case "completion":
            return ["bash", "zsh", "fish"]
        case "submit":
            return ["-m", "sweep", *(f"{key}=" for key in KEYS)]
        case "table":
            from gclbench.paper.tables import TABLES

            return [*TABLES, "matrix", "own"]
        case "figure":
            from gclbench.paper.figures import FIGURES

            return [*FIGURES, "curve"]
        case "embed":
            return _recorded()
    return []


def _files(before: list[str]) -> list[str]:
    """Words after the first of a verb: names of datasets, or runs; else the shell offers files."""
    if before[:1] == ["data"]:
        return KINDS["dataset"].names()
    return _recorded() if before[:2] == ["figure", "curve"] else []


def _recorded() -> list[str]:
    """Ids of the runs in `runs`."""
    folder = Path("runs")
    found = folder.iterdir() if folder.is_dir() else iter(())
    return [path.name for path in found if (path / "record.json").is_file()]


def _values(word: str) -> list[str]:
    """`method=gr` to `method=grace`; in a list the last name is completed."""
    key, _, value = word.partition("=")
    if key in GROUPS:
        names = GROUPS[key].names()
    elif key in VALUES:
        module, _, name = VALUES[key].partition(":")
        names = [*getattr(importlib.import_module(module), name)]
    else:
        names = [*DEVICES] if key == "device" else []
    cut = max(value.rfind(","), value.rfind("["))
    return [f"{key}={value[: cut + 1]}{name}" for name in names]


def _settings(before: list[str], word: str) -> list[str]:
    """`method.lr=` and the like, of the components that the line has chosen, once a kind is
    typed."""
    kind, dot, _ = word.partition(".")
    if not dot or kind not in GROUPS:
        return [f"{kind}." for kind in GROUPS if word and kind.startswith(word)]
    if kind == TASKS_OWN:
        return [
            f"task.{name}.{setting}="
            for name in _names(before, "task") or KINDS["task"].names()
            for setting in declared(GROUPS["task"], name).defaults
        ]
    found: dict[str, None] = {}
    for name in _names(before, kind) or _usual(before, kind):
        found.update(dict.fromkeys(declared(GROUPS[kind], name).defaults))
    return [f"{kind}.{setting}=" for setting in found]


def _names(before: list[str], kind: str) -> list[str]:
    """The names that the line chooses, those that exist."""
    typed = next((word for word in before if word.startswith(f"{kind}=")), "")
    names = typed.partition("=")[2].strip("[]").split(",")
    return [name for name in names if name in GROUPS[kind].entries]


def _usual(before: list[str], kind: str) -> list[str]:
    """The names that are taken where the line chooses none."""
    if kind == "method":
        return [USUAL_METHOD]
    from gclbench.config.composition import all_names

    methods = _names(before, "method")
    return [str(all_names({"method": methods[0]} if methods else {})[kind])]


def _options(verb: str) -> list[str]:
    """The options of a verb, read from its source: to import it may take seconds."""
    path = Path(__file__).with_name(f"{verb}.py")
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            found += [
                text.value
                for text in node.args
                if isinstance(text, ast.Constant)
                and isinstance(text.value, str)
                and text.value.startswith("-")
            ]
    return found
