"""The numbers the papers print, under this project's names (`reference.csv`, one row per printed
cell)."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gclbench.paper.metrics import find_metric

CSV = Path(__file__).with_name("reference.csv")

PAPERS = {"000": "dmat", "001": "mmix_iclr", "002": "mmix", "003": "nml"}
"""Keys of the CSV to ours: DMAT-i, M-Mix (ICLR submission), M-Mix (KDD 2022), NML-GCL (IJCAI
2025)."""

OWN_PAPERS = {
    "dmt": ("dmat",),
    "dmat": ("dmat",),
    "dmat_i": ("dmat",),
    "mmix_mo": ("mmix", "mmix_iclr"),
    "mmix_mp": ("mmix", "mmix_iclr"),
    "mmix_grace": ("mmix", "mmix_iclr"),
    "nml_gcl": ("nml",),
}
"""The papers that introduce a method, preferred over those that quote it."""

CITATION_GRAPHS = ("cora", "citeseer", "pubmed")

TASKS = {
    "node clustering": "clustering",
    "node classification": "classification",
    "node classification (ablation)": "classification_ablation",
    "link prediction": "link_prediction",
    "graph classification": "graph_classification",
    "graph classification (ablation)": "graph_classification_ablation",
    "graph edit distance similarity": "similarity",
}

DATASETS = {
    "photo": "amazon_photo",
    "computers": "amazon_computers",
    "imdb_bin": "imdb_binary",
    "imdb_mul": "imdb_multi",
}

# Printed name -> (our name, variant). A variant tells apart several printed rows of one method.
METHODS = {
    "DMT (embedding from labelled 10%)": ("dmt", ""),
    "DMAT (embedding from labelled 10%)": ("dmat", ""),
    "DMAT-i (embedding from labelled 10% nodes, labels unused)": ("dmat_i", "train_on=labelled"),
    "DMAT-i (embedding from all data, unlabelled)": ("dmat_i", "train_on=all"),
    "MVGRL+mo-mix": ("mmix_mo", ""),
    "MVGRL+mp-mix": ("mmix_mp", ""),
    "MVGRL+mp-mix w/o div": ("mmix_mp_without_diversity", ""),
    "GRACE+": ("grace_plus", ""),
    "GRACE+mp-mix": ("mmix_grace", ""),
    "NML-GCL w/o M (m_ij = 1/N)": ("nml_gcl_without_metric", ""),
    "NML-GCL repl. cosine sim.": ("nml_gcl_cosine", ""),
}
VARIANT = re.compile(r"^(?P<name>DGI|GraphCL|GRACE|MVGRL)†? \((?P<variant>.+)\)$")

# How many runs a printed spread is over. Where 000 does not say (its Tables 2 and 3) METHODS.md
# decides on ten.
RUNS = {
    ("dmat", "1"): 10,
    ("dmat", "2"): 10,
    ("dmat", "3"): 10,
    ("mmix", "3"): 5,
    ("mmix_iclr", "2"): 5,
    ("nml", "1"): 10,
}
ASSUMED_RUNS = {("dmat", "2"), ("dmat", "3")}

# Printed hyper-parameter (000 Table 8) -> the key of a run's settings that holds it.
SETTINGS = {
    "n_epochs": "method.epochs",
    "learning_rate": "method.lr",
    "architecture": "method.architecture",
    "tau": "method.tau",
    "mask_fraction": "method.mask_fraction",
    "view_num": "method.views",
    "weight_decay": "method.weight_decay",
    "batch_size": "method.batch_size",
    "alpha": "filter.alpha",
    "r_max": "filter.r_max",
    "rrz": "filter.rrz",
}


@dataclass(frozen=True)
class PrintedValue:
    """One cell of a paper's table.

    Attributes:
        paper, table: our key of the paper and the table's number as printed.
        task, dataset, method, metric: this project's names. variant: which of several printed rows
            of the method.
        protocol: the split of a classification value; None for other tasks.
        mean, std: fractions where the paper prints percent or fractions, else as printed; None
            where nothing is printed or legible.
        scale: how it is printed: `percent`, `fraction`, `seconds` or `none` (a number without unit,
            or no number).
        runs: number of runs behind the spread, None where unknown. note: remarks of TABLES.md.
        doubtful: TABLES.md doubts the cell. text: the mean as printed.
    """

    paper: str
    table: str
    task: str
    dataset: str
    method: str
    variant: str
    metric: str
    protocol: str | None
    mean: float | None
    std: float | None
    scale: str
    runs: int | None
    note: str
    doubtful: bool
    text: str

    @property
    def source(self) -> str:
        """`dmat Table 1`."""
        return f"{self.paper} Table {self.table}"

    def relative_to(self, base: PrintedValue | None) -> PrintedValue | None:
        """This number divided by another printed one of the same dataset, two decimals, without a
        spread; None where either is missing."""
        if self.mean is None or base is None or not base.mean:
            return None
        ratio = self.mean / base.mean
        return replace(
            self,
            mean=ratio,
            std=None,
            scale="none",
            runs=None,
            text=f"{ratio:.2f}",
            variant=f"per {base.method}",
        )

    def show(self) -> str:
        """As the paper prints it, fractions as percent: `70.57 ± 1.28`, `*` not converged, `(?)`
        doubtful.

        `–` is printed as missing, `?` is not legible in the text we have.
        """
        if self.scale == "none" and self.text and self.std is None:
            return f"{'*' * self.note.startswith('asterisk')}{self.text}{' (?)' * self.doubtful}"
        if self.mean is None:
            return (
                "OOM"
                if self.note.startswith("out of memory")
                else "–"
                if self.note.startswith("printed as missing")
                else "?"
            )
        digits = len(self.text.partition(".")[2])
        factor = 1.0
        if self.scale in ("percent", "fraction"):
            factor = 100.0
            digits = max(digits - 2, 0) if self.scale == "fraction" else digits
        spread = "" if self.std is None else f" ± {factor * self.std:.{digits}f}"
        return f"{'*' * self.note.startswith('asterisk')}{factor * self.mean:.{digits}f}{spread}{' (?)' * self.doubtful}"


@functools.cache
def printed_values() -> tuple[PrintedValue, ...]:
    """Every row of `reference.csv`, in its order."""
    with CSV.open(encoding="utf-8", newline="") as file:
        return tuple(_value(row) for row in csv.DictReader(file))


def printed(
    dataset: str,
    method: str,
    task: str,
    metric: str,
    protocol: str | None = None,
    *,
    paper: str | None = None,
    table: str | None = None,
) -> list[PrintedValue]:
    """The printed values of one number, the method's own paper first.

    Args:
        dataset, method, task, metric: this project's names.
        protocol: the split of a classification; values under another one are left out. None keeps
            all.
        paper, table: only values of that paper and table.

    Returns:
        Values sorted by: own paper, legible, not doubted, plain or reproduced before quoted; empty
            where nothing is printed.
    """
    found = [
        value
        for value in _by_name().get((dataset, method, task, metric), ())
        if (protocol is None or value.protocol in (None, protocol))
        and paper in (None, value.paper)
        and table in (None, value.table)
    ]
    return sorted(found, key=lambda value: preference(value, method))


def preference(value: PrintedValue, method: str) -> tuple[int, bool, bool, bool, int]:
    """Sorts printed values for runs of a method: own paper, legible, not doubted, plain or
    reproduced before quoted, later papers."""
    own = OWN_PAPERS.get(method, ())
    place = own.index(value.paper) if value.paper in own else len(own)
    return (
        place,
        value.mean is None,
        value.doubtful,
        value.variant == "as published",
        -[*PAPERS.values()].index(value.paper),
    )


@functools.cache
def printed_settings(dataset: str) -> Mapping[str, Any]:
    """The hyper-parameters of DMT, DMAT and DMAT-i (000 Table 8) as `{"method.epochs": 300, …}`;
    empty for other datasets."""
    settings: dict[str, Any] = {}
    for value in printed_values():
        if (value.paper, value.table, value.dataset) == ("dmat", "8", dataset):
            widths = (
                [int(width) for width in value.text.split("-")]
                if value.metric == "architecture"
                else value.mean
            )
            settings[SETTINGS[value.metric]] = widths
    return settings


@functools.cache
def _by_name() -> dict[tuple[str, str, str, str], list[PrintedValue]]:
    found: dict[tuple[str, str, str, str], list[PrintedValue]] = {}
    for value in printed_values():
        found.setdefault((value.dataset, value.method, value.task, value.metric), []).append(value)
    return found


def _value(row: dict[str, str]) -> PrintedValue:
    paper, task = PAPERS[row["paper"]], TASKS.get(row["task"], slug(row["task"]))
    dataset, variant = _dataset(paper, row["dataset"])
    method, method_variant = _method(row["method"])
    metric = _metric(row["metric"], dataset)
    scale = _scale(row, metric)
    factor = 0.01 if scale == "percent" else 1.0
    return PrintedValue(
        paper=paper,
        table=row["table"],
        task=task,
        dataset=dataset,
        method=method,
        variant=method_variant or variant,
        metric=metric,
        protocol=_protocol(paper, task, dataset),
        mean=_number(row["mean"], factor),
        std=_number(row["std"], factor),
        scale=scale,
        runs=RUNS.get((paper, row["table"])),
        note=row["note"],
        doubtful="doubtful" in row["note"],
        text=row["mean"],
    )


def slug(text: str) -> str:
    """Lower case, everything that is no letter or digit one underscore: `IMDB-BINARY` ->
    `imdb_binary`."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _dataset(paper: str, name: str) -> tuple[str, str]:
    base, _, variant = name.partition(" n=")
    canonical = DATASETS.get(slug(base), slug(base))
    if canonical == "dblp" and paper != "dmat":
        # Two graphs are called DBLP: the authors' graph of SDCN in 000, the citation graph
        # elsewhere (METHODS 1.4).
        canonical = "dblp_citation"
    return canonical, f"n={variant}" if variant else ""


def _method(name: str) -> tuple[str, str]:
    if name in METHODS:
        return METHODS[name]
    match = VARIANT.match(name)
    return (slug(match["name"]), match["variant"]) if match else (slug(name), "")


def _metric(name: str, dataset: str) -> str:
    if name == "accuracy / micro-F1 (PPI)":
        return "micro_f1" if dataset == "ppi" else "accuracy"
    return slug(name)


def _protocol(paper: str, task: str, dataset: str) -> str | None:
    if not task.startswith("classification"):
        return None
    if dataset == "ppi":
        return "public"
    return "public" if paper != "dmat" and dataset in CITATION_GRAPHS else "random_10_10_80"


def _scale(row: dict[str, str], metric: str) -> str:
    shown = find_metric(metric)
    if not shown.is_fraction or "not a percentage" in row["note"]:
        return "seconds" if shown.shown_as == "seconds" else "none"
    return "fraction" if "printed as a fraction" in row["note"] else "percent"


def _number(text: str, factor: float) -> float | None:
    try:
        return float(text) * factor
    except ValueError:
        return None
