"""A folder of a user's own configs: `--config-dir DIR`.

`DIR/config.yaml` has keys of the command, such as `seeds: 10`. `DIR/KIND/NAME.yaml` has settings of
a component, and may have a table `paper:` with a row per dataset, as gclbench's own files have.
A file of a new name starts from a component: with `defaults: [grace, _self_]` in
`method/mine.yaml`, `method=mine` is `method=grace` with other settings.

What the files say becomes part of the command: it is in the record, travels to workers and
clusters, and the command that repeats a run needs no folder. What is typed stands above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gclbench.component.declared import STATEMENTS, declared_or_none
from gclbench.component.registry import DATASETS, GROUPS, nearest
from gclbench.config.composition import all_names
from gclbench.config.named_settings import OF
from gclbench.config.overrides import SAME_AS, ConfigErrors, key_of
from gclbench.config.suggestion import unknown_key
from gclbench.config.value_text import text_of
from gclbench.records import flatten

STATED = STATEMENTS[:2]
"""Of a method's file: its filter and its strategy."""

ORDER = ("dataset", "method", "filter", "negatives", "launcher", "task")
"""A method may state a filter and a strategy, so it is read before them."""


def with_own_configs(folder: Path, commands: list[list[str]]) -> list[list[str]]:
    """Commands with what a folder says of them.

    Raises:
        ConfigErrors: when the folder or a file of it cannot be used.
    """
    strange = _strange(folder)
    if strange:
        raise ConfigErrors(strange)
    return [_extended(folder, command) for command in commands]


def own_names(folder: Path) -> set[str]:
    """The names that a folder's files have."""
    return {path.stem for kind in OF for path in (folder / kind).glob("*.yaml")}


def _strange(folder: Path) -> list[str]:
    """What is wrong with the folder as a whole."""
    if not folder.is_dir():
        no_such = "it is a file, not a folder" if folder.is_file() else "there is no such folder"
        return [f"--config-dir {folder}: {no_such}"]
    errors = []
    for path in sorted((*folder.rglob("*.yaml"), *folder.rglob("*.yml"))):
        relative = path.relative_to(folder)
        if path.suffix == ".yml":
            errors.append(
                f"--config-dir: {path} is read by nothing; name it {relative.with_suffix('.yaml')}"
            )
            continue
        if relative.as_posix() == "config.yaml":
            continue
        kind = relative.parts[0]
        if len(relative.parts) != 2 or kind not in GROUPS:
            guess = nearest(kind, list(GROUPS))
            hint = f" Did you mean {guess}/{relative.name}?" if guess else ""
            errors.append(
                f"--config-dir: {path} is read by nothing; files are config.yaml and"
                f" KIND/NAME.yaml, of the kinds {', '.join(GROUPS)}.{hint}"
            )
    return errors


def _extended(folder: Path, command: list[str]) -> list[str]:
    words = list(command)
    typed = {key_of(word) for word in words}

    def add(key: str, value: Any) -> None:
        if key not in typed:
            typed.add(key)
            words.append(f"{key}={text_of(value)}")

    chosen = _yaml(folder / "config.yaml")
    launcher = chosen.get("launcher")
    if isinstance(launcher, dict):  # whose `extra` is a mapping, and one setting
        del chosen["launcher"]
        chosen |= {f"launcher.{key}": value for key, value in launcher.items()}
    extra = {key: chosen.pop(key) for key in list(chosen) if key == "launcher.extra"}
    for key, value in {**flatten(chosen), **extra}.items():
        add(key, value)
    for kind in ORDER:
        for place, name in list(_chosen(words, kind)):
            base, settings = _of(folder, kind, name, _dataset(words))
            if base != name and place is not None:
                words[place] = _renamed(words[place], name, base)
            for statement in STATED:
                if statement in settings:
                    add(statement, settings.pop(statement))
            prefix = f"task.{base}" if kind == "task" else kind
            for key, value in settings.items():
                add(f"{prefix}.{key}", value)
    return words


def _chosen(words: list[str], kind: str) -> Iterator[tuple[int | None, str]]:
    """The names of a kind: (place of its word, name); place None for one that nobody typed."""
    for place, word in enumerate(words):
        if key_of(word) == kind:
            value = word.partition("=")[2]
            for name in value.strip("[]").split(","):
                yield place, name.strip()
            return
    typed = {key_of(word): word.partition("=")[2] for word in words if key_of(word) in GROUPS}
    # A name that does not exist is said when the command is composed.
    found = all_names({key: name for key, name in typed.items() if name in GROUPS[key].entries})[
        kind
    ]
    for name in found if isinstance(found, list) else [found]:
        yield None, str(name)


