"""The GnnBP component: settings, report, errors, and that solvers agree."""

from __future__ import annotations

import logging
import re

import pytest
import torch

from gclbench.filters.gnnbp import GnnBP
from gclbench.filters.none import NoFilter
from gclbench.graph import Graph, make_graph
from gclbench.hyperparameters import bind
from gclbench.registry import FILTERS


@pytest.fixture
def graph() -> Graph:
    generator = torch.Generator().manual_seed(0)
    upper = torch.triu(torch.rand(40, 40, generator=generator) < 0.1, diagonal=1)
    return make_graph(torch.randn(40, 6, generator=generator), upper.nonzero().T, None, "toy", undirected=True)


def test_auto_is_the_exact_chebyshev_solver_and_the_report_says_so(graph):
    auto, chebyshev = GnnBP().apply(graph), GnnBP(solver="chebyshev").apply(graph)
    assert torch.equal(auto.x, chebyshev.x)
    assert auto.x.dtype == torch.float32
    assert auto.report["solver"] == "chebyshev"
    assert auto.report["error_norm"] == "weighted"
    assert 0 < auto.report["error_bound"] <= 2e-5
    assert auto.report["entries"] == graph.edge_index.shape[1] + 40
    assert set(auto.report) == {"solver", "sweeps", "error_bound", "error_norm", "touched", "path", "entries"}


@pytest.mark.parametrize("self_loops", [True, False])
def test_all_solvers_agree(graph, self_loops):
    exact = GnnBP(alpha=0.2, rrz=0.4, self_loops=self_loops).apply(graph)
    series = GnnBP(alpha=0.2, rrz=0.4, self_loops=self_loops, solver="series").apply(graph)
    pushed = GnnBP(alpha=0.2, rrz=0.4, self_loops=self_loops, solver="push", r_max=1e-6).apply(graph)
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
    graph = make_graph(torch.arange(6.0).reshape(3, 2) + 1, torch.empty(2, 0, dtype=torch.long), None, "loose")
    torch.testing.assert_close(GnnBP(alpha=0.25, self_loops=False, solver=solver).apply(graph).x, 0.25 * graph.x, rtol=1e-5, atol=0)
    torch.testing.assert_close(GnnBP(alpha=0.25, self_loops=True, solver=solver).apply(graph).x, graph.x, rtol=1e-4, atol=1e-4)


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


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"alpha": 0.0}, r"filter\.alpha=0\.0 is out of range: it must be > 0 and ≤ 1"),
        ({"alpha": 1.5}, r"filter\.alpha=1\.5 is out of range"),
        ({"rrz": -0.1}, r"filter\.rrz=-0\.1 is out of range: it must be ≥ 0 and ≤ 1"),
        ({"r_max": 0}, r"filter\.r_max=0 is out of range: it must be > 0"),
        ({"tol": 1e-9}, r"filter\.tol=1e-09 is out of range"),
        ({"solver": "chebishev"}, "Did you mean 'chebyshev'"),
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
