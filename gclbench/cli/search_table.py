"""The table of a search: how much the criterion depends on the settings."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gclbench.cli.parser import unwritable_output

if TYPE_CHECKING:
    from gclbench.launch.search import Study

HEADINGS = (
    "dataset",
    "method",
    "criterion",
    "tried",
    "valued",
    "own",
    "mean",
    "std",
    "worst",
    "best",
    "chosen",
    "trouble",
)


def row(study: Study, criterion: str) -> dict[str, Any]:
    """A line of the table of sensitivities; numbers as they are."""
    troubles = [trial.trouble for trial in study.trials if trial.trouble]
    return {
        "dataset": study.dataset,
        "method": study.method,
        "criterion": criterion,
        **study.sensitivity(),
        "chosen": "" if study.chosen is None else " ".join(study.chosen.words) or "its own setting",
        "trouble": ", ".join(f"{troubles.count(text)} {text}" for text in dict.fromkeys(troubles)),
    }


def show(rows: Sequence[Mapping[str, Any]], own: Mapping[str, str]) -> None:
    """Prints the table, and what the search was."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    table = Table(
        box=box.SIMPLE,
        title=Text(f"{own['criterion']} of the settings that were tried"),
        title_justify="left",
    )
    for heading in HEADINGS:
        number = heading in ("tried", "valued", "own", "mean", "std", "worst", "best")
        table.add_column(heading, justify="right" if number else "left")
    for line in rows:
        table.add_row(*(Text(_shown(line[heading])) for heading in HEADINGS))
    console.print(table)
    print(
        f"budget {own['budget']} settings for every method, its own included; {own['sampler']}"
        f" sampler, seed {own['search_seed']}; mean, std, worst and best are over the sampled ones"
    )
    if own["criterion"] == "loss":
        print("a setting that enters the loss, such as tau, changes its scale (docs/search.md)")


def reasons(study: Study) -> list[str]:
    """A line for each trouble of a study's trials: of how many, and why the first of them."""
    first: dict[str, str] = {}
    for trial in study.trials:
        if trial.reason:
            first.setdefault(trial.trouble, trial.reason)
    troubles = [trial.trouble for trial in study.trials]
    return [
        f"{study.method} on {study.dataset}: {troubles.count(trouble)} {trouble},"
        f" the first is {reason}"
        for trouble, reason in first.items()
    ]


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def write(rows: Sequence[Mapping[str, Any]], path: Path) -> bool:
    """The table as CSV, numbers in full; whether it could be written."""
    from gclbench.records import deliver

    file = io.StringIO()
    writer = csv.DictWriter(file, HEADINGS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    try:
        made = deliver(path, file.getvalue().encode())
        print(f"wrote {path}{made}")
    except OSError as error:
        print(f"gclbench: {unwritable_output(path, error)}", file=sys.stderr)
        return False
    return True
