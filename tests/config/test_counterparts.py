"""Methods that the field calls by one name on nodes and on graphs."""

from __future__ import annotations

from typing import Any

import pytest

from gclbench.component.declared import declared
from gclbench.component.registry import GROUPS, METHODS, TASKS, Entry
from gclbench.config.composition import items_of_tasks
from gclbench.config.overrides import ConfigErrors
from gclbench.config.validation import resolved
from gclbench.tasks.items import embedded_by, items_of


def method(*command: str) -> dict[str, Any]:
    found: dict[str, Any] = resolved(list(command))["method"]
    return found


@pytest.mark.parametrize(
    "typed,dataset,meant",
    [
        ("gcn", "mutag", "gcn_graphs"),
        ("gcn", "cora", "gcn"),
        ("gat_graphs", "cora", "gat"),
        ("graphcl", "cora", "graphcl_nodes"),
        ("graphcl", "tu", "graphcl"),
        ("graphcl_nodes", "imdb_multi", "graphcl"),
        ("augcl", "imdb_multi", "augcl_graphcl"),
        ("augcl_graphcl", "acm", "augcl"),
        ("grace", "mutag", "grace"),
        ("joao", "cora", "joao"),
    ],
)
def test_a_name_stands_for_the_method_on_the_items_of_the_dataset(
    typed: str, dataset: str, meant: str
) -> None:
    assert method(f"method={typed}", f"dataset={dataset}")["name"] == meant


def test_the_counterpart_brings_its_own_settings_and_strategy() -> None:
    values = resolved(["method=augcl", "dataset=mutag", "method.readout=mean"])
    assert values["method"]["readout"] == "mean" and values["negatives"]["name"] == "augcl"
    assert resolved(["method=graphcl"])["method"]["name"] == "graphcl", "no dataset is chosen"
    with pytest.raises(
        ConfigErrors, match=r"'method\.output_heads' does not exist\. Known of method=gat_graphs:"
    ):
        resolved(["method=gat", "dataset=mutag", "method.output_heads=2"])
    with pytest.raises(ConfigErrors, match="there is no dataset 'mutagg'"):
        resolved(["method=gcn", "dataset=mutagg"])


def test_a_counterpart_is_on_the_other_items_and_leads_back() -> None:
    found = 0
    for name in METHODS.names():
        said = declared(METHODS, name)
        for other, items, back in (
            (said.for_graphs, "graphs", "for_nodes"),
            (said.for_nodes, "nodes", "for_graphs"),
        ):
            if other is not None:
                found += 1
                assert items in embedded_by(METHODS.load(other)), (name, other)
                assert items not in embedded_by(METHODS.load(name)), (name, other)
                assert getattr(declared(METHODS, other), back) == name
    assert found == 8


def test_the_items_of_tasks_are_those_that_the_tasks_say(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {name: items_of_tasks([name]) for name in TASKS.names()}
    assert found == {name: items_of(TASKS.load(name)) for name in TASKS.names()}
    assert items_of_tasks(["clustering", "similarity"]) == "graphs"
    assert items_of_tasks(["of_another_package"]) == items_of_tasks([]) == "nodes"
    broken = Entry("broken", "", "no_such_module_here:Broken", "other 1.0", builtin=False)
    monkeypatch.setitem(TASKS.entries, "broken", broken)
    assert items_of_tasks(["broken"]) == "nodes" and items_of_tasks(["similarity"]) == "graphs"
    assert GROUPS["task"] is TASKS
