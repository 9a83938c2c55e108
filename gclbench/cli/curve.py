"""`gclbench figure curve`: the loss of recorded runs over their training."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gclbench.cli.parser import Parser, output_file, unwritable_output
from gclbench.machine import messages
from gclbench.records import deliver

if TYPE_CHECKING:
    from gclbench.paper.drawing.panels import PlotPanel
    from gclbench.records import Record

EXAMPLES = """examples:
  gclbench figure curve 3f2a                          the loss of a run: curve.svg
  gclbench figure curve 3f2a 77b0 --output loss.png   two runs, or the mean over the seeds of one
  gclbench figure curve 3f2a 77b0 --log               on a logarithmic scale

Runs that differ in nothing but their seed are one line, their mean.
"""

FORMATS = (".svg", ".png")


def draw(argv: list[str]) -> int:
    """Exit code 0 when the figure was drawn, 2 for a command that is wrong."""
    parser = Parser("figure curve", "Draws the loss of recorded runs.", EXAMPLES)
    parser.add_argument("ids", nargs="+", metavar="RUN", help="the start of a run's id")
    parser.add_argument(
        "--runs", nargs="+", action="extend", metavar="DIR", help="stores (default: runs, results)"
    )
    parser.add_argument("--output", type=output_file, metavar="FILE", default=Path("curve.svg"))
    parser.add_argument("--log", action="store_true", help="a logarithmic scale for the loss")
    options = parser.parse_args(argv)
    messages.set_up()
    if options.output.suffix not in FORMATS:
        return _wrong(f"a figure is written as .svg or .png, not '{options.output.name}'")

    from gclbench.paper.drawing.panels import PlotPanel
    from gclbench.paper.sources import MissingStore, collect
    from gclbench.paper.training_curves import curves

    folders = [name for name in ("runs", "results") if Path(name).is_dir()]
    try:
        where = options.runs or folders
        records = _chosen(collect(where).records, options.ids, where)
        series = curves(records)
        if options.log and any(value <= 0 for line in series for value in line.y):
            raise LookupError("a loss that is not positive has no logarithm; leave --log out")
        panel = PlotPanel("loss", "iteration", "loss", series=series, y_log=options.log)
        data = _drawn(panel, options.output.suffix)
        made = deliver(options.output, data)
    except (MissingStore, LookupError) as error:
        return _wrong(str(error))
    except OSError as error:
        return _wrong(unwritable_output(options.output, error))
    runs, lines = (messages.counted(len(records), "run"), messages.counted(len(series), "line"))
    print(f"wrote {options.output}{made}: {runs} in {lines}")
    return 0


def _drawn(panel: PlotPanel, suffix: str) -> bytes:
    from gclbench.paper.drawing.output import png, svg

    if suffix == ".svg":
        return svg("curve", "Training", [panel], "").encode()
    return png("Training", [panel], "")


def _chosen(
    records: Sequence[Record], prefixes: Sequence[str], where: Sequence[str]
) -> list[Record]:
    """The records that the starts of ids name.

    Args:
        where: the stores that they are of.

    Raises:
        LookupError: for a start of no id, or of several.
    """
    found: dict[str, Record] = {}
    for prefix in prefixes:
        own = [record for record in records if record.id.startswith(prefix)]
        if len(own) != 1:
            several = f"{len(own)} runs start with" if own else "no recorded run starts with"
            stores = f" --runs {shlex.join(where)}" if where else ""
            raise LookupError(
                f"{several} '{prefix}'; `gclbench export{stores} --format csv` lists the ids"
            )
        found[own[0].id] = own[0]
    return list(found.values())


def _wrong(text: str) -> int:
    print(f"gclbench figure curve: {text}", file=sys.stderr)
    return 2
