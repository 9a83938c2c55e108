"""Methods as typed: what they mean depends on the dataset, and some words tell no runs apart."""

from __future__ import annotations

import pytest

from gclbench.config.overrides import ConfigErrors
from gclbench.paper.asked_settings import methods_of, stands_for, words_of
from gclbench.paper.filling import fill
from gclbench.paper.head_to_head import NothingToCompare, head_to_head
from gclbench.paper.missing import missing
from gclbench.paper.sources import Collection

VALUES = [0.70, 0.72, 0.71]


def graphcl(record, values, **settings) -> list:
    """Runs of GraphCL on MUTAG."""
    return [
        record(
            method="graphcl",
            dataset="mutag",
            task="graph_classification",
            task_settings={"folds": 10},
            seed=seed,
            metrics={"accuracy": value},
            **settings,
        )
        for seed, value in enumerate(values)
    ]


def test_what_is_kept_of_a_run_does_not_tell_runs_apart(record) -> None:
    runs = [
        record(seed=seed, epochs=epochs, metrics={"acc": value + 0.001 * epochs})
        for epochs in (0, 300)
        for seed, value in enumerate(VALUES)
    ]
    sides = ("dmat_i method.course=2", "dmat_i method.epochs=0 method.course=5")
    (line,) = head_to_head(sides, Collection(tuple(runs))).lines
    assert line.settled.n == 3
    with pytest.raises(NothingToCompare, match="are the same settings"):
        head_to_head(("dmat_i", "dmat_i method.course=2"), Collection(tuple(runs)))


def test_a_setting_that_only_collections_know_is_one(record) -> None:
    words = words_of("graphcl method.tau=0.7", "")
    assert stands_for(words, "cora") == {} and methods_of(words) == ("graphcl",)
    runs = [*graphcl(record, VALUES), *graphcl(record, [0.60, 0.61, 0.63], tau=0.7)]
    (line,) = head_to_head(("graphcl", "graphcl method.tau=0.7"), Collection(tuple(runs))).lines
    assert (line.dataset, line.settled.n) == ("mutag", 3)
    with pytest.raises(ConfigErrors, match="Known of method=graphcl: "):
        words_of("graphcl method.nothing=1", "")


def test_a_row_stands_for_what_its_words_mean_on_the_tables_datasets(record) -> None:
    own = "graphcl method.tau=0.7"
    collection = Collection(tuple(graphcl(record, VALUES[:2], tau=0.7)))
    (comparison,) = fill("mmix/3", collection, [own], ["mutag"])
    (cell,) = [
        entry
        for entry in comparison.entries
        if entry.column == own and entry.metric == "accuracy" and entry.records
    ]
    assert cell.method == "graphcl" and cell.ours.n == 2
    (planned,) = fill("mmix/3", collection, [own], ["mutag"], planned=True)
    assert f"gclbench sweep table=mmix/3 dataset=mutag 'seeds=[2]' --with '{own}'" in missing(
        planned, 3
    )
    assert methods_of(words_of("gcn", "")) == ("gcn", "gcn_graphs")
    with pytest.raises(ConfigErrors, match="Known of method=graphcl_nodes"):
        fill("nml/1", collection, [own])
