"""The settings that a search samples: `space=FILE.yaml`, `space=common`, or written out in braces.

A space maps settings to values. A list is values to choose from. `{from: A, to: B}` is a range with
both ends; `log: true` samples it on a logarithmic scale, `step: S` in steps. Settings are those of
the method; one with a dot, such as `filter.alpha`, is that of another component. In a file they may
stand under the name of a method, or under `all`, for every method that has such a setting:

    all: {lr: {from: 1e-4, to: 1e-2, log: true}}
    grace: {tau: [0.2, 0.4, 0.8]}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gclbench.component.components import Components
from gclbench.component.declared import declared, declared_or_none
from gclbench.component.registry import METHODS, nearest
from gclbench.component.settings import schema, unfit
from gclbench.config.overrides import ConfigErrors, parse
from gclbench.machine.paths import expanded

RANGE = ("from", "to", "log", "step")

COMMON: dict[str, Any] = {
    "all": {
        "lr": {"from": 1e-4, "to": 1e-2, "log": True},
        "weight_decay": [0.0, 1e-5, 1e-4, 1e-3],
        "tau": [0.1, 0.2, 0.4, 0.6, 0.8, 1.0],
        "epochs": [50, 100, 200, 400],
        "hidden": [128, 256, 512],
    }
}
"""`space=common`: what most methods have. A method that lacks one of these does without it."""


@dataclass(frozen=True)
class Dimension:
    """What one setting is sampled from.

    Attributes:
        choices: the values; empty for a range.
        low, high: of a range, both included. log: on a logarithmic scale. step: None for any value
            between. whole: whether only whole numbers are meant.
    """

    choices: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    step: float | None = None
    whole: bool = False

    @property
    def examples(self) -> tuple[Any, ...]:
        """Values that tell whether all can be set: those to choose from, or both ends of a range
        and one between."""
        if self.choices:
            return self.choices
        # Between whole ends that are written 1.0 lie numbers that are not whole.
        between = self.low if self.whole else self.low + (self.step or (self.high - self.low) / 3.1)
        return tuple(dict.fromkeys((self.low, float(f"{between:.4g}"), self.high)))


Space = dict[str, Dimension]
"""Setting as on the command line, `method.lr`, to what it is sampled from."""


def space_of(text: str, methods: list[str]) -> dict[str, Space]:
    """The space of each method.

    Args:
        text: `common`, the path of a YAML file, or a mapping in braces, as Hydra's grammar has it.

    Raises:
        ConfigErrors: with everything that is wrong with it.
    """
    errors: list[str] = []
    given = _read(text, errors)
    if not errors and not any(key in ("all", *METHODS.entries) for key in given):
        given = {"all": given}
    for key, value in given.items():
        known = key == "all" or key in METHODS.entries
        if known and not isinstance(value, (dict, type(None))):
            errors.append(f"space={text}: '{key}' holds {value!r}, and no settings")
    if not errors and given is not COMMON:
        errors += _of_no_method(given.get("all") or {}, methods)
    if errors:
        raise ConfigErrors(errors)
    # YAML and Hydra read a name such as 1 or null as a value.
    given = {
        key: {str(name): part for name, part in value.items()} if isinstance(value, dict) else value
        for key, value in given.items()
    }
    spaces: dict[str, Space] = {}
    for method in methods:
        own = given.get(method) or {}
        merged = {**_that_exist(given.get("all") or {}, method), **own}
        spaces[method] = {
            key if "." in key else f"method.{key}": _dimension(key, value, errors)
            for key, value in merged.items()
        }
        if not merged and not errors:
            errors.append(f"space={text} has no setting of method {method}")
    strange = [key for key in given if key != "all" and key not in METHODS.entries]
    for key in strange:
        guess = nearest(key, ["all", *METHODS.entries])
        hint = f" Did you mean '{guess}'?" if guess else ""
        errors.append(
            f"space={text}: '{key}' stands beside methods and is none; settings stand under a"
            f" method or under 'all'.{hint}"
        )
    if errors:
        raise ConfigErrors(list(dict.fromkeys(errors)))
    return spaces


def unfit_values(space: Space, components: Components) -> list[str]:
    """A sentence for each value of a space that its setting cannot have.

    Each is looked at by itself: what settings must be to each other, a trial's own command tells.
    """
    errors = []
    for key, part in space.items():
        where, _, name = key.rpartition(".")
        kind, _, task = where.partition(".")
        found = components.tasks.get(task) if task else getattr(components, kind, None)
        if found is None or name not in schema(type(found)):
            continue  # a trial's own command tells what exists
        errors += [
            f"space: {key}={value!r} {wrong}"
            for value in part.examples
            if (wrong := unfit(type(found), name, value))
        ]
    return errors


def _of_no_method(settings: Mapping[str, Any], methods: list[str]) -> list[str]:
    """A sentence for each setting of `all` that no method has, searched or not: a file may serve
    several searches."""
    searched = {name for method in methods for name in declared(METHODS, method).defaults}
    errors = []
    for key in settings:
        if "." in key or key in searched:
            continue
        known = (declared_or_none(METHODS, name) for name in METHODS.entries)
        if not any(key in method.defaults for method in known if method is not None):
            guess = nearest(key, sorted(searched))
            hint = f" Did you mean '{guess}'?" if guess else ""
            errors.append(
                f"space: no method has a setting '{key}'.{hint} Those of {', '.join(methods)}:"
                f" {', '.join(sorted(searched))}"
            )
    return errors


def _that_exist(settings: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Settings of `all` that a method has; those of other components stay."""
    known = declared(METHODS, method).defaults
    return {key: value for key, value in settings.items() if "." in key or key in known}


