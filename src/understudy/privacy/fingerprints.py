"""Which table is this? A fingerprint of its rows under a secret key, for the owner's ledger file.

It covers the names of the columns and all values of all rows. The order of rows and of columns does
not matter, nor whether a whole number is stored as an integer or a real, or a date as a datetime,
so the same table in another file has the same fingerprint. It never leaves the ledger file: whoever
has it and the key could check guesses of whole tables against it.
"""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
from numpy.typing import NDArray

from understudy.data.tables import Column, Table

_ROWS_AT_A_TIME = 1 << 16
_LANES = 2  # sums of 64 bits: 128 in all
_ABSENT = np.uint64(0x9E3779B97F4A7C15)

HashedCells = NDArray[np.uint64]


def fingerprint(table: Table, key: bytes) -> str:
    """The fingerprint of a table in memory."""
    words = {name: _words(column, key) for name, column in table.columns.items()}
    sums = [0] * _LANES
    for first in range(0, table.rows, _ROWS_AT_A_TIME):
        part = slice(first, first + _ROWS_AT_A_TIME)
        cells = {name: _cells(column, words[name], part) for name, column in table.columns.items()}
        for lane in range(_LANES):
            # Summed over columns and mixed, then summed over rows: only what stands together in a
            # row counts together.
            rows = np.zeros(len(next(iter(cells.values()))), dtype=np.uint64)
            for name, values in cells.items():
                rows += _mix(values ^ _salt(key, f"{lane} {name}"))
            sums[lane] += int(_mix(rows).sum(dtype=np.uint64))
    names = "".join(f"{len(name)}:{name}" for name in sorted(table.columns))
    return seal(key, "memory", [table.rows, *(total % 2**64 for total in sums)], names)


def seal(key: bytes, how: str, sums: list[int], names: str) -> str:
    """Sums over all rows as a fingerprint, which tells nothing without the key."""
    content = " ".join([how, *map(str, sums), names])
    return f"{how}:{hmac.new(key, content.encode(), hashlib.sha256).hexdigest()}"


def _cells(column: Column, words: HashedCells, part: slice) -> HashedCells:
    """A number for each cell that depends on its value alone."""
    values = column.values[part]
    if column.kind == "text":
        cells = words[values]
    elif column.kind == "real":
        cells = values.astype(np.float64).view(np.uint64)
        whole = (np.abs(values) < 2**53) & (values == np.trunc(values))
        cells = np.where(whole, np.where(whole, values, 0).astype(np.int64).view(np.uint64), cells)
    else:
        unit = 86400 if column.kind == "date" else 1  # a date is the datetime at which it begins
        cells = (unit * values.astype(np.int64)).view(np.uint64)
    if column.missing is not None:
        cells = np.where(column.missing[part] > 0, _ABSENT, cells)
    return cells


def _words(column: Column, key: bytes) -> HashedCells:
    digests = (_digest(key, word) for word in column.words)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _salt(key: bytes, what: str) -> np.uint64:
    return np.uint64(int.from_bytes(_digest(key, what), "little"))


def _digest(key: bytes, text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8, key=key).digest()


def _mix(cells: HashedCells) -> HashedCells:
    """Spread every bit over all of them (the finalizer of SplitMix64)."""
    cells = (cells ^ (cells >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    cells = (cells ^ (cells >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return cells ^ (cells >> np.uint64(31))
