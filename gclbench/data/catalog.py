"""Where every dataset comes from: files, checksums, licence, counts. No torch here.

Checksums are of the decompressed content. Counts are of the graph as loaded: distinct undirected
edges, no self-loops. What papers print is kept beside them, with a remark wherever it differs.
"""

from __future__ import annotations

from dataclasses import dataclass

from gclbench.component.registry import UnknownName, nearest

_PLANETOID = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data"
_SHCHUR = "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz"
_SDCN = "https://raw.githubusercontent.com/bdy9527/SDCN/master"
_GRAPH2GAUSS = "https://raw.githubusercontent.com/abojchevski/graph2gauss/master/data"
_WIKI_CS = "https://raw.githubusercontent.com/pmernyei/wiki-cs-dataset/master/dataset"


@dataclass(frozen=True)
class RawFile:
    """One file of a dataset as it is distributed.

    Attributes:
        path: where it lies in a mirror or in the cache, with forward slashes.
        sha256: accepted checksums (hex); empty when none is known to us. Then any bytes are taken,
            with a warning, and the checksum that was seen goes into the record.
        urls: original addresses, tried in order after the mirrors.
        original_unseen: the original's checksum is not known, those in `sha256` are a rebuilt
            copy's: bytes from an original address or the cache are taken as if `sha256` were empty.
    """

    path: str
    sha256: tuple[str, ...]
    urls: tuple[str, ...]
    original_unseen: bool = False


@dataclass(frozen=True)
class Counts:
    """Counts of a graph as loaded; `edges` are distinct undirected edges without self-loops."""

    nodes: int
    edges: int
    features: int
    classes: int
    isolated: int
    class_sizes: tuple[int, ...]


