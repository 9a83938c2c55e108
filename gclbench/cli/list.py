"""`gclbench list [KIND]`."""

from __future__ import annotations

import sys

from gclbench.cli.parser import Parser
from gclbench.component.registry import KINDS, nearest

PLURALS = {"datasets": "dataset", "filters": "filter", "methods": "method", "tasks": "task"}

EXAMPLES = """examples:
  gclbench list              everything
  gclbench list methods      one kind: datasets, filters, methods, negatives, tasks
"""


def main(argv: list[str]) -> int:
    parser = Parser("list", "What can be chosen.", EXAMPLES)
    parser.add_argument("kind", nargs="?", help="datasets, filters, methods, negatives or tasks")
    asked = parser.parse_args(argv).kind
    if asked is None:
        kinds = list(KINDS)
    else:
        kind = PLURALS.get(asked, asked)
        if kind not in KINDS:
            guess = nearest(asked, [*PLURALS, "negatives"])
            hint = f" Did you mean '{guess}'?" if guess else ""
            print(
                f"gclbench list: there is no kind '{asked}'.{hint} Kinds: datasets, filters,"
                " methods, negatives, tasks",
                file=sys.stderr,
            )
            return 2
        kinds = [kind]
    for index, kind in enumerate(kinds):
        if len(kinds) > 1:
            print(("" if index == 0 else "\n") + f"{kind}=")
        entries = KINDS[kind].entries
        width = max((len(name) for name in entries), default=0)
        for name in KINDS[kind].names():
            print(f"  {name:<{width}}  {entries[name].summary}")
    return 0
