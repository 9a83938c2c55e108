"""The command line: `gclbench [overrides]` runs, otherwise the first word is a verb.

Nothing here imports torch or Hydra before a verb needs it.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from typing import TextIO

VERBS = {
    "list": "what can be chosen: datasets, filters, methods, negatives, tasks",
    "show": "a dataset's page, a composed configuration, or a recorded run",
    "data": "fetch, verify or locate raw files",
    "sweep": "the runs of a paper's table, or of a file",
    "search": "settings chosen without test labels, at one budget for every method",
    "submit": "hand a sweep over and return at once",
    "status": "what a store of records holds, and how far a sweep is",
    "cancel": "end a sweep that was handed over",
    "table": "a table of a paper, from records, beside the printed numbers",
    "compare": "two methods or settings over the same seeds: difference, interval, verdict",
    "embed": "the embedding of a recorded run, or of another graph by its model",
    "figure": "a figure of a paper, from records, as SVG or PNG",
    "report": "every table, figure and cell as one HTML file",
    "export": "records as CSV, Parquet or JSON lines, or packed for sharing",
    "completion": "what the Tab key offers, in bash, zsh and fish",
    "doctor": "what this installation can do, and what is missing",
}

USAGE = """gclbench: reproducible benchmarks of representation learning on attributed graphs

usage: gclbench [KEY=VALUE …]        run an experiment at the paper's settings
       gclbench -m [KEY=A,B …]       run every combination; --dry-run shows what that is
       gclbench VERB …               one of the verbs below; each has --help

examples:
  gclbench                                DMAT-i on scikit-learn's digits, all tasks, no download
  gclbench method=dmat_i dataset=cora     the paper's settings, beside the paper's numbers
  gclbench method=dmat_i dataset=cora task=clustering seeds=10
  gclbench method=dmat_i dataset=acm method.tau=1.0 filter.alpha=0.2
  gclbench -m method=dmat,dmt dataset=cora,acm seeds=3 launcher.workers=4

keys: dataset filter negatives method task seeds device threads precision runs_dir rerun
      time_limit memory_limit checkpoint_every save criterion tracking launcher, and every setting
      of what is chosen, as in method.lr, filter.alpha, task.clustering.n_init, launcher.workers
      (`gclbench show method=NAME dataset=NAME` prints them all with their values)

components of your own: --components FILE.py with any of these, or GCLBENCH_COMPONENTS=FILE.py
                        (docs/extending.md)

verbs:
"""

RUNNING = ("run", "train", "fit")
"""Verbs of other tools that start a run, which needs no verb here."""

INTERRUPTED = 130
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(argv: list[str] | None = None) -> int:
    """Runs a command line; returns the exit code: 0 all well, 1 a run was not, 2 a wrong command,
    130 interrupted."""
    # Of a stream that was closed before the start (`>&-`) Python makes None.
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What a terminal cannot show, such as bytes of a path that are not text, becomes an escape
        # and not an exception.
        sys.stdout.reconfigure(errors="backslashreplace")
    code = 0
    try:
        code = _main(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        words = sys.argv[1:] if argv is None else argv
        records = not words or words[0] not in VERBS or words[0] in ("sweep", "search")
        stays = "; what was recorded stays, the same command goes on from there" * records
        print(f"\ninterrupted{stays}", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        full = error.errno in NO_ROOM and error.filename is None
        if full and error.strerror != os.strerror(error.errno or 0):
            # Not the output's: what has words of its own is told in them (`memory_map`).
            print(f"gclbench: {error.strerror}", file=sys.stderr)
            return 1
        if not (full or isinstance(error, BrokenPipeError)):
            raise
        # What Python would flush at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if full:
            print(f"gclbench: cannot write the output: {error.strerror}", file=sys.stderr)
            return 2
        return code  # the reader of a pipe, such as `head`, has enough


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def _main(arguments: list[str]) -> int:
    from gclbench.component import own_files
    from gclbench.component.own_components import use
    from gclbench.component.registry import RegistryConflict
    from gclbench.component.settings import UnknownAnnotation

    try:
        own_files.settle()
        arguments, places = own_files.taken_out(arguments)
        for place in places:
            use(place)
        first = arguments[0] if arguments else ""
        if first in ("-h", "--help", "help"):
            print(USAGE + "\n".join(f"  {verb:<11}{summary}" for verb, summary in VERBS.items()))
            return 0
        if first == "--version":
            from gclbench.machine.environment import version

            print(f"gclbench {version()}")
            return 0
        if first in VERBS:
            return importlib.import_module(f"gclbench.cli.{first}").main(arguments[1:])
        if first and "=" not in first and not first.startswith(("-", "+", "~")):
            guess = _meant(first, arguments[1:])
            hint = f" Did you mean 'gclbench {guess}'?" if guess else ""
            print(
                f"gclbench: there is no verb '{first}'.{hint} Verbs: {', '.join(VERBS)}. Settings"
                " are KEY=VALUE.",
                file=sys.stderr,
            )
            return 2
        from gclbench.cli import run

        return run.main(arguments)
    except (RegistryConflict, UnknownAnnotation, own_files.OwnFileError) as error:
        print(f"gclbench: {error}", file=sys.stderr)
        return 2


def _meant(word: str, rest: list[str]) -> str | None:
    """What was probably meant by a first word that is no verb: a run without its KEY=, or a
    verb."""
    from gclbench.component.registry import KINDS, kind_of, nearest

    if word == "version":
        return "--version"
    if word in RUNNING:
        settings = any("=" in word for word in rest)
        kept = [word for word in rest if "=" in word or word in ("-m", "--dry-run")]
        return " ".join(kept if settings else ["method=NAME dataset=NAME"])
    values = [word for word in rest if word != "="]
    if word in KINDS and values:
        return f"{word}={values[0]}"
    for name in (word, word.lower().replace("-", "_")):
        kind = kind_of(name)
        if kind is not None:
            return f"{kind}={name}"
    # Not list(VERBS): once its verb has run, `list` is the module gclbench.cli.list here.
    return "figure" if word == "plot" else nearest(word, [*VERBS])
