"""ACM and DBLP, as SDCN distributes them (Bo et al., WWW 2020)."""

from __future__ import annotations

from gclbench.data.dataset_info import NO_DATA_LICENCE, DatasetInfo, GraphCounts, Printed, RawFile

ADDRESS = "https://raw.githubusercontent.com/bdy9527/SDCN/master"
LICENCE = f"Apache-2.0 (repository; {NO_DATA_LICENCE})"


def _files(name: str, features: str, graph: str, label: str) -> tuple[RawFile, ...]:
    """The three files of one graph, with their sha256."""
    folder = f"SDCN/{name}/raw"
    return (
        RawFile(f"{folder}/{name}.txt", (features,), (f"{ADDRESS}/data/{name}.txt",)),
        RawFile(f"{folder}/{name}_graph.txt", (graph,), (f"{ADDRESS}/graph/{name}_graph.txt",)),
        RawFile(f"{folder}/{name}_label.txt", (label,), (f"{ADDRESS}/data/{name}_label.txt",)),
    )


PAGES = (
    DatasetInfo(
        name="acm",
        summary=(
            "ACM paper graph of SDCN: papers joined by a shared author, keyword features,"
            " three fields"
        ),
        source=(
            "https://github.com/bdy9527/SDCN (features there and, identical,"
            " in zhumeiqiBUPT/AM-GCN)"
        ),
        licence=LICENCE,
        files=_files(
            "acm",
            "d17f923ab9ba3cd3e835441075095603bafd5db2b5a1171c0d8a81e4de265659",
            "54529a64f7b2cd373b3cee450afec900bcf34de3dfb87fe436552efe48b15c87",
            "a1637c25de4e946d027f131cc02a2f8cae268ac8488fc12fa22e9b275603ead3",
        ),
        counts=GraphCounts(3025, 13128, 1870, 3, 561, (1061, 965, 999)),
        printed=(Printed("dmat/7", 3025, 13128, 3, 1870),),
    ),
    DatasetInfo(
        name="dblp",
        summary=(
            "DBLP author graph of SDCN: authors joined by a shared paper, keyword features,"
            " four areas"
        ),
        source=(
            "https://github.com/bdy9527/SDCN (features there and in"
            " yueliu1999/Awesome-Deep-Graph-Clustering)"
        ),
        licence=LICENCE,
        files=_files(
            "dblp",
            "db75502016b31ecf792b4361c106f3513284ec2f8ee66c3ce68fbd0c9ec839ee",
            "cadb495a8810b48866ee9a2c92b2b10a7137406476c94eb4ebee642f268df984",
            "31c369e801d7c6891b2d7b31d4c1f2718d69aca498d23a8c48945061fcdc0da6",
        ),
        counts=GraphCounts(4057, 3528, 334, 4, 1466, (1197, 745, 1109, 1006)),
        printed=(
            Printed("dmat/7", 4058, 3528, 4, 334, "4058 is a slip: the release has 4057 nodes"),
        ),
        notes="Not the citation graph that other papers call DBLP; that one is dblp_citation.",
    ),
)
