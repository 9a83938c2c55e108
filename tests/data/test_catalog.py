from __future__ import annotations

import re
from pathlib import Path

import pytest

from gclbench.component.registry import DATASETS
from gclbench.data import catalog, mirror
from gclbench.data.catalog import CATALOG
from gclbench.graph import describe_graph

SLOW = {"coauthor_phy"}
COUNTED = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
    for name, page in CATALOG.items()
    if page.counts is not None
]


@pytest.mark.parametrize("name", COUNTED)
def test_counts_as_loaded_are_the_catalog_s(name: str, request: pytest.FixtureRequest) -> None:
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
    assert graph.name == name


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
        nodes, edges, isolated, features, classes = (int(row[i]) for i in (2, 4, 5, 6, 7))
        counts = page.counts
        assert (nodes, edges, isolated, features, classes) == (
            counts.nodes,
            counts.edges,
            counts.isolated,
            counts.features,
            counts.classes,
        )
        assert row[8] == " ".join(str(size) for size in counts.class_sizes)
        compared += 1
    assert compared == 9


@pytest.mark.parametrize(
    "name", [name for name, page in CATALOG.items() if page.printed and page.counts]
)
def test_printed_counts_differ_only_where_said(name: str) -> None:
    page = CATALOG[name]
    counts = page.counts
    assert counts is not None
    for printed in page.printed:
        same = (printed.nodes, printed.edges, printed.classes) == (
            counts.nodes,
            counts.edges,
            counts.classes,
        )
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
