"""Methods as typed: what they mean depends on the dataset, and some words tell no runs apart."""

from __future__ import annotations

import pytest

from gclbench.cli import main
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


@pytest.mark.parametrize(
    "words, told",
    [
        ("grace method.epochs=abc", "method.epochs='abc' must be a whole number"),
        ("grace method.epochs=-5", "method.epochs=-5 is out of range: it must be ≥ 0"),
        ("grace method.epochs=", "method.epochs='' must be a whole number"),
        ("graphcl method.tau=abc", "method.tau='abc' must be a number"),
    ],
)
def test_values_that_a_run_refuses_are_refused_and_not_advised(record, words, told) -> None:
    runs = [record(method="grace"), *graphcl(record, VALUES)]
    with pytest.raises(ConfigErrors, match=told):
        head_to_head((words.split()[0], words), Collection(tuple(runs)))
    table, dataset = ("mmix/3", "mutag") if "graphcl" in words else ("nml/1", "cora")
    for planned in (True, False):
        with pytest.raises(ConfigErrors, match=told):
            fill(table, lambda: Collection(()), [words], [dataset], planned=planned)


def test_where_a_side_means_nothing_it_is_not_asked_to_run(record) -> None:
    on_cora = [record(seed=seed, metrics={"acc": value}) for seed, value in enumerate(VALUES)]
    with pytest.raises(NothingToCompare) as found:
        head_to_head(("graphcl method.tau=0.7", "dmat_i"), Collection(tuple(on_cora)))
    assert "cannot run on what is recorded: cora has nodes, and graphcl has other" in str(
        found.value
    )
    with pytest.raises(NothingToCompare, match="dataset=mutag seeds=10` makes them"):
        head_to_head(("graphcl method.tau=0.7", "graphcl method.tau=0.9"), Collection(()))
    both = Collection((*on_cora, *graphcl(record, VALUES, tau=0.7)))
    with pytest.raises(NothingToCompare, match="are the same settings"):
        head_to_head(("graphcl method.tau=0.7", "graphcl  method.tau=0.70"), both)


def test_rows_that_are_the_same_settings_are_one(record) -> None:
    twins = ["dmat_i method.tau=0.5", "dmat_i method.tau=0.5 method.course=2"]
    with pytest.raises(ValueError, match="are the same settings; leave one out"):
        fill("dmat/1", lambda: Collection(()), twins, planned=True)
    with pytest.raises(ConfigErrors):
        fill("nml/1", lambda: Collection(()), ["graphcl method.tau=0.7", "graphcl method.tau=0.8"])


def test_a_row_in_a_sweep_has_the_name_that_it_has_there(capsys) -> None:
    words = ["sweep", "table=mmix/3", "dataset=mutag", "--with", "gcn method.epochs=3"]
    assert main([*words, "method=gcn_graphs", "seeds=1", "--dry-run"]) == 0
    assert "gcn_graphs · mutag · seed 0 · graph_classification" in capsys.readouterr().out


def test_a_row_stands_for_what_its_words_mean_on_the_tables_datasets(record) -> None:
    own = "graphcl method.tau=0.7"
    collection = Collection(tuple(graphcl(record, VALUES[:2], tau=0.7)))
    (comparison,) = fill("mmix/3", lambda: collection, [own], ["mutag"])
    (cell,) = [
        entry
        for entry in comparison.entries
        if entry.column == own and entry.metric == "accuracy" and entry.records
    ]
    assert cell.method == "graphcl" and cell.ours.n == 2
    (planned,) = fill("mmix/3", lambda: collection, [own], ["mutag"], planned=True)
    assert f"gclbench sweep table=mmix/3 dataset=mutag 'seeds=[2]' --with '{own}'" in missing(
        planned, 3
    )
    assert methods_of(words_of("gcn", "")) == ("gcn", "gcn_graphs")
    for table, method in (("mmix/3", "gcn_graphs"), ("nml/1", "gcn")):
        (rows,) = fill(table, lambda: Collection(()), ["gcn method.epochs=3"], planned=True)
        assert {entry.method for entry in rows.entries if "epochs=3" in entry.column} == {method}
    with pytest.raises(ConfigErrors, match="Known of method=graphcl_nodes"):
        fill("nml/1", lambda: collection, [own])
