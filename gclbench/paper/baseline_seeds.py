"""Seeds of the baselines on nodes that are recorded, beside those aimed at: the second table of
results/costs.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gclbench.paper.costs import (
    BOUNDS,
    FirstEpochs,
    MethodOnDataset,
    a_seed,
    as_shipped,
    epochs_of,
    in_a_row,
    method_of,
    newest,
)
from gclbench.records import Record
from gclbench.run.estimate import Durations, name_key, spoken

ASKED = {"cora": 10, "citeseer": 10, "pubmed": 3, "amazon_photo": 3, "amazon_computers": 1}
"""Seeds aimed at, by dataset."""

BASELINES = (
    "homogcl",
    "local_gcl",
    "grape",
    "phases",
    "grace_plus",
    "graphcl_nodes",
    "gcn",
    "gat",
    "mlp",
    "label_propagation",
    "chebyshev",
    "jknet",
    "linear",
    "gae",
    "vgae",
    "arga",
    "arvga",
    "dgi method.propagation=diffusion",
)
"""What the papers of NML-GCL and M-Mix compare with, on nodes: a method, and settings of it."""

LARGEST = "coauthor_phy"
"""Where an epoch's memory is measured."""


def section(records: Iterable[Record], first: Mapping[MethodOnDataset, FirstEpochs]) -> str:
    """The table, as Markdown."""
    every = [*records]
    there = newest(every)
    on_processors = newest(record for record in every if not record.on_gpu)
    lines = [
        "## Seeds of the baselines on nodes",
        "",
        (
            "Seeds with a recorded training of the shipped number of epochs, whatever was"
            " evaluated: a table of one task may have fewer. Where they are fewer than aimed at:"
            " how many that is, and what one training takes, as above. Where a row"
            " names settings, only runs at those settings count. The last column: peak GiB of"
            f" a process on {LARGEST}, of one epoch, or of three where one is short, and of all of"
            " a method that has none."
        ),
        "",
        "| method | " + " | ".join(ASKED) + f" | {LARGEST}, GiB |",
        "| --- |" + " ---: |" * (len(ASKED) + 1),
    ]
    for words in BASELINES:
        seeds = _seeds(_of(there, words))
        recorded = Durations.of(_of(on_processors, words), name_key)
        cells = [
            _cell(len(seeds.get(dataset, ())), asked, (words, dataset), recorded, first)
            for dataset, asked in ASKED.items()
        ]
        lines.append(f"| {words} | " + " | ".join([*cells, _memory(words, first)]) + " |")
    return "\n".join(lines) + "\n"


def _of(records: Iterable[Record], words: str) -> list[Record]:
    """The runs of a method as shipped, or with the settings that are named."""
    found = [record for record in records if _is(record, words)]
    return found if method_of(words) != words else as_shipped(found)


def _is(record: Record, words: str) -> bool:
    """Whether a run is of a method, with settings of it."""
    method, *settings = words.split()
    wanted = [setting.removeprefix("method.").partition("=") for setting in settings]
    return record.name("method") == method and all(
        str(record.spec["method"].get(key)) == value for key, _, value in wanted
    )


def _seeds(records: Iterable[Record]) -> dict[str, set[int]]:
    """Of trainings of the shipped number of epochs, by dataset."""
    found: dict[str, set[int]] = {}
    for record in records:
        pair = (record.name("method"), record.name("dataset"))
        if pair[1] in ASKED and record.spec["method"].get("epochs") == epochs_of(pair):
            found.setdefault(pair[1], set()).add(record.seed)
    return found


def _cell(
    count: int,
    asked: int,
    pair: MethodOnDataset,
    recorded: Durations,
    first: Mapping[MethodOnDataset, FirstEpochs],
) -> str:
    if count >= asked:
        return str(count)
    method, dataset = method_of(pair[0]), pair[1]
    begun = {(method, dataset): first[pair]} if pair in first else {}
    seconds, source = a_seed((method, dataset), recorded, begun)
    if seconds is None:
        return f"{count} of {asked}, {in_a_row(source)}"
    bound = "≤ " if source in BOUNDS else ""
    return f"{count} of {asked}, {bound}{spoken(seconds)}"


def _memory(words: str, first: Mapping[MethodOnDataset, FirstEpochs]) -> str:
    begun = first.get((words, LARGEST))
    if begun is None:
        return "not run"
    if begun.memory is None:
        return begun.status
    return f"{begun.memory / 2**30:.1f}" + ("" if begun.status == "ok" else f" ({begun.status})")
