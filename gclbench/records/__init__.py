"""A run's identity, its record, and the store. No index, no lock, no torch.

A store is a folder with one JSON file per run; finished records may be packed in `.jsonl` files.

A run is one (dataset, filter, method, negatives, task, seed). Its id is a hash of the resolved
settings, the dataset's content and the versions of task, method and filter, and of the strategy for
negatives unless it is `uniform`. So the same run has the same id on every machine and is never
repeated by accident.

A record is written under a temporary name, flushed to disk and renamed. So a reader sees a whole
record or none, and any number of writers, on NFS too, never disturb each other.
"""

from gclbench.records.atomic import write_atomically
from gclbench.records.output import deliver, ensure_deliverable
from gclbench.records.packed import pack
from gclbench.records.record import NAMED_BY_USER, Record, RunSpec, digest, flatten, id_of
from gclbench.records.schema import LARGEST, LARGEST_SEED, SCHEMA, STATUSES
from gclbench.records.store import Store, StoreError, differ, unwritable
from gclbench.records.store_warnings import StoreWarnings

__all__ = [
    "LARGEST",
    "LARGEST_SEED",
    "NAMED_BY_USER",
    "SCHEMA",
    "STATUSES",
    "StoreWarnings",
    "Record",
    "RunSpec",
    "Store",
    "StoreError",
    "differ",
    "deliver",
    "digest",
    "ensure_deliverable",
    "flatten",
    "id_of",
    "pack",
    "unwritable",
    "write_atomically",
]
