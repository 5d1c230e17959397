"""Rows of a model in chunks: drawn ahead on threads, dealt out to files, joined to one table."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from understudy.data.tables import Column, Table
from understudy.errors import InputError

CHUNK = 1 << 18
"""Rows drawn at a time. Each chunk has random numbers of its own: it does not matter who draws
which chunk.

Never to be changed: the rows of a seed depend on it.
"""

CHUNKS_A_FILE = 4
"""Chunks that are written together: more of them in one partition are joined once they are all on
the disk.
"""

THREADS = 2
"""Chunks drawn at once, ahead of whoever takes them."""


def deal_chunks(
    chunk: Callable[[int], Table], count: int, partitions: int | None
) -> list[Iterator[Table]]:
    """The chunks dealt out to this many partitions, in order, each in pieces that are written
    together.
    """
    if partitions is not None and (
        isinstance(partitions, bool) or not isinstance(partitions, int) or partitions < 1
    ):
        raise InputError(
            f"The number of partitions must be a whole number above 0, not {partitions!r}."
        )
    files = min(partitions or -(-count // CHUNKS_A_FILE), count)
    ends = [count * place // files for place in range(files + 1)]

    def pieces(first: int, last: int) -> Iterator[Table]:
        for start in range(first, last, CHUNKS_A_FILE):
            yield join_tables(
                [chunk(number) for number in range(start, min(start + CHUNKS_A_FILE, last))]
            )

    return list(itertools.starmap(pieces, itertools.pairwise(ends)))


def draw_ahead(chunk: Callable[[int], Table], numbers: range) -> Iterator[Table]:
    """The chunks in order, drawn on threads a little ahead of time; each has its own randomness, so
    none is changed.
    """
    if len(numbers) == 1:
        yield chunk(numbers[0])
        return
    with ThreadPoolExecutor(THREADS) as pool:
        waiting = deque(pool.submit(chunk, number) for number in numbers[:THREADS])
        try:
            for number in numbers[THREADS:]:
                done = waiting.popleft().result()
                waiting.append(pool.submit(chunk, number))
                yield done
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def count_rows(chunks: Iterable[Table], progress: Callable[[int], None] | None) -> Iterator[Table]:
    """The chunks as they are; `progress` hears how many rows each had once it was taken."""
    for chunk in chunks:
        yield chunk
        if progress is not None:
            progress(chunk.rows)


def join_tables(chunks: list[Table]) -> Table:
    """The rows of some tables of the same columns, one after the other."""
    if len(chunks) == 1:
        return chunks[0]
    columns: dict[str, Column] = {}
    for name, first in chunks[0].columns.items():
        parts = [chunk.columns[name] for chunk in chunks]
        if any(part.missing is not None for part in parts):
            absent = [
                np.zeros(len(p), dtype=np.uint8) if p.missing is None else p.missing for p in parts
            ]
            missing = np.concatenate(absent)
        else:
            missing = None
        values, words = [part.values for part in parts], first.words
        if any(part.words != words for part in parts):
            # Identifiers: every row has a word of its own.
            starts = np.cumsum([0, *(len(part.words) for part in parts)])
            values = [v.astype(np.int64) + start for v, start in zip(values, starts, strict=False)]
            words = tuple(word for part in parts for word in part.words)
        columns[name] = replace(first, values=np.concatenate(values), words=words, missing=missing)
    return Table(columns, chunks[0].source)
