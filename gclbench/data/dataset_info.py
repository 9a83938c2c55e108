"""What is known of a dataset before it is loaded: its files, checksums, licence and counts.

No torch here. Checksums are of the decompressed content. Counts are of the graph as loaded:
distinct undirected edges, no self-loops. What papers print is kept beside them, with a remark
wherever it differs.
"""

from __future__ import annotations

from dataclasses import dataclass

NO_DATA_LICENCE = "no separate licence of the data was seen"
SWAPPED = "the paper's Pubmed and DBLP edge counts are swapped"
"""A remark on the printed counts of both datasets. A printed number with it is doubtful."""


@dataclass(frozen=True)
class RawFile:
    """One file of a dataset as it is distributed.

    A file with neither checksum is taken as it is, with a warning, and its sha256 goes into the
    record.

    Attributes:
        path: where it lies in a mirror or in the cache, with forward slashes.
        sha256: accepted checksums (hex); empty when none is known.
        urls: original addresses, tried in order after the mirrors.
        original_unseen: the checksums in `sha256` are a rebuilt copy's, and the original's is not
            known. Bytes from an original address or the cache are then taken as they are.
        git_blob: git's id of the accepted content (hex), or "": the sha1 of "blob SIZE", a zero
            byte and the content. Repositories list it where they publish no sha256.
    """

    path: str
    sha256: tuple[str, ...]
    urls: tuple[str, ...]
    original_unseen: bool = False
    git_blob: str = ""

    @property
    def checksums(self) -> tuple[str, ...]:
        """The accepted checksums, each with its kind in front."""
        blob = (f"git blob {self.git_blob}",) if self.git_blob else ()
        return (*(f"sha256 {sha256}" for sha256 in self.sha256), *blob)


@dataclass(frozen=True)
class GraphCounts:
    """Counts of a graph as loaded; `edges` are distinct undirected edges without self-loops.

    Attributes:
        isolated: nodes without an edge.
        class_sizes: items of each class, unlabelled ones left out.
        graphs: how many a collection has; None for a single graph.
    """

    nodes: int
    edges: int
    features: int
    classes: int
    isolated: int
    class_sizes: tuple[int, ...]
    graphs: int | None = None

    @property
    def items(self) -> int:
        """Graphs of a collection, else nodes."""
        return self.nodes if self.graphs is None else self.graphs

    @property
    def as_printed(self) -> tuple[float, float, int]:
        """(nodes, edges, classes) as papers print them: of a collection the means over its graphs,
        with two decimals."""
        if self.graphs is None:
            return self.nodes, self.edges, self.classes
        nodes, edges = (round(number / self.graphs, 2) for number in (self.nodes, self.edges))
        return nodes, edges, self.classes


@dataclass(frozen=True)
class Printed:
    """Counts as a paper prints them.

    Attributes:
        table: the table's name in gclbench (`dmat/7`).
        nodes, edges: of a collection the means over its graphs, with two decimals.
        graphs: how many a collection has; None for a single graph.
        remark: why it differs from the counts as loaded; empty where it does not.
    """

    table: str
    nodes: float
    edges: float
    classes: int
    features: int | None = None
    remark: str = ""
    graphs: int | None = None


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset's page.

    Attributes:
        counts: as loaded; None where we have not had the files, and for graphs of no fixed size.
    """

    name: str
    summary: str
    source: str
    licence: str
    files: tuple[RawFile, ...] = ()
    counts: GraphCounts | None = None
    printed: tuple[Printed, ...] = ()
    notes: str = ""
