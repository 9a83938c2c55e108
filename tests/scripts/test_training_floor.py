"""The table of seconds per epoch: what it is made of, from small runs."""

from __future__ import annotations

import pytest
import training_floor

from gclbench.machine import precision

RATES = training_floor.Rates(1e11, 3e11, 1e9)

AMX = (precision.EVERYWHERE, precision.FACTORS_IN_CONTRASTS)
AVX512_BF16 = (precision.IN_CONTRASTS,)
SHOWN = {precision.FACTORS_IN_CONTRASTS: {"grace": {"negatives": "uniform"}}}


@pytest.fixture(params=[(), AVX512_BF16, AMX])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.setattr(precision, "ways", lambda device: request.param)
    monkeypatch.setattr(precision, "shown_equivalent", lambda way: SHOWN.get(way, {}))
    return tuple(request.param)


def test_every_row_has_the_cells_of_its_heading(
    ways: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    timed_with: list[str] = []
    trained_with = precision.trained_with
    monkeypatch.setattr(
        precision, "trained_with", lambda way: (timed_with.append(way), trained_with(way))[1]
    )
    known = training_floor.Rates(1e11, 3e11 if ways else None, 1e9)
    row = training_floor.measure(
        ["method=grace", "dataset=sbm", "dataset.nodes=40", "method.architecture=[8,6]"], 3, known
    )
    precisions = ["float32", "fast"] if ways else ["float32"]
    assert list(row["seconds_per_epoch"]) == precisions
    assert row["fast_products"] == (ways[-1] if ways else "")
    assert timed_with == [*ways[-1:]]
    losses = training_floor.losses(40, 8, rounds=1)
    strategies = set(training_floor.STRATEGIES)
    timed = {"bare loop"} if ways == AMX else set()
    timed |= strategies if ways else set()
    assert set(losses["fast_seconds"]) == timed
    assert set(losses["fast_in_contrasts_seconds"]) == (strategies if ways == AMX else set())
    facts = {"device": "a machine", "load_before": [0.5], "load_after": [0.6], "losses": losses}
    text = training_floor.markdown([row], known, facts)
    assert ("Fast are the products of panels alone." in text) == (ways == AVX512_BF16)
    assert ("| fast, contrasts |" in text) == (ways == AMX)
    tables = [line.count("|") for line in text.splitlines() if line.startswith("|")]
    of_runs, of_losses = 2 + len(precisions), 2 + 1 + len(training_floor.STRATEGIES)
    assert len(tables) == of_runs + of_losses
    assert len(set(tables[:of_runs])) == len(set(tables[of_runs:])) == 1


def test_a_floor_takes_the_fast_rate_for_fast_products() -> None:
    assert RATES.floor(3e11, 1e9) == pytest.approx(4.0)
    assert RATES.floor(3e11, 1e9, fast=True) == pytest.approx(2.0)
