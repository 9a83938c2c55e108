"""Panels as a matplotlib figure: fixed places, colours that most colour-blind readers tell apart,
line styles and markers for grey."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from gclbench.paper.drawing.critical_difference import diagram
from gclbench.paper.drawing.panels import UNKNOWN, Box, Cloud, PlotPanel, Series

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#882255")
"""Okabe and Ito's, without the yellow that white paper swallows."""
CLASS_COLOURS = (
    "#332288",
    "#CC6677",
    "#DDAA33",
    "#117733",
    "#88CCEE",
    "#882255",
    "#44AA99",
    "#999933",
    "#AA4499",
    "#000000",
)
"""Tol's muted ones."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
STYLES: tuple[Any, ...] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (1, 1)),
    (0, (7, 2)),
    (0, (3, 1, 1, 1)),
)
GREY = "#666666"

PANEL = (3.3, 2.75)
"""Inches, with labels."""
WIDE = 7.2
"""Inches of a figure's only panel."""
INSET = {"left": 0.62, "right": 0.12, "bottom": 0.48, "top": 0.28}
BARE = {**INSET, "left": 0.12, "bottom": 0.28}
"""Of panels without numbers on their axes."""
HEADER = 0.28
CAPTION_LINE = 0.125
CHARACTERS_PER_INCH = 18.5
TITLE_LINE = 0.15
TITLE_CHARACTERS_PER_INCH = 14
DENSE, MARKED = 40, 8
"""Points of a line from which on about so many of them are marked."""
MANY = 3
"""Panels in a row at most."""

STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 6.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.use_mathtext": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.handlelength": 2.6,
    "text.usetex": False,
    "svg.fonttype": "none",
    "svg.image_inline": True,
    "path.simplify": False,
}


