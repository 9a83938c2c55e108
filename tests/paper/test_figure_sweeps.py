"""Figures over settings, and the commands of all figures."""

from __future__ import annotations

from typing import Any

import pytest
from figure_records import hard, mapped, run, together

from gclbench.paper.drawing.panels import FigureContent, PlotPanel
from gclbench.paper.figures import FIGURES, caption, command, content
from gclbench.records import Record

NML = {"name": "nml", "metric": "separable", "alpha": 0.1, "inner_steps": 3}
MMIX = {"name": "mmix", "variant": "mp", "scope": "wp", "diversity": True}


def shown(figure: str, *records: Record, datasets: tuple[str, ...] = ()) -> FigureContent:
    return content(FIGURES[figure], together(*records), datasets)


def panel(found: FigureContent, title: str) -> PlotPanel:
    return next(panel for panel in found.panels if panel.title == title)


def test_mmix_by_dimension_without_and_with_diversity() -> None:
    records = [
        run(
            "mmix_mp",
            "classification",
            protocol="public",
            negatives={**MMIX, "diversity": diversity},
            hidden=hidden,
            subgraph_nodes=nodes,
            metrics={"accuracy": hidden / 1000 + diversity / 10 + (nodes == 500) / 2},
        )
        for hidden, nodes in ((256, 2000), (32, 2000), (256, 500), (32, 500))
        for diversity in (True, False)
    ]
    kept = {
        "protocol": "public",
        "subgraph_nodes": 500,
        "subgraphs": 2,
        "metrics": {"accuracy": 0.9},
    }

    def swept(negatives, **changes):
        return [
            run(
                "mmix_mp",
                "classification",
                negatives=negatives,
                **{**kept, "hidden": hidden, **changes},
            )
            for hidden in (32, 64)
        ]

    assert shown("mmix/2", *swept(MMIX)).panels[1].series
    # A control, another scope, another split, the whole graph: none is of the figure.
    for others in (
        swept({**MMIX, "variant": "adjacency"}),
        swept({**MMIX, "scope": "all"}),
        swept(MMIX, protocol="random_10_10_80"),
        swept(MMIX, subgraphs=0),
    ):
        assert all(panel.empty for panel in shown("mmix/2", *others).panels), others[0].spec
    without, with_diversity = shown("mmix/2", *records).panels
    assert [series.label for series in without.series] == ["n = 500", "n = 2000"]
    assert without.series[1].x == (32, 256) and without.series[1].y == pytest.approx((3.2, 25.6))
    assert without.series[0].y == pytest.approx((53.2, 75.6))
    assert with_diversity.series[1].y == pytest.approx((13.2, 35.6))
    assert shown("mmix/2", records[0]).panels[1].empty, "one dimension is no sweep"


def test_nml_sweeps_hold_everything_else() -> None:
    def nml(accuracy: float, seed: int = 0, **negatives: float) -> Record:
        return run(
            "nml_gcl",
            "classification",
            "amazon_photo",
            seed,
            {"accuracy": accuracy},
            {**NML, **negatives},
        )

    records = [
        nml(0.5),
        nml(0.6, alpha=0),
        nml(0.7, alpha=0.8),
        nml(0.8, inner_steps=1),
        nml(0.9, alpha=0.8, inner_steps=1, lr=3),
    ]
    alpha, steps = shown("nml/4", *records).panels
    assert alpha.series[0].x == (0, 0.1, 0.8) and alpha.series[0].y == pytest.approx((60, 50, 70))
    assert steps.series[0].x == (1, 3) and steps.series[0].y == pytest.approx((80, 50))
    assert alpha.series[0].spread == ()
    assert "Splits: random_10_10_80." in caption(FIGURES["nml/4"], together(*records))


def test_settings_that_are_no_numbers_are_in_no_sweep() -> None:
    values: list[Any] = [True, "0.3", None, [1]]
    records = [
        run(
            "nml_gcl",
            "classification",
            "cora",
            metrics={"accuracy": 0.5},
            negatives={**NML, "alpha": value},
        )
        for value in values
    ]
    assert all(panel.empty for panel in shown("nml/4", *records).panels)


def test_every_command_composes_and_makes_records_that_the_figure_takes() -> None:
    """Hydra composes every run; its settings, as a record with metrics, fill every panel."""
    from gclbench.component.settings import identity_of
    from gclbench.config.overrides import sweep
    from gclbench.config.validation import experiment_of

    for figure in FIGURES.values():
        # Those of a whole table have its command.
        if figure.id == "dmat/2" or figure.id.startswith("ranks/"):
            continue
        datasets = ("mutag",) if figure.id == "mmix/course" else ("cora",)
        records = []
        for line in command(figure, datasets):
            words = line.split()
            assert words[0] == "gclbench"
            for overrides in sweep([word for word in words[1:] if word != "-m"]):
                experiment = experiment_of(
                    [word for word in overrides if not word.startswith("seeds=")]
                )
                for name, task in experiment.components.tasks.items():
                    made = (
                        (hard() if name == "contrast" else mapped())
                        if name in ("contrast", "tsne")
                        else run()
                    )
                    spec = {
                        kind: experiment.settings[kind]
                        for kind in ("dataset", "filter", "method", "negatives")
                    }
                    alias = "classification" if name == "classification_public" else name
                    spec |= {
                        "task": {"name": alias, **identity_of(task)},
                        "seed": 0,
                        "versions": {},
                        "dataset_hash": "",
                    }
                    made.spec, made.id = spec, str(len(records))
                    made.metrics |= {"acc": 0.5, "accuracy": 0.5}
                    made.seconds = {"fit": 1.0}
                    if spec["method"].get("course") or "method.course=5" in overrides:
                        made.data |= {"course": [[0, {"accuracy": 0.4}], [5, {"accuracy": 0.5}]]}
                    records.append(made)
        found = shown(figure.id, *records, datasets=datasets)
        empty = [panel.title for panel in found.panels if panel.empty]
        assert empty == (["standard deviation over runs"] if figure.id == "mmix/3" else []), (
            figure.id
        )
        assert {record.id for record in found.records} <= {record.id for record in records}
        if figure.of_one_dataset:
            assert {record.id for record in found.records} == {record.id for record in records}, (
                figure.id
            )
