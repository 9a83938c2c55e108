"""The DBLP citation graph of CitationFull (Bojchevski and Günnemann, ICLR 2018)."""

from __future__ import annotations

from gclbench.data.dataset_info import (
    NO_DATA_LICENCE,
    SWAPPED,
    DatasetInfo,
    GraphCounts,
    Printed,
    RawFile,
)

ADDRESS = "https://raw.githubusercontent.com/abojchevski/graph2gauss/master/data"

PAGES = (
    DatasetInfo(
        name="dblp_citation",
        summary="DBLP citation graph (CitationFull): papers, bag-of-words features, four topics",
        source=(
            "https://github.com/abojchevski/graph2gauss (the mirror's copy"
            " is rebuilt from EdisonLeeeee/GraphData)"
        ),
        licence=f"MIT (repositories; {NO_DATA_LICENCE})",
        files=(
            RawFile(
                "CitationFull/dblp/raw/dblp.npz",
                ("7b4f3bddadbde0eadecc3a37c6f6e5f95ccd4b7ae7fca032b66836da506fe6b3",),
                (f"{ADDRESS}/dblp.npz",),
                original_unseen=True,
            ),
        ),
        counts=GraphCounts(17716, 52867, 1639, 4, 0, (7920, 5645, 1982, 2169)),
        printed=(
            Printed(
                "mmix/1", 17716, 44338, 4, None, f"{SWAPPED}; its 105734 counts both directions"
            ),
        ),
        notes=(
            "Features are 0/1, as in torch_geometric. We have not seen the original file, so its"
            " checksum is unknown: a record has the checksum of the file that was read."
        ),
    ),
)
