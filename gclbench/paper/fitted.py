"""Which cells are marked as fitted: their settings were chosen after the cell's own labels, or
scores computed from them, had been seen.

This list is the definition; docs/choices.md shows it to readers, and a test holds the two together.
A choice stays on it whatever decided it in the end: the paper's text may have, but nobody can prove
that the scores did not help.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gclbench.paper.columns import Condition, is_
from gclbench.records import Record

FITTED = "‡"
"""At a number whose settings were chosen after its own labels had been seen."""


@dataclass(frozen=True)
class SeenChoice:
    """One choice, and the runs it marks.

    Attributes:
        name: as in docs/choices.md. seen: what had been seen. datasets: whose labels or held-out
            edges. where: the runs that depend on the choice. decided: what decided it. beyond: of
            these runs, those alone with a metric above a value.
    """

    name: str
    seen: str
    datasets: tuple[str, ...]
    where: tuple[Condition, ...] = ()
    decided: str = "labels"
    beyond: tuple[str, float] | None = None

    def marks(self, flat: Mapping[str, Any], records: Iterable[Record]) -> bool:
        """Whether these runs, of these flattened settings, are marked."""
        if str(flat["dataset.name"]) not in self.datasets:
            return False
        if not all(condition.holds(flat) for condition in self.where):
            return False
        return self.beyond is None or any(
            record.metrics.get(self.beyond[0], 0.0) > self.beyond[1] for record in records
        )


DMAT_FAMILY = is_("method.name", "dmt", "dmat", "dmat_i")
MVGRL_FAMILY = is_("method.name", "mmix_mp", "mmix_mo", "mvgrl")

CLUSTERED = (
    "acm",
    "dblp",
    "cora",
    "citeseer",
    "pubmed",
    "amazon_photo",
    "coauthor_cs",
    "coauthor_phy",
)
"""The graphs of the `dmat` paper."""

COLLECTIONS = ("mutag", "ptc_mr", "imdb_binary", "imdb_multi", "reddit_binary")
"""Those of `mmix`'s Table 3."""

