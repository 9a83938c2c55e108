"""Datasets that no files are distributed for: computed, generated, and the user's own."""

from __future__ import annotations

from gclbench.data.dataset_info import DatasetInfo, GraphCounts

PAGES = (
    DatasetInfo(
        name="digits",
        summary="Handwritten digits with a k-nearest-neighbour graph: real data, no download",
        source=(
            "scikit-learn's load_digits: test set of the UCI ML hand-written digits datasets"
            " (Alpaydin and Kaynak, 1998)"
        ),
        licence="CC BY 4.0 (UCI Machine Learning Repository); comes with scikit-learn",
        notes="The edge count is that of the default, neighbours=10.",
        counts=GraphCounts(
            1797, 12339, 64, 10, 0, (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)
        ),
    ),
    DatasetInfo(
        name="sbm",
        summary=(
            "Contextual stochastic block model: generated graph with classes of a chosen difficulty"
        ),
        source="generated (Deshpande et al., Contextual Stochastic Block Models, NeurIPS 2018)",
        licence="none needed",
    ),
    DatasetInfo(
        name="rmat",
        summary="R-MAT graph with Graph500 parameters and random features, for scale tests",
        source="generated (Chakrabarti et al., R-MAT, SDM 2004; Graph500 specification)",
        licence="none needed",
    ),
    DatasetInfo(
        name="custom",
        summary="A user's own graph from an .npz file",
        source="dataset.path",
        licence="the user's",
    ),
    DatasetInfo(
        name="custom_graphs",
        summary="A user's own collection of graphs from an .npz file",
        source="dataset.path",
        licence="the user's",
    ),
)
