"""What benchmarks write beside their numbers, and how their files are written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gclbench.machine.environment import device_name, versions
from gclbench.machine.threads import cores
from gclbench.records import write_atomically


def begun(benchmark: str, device: str = "cpu", threads: int | None = None) -> dict[str, Any]:
    """What a benchmark's numbers are of: when, where, with which versions, beside which load (1, 5,
    15 minutes).

    Args:
        threads: of all that is measured; None where they differ, or are not ours to say.
    """
    return {
        "benchmark": benchmark,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "device": device_name(device),
        "cores": cores(),
        **({} if threads is None else {"threads": threads}),
        "load_before": load(),
        "environment": versions(),
    }


def load() -> list[float]:
    """Processes that ran or waited for a core, mean of 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def write(
    output: Path | None,
    facts: dict[str, Any],
    page: Callable[[dict[str, Any]], str] | None = None,
) -> None:
    """Adds the load at this moment to the facts, and keeps them."""
    facts["load_after"] = load()
    keep(output, facts, page)


def keep(
    output: Path | None,
    facts: dict[str, Any],
    page: Callable[[dict[str, Any]], str] | None = None,
) -> None:
    """Writes the facts as `output`, which gets `.json` where it lacks that, and their page as the
    Markdown file beside. Without `output` nothing is written."""
    if output is None:
        return
    file = output if output.suffix == ".json" else output.with_name(f"{output.name}.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, (json.dumps(facts, indent=2) + "\n").encode())
    if page is not None:
        write_atomically(file.with_suffix(".md"), page(facts).encode())
