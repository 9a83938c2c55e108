"""`gclbench figure`: a figure of a paper, from records."""

from __future__ import annotations

import sys
from pathlib import Path

from gclbench.cli.parser import Parser, id_first, output_file, unwritable_output
from gclbench.machine import messages
from gclbench.records import deliver

EXAMPLES = """examples:
  gclbench figure                                  the ids
  gclbench figure dmat/3                           dmat-3.svg, from results/ and runs/
  gclbench figure dmat/4 --dataset cora --output training.png
  gclbench figure dmat/5 --runs results /scratch/runs
  gclbench figure ranks/dmat-1                     average ranks of the columns of dmat/1
  gclbench figure nml/4 --command                  what has to be run for it
  gclbench figure curve 3f2a 77b0                  the loss of runs of your own, by their ids

`gclbench figure curve --help` has the options of a curve. A figure without --runs is drawn from
results/ and runs/ of the current folder, those that exist.
"""

FORMATS = (".svg", ".png")


def main(argv: list[str]) -> int:
    """Exit code 0 when the figure was drawn, panels without runs included; 2 for a command that is
    wrong."""
    if argv[:1] == ["curve"]:
        from gclbench.cli import curve

        return curve.draw(argv[1:])
    parser = Parser(
        "figure",
        "Draws a paper's figure from records, without training anything; what was not run says so"
        " in its place.",
        EXAMPLES,
        one="an ID is one word, such as dmat/3",
    )
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="such as dmat/3; without it the ids are listed"
    )
    parser.add_argument(
        "--runs",
        nargs="+",
        action="extend",
        metavar="DIR",
        help="folders of records (default: results and runs)",
    )
    parser.add_argument(
        "--output",
        type=output_file,
        metavar="FILE",
        help="FILE.svg or FILE.png (default: the id, as in dmat-3.svg)",
    )
    parser.add_argument(
        "--dataset",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="these datasets instead of the figure's own; some figures are of one dataset",
    )
    parser.add_argument(
        "--command",
        action="store_true",
        help="print the commands whose runs the figure needs; draw nothing",
    )
    options = parser.parse_args(argv)
    messages.set_up()

    from gclbench.component.registry import DATASETS, UnknownName
    from gclbench.paper import figures
    from gclbench.paper.sources import MissingStore, collect

    if options.id is None:
        if argv:
            parser.error(id_first("figure", argv, figures.FIGURES))
        width = max(map(len, figures.FIGURES)) + 2
        for name, figure in figures.FIGURES.items():
            print(f"{name:<{width}}{figure.title}")
        return 0
    try:
        figure = figures.find_figure(options.id)
        for name in options.dataset:
            DATASETS.check(name)
    except (figures.UnknownFigure, UnknownName) as error:
        return _wrong(str(error))
    if figure.of_one_dataset and len(options.dataset) > 1:
        return _wrong(
            f"figure {figure.id} shows one dataset, and {len(options.dataset)} were named;"
            " give one --dataset"
        )
    if (
        figure.of_one_dataset
        and not figure.stand_ins
        and not {*options.dataset} <= {*figure.datasets}
    ):
        return _wrong(f"figure {figure.id} shows {figure.datasets[0]} only; leave --dataset out")
    others = [name for name in options.dataset if name not in figure.datasets]
    if others and figure.of_a_table:
        return _wrong(
            f"figure {figure.id} has no dataset '{others[0]}'; it has {', '.join(figure.datasets)}"
        )
    if options.command:
        lines = "".join(f"{line}\n" for line in figures.command(figure, options.dataset))
        if options.output is None:
            print(lines, end="")
            return 0
        try:
            made = deliver(options.output, lines.encode())
        except OSError as error:
            return _wrong(unwritable_output(options.output, error))
        print(f"wrote {options.output}{made}")
        return 0
    output = options.output or Path(f"{figures.stem(figure)}.svg")
    if output.suffix not in FORMATS:
        return _wrong(
            f"a figure is written as .svg or .png, not '{output.suffix or output.name}'; name such"
            " a file with --output"
        )
    try:
        collection = collect(options.runs)
        if output.suffix == ".svg":
            data = figures.svg(figure, collection, options.dataset, captioned=True).encode()
        else:
            data = figures.png(figure, collection, options.dataset, captioned=True)
        made = deliver(output, data)
    except (MissingStore, figures.MissingMatplotlib) as error:
        return _wrong(str(error))
    except OSError as error:
        return _wrong(unwritable_output(output, error))
    print(f"wrote {output}{made}\n\n{figures.caption(figure, collection, options.dataset)}")
    return 0


def _wrong(text: str) -> int:
    print(f"gclbench figure: {text}", file=sys.stderr)
    return 2
