"""The two halves of the matrix: datasets of nodes, and collections of graphs."""

from __future__ import annotations

import shlex

import pytest

from gclbench.cli import main
from gclbench.config.validation import experiment_of
from gclbench.paper import matrix
from gclbench.paper.comparison import compare
from gclbench.paper.sources import Collection


def test_collections_have_bases_and_tasks_of_their_own() -> None:
    definition = matrix.table(["mutag", "tu"])
    assert {measure.task for measure in definition.measures.values()} == {
        "graph_classification",
        "graph_clustering",
    }
    assert {metric.partition("/")[2] for metric in definition.metrics} == {
        base.label for base in matrix.GRAPH_BASES
    }
    assert matrix.table().measures.keys() == matrix.table(["cora", "no_such_set"]).measures.keys()


def test_the_kinds_do_not_mix() -> None:
    assert matrix.halves(["mutag", "cora", "ptc_mr"]) == [["cora"], ["mutag", "ptc_mr"]]
    with pytest.raises(ValueError, match="--dataset cora or --dataset mutag"):
        matrix.table(["mutag", "cora"])


def test_the_commands_of_the_half_of_graphs_make_the_runs_that_it_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["table", "matrix", "--dataset", "mutag", "--command"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(matrix.GRAPH_BASES)
    comparison = compare(matrix.table(["mutag"]), Collection(()))
    assert {entry.column for entry in comparison.entries} == set(matrix.strategies())
    for base, line in zip(matrix.GRAPH_BASES, lines, strict=True):
        words = [word for word in shlex.split(line)[2:] if not word.startswith("negatives=")]
        experiment = experiment_of(words)
        method = experiment.components.method
        assert experiment.components.tasks.keys() == {"graph_classification", "graph_clustering"}
        for condition in base.where:
            if condition.key.startswith("method.") and condition.key != "method.name":
                assert (getattr(method, condition.key[7:]) in condition.values) != (
                    condition.excluded
                )
