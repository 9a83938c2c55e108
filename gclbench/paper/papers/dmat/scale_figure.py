"""Time and memory against the number of nodes (Figure 2 of the DMAT-i paper).

From the files of scripts/bench_scale.py, and from runs on R-MAT graphs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gclbench.paper.drawing.panels import FigureContent, PlotPanel, Series
from gclbench.paper.figure_definition import Figure
from gclbench.paper.measure import GIB, finite_number
from gclbench.paper.sources import Collection
from gclbench.records import Record

BENCHMARK = "bench_scale"


def content(collection: Collection, datasets: Sequence[str]) -> FigureContent:
    """Lines of every `bench/scale*.json` beside or in the stores, and of the recorded runs on R-MAT
    graphs."""
    seconds: list[Series] = []
    memory: list[Series] = []
    files, remarks = [], []
    paths = list(_files(collection))
    for path in paths:
        facts = _facts(path)
        if isinstance(facts, str):
            remarks.append(f"bench/{path.name} is left out: {facts}.")
            continue
        files.append(f"bench/{path.name} ({_circumstances(facts)})")
        rows = [
            row
            for row in facts["rows"]
            if isinstance(row, dict) and finite_number(row.get("nodes")) is not None
        ]
        suffix = f" ({path.stem})" if len(paths) > 1 else ""
        seconds += _seconds(suffix, rows)
        memory += _memory(suffix, rows)
        remarks += [
            f"{int(row['nodes'])} nodes: {row['failed']}." for row in rows if "failed" in row
        ]
        left = facts.get("not_run")
        remarks += [
            f"Not run: {text}."
            for text in (left if isinstance(left, list) else [])
            if isinstance(text, str)
        ]
    runs = [
        record
        for record in collection.records
        if record.name("dataset") == "rmat" and _nodes(record) is not None
    ]
    for method in sorted({record.name("method") for record in runs}):
        mine = sorted(
            (record for record in runs if record.name("method") == method and record.ok),
            key=lambda r: _nodes(r) or 0,
        )
        seconds += _line(
            method, [(_nodes(record), _sum(record.seconds, "filter", "fit")) for record in mine]
        )
        memory += _line(
            method, [(_nodes(record), _over(record.memory.get("rss_peak"), GIB)) for record in mine]
        )
    panels = (
        PlotPanel("time", "nodes", "seconds", series=tuple(seconds), x_scale="log", y_log=True),
        PlotPanel("memory", "nodes", "GiB", series=tuple(memory), x_scale="log", y_log=True),
    )
    return FigureContent(panels, tuple(runs), tuple(files), tuple(remarks))


def _files(collection: Collection) -> Iterator[Path]:
    seen = set()
    for store in collection.stores:
        for folder in (Path(store) / "bench", Path(store).parent / "bench"):
            for path in sorted(folder.glob("scale*.json")):
                if path.resolve() not in seen:
                    seen.add(path.resolve())
                    yield path


def _facts(path: Path) -> dict[str, Any] | str:
    """The benchmark's results, or what is wrong with the file."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        return f"it cannot be read ({type(error).__name__})"
    if (
        not isinstance(facts, dict)
        or facts.get("benchmark") != BENCHMARK
        or not isinstance(facts.get("rows"), list)
    ):
        return "it is not of scripts/bench_scale.py"
    return facts


def _circumstances(facts: dict[str, Any]) -> str:
    environment = facts.get("environment")
    commit = environment.get("commit", "unknown") if isinstance(environment, dict) else "unknown"
    threads = finite_number(facts.get("threads"))
    shown = "" if threads is None else f", {threads:g} thread{'' if threads == 1 else 's'}"
    return f"{facts.get('device', 'unknown device')}{shown}, commit {commit}"


def _seconds(suffix: str, rows: list[dict[str, Any]]) -> list[Series]:
    """Processor time where everything ran on the CPU, which others on the machine lengthen least;
    else wall-clock."""
    on_gpu = any(
        isinstance(row.get("memory"), dict) and "gpu_allocated" in row["memory"] for row in rows
    )
    kind, unit = ("seconds", "wall-clock") if on_gpu else ("cpu_seconds", "processor")
    lines = []
    for phase, name in (("filter", "filter"), ("train", "training")):
        lines += _line(
            f"{name}, {unit} time{suffix}",
            [(finite_number(row.get("nodes")), _sum(row.get(kind), phase)) for row in rows],
        )
    return lines


def _memory(suffix: str, rows: list[dict[str, Any]]) -> list[Series]:
    kinds = {
        "rss_peak": "peak, mapped files included",
        "anonymous_peak": "peak without them",
        "gpu_allocated": "peak on the GPU",
    }
    lines = []
    for kind, name in kinds.items():
        points = [
            (finite_number(row.get("nodes")), _over(_sum(row.get("memory"), kind), GIB))
            for row in rows
        ]
        lines += _line(f"{name}{suffix}", points)
    return lines


def _nodes(record: Record) -> float | None:
    settings = record.spec["dataset"]
    nodes, scale = finite_number(settings.get("nodes")), finite_number(settings.get("scale"))
    return nodes if nodes is not None else None if scale is None or scale > 40 else 2.0**scale


def _sum(values: object, *keys: str) -> float | None:
    found = [finite_number(values.get(key)) for key in keys] if isinstance(values, dict) else [None]
    return (
        sum(value for value in found if value is not None)
        if any(value is not None for value in found)
        else None
    )


def _over(value: object, divisor: float) -> float | None:
    found = finite_number(value)
    return None if found is None else found / divisor


def _line(label: str, points: Sequence[tuple[float | None, float | None]]) -> list[Series]:
    """A line through the points that are there; on logarithmic axes, so positive ones."""
    kept = sorted((x, y) for x, y in points if x is not None and y is not None and x > 0 and y > 0)
    return [Series(label, tuple(x for x, _ in kept), tuple(y for _, y in kept))] if kept else []


FIGURE = Figure(
    id="dmat/2",
    title="Time and memory against nodes (DMT / DMAT / DMAT-i paper, Figure 2)",
    says=(
        "R-MAT graphs, 20 edges drawn per node, 1,000 features; the GnnBP filter and five"
        " passes of DMAT-i's training. The paper's lines for other methods, which end where a"
        " GPU of 2017 is full, have no numbers in print and are not drawn."
    ),
    datasets=("rmat",),
    build=content,
    commands=lambda datasets: [
        "# in a clone of the repository, which has the scripts:",
        "python scripts/bench_scale.py --output results/bench/scale_cpu.json",
    ],
)
