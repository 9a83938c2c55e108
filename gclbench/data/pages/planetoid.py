"""Cora, CiteSeer and PubMed, as Planetoid distributes them (Yang, Cohen and Salakhutdinov, ICML
2016).
"""

from __future__ import annotations

from gclbench.data.dataset_info import (
    NO_DATA_LICENCE,
    SWAPPED,
    DatasetInfo,
    GraphCounts,
    Printed,
    RawFile,
)

ADDRESS = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data"
LICENCE = f"MIT (repository; {NO_DATA_LICENCE})"
RAW_LINKS = (
    "the papers count raw citation links; the files hold this many distinct undirected edges"
)


def _files(folder: str, hashes: dict[str, str]) -> tuple[RawFile, ...]:
    """The eight files of one graph, by the last part of their names."""
    prefix = f"ind.{folder.lower()}"
    return tuple(
        RawFile(
            f"Planetoid/{folder}/raw/{prefix}.{part}", (sha256,), (f"{ADDRESS}/{prefix}.{part}",)
        )
        for part, sha256 in hashes.items()
    )


PAGES = (
    DatasetInfo(
        name="cora",
        summary=(
            "Cora citation graph (Planetoid):"
            " papers, bag-of-words features, machine-learning topics"
        ),
        source="https://github.com/kimiyoung/planetoid",
        licence=LICENCE,
        files=_files(
            "Cora",
            {
                "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
                "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
                "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
                "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
                "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
                "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
                "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
                "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
            },
        ),
        counts=GraphCounts(2708, 5278, 1433, 7, 0, (351, 217, 418, 818, 426, 298, 180)),
        printed=(
            Printed("dmat/7", 2708, 5429, 7, 1433, RAW_LINKS),
            Printed("mmix/1", 2708, 5429, 7, None, RAW_LINKS),
        ),
        notes=(
            "Has a public split (140 / 500 / 1000 nodes); node ids start with its training nodes."
        ),
    ),
    DatasetInfo(
        name="citeseer",
        summary=(
            "CiteSeer citation graph (Planetoid):"
            " papers, bag-of-words features, computer-science topics"
        ),
        source="https://github.com/kimiyoung/planetoid",
        licence=LICENCE,
        files=_files(
            "CiteSeer",
            {
                "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
                "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
                "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
                "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
                "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
                "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
                "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
                "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
            },
        ),
        counts=GraphCounts(3327, 4552, 3703, 6, 48, (264, 590, 668, 701, 596, 508)),
        printed=(
            Printed("dmat/7", 3327, 4732, 6, 3703, RAW_LINKS),
            Printed("mmix/1", 3327, 4732, 6, None, RAW_LINKS),
        ),
        notes=(
            "Has a public split. 15 nodes of the test range are in none of the files: zero features"
            " and class 0, as in torch_geometric."
        ),
    ),
    DatasetInfo(
        name="pubmed",
        summary=(
            "PubMed citation graph (Planetoid): papers on diabetes, tf-idf features, three types"
        ),
        source="https://github.com/kimiyoung/planetoid",
        licence=LICENCE,
        files=_files(
            "PubMed",
            {
                "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
                "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
                "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
                "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
                "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
                "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
                "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
                "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
            },
        ),
        counts=GraphCounts(19717, 44324, 500, 3, 0, (4103, 7739, 7875)),
        printed=(
            Printed("dmat/7", 19717, 44338, 3, 500, RAW_LINKS),
            Printed("mmix/1", 19717, 105734, 3, None, SWAPPED),
        ),
        notes="Has a public split (60 / 500 / 1000 nodes).",
    ),
)
