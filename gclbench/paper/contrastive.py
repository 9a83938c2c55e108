"""The tables of the contrastive family: papers 002 (M-Mix, KDD 2022) and 003 (NML-GCL), and ours without a printed counterpart."""

from __future__ import annotations

from typing import Any

from gclbench.paper.columns import Column, Condition, is_, is_not
from gclbench.paper.definition import Definition

RAW = is_("filter.name", "none", default="none")
TRAINED = is_not("method.epochs", 0)
NODES = is_("method.objective", "nodes")

CITATION = ("cora", "citeseer", "pubmed")
NML_DATASETS = (*CITATION, "amazon_photo", "amazon_computers", "wiki_cs")


def _runs(method: str, strategy: str = "uniform", **settings: Any) -> tuple[Condition, ...]:
    """Runs of a method on raw features with a strategy, and with these of the strategy's settings."""
    return (
        is_("method.name", method),
        RAW,
        TRAINED,
        is_("negatives.name", strategy, default="uniform"),
        *(is_(f"negatives.{name}", value) for name, value in settings.items()),
    )


def _not_ours(method: str) -> Column:
    """A printed row of a method that is not built here; runs of that name by another package stand beside it."""
    return Column(method, (is_("method.name", method), RAW), method)


def _named(method: str, strategy: str, **settings: Any) -> Column:
    """A method of that name in print."""
    return Column(method, _runs(method, strategy, **settings), method)


BGRL = Column("bgrl", _runs("bgrl"), "bgrl")
GRACE = Column("grace", _runs("grace"), "grace")
MVGRL = Column("mvgrl", (*_runs("mvgrl"), is_("method.objective", "summary")), "mvgrl")
PROGCL = _named("progcl", "progcl_weight")
NML = _named("nml_gcl", "nml", metric="separable")
NML_ROWS = (
    BGRL,
    GRACE,
    MVGRL,
    *(_not_ours(method) for method in ("local_gcl", "phases", "homogcl", "grace_plus")),
    PROGCL,
    _not_ours("grape"),
    NML,
)
NML_ABLATIONS = (
    Column("nml_gcl w/o M", _runs("nml_gcl", "nml", metric="uniform"), "nml_gcl_without_metric"),
    # "A predefined weighting": the weights are constants in the encoder's step (docs/choices.md).
    Column("nml_gcl cosine", _runs("nml_gcl", "nml", metric="cosine", detach=True), "nml_gcl_cosine"),
    Column("nml_gcl pairwise", _runs("nml_gcl", "nml", metric="pairwise")),
    Column("nml_gcl oracle", _runs("nml_gcl", "nml", metric="oracle")),
)
# Of the family, but not in paper 003.
OTHERS = (
    Column("dgi", _runs("dgi")),
    Column("gca", _runs("gca")),
    Column("cca_ssg", _runs("cca_ssg")),
    Column("augcl", _runs("augcl", "augcl")),
    Column("grace + mmix", _runs("grace", "mmix")),
    Column("mmix_mp", _runs("mmix_mp", "mmix", variant="mp", scope="wp", diversity=True)),
)

# The rows of paper 002, whose base is MVGRL with the paper's node objective.
MMIX_MO = Column("mmix_mo", _runs("mmix_mo", "mmix", variant="mo", scope="wp"), "mmix_mo")
MMIX_MP = Column("mmix_mp", _runs("mmix_mp", "mmix", variant="mp", scope="wp", diversity=True), "mmix_mp")
# `method=mmix_mp negatives=uniform` and `method=mvgrl method.objective=nodes` at its settings are the same training.
UNMIXED = (is_("method.name", "mmix_mp", "mmix_mo"), RAW, TRAINED, NODES, is_("negatives.name", "uniform", default="uniform"))
RANDOM_MIX = _runs("mmix_mp", "mmix", variant="random")
FIXED_MIX = Column("fixed mixing", _runs("mmix_mp", "mmix", variant="adjacency"))
ONE_PROTOCOL = "Our spread is over trainings; the paper's is over linear classifiers on one encoder (METHODS 1.1)."