def canvas(title: str, panels: Sequence[PlotPanel], caption: str) -> Canvas:
    """The figure; an empty caption is left out."""
    columns = 1 if any(panel.ranks for panel in panels) else _columns(len(panels))
    rows = -(-len(panels) // columns)
    panel_width = WIDE if columns == 1 else PANEL[0]
    width = columns * panel_width
    inset = INSET if any(panel.y_label for panel in panels) else BARE
    lines = textwrap.wrap(caption, int(width * CHARACTERS_PER_INCH)) if caption else []
    footer = CAPTION_LINE * len(lines) + 0.1 if lines else 0.0
    heading = textwrap.wrap(title, int(width * TITLE_CHARACTERS_PER_INCH))
    height = HEADER + TITLE_LINE * (len(heading) - 1) + rows * PANEL[1] + footer
    made = Canvas(figsize=(width, height), dpi=100)
    for number, text in enumerate(heading):
        place = height - 0.1 - TITLE_LINE * number
        made.text(
            0.12 / width, place / height, text, ha="left", va="top", fontsize=8.5, fontweight="bold"
        )
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        left = column * panel_width + inset["left"]
        bottom = footer + (rows - 1 - row) * PANEL[1] + inset["bottom"]
        size = (
            panel_width - inset["left"] - inset["right"],
            PANEL[1] - inset["bottom"] - inset["top"],
        )
        axes = made.add_axes((left / width, bottom / height, size[0] / width, size[1] / height))
        _fill(axes, panel)
    for word in {panel.alike for panel in panels if panel.alike}:
        _alike(
            [
                axes
                for axes, panel in zip(made.axes, panels, strict=True)
                if panel.alike == word and not panel.empty
            ]
        )
    for number, text in enumerate(lines):
        place = footer - 0.05 - CAPTION_LINE * number
        made.text(
            0.12 / width, place / height, text, ha="left", va="top", fontsize=6.5, color="#444444"
        )
    return made


def _alike(several: Sequence[Axes]) -> None:
    """The same y-axis for all."""
    limits = [limit for axes in several for limit in axes.get_ylim()]
    for axes in several:
        axes.set_ylim(min(limits), max(limits))


def _columns(panels: int) -> int:
    return 2 if panels == 4 else min(MANY, max(1, panels))


def _fill(axes: Axes, panel: PlotPanel) -> None:
    axes.set_title(panel.title, loc="left", pad=4)
    axes.set_xlabel(panel.x_label, labelpad=3)
    if panel.empty:
        _bare(axes)
        axes.text(
            0.5,
            0.5,
            panel.missing,
            transform=axes.transAxes,
            ha="center",
            va="center",
            fontsize=9,
            color=GREY,
            style="italic",
        )
    elif panel.cloud is not None:
        _bare(axes)
        _map(axes, panel.cloud)
    elif panel.ranks is not None:
        diagram(axes, panel.ranks)
    else:
        axes.set_ylabel(panel.y_label, labelpad=3)
        if panel.x_scale == "symlog":
            axes.set_xscale("symlog", linthresh=1)
        elif panel.x_scale == "log":
            axes.set_xscale("log")
        if panel.y_log:
            axes.set_yscale("log")
        lines = panel.series
        if panel.x_scale == "values":
            values = sorted({x for series in lines for x in series.x})
            lines = tuple(
                replace(series, x=tuple(float(values.index(x)) for x in series.x))
                for series in lines
            )
            axes.set_xticks(range(len(values)), [f"{value:g}" for value in values])
            axes.set_xlim(-0.4, len(values) - 0.6)
        if panel.names:
            axes.set_xticks(range(len(panel.names)), panel.names, rotation=30, ha="right")
            axes.set_xlim(-0.6, len(panel.names) - 0.4)
        _room(axes, panel)
        _lines(axes, lines, joined=not panel.names)
        _steps(axes, panel.steps)
        _boxes(axes, panel.boxes)
        for axis, logarithmic in (
            (axes.xaxis, panel.x_scale in ("log", "symlog")),
            (axes.yaxis, panel.y_log),
        ):
            if logarithmic:
                low, high = axis.get_view_interval()
                if panel.x_scale != "symlog" and high < 200 * low:
                    # Powers of ten alone would be two numbers or one.
                    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter(FuncFormatter(_short))
                axis.set_minor_formatter(NullFormatter())


def _room(axes: Axes, panel: PlotPanel) -> None:
    """Limits of logarithmic axes along which there is a single value, which matplotlib has none
    for."""
    for logarithmic, values, limit in (
        (panel.x_scale == "log", {x for series in panel.series for x in series.x}, axes.set_xlim),
        (panel.y_log, {y for series in panel.series for y in series.y}, axes.set_ylim),
    ):
        if logarithmic and len(values) == 1:
            limit(min(values) / 2, max(values) * 2)


def _short(value: float, position: int | None = None) -> str:
    """0.1, 20, 10k, 1M."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if abs(value) >= 1e4 else f"{value:g}"


def _bare(axes: Axes) -> None:
    """Axes without marks: a frame."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color("#bbbbbb")


def _lines(axes: Axes, lines: Sequence[Series], joined: bool) -> None:
    for number, series in enumerate(lines):
        look: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "marker": MARKERS[number % len(MARKERS)],
            "linestyle": STYLES[number % len(STYLES)] if joined else "none",
        }
        if len(series.x) > DENSE:
            look["markevery"] = len(series.x) // MARKED
        if series.spread:
            axes.errorbar(
                series.x,
                series.y,
                yerr=series.spread,
                label=series.label,
                capsize=2,
                elinewidth=0.7,
                capthick=0.7,
                **look,
            )
        else:
            axes.plot(series.x, series.y, label=series.label, **look)
    if len(lines) > 1:
        axes.legend(loc="best", borderpad=0.3, labelspacing=0.3)


