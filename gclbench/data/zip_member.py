"""A file inside a downloaded zip archive: `https://host/ENZYMES.zip#ENZYMES/ENZYMES_A.txt`."""

from __future__ import annotations

import functools
import io
import urllib.request
import zipfile
from typing import IO

from gclbench.data.damage import DAMAGED_ZIP

SEPARATOR = ".zip#"
"""Between an archive's address and the name of a file in it."""


def is_member(address: str) -> bool:
    """Whether an address names a file inside an archive."""
    return SEPARATOR in address


def opened(address: str, timeout: float) -> IO[bytes]:
    """The content of a file inside an archive.

    The last archive stays in memory, for the files of a dataset come from the same one.

    Args:
        timeout: seconds.

    Raises:
        OSError: the archive cannot be had, is no zip file, or holds no such file.
    """
    archive, _, member = address.partition("#")
    try:
        with zipfile.ZipFile(io.BytesIO(_downloaded(archive, timeout))) as files:
            return io.BytesIO(files.read(member))
    except DAMAGED_ZIP as error:
        raise OSError(f"{archive} gives no '{member}': {error}") from error


@functools.lru_cache(maxsize=1)
def _downloaded(address: str, timeout: float) -> bytes:
    with urllib.request.urlopen(address, timeout=timeout) as response:
        content: bytes = response.read()
        return content
