"""The values that a command's overrides stand for, and what is wrong with the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gclbench.component.declared import declared
from gclbench.component.registry import GROUPS, UnknownName
from gclbench.config.composition import (
    Unresolved,
    all_names,
    composed,
    method_for,
    stated_names,
)
from gclbench.config.overrides import ConfigErrors
from gclbench.config.suggestion import unknown_key
from gclbench.records import flatten

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

    from gclbench.config.plain_override import PlainOverride

NAME = "called"
"""The setting that `dataset.name` stands for, where what is chosen has one: `name` itself is the
component's."""


def values_of_command(
    parsed: list[Override | PlainOverride], errors: list[str]
) -> tuple[dict[str, Any], bool]:
    """The composed values of the valid overrides, and whether any is a setting of a component.

    Args:
        errors: gets a sentence for each of the others.

    Raises:
        ConfigErrors: with all errors so far, when nothing can be composed.
    """
    names: dict[str, Any] = {}
    wrong: set[str] = set()
    for override in parsed:
        kind = override.key_or_group
        if kind in GROUPS:
            found = _name_errors(override)
            errors += found
            if found:
                wrong.add(kind)
            else:
                names[kind] = override.value()
    if "method" in wrong:
        # The method chooses these, so nothing can be said about their settings.
        wrong |= {"filter", "negatives"}
    if not wrong & {"method", "dataset"}:
        names |= method_for(names)
    _check_stated(names, errors)
    values = _composed(names, {}, errors)
    known = flatten(values)
    settings: dict[str, Any] = {}
    for override in parsed:
        key = override.key_or_group
        kind = key.partition(".")[0]
        if key == f"{kind}.name" and f"{kind}.{NAME}" in known:
            key = f"{kind}.{NAME}"
        if key in GROUPS or ("." in key and kind in wrong):
            continue
        if kind in GROUPS and key == f"{kind}.name":
            errors.append(f"'{key}' cannot be set; choose a {kind} with {kind}=NAME")
        elif key in known:
            settings[key] = override.value()
        else:
            errors.append(unknown_key(key, known))
    of_components = any("." in key for key in settings)
    return _composed(names, settings, errors) if settings else values, of_components


def _composed(names: dict[str, Any], settings: dict[str, Any], errors: list[str]) -> dict[str, Any]:
    try:
        return composed(names, settings)
    except Unresolved as error:
        raise ConfigErrors([*errors, str(error)]) from error


def _name_errors(override: Override | PlainOverride) -> list[str]:
    """What is wrong with a choice such as `method=NAME`."""
    kind, value = override.key_or_group, override.value()
    known = f"Known: {', '.join(GROUPS[kind].names())}"
    if value == []:
        return [f"'{override.input_line}' names no {kind}. {known}"]
    if isinstance(value, list) and kind != "task":
        return [
            f"'{override.input_line}' names several; a run has one {kind}. To run each: gclbench -m"
            f" {kind}={','.join(map(str, value))}"
        ]
    names = [
        name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str)
    ]
    if not names or (isinstance(value, list) and len(names) < len(value)):
        return [f"'{override.input_line}' does not name a {kind}. {known}"]
    return [error for name in names if (error := _unusable(kind, name))]


def _unusable(kind: str, name: str) -> str:
    """Why there is no such component, or none that can be loaded; empty where all is well."""
    try:
        declared(GROUPS[kind], name)
    except UnknownName as error:
        return str(error)
    except Exception as error:  # whatever the code of another package raises while it is imported
        return (
            f"{kind} '{name}' of {GROUPS[kind].check(name).origin} cannot be loaded:"
            f" {type(error).__name__}: {error}"
        )
    return ""


def _check_stated(names: dict[str, Any], errors: list[str]) -> None:
    """Raises ConfigErrors where the method states a filter or a strategy that cannot be used."""
    method = all_names(names)["method"]
    found = [
        f"method '{method}' states {kind}={name} for itself: {error}"
        for kind, name in stated_names(method).items()
        if kind not in names and (error := _unusable(kind, name))
    ]
    if found:
        raise ConfigErrors([*errors, *found])
