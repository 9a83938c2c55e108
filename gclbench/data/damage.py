"""What reading a compressed file raises where its bytes were cut off or changed."""

from __future__ import annotations

import gzip
import lzma
import struct
import zipfile
import zlib

DAMAGED_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)

DAMAGED_ZIP = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    zipfile.BadZipFile,
    ValueError,
    LookupError,
    OverflowError,
    RuntimeError,  # an encrypted member, or a compression that is not known
)
"""Of an archive, whatever the decompressor of a member raises besides. An `.npz` is one."""
