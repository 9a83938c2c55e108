"""Columns of contrastive methods that several papers share."""

from __future__ import annotations

from typing import Any

from gclbench.paper.columns import RAW, TRAINED, Column, Condition, is_

NODES = is_("method.objective", "nodes")

ONE_PROTOCOL = (
    "Our spread is over trainings; the paper's is over linear classifiers on one encoder."
)

PHASES_READING = "`phases` is our reading of the abstract: it has no public code."
LOCAL_SETTINGS = "`local_gcl` has no public code, and its settings are ours."

CITATION = ("cora", "citeseer", "pubmed")
NML_DATASETS = (*CITATION, "amazon_photo", "amazon_computers", "wiki_cs")


def runs_of(method: str, strategy: str = "uniform", **settings: Any) -> tuple[Condition, ...]:
    """Runs of a method on raw features with a strategy, and with these settings of it."""
    return (
        is_("method.name", method),
        RAW,
        TRAINED,
        is_("negatives.name", strategy, default="uniform"),
        *(is_(f"negatives.{name}", value) for name, value in settings.items()),
    )


def not_ours(method: str) -> Column:
    """A printed row of a method that is not built here; runs of that name by another package stand
    beside it."""
    return Column(method, (is_("method.name", method), RAW), method)


def named(method: str, strategy: str, **settings: Any) -> Column:
    """A method of that name in print."""
    return Column(method, runs_of(method, strategy, **settings), method)


BGRL = Column("bgrl", runs_of("bgrl"), "bgrl")
GRACE = Column("grace", runs_of("grace"), "grace")
MVGRL = Column("mvgrl", (*runs_of("mvgrl"), is_("method.objective", "summary")), "mvgrl")
PROGCL = named("progcl", "progcl_weight")
AUGCL = Column("augcl", runs_of("augcl", "augcl"))
GRACE_PLUS = named("grace_plus", "grace_plus")
HOMOGCL = named("homogcl", "homogcl")
GRAPE = named("grape", "grape")
PHASES = named("phases", "phases")
LOCAL_GCL = Column("local_gcl", (*runs_of("local_gcl"), is_("method.sums", "exact")), "local_gcl")
NML = named("nml_gcl", "nml", metric="separable")
NML_ROWS = (
    BGRL,
    GRACE,
    MVGRL,
    LOCAL_GCL,
    PHASES,
    HOMOGCL,
    GRACE_PLUS,
    PROGCL,
    GRAPE,
    NML,
)
NML_ABLATIONS = (
    Column("nml_gcl w/o M", runs_of("nml_gcl", "nml", metric="uniform"), "nml_gcl_without_metric"),
    # "A predefined weighting": the weights are constants in the encoder's step (docs/choices.md).
    Column(
        "nml_gcl cosine", runs_of("nml_gcl", "nml", metric="cosine", detach=True), "nml_gcl_cosine"
    ),
    Column("nml_gcl pairwise", runs_of("nml_gcl", "nml", metric="pairwise")),
    Column("nml_gcl oracle", runs_of("nml_gcl", "nml", metric="oracle")),
)
# Contrastive methods that the NML-GCL paper does not compare with.
OTHERS = (
    Column("local_gcl features", (*runs_of("local_gcl"), is_("method.sums", "features"))),
    Column("dgi", runs_of("dgi")),
    Column("gca", runs_of("gca")),
    Column("cca_ssg", runs_of("cca_ssg")),
    AUGCL,
    Column("grace + mmix", runs_of("grace", "mmix")),
    Column("mmix_mp", runs_of("mmix_mp", "mmix", variant="mp", scope="wp", diversity=True)),
)
