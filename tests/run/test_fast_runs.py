"""Which products a run trains with, and what its record says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import run
from torch import Tensor

from gclbench.contrast import short_factors
from gclbench.machine import precision

GRACE = ("method=grace", "method.epochs=2", "method.architecture=[8,6]", "task=clustering")


@pytest.fixture
def with_amx(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A processor with AMX, where GRACE was shown equivalent in contrasts; what makes factors."""
    made: list[str] = []

    class Noted(short_factors.ByTorch):
        def fill(self, tile: Tensor, start: int, first: int, buffer: short_factors.Buffer) -> None:
            made.append("contrasts")
            super().fill(tile, start, first, buffer)

    ways = (precision.EVERYWHERE, precision.FACTORS_IN_CONTRASTS)
    shown = {precision.FACTORS_IN_CONTRASTS: {"grace": {"negatives": "uniform"}}}
    monkeypatch.setattr(short_factors, "ByTorch", Noted)
    monkeypatch.setattr(precision, "ways", lambda device: ways)
    monkeypatch.setattr(precision, "shown_equivalent", lambda way: shown.get(way, {}))
    return made


@pytest.mark.parametrize("asked", ["auto", "fast"])
def test_a_run_trains_in_the_way_that_its_method_was_shown_in(
    here: Path, with_amx: list[str], asked: str
) -> None:
    record = run(*GRACE, f"precision={asked}")["clustering"]
    assert with_amx
    assert record.environment["precision"] == "fast"
    assert record.environment["fast_products"] == precision.FACTORS_IN_CONTRASTS


def test_with_another_strategy_all_products_are_fast(here: Path, with_amx: list[str]) -> None:
    record = run(*GRACE, "negatives=imix", "precision=fast")["clustering"]
    assert not with_amx
    assert record.environment["fast_products"] == precision.EVERYWHERE


def test_a_run_that_takes_no_step_has_no_fast_products(here: Path, with_amx: list[str]) -> None:
    words = ("method=kmeans", "filter=none", "task=clustering", "precision=fast")
    record = run(*words)["clustering"]
    assert record.ok and record.environment["precision"] == "float32"
    assert "fast_products" not in record.environment
