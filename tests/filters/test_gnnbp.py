"""The GnnBP component: settings, report, errors, and that solvers agree."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections import namedtuple

import numpy as np
import pytest
import torch

from gclbench.component.registry import FILTERS
from gclbench.component.settings import bind, identity_of
from gclbench.filters import slices
from gclbench.filters.gnnbp import GnnBP
from gclbench.filters.none import NoFilter
from gclbench.graph import Graph, make_graph
from gclbench.machine import memory_map


@pytest.fixture
def graph() -> Graph:
    generator = torch.Generator().manual_seed(0)
    upper = torch.triu(torch.rand(40, 40, generator=generator) < 0.1, diagonal=1)
    return make_graph(
        torch.randn(40, 6, generator=generator), upper.nonzero().T, None, "toy", undirected=True
    )


def test_auto_is_the_exact_chebyshev_solver_and_the_report_says_so(graph):
    auto, chebyshev = GnnBP().apply(graph), GnnBP(solver="chebyshev").apply(graph)
    assert torch.equal(auto.x, chebyshev.x)
    assert auto.x.dtype == torch.float32
    assert auto.report["solver"] == "chebyshev"
    assert auto.report["error_norm"] == "weighted"
    assert 0 < auto.report["error_bound"] <= 2e-5
    assert auto.report["entries"] == graph.edge_index.shape[1] + 40
    assert set(auto.report) == {
        *(
            "solver",
            "sweeps",
            "error_bound",
            "error_norm",
            "touched",
            "path",
            "slices",
            "slice_width",
            "verified",
            "unpushed",
            "memory",
        ),
        *("entries", "storage", "out_of_core", "seconds"),
    }
    json.dumps(auto.report)
    assert (auto.report["storage"], auto.report["out_of_core"], auto.report["slices"]) == (
        "float32",
        False,
        1,
    )


@pytest.mark.parametrize("self_loops", [True, False])
def test_all_solvers_agree(graph, self_loops):
    exact = GnnBP(alpha=0.2, rrz=0.4, self_loops=self_loops).apply(graph)
    series = GnnBP(alpha=0.2, rrz=0.4, self_loops=self_loops, solver="series").apply(graph)
    pushed = GnnBP(alpha=0.2, rrz=0.4, self_loops=self_loops, solver="push", r_max=1e-6).apply(
        graph
    )
    torch.testing.assert_close(series.x, exact.x, rtol=0, atol=1e-4)
    torch.testing.assert_close(pushed.x, exact.x, rtol=0, atol=3e-4)
    assert (series.report["solver"], pushed.report["solver"]) == ("series", "push")
    assert pushed.report["error_norm"] == "absolute"
    assert 0 < pushed.report["touched"] <= 1


def test_every_setting_changes_the_result(graph):
    base = GnnBP(solver="push", r_max=1e-3)
    for changed in (
        GnnBP(solver="push", r_max=1e-3, alpha=0.3),
        GnnBP(solver="push", r_max=1e-3, rrz=0.1),
        GnnBP(solver="push", r_max=1e-2),
        GnnBP(solver="push", r_max=1e-3, self_loops=False),
    ):
        assert not torch.allclose(base.apply(graph).x, changed.apply(graph).x, atol=1e-6)


def test_a_symmetric_filter_of_a_constant_on_a_regular_graph_is_that_constant():
    ring = torch.tensor([[node, (node + 1) % 12] for node in range(12)]).T
    graph = make_graph(torch.full((12, 2), 3.0), ring, None, "ring", undirected=True)
    for rrz in (0.0, 0.5, 1.0):
        torch.testing.assert_close(GnnBP(rrz=rrz).apply(graph).x, graph.x, rtol=2e-5, atol=0)


def test_the_graph_is_left_alone(graph):
    before, content = graph.x.clone(), graph.content_hash
    GnnBP().apply(graph)
    GnnBP(solver="push").apply(graph)
    assert torch.equal(graph.x, before)
    assert graph.content_hash == content


@pytest.mark.parametrize("solver", ["chebyshev", "series", "push"])
def test_a_graph_without_edges_scales_by_alpha_or_not_at_all(solver):
    graph = make_graph(
        torch.arange(6.0).reshape(3, 2) + 1, torch.empty(2, 0, dtype=torch.long), None, "loose"
    )
    torch.testing.assert_close(
        GnnBP(alpha=0.25, self_loops=False, solver=solver).apply(graph).x,
        0.25 * graph.x,
        rtol=1e-5,
        atol=0,
    )
    torch.testing.assert_close(
        GnnBP(alpha=0.25, self_loops=True, solver=solver).apply(graph).x,
        graph.x,
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_features_that_are_not_finite_are_refused(graph, bad):
    graph.x = graph.x.clone()
    graph.x[3, 2] = bad
    with pytest.raises(ValueError, match="features of 'toy' hold NaN or infinite values"):
        GnnBP().apply(graph)


def test_a_tolerance_that_float32_cannot_hold_is_named(graph, caplog):
    with caplog.at_level(logging.WARNING):
        GnnBP(alpha=0.1).apply(graph)
        assert not caplog.records
        report = GnnBP(alpha=0.001, tol=1e-6).apply(graph).report
    assert report["error_bound"] > 4e-6
    assert "not the asked 1.0e-06" in caplog.text


def test_no_warning_at_alpha_one_whatever_the_solver(graph, caplog):
    with caplog.at_level(logging.WARNING):
        for solver in ("chebyshev", "series", "push"):
            torch.testing.assert_close(GnnBP(alpha=1.0, solver=solver).apply(graph).x, graph.x)
    assert not caplog.records


def test_auto_takes_the_series_where_chebyshev_saves_nothing(graph):
    assert GnnBP(alpha=0.999).apply(graph).report["solver"] == "series"
    assert GnnBP(alpha=0.5).apply(graph).report["solver"] == "chebyshev"


def test_a_push_that_leaves_the_features_unsmoothed_says_so(graph, caplog):
    with caplog.at_level(logging.WARNING):
        report = GnnBP(solver="push", r_max=1e-5).apply(graph).report
        assert report["unpushed"] < 0.01
        assert not caplog.records
        report = GnnBP(solver="push", r_max=0.5).apply(graph).report
    assert report["unpushed"] > 0.9
    assert re.search(
        r"left 9\d|left 100 % of the features' mass unpushed at filter\.r_max=5e-01, so they are"
        r" mostly unsmoothed",
        caplog.text,
    )
    assert "largest absolute error at most" in caplog.text
    assert "filter.solver=auto" in caplog.text


def test_bfloat16_storage_stays_within_its_tolerance_and_is_refused_below_it(graph):
    exact, stored = (
        GnnBP(alpha=0.5).apply(graph),
        GnnBP(alpha=0.5, storage="bfloat16", tol=0.02).apply(graph),
    )
    assert stored.x.dtype == torch.float32
    assert 1e-4 < float((stored.x - exact.x).norm() / exact.x.norm()) < 0.02
    assert stored.report["error_bound"] <= 0.021
    with pytest.raises(
        ValueError,
        match=(
            r"storage=bfloat16 holds a relative error of about 8e-02 at alpha=0\.1, not the asked"
            r" tol=1e-05"
        ),
    ):
        GnnBP(storage="bfloat16")
    with pytest.raises(
        ValueError,
        match=(
            r"ask for filter\.tol=2e-02 or more with an exact solver, or take"
            r" filter\.storage=float32"
        ),
    ):
        GnnBP(storage="bfloat16", alpha=0.5, tol=0.1, solver="push")


def test_where_and_how_it_is_computed_is_no_part_of_a_runs_identity():
    """Records made before these settings existed keep their ids."""
    settings = identity_of(GnnBP(storage="bfloat16", tol=0.1, out_of_core="always"))
    assert list(settings) == ["alpha", "rrz", "r_max", "self_loops", "solver", "tol"]
    assert GnnBP.version == "1"


def test_a_large_result_is_mapped_from_a_file(graph, tmp_path, monkeypatch):
    in_memory = GnnBP().apply(graph, folder=tmp_path)
    assert in_memory.file is None and not in_memory.report["out_of_core"]
    mapped = GnnBP(out_of_core="always").apply(graph, folder=tmp_path / "new")
    assert mapped.report["out_of_core"] and mapped.file is not None
    assert torch.equal(torch.from_numpy(np.load(mapped.file)), in_memory.x)
    assert torch.equal(mapped.x, in_memory.x)
    monkeypatch.setattr(memory_map, "is_large", lambda *_: True)
    assert GnnBP().apply(graph, folder=tmp_path).file is not None
    assert GnnBP(out_of_core="never").apply(graph, folder=tmp_path).file is None
    assert GnnBP().apply(graph).file is None, "without a folder there is nowhere to put it"


def test_features_may_be_a_memory_map(graph, tmp_path):
    x, path = memory_map.create(*graph.x.shape, tmp_path, "x")
    x.copy_(graph.x)
    mapped = make_graph(memory_map.opened(path), graph.edge_index, None, "toy")
    assert torch.equal(GnnBP().apply(mapped).x, GnnBP().apply(graph).x)


def test_no_file_is_left_behind_when_filtering_fails(graph, tmp_path):
    graph.x = graph.x.clone()
    graph.x[0, 0] = torch.nan
    with pytest.raises(ValueError, match="NaN"):
        GnnBP(out_of_core="always").apply(graph, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_too_small_ends_the_run_and_a_folder_that_cannot_be_written_does_not(
    graph, tmp_path, monkeypatch, caplog
):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(memory_map, "is_large", lambda *_: True)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1, 1, 0))
    assert GnnBP().apply(graph, folder=tmp_path).file is None, "the memory holds it after all"
    assert "the filtered features stay in memory" in caplog.text
    caplog.clear()
    monkeypatch.setattr(memory_map, "available_memory", lambda: 40 * 6 * 5)
    monkeypatch.setattr(slices, "available_memory", lambda: 1 << 30)
    with pytest.raises(
        memory_map.DiskTooSmall,
        match="the filtered features .* do not fit in memory and not on the disk",
    ):
        GnnBP().apply(graph, folder=tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(memory_map, "is_large", lambda *_: True)
    (tmp_path / "file").write_text("")
    assert GnnBP().apply(graph, folder=tmp_path / "file").file is None
    assert "the filtered features stay in memory" in caplog.text
    with pytest.raises(OSError):
        GnnBP(out_of_core="always").apply(graph, folder=tmp_path / "file")


def test_a_device_without_the_kernel_gives_the_cpus_result(graph, monkeypatch, caplog):
    from gclbench.filters.kernels import cuda

    monkeypatch.setattr(cuda, "available", lambda _: (False, "there is no GPU"))
    found = GnnBP().apply(graph, "cuda")
    assert torch.equal(found.x, GnnBP().apply(graph).x)
    assert found.report["path"].startswith("cpu")
    assert "there is no GPU" in caplog.text


def test_a_graph_that_was_given_with_one_direction_and_loops_is_repaired_and_filtered():
    """make_graph repairs it; the filter sees the undirected graph."""
    directed = torch.tensor([[0, 1, 2, 2], [1, 2, 2, 3]])
    x = torch.eye(4)
    repaired = make_graph(x, directed, None, "directed")
    assert len(repaired.repairs) == 2
    undirected = make_graph(
        x, torch.tensor([[0, 1, 2], [1, 2, 3]]), None, "undirected", undirected=True
    )
    assert torch.equal(GnnBP().apply(repaired).x, GnnBP().apply(undirected).x)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"alpha": 0.0}, r"filter\.alpha=0\.0 is out of range: it must be > 0 and ≤ 1"),
        ({"alpha": 1.5}, r"filter\.alpha=1\.5 is out of range"),
        (
            {"alpha": 1e-9},
            (
                r"filter: at alpha=1e-09 rounding in float32 may be as large as the result; ask for"
                r" filter\.alpha above 2\.4e-07"
            ),
        ),
        ({"alpha": 1e-9, "solver": "push"}, r"filter: at alpha=1e-09 rounding in float32"),
        ({"rrz": -0.1}, r"filter\.rrz=-0\.1 is out of range: it must be ≥ 0 and ≤ 1"),
        ({"r_max": 0}, r"filter\.r_max=0 is out of range: it must be > 0"),
        ({"tol": 1e-9}, r"filter\.tol=1e-09 is out of range"),
        ({"solver": "chebishev"}, "Did you mean 'chebyshev'"),
        ({"storage": "float16"}, r"filter\.storage='float16' must be one of float32, bfloat16"),
        (
            {"storage": "bfloat16"},
            r"filter: storage=bfloat16 holds a relative error of about 8e-02",
        ),
    ],
)
def test_settings_out_of_range(setting, message):
    errors: list[str] = []
    assert bind(GnnBP, setting, "filter", errors) is None
    assert len(errors) == 1
    assert re.search(message, errors[0])


def test_registered_and_the_none_filter_returns_the_features_themselves(graph):
    assert FILTERS.load("gnnbp") is GnnBP
    assert FILTERS.load("none") is NoFilter
    filtered = NoFilter().apply(graph)
    assert filtered.x is graph.x
    assert filtered.report == {}
