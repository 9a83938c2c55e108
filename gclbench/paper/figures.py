"""Figures of the papers, from records alone.

`FIGURES` holds what there is; `draw`, `svg`, `png`, `caption` and `command` are of one figure,
`write_all` makes the committed files. matplotlib is imported when something is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gclbench.config.suggestion import unknown_id
from gclbench.paper import rank_figures
from gclbench.paper.discovery import papers
from gclbench.paper.drawing import captions
from gclbench.paper.drawing.panels import FigureContent
from gclbench.paper.figure_definition import Figure
from gclbench.paper.sources import Collection
from gclbench.paper.tables import TABLES
from gclbench.records import write_atomically

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.figure import Figure as Canvas

FIGURES: dict[str, Figure] = {
    figure.id: figure
    for paper in papers().values()
    for figure in sorted(paper.figures, key=lambda figure: figure.id)
} | rank_figures.figures()

CAPTIONS = "figures.md"


class UnknownFigure(LookupError):
    """No figure has this id; the text lists those that exist."""


class MissingMatplotlib(ImportError):
    """Figures are drawn with matplotlib; the text says how to get it."""


def find_figure(name: str) -> Figure:
    """The figure with an id.

    Raises:
        UnknownFigure: with the nearest id and all that exist.
    """
    if name in FIGURES:
        return FIGURES[name]
    if name in TABLES:
        raise UnknownFigure(
            f"'{name}' is a table: gclbench table {name}. Known figures: {', '.join(FIGURES)}"
        )
    raise UnknownFigure(unknown_id("figure", name, [*FIGURES]))


def content(figure: Figure, collection: Collection, datasets: Sequence[str] = ()) -> FigureContent:
    """What the figure shows, as plain numbers; panels without records say so.

    Args:
        datasets: those asked for instead of the figure's own.
    """
    return figure.build(collection, tuple(datasets))


def caption(figure: Figure, collection: Collection, datasets: Sequence[str] = ()) -> str:
    """One paragraph: what is seen, and what it was made from."""
    return captions.caption(figure, content(figure, collection, datasets), datasets)


def command(figure: Figure, datasets: Sequence[str] = ()) -> list[str]:
    """The commands whose runs the figure needs."""
    return figure.commands(tuple(datasets) or figure.datasets)


def draw(
    figure: Figure, collection: Collection, datasets: Sequence[str] = (), captioned: bool = False
) -> Canvas:
    """The matplotlib figure.

    Raises:
        MissingMatplotlib: when it is not installed.
    """
    shown = content(figure, collection, datasets)
    return _output().drawn(
        figure.title, shown.panels, captions.caption(figure, shown, datasets) if captioned else ""
    )


def svg(
    figure: Figure, collection: Collection, datasets: Sequence[str] = (), captioned: bool = False
) -> str:
    """An SVG document from `<svg` on, the same bytes for the same records; its ids begin with the
    figure's.

    Args:
        captioned: with the caption below the panels.

    Raises:
        MissingMatplotlib: when it is not installed.
    """
    shown = content(figure, collection, datasets)
    text = captions.caption(figure, shown, datasets) if captioned else ""
    return _output().svg(stem(figure), figure.title, shown.panels, text)


def png(
    figure: Figure, collection: Collection, datasets: Sequence[str] = (), captioned: bool = False
) -> bytes:
    """A PNG, the same bytes for the same records on one machine.

    Raises:
        MissingMatplotlib: when it is not installed.
    """
    shown = content(figure, collection, datasets)
    return _output().png(
        figure.title, shown.panels, captions.caption(figure, shown, datasets) if captioned else ""
    )


def stem(figure: Figure) -> str:
    """`dmat-3`."""
    return figure.id.replace("/", "-")


def files(collection: Collection) -> dict[str, bytes]:
    """Name to content of every committed file: an SVG per figure, and their captions as Markdown.

    Raises:
        MissingMatplotlib: when it is not installed.
    """
    made: dict[str, bytes] = {}
    lines = ["# Figures", ""]
    for figure in FIGURES.values():
        shown = content(figure, collection)
        text = captions.caption(figure, shown)
        made[f"{stem(figure)}.svg"] = (
            _output().svg(stem(figure), figure.title, shown.panels, text).encode()
        )
        lines += [f"## {figure.id}", "", f"![{figure.title}]({stem(figure)}.svg)", "", text, ""]
        lines += ["```", *command(figure), "```", ""]
    made[CAPTIONS] = "\n".join(lines).encode()
    return made


def write_all(collection: Collection, folder: Path) -> list[Path]:
    """Writes `files` into a folder; the paths.

    Raises:
        MissingMatplotlib: when it is not installed.
        OSError: when a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, data in files(collection).items():
        write_atomically(folder / name, data)
        paths.append(folder / name)
    return paths


def _output() -> ModuleType:
    try:
        from gclbench.paper.drawing import output as module
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise MissingMatplotlib(
            "figures are drawn with matplotlib, which is not installed;"
            " pip install 'matplotlib>=3.8'"
        ) from error
    return module
