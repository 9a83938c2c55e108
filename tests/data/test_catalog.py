from __future__ import annotations

import re
from pathlib import Path

import pytest

from gclbench.component.registry import DATASETS
from gclbench.data import catalog, mirror
from gclbench.data.catalog import CATALOG
from gclbench.data.graph_counts import describe_graph

SLOW = {"coauthor_phy", "reddit_binary"}
COUNTED = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
    for name, page in CATALOG.items()
    if page.counts is not None
]


CONTENT = {
    "acm": "b4d8fa143170ab7fafc524730ab77497d86fad9a92279d1dde0e1bf68250f30e",
    "amazon_photo": "a8ea0bfdd89e3020f7dcf681530cc205c26361ee8814c88d5cb2afbe75843a72",
    "citeseer": "53592a29d7103741f012ee1fa521be44d5e10d2d422b30cbdaec63aef14ddf68",
    "coauthor_cs": "68e0207e7f18c04eb5f31ac63fd0fc73ba3711e905d758a203ed9205d3136c54",
    "coauthor_phy": "d8e227dca734716efe0f9aa2d0d5f5a5d8815433b4efb35b89b4dcb6cea9307b",
    "cora": "054581281f824491b66228090279c3ea0b9dca5d70a8932845b0790c74de7f9f",
    "dblp": "50c18c817f27db1feabe9c4aea63919167acecd960230fa63823caf2973fb2c7",
    "digits": "35b2f95b4d52e9902c467b2f34ae1f2110ba916fee17cd692c95cadc9b9ffc87",
}
"""Content hashes are part of the ids of records: with another hash every run is a new one."""


@pytest.mark.parametrize("name", COUNTED)
def test_counts_and_content_as_loaded_are_as_listed(
    name: str, request: pytest.FixtureRequest
) -> None:
    page = CATALOG[name]
    if page.files:
        request.getfixturevalue("real_data")
    graph = DATASETS.load(name)().load()
    found = describe_graph(graph)
    counts = page.counts
    assert counts is not None
    assert {key: found[key] for key in ("nodes", "edges", "features", "classes", "isolated")} == {
        "nodes": counts.nodes,
        "edges": counts.edges,
        "features": counts.features,
        "classes": counts.classes,
        "isolated": counts.isolated,
    }
    assert tuple(found["class_sizes"]) == counts.class_sizes
    assert counts.items == graph.items and graph.name == name
    assert graph.content_hash == CONTENT.get(name, graph.content_hash)


def test_counts_are_the_data_folder_s_own(mirror: Path) -> None:
    """The catalog's numbers against the table that came with the data."""
    readme = mirror / "README.md"
    if not readme.is_file():
        pytest.skip(f"{readme} is not there")
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in readme.read_text(encoding="utf-8").splitlines()
        if "/raw` |" in line
    ]
    table = {row[1].strip("`"): row for row in rows if len(row) == 11}
    compared = 0
    for page in CATALOG.values():
        if not page.files or page.counts is None:
            continue
        row = table[page.files[0].path.rpartition("/")[0]]
        counts = page.counts
        if counts.graphs is not None:
            graphs, nodes, edges = (int(row[i]) for i in (2, 3, 5))
            assert (graphs, nodes, edges) == (counts.graphs, counts.nodes, counts.edges)
            assert row[8].startswith(f"{counts.classes} (")
            compared += 1
            continue
        nodes, edges, isolated, features, classes = (int(row[i]) for i in (2, 4, 5, 6, 7))
        assert (nodes, edges, isolated, features, classes) == (
            counts.nodes,
            counts.edges,
            counts.isolated,
            counts.features,
            counts.classes,
        )
        assert row[8] == " ".join(str(size) for size in counts.class_sizes)
        compared += 1
    assert compared == 16


@pytest.mark.parametrize(
    "name", [name for name, page in CATALOG.items() if page.printed and page.counts]
)
def test_printed_counts_differ_only_where_said(name: str) -> None:
    page = CATALOG[name]
    counts = page.counts
    assert counts is not None
    for printed in page.printed:
        same = (printed.nodes, printed.edges, printed.classes) == counts.as_printed
        assert same == (not printed.remark), f"{name} in {printed.table}"
        assert printed.features in (None, counts.features)


def test_printed_counts_are_the_papers(mirror: Path) -> None:
    """Table 7 of the DMAT paper as transcribed beside the data."""
    tables = mirror.parent / "papers" / "TABLES.md"
    if not tables.is_file():
        pytest.skip(f"{tables} is not there")
    section = (
        tables.read_text(encoding="utf-8").partition("## 000 — Table 7")[2].partition("Notes.")[0]
    )
    rows = [
        [cell.strip().replace(",", "") for cell in line.split("|")[1:-1]]
        for line in section.splitlines()
        if line.startswith("|")
    ][2:]
    names = [
        "acm",
        "dblp",
        "citeseer",
        "cora",
        "pubmed",
        "amazon_photo",
        "coauthor_cs",
        "coauthor_phy",
    ]
    for name, row in zip(names, rows, strict=True):
        (printed,) = [item for item in CATALOG[name].printed if item.table == "dmat/7"]
        assert [printed.nodes, printed.classes, printed.features, printed.edges] == [
            int(cell) for cell in row[1:]
        ], name


def test_checksums_are_those_of_the_data_folder(mirror: Path) -> None:
    readme = mirror / "README.md"
    if not readme.is_file():
        pytest.skip(f"{readme} is not there")
    text = readme.read_text(encoding="utf-8")
    for page in CATALOG.values():
        for file in page.files:
            assert file.checksums and file.git_blob in text, file.path
            assert all(sha256 in text for sha256 in file.sha256), file.path


@pytest.mark.parametrize(
    "name", [name for name, page in CATALOG.items() if page.files and page.counts]
)
def test_the_mirror_s_files_verify(name: str, real_data: Path) -> None:
    assert {state.state for state in mirror.verify(name)} == {"ok"}


def test_every_dataset_has_a_page_and_every_page_a_dataset() -> None:
    assert {name for name, entry in DATASETS.entries.items() if entry.builtin} == set(CATALOG)


def test_pages_are_complete() -> None:
    for name, page in CATALOG.items():
        assert page.name == name and page.summary and page.source and page.licence
        for file in page.files:
            assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in file.sha256)
            assert re.fullmatch(r"([0-9a-f]{40})?", file.git_blob)
            assert file.urls and all(url.startswith("https://") for url in file.urls)
            assert not file.path.startswith("/") and ".." not in file.path


def test_a_dataset_s_page_as_plain_values() -> None:
    page = catalog.describe_info("dblp")
    assert (page["nodes"], page["undirected edges"], page["isolated nodes"]) == (4057, 3528, 1466)
    assert page["printed"] == [
        "dmat/7: 4058 nodes, 3528 edges, 4 classes (4058 is a slip: the release has 4057 nodes)"
    ]
    assert "SDCN" in str(page["source"]) and "Apache-2.0" in str(page["licence"])
    assert catalog.describe_info("wiki_cs")["nodes"] is None
