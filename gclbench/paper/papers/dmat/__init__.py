"""DMT, DMAT and DMAT-i, with the GnnBP filter."""

from __future__ import annotations

from gclbench.paper.papers.dmat import (
    maps_figure,
    negatives_figures,
    scale_figure,
    training_figure,
)
from gclbench.paper.papers.dmat.tables import SETTINGS, TABLES
from gclbench.paper.publication import Paper

PAPER = Paper(
    name="dmat",
    title="Scalable Deep Metric Learning on Attributed Graphs (DMT, DMAT, DMAT-i, GnnBP)",
    key="000",
    introduces=("dmt", "dmat", "dmat_i"),
    methods={
        "DMT (embedding from labelled 10%)": ("dmt", ""),
        "DMAT (embedding from labelled 10%)": ("dmat", ""),
        "DMAT-i (embedding from labelled 10% nodes, labels unused)": (
            "dmat_i",
            "train_on=labelled",
        ),
        "DMAT-i (embedding from all data, unlabelled)": ("dmat_i", "train_on=all"),
    },
    runs={"1": 10},
    spread=dict.fromkeys(("2", "3"), "The paper does not say over how many runs its spreads are."),
    settings=SETTINGS,
    settings_table="8",
    tables=TABLES,
    figures=(
        scale_figure.FIGURE,
        maps_figure.FIGURE,
        training_figure.FIGURE,
        *negatives_figures.FIGURES,
    ),
    not_built={
        "dmat/6": "complexities: no numbers that runs could give",
        "dmat/9": "addresses of code: no numbers",
    },
)
