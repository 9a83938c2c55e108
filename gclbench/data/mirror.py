"""Finding a dataset's files: mirrors, the cache, the original address. No torch here.

A file is looked for in the folders of GCLBENCH_MIRROR, the cache (GCLBENCH_DATA), the addresses of
GCLBENCH_MIRROR and the original address, in that order; the first with the right checksum is used.
What lies in a mirror folder is read where it is and never changed; a `.gz` there, and every
download, becomes a plain file in the cache. GCLBENCH_OFFLINE=1 opens no socket.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import logging
import os
import re
import urllib.request
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gclbench.data import zip_member
from gclbench.data.catalog import CATALOG, info
from gclbench.data.damage import DAMAGED_GZIP
from gclbench.data.dataset_info import DatasetInfo, RawFile
from gclbench.machine.environment import cache_folder
from gclbench.machine.paths import expanded
from gclbench.records.atomic import beside, sweep_away_abandoned

log = logging.getLogger(__name__)

TIMEOUT_S = 60
_BLOCK = 1 << 20
_warned: set[str] = set()


class DataUnavailable(RuntimeError):
    """Files that could not be had; the text says what was tried, and what to put where."""


class _Rejected(Exception):
    """One source that did not give the file; the text is the reason."""


@dataclass(frozen=True)
class Located:
    """A file that was found.

    Attributes:
        path: where to read it.
        sha256: of its bytes.
        known: whether the bytes have a checksum that the catalog lists.
        source: the folder or address it came from.
    """

    file: RawFile
    path: Path
    sha256: str
    known: bool
    source: str

    @property
    def remark(self) -> str | None:
        """A sentence for the record when the bytes could not be checked."""
        return (
            None
            if self.known
            else f"{self.file.path}: no checksum to compare with; sha256 seen {self.sha256}."
        )

    def __str__(self) -> str:
        checked = "ok" if self.known else f"unchecked, sha256 {self.sha256}"
        return f"{self.file.path}  {checked}  {self.path}" + (
            f"  from {self.source}" if self.source != str(self.path) else ""
        )


@dataclass(frozen=True)
class FileState:
    """What `gclbench data verify` says about one file.

    Attributes:
        state: `ok`, `missing`, `wrong bytes`, `unreadable`, or `unknown hash` (present, but nothing
            to compare with).
        where: the file looked at, or where it belongs when it is missing.
        sha256: of its bytes, where they were read and not rejected.
    """

    path: str
    state: str
    where: Path
    sha256: str | None

    @property
    def ok(self) -> bool:
        """Whether the dataset can be loaded from this file."""
        return self.state in ("ok", "unknown hash")

    def __str__(self) -> str:
        return f"{self.path}  {self.state}  {self.where}" + (
            f"  sha256 {self.sha256}" if self.state == "unknown hash" else ""
        )


def offline() -> bool:
    """Whether GCLBENCH_OFFLINE forbids sockets (any value but empty, 0, false and no)."""
    return os.environ.get("GCLBENCH_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")


def mirrors() -> list[str]:
    """The folders and addresses of GCLBENCH_MIRROR, in order.

    Separators are the platform's path separator, commas and white space; the colons of an address
    are not separators. A value that is one existing folder is taken whole, whatever is in its name.
    """
    value = os.environ.get("GCLBENCH_MIRROR", "").strip()
    if not value:
        return []
    if Path(expanded(value)).is_dir():
        return [value]
    separators = r"[\s,]+" if os.pathsep == ":" else rf"[\s,{re.escape(os.pathsep)}]+"
    found: list[str] = []
    for word in re.split(separators, value):
        if os.pathsep == ":":
            # A colon separates unless it follows http(s) or stands before a port number.
            found += re.findall(r"https?://[^:]+(?::\d+(?:/[^:]*)?)?|[^:]+", word)
        else:
            found.append(word)
    return [word for word in found if word]


def folders() -> list[Path]:
    """The folders of GCLBENCH_MIRROR, in order."""
    return [Path(expanded(mirror)) for mirror in mirrors() if not _is_address(mirror)]


def resolve(page: DatasetInfo) -> list[Located]:
    """Every file of a dataset with where it was found; downloads what is missing.

    Raises:
        DataUnavailable: one message for all the files that could not be had.
    """
    found: list[Located] = []
    failures: list[tuple[RawFile, list[str]]] = []
    for file in page.files:
        tried: list[str] = []
        located = _search(file, tried)
        if located is None:
            failures.append((file, tried))
            continue
        found.append(located)
        if located.remark and file.path not in _warned:
            _warned.add(file.path)
            log.warning("%s", located.remark)
    if failures:
        raise DataUnavailable(_explain(page, failures))
    return found


def locate(page: DatasetInfo) -> dict[str, Path]:
    """The files of a dataset: path in the mirror's layout → where to read it; downloads what is
    missing.

    Raises:
        DataUnavailable: as `resolve`.
    """
    return {located.file.path: located.path for located in resolve(page)}


def fetch(name: str) -> list[Located]:
    """Makes every file of the dataset available here; an empty list for one that needs no files.

    Raises:
        UnknownName: no such dataset.
        DataUnavailable: as `resolve`.
    """
    return resolve(info(name))


def path(name: str) -> dict[str, Path]:
    """Where each file of the dataset is, or where it would be put; opens no socket.

    Raises:
        UnknownName: no such dataset.
    """
    return {state.path: state.where for state in verify(name)}


def verify(name: str) -> list[FileState]:
    """The state of each file of the dataset in the mirror folders and the cache; opens no socket,
    writes nothing.

    Raises:
        UnknownName: no such dataset.
    """
    return [_state(file) for file in info(name).files]


def _state(file: RawFile) -> FileState:
    wrong: FileState | None = None
    for place, in_cache in _places(file):
        if not place.is_file():
            continue
        try:
            seen = _sha256_of(place)
            known = _accept(file, place, seen, trusted=in_cache)
        except (_Rejected, OSError) as error:
            log.debug("%s: %s", place, error)
            wrong = wrong or FileState(
                file.path,
                "wrong bytes" if isinstance(error, _Rejected) else "unreadable",
                place,
                None,
            )
            continue
        return FileState(file.path, "ok" if known else "unknown hash", place, seen)
    return wrong or FileState(file.path, "missing", cache_folder() / file.path, None)


def _places(file: RawFile) -> Iterator[tuple[Path, bool]]:
    """Where the file may lie on this machine, in order, and whether that is the cache."""
    yield from ((folder / file.path, False) for folder in folders())
    yield cache_folder() / file.path, True
    yield from ((folder / f"{file.path}.gz", False) for folder in folders())


def _search(file: RawFile, tried: list[str]) -> Located | None:
    for place, in_cache in _places(file):
        if not place.is_file():
            tried.append(f"{place}: no such file")
            continue
        try:
            if place.suffix == ".gz":
                with gzip.open(place) as stream:
                    return _store(file, stream, str(place), trusted=False)
            seen = _sha256_of(place)
            known = _accept(file, place, seen, trusted=in_cache)
            return Located(file, place, seen, known, str(place))
        except (_Rejected, OSError, EOFError, zlib.error) as error:
            _note(tried, str(place), error)
    for address, original in _addresses(file):
        if offline():
            tried.append(f"{address}: not tried, GCLBENCH_OFFLINE is set")
            continue
        try:
            return _download(file, address, original)
        except (
            _Rejected,
            OSError,
            EOFError,
            zlib.error,
            ValueError,
            http.client.HTTPException,
        ) as error:
            _note(tried, address, error)
    return None


def _note(tried: list[str], source: str, error: Exception) -> None:
    sentence = f"{source}: {error}"
    log.warning("%s; trying the next source", sentence)
    tried.append(sentence)


def _addresses(file: RawFile) -> Iterator[tuple[str, bool]]:
    """Where the file may be downloaded, in order, and whether that is an original address."""
    for mirror in mirrors():
        if _is_address(mirror):
            yield f"{mirror.rstrip('/')}/{file.path}", False
            yield f"{mirror.rstrip('/')}/{file.path}.gz", False
    yield from ((url, True) for url in file.urls)


def _is_address(mirror: str) -> bool:
    return mirror.startswith(("http://", "https://"))


def _download(file: RawFile, address: str, original: bool) -> Located:
    log.info("downloading %s", address)
    if zip_member.is_member(address):
        with zip_member.opened(address, TIMEOUT_S) as stream:
            return _store(file, stream, address, trusted=original)
    with urllib.request.urlopen(address, timeout=TIMEOUT_S) as response:
        if address.endswith(".gz"):
            with gzip.open(response) as stream:
                return _store(file, stream, address, trusted=original)
        length = response.headers.get("Content-Length")
        return _store(
            file, response, address, trusted=original, length=int(length) if length else None
        )


def _store(
    file: RawFile,
    stream: IO[bytes] | gzip.GzipFile,
    source: str,
    *,
    trusted: bool,
    length: int | None = None,
) -> Located:
    """Copies a stream into the cache if its bytes are right; the cache never holds half a file."""
    target = cache_folder() / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = beside(target)
    try:
        digest, size = hashlib.sha256(), 0
        with open(temporary, "xb") as out:
            while block := stream.read(_BLOCK):
                digest.update(block)
                size += len(block)
                out.write(block)
            out.flush()
            os.fsync(out.fileno())
        if length is not None and size != length:
            raise _Rejected(f"the connection ended after {size} of {length} bytes")
        seen = digest.hexdigest()
        known = _accept(file, temporary, seen, trusted)
        temporary.chmod(0o644)
        sweep_away_abandoned(temporary)
        os.replace(temporary, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
    return Located(file, target, seen, known, source)


def _accept(file: RawFile, place: Path, seen: str, trusted: bool) -> bool:
    """Whether the bytes have a listed checksum; raises when they must not be used.

    Args:
        seen: the sha256 of the bytes at `place`.
        trusted: they come from an original address or from the cache.
    """
    if seen in file.sha256:
        return True
    blob = _git_blob_of(place) if file.git_blob else ""
    if blob and blob == file.git_blob:
        return True
    if not file.checksums or (file.original_unseen and trusted):
        return False
    kinds = [f"sha256 {seen}"] * bool(file.sha256) + [f"git blob {blob}"] * bool(blob)
    raise _Rejected(f"wrong bytes, {', '.join(kinds)}")


def _sha256_of(place: Path) -> str:
    """Of the decompressed content for a `.gz`."""
    digest = hashlib.sha256()
    for block in _content(place):
        digest.update(block)
    return digest.hexdigest()


def _git_blob_of(place: Path) -> str:
    """Git's id of the content, decompressed for a `.gz`.

    The size of the content goes into the hash first, so the file is read twice.
    """
    size = sum(len(block) for block in _content(place))
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for block in _content(place):
        digest.update(block)
    return digest.hexdigest()


def _content(place: Path) -> Iterator[bytes]:
    """The bytes of a file, decompressed for a `.gz`, a block at a time."""
    try:
        with gzip.open(place) if place.suffix == ".gz" else open(place, "rb") as stream:
            while block := stream.read(_BLOCK):
                yield block
    except DAMAGED_GZIP as error:
        raise _Rejected(f"damaged gzip file ({error})") from error


def _explain(page: DatasetInfo, failures: list[tuple[RawFile, list[str]]]) -> str:
    lines = [f"dataset '{page.name}': {len(failures)} of {len(page.files)} files could not be had."]
    for file, tried in failures:
        lines.append(f"\n{file.path}")
        lines += [f"  tried    {sentence}" for sentence in tried]
        lines += [f"  address  {url}" for url in file.urls]
        if file.sha256:
            lines.append(f"  sha256   {' or '.join(file.sha256)}")
        if file.git_blob:
            lines.append(f"  git blob {file.git_blob}")
        if not file.checksums:
            lines.append("  checksum not known")
        lines.append(f"  put it   {cache_folder() / file.path}")
    # What dataset=tu names is fetched by a run alone.
    again = "repeat the command" + " without GCLBENCH_OFFLINE" * offline()
    fetch = f"gclbench data fetch {page.name}" if CATALOG.get(page.name, page).files else again
    lines.append(
        f"\nWith a network: {fetch}. Without: put the files at the paths"
        " above, or set GCLBENCH_MIRROR to a folder or address that holds them in this layout."
    )
    if offline():
        lines.append("GCLBENCH_OFFLINE is set, so no socket was opened.")
    return "\n".join(lines)
