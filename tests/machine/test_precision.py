"""Which precision a training's products have, and what it never reaches."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gclbench.component.registry import METHODS, NEGATIVES
from gclbench.config.overrides import ConfigErrors
from gclbench.config.validation import experiment_of
from gclbench.contrast import short_factors
from gclbench.embedding import Embedding
from gclbench.machine import precision
from gclbench.machine.precision import (
    EVERYWHERE,
    FACTORS_IN_CONTRASTS,
    FAST,
    IN_CONTRASTS,
    TF32,
    products,
    resolved,
    trained_with,
)
from gclbench.training.loop import Loss, Model, Step, train
from gclbench.training.watch import Watch


@pytest.fixture
def with_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_factors, "torch_shortens", lambda: True)


@pytest.fixture
def without_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_factors, "torch_shortens", lambda: False)
    monkeypatch.setattr(short_factors, "has_own", lambda: False)


@pytest.fixture
def with_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor whose short products are those of contrasts alone."""
    monkeypatch.setattr(short_factors, "torch_shortens", lambda: False)
    monkeypatch.setattr(short_factors, "has_own", lambda: True)


def test_without_the_hardware_everything_is_float32(without_hardware: None) -> None:
    assert {
        resolved(asked, {"name": "grace"}, "uniform", "cpu") for asked in precision.PRECISIONS
    } == {""}
    assert precision.described("cpu") == (
        "float32 on cpu: torch makes no bfloat16 or TF32 products, so fast is the same"
    )


