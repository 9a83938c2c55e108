"""Typed hyper-parameters: from plain values to a component, with every error found at once.

A component declares its hyper-parameters as dataclass fields. Ranges and choices are part of the
type: `lr: Annotated[float, Range(above=0)]`, `solver: Annotated[str, OneOf("auto", "push")]`.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union
from weakref import WeakKeyDictionary

from gclbench.component.registry import nearest

LARGEST = 1e60
"""The largest number that can be set. Records can hold its square and the like, as a float."""
LARGEST_WHOLE = 10**18
"""The largest whole one: torch's sizes end at 2⁶³."""

ANNOTATIONS = (
    "bool, int, float, str, Literal['a', 'b'], tuple[…, ...], dict[str, …] or an optional of these"
)
"""What `convert` makes values of."""


class OutOfRange(ValueError):
    """A number beyond its bounds."""


class NotAList(ValueError):
    """One value where a list is wanted."""


class UnknownAnnotation(TypeError):
    """A component's field has a type that no typed value becomes."""


@dataclass(frozen=True)
class Range:
    """Bounds of a number; `above` and `below` exclude the bound, `least` and `most` include it."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def __str__(self) -> str:
        parts = [
            f"{sign} {bound:g}"
            for sign, bound in (
                (">", self.above),
                ("≥", self.least),
                ("<", self.below),
                ("≤", self.most),
            )
            if bound is not None
        ]
        return " and ".join(parts)

    def admits(self, value: float) -> bool:
        return not (
            math.isnan(value)
            or (self.least is not None and value < self.least)
            or (self.most is not None and value > self.most)
            or (self.above is not None and value <= self.above)
            or (self.below is not None and value >= self.below)
        )


class OneOf:
    """The values that a setting may take."""

    def __init__(self, *choices: str):
        self.choices = choices

    def __str__(self) -> str:
        return "one of " + ", ".join(self.choices)


class Machine:
    """Marks a setting of how a component computes on this machine, not of what it computes.

    Such a setting is no part of a run's identity.
    """


class SameIdAtDefault:
    """Marks a setting that was added after runs were recorded; its default does what they did.

    At its default it is no part of a run's identity, so those runs keep their ids.
    """


Count = Annotated[int, Range(least=1)]
NonNegative = Annotated[float, Range(least=0)]
Positive = Annotated[float, Range(above=0)]
Fraction = Annotated[float, Range(least=0, below=1)]
Temperature = Annotated[float, Range(least=0.005)]
"""What similarities of unit vectors are divided by; below, the exponentials leave float64."""


_schemas: WeakKeyDictionary[type, Mapping[str, Any]] = WeakKeyDictionary()


def schema(cls: type) -> Mapping[str, Any]:
    """Field name to annotated type of a component, in the order of declaration.

    The annotations of a class are read once: they are texts that have to be compiled, which takes
    most of the time of binding values to a component.

    Raises:
        UnknownAnnotation: for a type that `convert` does not know, whether a value is set or not.
    """
    known = _schemas.get(cls)
    if known is None:
        hints = typing.get_type_hints(cls, include_extras=True)
        fields = {field.name: hints[field.name] for field in dataclasses.fields(cls)}
        for name, kind in fields.items():
            if not _is_known(kind):
                raise UnknownAnnotation(
                    f"the setting '{name}' of {cls.__module__}.{cls.__qualname__} is annotated"
                    f" {_called(kind)}, and no typed value becomes that; annotate it as"
                    f" {ANNOTATIONS}"
                )
        known = _schemas[cls] = types.MappingProxyType(fields)
    return known


def defaults(cls: type) -> dict[str, Any]:
    """The fields' defaults as plain values; a field without one maps to None."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING:
            values[field.name] = plain(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            values[field.name] = plain(field.default_factory())
        else:
            values[field.name] = None
    return values


def required(cls: type) -> set[str]:
    """The fields without a default."""
    return {
        field.name
        for field in dataclasses.fields(cls)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }


def values_of(component: Any) -> dict[str, Any]:
    """A component's hyper-parameters as plain, JSON-ready values."""
    return {
        field.name: plain(getattr(component, field.name)) for field in dataclasses.fields(component)
    }


def identity_of(component: Any) -> dict[str, Any]:
    """The hyper-parameters that make a run what it is.

    These are `values_of` without the `Machine` ones and without the `SameIdAtDefault` ones at their
    default.
    """
    kinds, usual = schema(type(component)), defaults(type(component))
    return {
        name: value
        for name, value in values_of(component).items()
        if not _is_marked(kinds[name], Machine)
        and not (_is_marked(kinds[name], SameIdAtDefault) and value == usual[name])
    }


def of_this_machine(component: Any) -> dict[str, Any]:
    """The settings outside a run's identity that differ from their defaults, such as
    `filter.storage`. Results agree within a tolerance, and their last bits differ."""
    identity, usual = identity_of(component), defaults(type(component))
    return {
        name: value
        for name, value in values_of(component).items()
        if name not in identity and value != usual[name]
    }


def marked_fields(cls: type, mark: type) -> frozenset[str]:
    """The fields that are annotated with a mark: `SameIdAtDefault`."""
    return frozenset(name for name, kind in schema(cls).items() if _is_marked(kind, mark))


def _is_marked(kind: Any, mark: type) -> bool:
    return typing.get_origin(kind) is Annotated and any(
        isinstance(rule, mark) for rule in typing.get_args(kind)[1:]
    )


def bind(cls: type, values: dict[str, Any], where: str, errors: list[str]) -> Any:
    """The component `cls(**values)`, or None when `errors` grew.

    Args:
        where: the config key the values stand under, for messages (`method`).
        errors: one sentence per unknown key, wrong type or value out of range is appended.
    """
    fields = schema(cls)
    before = len(errors)
    needed = required(cls)
    given: dict[str, Any] = {}
    for key, value in values.items():
        if key not in fields:
            guess = nearest(key, list(fields))
            hint = f" Did you mean '{where}.{guess}'?" if guess else ""
            errors.append(
                f"'{where}.{key}' does not exist.{hint} Known:"
                f" {', '.join(f'{where}.{name}' for name in fields) or 'no settings'}"
            )
            continue
        if value in (None, "") and key in needed:
            continue
        try:
            given[key] = convert(value, fields[key])
        except ValueError as error:
            errors.append(f"{where}.{key}={value!r} {_told(cls, key, value, error)}")
    lacking = sorted(name for name in needed if values.get(name) in (None, ""))
    for name in lacking:
        # What was given and refused has been told.
        if not any(text.startswith(f"'{where}.{name}=") for text in errors):
            errors.append(f"{where}.{name} must be given: {where}.{name}=…")
    if lacking or len(errors) > before:
        return None
    try:
        return cls(**given)
    except ValueError as error:
        errors.append(f"{where}: {error}")
    except Exception as error:  # whatever a class of another package raises
        kind = type(error).__name__
        errors.append(f"{where}: {cls.__module__}.{cls.__qualname__} raised {kind}: {error}")
    return None


def unfit(cls: type, key: str, value: Any) -> str:
    """Why a field cannot have a value, as a sentence fragment that follows `key=value`; else ""."""
    try:
        convert(value, schema(cls)[key])
    except ValueError as error:
        return _told(cls, key, value, error)
    return ""


def _told(cls: type, key: str, value: Any, error: ValueError) -> str:
    """What `convert` said of a field's value, with an example where one helps."""
    if isinstance(error, NotAList):
        return f"{error}{_example(cls, key) or f', for example [{value}]'}"
    return f"{error}{_example(cls, key)}" if isinstance(error, OutOfRange) else str(error)


def _example(cls: type, key: str) -> str:
    """The end of an error about a number that is out of range, or no list: the default, where it is
    a number or a list with items."""
    if key in required(cls):
        return ""
    usual = defaults(cls)[key]
    try:
        convert(usual, schema(cls)[key])
    except ValueError:
        return f" (the default of {cls.__module__}.{cls.__qualname__} is not)"
    if isinstance(usual, list) and usual:
        return f", for example [{','.join(map(str, usual))}]"
    number = isinstance(usual, (int, float)) and not isinstance(usual, bool)
    return f", for example {usual:g}" if number else ""


def convert(value: Any, kind: Any) -> Any:
    """`value` as the annotated type `kind`.

    Raises:
        ValueError: with a sentence fragment that follows `key=value`; `OutOfRange` for a number
            beyond its bounds, `NotAList` for one value in place of a list.
    """
    origin = typing.get_origin(kind)
    if origin is Annotated:
        base, *rules = typing.get_args(kind)
        converted = convert(value, base)
        for rule in rules:
            if isinstance(rule, Range) and converted is not None:
                for number in converted if isinstance(converted, tuple) else (converted,):
                    if not rule.admits(number):
                        raise OutOfRange(f"is out of range: it must be {rule}")
            if isinstance(rule, OneOf) and converted is not None and converted not in rule.choices:
                guess = nearest(str(converted), list(rule.choices))
                raise ValueError(
                    f"must be {rule}." + (f" Did you mean '{guess}'?" if guess else "")
                )
        return converted
    if origin in (Union, types.UnionType):
        options = typing.get_args(kind)
        if value is None and type(None) in options:
            return None
        # A word such as `auto` that stands for a value, besides the values themselves.
        words = [word for option in options for word in _words(option)]
        if value in words:
            return value
        kinds = [option for option in options if option is not type(None) and not _words(option)]
        refused: list[ValueError] = []
        # 3 of `float | int` stays a whole number.
        for kind_of_value in sorted(kinds, key=lambda kind: type(value) is not kind):
            try:
                return convert(value, kind_of_value)
            except ValueError as error:
                refused.append(error)
        if not refused:
            return convert(value, Annotated[str, OneOf(*words)])
        told = dict.fromkeys(map(str, refused))
        raise type(refused[0])(" or ".join([*told, *words])) from refused[0]
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise NotAList("must be a list")
        item = typing.get_args(kind)[0]
        return tuple(_item(element, item) for element in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise ValueError("must be a mapping, for example {name:value}")
        item = typing.get_args(kind)[1]
        return {str(name): convert(element, item) for name, element in value.items()}
    if kind is bool:
        if not isinstance(value, bool):
            raise ValueError("must be true or false")
        return value
    if kind is int:
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not math.isfinite(value)
            or value != int(value)
        ):
            raise ValueError("must be a whole number")
        return int(_bounded(value, LARGEST_WHOLE))
    if kind is float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError("must be a number")
        if not math.isfinite(value):
            raise ValueError("must be a finite number")
        return float(_bounded(value))
    if kind is str:
        if value is None or isinstance(value, (list, dict)):
            raise ValueError("must be a word")
        return str(value)
    if _words(kind):
        return convert("" if value is None else value, Annotated[str, OneOf(*_words(kind))])
    raise UnknownAnnotation(f"no conversion to {_called(kind)}; use {ANNOTATIONS}")


def _is_known(kind: Any) -> bool:
    """Whether `convert` makes values of an annotated type."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return _is_known(parts[0])
    if origin in (Union, types.UnionType):
        return all(part is type(None) or _is_known(part) for part in parts)
    if origin is tuple:
        return bool(parts) and _is_known(parts[0])
    if origin is dict:
        return parts[0] is str and _is_known(parts[1])
    if origin is Literal:
        return all(isinstance(part, str) for part in parts)
    return kind in (bool, int, float, str)


def _called(kind: Any) -> str:
    """An annotated type as it is written."""
    return kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)


def _item(value: Any, kind: Any) -> Any:
    """An element of a list, converted; an error says which one it is."""
    try:
        return convert(value, kind)
    except OutOfRange:
        raise
    except ValueError as error:
        raise ValueError(f"has an item {value!r}, which {error}") from error


def _words(kind: Any) -> tuple[Any, ...]:
    """Those of a `Literal`; none of another type."""
    return typing.get_args(kind) if typing.get_origin(kind) is Literal else ()


def _bounded(value: float, most: float = LARGEST) -> float:
    """The number itself; raises ValueError where it is too large."""
    if abs(value) > most:
        raise OutOfRange(f"is out of range: it must lie between {-most:g} and {most:g}")
    return value


def plain(value: Any) -> Any:
    """A value as JSON holds it: tuples become lists."""
    return [plain(item) for item in value] if isinstance(value, (tuple, list)) else value