SEEN: tuple[SeenChoice, ...] = (
    SeenChoice(
        "DMAT-i: all rows of its table",
        "compared with the printed rows of Table 1",
        ("acm", "dblp"),
        (DMAT_FAMILY,),
    ),
    SeenChoice(
        "DMAT-i: encoder's input",
        "amazon_photo was far short of print",
        ("acm", "dblp", "amazon_photo"),
        (DMAT_FAMILY, is_("method.unit_input", True)),
    ),
    SeenChoice(
        "DMAT-i: activation and self-loops",
        "ACC and NMI of a prototype, one seed",
        ("cora",),
        (DMAT_FAMILY,),
    ),
    SeenChoice(
        "DMAT-i: biases",
        "earlier numbers of cora and citeseer",
        ("cora", "citeseer"),
        (DMAT_FAMILY,),
        decided="acm and dblp",
    ),
    SeenChoice(
        "Features of Coauthor CS and Physics",
        "k-means on both forms, DMAT-i on the counts",
        ("coauthor_cs", "coauthor_phy"),
        (is_("dataset.features", "counts"),),
    ),
    SeenChoice(
        "SSGC: isolated nodes",
        "the first runs without the self-loop",
        ("dblp", "acm"),
        (is_("method.name", "ssgc"),),
    ),
    SeenChoice(
        "Linear classifier: C beyond 2¹⁰",
        "validation and test accuracy of one untrained encoder",
        ("amazon_photo",),
        (is_("task.name", "classification"),),
        decided="the validation nodes",
    ),
    SeenChoice(
        "Linear classifier: runs whose C is beyond 2¹⁰",
        "rows with C up to 2¹⁰",
        ("acm", "cora", "citeseer", "pubmed", "amazon_computers", "coauthor_phy"),
        (is_("task.name", "classification"),),
        decided="the validation nodes",
        beyond=("C", 1024.0),
    ),
    SeenChoice(
        "SSGC: link prediction",
        "the rows at its clustering code's operator, validation pairs beside print, and the rows of"
        " features in both forms",
        CLUSTERED,
        (is_("filter.name", "ssgc"), is_("task.name", "link_prediction")),
        decided="the printed spread of 0; the form of features by F.1 and the validation pairs",
    ),
    SeenChoice(
        "AGE: link prediction",
        "results at the clustering settings, and on acm at the script's settings with the epoch by"
        " clusters",
        ("acm", "dblp", "cora", "citeseer"),
        (
            is_("method.name", "age"),
            is_("task.name", "link_prediction"),
            is_("method.epoch_by", "validation"),
        ),
    ),
    SeenChoice(
        "M-Mix: batches of sub-graphs",
        "the failure on the whole graph's public test nodes, and two sketches",
        ("cora",),
        (is_("method.name", "mmix_mp", "mmix_mo"), is_("method.subgraphs", 2)),
    ),
    SeenChoice(
        'NML: "repl. cosine"',
        "both readings, once, on the public test nodes",
        ("cora",),
        (is_("negatives.name", "nml"), is_("negatives.metric", "cosine")),
        decided="the paper's text",
    ),
    SeenChoice(
        "`mmix_grace`: M-Mix's settings, not GRACE's",
        "that GRACE's settings collapse",
        ("cora",),
        (is_("method.name", "mmix_grace"),),
    ),
    SeenChoice(
        "MVGRL with `objective=nodes` in the matrix: 200 steps",
        "its course on test nodes; 200 was not picked from it",
        ("cora",),
        (
            is_("method.name", "mvgrl"),
            is_("method.objective", "nodes"),
            is_("method.epochs", 200),
            is_("method.patience", 0),
        ),
        decided="GRACE's number of epochs",
    ),
    SeenChoice(
        "`contrast/mixing`: 200 steps",
        "single runs at 10, 50, 100 and 200 steps",
        ("cora", "citeseer"),
        (
            is_("method.name", "mmix_mp", "mmix_mo"),
            is_("method.epochs", 200),
            is_("method.patience", 0),
        ),
    ),
    SeenChoice(
        "GCA, DGI, ProGCL of the `dmat` paper: raw features",
        "the row-normalised rows; GCA on dblp and DGI on cora both ways, one seed",
        ("acm", "dblp", "cora", "citeseer", "pubmed", "amazon_photo"),
        (
            is_("method.name", "gca", "dgi", "progcl"),
            is_("method.normalize_features", False),
        ),
        decided="the paper's text (F.1) on cora, citeseer and pubmed, extended to the others",
    ),
    SeenChoice(
        "MVGRL, M-Mix: row-normalised features on cora",
        "three seeds of MVGRL on cora, two splits",
        ("cora",),
        (MVGRL_FAMILY, is_("method.normalize_features", True)),
        decided="the loader that its official code pins",
    ),
    SeenChoice(
        "DMT, DMAT: steps by the validation nodes",
        "the rows with all steps, and the course of the test accuracy on dblp",
        ("acm", "dblp", "cora", "citeseer", "pubmed"),
        (is_("method.name", "dmt", "dmat"), is_("method.epoch_by", "validation")),
        decided="the validation nodes",
    ),
    SeenChoice(
        "DMAT-i, link prediction: steps by the validation pairs",
        "the rows at the printed steps, and the test AUC of 1,200 steps on acm",
        ("acm", "dblp", "cora", "citeseer", "pubmed"),
        (
            is_("method.name", "dmat_i"),
            is_("task.name", "link_prediction"),
            is_("method.epoch_by", "validation"),
        ),
        decided="the validation pairs",
    ),
    SeenChoice(
        "MVGRL, M-Mix: steps by the validation nodes",
        "the course of test scores over 10 to 200 steps and at the early stop",
        ("cora", "citeseer"),
        (MVGRL_FAMILY, is_("method.epoch_by", "validation")),
        decided="the validation nodes",
    ),
    SeenChoice(
        "Amazon Photo: edges as stored",
        "modularity and conductance of k-means, which read no label; DMAT-i's clusters before",
        ("amazon_photo",),
        (is_("dataset.edges", "as_stored"),),
        decided="modularity and conductance of k-means",
    ),
    SeenChoice(
        "DeepWalk: its repository's settings",
        "the rows at one epoch without negative sampling, and at its paper's settings",
        CLUSTERED,
        (is_("method.name", "deepwalk"),),
        decided="the repository's code",
    ),
    SeenChoice(
        "DeepWalk: features beside the vectors",
        "the rows without features",
        ("cora", "citeseer", "pubmed"),
        (is_("method.name", "deepwalk"), is_("method.features", True)),
        decided="the printed row's input and numbers",
    ),
    SeenChoice(
        "graph2vec: no word is left out",
        "the rows with gensim's subsampling",
        COLLECTIONS,
        (is_("method.name", "graph2vec"), is_("method.sample", 0.0)),
        decided="its authors' code",
    ),
    SeenChoice(
        "Graphlet kernel: 6,400 samples of a graph",
        "the rows with 100 samples",
        COLLECTIONS,
        (
            is_("method.name", "graph_kernel"),
            is_("method.kernel", "graphlet"),
            is_("method.samples", 6400),
        ),
        decided="how well kernels of two seeds agree",
    ),
    SeenChoice(
        "Graph classification: squared hinge",
        "scores of the controls with libsvm's linear machine",
        ("mutag", "imdb_binary"),
        (is_("task.name", "graph_classification"), is_("task.svm", "linear")),
        decided="the time it took and its fits that did not converge",
    ),
    SeenChoice(
        "Graph classification: the machine at its minimum",
        "all scores of the task's first version",
        ("mutag", "ptc_mr", "imdb_binary"),
        (is_("task.name", "graph_classification"), is_("task.svm", "linear")),
        decided="the time it took and its fits that did not converge",
    ),
    SeenChoice(
        "Supervised methods on collections: batches of 32",
        "one seed of GIN and GAT at 40 epochs and batches of 128",
        ("mutag",),
        (
            is_("method.name", "gin", "gin_eps", "graphsage", "gcn_graphs", "gat_graphs"),
            is_("method.batch_size", 32),
        ),
        decided="GIN's published range",
    ),
    SeenChoice(
        "Supervised methods on collections: layers and frame",
        "the rows of their former layers and frame",
        COLLECTIONS,
        (is_("method.name", "gin", "gin_eps", "graphsage", "gcn_graphs", "gat_graphs"),),
        decided="the code of GIN's authors",
    ),
    SeenChoice(
        "GCN on collections: statistics of the batch norms",
        "the collapse on test folds; training and test accuracy both ways, four folds of MUTAG; one"
        " seed with running averages on the others",
        ("mutag", "ptc_mr", "imdb_binary"),
        (is_("method.name", "gcn_graphs"), is_("method.statistics", "training")),
        decided="the accuracy on the training graphs",
    ),
    SeenChoice(
        "GAE, VGAE, ARGA, ARVGA: their official codes",
        "all scores of their first version",
        ("cora", "citeseer", "pubmed"),
        (is_("method.name", "gae", "vgae", "arga", "arvga"),),
        decided="the official codes",
    ),
    SeenChoice(
        "Label propagation: class mass normalisation",
        "both rules, once, on the public test nodes",
        ("pubmed",),
        (is_("method.name", "label_propagation"),),
        decided="the paper's text",
    ),
    SeenChoice(
        "SDCN: pre-training until the held-out reconstruction is flat",
        "the rows with the stated pre-training",
        ("acm", "dblp", "cora", "citeseer"),
        (is_("method.name", "sdcn"), is_("method.pretrain_until", "held_out")),
        decided="the held-out reconstruction",
    ),
    SeenChoice(
        "Label propagation: the limit by conjugate gradients",
        "the scores of 1,000 steps",
        ("cora", "citeseer", "pubmed"),
        (is_("method.name", "label_propagation"), is_("method.solver", "conjugate_gradients")),
        decided="how far 1,000 steps are from the limit",
    ),
)


def fitted_by(flat: Mapping[str, Any], records: Collection[Record]) -> tuple[str, ...]:
    """The names of the choices that runs, of these flattened settings, were fitted by; empty for
    most."""
    return tuple(choice.name for choice in SEEN if choice.marks(flat, records))
