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

from gclbench.component import settings as hyperparameters
from gclbench.records import SCHEMA, STATUSES, Record, RunSpec, digest, flatten
from gclbench.records import schema as layout


def test_id_is_the_hash_of_canonical_json():
    assert len(SPEC.id) == 16
    assert int(SPEC.id, 16) >= 0
    assert SPEC.id == digest(asdict(SPEC))[:16]
    shuffled = RunSpec(
        **{
            key: dict(reversed(value.items())) if isinstance(value, dict) else value
            for key, value in asdict(SPEC).items()
        }
    )
    assert shuffled.id == SPEC.id, "the order of settings is no setting"
    # Pinned: records already published carry ids made this way.
    assert (
        digest({"b": [1, 0.1, "é"], "a": None})
        == "eb788bd5b1ee756e0ef79d71da6de793d32519007ed3661dea2b0ce0a78130c7"
    )


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
    assert (whole.name("method"), whole.name("dataset"), whole.seed, whole.ok) == (
        "dmat_i",
        "cora",
        3,
        False,
    )
    assert record().ok


def test_numbers_that_are_not_finite_round_trip():
    metrics = {
        "nan": math.nan,
        "up": math.inf,
        "down": -math.inf,
        "plain": 0.25,
        "numpy": np.float64("nan"),
    }
    text = record(metrics=metrics, fit={"loss": math.nan, "curve": [(1, math.inf)]}).to_json()
    assert json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    back = Record.from_json(text)
    assert math.isnan(back.metrics["nan"])
    assert math.isnan(back.metrics["numpy"])
    assert (back.metrics["up"], back.metrics["down"], back.metrics["plain"]) == (
        math.inf,
        -math.inf,
        0.25,
    )
    assert back.fit == {"loss": "nan", "curve": [[1, "inf"]]}
    assert Record.from_json(back.to_json()).to_json() == text


def test_unknown_and_missing_fields_are_tolerated():
    data = json.loads(record().to_json())
    assert Record.from_json(json.dumps({**data, "invented_later": {"a": [1]}})) == record()
    least = Record.from_json(json.dumps({key: data[key] for key in ("id", "spec", "status")}))
    assert (least.metrics, least.reason, least.repairs, least.schema) == ({}, "", [], SCHEMA)


PLAIN = asdict(SPEC)


def changed(**fields):
    """A record's JSON with other fields."""
    return json.dumps({**asdict(record()), **fields})


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
        ('{"id": "1", "id": "1"}', "its key 'id' is there twice"),
        (changed(spec={}), "its spec has no dataset with a name"),
        (changed(spec=[]), "its spec is not an object"),
        (changed(spec={**PLAIN, "method": {"name": 3}}), "its spec has no method with a name"),
        (
            changed(spec={**PLAIN, "method": {"name": "../up"}}),
            "its spec has no method with a name",
        ),
        (changed(spec={**PLAIN, "method": ["dmat"]}), "its spec has no method with a name"),
        (changed(spec={**PLAIN, "seed": 1.0}), r"its seed \(1.0\) is not a whole number from 0"),
        (changed(spec={**PLAIN, "seed": "3"}), r"its seed \('3'\) is not a whole number from 0"),
        (changed(spec={**PLAIN, "seed": -1}), r"its seed \(-1\) is not a whole number from 0"),
        (changed(spec={**PLAIN, "seed": True}), r"its seed \(True\) is not a whole number from 0"),
        (changed(spec={**PLAIN, "seed": 10**30}), "is not a whole number from 0"),
        (
            changed(spec={**PLAIN, "filter": {"name": "gnnbp", "alpha": math.nan}}),
            "its setting 'filter.alpha' is no number",
        ),
        (
            changed(spec={**PLAIN, "method": {"name": "x", "a": {"b": [1, math.inf]}}}),
            "its setting 'method.a.b.1' is no number",
        ),
        (
            changed(spec={**PLAIN, "task": {"name": "x", "protocol": ["random"]}}),
            "its task's protocol .* is not text",
        ),
        (changed(status="splendid"), r"its status \('splendid'\) is none of gclbench's: ok, "),
        (changed(status=["ok"]), "its status"),
        (changed(id=7), r"its id \(7\) is not a run's id"),
        (changed(id="a/b"), r"its id \('a/b'\) is not a run's id"),
        (changed(id=""), "its id"),
        (changed(metrics=[0.5]), "its metrics are not numbers by name"),
        (changed(metrics=None), "its metrics are not numbers by name"),
        (changed(metrics={"acc": None}), r"a metric is no number \('acc': None\)"),
        (changed(metrics={"acc": "high"}), "a metric is no number"),
        (changed(metrics={"acc": [0.5, 0.6]}), r"a metric is no number \('acc': \[0.5, 0.6\]\)"),
        (changed(metrics={"acc": True}), "a metric is no number"),
        (changed(metrics={"acc": 10**400}), "a metric is beyond anything measured"),
        (changed(metrics={"acc": 1e300}), "a metric is beyond anything measured"),
        (changed(schema="1"), r"its schema \('1'\) is not a whole number from 1"),
        (changed(schema=0), "its schema"),
        (changed(seconds=[1.0]), r"its field 'seconds' is not numbers by name \(\[1.0\]\)"),
        (changed(seconds={"fit": "long"}), "its field 'seconds'"),
        (changed(seconds={"fit": math.nan}), "its field 'seconds'"),
        (changed(memory={"rss_peak": None}), "its field 'memory'"),
        (changed(environment={"python": 3}), "its field 'environment' is not text by name"),
        (changed(split="random"), "its field 'split'"),
        (changed(fit=[]), "its field 'fit' is not an object"),
        (changed(data=[]), "its field 'data' is not an object"),
        (changed(reason=None), "its field 'reason' is not text"),
        (changed(created=2026), "its field 'created' is not text"),
        (changed(repairs=[1]), "its field 'repairs' is not a list of text"),
        (changed(device="\ud800"), "its field .*device.* holds text that is no Unicode"),
        ("[" * 100_000, "nested too deeply"),
        (
            changed(fit={"curve": json.loads("[" * 200 + "]" * 200)}),
            "nested more than 32 levels deep",
        ),
        (
            record().to_json().replace('"seed": 3', '"seed": ' + "9" * 5000),
            "a number of too many digits",
        ),
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
        damaged = (
            whole[:place] + chance.choice('{}[]",:0x\\ ') + whole[place + chance.randrange(3) :]
        )
        with contextlib.suppress(ValueError):
            assert isinstance(Record.from_json(damaged), Record)


def test_flatten() -> None:
    assert flatten({"a": {"b": {"c": 1}, "d": [2]}, "e": None}) == {
        "a.b.c": 1,
        "a.d": [2],
        "e": None,
    }


def test_what_can_be_set_can_be_recorded() -> None:
    """A number that only the reader of records refuses would be trained for and lost."""
    assert hyperparameters.LARGEST == layout.LARGEST
