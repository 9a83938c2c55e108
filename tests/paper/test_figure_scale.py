"""The figure of scale (dmat/2): what it takes from the benchmark's file and from runs on R-MAT
graphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from figure_records import run, together

from gclbench.paper.drawing.panels import Series
from gclbench.paper.figures import FIGURES, caption, content
from gclbench.paper.sources import Collection


def bench(folder: Path, name: str = "scale_cpu.json", **changes: Any) -> Collection:
    rows = [
        {
            "nodes": 10**power,
            "seconds": {"filter": 7.0 * power, "train": 9.0},
            "cpu_seconds": {"filter": 1.0 * power, "train": 2.0 * power},
            "memory": {"rss_peak": power << 30, "anonymous_peak": power << 29},
        }
        for power in (3, 4)
    ]
    facts = {
        "benchmark": "bench_scale",
        "device": "a processor",
        "threads": 1,
        "environment": {"commit": "c0ffee"},
        "rows": rows,
        "not_run": ["10000000 nodes: too large"],
        **changes,
    }
    (folder / "bench").mkdir(parents=True, exist_ok=True)
    (folder / "bench" / name).write_text(json.dumps(facts))
    (folder / "records").mkdir(exist_ok=True)
    return Collection(stores=(str(folder / "records"),))


def test_scale_reads_processor_time_and_memory_of_the_benchmark(tmp_path: Path) -> None:
    collection = bench(tmp_path)
    found = content(FIGURES["dmat/2"], collection)
    assert found.panels[0].series == (
        Series("filter, processor time", (1000.0, 10000.0), (3.0, 4.0)),
        Series("training, processor time", (1000.0, 10000.0), (6.0, 8.0)),
    )
    assert [series.y for series in found.panels[1].series] == [(3.0, 4.0), (1.5, 2.0)]
    text = caption(FIGURES["dmat/2"], collection)
    assert "Made from bench/scale_cpu.json (a processor, 1 thread, commit c0ffee)." in text
    assert "Not run: 10000000 nodes: too large." in text and str(tmp_path) not in text


def test_scale_of_a_gpu_is_wall_clock_time(tmp_path: Path) -> None:
    row = {
        "nodes": 1000,
        "seconds": {"filter": 5.0},
        "cpu_seconds": {"filter": 1.0},
        "memory": {"gpu_allocated": 1 << 30},
    }
    found = content(FIGURES["dmat/2"], bench(tmp_path, rows=[row]))
    assert found.panels[0].series == (Series("filter, wall-clock time", (1000.0,), (5.0,)),)
    assert found.panels[1].series == (Series("peak on the GPU", (1000.0,), (1.0,)),)


def test_scale_takes_a_store_that_holds_the_bench_folder_itself_and_tells_files_apart(
    tmp_path: Path,
) -> None:
    bench(tmp_path)
    bench(tmp_path, name="scale_gpu.json")
    found = content(
        FIGURES["dmat/2"], Collection(stores=(str(tmp_path), str(tmp_path / "records")))
    )
    assert [series.label for series in found.panels[0].series][::2] == [
        "filter, processor time (scale_cpu)",
        "filter, processor time (scale_gpu)",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "it cannot be read (JSONDecodeError)"),
        ("[]", "it is not of scripts/bench_scale.py"),
        ('{"benchmark": "bench_scale", "rows": 3}', "it is not of scripts/bench_scale.py"),
        ("[" * 100_000, "it cannot be read (RecursionError)"),
    ],
)
def test_a_damaged_benchmark_is_named(tmp_path: Path, text: str, reason: str) -> None:
    collection = bench(tmp_path)
    (tmp_path / "bench" / "scale_cpu.json").write_text(text)
    found = content(FIGURES["dmat/2"], collection)
    assert all(panel.empty for panel in found.panels)
    assert f"bench/scale_cpu.json is left out: {reason}." in caption(FIGURES["dmat/2"], collection)


def test_rows_that_failed_or_hold_no_numbers_are_left_out_and_said(tmp_path: Path) -> None:
    rows = [
        {"nodes": 5, "failed": "exit 1: killed"},
        {"nodes": "many"},
        7,
        {"nodes": 10, "cpu_seconds": {"filter": "nan", "train": 0}},
    ]
    found = content(FIGURES["dmat/2"], bench(tmp_path, rows=rows, not_run="nothing", threads=None))
    assert (
        all(panel.empty for panel in found.panels) and "5 nodes: exit 1: killed." in found.remarks
    )


def test_runs_on_rmat_graphs_are_lines_of_their_method() -> None:
    runs = [
        run(
            "grace",
            dataset="rmat",
            shape={"scale": 10, "nodes": None},
            seconds={"filter": 1.0, "fit": 2.0},
            metrics={"acc": 0.1},
        ),
        run(
            "grace",
            dataset="rmat",
            shape={"scale": 11, "nodes": 1500},
            seconds={"fit": 5.0},
            metrics={"acc": 0.1},
        ),
        run("grace", dataset="rmat", shape={"scale": 12, "nodes": None}, status="oom"),
    ]
    found = content(FIGURES["dmat/2"], together(*runs))
    assert found.panels[0].series == (Series("grace", (1024.0, 1500.0), (3.0, 5.0)),)
    assert "3 runs of grace (rmat; seed 0; 1 OOM; commit abc)" in caption(
        FIGURES["dmat/2"], together(*runs)
    )
