"""Tables of numbers in text files: what is read, and the line that each damage names."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gclbench.data.tu_table import SHOWN, empty_line, line_of, read_table
from gclbench.graph import GraphError

TEXT = b"1, 2\n3, 4\n\n5, 6\n"


def read(content: bytes, dtype: type = np.int64) -> list[list[float]]:
    found: list[list[float]] = read_table(io.BytesIO(content), "t.txt", dtype).tolist()
    return found


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        TEXT.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + TEXT,
        b"1,2.0\n+3,4\n  \n5,6e0",
        b'"1", 2\n3\t,\t4 \n\t\n5, 6\n\n\n',
    ],
)
def test_whole_numbers_are_read_as_they_may_be_written(content: bytes) -> None:
    assert read(content) == [[1, 2], [3, 4], [5, 6]]
    source = io.BytesIO(content)
    assert [line_of(source, row) for row in range(3)] == [1, 2, 4]
    assert empty_line(source) == 3 and empty_line(io.BytesIO(b"1\n2\n\n")) is None


def test_a_file_with_nothing_in_it_has_no_columns() -> None:
    for content in (b"", b"\n  \n"):
        assert read_table(io.BytesIO(content), "t.txt", np.int64).shape == (0, 0)


def test_the_ends_of_64_bits_are_read() -> None:
    assert read(b"-9223372036854775808\n9223372036854775807\n") == [[-(2**63)], [2**63 - 1]]
    assert read(b"0" * 40 + b"7\n") == [[7]]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"1, 2\n3, x\n", "line 2: 'x' is no whole number"),
        (b"\xef\xbb\xbf1, 2\n3, x\n", "line 2: 'x' is no whole number"),
        (b'"1", 2\n3, x\n', "line 2: 'x' is no whole number"),
        (b"1, 2\n\n3, 4.5\n", "line 3: '4.5' is no whole number"),
        (b"1, 2\n3, inf\n", "line 2: 'inf' is no whole number"),
        (b"1, 2\n3, 3e99\n", "line 2: '3e99' is no whole number"),
        (b"1, 2\n3, 1_0\n", "line 2: '1_0' is no whole number"),
        (b"1, 2\n3, True\n", "line 2: 'True' is no whole number"),
        (b"1, 2\n3, 0x4\n", "line 2: '0x4' is no whole number"),
        (b"1, 2\n3\x00, 4\n", r"line 2: '3\x00' is no whole number"),
        (b"1, 2\n3, 4\n\x00", r"line 3: '\x00' is no whole number"),
        (b"\x00" * 99, "line 1: '" + r"\x00" * SHOWN + "…' is no whole number"),
        (b"1, 2\n3, \xe9\n", "line 2: '\ufffd' is no whole number"),
        ("1, 2\n".encode("utf-16"), "line 1: '\ufffd\ufffd1\\x00' is no whole number"),
        ("1, 2\n3, ٣\n".encode(), "line 2: '٣' is no whole number"),
        (b'1, 2\n"3, 4\n', """line 2: '"3' is no whole number"""),
        (b"1 2\n3 4\n", "line 1: '1 2' is no whole number"),
        (b"1, 2\n3, 9223372036854775808\n", "line 2: '9223372036854775808' is beyond a whole"),
        (b"1, 2\n-9223372036854775809, 4\n", "line 2: '-9223372036854775809' is beyond a whole"),
        (b"1, 2\n3, " + b"9" * 5000, f"line 2: '{'9' * SHOWN}…' is beyond a whole number of 64"),
        (b"1, 2\n3,\n", "line 2: number 2 of 2 is missing"),
        (b"1, 2\n, 4\n", "line 2: number 1 of 2 is missing"),
        (b"1, 2\n3\n", "line 2: it has 1 number, and line 1 has 2"),
        (b"\n1, 2\n3, 4, 5\n", "line 3: it has 3 numbers, and line 2 has 2"),
    ],
)
def test_the_line_that_makes_it_no_table_of_whole_numbers(content: bytes, text: str) -> None:
    with pytest.raises(GraphError) as raised:
        read(content)
    assert str(raised.value).startswith(f"t.txt, {text}")
    assert str(raised.value).endswith(
        ". Every line should have whole numbers, as many as the first, with commas between them"
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"1.5, 2\n\n3, \n4, 5\n", "line 3: number 2 of 2 is missing"),
        (b"1.5, 2\n3\n4, 5\n", "line 2: it has 1 number, and line 1 has 2"),
        (b"1.5\n3, 4\n", "line 2: it has 2 numbers, and line 1 has 1"),
        (b"1.5, 2\n3, NA\n", "line 2: 'NA' is no number"),
        (b"1.5, 2\n3, nan\n", "line 2: 'nan' is not finite, or beyond float32"),
        (b"1.5, 2\n-inf, 4\n", "line 2: '-inf' is not finite, or beyond float32"),
        (b"1.5, 2\n3, 1e39\n", "line 2: '1e39' is not finite, or beyond float32"),
    ],
)
def test_the_line_that_makes_it_no_table_of_finite_numbers(content: bytes, text: str) -> None:
    with pytest.raises(GraphError) as raised:
        read(content, np.float64)
    assert str(raised.value) == (
        f"t.txt, {text}. Every line should have finite numbers, as many as the first, with commas"
        " between them"
    )
    assert read(b"1.5, -2e9\n", np.float64) == [[1.5, -2e9]]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda whole: whole[:-9], "Compressed file ended before the end-of-stream marker"),
        (lambda whole: whole[:6], "Compressed file ended before the end-of-stream marker"),
        (lambda whole: b"", "it has no bytes"),
        (lambda whole: whole[:10] + b"\x07" + whole[11:], "Error -3 while decompressing"),
        (lambda whole: whole[:-8] + b"abcd" + whole[-4:], "CRC check failed"),
        (lambda whole: b"1, 2\n", "Not a gzipped file"),
        (lambda whole: whole + b"more", "Not a gzipped file"),
    ],
)
def test_a_compressed_file_that_is_damaged(
    tmp_path: Path, damage: Callable[[bytes], bytes], reason: str
) -> None:
    path = tmp_path / "t.txt.gz"
    whole = gzip.compress(TEXT)
    path.write_bytes(whole)
    assert read_table(path, "t.txt", np.int64).tolist() == [[1, 2], [3, 4], [5, 6]]
    path.write_bytes(damage(whole))
    with pytest.raises(GraphError) as raised:
        read_table(path, "t.txt", np.int64)
    assert str(raised.value).startswith(f"{path} is a damaged .gz file ({reason}")
    assert str(raised.value).endswith("; replace it with a whole copy, or with t.txt as it is")


def test_text_that_a_damaged_compressed_file_gives_is_not_what_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.txt.gz"
    # pandas refuses the second line before it has come to the end.
    path.write_bytes(gzip.compress(b"1, 2\n3, 4, 5\n" + b"1, 2\n" * 10**5)[:-4])
    with pytest.raises(GraphError, match="is a damaged .gz file"):
        read_table(path, "t.txt", np.int64)


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"^t.txt cannot be read: .*No such file"):
        read_table(tmp_path / "t.txt", "t.txt", np.int64)
