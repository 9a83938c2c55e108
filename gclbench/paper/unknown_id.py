"""What to say of an id of a table or figure that does not exist."""

from __future__ import annotations

from collections.abc import Sequence

from gclbench.component.registry import nearest


def unknown_id(kind: str, name: str, known: Sequence[str]) -> str:
    """That there is no such table or figure, those of the same paper or number, or the nearest one,
    and all that exist.

    Args:
        kind: `table` or `figure`. known: ids, `PAPER/NUMBER`.
    """
    related = [each for each in known if name and name.lower() in each.split("/")]
    guess = nearest(name, list(known))
    likely = related or ([guess] if guess else [])
    shown = " or ".join(f"'{each}'" for each in likely[:4]) + (", …" if len(likely) > 4 else "")
    hint = f" Did you mean {shown}?" if likely else ""
    return f"there is no {kind} '{name}'.{hint} Known {kind}s: {', '.join(known)}"
