"""What a figure is: data, which the modules beside this one fill and `drawing` draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gclbench.paper.drawing.panels import FigureContent
from gclbench.paper.sources import Collection

Build = Callable[[Collection, Sequence[str]], FigureContent]
"""(records, datasets asked for, none for the figure's own) → what is shown."""


@dataclass(frozen=True)
class Figure:
    """A figure of a paper.

    Attributes:
        id: `dmat/3`. title: one line. says: one or two sentences on what is to be seen and how ours
            differs from the printed one.
        datasets: the paper's. stand_ins: shown when the paper's has no run, the first that has one;
            for figures of one dataset.
        build: its content. commands: the runs that it needs, of some datasets.
        of_a_table: it is made of a table's cells, so it has no other datasets than that.
    """

    id: str
    title: str
    says: str
    datasets: tuple[str, ...]
    build: Build
    commands: Callable[[Sequence[str]], list[str]]
    stand_ins: tuple[str, ...] = ()
    of_a_table: bool = False

    @property
    def of_one_dataset(self) -> bool:
        """Whether it shows a single dataset."""
        return len(self.datasets) == 1
