"""A page per cell: the runs behind it, their settings, environment, cost, and the command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gclbench.paper.filled_table import DAGGER, Comparison, Entry
from gclbench.paper.fitted import FITTED
from gclbench.paper.gains import CONTROLS
from gclbench.paper.measure import finite_number
from gclbench.paper.report import grids, quantities
from gclbench.paper.report.markup import Anchors, Markup, element, join, lines
from gclbench.records import Record, flatten

TEXTS = ("status", "run", "verdict")
"""Headings of columns that hold words."""


LISTED = 20
"""Runs of a cell that are listed; all that are not ok are."""


@dataclass(frozen=True)
class Page:
    """What a dataset and column of a table have in common: all their metrics are of the same runs.

    Attributes:
        entries: those of the metrics shown, in order. anchor: the page's id.
    """

    comparison: Comparison
    dataset: str
    column: str
    entries: tuple[Entry, ...]
    anchor: str

    @property
    def records(self) -> tuple[Record, ...]:
        """The runs behind the page, by seed."""
        return self.entries[0].records

    @property
    def title(self) -> str:
        return f"{self.column} on {self.dataset}"


def pages(comparison: Comparison, anchors: Anchors) -> Iterator[Page]:
    """The pages of a table, of the cells that have runs."""
    for block in comparison.blocks:
        for column in block.columns:
            entries = tuple(block.entries[metric, column] for metric in comparison.metrics)
            if entries and entries[0].records:
                anchor = grids.page_anchor(comparison, block.dataset, column, anchors)
                yield Page(comparison, block.dataset, column, entries, anchor)


def article(page: Page, anchors: Anchors) -> Markup:
    """The page as an article, complete without scripts."""
    definition = page.comparison.definition
    table = anchors.of("table", definition.id)
    return element(
        "article",
        "\n",
        lines(
            element(
                "p",
                element("a", "← ", definition.id, href=f"#{table}"),
                " ",
                definition.title,
                class_="crumbs",
            ),
            element("h3", page.title, tabindex="-1"),
            _values(page),
            _gains(page),
            _rivals(page),
            _departures(page),
            _fitted(page),
            _commands(page),
            _runs(page),
            _cost(page.records),
            _settings(page.records),
            _environment(page.records),
        ),
        id=page.anchor,
        class_="cell",
    )


def _values(page: Page) -> Markup:
    """Ours beside the paper's, a row per metric."""
    rows = []
    for entry in page.entries:
        sign, outcome = grids.shown_mark(entry), entry.outcome
        cells = (
            entry.ours.show(entry.factor),
            entry.show_printed(),
            entry.show_difference(),
            "" if entry.p_value is None else f"{entry.p_value:.2g}",
            "" if outcome is None else f"{outcome.p_equivalence:.2g}",
            "" if outcome is None else f"{entry.factor * outcome.margin:.2g}",
            "" if outcome is None else f"{entry.factor * outcome.detectable:.2g}",
        )
        meaning = grids.meaning_of(entry)
        rows.append(
            element(
                "tr",
                element("th", entry.metric, scope="row"),
                [element("td", cell) for cell in cells],
                element("td", join(sign, " ", meaning) if sign else meaning, class_="text"),
            )
        )
    head = ("metric", "ours (n)", "paper", "difference")
    tests = ("p of no difference (Holm)", "p of equivalence", "margin", "detectable difference")
    return _table("ours beside the paper's", (*head, *tests, "verdict"), rows)


def _gains(page: Page) -> Markup | None:
    """Ours over the controls, a row per metric."""
    if not any(entry.gains for entry in page.entries):
        return None
    rows = []
    for entry in page.entries:
        found = {gain.control: gain.show(entry.factor) for gain in entry.gains}
        cells = [element("td", found.get(control, "")) for control in CONTROLS]
        rows.append(element("tr", element("th", entry.metric, scope="row"), cells))
    return _table("gain over controls (seeds)", ("metric", *CONTROLS), rows)


def _rivals(page: Page) -> Markup | None:
    """An added row minus every other column, a column per metric."""
    found = {
        (rival.column, rival.metric): rival
        for rival in page.comparison.rivals
        if (rival.dataset, rival.own) == (page.dataset, page.column)
    }
    if not found:
        return None
    metrics = dict.fromkeys(metric for _, metric in found)
    factors = {entry.metric: entry.factor for entry in page.entries}
    rows = []
    for column in dict.fromkeys(column for column, _ in found):
        cells = [
            element("td", found[column, metric].show(factors[metric]))
            if (column, metric) in found
            else element("td")
            for metric in metrics
        ]
        rows.append(element("tr", element("th", column, scope="row"), cells))
    return _table(f"{page.column} minus the other columns (seeds)", ("column", *metrics), rows)


def _fitted(page: Page) -> Markup | None:
    """The choices that were made after the cell's own labels had been seen."""
    names = dict.fromkeys(name for entry in page.entries for name in entry.fitted)
    if not names:
        return None
    told = f"{FITTED} Chosen after these labels had been seen: {'; '.join(names)}."
    return element("p", told, class_="note")


def _departures(page: Page) -> Markup | None:
    """What the table says of these runs: where they depart from the paper's settings."""
    if all(entry.faithful for entry in page.entries):
        return None
    said = [
        note for note in page.comparison.notes if note.startswith(f"{page.dataset}: {page.column} ")
    ]
    return element(
        "p", f"{DAGGER} ", " ".join(said) or "Not at the paper's settings.", class_="note"
    )


def _commands(page: Page) -> Markup | None:
    """What makes the cell, and what repeats one run of it."""
    once = next((record.command for record in page.records if record.command), "")
    lines_ = [line for line in (page.entries[0].command, once) if line]
    if not lines_:
        return None
    return element(
        "pre",
        element("code", "\n".join(dict.fromkeys(lines_))),
        aria_label="commands that make this cell, and one of its runs",
    )


