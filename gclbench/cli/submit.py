"""`gclbench submit`: hands a sweep over and returns at once."""

from __future__ import annotations

from gclbench.cli.parser import Parser

EXAMPLES = """examples:
  gclbench submit -m method=dmat_i,grace dataset=cora,acm seeds=10    in the background here
  gclbench submit -m method=dmat_i dataset=cora,acm seeds=10 launcher.workers=4
  gclbench submit -m method=dmat_i dataset=cora,acm seeds=10 launcher=slurm launcher.partition=gpu
  gclbench submit --dry-run -m method=dmat_i dataset=cora,acm seeds=10    what it would be
  gclbench submit sweep table=dmat/1 launcher=slurm                   the runs of a paper's table
  gclbench submit sweep runs.yaml launcher=slurm                      the runs of a file

launcher=local, the default, runs them in the background of this machine, also after you log out.
`gclbench show launcher=slurm` prints the settings of a launcher. `gclbench submit sweep …` takes
what `gclbench sweep` takes, and no -m and no --config-dir.

It prints the sweep's id; `gclbench status ID` shows it, `gclbench cancel ID` ends it. What is
recorded is not run again.
"""


def main(argv: list[str]) -> int:
    """Exit code 0 when the sweep is handed over or has nothing left to run, 1 when it cannot be, 2
    for a command that is wrong."""
    if argv[:1] == ["sweep"]:
        from gclbench.cli import sweep

        return sweep.main(argv[1:], detached=True)
    from gclbench.cli.run import arguments, compose

    parser = Parser(
        "submit",
        "Hands a sweep over to launcher=local, slurm or ray and returns at once.",
        EXAMPLES,
        settings=True,
    )
    return compose(arguments(parser, argv), ["submit", *argv], detached=True)
