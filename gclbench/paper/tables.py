"""Definitions of the papers' tables: a table is data; `comparison` fills it, `render` prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gclbench.paper.columns import Column, Condition, is_, is_not
from gclbench.paper.contrastive import CONTRASTIVE_TABLES
from gclbench.paper.definition import Definition
from gclbench.paper.matrix import ID as MATRIX
from gclbench.registry import nearest


class UnknownTable(LookupError):
    """No table has this id; the text lists those that exist."""


DMAT_DATASETS = ("acm", "dblp", "cora", "citeseer", "pubmed", "amazon_photo", "coauthor_cs", "coauthor_phy")

RAW = is_("filter.name", "none", default="none")
GNNBP = is_("filter.name", "gnnbp")
TRAINED = is_not("method.epochs", 0)
ON_ALL = is_("method.train_on", "all", default="all")


def _method(name: str) -> Condition:
    return is_("method.name", name)


KMEANS = Column("kmeans", (_method("kmeans"), RAW), "kmeans")
DEEPWALK = Column("deepwalk", (_method("deepwalk"), RAW), "deepwalk")
SDCN = Column("sdcn", (_method("sdcn"), RAW, is_("method.protocol", "last", default="last")), "sdcn")
# AGC and SSGC smooth the features themselves, as far as their own rule says; behind a filter they would be smoothed twice.
AGC = Column("agc", (_method("agc"), RAW), "agc")
SSGC = Column("ssgc", (_method("ssgc"), RAW, is_("method.output", "projected", default="projected")), "ssgc")
SSGC_FILTERED = Column("ssgc", (_method("ssgc"), RAW, is_("method.output", "filtered")), "ssgc")
AGE = Column("age", (_method("age"), is_("filter.name", "laplacian")), "age")
DGI = Column("dgi", (_method("dgi"), RAW), "dgi")
GCA = Column("gca", (_method("gca"), RAW), "gca")
PROGCL = Column("progcl", (_method("progcl"), RAW), "progcl")
DMAT_I = Column("dmat_i", (_method("dmat_i"), GNNBP, TRAINED, ON_ALL), "dmat_i", tuned=True)
# The controls METHODS 2 asks for: what the filter alone, and the encoder before training, already reach.
FILTERED_KMEANS = Column("k-means on filtered", (_method("kmeans"), GNNBP), tuned=True)
UNTRAINED = Column("untrained encoder", (_method("dmat_i"), GNNBP, is_("method.epochs", 0), ON_ALL), tuned=True)

CLUSTERING = Definition(
    paper="dmat",
    number="1",
    title="node clustering, DMT / DMAT / DMAT-i paper, Table 1",
    task="clustering",
    datasets=DMAT_DATASETS,
    metrics=("acc", "nmi", "ari", "macro_f1", "modularity", "conductance"),
    columns=(KMEANS, DEEPWALK, SDCN, AGC, SSGC, AGE, DGI, GCA, PROGCL, DMAT_I, FILTERED_KMEANS, UNTRAINED),
    where=(is_("task.clusters", None),),
    remarks=("Conductance is lower-is-better; ours is the mean over clusters. The paper does not say whether it pools instead.",),
)

CLASSIFICATION = Definition(
    paper="dmat",
    number="2",
    title="node classification (10/10/80 splits), DMT / DMAT / DMAT-i paper, Table 2",
    task="classification",
    datasets=DMAT_DATASETS,
    metrics=("accuracy",),
    columns=(
        Column("dmt", (_method("dmt"), GNNBP, TRAINED), "dmt", tuned=True),
        Column("dmat", (_method("dmat"), GNNBP, TRAINED), "dmat", tuned=True),
        Column(
            "dmat_i (train nodes)",
            (_method("dmat_i"), GNNBP, TRAINED, is_("method.train_on", "labelled")),
            "dmat_i",
            "train_on=labelled",
            tuned=True,
        ),
        Column("dmat_i (all)", DMAT_I.where, "dmat_i", "train_on=all", tuned=True),
    ),
    where=(is_("task.protocol", "random_10_10_80"),),
    remarks=("The text of the paper that we have breaks off inside this table: `?` is not legible there.",),
)

LINK_PREDICTION = Definition(
    paper="dmat",
    number="3",
    title="link prediction (85/5/10 edges), DMT / DMAT / DMAT-i paper, Table 3",
    task="link_prediction",
    datasets=("cora", "citeseer", "pubmed", "acm", "dblp", "amazon_photo", "coauthor_cs", "coauthor_phy"),
    metrics=("ap", "auc"),
    columns=(DMAT_I, SSGC_FILTERED, AGE, GCA, PROGCL),
    where=(is_("task.val_fraction", 0.05, default=0.05), is_("task.test_fraction", 0.1, default=0.1)),
)

TABLES: dict[str, Definition] = {table.id: table for table in (CLUSTERING, CLASSIFICATION, LINK_PREDICTION, *CONTRASTIVE_TABLES)}


def find_table(name: str) -> Definition:
    """The definition with an id.

    Raises:
        UnknownTable: with the nearest id and all that exist.
    """
    if name in TABLES:
        return TABLES[name]
    guess = nearest(name, [*TABLES, MATRIX])
    hint = f" Did you mean '{guess}'?" if guess else ""
    raise UnknownTable(f"there is no table '{name}'.{hint} Known tables: {', '.join([*TABLES, MATRIX])}")


def column_of(settings: Mapping[str, Any], definition: Definition) -> Column | None:
    """The column of a table that a spec belongs in, None if it is not the table's."""
    if not definition.holds(settings):
        return None
    return next((column for column in definition.columns if column.holds(settings)), None)