def _runs(page: Page) -> Markup:
    """A row per run: seed, values, status, seconds, memory, id; the first ones, and what failed."""
    metrics = [entry.metric for entry in page.entries]
    listed = [
        record for place, record in enumerate(page.records) if place < LISTED or not record.ok
    ]
    rows = [_run(page, record) for record in listed]
    head = ("seed", *metrics, "status", "training", "all phases", "memory", "run")
    more = len(page.records) - len(listed)
    told = f", {more} of them ok and not listed here (`gclbench export` does)" if more else ""
    return _table(quantities.count(len(page.records), "run") + told, head, rows, sortable=True)


def _run(page: Page, record: Record) -> Markup:
    cells = []
    for entry in page.entries:
        value = entry.ours.values.get(record.seed)
        if value is None:
            why = next(
                (reason for reason, seeds in entry.ours.absent.items() if record.seed in seeds), ""
            )
            cells.append(element("td", "" if why == record.status else why))
        else:
            cells.append(element("td", f"{entry.factor * value:.2f}"))
    fit, everything = record.seconds.get("fit"), quantities.total(record.seconds.values())
    peak = record.memory.get("gpu_allocated", record.memory.get("rss_peak"))
    costs = (
        (fit, quantities.seconds(fit)),
        (everything, quantities.seconds(everything)),
        (peak, quantities.memory(peak)),
    )
    return element(
        "tr",
        element("th", record.seed, scope="row"),
        cells,
        element("td", _status(record), class_="text" if record.ok else "words"),
        [element("td", shown, data_value=_plain(value)) for value, shown in costs],
        element("td", element("code", record.id), class_="text"),
    )


def _plain(value: object) -> str | None:
    found = finite_number(value)
    return None if found is None else f"{found:.6g}"


def _status(record: Record) -> Markup:
    if record.ok:
        return join("ok")
    return join(
        element("span", record.status, class_="below"),
        f": {record.reason}" if record.reason else None,
        element("details", element("summary", "traceback"), element("pre", record.traceback))
        if record.traceback
        else None,
    )


def _cost(records: Sequence[Record]) -> Markup:
    """What the runs took together."""
    fits = quantities.numbers(record.seconds.get("fit") for record in records)
    total = quantities.total(value for record in records for value in record.seconds.values())
    pairs = {}
    if total is not None:
        pairs["all phases of all runs"] = quantities.seconds(total)
    if fits:
        pairs["training, mean of a run"] = quantities.seconds(sum(fits) / len(fits))
    for key, name in (
        ("rss_peak", "peak memory of the process"),
        ("gpu_allocated", "peak memory of the GPU"),
    ):
        peaks = quantities.numbers(record.memory.get(key) for record in records)
        if peaks:
            pairs[name] = quantities.memory(max(peaks))
    devices = dict.fromkeys(record.device for record in records if record.device)
    if devices:
        pairs["device"] = "; ".join(devices)
    shared = dict.fromkeys(str(phase) for record in records for phase in record.shared)
    if shared:
        pairs["shared with other tasks"] = ", ".join(shared)
    return element("dl", _pairs(pairs), class_="pairs", aria_label="cost")


def _settings(records: Sequence[Record]) -> Markup:
    """Once for all runs: they differ in their seeds only."""
    spec = {key: value for key, value in records[0].spec.items() if key != "seed"}
    pairs = {key: quantities.setting(value) for key, value in flatten(spec).items()}
    for key, values in _collected(record.split for record in records).items():
        if key != "hash":
            pairs[f"split.{key}"] = values
    repairs = dict.fromkeys(str(repair) for record in records for repair in record.repairs)
    if repairs:
        pairs["repairs of the graph"] = " ".join(repairs)
    return element(
        "details",
        element("summary", "Settings of all runs"),
        _listing(pairs),
    )


def _environment(records: Sequence[Record]) -> Markup | None:
    """Where the runs differ, each value with how many runs have it."""
    pairs = _collected(record.environment for record in records)
    if not pairs:
        return None
    return element("details", element("summary", "Environment"), _listing(pairs))


def _listing(pairs: Mapping[str, str]) -> Markup:
    """A line per setting; markup around each would make half of the file."""
    return element("pre", "\n".join(f"{key} {value}" for key, value in pairs.items()))


def _collected(mappings: Iterator[object] | Sequence[object]) -> dict[str, str]:
    """Key to its value, or to its values with how often each is there."""
    counts: dict[str, Counter[str]] = {}
    for mapping in mappings:
        if isinstance(mapping, dict):
            for key, value in mapping.items():
                counts.setdefault(str(key), Counter())[str(value)] += 1
    return {
        key: next(iter(found))
        if len(found) == 1
        else ", ".join(f"{value} (×{found[value]})" for value in sorted(found))
        for key, found in counts.items()
    }


def _pairs(pairs: dict[str, str]) -> list[Markup]:
    return [
        element("div", element("dt", key), element("dd", value)) for key, value in pairs.items()
    ]


def _table(caption: str, head: Sequence[str], rows: list[Markup], sortable: bool = False) -> Markup:
    sorts = ("text" if name in TEXTS else "number" for name in head)
    cells = [
        element(
            "th",
            name,
            scope="col",
            data_sort=sort if sortable else None,
            class_="text" if name in TEXTS else None,
        )
        if name
        else element("td")
        for name, sort in zip(head, sorts, strict=True)
    ]
    table = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", cells)),
        element("tbody", lines(*rows)),
        class_="sortable" if sortable else None,
    )
    return element("div", table, class_="scroll", role="region", aria_label=caption, tabindex="0")
