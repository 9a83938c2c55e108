"""Collections of graphs, as TUDataset distributes them (Morris et al., GRL+ workshop at ICML
2020)."""

from __future__ import annotations

from gclbench.data.dataset_info import NO_DATA_LICENCE, DatasetInfo, GraphCounts, Printed, RawFile

ADDRESS = "https://www.chrsmrrs.com/graphkerneldatasets"
SOURCE = f"TUDataset, {ADDRESS} (checked against the copies that repositories hold)"
LICENCE = f"none stated by the collection; {NO_DATA_LICENCE}"


def raw_file(name: str, part: str, sha256: str = "", rebuilt: bool = False) -> RawFile:
    """One text file of a set: part `A` of `MUTAG` is `MUTAG_A.txt`, inside `MUTAG.zip`.

    Args:
        rebuilt: the checksum is that of a rebuilt copy.
    """
    return RawFile(
        f"TUDataset/{name}/raw/{name}_{part}.txt",
        (sha256,) if sha256 else (),
        (f"{ADDRESS}/{name}.zip#{name}/{name}_{part}.txt",),
        original_unseen=rebuilt,
    )


def _files(name: str, hashes: dict[str, str], rebuilt: bool = False) -> tuple[RawFile, ...]:
    return tuple(raw_file(name, part, sha256, rebuilt) for part, sha256 in hashes.items())


PAGES = (
    DatasetInfo(
        name="mutag",
        summary="Nitro compounds as graphs of atoms: mutagenic or not; atom types are features",
        source=SOURCE,
        licence=LICENCE,
        files=_files(
            "MUTAG",
            {
                "A": "d9656ca7493f3445d737c711710bb36fd432dddd1c0ea32e1d4713c86ebd28e2",
                "graph_indicator": (
                    "7d520a4d6c7961c0cdeabe076d8fe27e795b6d373485c9a2b744987e560a2056"
                ),
                "graph_labels": "a1518ea39ba3426bd42f57396b9c4baffe68e9adc718caeeab0119c6591a5f2c",
                "node_labels": "678f429965490e84dd27713017538c995fc05d1621beac910848b600015ee863",
            },
        ),
        counts=GraphCounts(3371, 3721, 7, 2, 0, (63, 125), graphs=188),
        printed=(Printed("mmix/1", 17.93, 19.79, 2, graphs=188),),
    ),
    DatasetInfo(
        name="ptc_mr",
        summary="Compounds as graphs of atoms: carcinogenic for male rats or not",
        source=SOURCE,
        licence=LICENCE,
        files=_files(
            "PTC_MR",
            {
                "A": "f79523ff94dfbef539e5602a8ac1931a50a2800f33fa1d30e5e31725289b5202",
                "graph_indicator": (
                    "d52754f3cbc54e29324f884b4c17200c16e06db0c499afae300b4fa1bb6d794b"
                ),
                "graph_labels": "64210accbe4c6c027535b1294e0da652b1f539667f7a2d4bf5121dcd8b00a224",
                "node_labels": "cc50d1e1c5f4c98b2100cf50c5ddd88ff28b419a9180d531046b75ce22983235",
            },
        ),
        counts=GraphCounts(4915, 5054, 18, 2, 0, (192, 152), graphs=344),
        printed=(Printed("mmix/1", 14.29, 14.69, 2, graphs=344),),
    ),
    DatasetInfo(
        name="imdb_binary",
        summary="Film actors around one of them, joined by a shared film: of which genre",
        source=SOURCE,
        licence=LICENCE,
        files=_files(
            "IMDB-BINARY",
            {
                "A": "23c8964bab82f81469271186d721131714a265d0ca8c44ae048118da1d0c4092",
                "graph_indicator": (
                    "415cc3ba25b8c647dcf34d3de034f675ee070616f3b803be939cb26773489f26"
                ),
                "graph_labels": "63a44411fd6342b9c4429828c16e144a2a11ef5244e25bb60f0ffa8b3ee2ffce",
            },
        ),
        counts=GraphCounts(19773, 96531, 65, 2, 0, (500, 500), graphs=1000),
        printed=(
            Printed(
                "mmix/1",
                19.77,
                193.06,
                2,
                graphs=1000,
                remark="the paper counts both directions of the edges",
            ),
        ),
        notes="The files list each pair twice; repeated pairs are dropped.",
    ),
    DatasetInfo(
        name="imdb_multi",
        summary="Film actors around one of them, joined by a shared film: of which of 3 genres",
        source=SOURCE,
        licence=LICENCE,
        files=_files(
            "IMDB-MULTI",
            {
                "A": "fb538b23758d78df199272301e57dc74ad5754d6c3d79d5ed0a343193ddf4ec6",
                "graph_indicator": (
                    "0274532a0e47dad9cdd21c08995c2265e43040a2c2a3b36c62fdb790994571d3"
                ),
                "graph_labels": "613c2357b6b996f6f04b91697a99da87774820f9d08bf22813992f4c7afda855",
            },
        ),
        counts=GraphCounts(19502, 98903, 65, 3, 0, (500, 500, 500), graphs=1500),
        printed=(
            Printed("mmix/1", 13.0, 65.93, 3, graphs=1500, remark="65.9353 is cut, not rounded"),
        ),
        notes="The files list each pair twice; repeated pairs are dropped.",
    ),
    DatasetInfo(
        name="reddit_binary",
        summary="Threads as graphs of users who answer each other: discussion or question-answer",
        source=SOURCE,
        licence=LICENCE,
        files=_files(
            "REDDIT-BINARY",
            {
                "A": "b228731d53869d651d352e70307a7ac25f398dbf1760443ba17634d5b1b08526",
                "graph_indicator": (
                    "fad8bb968f18c038d3dcd429c0387dc153d2b4e5880b2f55422444acd939deeb"
                ),
                "graph_labels": "06c3b8209797dacc2aacb74f9ac4e5d81083f998dab96f38ff19279874059813",
            },
            rebuilt=True,
        ),
        counts=GraphCounts(859254, 995508, 65, 2, 21, (1000, 1000), graphs=2000),
        printed=(
            Printed(
                "mmix/1",
                508.52,
                497.75,
                2,
                graphs=2000,
                remark="508.52 nodes a graph is the figure of REDDIT-MULTI-5K",
            ),
        ),
    ),
    DatasetInfo(
        name="coil_del",
        summary="Delaunay graphs of corner points in photographs of 100 objects; coordinates",
        source=SOURCE,
        licence=LICENCE,
        files=_files(
            "COIL-DEL",
            {
                "A": "7b7970a56715fe47845618ac2f554251102b8d3079242c029eb98d635c69094e",
                "graph_indicator": (
                    "cd94e684fb13c1a9267f540f9a6567f4250c599de732a25e06d5c21561cf01dd"
                ),
                "graph_labels": "24536ac3f082fd14e9be810b85539cea8f981ff2d221656a8fe329511849eb34",
                "node_attributes": (
                    "9918b0de54ce4381aee8884888c49cc01e4c1976290b7f7c875ab358fe489bb8"
                ),
            },
        ),
        counts=GraphCounts(83995, 211524, 2, 100, 0, (39,) * 100, graphs=3900),
    ),
    DatasetInfo(
        name="tu",
        summary="Any other set of TUDataset: dataset.tu_name=ENZYMES",
        source=f"TUDataset, {ADDRESS}",
        licence="the set's own; TUDataset states none",
        notes="No checksum is known; the content hash is part of every run.",
    ),
)