@dataclass(frozen=True)
class Printed:
    """Counts as a paper prints them.

    Attributes:
        table: the table's name in gclbench (`dmat/7`).
        remark: why it differs from the counts as loaded; empty where it does not.
    """

    table: str
    nodes: int
    edges: int
    classes: int
    features: int | None = None
    remark: str = ""


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset's page.

    Attributes:
        counts: as loaded; None where we have not had the files (or the user chooses them).
    """

    name: str
    summary: str
    source: str
    licence: str
    files: tuple[RawFile, ...] = ()
    counts: Counts | None = None
    printed: tuple[Printed, ...] = ()
    notes: str = ""


def info(name: str) -> DatasetInfo:
    """The page of the dataset called `name`.

    Raises:
        UnknownName: with the nearest name and the list of those that exist.
    """
    if name in CATALOG:
        return CATALOG[name]
    guess = nearest(name, list(CATALOG))
    hint = f" Did you mean '{guess}'?" if guess else ""
    raise UnknownName(
        f"there is no dataset '{name}' in the catalog.{hint} Known datasets: {', '.join(CATALOG)}"
    )


def describe_info(name: str) -> dict[str, object]:
    """The page of a dataset as plain, JSON-ready values, for `gclbench show dataset=…`.

    Raises:
        UnknownName: as `info`.
    """
    page = info(name)
    counts = page.counts
    return {
        "name": page.name,
        "summary": page.summary,
        "source": page.source,
        "licence": page.licence,
        "nodes": counts.nodes if counts else None,
        "undirected edges": counts.edges if counts else None,
        "features": counts.features if counts else None,
        "classes": counts.classes if counts else None,
        "isolated nodes": counts.isolated if counts else None,
        "class sizes": list(counts.class_sizes) if counts else None,
        "printed": [
            f"{p.table}: {p.nodes} nodes, {p.edges} edges, {p.classes} classes"
            + (f" ({p.remark})" if p.remark else "")
            for p in page.printed
        ],
        "files": [file.path for file in page.files],
        "notes": page.notes,
    }


def _planetoid(folder: str, hashes: dict[str, str]) -> tuple[RawFile, ...]:
    prefix = f"ind.{folder.lower()}"
    return tuple(
        RawFile(
            f"Planetoid/{folder}/raw/{prefix}.{part}",
            (sha256,) if sha256 else (),
            (f"{_PLANETOID}/{prefix}.{part}",),
        )
        for part, sha256 in hashes.items()
    )


def _shchur(folder: str, file: str, repacked: str, original: str) -> tuple[RawFile, ...]:
    return (RawFile(f"{folder}/raw/{file}", (repacked, original), (f"{_SHCHUR}/{file}",)),)


def _sdcn(name: str, features: str, graph: str, label: str) -> tuple[RawFile, ...]:
    return (
        RawFile(f"SDCN/{name}/raw/{name}.txt", (features,), (f"{_SDCN}/data/{name}.txt",)),
        RawFile(
            f"SDCN/{name}/raw/{name}_graph.txt", (graph,), (f"{_SDCN}/graph/{name}_graph.txt",)
        ),
        RawFile(f"SDCN/{name}/raw/{name}_label.txt", (label,), (f"{_SDCN}/data/{name}_label.txt",)),
    )


_RAW_LINKS = (
    "the papers count raw citation links; the files hold this many distinct undirected edges"
)
_NO_DATA_LICENCE = "no separate licence of the data was seen"
_PLANETOID_LICENCE = f"MIT (repository; {_NO_DATA_LICENCE})"
_SWAPPED = "the paper's Pubmed and DBLP edge counts are swapped"

_PAGES = (
    DatasetInfo(
        name="cora",
        summary=(
            "Cora citation graph (Planetoid): papers, bag-of-words features, machine-learning"
            " topics"
        ),
        source="https://github.com/kimiyoung/planetoid",
        licence=_PLANETOID_LICENCE,
        files=_planetoid(
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
        counts=Counts(2708, 5278, 1433, 7, 0, (351, 217, 418, 818, 426, 298, 180)),
        printed=(
            Printed("dmat/7", 2708, 5429, 7, 1433, _RAW_LINKS),
            Printed("mmix/1", 2708, 5429, 7, None, _RAW_LINKS),
        ),
        notes=(
            "Has a public split (140 / 500 / 1000 nodes); node ids start with its training nodes."
        ),
    ),
    DatasetInfo(
        name="citeseer",
        summary=(
            "CiteSeer citation graph (Planetoid): papers, bag-of-words features, computer-science"
            " topics"
        ),
        source="https://github.com/kimiyoung/planetoid",
        licence=_PLANETOID_LICENCE,
        files=_planetoid(
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
        counts=Counts(3327, 4552, 3703, 6, 48, (264, 590, 668, 701, 596, 508)),
        printed=(
            Printed("dmat/7", 3327, 4732, 6, 3703, _RAW_LINKS),
            Printed("mmix/1", 3327, 4732, 6, None, _RAW_LINKS),
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
        licence=_PLANETOID_LICENCE,
        files=_planetoid(
            "PubMed",
            {
                "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
                "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
                "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
                "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
                "allx": "",
                "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
                "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
                "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
            },
        ),
        printed=(
            Printed("dmat/7", 19717, 44338, 3, 500, _RAW_LINKS),
            Printed("mmix/1", 19717, 105734, 3, None, _SWAPPED),
        ),
        notes=(
            "Has a public split. The checksum of ind.pubmed.allx is not known to us: the one seen"
            " is recorded. The graph and label files, which we have, give 44324 edges, no isolated"
            " node and classes of 4103, 7739 and 7875 nodes."
        ),
    ),
    DatasetInfo(
        name="acm",
        summary=(
            "ACM paper graph of SDCN: papers joined by a shared author, keyword features, three"
            " fields"
        ),
        source=(
            "https://github.com/bdy9527/SDCN (features there and, identical, in"
            " zhumeiqiBUPT/AM-GCN)"
        ),
        licence=f"Apache-2.0 (repository; {_NO_DATA_LICENCE})",
        files=_sdcn(
            "acm",
            "d17f923ab9ba3cd3e835441075095603bafd5db2b5a1171c0d8a81e4de265659",
            "54529a64f7b2cd373b3cee450afec900bcf34de3dfb87fe436552efe48b15c87",
            "a1637c25de4e946d027f131cc02a2f8cae268ac8488fc12fa22e9b275603ead3",
        ),
        counts=Counts(3025, 13128, 1870, 3, 561, (1061, 965, 999)),
        printed=(Printed("dmat/7", 3025, 13128, 3, 1870),),
    ),
    DatasetInfo(
        name="dblp",
        summary=(
            "DBLP author graph of SDCN: authors joined by a shared paper, keyword features, four"
            " areas"
        ),
        source=(
            "https://github.com/bdy9527/SDCN (features there and in"
            " yueliu1999/Awesome-Deep-Graph-Clustering)"
        ),
        licence=f"Apache-2.0 (repository; {_NO_DATA_LICENCE})",
        files=_sdcn(
            "dblp",
            "db75502016b31ecf792b4361c106f3513284ec2f8ee66c3ce68fbd0c9ec839ee",
            "cadb495a8810b48866ee9a2c92b2b10a7137406476c94eb4ebee642f268df984",
            "31c369e801d7c6891b2d7b31d4c1f2718d69aca498d23a8c48945061fcdc0da6",
        ),
        counts=Counts(4057, 3528, 334, 4, 1466, (1197, 745, 1109, 1006)),
        printed=(
            Printed("dmat/7", 4058, 3528, 4, 334, "4058 is a slip: the release has 4057 nodes"),
        ),
        notes="Not the citation graph that 001–003 call DBLP; that one is dblp_citation.",
    ),
    DatasetInfo(
        name="amazon_photo",
        summary="Amazon Photo co-purchase graph: products, bag-of-words of reviews, categories",
        source="https://github.com/shchur/gnn-benchmark",
        licence=f"MIT (repository; {_NO_DATA_LICENCE})",
        files=_shchur(
            "Amazon/Photo",
            "amazon_electronics_photo.npz",
            "50fbd29f14ff45bf69ad48f9d3866b15880203370d6ddffa9b9761a4433dd7c9",
            "bdb1feb8e6ff42ee44024b04479145029c563fd42fc31bff80af20887ba0439a",
        ),
        counts=Counts(7650, 119081, 745, 8, 115, (369, 1686, 703, 915, 882, 823, 1941, 331)),
        printed=(
            Printed(
                "dmat/7",
                7650,
                71831,
                8,
                745,
                "half of the 143663 stored entries, most of which have no reverse; we make the"
                " graph undirected",
            ),
        ),
    ),
    DatasetInfo(
        name="amazon_computers",
        summary="Amazon Computers co-purchase graph: products, bag-of-words of reviews, categories",
        source="https://github.com/shchur/gnn-benchmark",
        licence=f"MIT (repository; {_NO_DATA_LICENCE})",
        files=_shchur(
            "Amazon/Computers",
            "amazon_electronics_computers.npz",
            "b044354bceaece1375eaa4b9f41415082bf488a09fe27cbad03241f82f6023f0",
            "736ba1d9fd85eac2da83a5ad25c463f04b0031a6ca01563f90a7099d9e8ffb2c",
        ),
        counts=Counts(
            13752, 245861, 767, 10, 281, (436, 2142, 1414, 542, 5158, 308, 487, 818, 2156, 291)
        ),
    ),
    DatasetInfo(
        name="coauthor_cs",
        summary=(
            "Coauthor CS graph (Microsoft Academic): authors, keywords of their papers, fields of"
            " study"
        ),
        source="https://github.com/shchur/gnn-benchmark",
        licence=f"MIT (repository; {_NO_DATA_LICENCE})",
        files=_shchur(
            "Coauthor/CS",
            "ms_academic_cs.npz",
            "985ebb51edf615d181525b3244b6d19ac2a23c443aed943fe87b0e3bc109a1c6",
            "933c745734e78908c7eb77172a673fee0503f30e26e5a99b36814d88534c42e3",
        ),
        counts=Counts(
            18333,
            81894,
            6805,
            15,
            0,
            (708, 462, 2050, 429, 1394, 2193, 371, 924, 775, 118, 1444, 2033, 420, 4136, 876),
        ),
        printed=(Printed("dmat/7", 18333, 81894, 15, 6805),),
        notes=(
            "Features are counts of keywords, 1 to 105; dataset.features=binary makes them 0/1, as"
            " torch_geometric's reader does."
        ),
    ),
    DatasetInfo(
        name="coauthor_phy",
        summary=(
            "Coauthor Physics graph (Microsoft Academic): authors, keywords of their papers, fields"
            " of study"
        ),
        source="https://github.com/shchur/gnn-benchmark",
        licence=f"MIT (repository; {_NO_DATA_LICENCE})",
        files=_shchur(
            "Coauthor/Physics",
            "ms_academic_phy.npz",
            "14a50711e7763fa4adae85b4f213e541d11195497b06828f173683808a1822e4",
            "e4d68468eba5fb8f6b280ffd406bd53e6e4295ba1dd2967d6fe99b978e4b3375",
        ),
        counts=Counts(34493, 247962, 8415, 5, 0, (5750, 5045, 17426, 2753, 3519)),
        printed=(Printed("dmat/7", 34493, 247962, 5, 8415),),
        notes=(
            "Features are counts of keywords, 1 to 98; dataset.features=binary makes them 0/1, as"
            " torch_geometric's reader does."
        ),
    ),
    DatasetInfo(
        name="dblp_citation",
        summary="DBLP citation graph (CitationFull): papers, bag-of-words features, four topics",
        source=(
            "https://github.com/abojchevski/graph2gauss (the mirror's copy is rebuilt from"
            " EdisonLeeeee/GraphData)"
        ),
        licence=f"MIT (repositories; {_NO_DATA_LICENCE})",
        files=(
            RawFile(
                "CitationFull/dblp/raw/dblp.npz",
                ("7b4f3bddadbde0eadecc3a37c6f6e5f95ccd4b7ae7fca032b66836da506fe6b3",),
                (f"{_GRAPH2GAUSS}/dblp.npz",),
                original_unseen=True,
            ),
        ),
        counts=Counts(17716, 52867, 1639, 4, 0, (7920, 5645, 1982, 2169)),
        printed=(
            Printed(
                "mmix/1", 17716, 44338, 4, None, f"{_SWAPPED}; its 105734 counts both directions"
            ),
        ),
        notes=(
            "Features are 0/1, as in torch_geometric. The checksum of the original file is not"
            " known to us: the one seen is recorded."
        ),
    ),
    DatasetInfo(
        name="wiki_cs",
        summary=(
            "Wiki-CS: Wikipedia articles on computer science, mean word vectors, branches as"
            " classes"
        ),
        source="https://github.com/pmernyei/wiki-cs-dataset",
        licence="stated by the source repository; not seen by us",
        files=(RawFile("WikiCS/raw/data.json", (), (f"{_WIKI_CS}/data.json",)),),
        notes=(
            "Has 20 public splits with one test set: run seed k uses split k mod 20. The checksum"
            " is not known to us: the one seen is recorded."
        ),
    ),
    DatasetInfo(
        name="digits",
        summary="Handwritten digits with a k-nearest-neighbour graph: real data, no download",
        source=(
            "scikit-learn's load_digits: test set of the UCI ML hand-written digits datasets"
            " (Alpaydin and Kaynak, 1998)"
        ),
        licence="CC BY 4.0 (UCI Machine Learning Repository); comes with scikit-learn",
        notes="The edge count is that of the default, neighbours=10.",
        counts=Counts(1797, 12340, 64, 10, 0, (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)),
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
)

CATALOG: dict[str, DatasetInfo] = {page.name: page for page in _PAGES}
