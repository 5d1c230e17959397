"""Files read with care and written whole: a failed run leaves nothing half-written behind."""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import secrets
import shutil
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import Any

from understudy.errors import InputError

MAX_DOCUMENT_BYTES = 1 << 27
"""A JSON document above this many bytes, once unpacked, is refused: nobody writes one by honest
means.
"""

GZIP_ABOVE = 1 << 20
"""A JSON document above this many bytes is written compressed."""


_PASSWORD = r"passw(or)?d\s*(=|%3d)"
_COLON = "(:|%3a)"


def holds_password(word: str) -> bool:
    """Whether an argument has the form of a URL or of libpq's options with a password in it."""
    url, bare = (
        rf":/[^@]*{_COLON}[^@]*@",
        rf"^(-+([\w-]+=)?)?/*[\w.%+-]+{_COLON}[^\s/\\]\S*@\S*[/:]",
    )
    return re.search(f"{_PASSWORD}|{url}|{bare}", word, re.IGNORECASE) is not None


def show_name(path: str | Path) -> str:
    """A file's name for messages; of what looks like a URL, which may hold a password, only how it
    begins.
    """
    name = str(path)
    if not re.search(f":/|{_COLON}.*@|{_PASSWORD}", name, re.DOTALL | re.IGNORECASE):
        return name
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", name)
    if scheme:
        return f"{scheme[1]}:..."
    return "..."


def existing_file(path: str | Path, what: str) -> Path:
    """Return ``path`` if it names a readable file, else say what is wrong with it."""
    path = Path(path)
    try:
        folder, there = path.is_dir(), path.exists()
    except OSError as error:  # a name that is too long, say
        raise InputError(
            f"The {what} {show_name(path)} cannot be read ({error.strerror}); check the name."
        ) from error
    if folder:
        raise InputError(f"{path} is a folder, not a {what}; name a file.")
    if not there:
        raise InputError(f"There is no {what} at {show_name(path)}; check the name.")
    if not os.access(path, os.R_OK):
        raise InputError(f"The {what} {path} cannot be read; check its permissions.")
    return path


def writable_file(path: str | Path, what: str) -> Path:
    """Return ``path`` if a file can be put there, else say why not.

    Tried out with an empty file that is gone again at once: permissions alone do not tell (a full
    disk, a name too long, a file system of the kernel's), and after a debit it would be too late to
    find out.
    """
    path = Path(path)
    if os.path.isdir(path):
        raise InputError(
            f"The {what} cannot be written to {path}: it is a folder; name a file in it."
        )
    folder = path.parent
    if not os.path.isdir(folder):
        raise InputError(
            f"The {what} cannot be written to {show_name(path)}: there is no folder "
            f"{show_name(folder)}; make it first."
        )
    beside = name_beside(path)
    try:
        new_file(beside).close()
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise InputError(
            f"The {what} cannot be written to {show_name(path)} ({cause}); choose another place."
        ) from error
    finally:
        remove(beside)
    return path


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Give a name beside ``path`` to write to; it takes the place of ``path`` only when all went
    well.

    The suffixes are kept, so that writers which look at them see the right ones.
    """
    beside = name_beside(path)
    try:
        yield beside
        os.replace(beside, path)
    except OSError as error:
        cause = error.strerror or error
        raise InputError(
            f"{show_name(path)} could not be written ({cause}); nothing was left there."
        ) from error
    finally:
        remove(beside)


def replace_content(path: Path, data: bytes) -> None:
    """Replace what a file holds in one step that survives a crash or a power cut at any moment."""
    beside = name_beside(path)
    try:
        with new_file(beside) as file:
            file.write(data)
            flush_to_disk(file)
        if path.exists():
            shutil.copymode(path, beside)
        os.replace(beside, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        remove(beside)


def new_file(path: Path) -> BufferedWriter:
    """A file that was not there before, to write to.

    All that is written by this package itself goes through here: tests put a faulty disk in its
    place.
    """
    return BufferedWriter(FileIO(path, "xb"))


def flush_to_disk(file: BufferedWriter) -> None:
    """Wait until what was written is on the disk."""
    file.flush()
    os.fsync(file.fileno())


def remove(path: Path) -> None:
    """Remove a file that may be there; one that could hold private rows is worth a second try."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except BaseException as error:
        with suppress(OSError, ValueError):
            os.unlink(path)
        if not isinstance(error, OSError | ValueError):
            raise


