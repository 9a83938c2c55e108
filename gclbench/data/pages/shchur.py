"""Amazon and Coauthor graphs (Shchur et al., Pitfalls of Graph Neural Network Evaluation, 2018)."""

from __future__ import annotations

from gclbench.data.dataset_info import NO_DATA_LICENCE, DatasetInfo, GraphCounts, Printed, RawFile

ADDRESS = "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz"
STORED = (
    "dataset.edges=as_stored keeps every stored entry as an edge, so that one stored in both"
    " directions is there twice."
)
LICENCE = f"MIT (repository; {NO_DATA_LICENCE})"


def _files(folder: str, file: str, repacked: str, original: str) -> tuple[RawFile, ...]:
    """The one file of a graph, with the sha256 of a repacked archive and of the original one."""
    return (RawFile(f"{folder}/raw/{file}", (repacked, original), (f"{ADDRESS}/{file}",)),)


PAGES = (
    DatasetInfo(
        name="amazon_photo",
        summary="Amazon Photo co-purchase graph: products, bag-of-words of reviews, categories",
        source="https://github.com/shchur/gnn-benchmark",
        licence=LICENCE,
        files=_files(
            "Amazon/Photo",
            "amazon_electronics_photo.npz",
            "50fbd29f14ff45bf69ad48f9d3866b15880203370d6ddffa9b9761a4433dd7c9",
            "bdb1feb8e6ff42ee44024b04479145029c563fd42fc31bff80af20887ba0439a",
        ),
        counts=GraphCounts(7650, 119081, 745, 8, 115, (369, 1686, 703, 915, 882, 823, 1941, 331)),
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
        notes=STORED,
    ),
    DatasetInfo(
        name="amazon_computers",
        summary="Amazon Computers co-purchase graph: products, bag-of-words of reviews, categories",
        source="https://github.com/shchur/gnn-benchmark",
        licence=LICENCE,
        files=_files(
            "Amazon/Computers",
            "amazon_electronics_computers.npz",
            "b044354bceaece1375eaa4b9f41415082bf488a09fe27cbad03241f82f6023f0",
            "736ba1d9fd85eac2da83a5ad25c463f04b0031a6ca01563f90a7099d9e8ffb2c",
        ),
        counts=GraphCounts(
            13752, 245861, 767, 10, 281, (436, 2142, 1414, 542, 5158, 308, 487, 818, 2156, 291)
        ),
        notes=STORED,
    ),
    DatasetInfo(
        name="coauthor_cs",
        summary=(
            "Coauthor CS graph (Microsoft Academic):"
            " authors, keywords of their papers, fields of study"
        ),
        source="https://github.com/shchur/gnn-benchmark",
        licence=LICENCE,
        files=_files(
            "Coauthor/CS",
            "ms_academic_cs.npz",
            "985ebb51edf615d181525b3244b6d19ac2a23c443aed943fe87b0e3bc109a1c6",
            "933c745734e78908c7eb77172a673fee0503f30e26e5a99b36814d88534c42e3",
        ),
        counts=GraphCounts(
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
        licence=LICENCE,
        files=_files(
            "Coauthor/Physics",
            "ms_academic_phy.npz",
            "14a50711e7763fa4adae85b4f213e541d11195497b06828f173683808a1822e4",
            "e4d68468eba5fb8f6b280ffd406bd53e6e4295ba1dd2967d6fe99b978e4b3375",
        ),
        counts=GraphCounts(34493, 247962, 8415, 5, 0, (5750, 5045, 17426, 2753, 3519)),
        printed=(Printed("dmat/7", 34493, 247962, 5, 8415),),
        notes=(
            "Features are counts of keywords, 1 to 98; dataset.features=binary makes them 0/1, as"
            " torch_geometric's reader does."
        ),
    ),
)
