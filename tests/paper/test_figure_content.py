"""What each figure takes from records, against records made by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from figure_records import hard, mapped, run, together

from gclbench.paper.drawing.panels import Box, FigureContent, PlotPanel
from gclbench.paper.figures import FIGURES, caption, content
from gclbench.records import Record

NML = {"name": "nml", "metric": "separable", "alpha": 0.1, "inner_steps": 3}
MMIX = {"name": "mmix", "variant": "mp", "scope": "wp", "diversity": True}


def shown(figure: str, *records: Record, datasets: tuple[str, ...] = ()) -> FigureContent:
    return content(FIGURES[figure], together(*records), datasets)


def panel(found: FigureContent, title: str) -> PlotPanel:
    return next(panel for panel in found.panels if panel.title == title)


# --- maps


def test_maps_are_of_raw_and_filtered_features_and_of_the_trained_embedding() -> None:
    records = [
        mapped(method="kmeans", filter="none"),
        mapped(method="kmeans", filter="gnnbp", x=[9.0, 8.0, 7.0]),
        mapped(seed=1),
        mapped(seed=2, x=[5.0, 5.0, 5.0]),
        mapped(epochs=0, x=[4.0, 4.0, 4.0]),
        mapped(method="grace", x=[6.0, 6.0, 6.0]),
    ]
    found = shown("dmat/3", *records)
    clouds = [panel.cloud for panel in found.panels]
    assert [cloud.x for cloud in clouds if cloud] == [
        (0.0, 1.5, -2.25),
        (9.0, 8.0, 7.0),
        (0.0, 1.5, -2.25),
    ]
    assert (
        clouds[0] is not None
        and clouds[0].y == (3.0, -1.0, 0.5)
        and clouds[0].classes == (0, 1, -1)
    )
    assert found.panels[0].x_label == "silhouette of classes 0.10, on the map 0.25"
    assert [record.seed for record in found.records] == [0, 0, 1]


def test_a_map_of_another_dataset_stands_in_and_the_caption_says_so() -> None:
    records = [
        mapped(method="nml_gcl", negatives=NML, dataset="cora"),
        mapped(method="grace", dataset="citeseer"),
    ]
    found = shown("nml/3", *records)
    assert [panel.empty for panel in found.panels] == [True, False]
    text = caption(FIGURES["nml/3"], together(*records))
    assert "Dataset: cora; the paper's is amazon_computers." in text and "GRACE: not run." in text
    assert shown("nml/3", *records, datasets=("citeseer",)).panels[1].empty


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"x": [1.0]}, "it holds 1 x, 3 y and 3 classes"),
        ({"y": [1.0, "nan", 2.0]}, "a coordinate or class is no number"),
        ({"y": [1.0, math.nan, 2.0]}, "a coordinate or class is no number"),
        ({"classes": [0, None, True]}, "a coordinate or class is no number"),
        ({"x": [10**400, 1.0, 2.0]}, "a coordinate or class is no number"),
        ({"classes": [0, 0.5, 1]}, "a class is no whole number"),
        ({"x": [], "y": [], "classes": []}, "it holds no coordinates"),
        ({"x": "abc"}, "it holds no coordinates"),
    ],
)
def test_a_damaged_map_is_named_and_the_next_seed_taken(changes: dict[str, Any], why: str) -> None:
    broken, good = mapped(seed=0, **changes), mapped(seed=1)
    found = shown("dmat/3", broken, good)
    assert found.panels[2].cloud is not None and [record.id for record in found.records] == [
        good.id
    ]
    assert (
        f"embedding (DMAT-i): run {broken.id} has no map that could be drawn: {why}."
        in found.remarks
    )
    alone = shown("dmat/3", broken)
    assert alone.panels[2].missing == "no usable map" and alone.panels[0].missing == "not run"


def test_a_record_without_data_has_no_map() -> None:
    found = shown(
        "dmat/3",
        run(task="tsne", metrics={"silhouette": 0.1}),
        run(task="tsne", seed=1, status="failed"),
    )
    assert found.panels[2].empty and "embedding (DMAT-i), seed 1: failed." in found.remarks


# --- trainings


def test_metrics_over_epochs_and_accuracy_against_time() -> None:
    raw = {"normalize_features": False}
    records = [
        *(
            run(
                epochs=0,
                seed=seed,
                metrics={"acc": 0.5, "nmi": 0.1},
                seconds={"fit": 0.5, "evaluate": 9.0},
            )
            for seed in (0, 1)
        ),
        run(epochs=20, metrics={"acc": 0.6, "nmi": 0.2}, seconds={"filter": 1.0, "fit": 3.0}),
        run(
            epochs=20, seed=1, metrics={"acc": 0.8, "nmi": 0.4}, seconds={"filter": 1.0, "fit": 5.0}
        ),
        run(epochs=40, metrics={"acc": 0.9}, seconds={"fit": 8.0}),
        run(epochs=40, seed=1, status="diverged"),
        run(epochs=60, lr=7.0, metrics={"acc": 0.1}),
        run("dgi", metrics={"acc": 0.7}, seconds={"fit": 30.0}, **raw),
        run("dgi", seed=1, metrics={"acc": 0.9}, seconds={"fit": 50.0}, **raw),
        run("gca", status="oom", **raw),
        # On the rows that its code normalises, which the paper's are not.
        run("dgi", seed=2, metrics={"acc": 0.1}, seconds={"fit": 9.0}, normalize_features=True),
    ]
    found = shown("dmat/4", *records)
    curves = {series.label: series for series in found.panels[0].series}
    assert curves["ACC"].x == (0, 20, 40) and curves["ACC"].y == pytest.approx((50, 70, 90))
    assert curves["ACC"].spread == pytest.approx((0, 100 * math.sqrt(0.02), 0))
    assert (
        curves["NMI"].x == (0, 20)
        and curves["NMI"].y == pytest.approx((10, 30))
        and set(curves) == {"ACC", "NMI"}
    )
    paths = {series.label: series for series in found.panels[1].series}
    assert paths["DMAT-i"].x == pytest.approx((0.5, 5.0, 8.0)) and paths[
        "DMAT-i"
    ].y == pytest.approx((50, 70, 90))
    assert (
        paths["DGI"].x == (40.0,)
        and paths["DGI"].y == pytest.approx((80,))
        and set(paths) == {"DMAT-i", "DGI"}
    )
    text = caption(FIGURES["dmat/4"], together(*records))
    assert (
        "Made from 9 runs of dgi, dmat_i, gca (cora; seeds 0–1; 1 diverged; 1 OOM; commit abc)."
        in text
    )


def test_the_dataset_with_a_sweep_is_preferred() -> None:
    records = [run(dataset="cora", metrics={"acc": 0.5})]
    records += [run(dataset="acm", epochs=epochs, metrics={"acc": 0.5}) for epochs in (1, 2)]
    assert "Dataset: acm; the paper's is coauthor_phy." in shown("dmat/4", *records).remarks
    assert (
        "Dataset: cora; the paper's is coauthor_phy."
        in shown("dmat/4", *records, datasets=("cora",)).remarks
    )


def test_mmix_over_epochs_has_a_line_per_dimension_and_its_spread() -> None:
    records = [
        run(
            "mmix_mp",
            "classification",
            protocol="public",
            negatives=MMIX,
            hidden=hidden,
            subgraph_nodes=nodes,
            patience=0,
            epochs=epochs,
            seed=seed,
            metrics={"accuracy": 0.5 + 0.1 * seed + epochs / 1000},
        )
        for hidden, nodes in ((64, 500), (256, 500), (64, 2000))
        for epochs in (10, 100)
        for seed in (0, 1)
    ]
    assert shown("mmix/3", *records).panels[0].series
    # Another split, a control, another scope, no diversity loss, trainings that patience may have
    # ended, and on the whole graph: none is of the figure.
    kept = {
        "protocol": "public",
        "patience": 0,
        "hidden": 64,
        "subgraph_nodes": 500,
        "subgraphs": 2,
        "metrics": {"accuracy": 0.9},
    }
    others = (
        (MMIX, {"protocol": "random_10_10_80"}),
        ({**MMIX, "variant": "adjacency"}, {}),
        ({**MMIX, "scope": "all"}, {}),
        ({**MMIX, "diversity": False}, {}),
        (MMIX, {"patience": 30}),
        (MMIX, {"subgraphs": 0}),
    )
    assert (
        shown("mmix/3", run("mmix_mp", "classification", negatives=MMIX, **kept)).panels[0].series
    )
    for negatives, changes in others:
        alone = run("mmix_mp", "classification", negatives=negatives, **{**kept, **changes})
        assert not shown("mmix/3", alone).panels[0].series, (negatives, changes)
    means, spreads = shown("mmix/3", *records).panels
    assert [series.label for series in means.series] == ["(500, 64)", "(500, 256)", "(2000, 64)"]
    assert means.series[0].x == (10, 100) and means.series[0].y == pytest.approx((56, 65))
    assert spreads.series[1].y == pytest.approx([100 * 0.1 / math.sqrt(2)] * 2)
    assert (
        shown("mmix/3", *(record for record in records if record.seed == 0)).panels[1].missing
        == "one run each"
    )
    one = [record for record in records if record.spec["method"]["hidden"] == 256]
    assert "The line is (500, 256)." in shown("mmix/3", *one).remarks, "a single line has no legend"
    less = shown(
        "mmix/3",
        *(
            record
            for record in records
            if record.seed == 0 or record.spec["method"]["epochs"] == 10
        ),
    )
    assert [series.x for series in less.panels[1].series] == [(10,)] * 3, (
        "one run has no standard deviation, not one of 0"
    )


def test_another_form_of_a_dataset_is_in_no_figure() -> None:
    def agc(**shape: str) -> Record:
        return run(
            "agc",
            "clustering",
            dataset="coauthor_phy",
            shape=shape,
            seconds={"fit": 1.0},
            metrics={"acc": 0.8},
        )

    assert [
        series.label for series in shown("dmat/4", agc(features="counts")).panels[1].series
    ] == ["AGC"]
    for other in (agc(features="binary"), agc()):
        assert shown("dmat/4", other).panels[1].series == ()


# --- negatives


def test_tau0_boxes_are_means_over_runs_beside_the_printed_ones() -> None:
    found = shown(
        "dmat/5", hard(0), hard(1), hard(0, dataset="acm", epochs=0), hard(0, method="grace")
    )
    boxes = found.panels[0].boxes
    assert (
        Box("cora", "ours", 1.5, 2.5, 4.5) in boxes
        and Box("cora", "paper (Table 5)", 1.06, 2.32, 5.88) in boxes
    )
    assert [box.label for box in boxes if box.source == "ours"] == ["cora"] and len(boxes) == 9


def test_tau0_without_runs_says_so_beside_the_printed_boxes() -> None:
    assert {box.source for box in shown("dmat/5").panels[0].boxes} == {"paper (Table 5)"}
    assert "Ours: not run." in caption(FIGURES["dmat/5"], together())
    assert "not run" not in caption(FIGURES["dmat/5"], together(hard(0)))


def test_a_quartile_that_is_not_finite_draws_no_box_and_is_said() -> None:
    record = hard(0)
    record.metrics["tau0_q3"] = math.inf
    found = shown("dmat/5", record, datasets=("cora",))
    assert [box.source for box in found.panels[0].boxes] == ["paper (Table 5)"]
    assert found.remarks == ("cora: a quartile is not finite, so there is no box.",)


def test_hardness_of_the_stages_and_of_the_methods() -> None:
    records = [
        hard(0, peak=14, method="kmeans", filter="none"),
        hard(0, peak=17, method="kmeans", filter="gnnbp"),
        hard(0, peak=8, dataset="acm"),
        hard(0, peak=8),
        hard(1, peak=9),
        hard(0, method="grace", negatives={"name": "nml"}),
        hard(0, method="nml_gcl", negatives=NML),
        hard(0, epochs=0, peak=2),
    ]
    found = shown("dmat/6", *records)
    raw, filtered, trained, methods = found.panels
    assert [series.label for series in trained.steps] == ["acm", "cora"]
    cora = trained.steps[1]
    assert cora.x[:2] == (-0.95, -0.85) and len(cora.y) == 20
    assert cora.y[7:10] == pytest.approx((37.5, 50.0, 12.5)) and sum(cora.y) == pytest.approx(100)
    assert raw.steps[0].y[13] == pytest.approx(75) and filtered.steps[0].y[16] == pytest.approx(75)
    assert methods.title == "methods on cora (not in the paper)" and [
        series.label for series in methods.steps
    ] == [
        "dmat_i",
        "grace + nml",
        "nml_gcl",
    ]


def test_a_histogram_with_a_bin_missing_is_not_drawn() -> None:
    record = hard(0)
    del record.metrics["hardness_07"]
    assert all(panel.empty for panel in shown("dmat/6", record).panels)


def test_the_course_shows_what_a_choice_by_test_folds_would_gain() -> None:
    def followed(seed: int, dataset: str, *accuracies: float, **more: Any) -> Record:
        at = [[5 * place, {"accuracy": value}] for place, value in enumerate(accuracies)]
        return run(
            more.get("method", "graphcl"),
            "graph_classification",
            dataset,
            seed,
            metrics={"accuracy": accuracies[-1]},
            data={"course": at},
            svm=more.get("svm", "linear"),
        )

    records = [
        followed(0, "mutag", 0.9, 0.8, 0.85, 0.8),
        followed(1, "mutag", 0.7, 0.8, 0.82, 0.84),
        followed(0, "imdb_multi", 0.4, 0.5, 0.45, method="infograph"),
        run("graphcl", "graph_classification", "mutag", 2, metrics={"accuracy": 0.1}),
    ]
    over, gained = shown("mmix/course", *records).panels
    (line,) = over.series
    assert line.label == "graphcl" and line.x == (0, 5, 10, 15)
    assert line.y == pytest.approx((80, 80, 83.5, 82)), "the run without a course has no part"
    first, second = gained.series
    # Five collections side by side at each method; the bars of none cover another's.
    assert gained.names[round(first.x[0])] == "graphcl"
    assert gained.names[round(second.x[0])] == "infograph"
    assert (first.x[0] - 1, second.x[0]) == pytest.approx((-0.24, 0.12))
    # The untrained state is no epoch to choose; a run whose last epoch is the best gains nothing.
    assert (first.label, first.y, first.spread) == (
        "mutag",
        pytest.approx((2.5,)),
        pytest.approx((5 / math.sqrt(2),)),
    )
    assert (second.label, second.y) == ("imdb_multi", pytest.approx((5,)))
    assert {record.id for record in shown("mmix/course", *records).records} == {
        record.id for record in records[:3]
    }
    # Runs of other settings than the table's column have no part, however many there are.
    others = [followed(seed, "mutag", 0.1, 0.2, 0.3, svm="rbf") for seed in range(5)]
    assert shown("mmix/course", *records, *others).panels == (over, gained)
