"""The table of seconds per epoch: what it is made of, from small runs."""

from __future__ import annotations

import pytest
import training_floor

from gclbench.machine import precision

RATES = training_floor.Rates(1e11, 3e11, 1e9)


@pytest.fixture(params=["", precision.IN_CONTRASTS, "bfloat16"])
def hardware(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(precision, "ways", lambda device: (request.param,) * bool(request.param))
    return str(request.param)


def test_every_row_has_the_cells_of_its_heading(hardware: str) -> None:
    known = training_floor.Rates(1e11, 3e11 if hardware else None, 1e9)
    row = training_floor.measure(
        ["method=grace", "dataset=sbm", "dataset.nodes=40", "method.architecture=[8,6]"], 3, known
    )
    precisions = ["float32", "fast"] if hardware else ["float32"]
    assert list(row["seconds_per_epoch"]) == precisions
    losses = training_floor.losses(40, 8, rounds=1)
    timed = {"bare loop"} if hardware == "bfloat16" else set()
    timed |= set(training_floor.STRATEGIES) if hardware else set()
    assert set(losses["fast_seconds"]) == timed
    facts = {"device": "a machine", "load_before": [0.5], "load_after": [0.6], "losses": losses}
    text = training_floor.markdown([row], known, facts)
    assert ("products of panels alone" in text) == (hardware == precision.IN_CONTRASTS)
    tables = [line.count("|") for line in text.splitlines() if line.startswith("|")]
    of_runs, of_losses = 2 + len(precisions), 2 + 1 + len(training_floor.STRATEGIES)
    assert len(tables) == of_runs + of_losses
    assert len(set(tables[:of_runs])) == len(set(tables[of_runs:])) == 1


def test_a_floor_takes_the_fast_rate_for_fast_products() -> None:
    assert RATES.floor(3e11, 1e9) == pytest.approx(4.0)
    assert RATES.floor(3e11, 1e9, fast=True) == pytest.approx(2.0)
