"""From plain values to a component, with every error found at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Optional

import pytest

from gclbench.component.settings import (
    Count,
    Fraction,
    Machine,
    NonNegative,
    OneOf,
    Positive,
    Range,
    SameIdAtDefault,
    UnknownAnnotation,
    bind,
    convert,
    defaults,
    identity_of,
    schema,
    values_of,
)


@dataclass(frozen=True)
class Component:
    name: str
    lr: Positive = 1e-3
    decay: NonNegative = 0.0
    mask: Fraction = 0.2
    epochs: Count = 10
    alpha: Annotated[float, Range(above=0, most=1)] = 0.1
    solver: Annotated[str, OneOf("auto", "push", "series")] = "auto"
    widths: tuple[Count, ...] = (256, 128)
    loops: bool = True
    limit: float | None = None
    old_style: Optional[Annotated[int, Range(least=2)]] = None  # noqa: UP045
    ranks: tuple[int, ...] = field(default_factory=lambda: (1, 2))

    def __post_init__(self) -> None:
        if not self.widths:
            raise ValueError("widths needs at least one")


def bound(**values) -> Component:
    errors: list[str] = []
    component = bind(Component, {"name": "x", **values}, "method", errors)
    assert errors == []
    assert component is not None
    return component


def complaints(**values) -> list[str]:
    errors: list[str] = []
    assert bind(Component, {"name": "x", **values}, "method", errors) is None
    return errors


def test_defaults_and_given_values():
    assert bound() == Component("x")
    given = bound(
        lr=1, epochs=3.0, widths=[7, 8.0], solver="push", loops=False, limit=4, old_style=5
    )
    assert given == Component(
        "x", lr=1.0, epochs=3, widths=(7, 8), solver="push", loops=False, limit=4.0, old_style=5
    )
    assert type(given.lr) is float
    assert type(given.epochs) is int
    assert type(given.limit) is float
    assert [type(width) for width in given.widths] == [int, int]
    assert bound(limit=None, old_style=None) == Component("x")


def test_components_that_mean_the_same_are_equal():
    assert bound(lr=1, epochs=10.0) == bound(lr=1.0, epochs=10)
    assert values_of(bound(lr=1)) == values_of(bound(lr=1.0))


def test_defaults_and_values_are_plain():
    wanted = {
        "name": None,
        "lr": 1e-3,
        "decay": 0.0,
        "mask": 0.2,
        "epochs": 10,
        "alpha": 0.1,
        "solver": "auto",
        "widths": [256, 128],
        "loops": True,
        "limit": None,
        "old_style": None,
        "ranks": [1, 2],
    }
    assert defaults(Component) == wanted
    assert values_of(Component("x")) == {**wanted, "name": "x"}
    assert list(schema(Component)) == list(wanted), "in the order of declaration"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"lr": 0}, "method.lr=0 is out of range: it must be > 0, for example 0.001"),
        ({"lr": -1.5}, "method.lr=-1.5 is out of range: it must be > 0, for example 0.001"),
        ({"lr": "fast"}, "method.lr='fast' must be a number"),
        (
            {"ranks": [1, 10**19]},
            "method.ranks=[1, 10000000000000000000] is out of range: it must lie between -1e+18 and"
            " 1e+18, for example [1,2]",
        ),
        ({"lr": True}, "method.lr=True must be a number"),
        ({"lr": None}, "method.lr=None must be a number"),
        ({"lr": math.nan}, "method.lr=nan must be a finite number"),
        ({"lr": math.inf}, "method.lr=inf must be a finite number"),
        (
            {"lr": 1e80},
            "method.lr=1e+80 is out of range: it must lie between -1e+60 and 1e+60, for example"
            " 0.001",
        ),
        ({"limit": -math.inf}, "method.limit=-inf must be a finite number"),
        ({"decay": -1e-9}, "method.decay=-1e-09 is out of range: it must be ≥ 0, for example 0"),
        ({"mask": 1}, "method.mask=1 is out of range: it must be ≥ 0 and < 1, for example 0.2"),
        (
            {"alpha": 1.01},
            "method.alpha=1.01 is out of range: it must be > 0 and ≤ 1, for example 0.1",
        ),
        ({"epochs": 0}, "method.epochs=0 is out of range: it must be ≥ 1, for example 10"),
        ({"epochs": 2.5}, "method.epochs=2.5 must be a whole number"),
        ({"epochs": "3"}, "method.epochs='3' must be a whole number"),
        ({"epochs": True}, "method.epochs=True must be a whole number"),
        ({"epochs": math.inf}, "method.epochs=inf must be a whole number"),
        ({"epochs": math.nan}, "method.epochs=nan must be a whole number"),
        (
            {"solver": "pusch"},
            "method.solver='pusch' must be one of auto, push, series. Did you mean 'push'?",
        ),
        ({"solver": "zzz"}, "method.solver='zzz' must be one of auto, push, series."),
        ({"solver": ["push"]}, "method.solver=['push'] must be a word"),
        ({"widths": 256}, "method.widths=256 must be a list, for example [256,128]"),
        ({"widths": "256"}, "method.widths='256' must be a list, for example [256,128]"),
        (
            {"widths": [256, 0]},
            "method.widths=[256, 0] is out of range: it must be ≥ 1, for example [256,128]",
        ),
        (
            {"widths": [256, "a"]},
            "method.widths=[256, 'a'] has an item 'a', which must be a whole number",
        ),
        ({"widths": []}, "method: widths needs at least one"),
        ({"loops": "yes"}, "method.loops='yes' must be true or false"),
        ({"loops": 1}, "method.loops=1 must be true or false"),
        ({"old_style": 1}, "method.old_style=1 is out of range: it must be ≥ 2"),
    ],
)
def test_one_wrong_value(values, message):
    assert complaints(**values) == [message]


def test_an_unknown_key_names_the_nearest_and_all():
    (message,) = complaints(epoch=3)
    assert message.startswith(
        "'method.epoch' does not exist. Did you mean 'method.epochs'? Known: method.name,"
        " method.lr, "
    )
    (message,) = complaints(qqqq=3)
    assert message.startswith("'method.qqqq' does not exist. Known: ")


def test_a_component_without_settings():
    @dataclass(frozen=True)
    class Bare:
        pass

    errors: list[str] = []
    assert bind(Bare, {"tau": 1}, "negatives", errors) is None
    assert errors == ["'negatives.tau' does not exist. Known: no settings"]
    assert bind(Bare, {}, "negatives", []) == Bare()


@pytest.mark.parametrize("values", [{}, {"name": None}])
def test_a_value_that_must_be_given(values):
    errors: list[str] = []
    assert bind(Component, values, "dataset", errors) is None
    assert errors == ["dataset.name must be given: dataset.name=…"]


def test_every_error_at_once_and_earlier_ones_stay():
    errors = ["another component's"]
    assert bind(Component, {"lr": 0, "epochs": 0.5, "colour": 1}, "method", errors) is None
    assert len(errors) == 5
    assert errors[0] == "another component's"
    assert bind(Component, {"name": "x"}, "method", errors) == Component("x"), (
        "others' errors do not stop this one"
    )


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [
        (Range(least=1), [1, 2], [0.999, math.nan]),
        (Range(most=1), [1, -5], [1.001, math.nan]),
        (Range(above=0), [1e-300], [0, -1, math.nan]),
        (Range(below=1), [0.999], [1, 2]),
        (Range(least=0, below=1), [0, 0.5], [-0.1, 1]),
        (Range(), [-1e9, 1e9], [math.nan]),
    ],
)
def test_ranges(rule, inside, outside):
    assert all(rule.admits(value) for value in inside)
    assert not any(rule.admits(value) for value in outside)


def test_a_type_that_has_no_conversion_is_a_programming_error():
    with pytest.raises(
        TypeError, match="no conversion to .*complex.*; use bool, int, float, str, Literal"
    ):
        convert(1j, complex)


def test_choices_may_be_a_literal() -> None:
    @dataclass(frozen=True)
    class Chosen:
        way: Literal["up", "down"] = "up"
        ways: tuple[Literal["up", "down"], ...] = ()
        rate: float | Literal["auto"] = "auto"

    errors: list[str] = []
    assert bind(Chosen, {"way": "down", "ways": ["up"]}, "method", errors).way == "down"
    assert bind(Chosen, {"way": "dwn"}, "method", errors) is None
    assert errors == ["method.way='dwn' must be one of up, down. Did you mean 'down'?"]


@pytest.mark.parametrize(
    ("kind", "good", "bad", "told"),
    [
        (Literal["up", "down"] | None, ["up", None], "dwn", "must be one of up, down. Did you"),
        (int | float, [3, 0.5], "x", "must be a whole number or must be a number"),
        (float | int, [3, 0.5], "x", "must be a number or must be a whole number"),
        (str | int, [3, "many"], [1], "must be a word or must be a whole number"),
        (Literal["a", "b"], ["a"], None, "must be one of a, b"),
        (int | str, [3, "many"], [1], "must be a whole number or must be a word"),
        (Annotated[str | None, OneOf("a", "b")], ["a", None], "c", "must be one of a, b"),
    ],
)
def test_every_member_of_a_union_is_tried(kind, good, bad, told) -> None:
    for value in good:
        found = convert(value, kind)
        assert found == value and type(found) is type(value)
    with pytest.raises(ValueError, match=told):
        convert(bad, kind)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (dict, "dict"),
        (tuple[()], "tuple[()]"),
        (Any, "Any"),
        (list[int], "list[int]"),
        (tuple[set, ...], "tuple[set, ...]"),
        (dict[int, str], "dict[int, str]"),
        (Literal["auto", 1], "Literal['auto', 1]"),
        (complex | None, "complex"),
    ],
)
def test_an_annotation_that_no_typed_value_becomes_is_told_before_a_run(kind, name) -> None:
    holder = dataclass(frozen=True)(
        type("Holder", (), {"__annotations__": {"held": kind}, "held": None})
    )
    with pytest.raises(UnknownAnnotation, match="'held' of .*Holder is annotated") as caught:
        bind(holder, {}, "method", [])
    assert name in str(caught.value) and "annotate it as bool, int" in str(caught.value)


def test_a_setting_of_the_machine_is_no_part_of_the_identity() -> None:
    @dataclass(frozen=True)
    class Placed:
        rate: float = 0.5
        where: Annotated[str, OneOf("here", "there"), Machine()] = "here"

    assert values_of(Placed()) == {"rate": 0.5, "where": "here"}
    assert identity_of(Placed(where="there")) == {"rate": 0.5}
    errors: list[str] = []
    assert bind(Placed, {"where": "nowhere"}, "filter", errors) is None
    assert "must be one of here, there" in errors[0]


def test_a_later_setting_is_part_of_the_identity_away_from_its_default() -> None:
    @dataclass(frozen=True)
    class Grown:
        rate: float = 0.5
        way: Annotated[str, OneOf("old", "new"), SameIdAtDefault()] = "old"

    assert identity_of(Grown()) == {"rate": 0.5} == identity_of(Grown(way="old"))
    assert (
        identity_of(Grown(way="new")) == {"rate": 0.5, "way": "new"} == values_of(Grown(way="new"))
    )


def test_the_annotations_of_a_class_are_read_once_and_stay_as_they_are():
    @dataclass(frozen=True)
    class Some:
        count: Count = 1

    found = schema(Some)
    assert schema(Some) is found and list(found) == ["count"]
    with pytest.raises(TypeError):
        found["count"] = int


def test_what_a_class_raises_is_told() -> None:
    @dataclass(frozen=True)
    class Picky:
        size: int = 1

        def __post_init__(self) -> None:
            raise RuntimeError("no good")

    errors: list[str] = []
    assert bind(Picky, {}, "method", errors) is None
    (told,) = errors
    assert told.startswith("method: test_settings.") and told.endswith(
        "Picky raised RuntimeError: no good"
    )


def test_a_default_that_is_out_of_range_is_no_example() -> None:
    @dataclass(frozen=True)
    class Wrong:
        size: Positive = -3.0

    errors: list[str] = []
    assert bind(Wrong, {"size": -3.0}, "method", errors) is None
    (told,) = errors
    assert told.startswith("method.size=-3.0 is out of range: it must be > 0 (the default of test_")
    assert told.endswith("Wrong is not)") and "for example" not in told

    @dataclass(frozen=True)
    class Asked:
        size: Positive

    errors = []
    assert bind(Asked, {"size": -3.0}, "method", errors) is None
    assert errors == ["method.size=-3.0 is out of range: it must be > 0"]
