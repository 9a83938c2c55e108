"""The catalogue of metrics: for each name its unit, which direction is better, and its label.

A metric that is not in the catalogue is shown as it is, as a plain number, and no direction of it
is better. A table can describe such a metric itself (`Measure.described`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

ShownAs = Literal["percent", "seconds", "GiB", "number"]
Direction = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Quantity:
    """What is known of a metric.

    Attributes:
        name: as in the records. shown_as: `percent` for a fraction that is shown times 100; all
            other values are shown as they are recorded. better: the direction of better values.
        label: short form for legends and headings; "" for the name.
    """

    name: str
    shown_as: ShownAs = "number"
    better: Direction = "neither"
    label: str = ""

    @property
    def factor(self) -> float:
        """What a recorded value is multiplied by before it is shown: 100 or 1."""
        return 100 if self.shown_as == "percent" else 1

    @property
    def is_fraction(self) -> bool:
        """Whether recorded values are fractions, shown in percent."""
        return self.shown_as == "percent"

    @property
    def lower_is_better(self) -> bool:
        """Whether the smaller of two values is the better one."""
        return self.better == "lower"

    @property
    def heading(self) -> str:
        """The label, or the name where there is none."""
        return self.label or self.name


def _metrics(names: str, shown_as: ShownAs, better: Direction, **labels: str) -> list[Quantity]:
    return [Quantity(name, shown_as, better, labels.get(name, "")) for name in names.split()]


AGREEMENT = _metrics(
    "acc nmi ari macro_f1 fmi modularity",
    "percent",
    "higher",
    acc="ACC",
    nmi="NMI",
    ari="ARI",
    macro_f1="macro-F1",
)
SCORES = _metrics(
    "accuracy micro_f1 auc ap top_1_accuracy triplet_accuracy pair_auc", "percent", "higher"
)
EDITED = _metrics(
    " ".join(f"triplet_accuracy_n{n} pair_auc_n{n}" for n in (10, 15, 20, 50)),
    "percent",
    "higher",
)
WHOLE = _metrics("svm_accuracy", "percent", "higher")
CUTS = _metrics("conductance conductance_pooled", "percent", "lower")
WEIGHTS = _metrics("false_negative_recall false_negative_precision weight_auc", "percent", "higher")
SHARES = _metrics(
    "stability accuracy_fold_std same_class_share mix_self mix_same_class hardness_mean",
    "percent",
    "neither",
) + [Quantity(f"hardness_{number:02d}", "percent") for number in range(1, 21)]
NUMBERS = _metrics(
    "mix_entropy tau0_q1 tau0_median tau0_q3 q1 median q3 silhouette inertia ratio p_value"
    " nodes edges classes features",
    "number",
    "neither",
)
COSTS = [Quantity("seconds", "seconds", "lower"), Quantity("memory", "GiB", "lower")]

METRICS: dict[str, Quantity] = {
    metric.name: metric
    for metric in (*AGREEMENT, *SCORES, *EDITED, *WHOLE, *CUTS, *WEIGHTS, *SHARES, *NUMBERS, *COSTS)
}

OF_TASK: dict[str, tuple[str, ...]] = {
    "clustering": (*(metric.name for metric in AGREEMENT + CUTS),),
    "classification": ("accuracy", "micro_f1", "macro_f1"),
    "link_prediction": ("auc", "ap"),
    "graph_classification": ("accuracy", "macro_f1", "svm_accuracy"),
    "graph_clustering": ("acc", "nmi", "ari", "macro_f1", "fmi"),
    "similarity": (*(metric.name for metric in EDITED),),
    "contrast": (
        "same_class_share",
        "false_negative_recall",
        "false_negative_precision",
        "weight_auc",
        "mix_self",
        "mix_same_class",
        "mix_entropy",
        "hardness_mean",
        "tau0_q1",
        "tau0_median",
        "tau0_q3",
    ),
}
"""What a run command shows of a task, in order; of other tasks, and where a run has none of these,
it shows every recorded metric."""


OF_PIECES = re.compile(r"(triplet_accuracy|pair_auc)_n\d+")
"""Metrics of `similarity` on pieces of any size."""


def find_metric(name: str) -> Quantity:
    """What is known of a metric; a plain number without a direction for an unknown name."""
    if OF_PIECES.fullmatch(name):
        return Quantity(name, "percent", "higher")
    return METRICS.get(name) or Quantity(name)


def shown_of(task: str, recorded: Collection[str]) -> list[str]:
    """What a run command shows of a task's recorded metrics: those of `OF_TASK` and those of pieces
    of other sizes; all where there are none of them."""
    found = [name for name in OF_TASK.get(task, ()) if name in recorded]
    found += [name for name in recorded if name not in found and OF_PIECES.fullmatch(name)]
    return found or [*recorded]
