"""The page of every dataset: where it comes from, checksums, licence, counts. No torch here.

A family of sources has a file in `gclbench/data/pages`; a new dataset is added there.
"""

from __future__ import annotations

from gclbench.component.registry import UnknownName, nearest
from gclbench.data.dataset_info import DatasetInfo
from gclbench.data.pages import citation_full, planetoid, sdcn, shchur, tu, wiki_cs, without_files

CATALOG: dict[str, DatasetInfo] = {
    page.name: page
    for family in (planetoid, sdcn, shchur, citation_full, wiki_cs, tu, without_files)
    for page in family.PAGES
}


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
        **({"graphs": counts.graphs} if counts and counts.graphs else {}),
        "nodes": counts.nodes if counts else None,
        "undirected edges": counts.edges if counts else None,
        "features": counts.features if counts else None,
        "classes": counts.classes if counts else None,
        "isolated nodes": counts.isolated if counts else None,
        "class sizes": list(counts.class_sizes) if counts else None,
        "printed": [
            f"{p.table}: "
            + (f"{p.graphs} graphs of " if p.graphs else "")
            + f"{p.nodes} nodes, {p.edges} edges, {p.classes} classes"
            + (f" ({p.remark})" if p.remark else "")
            for p in page.printed
        ],
        "files": [file.path for file in page.files],
        "notes": page.notes,
    }
