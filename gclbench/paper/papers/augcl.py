"""AUGCL. It prints no table on nodes, so there is nothing to fill."""

from __future__ import annotations

from gclbench.paper.publication import Paper

PAPER = Paper(
    name="augcl",
    title=(
        "Affinity Uncertainty-based Hard Negative Mining"
        " in Graph Contrastive Learning (IEEE TNNLS 2024)"
    ),
    introduces=("augcl",),
)
