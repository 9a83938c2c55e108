"""Average ranks: which columns and datasets, the test, and the figures."""

from __future__ import annotations

import pytest
from scipy.stats import friedmanchisquare

from gclbench.cli import main
from gclbench.paper.figures import FIGURES, caption, command, content, svg
from gclbench.paper.papers.dmat.columns import DMAT_DATASETS
from gclbench.paper.rank_figures import average_ranks
from gclbench.paper.sources import Collection
from gclbench.paper.tables import TABLES

QUALITY = {"agc": 0.3, "kmeans": 0.2, "deepwalk": 0.4}
FORMS = {"amazon_photo": {"edges": "as_stored"}, "coauthor_cs": {"features": "counts"}}
"""Those that the `dmat` paper's tables read."""
FIVE, SIX = DMAT_DATASETS[:5], DMAT_DATASETS[:6]


def runs(record, datasets=FIVE, qualities=QUALITY, **fields):
    """A column is better by its quality everywhere; conductance the other way round."""
    return [
        record(
            method=method,
            dataset={"name": dataset, **FORMS.get(dataset, {})},
            seed=seed,
            metrics={"acc": quality + 0.01 * place, "nmi": -quality},
            **fields,
        )
        for method, quality in qualities.items()
        for place, dataset in enumerate(datasets)
        for seed in (0, 1)
    ]


def shown(records, datasets=()):
    return content(FIGURES["ranks/dmat-1"], Collection(tuple(records)), datasets)


def test_every_table_of_results_with_five_datasets_has_a_figure() -> None:
    found = {name for name in FIGURES if name.startswith("ranks/")}
    assert found >= {f"ranks/{name}" for name in ("dmat-1", "dmat-2", "dmat-3", "nml-1", "nml-2")}
    for name in found:
        table = TABLES[name.removeprefix("ranks/").replace("-", "/", 1)]
        assert table.compared and len(table.datasets) >= 5
        assert command(FIGURES[name]) == [f"gclbench sweep table={table.id}"]


def test_ranks_by_hand() -> None:
    losses = {"a": [1, 1, 2, 1, 1], "b": [2, 2, 1, 3, 2], "c": [3, 3, 3, 2, 3]}
    ranks, p_value = average_ranks(losses)
    assert ranks.ranks == pytest.approx((1.2, 2.0, 2.8))
    # q of three columns at 0.05 is 2.343 (Demšar 2006, Table 5).
    assert ranks.critical == pytest.approx(2.343 * (12 / 30) ** 0.5, abs=1e-3)
    assert p_value == pytest.approx(friedmanchisquare(*losses.values()).pvalue)
    assert [value > 0.05 for value in ranks.p_values[0]] == [True, True, False]


def test_the_direction_of_the_metric_and_two_panels_at_most(record) -> None:
    figure = shown(runs(record))
    first, second = figure.panels
    assert [panel.title for panel in figure.panels] == ["ACC, 5 datasets", "NMI, 5 datasets"]
    by_name = dict(zip(first.ranks.labels, first.ranks.ranks, strict=True))
    assert by_name == {"deepwalk": 1, "agc": 2, "kmeans": 3}
    assert dict(zip(second.ranks.labels, second.ranks.ranks, strict=True))["kmeans"] == 1
    assert len(figure.records) == 30


def test_blocks_are_complete_and_the_caption_says_what_was_left_out(record) -> None:
    few = runs(record, DMAT_DATASETS[:3], {"ssgc": 0.9})
    more = runs(record, SIX[1:], {"age": 0.9}, filter="laplacian")
    records = [*runs(record, SIX), *few, *more]
    panel, _ = shown(records).panels
    assert set(panel.ranks.labels) == {*QUALITY, "age"} and panel.title == "ACC, 5 datasets"
    text = caption(FIGURES["ranks/dmat-1"], Collection(tuple(records)))
    assert "left out for their number of datasets are ssgc (3); not all columns have acm" in text
    assert "4 columns on 5 datasets, Friedman's p = " in text and "critical difference 2.10" in text


def test_the_column_that_lacks_most_goes_where_too_few_datasets_are_common(record) -> None:
    panel, _ = shown([*runs(record), *runs(record, SIX[1:], {"ssgc": 0.9})]).panels
    assert set(panel.ranks.labels) == {*QUALITY} and panel.title == "ACC, 5 datasets"


def test_of_columns_that_lack_datasets_the_one_with_the_fewest_goes(record) -> None:
    few = runs(record, DMAT_DATASETS[2:7], {"ssgc": 0.9})
    records = [*runs(record, SIX), *few]
    panel, _ = shown(records).panels
    assert set(panel.ranks.labels) == {*QUALITY} and panel.title == "ACC, 6 datasets"
    text = caption(FIGURES["ranks/dmat-1"], Collection(tuple(records)))
    assert "left out for their number of datasets are ssgc (5)" in text


def test_a_column_with_a_failed_seed_is_not_ranked_there(record) -> None:
    records = [item for item in runs(record) if item.seed == 0]
    failed = [record(method="agc", dataset=name, seed=1, status="oom") for name in FIVE]
    panel, _ = shown([*records, *failed]).panels
    assert panel.missing == "fewer than 3 columns have 5 datasets in common" and panel.empty


def test_datasets_asked_for(record) -> None:
    records = runs(record, SIX)
    assert shown(records, SIX).panels[0].title == "ACC, 6 datasets"
    assert shown(records, SIX[:4]).panels[0].empty


def test_the_svg_is_the_same_every_time(record) -> None:
    collection = Collection(tuple(runs(record)))
    first = svg(FIGURES["ranks/dmat-1"], collection, captioned=True)
    assert first == svg(FIGURES["ranks/dmat-1"], collection, captioned=True)
    assert "deepwalk (1.00)" in first and "CD 1.48" in first


@pytest.mark.parametrize("more", [[], ["--command"]])
def test_a_dataset_that_the_table_lacks_is_refused(
    more, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["figure", "ranks/dmat-1", "--dataset", "cora", "digits", *more]) == 2
    assert (
        "figure ranks/dmat-1 has no dataset 'digits'; it has acm, dblp" in capsys.readouterr().err
    )