def _steps(axes: Axes, lines: Sequence[Series]) -> None:
    for number, series in enumerate(lines):
        half = (series.x[1] - series.x[0]) / 2 if len(series.x) > 1 else 0.5
        edges = [series.x[0] - half, *(x + half for x in series.x)]
        style: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "linestyle": STYLES[number % len(STYLES)],
        }
        axes.stairs(series.y, edges, label=series.label, linewidth=1.1, **style)
    if lines:
        # Shares are positive; of a damaged record's the axis is left as it is.
        if max(max(series.y) for series in lines) > 0:
            axes.set_ylim(bottom=0)
        axes.legend(loc="best", borderpad=0.3, labelspacing=0.3)


def _boxes(axes: Axes, boxes: Sequence[Box]) -> None:
    if not boxes:
        return
    labels = list(dict.fromkeys(box.label for box in boxes))
    sources = sorted({box.source for box in boxes}, key=lambda source: (source != "ours", source))
    width = 0.8 / len(sources)
    looks: list[dict[str, Any]] = [
        {"facecolor": COLOURS[0], "edgecolor": "#003a5c"},
        {"facecolor": "white", "edgecolor": COLOURS[1], "hatch": "////"},
    ]
    for box in boxes:
        place = sources.index(box.source)
        left = labels.index(box.label) - 0.4 + place * width
        axes.add_patch(
            Rectangle(
                (left + 0.03, box.low),
                width - 0.06,
                box.high - box.low,
                linewidth=0.9,
                **looks[place % 2],
            )
        )
        middle = Line2D(
            [left + 0.03, left + width - 0.03],
            [box.middle] * 2,
            color="white" if place % 2 == 0 else "black",
            linewidth=2,
        )
        axes.add_line(middle)
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_ylim(min(box.low for box in boxes) / 1.5, max(box.high for box in boxes) * 1.5)
    axes.set_xticks(range(len(labels)), labels)
    axes.grid(False, axis="x")
    patches: list[Any] = [
        Patch(label=source, **looks[place % 2]) for place, source in enumerate(sources)
    ]
    axes.legend(handles=patches, loc="upper right", borderpad=0.3)


def _map(axes: Axes, cloud: Cloud) -> None:
    """One path of dots per class, which is small as SVG, and the class's number at its median."""
    x, y, classes = np.array(cloud.x), np.array(cloud.y), np.array(cloud.classes)
    reach = max(np.ptp(x), np.ptp(y), 1e-9)
    middle = ((x.min() + x.max()) / 2, (y.min() + y.max()) / 2)
    window = axes.get_window_extent()
    wide = window.width / window.height
    half = (
        0.53 * max(np.ptp(x), np.ptp(y) * wide, 1e-9),
        0.53 * max(np.ptp(y), np.ptp(x) / wide, 1e-9),
    )
    axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
    axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
    kinds = [int(kind) for kind in np.unique(classes)]
    for kind in kinds:
        here = classes == kind
        colour = "#bbbbbb" if kind == UNKNOWN else CLASS_COLOURS[kind % len(CLASS_COLOURS)]
        ends = np.stack(
            [
                np.stack([x[here], y[here]], axis=1),
                np.stack([x[here] + 1e-5 * reach, y[here]], axis=1),
            ],
            axis=1,
        )
        path = Path(ends.reshape(-1, 2), [Path.MOVETO, Path.LINETO] * int(here.sum()))
        axes.add_patch(
            PathPatch(
                path,
                fill=False,
                edgecolor=colour,
                linewidth=1.7,
                capstyle="round",
                alpha=0.85,
                snap=False,
            )
        )
    for kind in kinds:
        if kind != UNKNOWN:
            here = classes == kind
            place = float(np.median(x[here])), float(np.median(y[here]))
            frame: dict[str, Any] = {
                "boxstyle": "circle,pad=0.15",
                "facecolor": "white",
                "edgecolor": "#333333",
                "linewidth": 0.5,
                "alpha": 0.85,
            }
            axes.text(
                *place,
                str(kind),
                ha="center",
                va="center",
                fontsize=6.5,
                fontweight="bold",
                bbox=frame,
            )
