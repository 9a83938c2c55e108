"""Which runs are marked as fitted, and that docs/choices.md says so in the same words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from figure_records import hard, together

from gclbench.component.registry import KINDS
from gclbench.component.settings import schema
from gclbench.data.catalog import CATALOG
from gclbench.paper.columns import Condition
from gclbench.paper.figures import FIGURES, caption, svg
from gclbench.paper.fitted import FITTED, SEEN, SeenChoice, fitted_by
from gclbench.paper.run_summary import closing_table

ROOT = Path(__file__).resolve().parents[2]


def table() -> list[list[str]]:
    """The rows of "Choices that used labels" as plain text."""
    text = (ROOT / "docs" / "choices.md").read_text(encoding="utf-8")
    section = text.partition("## Choices that used labels\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", row) for row in rows]
    return [[cell.strip() for cell in row[1:-1].split("|")] for row in plain]


def test_the_page_has_a_row_per_choice() -> None:
    head, rule, *rows = table()
    assert head == ["choice", "datasets whose labels were read", "what was seen", "what decided"]
    assert set(rule) == {"---"}
    assert rows == [
        [choice.name, ", ".join(choice.datasets), choice.seen, choice.decided] for choice in SEEN
    ]


def names_of(choice: SeenChoice, kind: str) -> list[str]:
    """The components of a kind that a choice is about; all of them where it names none."""
    asked = [item for item in choice.where if item.key == f"{kind}.name"]
    if asked:
        return [str(value) for value in asked[0].values]
    return [*choice.datasets] if kind == "dataset" else [*KINDS[kind].entries]


def settings_of(kind: str, name: str) -> set[str]:
    return {*schema(KINDS[kind].load(name))}


@pytest.mark.parametrize("choice", SEEN, ids=lambda choice: choice.name)
def test_what_a_choice_names_exists(choice: SeenChoice) -> None:
    assert len(set(choice.datasets)) == len(choice.datasets) > 0
    assert set(choice.datasets) <= set(CATALOG) and choice.name and choice.seen and choice.decided
    for condition in choice.where:
        kind, _, leaf = condition.key.partition(".")
        if leaf == "name":
            assert {*condition.values} <= {*KINDS[kind].entries}, condition.key
            continue
        assert not unknown(choice, condition), f"no component has {unknown(choice, condition)}"


def unknown(choice: SeenChoice, condition: Condition) -> list[str]:
    """Where a choice asks for a setting that a component does not have."""
    kind, _, leaf = condition.key.partition(".")
    return [
        f"{condition.key} of {name}"
        for name in names_of(choice, kind)
        if leaf not in settings_of(kind, name)
    ]


def test_a_setting_that_no_component_has_is_found() -> None:
    (biases,) = [choice for choice in SEEN if choice.name == "DMAT-i: biases"]
    assert unknown(biases, Condition("method.unit_inputs", (True,))) == [
        f"method.unit_inputs of {name}" for name in ("dmt", "dmat", "dmat_i")
    ]
    assert unknown(biases, Condition("method.unit_input", (True,))) == []


def flat_of(choice: SeenChoice, dataset: str) -> dict[str, Any]:
    """A run that a choice is about, on a dataset."""
    settings: dict[str, Any] = {
        "dataset.name": dataset,
        "filter.name": "none",
        "method.name": "kmeans",
        "negatives.name": "uniform",
        "task.name": "clustering",
    }
    return settings | {item.key: item.values[0] for item in choice.where}


@pytest.mark.parametrize("choice", SEEN, ids=lambda choice: choice.name)
def test_a_choice_marks_its_datasets_and_no_other(choice: SeenChoice, record) -> None:
    metric, bound = choice.beyond or ("acc", 0.0)
    runs = [record(seed=seed, metrics={metric: bound + seed}) for seed in range(2)]
    for dataset in choice.datasets:
        assert choice.name in fitted_by(flat_of(choice, dataset), runs)
    assert choice.name not in fitted_by(flat_of(choice, "wiki_cs"), runs)
    for dataset in set(CATALOG) - {*choice.datasets}:
        assert not choice.marks(flat_of(choice, dataset), runs)
    # Without one of its conditions a run does not depend on the choice.
    for condition in choice.where:
        other = flat_of(choice, choice.datasets[0]) | {condition.key: "something else"}
        assert not choice.marks(other, runs), condition.key
    # Nor does one that has not gone beyond, or has no such metric.
    if choice.beyond:
        assert not choice.marks(flat_of(choice, choice.datasets[0]), runs[:1])
        assert not choice.marks(flat_of(choice, choice.datasets[0]), [record(metrics={})])


def test_rows_whose_c_went_beyond_the_first_grid_are_marked_where_they_had_been_seen(
    record,
) -> None:
    def notes(dataset: str, c: float) -> list[str]:
        probed = {"task": "classification", "metrics": {"accuracy": 0.8, "C": c}}
        run = record("grace", dataset, **probed)
        return [line for line in closing_table([run]).notes if FITTED in line]

    (line,) = notes("amazon_computers", 4096.0)
    assert line.endswith("Linear classifier: runs whose C is beyond 2¹⁰")
    assert notes("amazon_computers", 1024.0) == []
    (line,) = notes("amazon_photo", 1024.0)
    assert line.endswith("Linear classifier: C beyond 2¹⁰")


def test_choices_have_different_names() -> None:
    assert len({choice.name for choice in SEEN}) == len(SEEN)


def test_a_figure_names_the_datasets_and_the_choices() -> None:
    fitted = [hard(dataset=dataset, unit_input=True) for dataset in ("dblp", "acm", "cora")]
    plain = [hard(dataset="pubmed", unit_input=True)]
    told = (
        f"{FITTED} settings chosen after the dataset's own labels had been seen (docs/choices.md):"
        " acm, dblp (DMAT-i: all rows of its table; DMAT-i: encoder's input);"
        " cora (DMAT-i: activation and self-loops; DMAT-i: biases)."
    )
    figure = FIGURES["dmat/5"]
    text = caption(figure, together(*fitted, *plain))
    assert told in text and text.count(FITTED) == 1
    assert FITTED not in caption(figure, together(*plain)) + caption(figure, together())
    assert FITTED in svg(figure, together(*fitted), captioned=True)


def test_a_command_ends_with_a_line_per_fitted_setting(record) -> None:
    def notes(*records) -> list[str]:
        return [line for line in closing_table(records).notes if FITTED in line]

    told = (
        f"dmat_i · acm · clustering: {FITTED} settings chosen after these labels had been seen"
        " (docs/choices.md): DMAT-i: all rows of its table; DMAT-i: encoder's input"
    )
    runs = [record(dataset="acm", seed=seed) for seed in range(2)]
    assert notes(*runs) == [told]
    assert f"\n{told}\n" in closing_table(runs).plain()
    # With a printed number beside it or without.
    assert notes(record(dataset="acm", epochs=0)) == [told]
    assert notes(record(dataset="acm", metrics={"fmi": 0.5})) == [told]
    # Where there is no number there is nothing to mark.
    assert notes(record(dataset="acm", status="oom")) == []
    assert notes(record(dataset="pubmed")) == [] and notes(record("kmeans", "acm")) == []
    graphs = {"task": "graph_classification", "metrics": {"accuracy": 0.5}}
    machine = {**graphs, "task_settings": {"svm": "linear"}}
    for method, dataset in (("histogram", "ptc_mr"), ("graph_kernel", "mutag")):
        (line,) = notes(record(method, dataset, **machine))
        assert line.startswith(f"{method} · {dataset} · graph_classification: {FITTED} ")
        assert line.endswith("Graph classification: the machine at its minimum")
    assert notes(record("histogram", "imdb_multi", **machine)) == []
    assert notes(record("histogram", "ptc_mr", **graphs, task_settings={"svm": "rbf"})) == []
    # A line per setting and task.
    links = record(
        dataset="acm",
        task="link_prediction",
        metrics={"auc": 0.9},
        epochs=2000,
        epoch_by="validation",
    )
    both = [record(dataset="acm", epochs=3), *runs, links]
    assert sorted(line.partition(": ")[0] for line in notes(*both)) == [
        "dmat_i [method.epochs=300] · acm · clustering",
        "dmat_i [method.epochs=3] · acm · clustering",
        "dmat_i · acm · link_prediction",
    ]
