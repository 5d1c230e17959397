"""Text files in any encoding, as UTF-8.

What a byte means must not depend on other rows. So without a byte order mark nothing is guessed
from the file as a whole: a line that is UTF-8 is read as UTF-8, and any other line by itself as
Windows-1252, which has a character for nearly every byte.
"""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from understudy.data.csv_files import bytes_of

_BLOCK = 1 << 20
_MARKS_OF_ORDER = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""That of UTF-16 is the beginning of one of UTF-32, so those come first."""


@dataclass(frozen=True)
class Utf8Files:
    """Files in UTF-8: the given ones, or copies of them."""

    files: tuple[Path, ...]
    notes: tuple[str, ...] = field(default=())
    """What their owner should know."""


def as_utf8(
    files: Sequence[Path], *, compressed: bool, encoding: str | None, folder: Path
) -> Utf8Files:
    """The files themselves where they are UTF-8, else copies inside a private folder."""
    found: list[Path] = []
    notes: list[str] = []
    for place, path in enumerate(files):
        chosen = encoding or _read_mark(path, compressed)
        if chosen is None and _is_utf8(path, compressed):
            found.append(path)
            continue
        copy = folder / f"{place}-{path.name}"
        with bytes_of(path, compressed) as source, _new_file(copy, compressed) as target:
            if chosen is None:
                target.writelines(_decode_lines(source))
            else:
                target.writelines(_decode(source, chosen))
        found.append(copy)
        if encoding is None:
            notes.append(_note(path, chosen))
    return Utf8Files(tuple(found), tuple(notes))


def _new_file(path: Path, compressed: bool) -> Any:
    if compressed:
        return gzip.open(path, "wb", compresslevel=1)
    return path.open("wb")


def _note(path: Path, chosen: str | None) -> str:
    if chosen is None:
        return (
            f"{path} is not all UTF-8: the lines that are not were read as Windows-1252; say "
            f"--encoding (in Python encoding=) if that is wrong."
        )
    return f"{path} was read as {chosen.upper()}, by its byte order mark."


def _read_mark(path: Path, compressed: bool) -> str | None:
    with bytes_of(path, compressed) as file:
        start = file.read(4)
    return next((name for mark, name in _MARKS_OF_ORDER.items() if start.startswith(mark)), None)


def _is_utf8(path: Path, compressed: bool) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    pending = False
    with bytes_of(path, compressed) as file:
        while block := file.read(_BLOCK):
            if block.isascii() and not pending:
                continue
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                return False
            pending = bool(decoder.getstate()[0])
    return not pending


def _decode(source: BinaryIO, encoding: str) -> Iterator[bytes]:
    text = io.TextIOWrapper(source, encoding=encoding, errors="replace", newline="")
    try:
        while block := text.read(_BLOCK):
            yield block.encode("utf-8", errors="replace")
    finally:
        text.detach()  # the file is its opener's to close


def _decode_lines(source: BinaryIO) -> Iterator[bytes]:
    for line in source:
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            yield _windows_1252(line).encode()
        else:
            yield line


def _windows_1252(line: bytes) -> str:
    """Five bytes have no character there; they stand for themselves, as browsers have it."""
    try:
        return line.decode("cp1252")
    except UnicodeDecodeError:
        return "".join(
            byte.decode("cp1252") if byte not in _UNDEFINED else byte.decode("latin-1")
            for byte in (line[i : i + 1] for i in range(len(line)))
        )


_UNDEFINED = {bytes([byte]) for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
