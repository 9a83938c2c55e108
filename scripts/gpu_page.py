"""The page of what `gpu_check.py` found, and one page of several calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import bench_filter
import gpu_steps
import gpu_workers


def write(facts: dict[str, Any], output: Path) -> None:
    """gpu_check.json and gpu_check.md in a folder."""
    output.mkdir(parents=True, exist_ok=True)
    (output / "gpu_check.json").write_text(json.dumps(facts, indent=2, default=str) + "\n")
    (output / "gpu_check.md").write_text(markdown(facts))


def merged(found: Iterable[dict[str, Any]], notes: Sequence[str] = ()) -> dict[str, Any]:
    """What several calls on machines of one kind found: of each part the last result, with the
    commit that it is of; what none has run was not run.

    Args:
        notes: sentences on how the calls were made, for the page.

    Raises:
        SystemExit: for calls on different devices, whose seconds do not belong on one page.
    """
    calls = list(found)
    devices = {call["device"] for call in calls}
    if len(devices) != 1:
        raise SystemExit(f"calls on {', '.join(sorted(devices))} do not belong on one page")
    parts = {
        name: {"commit": call["environment"]["commit"], **part}
        for call in calls
        for name, part in call["parts"].items()
    }
    not_run = {line.partition(":")[0]: line for call in calls for line in call["not_run"]}
    return {
        **calls[-1],
        "parts": parts,
        "not_run": [line for name, line in not_run.items() if name not in parts],
        "notes": list(notes),
    }


def markdown(facts: dict[str, Any]) -> str:
    """The table."""
    lines = [
        f"# GPU check on {facts['device']}",
        "",
        "| part | commit | s | result |",
        "|---|---|---|---|",
    ]
    for name, part in facts["parts"].items():
        result = part["result"]
        if "failed" in result:
            says = f"FAILED: {result['failed']}"
        elif name.startswith("dmat_i"):
            says = (
                f"ACC {100 * result['metrics']['acc']:.2f}, filter {result['filter_seconds']:.3f}"
                f" s, fit {result['fit_seconds']:.2f} s"
            )
        elif name == "kernel alone":
            share = ", ".join(
                f"{way} {100 * value:.0f} %" for way, value in result["of_copy_bandwidth"].items()
            )
            says = f"of copy bandwidth: {share}; {result['times_torch']:.2f} × torch.sparse.mm"
        elif name == "training":
            says = "; ".join(
                f"{shape}: {1e3 * row['seconds_per_iteration']:.2f} ms an iteration"
                + ("" if row.get("same_bits", True) else " (OTHER bits)")
                for shape, row in result.items()
            )
        elif name == "steps":
            says = gpu_steps.summary(result)
        elif name == "tiles":
            says = ", ".join(f"{case} {1e3 * seconds:.1f} ms" for case, seconds in result.items())
        elif name == "workers":
            says = gpu_workers.summary(result)
        elif name == "largest":
            says = (
                f"{result['nodes']} nodes × {result['columns']} columns, {result['entries']}"
                f" entries: {result['seconds']:.1f} s"
            )
        elif name == "kernel tests":
            says = result["output"].strip().splitlines()[-1]
        else:
            says = "below"
        row = f"| {name} | {part['commit']} | {part['seconds']} | {says} |"
        lines.append(row.replace("\n", " "))
    if notes := facts.get("notes"):
        lines += ["", " ".join(notes)]
    lines += ["", "Not run:", "", *(f"- {line}" for line in facts["not_run"]), ""]
    benchmark = facts["parts"].get("filter benchmark", {}).get("result", {})
    return "\n".join(lines) + (bench_filter.markdown(benchmark) if "rows" in benchmark else "")
