"""Collections of graphs from TUDataset (Morris et al., GRL+ workshop at ICML 2020)."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Annotated, ClassVar

from gclbench.component.registry import DATASETS
from gclbench.component.settings import OneOf, SameIdAtDefault
from gclbench.data import catalog, mirror
from gclbench.data.damage import DAMAGED_ZIP
from gclbench.data.dataset_info import DatasetInfo, RawFile
from gclbench.data.pages.tu import ADDRESS
from gclbench.data.tu_format import CONSTANT, LABELS_AND_DEGREES, OPTIONAL, REQUIRED, read_tu
from gclbench.graph import Graph, GraphError

TASKS_OF_A_COLLECTION = ("graph_classification", "graph_clustering")


class Collection:
    """A set whose files the catalog lists."""

    task: ClassVar[tuple[str, ...]] = TASKS_OF_A_COLLECTION

    known_as: ClassVar[str]
    features: str = ""

    def load(self) -> Graph:
        """The graph. Raises DataUnavailable without the files."""
        located = mirror.resolve(catalog.info(self.known_as))
        name = located[0].file.path.split("/")[1]
        files = {_part(item.file.path, name): item.path for item in located}
        remarks = tuple(item.remark for item in located if item.remark)
        return read_tu(name, files, self.known_as, remarks, self.features)


@dataclass(frozen=True)
class Labelled(Collection):
    """A set whose nodes have labels."""

    features: Annotated[str, OneOf("labels", LABELS_AND_DEGREES), SameIdAtDefault()] = "labels"


@dataclass(frozen=True)
class Unlabelled(Collection):
    """A set of bare graphs."""

    features: Annotated[str, OneOf("degrees", CONSTANT), SameIdAtDefault()] = "degrees"


@DATASETS.register("mutag")
@dataclass(frozen=True)
class Mutag(Labelled):
    """MUTAG, 188 nitro compounds, 2 classes (a collection of graphs)

    Attributes:
        features: of nodes: their `labels`, one-hot; or `labels_and_degrees`, both one-hot, as
            MVGRL's code has them.
    """

    known_as: ClassVar[str] = "mutag"


@DATASETS.register("ptc_mr")
@dataclass(frozen=True)
class PtcMr(Labelled):
    """PTC_MR, 344 compounds, 2 classes (a collection of graphs)

    Attributes:
        features: as of `mutag`.
    """

    known_as: ClassVar[str] = "ptc_mr"


@DATASETS.register("imdb_binary")
@dataclass(frozen=True)
class ImdbBinary(Unlabelled):
    """IMDB-BINARY, 1000 circles of film actors, 2 classes (a collection of graphs)

    Attributes:
        features: of nodes, which have no labels: their `degrees`, one-hot; or one `constant`, as
            InfoGraph's code gives its kernels and GIN's its network on REDDIT.
    """

    known_as: ClassVar[str] = "imdb_binary"


@DATASETS.register("imdb_multi")
@dataclass(frozen=True)
class ImdbMulti(Unlabelled):
    """IMDB-MULTI, 1500 circles of film actors, 3 classes (a collection of graphs)

    Attributes:
        features: as of `imdb_binary`.
    """

    known_as: ClassVar[str] = "imdb_multi"


@DATASETS.register("reddit_binary")
@dataclass(frozen=True)
class RedditBinary(Unlabelled):
    """REDDIT-BINARY, 2000 threads of 859,254 users, 2 classes (a collection of graphs)

    Attributes:
        features: as of `imdb_binary`.
    """

    known_as: ClassVar[str] = "reddit_binary"


@DATASETS.register("coil_del")
@dataclass(frozen=True)
class CoilDel(Collection):
    """COIL-DEL, 3900 Delaunay graphs of photographs, 100 classes (a collection of graphs)"""

    known_as: ClassVar[str] = "coil_del"


@DATASETS.register("tu")
@dataclass(frozen=True)
class AnyTu:
    """Any set of TUDataset: dataset.tu_name=ENZYMES (a collection of graphs)

    Attributes:
        tu_name: the set's name there. Its files are looked for in the folder
            `TUDataset/NAME/raw` of a mirror, as they are or as `.gz`; else `NAME.zip` is
            downloaded. No checksum is known, so the content hash alone says what was read.
    """

    task: ClassVar[tuple[str, ...]] = TASKS_OF_A_COLLECTION

    tu_name: str

    def load(self) -> Graph:
        """The graph, named after the set.

        Raises:
            DataUnavailable: without the files.
            GraphError: the name is none, or the files are damaged.
        """
        name = self.tu_name
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", name):
            raise GraphError(
                f"dataset.tu_name={name} is no name of a set; give it as TUDataset lists it, for"
                " example dataset.tu_name=ENZYMES"
            )
        folder = _folder(name)
        if folder is not None:
            return read_tu(name, _in_folder(folder, name), name)
        located = _archive(name)
        return read_tu(
            name, _in_archive(located, name), name, (located.remark,) if located.remark else ()
        )


def _part(path: str, name: str) -> str:
    """`A` of `TUDataset/MUTAG/raw/MUTAG_A.txt`."""
    return path.rpartition("/")[2].removeprefix(f"{name}_").removesuffix(".txt")


def _folder(name: str) -> Path | None:
    """The first mirror folder that holds the set's edges."""
    for place in mirror.folders():
        folder = place / "TUDataset" / name / "raw"
        if any((folder / f"{name}_A.txt{end}").is_file() for end in ("", ".gz")):
            return folder
    return None


def _in_folder(folder: Path, name: str) -> dict[str, Path]:
    """The parts that a folder has; a file as it is before a `.gz`."""
    return {
        part: path
        for part in (*REQUIRED, *OPTIONAL)
        for end in (".gz", "")
        if (path := folder / f"{name}_{part}.txt{end}").is_file()
    }


def _archive(name: str) -> mirror.Located:
    """Where the set's archive lies; it is downloaded where no mirror has it.

    Raises:
        DataUnavailable: it cannot be had.
    """
    file = RawFile(f"TUDataset/{name}/{name}.zip", (), (f"{ADDRESS}/{name}.zip",))
    page = catalog.info("tu")
    (located,) = mirror.resolve(
        DatasetInfo("tu", page.summary, page.source, page.licence, files=(file,))
    )
    return located


def _in_archive(located: mirror.Located, name: str) -> Mapping[str, IO[bytes]]:
    """The parts that a set's archive has.

    Raises:
        GraphError: it is no archive, or a damaged one.
    """
    try:
        with zipfile.ZipFile(located.path) as archive:
            inside = {member.rpartition("/")[2]: member for member in archive.namelist()}
            return {
                part: BytesIO(archive.read(inside[f"{name}_{part}.txt"]))
                for part in (*REQUIRED, *OPTIONAL)
                if f"{name}_{part}.txt" in inside
            }
    except OSError as error:
        raise GraphError(f"{located.path} cannot be read: {error}") from error
    except DAMAGED_ZIP as error:
        reason = str(error) or type(error).__name__
        raise GraphError(
            f"{located.path} cannot be read as a zip archive ({reason}); remove it, or replace it"
            " with a whole copy"
        ) from error
