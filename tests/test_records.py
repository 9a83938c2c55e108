"""Identity of runs, and a record as text."""

from __future__ import annotations

import contextlib
import json
import math
import random
from dataclasses import asdict, replace

import numpy as np
import pytest
from example_records import SPEC, full_record, record

from gclbench.records import SCHEMA, STATUSES, Record, RunSpec, digest


def test_id_is_the_hash_of_canonical_json():
    assert len(SPEC.id) == 16
    assert int(SPEC.id, 16) >= 0
    assert SPEC.id == digest(asdict(SPEC))[:16]
    shuffled = RunSpec(
        **{key: dict(reversed(value.items())) if isinstance(value, dict) else value for key, value in asdict(SPEC).items()}
    )
    assert shuffled.id == SPEC.id, "the order of settings is no setting"
    # Pinned: records already published carry ids made this way.
    assert digest({"b": [1, 0.1, "é"], "a": None}) == "eb788bd5b1ee756e0ef79d71da6de793d32519007ed3661dea2b0ce0a78130c7"


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": {"name": "citeseer"}},
        {"filter": {"name": "gnnbp", "alpha": 0.2}},
        {"method": {"name": "dmat_i", "architecture": [128, 256]}},
        {"negatives": {"name": "other"}},
        {"task": {"name": "classification"}},
        {"seed": 4},
        {"versions": {"task": "2", "method": "1"}},
        {"dataset_hash": "cd" * 32},
    ],
)
def test_every_part_of_a_spec_makes_another_id(change):
    assert replace(SPEC, **change).id != SPEC.id


def test_a_spec_with_nan_has_no_id():
    with pytest.raises(ValueError, match="not JSON compliant"):
        _ = replace(SPEC, filter={"name": "gnnbp", "alpha": math.nan}).id


def test_json_round_trip():
    whole = full_record()
    text = whole.to_json()
    assert "\n" not in text
    assert Record.from_json(text) == whole
    assert (whole.name("method"), whole.name("dataset"), whole.seed, whole.ok) == ("dmat_i", "cora", 3, False)
    assert record().ok


def test_numbers_that_are_not_finite_round_trip():
    metrics = {"nan": math.nan, "up": math.inf, "down": -math.inf, "plain": 0.25, "numpy": np.float64("nan")}
    text = record(metrics=metrics, fit={"loss": math.nan, "curve": [(1, math.inf)]}).to_json()
    assert json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    back = Record.from_json(text)
    assert math.isnan(back.metrics["nan"])
    assert math.isnan(back.metrics["numpy"])
    assert (back.metrics["up"], back.metrics["down"], back.metrics["plain"]) == (math.inf, -math.inf, 0.25)
    assert back.fit == {"loss": "nan", "curve": [[1, "inf"]]}
    assert Record.from_json(back.to_json()).to_json() == text


def test_unknown_and_missing_fields_are_tolerated():
    data = json.loads(record().to_json())
    assert Record.from_json(json.dumps({**data, "invented_later": {"a": [1]}})) == record()
    least = Record.from_json(json.dumps({key: data[key] for key in ("id", "spec", "status")}))
    assert (least.metrics, least.reason, least.repairs, least.schema) == ({}, "", [], SCHEMA)


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_is_readable(status):
    assert Record.from_json(record(status=status).to_json()).status == status


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        (record().to_json()[:-20], "not valid JSON"),
        ("[1, 2]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("{}", "no 'id' field, so not a gclbench record"),
        ('{"id": "1", "spec": {}}', "no 'status' field"),
        (json.dumps({"id": "1", "spec": {}, "status": "ok"}), "its spec or its status"),
        (json.dumps({"id": "1", "spec": [], "status": "ok"}), "its spec or its status"),
        (json.dumps({**asdict(record()), "status": "splendid"}), r"status \('splendid'\)"),
        (json.dumps({**asdict(record()), "status": ["ok"]}), "its spec or its status"),
        (json.dumps({**asdict(record()), "id": 7}), "its id, metrics or schema is of another type"),
        (json.dumps({**asdict(record()), "metrics": [0.5]}), "its id, metrics or schema is of another type"),
        (json.dumps({**asdict(record()), "metrics": None}), "its id, metrics or schema is of another type"),
        (json.dumps({**asdict(record()), "schema": "1"}), "its id, metrics or schema is of another type"),
        (json.dumps({**asdict(record()), "metrics": {"acc": None}}), "a metric is no number"),
        (json.dumps({**asdict(record()), "metrics": {"acc": "high"}}), "a metric is no number"),
    ],
)
def test_texts_that_are_no_record(text, message):
    with pytest.raises(ValueError, match=message):
        Record.from_json(text)


def test_random_damage_is_a_value_error_or_a_record():
    """Whatever single bytes change, readers get a ValueError, never another exception."""
    chance = random.Random(0)
    whole = full_record().to_json()
    for _ in range(500):
        place = chance.randrange(len(whole))
        damaged = whole[:place] + chance.choice('{}[]",:0x\\ ') + whole[place + chance.randrange(3) :]
        with contextlib.suppress(ValueError):
            assert isinstance(Record.from_json(damaged), Record)
