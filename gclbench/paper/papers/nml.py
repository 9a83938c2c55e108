"""The tables of paper 003: NML-GCL."""

from __future__ import annotations

from gclbench.paper.columns import is_
from gclbench.paper.papers.contrastive_columns import (
    CITATION,
    NML_ABLATIONS,
    NML_DATASETS,
    NML_ROWS,
    ONE_PROTOCOL,
    OTHERS,
)
from gclbench.paper.table_definition import Definition

NML_TABLES = (
    Definition(
        paper="nml",
        number="1",
        title=(
            "node classification (public splits; 10/10/80 for Amazon and Wiki-CS), NML-GCL paper,"
            " Table 1"
        ),
        task="classification",
        datasets=NML_DATASETS,
        metrics=("accuracy",),
        columns=(*NML_ROWS, *NML_ABLATIONS, *OTHERS),
        protocols={
            name: "public" if name in CITATION else "random_10_10_80" for name in NML_DATASETS
        },
        remarks=(
            ONE_PROTOCOL,
            (
                "`nml_gcl` has the official code's separable metric; `pairwise` is the network as"
                " printed."
            ),
        ),
    ),
    Definition(
        paper="nml",
        number="2",
        title="node clustering, NML-GCL paper, Table 2",
        task="clustering",
        datasets=NML_DATASETS,
        metrics=("fmi", "ari"),
        columns=(*NML_ROWS, *NML_ABLATIONS, *OTHERS),
        where=(is_("task.clusters", None),),
        remarks=("The paper prints no spreads.",),
    ),
)
