"""What a figure was made from, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gclbench.paper.aggregate import NOT_RUN, SHOWN_STATUS
from gclbench.paper.drawing.panels import FigureContent
from gclbench.paper.figure_definition import Figure
from gclbench.paper.fitted import FITTED, fitted_by
from gclbench.records import STATUSES, Record, flatten


def caption(figure: Figure, content: FigureContent, datasets: Sequence[str] = ()) -> str:
    """One paragraph to go with the title: what is seen, of which runs, at which commits, and what
    is missing; and which settings were chosen after the datasets' own labels had been seen.

    Args:
        datasets: those asked for instead of the figure's own.
    """
    sentences = [figure.says, *content.remarks]
    sources = ([_runs(content.records)] if content.records else []) + list(content.files)
    if sources:
        sentences.append(f"Made from {'; '.join(sources)}.")
    sentences += _fitted(content.records)
    missing = [panel.title for panel in content.panels if panel.empty]
    if missing:
        which = "Nothing of it" if len(missing) == len(content.panels) else ", ".join(missing)
        reasons = sorted({panel.missing for panel in content.panels if panel.empty})
        sentences.append(f"{which}: {', '.join(reasons)}.")
    if any(panel.empty and panel.missing == NOT_RUN for panel in content.panels):
        which = f" --dataset {' '.join(datasets)}" if datasets else ""
        sentences.append(
            f"`gclbench figure {figure.id}{which} --command` prints what would make it."
        )
    return " ".join(sentence.strip() for sentence in sentences)


def _runs(records: Iterable[Record]) -> str:
    """`12 runs of dmat_i, grace (cora; seeds 0–2; 1 OOM; commits abc, def)`."""
    found = list(records)
    statuses = Counter(record.status for record in found if not record.ok)
    parts = [
        ", ".join(sorted({record.name("dataset") for record in found})),
        _seeds({record.seed for record in found}),
        *(
            f"{statuses[status]} {SHOWN_STATUS.get(status, status)}"
            for status in STATUSES
            if statuses[status]
        ),
    ]
    commits = sorted({str(record.environment.get("commit", "unknown")) for record in found})
    parts.append(f"commit{'s' if len(commits) > 1 else ''} {', '.join(commits)}")
    methods = ", ".join(sorted({record.name("method") for record in found}))
    return f"{len(found)} run{'' if len(found) == 1 else 's'} of {methods} ({'; '.join(parts)})"


def _fitted(records: Iterable[Record]) -> list[str]:
    """A sentence that names the datasets with fitted records, and by which choices; none without
    such."""
    choices: dict[str, dict[str, None]] = {}
    for record in records:
        names = fitted_by(flatten(record.spec), (record,))
        if names:
            choices.setdefault(record.name("dataset"), {}).update(dict.fromkeys(names))
    alike: dict[tuple[str, ...], list[str]] = {}
    for dataset in sorted(choices):
        alike.setdefault(tuple(sorted(choices[dataset])), []).append(dataset)
    told = "; ".join(f"{', '.join(found)} ({'; '.join(names)})" for names, found in alike.items())
    return [
        f"{FITTED} settings chosen after the dataset's own labels had been seen (docs/choices.md):"
        f" {told}."
    ] * bool(told)


def _seeds(seeds: set[int]) -> str:
    """`seed 3`, `seeds 0–9`, `seeds 0–2, 7`."""
    spans: list[list[int]] = []
    for seed in sorted(seeds):
        if spans and seed == spans[-1][1] + 1:
            spans[-1][1] = seed
        else:
            spans.append([seed, seed])
    shown = ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in spans)
    return f"seed{'' if len(seeds) == 1 else 's'} {shown}"