CONTRASTIVE_TABLES = (
    Definition(
        paper="mmix",
        number="2",
        title="node classification (public splits), M-Mix paper (KDD 2022), Table 2",
        task="classification",
        datasets=CITATION,
        metrics=("accuracy",),
        columns=(
            Column("deepwalk", _runs("deepwalk"), "deepwalk"),
            Column("dgi", _runs("dgi"), "dgi"),
            Column("grace", GRACE.where, "grace", "reproduced"),
            Column("mvgrl", MVGRL.where, "mvgrl", "reproduced"),
            Column("i-mix", (*_runs("mvgrl", "imix"), NODES), "i_mix"),
            Column("cca_ssg", _runs("cca_ssg"), "cca_ssg"),
            MMIX_MO,
            Column(
                "mmix_mp w/o div", _runs("mmix_mp", "mmix", variant="mp", scope="wp", diversity=False), "mmix_mp_without_diversity"
            ),
            MMIX_MP,
            Column("no mixing", UNMIXED),
            FIXED_MIX,
            Column("random mixing", RANDOM_MIX),
        ),
        where=(is_("task.protocol", "public"),),
        remarks=(
            ONE_PROTOCOL,
            "no mixing, fixed mixing and random mixing are the controls of METHODS 4.3; fixed mixing is what the released code amounts to.",
            "The supervised rows and those of Linear, GAE, VERSE, GraphCL and InfoGCL are left out.",
        ),
    ),
    Definition(
        paper="mmix",
        number="5",
        title="node clustering, M-Mix paper (KDD 2022), Table 5",
        task="clustering",
        datasets=CITATION,
        metrics=("nmi", "ari"),
        columns=(MVGRL, MMIX_MP, Column("no mixing", UNMIXED), FIXED_MIX),
        where=(is_("task.clusters", None),),
        remarks=("The paper prints no spreads. Its rows of VGAE, MGAE, ARGA, ARVGA and GALA are left out.",),
    ),
    Definition(
        paper="mmix",
        number="7",
        title="ways to mix, node classification (public splits), M-Mix paper (KDD 2022), Table 7",
        task="classification",
        printed_task="classification_ablation",
        datasets=CITATION,
        metrics=("accuracy",),
        columns=(
            Column("no mixing", UNMIXED, "mvgrl"),
            Column("binary-mix", _runs("mmix_mo", "mmix", variant="binary", scope="all"), "mvgrl_binary_mix"),
            Column("mo-mix-op", _runs("mmix_mo", "mmix", variant="mo", scope="op"), "mvgrl_mo_mix_op"),
            Column("mo-mix-wp", MMIX_MO.where, "mvgrl_mo_mix_wp"),
        ),
        where=(is_("task.protocol", "public"),),
        remarks=(ONE_PROTOCOL, "The op row repeats mo-mix, the wp row mp-mix of Table 2 to the digit."),
    ),
    Definition(
        paper="mmix",
        number="9",
        title="mixing weights, node classification (public splits), M-Mix paper (KDD 2022), Table 9",
        task="classification",
        printed_task="mixing_weight_ablation",
        datasets=CITATION,
        metrics=("accuracy",),
        columns=(
            Column("mvgrl", MVGRL.where, "mvgrl", "original loss"),
            Column("no mixing", UNMIXED, "mvgrl_with_the_paper_s_objectives_no_mixing"),
            Column("random mixing", RANDOM_MIX, "mvgrl_random_mix"),
            MMIX_MO,
            MMIX_MP,
        ),
        where=(is_("task.protocol", "public"),),
        remarks=(ONE_PROTOCOL,),
    ),
    Definition(
        paper="nml",
        number="1",
        title="node classification (public splits; 10/10/80 for Amazon and Wiki-CS), NML-GCL paper, Table 1",
        task="classification",
        datasets=NML_DATASETS,
        metrics=("accuracy",),
        columns=(*NML_ROWS, *NML_ABLATIONS, *OTHERS),
        protocols={name: "public" if name in CITATION else "random_10_10_80" for name in NML_DATASETS},
        remarks=(ONE_PROTOCOL, "`nml_gcl` has the official code's separable metric; `pairwise` is the network as printed."),
    ),
    Definition(
        paper="nml",
        number="2",
        title="node clustering, NML-GCL paper, Table 2",
        task="clustering",
        datasets=NML_DATASETS,
        metrics=("fmi", "ari"),
        columns=(*NML_ROWS, *NML_ABLATIONS, *OTHERS),
        where=(is_("task.clusters", None),),
        remarks=("The paper prints no spreads.",),
    ),
    Definition(
        paper="contrast",
        number="10_10_80",
        title="node classification (10/10/80 splits) of the contrastive family; no paper prints these",
        task="classification",
        datasets=(*CITATION, "amazon_photo", "amazon_computers", "coauthor_cs", "coauthor_phy", "wiki_cs", "dblp_citation"),
        metrics=("accuracy",),
        columns=tuple(Column(column.label, column.where) for column in (GRACE, MVGRL, BGRL, PROGCL, NML, *NML_ABLATIONS, *OTHERS)),
        where=(is_("task.protocol", "random_10_10_80"),),
    ),
)