def name_beside(path: Path) -> Path:
    """A name in the same folder that nobody uses: hidden, with the same suffixes."""
    return path.with_name(f".{secrets.token_hex(4)}.{path.name}")


def read_json(path: str | Path, what: str) -> Any:
    """Read a JSON document, gzipped or not, from a file that may be hostile.

    Refuses documents that are too large or too deep, repeat a key, or hold numbers that are not
    finite or halves of characters.
    """
    path = existing_file(path, what)
    try:
        data = _read_unpacked(path)
    except OSError as error:
        raise InputError(f"The {what} {path} cannot be read: {error.strerror or error}.") from error
    except (EOFError, zlib.error) as error:
        raise InputError(f"The {what} {path} is damaged or cut short; get it again.") from error
    return parse_json(data, f"{what} {path}")


def parse_json(data: bytes, what: str) -> Any:
    """Read a JSON document as :func:`read_json` does, from its bytes."""
    if len(data) > MAX_DOCUMENT_BYTES:
        raise InputError(
            f"The {what} is larger than {MAX_DOCUMENT_BYTES >> 20} MB; it is not one of ours."
        )
    try:
        text = data.decode("utf-8")
        document = json.loads(
            text,
            object_pairs_hook=_no_repeats,
            parse_constant=_not_finite,
            parse_int=_moderate_int,
            parse_float=_moderate_float,
        )
        if "\\u" in text:
            _no_half_characters(document)
        return document
    except RecursionError as error:
        raise InputError(f"The {what} is nested too deeply to be one; get it again.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"The {what} is not UTF-8 text; is it the right file?") from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"The {what} is not valid JSON at line {error.lineno}, column {error.colno} "
            f"({error.msg})."
        ) from error
    except ValueError as error:
        raise InputError(f"The {what} cannot be used: {error}.") from error


def write_json(path: str | Path, document: Any, what: str, *, indent: int | None = None) -> None:
    """Write a JSON document whole; gzipped when it is large or when the name ends in ``.gz``."""
    path = writable_file(path, what)
    data = (
        json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"
    ).encode()
    if path.suffix == ".gz" or len(data) > GZIP_ABOVE:
        data = gzip.compress(data, mtime=0)
    _write_whole(path, data)


def write_text(path: str | Path, text: str, what: str) -> None:
    """Write a text file whole."""
    _write_whole(writable_file(path, what), text.encode())


def _write_whole(path: Path, data: bytes) -> None:
    with write_whole(path) as beside, new_file(beside) as file:
        file.write(data)
        flush_to_disk(file)


def _read_unpacked(path: Path) -> bytes:
    """What a file holds, up to a byte beyond the limit."""
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if not packed:
            return raw.read(MAX_DOCUMENT_BYTES + 1)
        # Never unpack more than the limit: a small file can hold a very large one.
        with gzip.GzipFile(fileobj=raw) as unpacked:
            return unpacked.read(MAX_DOCUMENT_BYTES + 1)


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        twice = next(
            name for name, times in Counter(name for name, _ in pairs).items() if times > 1
        )
        raise ValueError(f"the name {twice!r} appears twice in one object")
    return document


def _not_finite(constant: str) -> float:
    raise ValueError(f"it holds {constant}, which is not a number that JSON knows")


def _moderate_int(digits: str) -> int:
    if len(digits) > 300:  # what no float can hold would break sums later on
        raise ValueError(f"it holds a number of {len(digits)} digits")
    return int(digits)


def _moderate_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"it holds {digits[:20]}, which is too large a number")
    return number


def _no_half_characters(document: Any) -> None:
    """JSON can write half a character (a lone surrogate), which no file or screen can show."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half a character (a lone surrogate)") from None
