"""Filtered features on disk, by the hash of their input and parameters.

An entry is `<key>.npy` with the features and `<key>.json` with their sha256 and the filter's
report. The second is written last, each in one step, so an interrupted write leaves no entry.
Damage is found by the sha256, reported and repaired by filtering again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from gclbench.filters.filtered import Filtered
from gclbench.graph.carrier import Data
from gclbench.machine.environment import instructions, versions
from gclbench.machine.limits import TimeLimit
from gclbench.machine.memory_map import SHARE, available_memory, opened
from gclbench.records.atomic import write_atomically

log = logging.getLogger(__name__)


class Filter(Protocol):
    """What the cache needs of a filter."""

    def apply(self, graph: Data, device: str = "cpu", folder: Path | None = None) -> Filtered: ...


def _computed() -> dict[str, str]:
    known = versions()
    return {
        "instructions": instructions(),
        **{library: known[library] for library in ("torch", "numpy", "scipy")},
    }


def cached(
    component: Filter, parameters: dict[str, Any], graph: Data, folder: Path, device: str = "cpu"
) -> tuple[Filtered, bool]:
    """The filtered features, from disk when they are there.

    Args:
        parameters: name, version and settings of the filter. With the graph's content hash and the
            kind of device, the instructions and the libraries they make the key: everything that
            may change a bit of the result, so that a run finds what it would compute itself,
            whatever ran before it.
        folder: where entries live. Where it cannot be written, a warning says so and the run goes
            on.
        device: where the filter computes. The sums of a GPU have other last bits than the CPU's.
            The number of threads is no part of the key: on the CPU it changes no number.

    Returns:
        the features and whether they came from disk.
    """
    identity = {"filter": parameters, "graph": graph.content_hash, "computed": _computed()}
    if device.partition(":")[0] != "cpu":
        identity["device"] = device.partition(":")[0]
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]
    features, sidecar = folder / f"{key}.npy", folder / f"{key}.json"
    found = _read(features, sidecar)
    if found is not None:
        return found, True
    filtered = _applied(component, graph, device, folder)
    try:
        _write(filtered, features, sidecar)
    except OSError as error:
        with contextlib.suppress(OSError):
            if not sidecar.exists():
                features.unlink()  # Nobody would find them; they may be large.
        log.warning(
            "filtered features are not kept: %s cannot be written (%s); GCLBENCH_DATA sets the"
            " cache folder",
            folder,
            error.strerror,
        )
    finally:
        if filtered.file is not None:
            filtered.file.unlink(missing_ok=True)
    return Filtered(filtered.x, filtered.report), False


def uncached(component: Filter, graph: Data, folder: Path, device: str = "cpu") -> Filtered:
    """The filtered features, not kept: a file that they are mapped from is nameless, and gone when
    they are."""
    filtered = _applied(component, graph, device, folder)
    if filtered.file is not None:
        filtered.file.unlink(missing_ok=True)
    return Filtered(filtered.x, filtered.report)


def _applied(component: Filter, graph: Data, device: str, folder: Path) -> Filtered:
    """What the filter returns.

    Raises:
        TypeError: when it is something else.
    """
    where = f"{type(component).__qualname__}.apply"
    found: Any = component.apply(graph, device, folder)
    if not isinstance(found, Filtered):
        kind = type(found).__name__
        raise TypeError(f"{where} must return Filtered(x), and returned {kind}")
    x, wanted = found.x, f"a tensor of floats, {graph.num_nodes} nodes × features"
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{where} must return Filtered(x) of {wanted}, and x is {type(x).__name__}")
    if not x.is_floating_point() or x.dim() != 2 or x.shape[0] != graph.num_nodes:
        raise TypeError(
            f"{where} must return Filtered(x) of {wanted}, and x is of {x.dtype} and shape"
            f" {tuple(x.shape)}"
        )
    try:
        json.dumps(found.report)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{where} must return a report of plain values, as JSON has them ({error})"
        ) from error
    return found


def _read(features: Path, sidecar: Path) -> Filtered | None:
    try:
        facts = json.loads(sidecar.read_text(encoding="utf-8"))
        if features.stat().st_size * SHARE > available_memory():
            array = opened(features).numpy()
        else:
            with open(features, "rb") as file:
                array = np.lib.format.read_array(file, allow_pickle=False)
        if _sha256(array) != facts["sha256"]:
            raise ValueError("its content has changed")
        return Filtered(torch.from_numpy(array), facts["report"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except TimeLimit:
        raise
    except (
        Exception
    ) as error:  # NumPy raises nearly anything (TokenError, MemoryError, …) on a damaged header.
        log.warning("the cached features %s are damaged (%s); filtering again", features, error)
        return None


def _write(filtered: Filtered, features: Path, sidecar: Path) -> None:
    features.parent.mkdir(parents=True, exist_ok=True)
    array = filtered.x.cpu().numpy()
    facts = json.dumps({"sha256": _sha256(array), "report": filtered.report})
    if filtered.file is not None:
        # The mapped file becomes the entry. What a power failure makes of it, its sha256 tells.
        os.replace(filtered.file, features)
    else:
        write_atomically(features, lambda file: np.save(file, array, allow_pickle=False))
    write_atomically(sidecar, facts.encode())


def _sha256(array: np.ndarray) -> str:
    digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
