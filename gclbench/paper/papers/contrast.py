"""Tables of ours on contrastive methods, which no paper prints.

The family on one split, whom the weights of a strategy spare, and mixtures after trainings of one
length.
"""

from __future__ import annotations

from dataclasses import replace

from gclbench.paper.columns import Column, Condition, is_
from gclbench.paper.contrastive_columns import (
    AUGCL,
    BGRL,
    CITATION,
    GRACE,
    GRACE_PLUS,
    GRAPE,
    HOMOGCL,
    LOCAL_GCL,
    LOCAL_SETTINGS,
    MVGRL,
    NML,
    NML_ABLATIONS,
    OTHERS,
    PHASES,
    PHASES_READING,
    PROGCL,
)
from gclbench.paper.papers.mmix.tables import (
    BINARY_MIX,
    FIXED_MIX,
    I_MIX,
    MMIX_MO,
    MMIX_MP,
    MO_MIX_OP,
    NO_MIX,
    RANDOM_MIX,
    WITHOUT_DIVERSITY,
)
from gclbench.paper.publication import Paper
from gclbench.paper.table_definition import Definition

# Methods that spare nodes which a rule of their own takes for false negatives.
SPARING = (PHASES, HOMOGCL, GRACE_PLUS, GRAPE)

# Early stopping ends the mixtures' trainings after 300 to 1,800 steps, and the longer one is, the
# worse (results/notes/mmix.md).
EQUAL_LENGTH = (is_("method.epochs", 200), is_("method.patience", 0))
BY_VALIDATION = (
    is_("method.epochs", 300),
    is_("method.patience", 0),
    is_("method.epoch_by", "validation"),
)
MIXTURES = (
    NO_MIX,
    FIXED_MIX,
    RANDOM_MIX,
    I_MIX,
    BINARY_MIX,
    MO_MIX_OP,
    MMIX_MO,
    WITHOUT_DIVERSITY,
    MMIX_MP,
)


def _with_steps(columns: tuple[Column, ...], steps: tuple[Condition, ...]) -> tuple[Column, ...]:
    return tuple(Column(column.label, (*column.where, *steps)) for column in columns)


SAME_LENGTH = (
    "200 steps without early stopping,"
    " as many as MVGRL's with the node objective in `matrix` (docs/choices.md)."
)
STEPS_BY_VALIDATION = (
    "Of up to 300 steps without early stopping, the state with the highest accuracy on the 500"
    " validation nodes (docs/choices.md)."
)

FAMILY = Definition(
    paper="contrast",
    number="10_10_80",
    title=(
        "node classification (10/10/80 splits) of the contrastive family; no paper prints these"
    ),
    task="classification",
    datasets=(
        *CITATION,
        "amazon_photo",
        "amazon_computers",
        "coauthor_cs",
        "coauthor_phy",
        "wiki_cs",
        "dblp_citation",
    ),
    metrics=("accuracy",),
    columns=tuple(
        Column(column.label, column.where)
        for column in (
            GRACE,
            MVGRL,
            BGRL,
            PROGCL,
            LOCAL_GCL,
            *SPARING,
            NML,
            *NML_ABLATIONS,
            *OTHERS,
        )
    ),
    where=(is_("task.protocol", "random_10_10_80"),),
    remarks=(PHASES_READING, LOCAL_SETTINGS),
)

MIXING = Definition(
    paper="contrast",
    number="mixing",
    title=(
        "ways to mix after trainings of one length, node classification (public splits); no paper"
        " prints these"
    ),
    task="classification",
    datasets=CITATION,
    metrics=("accuracy",),
    columns=_with_steps(MIXTURES, EQUAL_LENGTH),
    where=(is_("task.protocol", "public"),),
    remarks=(SAME_LENGTH,),
)

TABLES = (
    FAMILY,
    Definition(
        paper="contrast",
        number="weights",
        title="what the strategies' weights do to false negatives; no paper prints these",
        task="contrast",
        datasets=CITATION,
        metrics=(
            "same_class_share",
            "false_negative_recall",
            "false_negative_precision",
            "weight_auc",
        ),
        columns=tuple(
            # Of the ablations all but the first, "w/o M": uniform weights suspect nobody.
            Column(column.label, column.where)
            for column in (PROGCL, AUGCL, *SPARING, NML, *NML_ABLATIONS[1:])
        ),
        compared=False,
        remarks=(
            PHASES_READING,
            (
                "Classes are read for this report alone. False negatives are those of their"
                " anchor's class; same_class_share: theirs of all negatives."
            ),
            (
                "Suspected is a negative that weighs less than the mean of its anchor's. recall:"
                " the suspected share of the false negatives; precision: the false share of the"
                " suspected, to be held against same_class_share."
            ),
            (
                "weight_auc: how often a false negative weighs less than a true one of the same"
                " anchor; under 50 the weights favour false negatives."
            ),
        ),
    ),
    MIXING,
    replace(
        MIXING,
        number="mixing_validation",
        title=(
            "ways to mix, the number of steps chosen by the validation nodes, node classification"
            " (public splits); no paper prints these"
        ),
        columns=_with_steps(MIXTURES, BY_VALIDATION),
        remarks=(STEPS_BY_VALIDATION,),
    ),
    replace(
        MIXING,
        number="mixing_nmi",
        title="ways to mix after trainings of one length, node clustering; no paper prints these",
        task="clustering",
        metrics=("nmi",),
        where=(is_("task.clusters", None),),
    ),
    replace(
        MIXING,
        number="mixing_shares",
        title="what is mixed, after trainings of one length; no paper prints these",
        task="contrast",
        metrics=("mix_self", "mix_same_class", "mix_entropy"),
        columns=_with_steps(MIXTURES[1:], EQUAL_LENGTH),
        where=(),
        compared=False,
        remarks=(
            SAME_LENGTH,
            (
                "mix_self: the node's share in its own mixture; mix_same_class: of the rest, the"
                " share of its class; mix_entropy: of the shares, in nats."
            ),
        ),
    ),
)

PAPER = Paper(
    name="contrast",
    title="contrastive methods and strategies for negatives; no paper prints these",
    ours=True,
    tables=TABLES,
)
