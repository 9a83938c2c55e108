"""The tables of M-Mix (KDD 2022), and the columns of its mixtures."""

from __future__ import annotations

from dataclasses import replace

from gclbench.paper.columns import RAW, TRAINED, Column, is_
from gclbench.paper.contrastive_columns import (
    CITATION,
    GRACE,
    MVGRL,
    NODES,
    ONE_PROTOCOL,
    not_ours,
    runs_of,
)
from gclbench.paper.table_definition import Definition

COLLECTIONS = ("mutag", "ptc_mr", "imdb_binary", "imdb_multi", "reddit_binary")

# Their base is MVGRL with the paper's node objective.
MMIX_MO = Column("mmix_mo", runs_of("mmix_mo", "mmix", variant="mo", scope="wp"), "mmix_mo")
MMIX_MP = Column(
    "mmix_mp", runs_of("mmix_mp", "mmix", variant="mp", scope="wp", diversity=True), "mmix_mp"
)
# `method=mmix_mp negatives=uniform` and `method=mvgrl method.objective=nodes` at its settings are
# the same training.
UNMIXED = (
    is_("method.name", "mmix_mp", "mmix_mo"),
    RAW,
    TRAINED,
    NODES,
    is_("negatives.name", "uniform", default="uniform"),
)
BRANCH = "method.branch"


def branches(column: Column) -> tuple[Column, ...]:
    """Columns that evaluate one branch, and the given one, which evaluates both."""
    return (
        *(
            replace(
                column,
                label=f"branch {name}",
                where=(*column.where, is_(BRANCH, name, default="both")),
                method=f"branch_{name}_only",
            )
            for name in ("a", "b")
        ),
        replace(
            column,
            where=(*column.where, is_(BRANCH, "both", default="both")),
            method="average_of_branches",
        ),
    )


OF_BRANCHES = (
    "branch a is the graph's view, which is mixed, and branch b its diffusion's; mmix_mp is the sum"
    " of both (docs/choices.md). The three differ in nothing else."
)
RELEASED = (
    "fixed mixing is near what the code as first released does, which multiplies by the normalised"
    " adjacency once more"
)
# Controls: without them no gain can be put down to mixing.
NO_MIX = Column("no mixing", UNMIXED)
RANDOM_MIX = Column("random mixing", runs_of("mmix_mp", "mmix", variant="random"))
FIXED_MIX = Column("fixed mixing", runs_of("mmix_mp", "mmix", variant="adjacency"))
I_MIX = Column("i-mix", runs_of("mmix_mp", "imix"), "i_mix")
BINARY_MIX = Column(
    "binary-mix", runs_of("mmix_mo", "mmix", variant="binary", scope="all"), "mvgrl_binary_mix"
)
MO_MIX_OP = Column(
    "mo-mix-op", runs_of("mmix_mo", "mmix", variant="mo", scope="op"), "mvgrl_mo_mix_op"
)
WITHOUT_DIVERSITY = Column(
    "mmix_mp w/o div",
    runs_of("mmix_mp", "mmix", variant="mp", scope="wp", diversity=False),
    "mmix_mp_without_diversity",
)

SUPERVISED = ("mlp", "label_propagation", "chebyshev", "gcn", "jknet", "gat")
ON_EDGES = is_("method.propagation", "adjacency", default="adjacency")


def plain(method: str, printed: str | None = None) -> Column:
    """A method at its shipped settings, beside the row of that name or of its own."""
    return Column(method, runs_of(method), printed or method)


# The printed row has the input X, A, and the numbers are those of DGI's row "DeepWalk + features".
WITH_FEATURES = Column(
    "deepwalk + features", (*runs_of("deepwalk"), is_("method.features", True)), "deepwalk"
)

# The numbers of these rows are quoted from earlier papers.
NO_LIBRARY = "its number is quoted from an earlier paper, and no library that is kept up has it"
NOT_BUILT = {
    "ICA (sup.)": NO_LIBRARY,
    "ManiReg (sup.)": NO_LIBRARY,
    "SemiEmb (sup.)": NO_LIBRARY,
    "Planetoid (sup.)": NO_LIBRARY,
    "MoNet (sup.)": (
        "torch_geometric has its layer (GMMConv), but how many kernels, which coordinates of an"
        " edge and which training gave this number stands in no text that we have"
    ),
    "VERSE": NO_LIBRARY,
    "InfoGCL": "no code of it is known, and the paper's views per dataset are not known here",
}
NO_CLUSTERING_LIBRARY = dict.fromkeys(("MGAE", "GALA"), NO_LIBRARY)