def _read(text: str, errors: list[str]) -> dict[str, Any]:
    if text == "common":
        return COMMON
    if text.startswith("{"):
        found: Any = None
        for override in parse([f"space={text}"], errors):
            found = override.value()
    else:
        found = _file(Path(expanded(text)), errors)
    if not errors and not (isinstance(found, dict) and found):
        errors.append(
            f"space={text} holds no settings; it is a mapping, for example"
            " space={tau:[0.2,0.4],lr:{from:1e-4,to:1e-2,log:true}}"
        )
    return {str(key): value for key, value in found.items()} if isinstance(found, dict) else {}


def _file(path: Path, errors: list[str]) -> Any:
    from omegaconf import OmegaConf
    from yaml import YAMLError

    if not path.is_file():
        no_such = "it is a folder" if path.is_dir() else "there is no such file"
        errors.append(
            f"space={path}: {no_such}; space=common needs none, and"
            " space={tau:[0.2,0.4]} is written out"
        )
        return None
    try:
        return OmegaConf.to_container(OmegaConf.load(path))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        errors.append(f"space={path} cannot be read as YAML: {' '.join(str(error).split())}")
        return None


def _dimension(key: str, value: Any, errors: list[str]) -> Dimension:
    if isinstance(value, list) and value:
        strange = [each for each in value if not _can_be_set(each)]
        errors += [
            f"space: {key}={each} is no value of a setting: a number has to be finite, as in"
            f" {key}:[0.1,0.2]"
            for each in strange
        ]
        return Dimension(choices=tuple(each for each in value if each not in strange))
    if isinstance(value, dict) and {"from", "to"} <= set(value) <= set(RANGE):
        low, high, step = value["from"], value["to"], value.get("step")
        numbers = [low, high, *([] if step is None else [step])]
        right = all(_is_number(number) for number in numbers)
        log = value.get("log", False)
        if right and low < high and isinstance(log, bool):
            fits = step is None or 0 < step <= high - low
            if fits and not (log and (low <= 0 or step is not None)):
                whole = all(isinstance(number, int) for number in numbers)
                return Dimension((), low, high, log, step, whole)
        errors.append(
            f"space: {key}={value} is no range; from < to, a step > 0 and within it, log true or"
            " false, and with log: true from > 0 and no step"
        )
        return Dimension()
    errors.append(
        f"space: {key}={value} is neither a list of values nor a range"
        " {from: A, to: B, log: true, step: S}"
    )
    return Dimension()


def _can_be_set(value: Any) -> bool:
    """Whether a value can be part of a run's identity: all its numbers are finite."""
    if isinstance(value, (dict, list)):
        return all(map(_can_be_set, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
