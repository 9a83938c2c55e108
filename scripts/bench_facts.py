"""What every benchmark writes beside its numbers, and how its files are written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gclbench.machine.environment import device_name, threads, versions
from gclbench.machine.threads import cores
from gclbench.records import write_atomically


def begun(benchmark: str, device: str = "cpu") -> dict[str, Any]:
    """What a benchmark's numbers are of: when, where, with which versions, beside which load (1, 5,
    15 minutes)."""
    return {
        "benchmark": benchmark,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "device": device_name(device),
        "cores": cores(),
        "threads": threads(),
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
    """Adds the load at this moment to the facts and writes them, and their page as the Markdown
    file beside. Without `output` nothing is written."""
    facts["load_after"] = load()
    if output is None:
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps(facts, indent=2) + "\n"
    write_atomically(output.with_suffix(".json"), content.encode())
    if page is not None:
        write_atomically(output.with_suffix(".md"), page(facts).encode())