TABLES = (
    Definition(
        paper="mmix",
        number="1",
        title="datasets, M-Mix paper (KDD 2022), Table 1",
        task="",
        printed_task="dataset_statistics",
        datasets=("citeseer", "cora", "pubmed", "dblp_citation", *COLLECTIONS),
        metrics=("nodes", "edges", "classes"),
        columns=(Column("as loaded", (), ""),),
        source="catalog",
        compared=False,
        remarks=(
            "edges: distinct undirected edges without self-loops.",
            "Nodes and edges of a collection are means over its graphs.",
            "PPI is left out: it is not built.",
        ),
    ),
    Definition(
        paper="mmix",
        number="2",
        title="node classification (public splits), M-Mix paper (KDD 2022), Table 2",
        task="classification",
        datasets=CITATION,
        metrics=("accuracy",),
        columns=(
            *(plain(name) for name in SUPERVISED),
            plain("linear"),
            WITH_FEATURES,
            plain("gae"),
            Column("dgi", (*runs_of("dgi"), ON_EDGES), "dgi"),
            Column(
                "dgi on diffusion",
                (*runs_of("dgi"), is_("method.propagation", "diffusion")),
                "dgi",
                "reproduced, diffusion input",
            ),
            Column("graphcl", runs_of("graphcl_nodes"), "graphcl", "reproduced"),
            Column("grace", GRACE.where, "grace", "reproduced"),
            Column("mvgrl", MVGRL.where, "mvgrl", "reproduced"),
            I_MIX,
            Column("cca_ssg", runs_of("cca_ssg"), "cca_ssg"),
            MMIX_MO,
            WITHOUT_DIVERSITY,
            MMIX_MP,
            NO_MIX,
            FIXED_MIX,
            RANDOM_MIX,
        ),
        where=(is_("task.protocol", "public"),),
        remarks=(
            ONE_PROTOCOL,
            f"no mixing, fixed mixing and random mixing are controls of ours; {RELEASED}.",
            (
                f"{', '.join(SUPERVISED)} are measured by their own class scores, all others by a"
                " linear probe (docs/sources.md, classification)."
            ),
            (
                "The printed row of DeepWalk has the input X, A and the numbers of DGI's row"
                " 'DeepWalk + features', so ours has the features beside the vectors"
                " (docs/sources.md, deepwalk)."
            ),
            (
                "GraphCL and MVGRL are held against the paper's reproductions. It quotes 82.3 and"
                " 73.1 (no PubMed) of GraphCL, and 86.8, 73.3 and 80.1 of MVGRL; 86.8 is of"
                " another split of Cora (docs/sources.md, mvgrl)."
            ),
        ),
        not_built=NOT_BUILT,
    ),
    Definition(
        paper="mmix",
        number="5",
        title="node clustering, M-Mix paper (KDD 2022), Table 5",
        task="clustering",
        datasets=CITATION,
        metrics=("nmi", "ari"),
        columns=(
            *(plain(name) for name in ("vgae", "arga", "arvga")),
            MVGRL,
            MMIX_MP,
            NO_MIX,
            FIXED_MIX,
            RANDOM_MIX,
        ),
        where=(is_("task.clusters", None),),
        remarks=(
            "The paper prints no spreads.",
            f"no mixing, fixed mixing and random mixing are controls of ours; {RELEASED}.",
        ),
        not_built=NO_CLUSTERING_LIBRARY,
    ),
    Definition(
        paper="mmix",
        number="6",
        title=(
            "which branch is evaluated, node classification (public splits), M-Mix paper (KDD"
            " 2022), Table 6"
        ),
        task="classification",
        printed_task="branch_ablation",
        datasets=CITATION,
        metrics=("accuracy",),
        columns=branches(MMIX_MP),
        where=(is_("task.protocol", "public"),),
        remarks=(
            ONE_PROTOCOL,
            OF_BRANCHES,
        ),
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
            replace(NO_MIX, method="mvgrl"),
            BINARY_MIX,
            MO_MIX_OP,
            Column("mo-mix-wp", MMIX_MO.where, "mvgrl_mo_mix_wp"),
            FIXED_MIX,
            RANDOM_MIX,
        ),
        where=(is_("task.protocol", "public"),),
        remarks=(
            ONE_PROTOCOL,
            "The op row repeats mo-mix, the wp row mp-mix of the paper's main table to the digit.",
            f"fixed mixing and random mixing are controls of ours; {RELEASED}.",
            "Its other half, SimCLR on images, is left out: there is no such task.",
        ),
    ),
    Definition(
        paper="mmix",
        number="8",
        title=(
            "GRACE as the base, DBLP citation graph (10/10/80 splits), M-Mix paper (KDD 2022),"
            " Table 8"
        ),
        task="classification",
        datasets=("dblp_citation",),
        metrics=("accuracy",),
        columns=(
            Column("grace", GRACE.where, "grace", "reproduced"),
            replace(not_ours("grace_gat"), method="grace_with_gat_encoder"),
            Column("grace + i-mix", runs_of("mmix_grace", "imix"), "grace_i_mix"),
            Column(
                "grace + mp-mix w/o div",
                runs_of("mmix_grace", "mmix", variant="mp", scope="wp", diversity=False),
                "grace_mp_mix_w_o_div",
            ),
            Column(
                "grace + mp-mix",
                runs_of("mmix_grace", "mmix", variant="mp", scope="wp", diversity=True),
                "mmix_grace",
            ),
        ),
        where=(is_("task.protocol", "random_10_10_80"),),
        remarks=(
            (
                "GRACE's printed value is the paper's reproduction; it quotes 84.2 ± 0.1 as"
                " published. GRACE with a GAT encoder is not built."
            ),
            (
                "A public re-implementation reports 82 for this table,"
                " and its code was not released."
            ),
            "PPI is left out: it is not built.",
        ),
    ),
    Definition(
        paper="mmix",
        number="9",
        title=(
            "mixing weights, node classification (public splits), M-Mix paper (KDD 2022), Table 9"
        ),
        task="classification",
        printed_task="mixing_weight_ablation",
        datasets=CITATION,
        metrics=("accuracy",),
        columns=(
            Column("mvgrl", MVGRL.where, "mvgrl", "original loss"),
            replace(NO_MIX, method="mvgrl_with_the_paper_s_objectives_no_mixing"),
            FIXED_MIX,
            replace(RANDOM_MIX, method="mvgrl_random_mix"),
            MMIX_MO,
            MMIX_MP,
        ),
        where=(is_("task.protocol", "public"),),
        remarks=(ONE_PROTOCOL, f"fixed mixing is a control of ours; {RELEASED}."),
    ),
)
