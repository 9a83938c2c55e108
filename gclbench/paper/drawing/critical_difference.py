"""Average ranks on an axis, with bars that join what cannot be told apart."""

from __future__ import annotations

import math

from matplotlib.axes import Axes

from gclbench.paper.drawing.panels import Ranks
from gclbench.paper.significance import LEVEL

GREY = "#444444"
MARGIN = 0.25
"""Of ranks, between the outermost one and its label."""
CHARACTER = 0.058
"""Inches of a label's character."""


def diagram(axes: Axes, ranks: Ranks) -> None:
    """Draws it with scikit-posthocs.

    Columns go there as numbers: it keeps them in sets, whose order would change with the names'
    hashes and with it the bytes.
    """
    import pandas
    from scikit_posthocs import critical_difference_diagram

    axes.grid(False)
    axes.spines["top"].set_visible(True)
    drawn = critical_difference_diagram(
        dict(enumerate(ranks.ranks)),
        pandas.DataFrame(ranks.p_values),
        alpha=LEVEL,
        ax=axes,
        label_fmt_left="{label:.0f}",
        label_fmt_right="{label:.0f}",
        label_props={"fontsize": 7},
        marker_props={"s": 9},
        elbow_props={"color": GREY, "linewidth": 0.7},
        text_h_margin=MARGIN,
    )
    widest = {"left": 0, "right": 0}
    for text in drawn["labels"]:
        place = int(text.get_text())
        said = f"{ranks.labels[place]} ({ranks.ranks[place]:.2f})"
        text.set_text(f" {said} ")
        # Labels of the better half are aligned to the right: they stand on the left.
        side = "left" if text.get_horizontalalignment() == "right" else "right"
        widest[side] = max(widest[side], len(said) + 2)
    low, high = min(ranks.ranks), max(ranks.ranks)
    axes.plot([low, low + ranks.critical], [2, 2], color="black", linewidth=1)
    axes.text(low, 2.2, f"CD {ranks.critical:.2f}", fontsize=7, va="bottom")
    inches = axes.get_window_extent().width / axes.figure.dpi
    share = {side: CHARACTER * count / inches for side, count in widest.items()}
    whole = (high - low + 2 * MARGIN) / max(1 - sum(share.values()), 0.3)
    axes.set_xlim(low - MARGIN - share["left"] * whole, high + MARGIN + share["right"] * whole)
    axes.set_xticks([rank for rank in range(1, len(ranks.ranks) + 1) if low - 1 < rank < high + 1])
    axes.spines["top"].set_bounds(max(1, math.floor(low)), min(len(ranks.ranks), math.ceil(high)))
    axes.set_ylim(top=3)
