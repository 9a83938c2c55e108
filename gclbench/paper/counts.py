"""Counts of datasets: as loaded, and as the papers print them (the catalog's pages)."""

from __future__ import annotations

from gclbench.data.catalog import CATALOG
from gclbench.paper.aggregate import Fact
from gclbench.paper.reference import PrintedValue


def counted(dataset: str, name: str) -> Fact:
    """A count of a dataset as loaded, of a collection's nodes and edges the means over its graphs;
    without a number where its files have not been seen here."""
    page = CATALOG.get(dataset)
    if page is None or page.counts is None:
        return Fact()
    means = dict(zip(("nodes", "edges", "classes"), page.counts.as_printed, strict=True))
    number = means.get(name, getattr(page.counts, name))
    if number is None:
        return Fact()
    return Fact(text=str(number), number=float(number))


def printed_count(table: str, dataset: str, name: str) -> PrintedValue | None:
    """What a paper prints as a count, with the catalog's remark where it is not the count as
    loaded."""
    page = CATALOG.get(dataset)
    found = next((item for item in page.printed if item.table == table), None) if page else None
    number = getattr(found, name, None)
    if found is None or number is None:
        return None
    paper, _, table_number = table.partition("/")
    return PrintedValue(
        paper=paper,
        table=table_number,
        task="dataset_statistics",
        dataset=dataset,
        method="",
        variant="",
        metric=name,
        protocol=None,
        mean=float(number),
        std=None,
        scale="none",
        runs=None,
        note=found.remark,
        doubtful=name == "edges" and "swapped" in found.remark,
        text=str(number),
    )


def remark_on(table: str, dataset: str) -> str:
    """Why a paper's counts of a dataset differ from those as loaded, or why nothing was counted; ""
    where there is nothing to say."""
    page = CATALOG.get(dataset)
    if page is None:
        return ""
    remark = next((item.remark for item in page.printed if item.table == table), "")
    if page.counts is not None:
        return remark
    # Nothing of ours differs yet; a printed number is doubtful all the same.
    return f"{remark}. {page.notes}" if "swapped" in remark else page.notes