def _renamed(word: str, name: str, base: str) -> str:
    """`task=[mine,clustering]` with one of its names replaced."""
    key, _, value = word.partition("=")
    names = [
        base if each.strip() == name else each.strip() for each in value.strip("[]").split(",")
    ]
    return f"{key}=[{','.join(names)}]" if value.startswith("[") else f"{key}={names[0]}"


def _dataset(words: list[str]) -> str:
    return next(name for _, name in _chosen(words, "dataset"))


def _of(folder: Path, kind: str, name: str, dataset: str) -> tuple[str, dict[str, Any]]:
    """(component, settings) of a name, those of the files that it starts from first."""
    layers: dict[Path, dict[str, Any]] = {}
    seen: list[str] = []
    while (path := folder / kind / f"{name}.yaml").is_file():
        if name in seen:
            raise ConfigErrors([f"--config-dir: {path} starts from itself"])
        seen.append(name)
        values = _yaml(path)
        bases, rows = values.pop("defaults", None) or [], values.pop("paper", None) or {}
        if not isinstance(bases, list) or not (
            isinstance(rows, dict) and all(isinstance(row or {}, dict) for row in rows.values())
        ):
            raise ConfigErrors(
                [
                    f"--config-dir: in {path}, defaults is a list of names, and paper has the"
                    " settings of each dataset under its name"
                ]
            )
        datasets = {*DATASETS.entries, *(file.stem for file in (folder / "dataset").glob("*.yaml"))}
        for row_of in [str(key) for key in rows if str(key) not in datasets]:
            # One that is like none may be of a file of components that is not given.
            if guess := nearest(row_of, sorted(datasets)):
                wrong = f"--config-dir: {path}: paper has a row of '{row_of}', which is no dataset"
                raise ConfigErrors([f"{wrong}. Did you mean '{guess}'?"])
        bases = [base for base in bases if base != "_self_"]
        row = rows.get(dataset) or {}
        layers[path] = {**values, **row}
        if not bases:
            break
        name = str(bases[0])
    if seen and name not in GROUPS[kind].entries:
        path = folder / kind / f"{seen[-1]}.yaml"
        guess = nearest(name, [*GROUPS[kind].entries]) or GROUPS[kind].names()[0]
        wrong = (
            f"starts from '{name}', and no {kind} is called so; defaults: [{guess}, _self_] starts"
            f" from {guess}"
            if name != seen[-1]
            else f"is of no {kind} that exists; a new name starts from one: defaults: [{guess},"
            " _self_]"
        )
        raise ConfigErrors([f"--config-dir: {path} {wrong}"])
    merged: dict[str, Any] = {}
    errors: list[str] = []
    for path, layer in reversed(layers.items()):
        merged.update(layer)
        errors += [f"--config-dir: {path}: {text}" for text in _unknown(kind, name, layer)]
    if errors:
        raise ConfigErrors(errors)
    return name, merged


def _unknown(kind: str, name: str, layer: Mapping[str, Any]) -> list[str]:
    """What is wrong with the keys of a component's file that the component does not have."""
    said = declared_or_none(GROUPS[kind], name)
    if said is None:
        return []
    # On the other kind of items the name stands for another component.
    forms = [
        declared_or_none(GROUPS[kind], form or name) for form in (said.for_graphs, said.for_nodes)
    ]
    known = {key for each in (said, *forms) if each for key in each.defaults}
    # `dataset.name` is another word for `dataset.called`.
    words = {SAME_AS.get(f"{kind}.{key}", "").partition(".")[2] for key in known}
    strange = [key for key in layer if key.partition(".")[0] not in {*known, *words, *STATED}]
    if strange and not known:
        return [f"{kind} '{name}' has no settings, and this sets {', '.join(strange)}"]
    prefix = f"task.{name}" if kind == "task" else kind
    there: dict[str, str | None] = {f"{prefix}.{key}": None for key in sorted(known)}
    there |= {} if kind == "task" else {f"{kind}.name": name}
    return [unknown_key(f"{prefix}.{key}", there) for key in strange]


def _yaml(path: Path) -> dict[str, Any]:
    """The mapping of a file, empty where there is none."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    if not path.is_file():
        return {}
    try:
        found = OmegaConf.to_container(OmegaConf.load(path))
    except (OSError, UnicodeDecodeError, YAMLError, OmegaConfBaseException) as error:
        text = " ".join(str(error).split())
        raise ConfigErrors([f"--config-dir: {path} cannot be read as YAML: {text}"]) from error
    if not isinstance(found, dict):
        raise ConfigErrors([f"--config-dir: {path} holds no settings, which are KEY: VALUE"])
    return {str(key): value for key, value in found.items()}
