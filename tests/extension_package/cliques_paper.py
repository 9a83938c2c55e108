"""A paper of another package: its table and the numbers that it prints."""

from __future__ import annotations

from gclbench.paper.columns import Column, is_
from gclbench.paper.publication import Paper
from gclbench.paper.table_definition import Definition

PRINTED = {
    "paper": "cliques",
    "table": "1",
    "task": "node clustering",
    "dataset": "Ring of cliques",
    "method": "Random projection",
    "metric": "ACC",
    "mean": "97.5",
    "std": "1.5",
    "note": "",
}

PAPER = Paper(
    name="cliques",
    title="Clusters of cliques, by nobody",
    values=[PRINTED],
    runs={"1": 10},
    tasks={"node clustering": "clustering"},
    tables=(
        Definition(
            paper="cliques",
            number="1",
            title="clusters of cliques",
            task="clustering",
            datasets=("ring_of_cliques",),
            metrics=("acc",),
            columns=(
                Column("ours", (is_("method.name", "random_projection"),), "random_projection"),
            ),
        ),
    ),
)
