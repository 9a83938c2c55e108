"""A run's identity and its record."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from gclbench.records.schema import SCHEMA, parsed

NAMED_BY_USER = "from"
"""Key of a dataset's settings, beside a name that the user gave: the component. It is a word of
Python, so it is no setting's name."""


@dataclass(frozen=True)
class RunSpec:
    """What a run is: small, picklable, hashable by `id`.

    Attributes:
        dataset, filter, method, negatives, task: `{"name": …, setting: value, …}` of each
            component. A user's own graph has a key `from` beside its name, `custom`.
        seed: the run's seed.
        versions: of the task (`protocol`), method and filter; of the strategy for negatives, too,
            unless it is `uniform`.
        dataset_hash: content hash of the graph as loaded.
    """

    dataset: dict[str, Any]
    filter: dict[str, Any]
    method: dict[str, Any]
    negatives: dict[str, Any]
    task: dict[str, Any]
    seed: int
    versions: dict[str, str]
    dataset_hash: str

    @property
    def id(self) -> str:
        """16 hexadecimal digits of the sha256 of the canonical JSON of all fields."""
        return id_of(asdict(self))


def id_of(spec: Mapping[str, Any]) -> str:
    """The id of a run with this spec, as plain values.

    The name of a user's own graph is no part of it: the content of the graph is.
    """
    dataset = spec["dataset"]
    if NAMED_BY_USER in dataset:
        own = {key: value for key, value in dataset.items() if key != "name"}
        spec = {**spec, "dataset": own}
    return digest(spec)[:16]


def digest(value: Any) -> str:
    """sha256 (hex) of the canonical JSON of a plain value."""
    return hashlib.sha256(_CANONICAL.encode(value).encode()).hexdigest()


_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


@dataclass
class Record:
    """The outcome of one run.

    Attributes:
        id: the spec's id. spec: the spec as plain values. status: one of `STATUSES`.
        metrics: name to value; fractions, not percent. Only where status is ok.
        reason: one line on why the status is not ok. traceback: of a failed run.
        seconds: wall-clock seconds per phase (load, hide, filter, fit, evaluate). shared: phases
            that this run shared with other tasks of the same embedding.
        memory: bytes: `rss_peak` of the process, `gpu_allocated`, `gpu_reserved` where a GPU was
            used.
        device: name of the device. environment: versions of Python and libraries, platform, git
            commit; threads, precision (and what the machine shortens, `fast_products`) and the
            processor's vector instructions (`instructions`).
            Records from before one of these was recorded lack it.
        filter_report: what the filter's solver did. split: protocol and hash.
        fit: the iterations run, the final loss and the loss curve. Some runs have more:

            - `mean_cosine`: of different items in what the loss compares (1: all point one way);
              where `task=contrast` makes sense.
            - `augcl_unimodal`, `progcl_degenerate`, `mmix_mixed`: what a strategy for negatives
              found.
            - `steps_kept`: the steps that early stopping went back to. `pretrained_epochs`: the
              epochs that sdcn's pre-training went back to.
            - `remarks`: sentences on these.
            - `criteria`: what a search chooses by, name to value; null where the training has none.
        repairs: what was repaired in the graph when it was loaded.
        limits: those the run was held to: `time` in seconds, `memory` in GiB.
        data: what a task keeps for a figure besides its metrics, such as the coordinates of a map;
            of most tasks empty, and then not written.
        degenerate: one sentence per way in which the run's result collapsed, such as a clustering
            with one cluster. floor: by metric, what is reached without the embedding: by the
            majority class, or by clusters dealt at random. Both are written only where there is
            something.
        command: the command that repeats the run. created: UTC time, ISO 8601.
    """

    id: str
    spec: dict[str, Any]
    status: str
    metrics: dict[str, float] = field(default_factory=dict)
    reason: str = ""
    traceback: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    shared: list[str] = field(default_factory=list)
    memory: dict[str, int] = field(default_factory=dict)
    device: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    filter_report: dict[str, Any] = field(default_factory=dict)
    split: dict[str, str] = field(default_factory=dict)
    fit: dict[str, Any] = field(default_factory=dict)
    repairs: list[str] = field(default_factory=list)
    limits: dict[str, float] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    degenerate: list[str] = field(default_factory=list)
    floor: dict[str, float] = field(default_factory=dict)
    command: str = ""
    created: str = ""
    schema: int = SCHEMA

    @property
    def on_gpu(self) -> bool:
        """Whether the run was on a GPU."""
        return "gpu_allocated" in self.memory

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    def name(self, kind: str) -> str:
        """The name of the run's component of a kind: `record.name("method")`."""
        return str(self.spec[kind]["name"])

    @property
    def seed(self) -> int:
        return int(self.spec["seed"])

    def to_json(self) -> str:
        """One line of JSON, keys in the order of declaration, non-finite numbers as strings."""
        written = {key: value for key, value in asdict(self).items() if value or key not in SELDOM}
        return json.dumps(finite(written), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Record:
        """Reads a record of this or an older schema.

        Raises:
            ValueError: when the text is not a record; the message says what is wrong.
        """
        data = parsed(text)
        _check_id(data)
        return cls(**{key: value for key, value in data.items() if key in _FIELDS})


SELDOM = ("data", "degenerate", "floor")
"""Fields that are not written where they are empty."""

_FIELDS = frozenset(item.name for item in fields(Record))


_IDENTITY = frozenset(item.name for item in fields(RunSpec))


def _check_id(data: Mapping[str, Any]) -> None:
    """Raises ValueError unless a record's id is that of its spec. One of a newer schema, or without
    a part of the spec, cannot be told."""
    if data.get("schema", SCHEMA) > SCHEMA or not data["spec"].keys() >= _IDENTITY:
        return
    found = id_of(data["spec"])
    if found != data["id"]:
        raise ValueError(
            f"its id is {data['id']}, and its settings are those of run {found}, so one of the two"
            " was changed; put the file back as it was, or remove it and repeat the run"
        )


def finite(value: Any) -> Any:
    """Plain values with numbers that JSON does not have as their names: `nan`, `inf`, `-inf`."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(float(value))  # NumPy's own floats have another repr
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


def flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """`{"method": {"epochs": 3}}` as `{"method.epochs": 3}`, the form of the command line; empty
    objects stay."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat
