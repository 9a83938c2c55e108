"""t-SNE maps of features and embedding (Figure 3 of the DMAT-i paper)."""

from __future__ import annotations

from gclbench.paper.columns import GNNBP, Condition
from gclbench.paper.drawing.maps import map_commands, side_by_side
from gclbench.paper.figure_definition import Figure
from gclbench.paper.papers.dmat.columns import DMAT_I, KMEANS, method_is

STAGES: dict[str, tuple[Condition, ...]] = {
    "raw features": KMEANS.where,
    "filtered features": (method_is("kmeans"), GNNBP),
    "embedding (DMAT-i)": DMAT_I.where,
}

FIGURE = Figure(
    id="dmat/3",
    title=(
        "t-SNE maps of raw features, filtered features and embedding (DMT / DMAT / DMAT-i"
        " paper, Figure 3)"
    ),
    says=(
        "Colours and numbers are classes, numbers at the median of each. Positions in a t-SNE"
        " map have no scale."
    ),
    datasets=("cora",),
    stand_ins=("citeseer", "acm", "dblp", "digits"),
    build=side_by_side(STAGES, ("cora", "citeseer", "acm", "dblp", "digits")),
    commands=map_commands(
        "method=kmeans filter=none", "method=kmeans filter=gnnbp", "method=dmat_i"
    ),
)
