"""Records as a table of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gclbench.records.record import Record, flatten
from gclbench.records.schema import KINDS

if TYPE_CHECKING:
    import pandas as pd


BEFORE, BEHIND = ("id", *KINDS, "seed", "status"), ("seconds", "device", "reason")
COLUMNS = frozenset((*BEFORE, *BEHIND, "dataset_hash"))
"""The fixed columns of tables of runs, which no metric may be called. Those of settings have a
dot."""


def frame_of(records: Sequence[Record], settings: bool = False) -> pd.DataFrame:
    """A row per record, with a column per setting where these are asked for."""
    import pandas as pd

    names = ["seed", *(f"{kind}.name" for kind in KINDS)]
    own = [
        {key: value for key, value in flatten(record.spec).items() if key not in names}
        if settings
        else {}
        for record in records
    ]
    rows: list[dict[str, Any]] = []
    for record, chosen in zip(records, own, strict=True):
        rows.append(
            {
                **chosen,
                "id": record.id,
                **{kind: record.name(kind) for kind in KINDS},
                "seed": record.seed,
                "status": record.status,
                **record.metrics,
                "seconds": sum(record.seconds.values()),
                "device": record.device,
                "reason": record.reason,
            }
        )
    metrics = dict.fromkeys(name for record in records for name in record.metrics)
    first = [*BEFORE, *metrics, *BEHIND]
    last = sorted({key for chosen in own for key in chosen} - {*first})
    return pd.DataFrame(rows, columns=[*first, *last])
