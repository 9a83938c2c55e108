"""What a figure shows, before it is drawn: plain numbers and words."""

from __future__ import annotations

from dataclasses import dataclass, field

from gclbench.paper.aggregate import NOT_RUN
from gclbench.records import Record

UNKNOWN = -1
"""The class of a node whose class is not known."""


@dataclass(frozen=True)
class Series:
    """A line, or the outline of a histogram.

    Attributes:
        label: in the legend. x, y: of equal length. spread: standard deviation of y; empty, or as
            long, 0 where there is one run.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] = ()


@dataclass(frozen=True)
class Box:
    """Three quartiles.

    Attributes:
        label: under the box. source: whose numbers they are, as in the legend. low, middle, high:
            quartiles.
    """

    label: str
    source: str
    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Cloud:
    """Places of nodes, and the class of each (`UNKNOWN` where it is not known)."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    classes: tuple[int, ...]


@dataclass(frozen=True)
class Ranks:
    """Average ranks of columns.

    Attributes:
        labels, ranks: of equal length. p_values: Nemenyi's, of every pair. critical: the difference
            of two average ranks from which on they are told apart.
    """

    labels: tuple[str, ...]
    ranks: tuple[float, ...]
    p_values: tuple[tuple[float, ...], ...]
    critical: float


@dataclass(frozen=True)
class PlotPanel:
    """One pair of axes.

    Attributes:
        title: above it. x_label, y_label: beside it.
        series, steps, boxes, cloud, ranks: what is drawn: lines, histograms, boxes, one map, or one
            axis of average ranks. missing: said in their place when there is none.
        x_scale: `linear`, `log`, `symlog`, which is logarithmic from 1 on and has a place for 0, or
            `values`, which puts the values that there are at equal distances. y_log: logarithmic.
        names: words at x = 0, 1, … in place of numbers; points of a series are not joined then.
        alike: panels of the same word here have the same y-axis.
    """

    title: str
    x_label: str = ""
    y_label: str = ""
    series: tuple[Series, ...] = ()
    steps: tuple[Series, ...] = ()
    boxes: tuple[Box, ...] = ()
    cloud: Cloud | None = None
    ranks: Ranks | None = None
    missing: str = NOT_RUN
    x_scale: str = "linear"
    y_log: bool = False
    names: tuple[str, ...] = ()
    alike: str = ""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not (self.series or self.steps or self.boxes or self.cloud or self.ranks)


@dataclass(frozen=True)
class FigureContent:
    """A figure's panels and what they were made from.

    Attributes:
        records: runs behind the panels, whatever their status. files: others than records that were
            read.
        remarks: sentences for the caption.
    """

    panels: tuple[PlotPanel, ...]
    records: tuple[Record, ...] = ()
    files: tuple[str, ...] = ()
    remarks: tuple[str, ...] = field(default=())
