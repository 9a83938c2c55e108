"""M-Mix (KDD 2022): negatives mixed from several samples, on MVGRL and GRACE."""

from __future__ import annotations

from gclbench.paper.papers.mmix.course_figure import FIGURE as COURSE
from gclbench.paper.papers.mmix.figures import FIGURES
from gclbench.paper.papers.mmix.graph_tables import TABLES as GRAPH_TABLES
from gclbench.paper.papers.mmix.tables import COLLECTIONS, TABLES
from gclbench.paper.publication import Paper

SUPERVISED = ("MLP", "Chebyshev", "GCN", "JKNet", "GAT")
SUPERVISED_ON_GRAPHS = ("graphsage", "gcn", "gin", "gin_eps", "gat_eps")
QUOTED_ON_GRAPHS = (
    "dgk_kernel",
    "gk_kernel",
    "mlg_kernel",
    "sp_kernel",
    "wl_kernel",
    "random_walk",
    "node2vec",
    "sub2vec",
    "graph2vec",
)
"""Quoted from MVGRL, which quotes them too. InfoGraph's and MVGRL's rows are over 5 runs in their
papers; those of GraphCL and JOAO, which MVGRL does not have, are taken for the authors' own."""

PAPER = Paper(
    name="mmix",
    title="M-Mix: Generating Hard Negatives via Multi-sample Mixing (KDD 2022)",
    key="002",
    introduces=("mmix_mo", "mmix_mp", "mmix_grace"),
    methods={
        "MVGRL+mo-mix": ("mmix_mo", ""),
        "MVGRL+mp-mix": ("mmix_mp", ""),
        "MVGRL+mp-mix w/o div": ("mmix_mp_without_diversity", ""),
        "GRACE+mp-mix": ("mmix_grace", ""),
        "GraphSAGE (sup.)": ("graphsage", ""),
        "GIN-0 (sup.)": ("gin", ""),
        "GIN-eps (sup.)": ("gin_eps", ""),
        "GAT-eps (sup.)": ("gat_eps", ""),
        "LP (sup.)": ("label_propagation", ""),
        **{f"{name} (sup.)": (name.lower(), "") for name in SUPERVISED},
    },
    variants=("DGI", "GraphCL", "GRACE", "MVGRL"),
    # Two graphs are called DBLP: dmat prints the authors' graph of SDCN, this one the citations.
    datasets={"dblp": "dblp_citation"},
    metrics={"accuracy / micro-F1 (PPI)": {"ppi": "micro_f1", "": "accuracy"}},
    protocols=dict.fromkeys(("cora", "citeseer", "pubmed", "ppi"), "public"),
    runs={
        **dict.fromkeys(("3", "4"), 5),
        **{f"{table} {name}": 5 for table in ("6", "9") for name in COLLECTIONS[:4]},
    },
    over_folds={"3": SUPERVISED_ON_GRAPHS},
    quoted={"3": QUOTED_ON_GRAPHS},
    spread={
        **dict.fromkeys(
            ("2", "6", "7", "8", "9"),
            "The paper's text says 50 runs of training; its code repeats the classifier on one"
            " encoder, so that its spreads are taken for those of classifiers.",
        ),
        "5": "The paper prints no spread.",
        "10": "The paper does not say what its spreads are over.",
        **dict.fromkeys(("6-graphs", "9-graphs"), ""),
    },
    tables=tuple(sorted((*TABLES, *GRAPH_TABLES), key=lambda table: int(table.number))),
    figures=(*FIGURES, COURSE),
)