def test_fast_means_what_torch_does_and_not_what_the_processor_could(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A processor's flag is no proof: torch may keep float32 factors all the same."""
    rounds = short_factors.torch_shortens()
    a, b = torch.randn(2, 96, 96, generator=torch.Generator().manual_seed(0))
    torch.set_float32_matmul_precision("medium")
    found = a @ b
    torch.set_float32_matmul_precision("highest")
    error = float((found.double() - a.double() @ b.double()).norm() / found.norm())
    assert (error > 1e-4) == rounds, "2⁻⁹ for bfloat16, 2⁻²⁴ for float32"
    assert (precision.usual("cpu") == "bfloat16") == rounds

    monkeypatch.setattr(torch, "full", lambda size, value: torch.ones(size))
    short_factors.torch_shortens.cache_clear()
    try:
        assert short_factors.torch_shortens(), "factors that lose their last bits are rounded ones"
        assert torch.get_float32_matmul_precision() == "highest"
    finally:
        short_factors.torch_shortens.cache_clear()


@pytest.mark.parametrize("supported", [True, False])
@pytest.mark.parametrize("by_torch", [True, False])
def test_copies_are_made_where_only_they_are_fast(
    supported: bool, by_torch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: supported, raising=False)
    monkeypatch.setattr(short_factors, "torch_shortens", lambda: by_torch)
    short_factors.has_own.cache_clear()
    try:
        assert short_factors.has_own() == (supported and not by_torch)
        expected = "bfloat16" if by_torch else IN_CONTRASTS if supported else ""
        assert precision.usual("cpu") == expected
        assert precision.ways("cpu") == (
            (EVERYWHERE, FACTORS_IN_CONTRASTS) if by_torch else (IN_CONTRASTS,) * supported
        )
    finally:
        short_factors.has_own.cache_clear()


UNIFORM = {"negatives": "uniform"}


def test_auto_is_fast_only_for_methods_that_were_shown_equivalent(
    with_hardware: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = {EVERYWHERE: {"dgi": UNIFORM}, TF32: {"gca": UNIFORM}, FACTORS_IN_CONTRASTS: {}}
    monkeypatch.setattr(precision, "shown_equivalent", shown.__getitem__)
    assert resolved("auto", {"name": "dgi"}, "uniform", "cpu") == EVERYWHERE
    assert resolved("auto", {"name": "dgi"}, "nml", "cpu") == "", "its evidence is of its own"
    assert resolved("auto", {"name": "grace"}, "uniform", "cpu") == ""
    assert resolved("auto", {"name": "gca"}, "uniform", "cpu") == "", (
        "it was shown on other hardware"
    )
    assert resolved("fast", {"name": "grace"}, "uniform", "cpu") == EVERYWHERE
    assert resolved("float32", {"name": "dgi"}, "uniform", "cpu") == ""
    assert resolved("fast", {"name": "dgi", "tau": 0.1}, "uniform", "cpu") == EVERYWHERE
    assert resolved("fast", {"name": "dgi", "tau": 0.09}, "uniform", "cpu") == "", (
        "the gradient would be noise"
    )
    assert resolved("fast", {"name": "dgi"}, "uniform", "meta") == "", "an unknown device"
    assert precision.described("cpu").endswith("methods shown equivalent: dgi")


def test_a_method_is_fast_in_the_way_that_it_was_shown_in(
    with_hardware: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = {
        EVERYWHERE: {"dgi": UNIFORM, "gca": UNIFORM},
        FACTORS_IN_CONTRASTS: {"grace": UNIFORM, "gca": UNIFORM},
    }
    monkeypatch.setattr(precision, "shown_equivalent", shown.__getitem__)
    for asked in ("auto", "fast"):
        assert resolved(asked, {"name": "grace"}, "uniform", "cpu") == FACTORS_IN_CONTRASTS
        assert resolved(asked, {"name": "gca"}, "uniform", "cpu") == EVERYWHERE, "the usual first"
    assert resolved("auto", {"name": "grace"}, "nml", "cpu") == ""
    assert resolved("fast", {"name": "grace"}, "nml", "cpu") == EVERYWHERE
    assert precision.described("cpu") == (
        "fast on cpu is bfloat16; auto takes it for methods shown equivalent: dgi, gca;"
        " bfloat16 factors in centred contrasts for gca, grace"
    )


def test_products_of_no_known_name_are_refused() -> None:
    with (
        pytest.raises(ValueError, match="no products are called 'fast'; known are TF32, bfloat16,"),
        trained_with(FAST),
        products(),
    ):
        pass


def test_fast_in_contrasts_alone(with_own: None, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {EVERYWHERE: {"dgi": UNIFORM}, IN_CONTRASTS: {"gca": UNIFORM}}
    monkeypatch.setattr(precision, "shown_equivalent", shown.__getitem__)
    assert resolved("fast", {"name": "grace"}, "uniform", "cpu") == IN_CONTRASTS
    assert (
        resolved("auto", {"name": "gca"}, "uniform", "cpu"),
        resolved("auto", {"name": "dgi"}, "uniform", "cpu"),
    ) == (IN_CONTRASTS, "")
    assert precision.described("cpu") == (
        "fast on cpu is bfloat16 in centred contrasts;"
        " auto takes it for methods shown equivalent: gca"
    )


def test_the_list_names_methods_and_what_showed_it() -> None:
    known = json.loads(
        files("gclbench.machine").joinpath(precision.SHOWN).read_text(encoding="utf-8")
    )
    assert set(known) <= {EVERYWHERE, FACTORS_IN_CONTRASTS, IN_CONTRASTS, TF32}
    for hardware in known:
        shown = precision.shown_equivalent(hardware)
        assert shown and set(shown) <= set(METHODS.names())
        for facts in shown.values():
            assert {"datasets", "negatives", "seeds", "margin", "evidence"} == set(facts)
            assert facts["negatives"] in NEGATIVES.names()
            evidence = json.loads(Path(facts["evidence"]).read_text())
            assert (evidence["hardware"], evidence["emulated"]) == (hardware, False)
    assert precision.shown_equivalent("no such hardware") == {}


@pytest.mark.parametrize("negatives", ["nml", "augcl", "progcl_weight", "mmix"])
def test_grace_with_another_strategy_stays_float32(with_own: None, negatives: str) -> None:
    assert resolved("auto", {"name": "grace"}, "uniform", "cpu") == IN_CONTRASTS
    assert resolved("auto", {"name": "grace"}, negatives, "cpu") == ""
    assert resolved("fast", {"name": "grace"}, negatives, "cpu") == IN_CONTRASTS


class Watched(Model):
    """Notes torch's setting wherever the loop calls it."""

    def __init__(self) -> None:
        super().__init__(2)
        self.weight = nn.Parameter(torch.ones(1))
        self.seen: dict[str, str] = {}

    def _note(self, where: str) -> None:
        short = short_factors.factors_for(torch.zeros(1), torch.float32)
        self.seen[where] = short.__name__ if short else torch.get_float32_matmul_precision()

    def loss(self, step: Step) -> Loss:
        self._note("loss")
        self.weight.register_hook(self._backward)
        return Loss((self.weight**2).sum())

    def _backward(self, gradient: Tensor) -> None:
        self._note("backward")

    def after(self, step: Step) -> None:
        self._note("after")

    def embed(self, step: Step) -> Embedding:
        self._note("embed")
        return Embedding(torch.zeros(2, 1))


def _trained(score: bool = False) -> dict[str, str]:
    model = Watched()

    def scored(embedding: Embedding) -> float:
        model._note("score")
        return 0.0

    train(model, torch.optim.SGD(model.parameters(), lr=0.1), Watch(), 0, scored if score else None)
    return model.seen


@pytest.mark.parametrize(
    ("fast", "short"),
    [(EVERYWHERE, "medium"), (FACTORS_IN_CONTRASTS, "ByTorch"), (IN_CONTRASTS, "Copies")],
)
def test_only_the_steps_of_a_training_are_fast(fast: str, short: str) -> None:
    with trained_with(fast):
        seen = _trained(score=True)
        assert torch.get_float32_matmul_precision() == "highest"
    assert seen == {
        "loss": short,
        "backward": short,
        "after": "highest",
        "embed": "highest",
        "score": "highest",
    }
    assert set(_trained().values()) == {"highest"}, "nothing is fast after the block"
    with trained_with(""):
        assert set(_trained().values()) == {"highest"}


def test_a_gpu_takes_tf32() -> None:
    with trained_with(TF32), products():
        assert torch.get_float32_matmul_precision() == "high"


def test_an_error_in_a_step_leaves_torch_as_it_was() -> None:
    with pytest.raises(ZeroDivisionError), trained_with(EVERYWHERE), products():
        raise ZeroDivisionError
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("precision=half", "precision=half must be one of auto, float32, fast"),
        ("threads=0", "threads=0 must be auto, or a whole number from 1 to 1024"),
        ("threads=many", "threads=many must be auto, or a whole number from 1 to 1024"),
        ("threads=1025", "threads=1025 must be auto, or a whole number from 1 to 1024"),
        ("launcher.workers=many", "launcher.workers='many' must be a whole number or auto"),
    ],
)
def test_wrong_settings_of_the_machine(override: str, told: str) -> None:
    with pytest.raises(ConfigErrors) as error:
        experiment_of([override])
    assert error.value.errors == [told]
