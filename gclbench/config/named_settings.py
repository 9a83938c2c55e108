"""Settings of one component in a sweep of several: `method=grace,dgi grace.tau=0.4`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping

from gclbench.component.declared import declared
from gclbench.component.registry import GROUPS, KINDS, METHODS, nearest
from gclbench.config.composition import all_names
from gclbench.config.overrides import ConfigErrors, key_of

OF = tuple(kind for kind in KINDS if kind != "task")
"""Kinds of which a command has one; a task's settings have its name in them anyway."""

MISSING = re.compile(r"'([\w.]+)' does not exist\b")
"""What `unknown_key` says of a setting."""


def with_named_settings(commands: list[list[str]], own: Collection[str] = ()) -> list[list[str]]:
    """The commands of a sweep with `NAME.SETTING=VALUE` as `KIND.SETTING=VALUE` where the command
    has that component, and without it elsewhere. Commands that become the same are one.

    Args:
        own: names of a user's own configs, which stand for components.

    Raises:
        ConfigErrors: when no command has a component that is named, or one has two of that name.
    """
    errors: list[str] = []
    unused: dict[str, str] = {}
    found: dict[tuple[str, ...], None] = {}
    for command in commands:
        named = [word for word in command if _owner(word, own)]
        if not named:
            found[tuple(command)] = None
            continue
        names = _names(command)
        words: list[str] = []
        for word in command:
            owner = _owner(word, own)
            kinds = [kind for kind in OF if owner and names.get(kind) == owner]
            if len(kinds) > 1:
                errors.append(
                    f"'{word}' may mean {' or '.join(f'{kind}={owner}' for kind in kinds)}, and a"
                    f" run of the sweep has both; write {kinds[0]}.{word.partition('.')[2]}"
                )
            elif kinds and (text := _without_setting(word, kinds[0])):
                errors.append(text)
            if owner:
                unused.setdefault(word, "" if kinds else owner)
                unused[word] = "" if kinds else unused[word]
            if not owner or kinds:
                words.append(f"{kinds[0]}.{word.partition('.')[2]}" if kinds else word)
        found[tuple(words)] = None
    errors += [
        f"'{word}' is a setting of {owner}, which no run of the sweep has"
        + _as_typed(word, commands)
        for word, owner in unused.items()
        if owner
    ]
    errors += _misspelt(commands, own)
    if errors:
        raise ConfigErrors(list(dict.fromkeys(errors)))
    return [list(words) for words in found]


def for_those_that_have(
    wrong: Mapping[str, list[list[str]]], commands: list[list[str]], of_a_table: bool
) -> list[str]:
    """Sentences on settings that some components of a sweep lack: how to set them of the others.

    Args:
        wrong: error to the commands that have it. of_a_table: rows of a table take no setting by
            the name of a component, but may be chosen.
    """
    lacking: dict[str, list[list[str]]] = {}
    for text, those in wrong.items():
        if (found := MISSING.match(text)) and found[1].partition(".")[0] in OF:
            lacking.setdefault(found[1], []).extend(those)
    sentences = []
    for key, without in lacking.items():
        kind, _, setting = key.partition(".")
        values: dict[str, dict[str, None]] = {}
        for command in commands:
            typed = [word for word in command if key_of(word) == key]
            if typed and command not in without and (name := _names(command).get(kind)):
                values.setdefault(name, {})[typed[0].partition("=")[2]] = None
        if not values:
            continue
        names = ", ".join(values)
        if of_a_table:
            told = f"{kind}={names.replace(' ', '')} chooses only those rows"
        else:
            words = [f"{name}.{setting}={','.join(values[name])}" for name in values]
            told = f"write {shlex.join(words)} to set it there alone"
        sentences.append(f"'{key}' is a setting of {names}, and of no other {kind} here; {told}")
    return sentences


def _misspelt(commands: list[list[str]], own: Collection[str]) -> list[str]:
    """Sentences on settings of what is no component, but nearly one of a sweep's."""
    if len(commands) < 2:
        return []
    doubled = {
        key: rest
        for key in dict.fromkeys(key_of(word) for command in commands for word in command)
        if (kind := key.partition(".")[0]) in OF
        and "." in (rest := key.partition(".")[2])
        and rest.partition(".")[0] in KINDS[kind].entries
    }
    if doubled:
        return [
            f"'{key}' does not exist. Did you mean '{rest}', which sets it of"
            f" {rest.partition('.')[0]} alone?"
            for key, rest in doubled.items()
        ]
    heads = {
        word: key_of(word).partition(".")[0]
        for word in dict.fromkeys(word for command in commands for word in command)
        if "." in key_of(word) and not _owner(word, own)
    }
    strange = {word: head for word, head in heads.items() if head not in GROUPS}
    if not strange:
        return []
    names = {name for command in commands for name in _names(command).values()}
    chosen = sorted(name for name in names if any(name in KINDS[kind].entries for kind in OF))
    found = {word: nearest(head, [*GROUPS, *chosen]) for word, head in strange.items()}
    return [
        f"'{key_of(word)}' does not exist. Did you mean '{name}.{key_of(word).partition('.')[2]}'?"
        for word, name in found.items()
        if name in chosen
    ]


def _without_setting(word: str, kind: str) -> str:
    """What to say where a component of gclbench's own has no such setting; else empty."""
    owner, _, setting = key_of(word).partition(".")
    registry = KINDS[kind]
    if owner not in registry.entries or not registry.entries[owner].builtin:
        return ""
    known = [*declared(registry, owner).defaults]
    if setting in known:
        return ""
    guess = nearest(setting, known)
    hint = f" Did you mean '{owner}.{guess}'?" if guess else ""
    settings = ", ".join(sorted(known))
    return f"'{owner}.{setting}' does not exist.{hint} Settings of {owner}: {settings or 'none'}"


def _as_typed(word: str, commands: list[list[str]]) -> str:
    """The name under which a method was typed that a collection's own stands for; else empty."""
    owner, _, rest = word.partition(".")
    if owner not in METHODS.entries:
        return ""
    said = declared(METHODS, owner)
    typed = {_names(command).get("method") for command in commands}
    name = next((each for each in (said.for_nodes, said.for_graphs) if each in typed), None)
    return f" under that name; '{name}' was typed: {name}.{rest}" if name else ""


def _owner(word: str, own: Collection[str] = ()) -> str:
    """The component, or the user's own config of one, that a word is a setting of by name; empty
    for every other word."""
    head, separator, _ = key_of(word).partition(".")
    if not separator or head in GROUPS:
        return ""
    return head if head in own or any(head in KINDS[kind].entries for kind in OF) else ""


def _names(command: list[str]) -> dict[str, str]:
    """The components of a command by kind, those that its method states included."""
    typed = {key_of(word): word.partition("=")[2] for word in command}
    names = {kind: typed[kind] for kind in OF if kind in typed}
    if any(name not in KINDS[kind].entries for kind, name in names.items()):
        # The command is wrong, and says so when it is composed, or a name is of one's own file.
        return names
    return {kind: str(name) for kind, name in all_names(names).items() if kind in OF}
