"""What goes over a link: messages as bytes, and bytes as messages.

A message is a header in canonical JSON and, after it, plain arrays of numbers: little-endian,
one-dimensional, their names, types and lengths stated in the header. Reading is strict: sizes are
bounded before anything is allocated, and bytes that are not exactly what writing the message would
give are refused, so that two parties who compare digests of a message have read the same. Nothing
in a message is executed.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError

MESSAGE_MAGIC = b"understudy:1"
MAX_HEADER_BYTES = 1 << 22
MAX_MESSAGE_BYTES = 1 << 28
"""In bytes; a server refuses more before it reads it."""

TYPES: dict[str, np.dtype[Any]] = {
    "u1": np.dtype("<u1"),
    "i8": np.dtype("<i8"),
    "u8": np.dtype("<u8"),
    "f8": np.dtype("<f8"),
}
_NAMES = {kind: name for name, kind in TYPES.items()}

SentArray = NDArray[Any]


@dataclass(frozen=True)
class Message:
    """A question or an answer.

    Attributes
    ----------
    kind
        What it is: "hello", "open", "ask" and so on; "refused" for an answer that says why not.
    content
        What JSON can hold.
    arrays
        Numbers: bytes ("u1"), whole numbers ("i8", "u8") or finite real ones ("f8").
    """

    kind: str
    content: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, SentArray] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The message as it goes over a link."""
        plain = {name: _plain(array) for name, array in sorted(self.arrays.items())}
        shapes = [[name, _NAMES[array.dtype], array.size] for name, array in plain.items()]
        header = _json({"kind": self.kind, "content": self.content, "arrays": shapes})
        parts = [
            MESSAGE_MAGIC,
            struct.pack("<I", len(header)),
            header,
            *(array.tobytes() for array in plain.values()),
        ]
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Message:
        """Read a message.

        Raises
        ------
        InputError
            Where the bytes are not a message.
        """
        start = len(MESSAGE_MAGIC) + 4
        if len(data) > MAX_MESSAGE_BYTES or len(data) < start or not data.startswith(MESSAGE_MAGIC):
            raise InputError(
                "That is no message of this version of understudy; have both sides the same?"
            )
        (length,) = struct.unpack_from("<I", data, len(MESSAGE_MAGIC))
        if length > min(MAX_HEADER_BYTES, len(data) - start):
            raise InputError("The message is cut short.")
        header = data[start : start + length]
        kind, content, shapes = _header(header)
        arrays: dict[str, SentArray] = {}
        place = start + length
        for name, form, size in shapes:
            dtype = TYPES[form]
            if size > (len(data) - place) // dtype.itemsize:
                raise InputError("The message is cut short.")
            arrays[name] = np.frombuffer(data, dtype, size, place)
            place += size * dtype.itemsize
            if form == "f8" and not np.isfinite(arrays[name]).all():
                raise InputError("The message holds numbers that are not finite.")
        if place != len(data):
            raise InputError("The message is longer than it says.")
        return cls(kind, content, arrays)

    # ---- what a reader expects

    def get(self, name: str, kind: type | tuple[type, ...]) -> Any:
        """An entry of the content that must be of a kind."""
        value = self.content.get(name)
        # bool is an int to Python, and to nobody else.
        if isinstance(kind, tuple):
            wanted = kind
        else:
            wanted = (kind,)
        if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
            raise InputError(f"The message {self.kind!r} lacks a proper {name!r}.")
        return value

    def texts(self, name: str) -> list[str]:
        """An entry of the content that must be a list of texts."""
        found: list[str] = self.get(name, list)
        if not all(isinstance(text, str) for text in found):
            raise InputError(f"The message {self.kind!r} lacks a proper {name!r}.")
        return found

    def array(self, name: str, form: str) -> SentArray:
        """An array that must be of a type."""
        array = self.arrays.get(name)
        if array is None or array.dtype != TYPES[form]:
            raise InputError(f"The message {self.kind!r} lacks the array {name!r}.")
        return array


def refusal(sentence: str, gone: bool = False) -> bytes:
    """An answer that says why not; ``gone``, where the holder cannot go on even if it would."""
    return Message("refused", {"sentence": sentence, "gone": gone}).to_bytes()


def digest(*parts: bytes | str) -> bytes:
    """A hash of several things, one after the other; no two lists of things have the same bytes."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            data = part.encode()
        else:
            data = part
        found.update(struct.pack("<Q", len(data)) + data)
    return found.digest()


# --------------------------------------------------------------------------- bytes


def _plain(array: SentArray) -> SentArray:
    form = np.asarray(array)
    if form.ndim != 1 or form.dtype.newbyteorder("<") not in _NAMES:
        raise ValueError("arrays in a message are one-dimensional, of bytes or of 64-bit numbers")
    return form.astype(form.dtype.newbyteorder("<"), copy=False)


def _json(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _whole_number(digits: str) -> int:
    """Of 64 bits, as in arrays: what is larger would be no floating-point number, and fail far from
    here.
    """
    number = int(digits)
    if number.bit_length() > 63:
        raise ValueError("a whole number is too large")
    return number


def _header(data: bytes) -> tuple[str, dict[str, Any], list[tuple[str, str, int]]]:
    try:
        document = json.loads(data, parse_int=_whole_number)
        kind, content, arrays = document["kind"], document["content"], document["arrays"]
        shapes = [(name, form, size) for name, form, size in arrays]
        proper = isinstance(kind, str) and isinstance(content, dict) and _json(document) == data
        named = [name for name, _, _ in shapes]
        if not proper or len(document) != 3 or named != sorted(set(named)):
            raise ValueError("not canonical")
        if any(form not in TYPES or type(size) is not int or size < 0 for _, form, size in shapes):
            raise ValueError("arrays of an unknown type")
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError("The header of the message cannot be read.") from error
    return kind, content, shapes
