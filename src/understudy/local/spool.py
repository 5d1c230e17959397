"""Reports that wait to be counted until it is known which of them came twice.

Whether a report is a duplicate is known only when all were read. Records wait in memory up to a
limit, and then on disk, spread over files by a secret hash of their number: so each file is small,
all reports with one number are in one file, and nobody can fill a file of their choice.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_WAITING = 1 << 18
"""Records in memory."""


def record_type(width: int) -> np.dtype[Any]:
    """A report as a record: its number, its question and level, its answer padded with 0."""
    return np.dtype(
        [("number", "<u8", 2), ("question", "<i4"), ("level", "<i4"), ("answer", "<i8", width)]
    )


class Spool:
    """Takes records as they come, and gives them back by parts that share no number."""

    def __init__(self, width: int, max_waiting: int = MAX_WAITING) -> None:
        self.type = record_type(width)
        self._max_waiting = max_waiting
        self._waiting: list[NDArray[Any]] = []
        self._count = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._factors = np.array([secrets.randbits(64) | 1 for _ in range(2)], dtype=np.uint64)

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, records: NDArray[Any]) -> None:
        """Let records wait."""
        self._waiting.append(records)
        self._count += len(records)
        if self._count > self._max_waiting:
            self._spill()

    def parts(self) -> Iterator[NDArray[Any]]:
        """All records; those with one number are in one part."""
        if self._folder is None:
            yield self._take_waiting()
            return
        self._spill()
        for path in sorted(Path(self._folder.name).iterdir()):
            yield np.fromfile(path, dtype=self.type)

    def _take_waiting(self) -> NDArray[Any]:
        records = np.concatenate([np.empty(0, dtype=self.type), *self._waiting])
        self._waiting, self._count = [], 0
        return records

    def _spill(self) -> None:
        if not self._count:
            return
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="understudy-")
        records = self._take_waiting()
        mixed = (records["number"] * self._factors).sum(axis=1, dtype=np.uint64)
        parts = (mixed >> np.uint64(58)).astype(np.int64)
        order = np.argsort(parts, kind="stable")
        present, starts = np.unique(parts[order], return_index=True)
        for part, rows in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
            with (Path(self._folder.name) / f"{part:02}").open("ab") as file:
                records[rows].tofile(file)
