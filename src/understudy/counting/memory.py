"""Counting in memory: exact tables of coded columns, many at a time.

Little is counted in plain NumPy (``plain``). For more, kernels are compiled, and four things make
it fast, each used where the shape of the data says that it pays:

- **Merged tables.** Marginals that share axes are summed from one larger table, which costs one
  pass over the rows instead of many (`merging_kernels.merge` has the rule).
- **Collapsed rows.** Equal rows become one row with a weight (`distinct` has the rule).
- **Packed bits.** Marginals of up to four binary attributes are counted 64 rows at a time.
- **Threads.** The kernels leave Python's lock alone; many tables are shared out among threads, and
  for few tables the rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.counting import Counter, kernel_choice, layout, plain
from understudy.counting.column_checks import (
    check_columns,
    check_generalisation,
    check_weights,
)
from understudy.counting.distinct import MAX_SAMPLED_ROWS, collapse_rows, find_distinct
from understudy.data.marginals import Axis, Marginal, describe
from understudy.errors import InputError
from understudy.machine.plain_first import thread_count

MAX_COUNTED_CELLS = 1 << 28
"""The largest table that is counted: 2 GiB."""

_THREAD_WORK = 1 << 18  # row visits below which starting threads costs more than it brings

Ints = NDArray[np.int64]

GENERALISED_STRETCH = 1 << 20
"""Generalised columns are made for this many rows at a time: much longer than a table, much shorter
than a large file.
"""


class MemoryCounter(Counter):
    """Exact tables of counts over columns of codes held in memory.

    The counter copies what it needs and never changes afterwards, so it can be used from several
    threads.

    Parameters
    ----------
    codes
        A column of codes per attribute, unsigned, all of one length.
    generalisations
        Per attribute, for each level from 1 up, the code at that level of each base code. An
        attribute that is not mentioned has level 0 only.
    sizes
        Per attribute, how many base codes there are.
    collapse, pack
        Whether to collapse equal rows and to pack binary columns; by default, where it pays.
    threads
        How many threads to use; by default numba's number (``NUMBA_NUM_THREADS``, else the
        processors).
    weights
        How many rows each entry of the columns stands for, where equal rows were collapsed
        elsewhere.
    """

    def __init__(
        self,
        codes: Mapping[str, NDArray[Any]],
        generalisations: Mapping[str, Sequence[NDArray[Any]]],
        sizes: Mapping[str, int],
        *,
        collapse: bool | None = None,
        pack: bool | None = None,
        threads: int | None = None,
        weights: NDArray[Any] | None = None,
    ) -> None:
        self._rows = check_columns(codes, sizes)
        if weights is not None:
            self._rows = check_weights(weights, self._rows, bool(codes))
            collapse, pack = False, False
        self._generalisations = {
            name: generalisations[name] for name in codes if name in generalisations
        }
        if threads is None:
            threads = thread_count()
        self._threads = max(1, threads)
        self._number_axes(list(codes), generalisations, sizes)

        columns = {name: np.ascontiguousarray(codes[name]) for name in codes}
        packable = [name for name in columns if sizes[name] == 2]
        self._weights, kept = np.empty(0, np.uint32), self._rows
        if weights is not None:
            self._weights, kept = weights.astype(np.uint32), len(weights)
        collapsed = collapse_rows(columns, sizes, self._rows, collapse)
        if collapsed is not None:
            examples, self._weights = collapsed
            kept = len(examples)
        # A word of packed bits costs about as much as a row: packing loses against very few
        # collapsed rows.
        if pack is False or (pack is None and 64 * kept < self._rows):
            packable = []
        self._pack({name: columns[name] for name in packable})
        if collapsed is not None:
            columns = {name: column[examples] for name, column in columns.items()}
        self._store(columns, kept)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._rows

    @property
    def distinct_rows(self) -> int | None:
        """How many rows are left after equal ones were collapsed; None if they were not."""
        if self._collapsed:
            return len(self._weights)
        return None

    @property
    def _collapsed(self) -> bool:
        return len(self._weights) > 0

    def size(self, axis: Axis) -> int:
        """How many values an attribute has at a level."""
        number = self._numbers.get(axis)
        if number is None:
            raise self._unknown(axis)
        return int(self._sizes[number])

    def count_flat(self, marginals: Sequence[Marginal]) -> tuple[Ints, Ints]:
        """Count one table per marginal into one buffer.

        Returns
        -------
        flat, offsets
            The table of marginal m, in C order, is ``flat[offsets[m]:offsets[m + 1]]``.

        Notes
        -----
        The buffer takes 8 bytes per cell of every marginal: ask in batches of up to some 10^8
        cells. Within that, larger batches are faster, for more tables can be merged. The order of
        marginals does not matter.
        """
        outlined = self._outline(marginals)
        flat, offsets = _make_room(outlined.cells)
        self._count(outlined, offsets[:-1], flat)
        return flat, offsets

    def count_into(self, marginals: Sequence[Marginal], flat: Ints, begins: Ints) -> None:
        """Add one table per marginal to a buffer, each from its place in `begins` on.

        So several counters share one buffer, and no table is copied.
        """
        self._count(self._outline(marginals), begins, flat)

    def _outline(self, marginals: Sequence[Marginal]) -> _Outlined:
        """The marginals by numbers; with masks where kernels are to count them."""
        starts, axes = self._lookup(marginals)
        seconds = plain.counting_seconds(len(marginals), len(axes), self._kept)
        if kernel_choice.COUNTING_KERNELS.kernels_for(seconds) is None:
            cells = plain.outline(starts, axes, self._sizes, self._base, MAX_COUNTED_CELLS)
            self._refuse(marginals, cells)
            seconds = plain.summing_seconds(int(cells.sum()))
            if kernel_choice.COUNTING_KERNELS.kernels_for(seconds) is None:
                return _Outlined(starts=starts, axes=axes, cells=cells, masks=None)
        cells = np.empty(len(marginals), np.int64)
        masks = np.zeros((len(marginals), self._closures.shape[1]), np.uint64)
        kernel_choice.load_kernels().outline(
            axes, starts, self._axes, MAX_COUNTED_CELLS, cells, masks
        )
        self._refuse(marginals, cells)
        return _Outlined(starts=starts, axes=axes, cells=cells, masks=masks)

    def _count(self, outlined: _Outlined, begins: Ints, flat: Ints) -> None:
        starts, axes, cells = outlined.starts, outlined.axes, outlined.cells
        asked = layout.MarginalLayout(axes=axes, starts=starts, begins=begins, ends=begins + cells)
        if outlined.masks is None:
            rows = (self._codes_at, self._weights, self._kept)
            plain.count_marginals(asked, self._sizes, *rows, flat)
            return
        packed = self._find_packed(starts, axes)
        merged = ~packed & (cells <= kernel_choice.load_kernels().MERGED_CELLS)
        self._count_packed(np.flatnonzero(packed), asked, flat)
        self._count_merged(np.flatnonzero(merged), outlined.masks, cells, asked, flat)
        self._count_alone(np.flatnonzero(~packed & ~merged), asked, flat)

    # Rolling up

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, level in self._numbers if level == 0)

    @property
    def nbytes(self) -> int:
        """How much memory the rows take up."""
        return self._codes.nbytes + self._packed.words.nbytes + self._weights.nbytes

    def roll_up(self, kept: Collection[str], room: int | None = None) -> MemoryCounter | None:
        """The same rows without some attributes, equal ones collapsed; None where they need more
        room (in bytes).
        """
        names = [name for name in self.attributes if name in kept]
        columns = {name: self._codes.column(self._numbers[name, 0]) for name in names}
        sizes = {name: int(self._sizes[self._numbers[name, 0]]) for name in names}
        most = self._kept
        if room is not None:
            each = (
                sum(column.itemsize for column in columns.values()) + np.dtype(np.uint32).itemsize
            )
            most = min(most, room // each)
        found = find_distinct(columns, sizes, most, self._weights if self._collapsed else None)
        if found is None:
            return None
        examples, weights = found
        generalisations = {
            name: self._generalisations[name] for name in names if name in self._generalisations
        }
        codes = {name: column[examples] for name, column in columns.items()}
        return MemoryCounter(codes, generalisations, sizes, threads=self._threads, weights=weights)

    def joining_order(self) -> list[str]:
        """The attributes, those first without which most rows become equal.

        For each attribute, groups of rows that differ in nothing else are sampled, by a hash of all
        other codes: of a group in the sample all rows are, so their average number is an unbiased
        estimate.
        """
        rng = np.random.default_rng(0)  # decides about speed only
        tables = {
            name: rng.integers(
                0, 1 << 64, int(self._sizes[self._numbers[name, 0]]), dtype=np.uint64
            )
            for name in self.attributes
        }
        mask = np.uint64((1 << (self._kept // MAX_SAMPLED_ROWS).bit_length()) - 1)
        sampled: dict[str, list[NDArray[np.uint64]]] = {name: [] for name in tables}
        for first in range(0, self._kept, plain.STRETCH):  # short enough to stay in the cache
            rows = slice(first, first + plain.STRETCH)
            parts = {
                name: table[self._codes.column(self._numbers[name, 0])[rows]]
                for name, table in tables.items()
            }
            whole = np.sum(list(parts.values()), axis=0, dtype=np.uint64)
            for name, part in parts.items():
                others = whole - part
                sampled[name].append(others[(others >> np.uint64(32)) & mask == 0])
        joined = {}
        for name, some in sampled.items():
            found = np.concatenate(some)
            joined[name] = len(found) / max(1, len(np.unique(found)))
        return sorted(joined, key=lambda name: -joined[name])

    # Setting up

    def _number_axes(
        self,
        names: list[str],
        generalisations: Mapping[str, Sequence[NDArray[Any]]],
        sizes: Mapping[str, int],
    ) -> None:
        """Number the axes, those of an attribute consecutively and from level 0, as the kernels
        want them.
        """
        unknown = next((name for name in generalisations if name not in sizes), None)
        if unknown is not None:
            raise InputError(f"Generalisations are given for {unknown!r}, which is not a column.")
        self._numbers: dict[tuple[str, int], int] = {}
        axis_sizes: list[int] = []
        base: list[int] = []
        map_start: list[int] = []
        maps: list[NDArray[np.uint32]] = []
        for name in names:
            first = len(axis_sizes)
            axis_sizes.append(sizes[name])
            map_start.append(0)
            for level, mapping in enumerate(generalisations.get(name, ()), start=1):
                axis_sizes.append(check_generalisation(name, level, mapping, sizes[name]))
                map_start.append(sum(map(len, maps)))
                maps.append(np.asarray(mapping).astype(np.uint32))
            for level in range(len(axis_sizes) - first):
                self._numbers[Axis(name, level)] = first + level
                base.append(first)
        self._sizes = np.array(axis_sizes, np.int64)
        self._base = np.array(base, np.int64)
        self._axes = layout.Axes(
            sizes=self._sizes,
            base=self._base,
            maps=np.concatenate([np.empty(0, np.uint32), *maps]),
            map_start=np.array(map_start, np.int64),
        )
        self._closures = np.zeros((len(base), max(1, -(-len(base) // 64))), np.uint64)
        for axis, first in enumerate(base):
            for provider in {first, axis}:
                self._closures[provider, axis >> 6] |= np.uint64(1 << (63 - (axis & 63)))

    def _pack(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Pack binary columns, 64 rows to a word."""
        words = -(-self._rows // 64)
        self._packed = layout.PackedColumns(
            words=np.zeros((len(columns), words), np.uint64),
            place=np.full(len(self._sizes), -1, np.int64),
            known=np.full((len(columns), len(columns)), -1, np.int64),
        )
        for place, (name, column) in enumerate(columns.items()):
            bits = np.packbits(column.astype(bool))
            self._packed.words[place].view(np.uint8)[: len(bits)] = bits
            self._packed.place[self._numbers[name, 0]] = place

    def _store(self, columns: Mapping[str, NDArray[Any]], rows: int) -> None:
        """Keep the columns, one matrix per code width."""
        self._kept = rows
        self._codes = _Matrices(np.unique(self._base), self._sizes, rows)
        for name, column in columns.items():
            self._codes.column(self._numbers[name, 0])[:] = column

    def _stretches(self, axes: NDArray[np.intp]) -> Iterator[tuple[int, layout.CodeColumns]]:
        """The codes of all rows at these axes, some rows at a time, and how many these are.

        Where all axes are at level 0, the columns are there. Generalised ones are made for a
        stretch of rows, counted, and made for the next, so that they take little room however many
        rows there are.
        """
        if np.array_equal(self._base[axes], axes):
            yield self._kept, self._codes.with_weights(self._weights)
            return
        codes = _Matrices(axes, self._sizes, min(self._kept, GENERALISED_STRETCH))
        for first in range(0, self._kept, GENERALISED_STRETCH):
            rows = slice(first, min(first + GENERALISED_STRETCH, self._kept))
            length = rows.stop - first
            for axis in axes.tolist():
                base, column = self._base[axis], codes.column(axis)[:length]
                if base == axis:
                    column[:] = self._codes.column(axis)[rows]
                else:
                    mapping = self._axes.maps[self._axes.map_start[axis] :][: self._sizes[base]]
                    np.take(
                        mapping.astype(column.dtype), self._codes.column(base)[rows], out=column
                    )
            yield length, codes.with_weights(self._weights[rows])

    # Counting

    def _lookup(self, marginals: Sequence[Marginal]) -> tuple[Ints, Ints]:
        """Turn marginals into axis numbers, one after the other, and where each marginal's
        begin.
        """
        starts = np.zeros(len(marginals) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, marginals), np.int64, len(marginals)), out=starts[1:])
        try:
            numbers = map(self._numbers.__getitem__, chain.from_iterable(marginals))
            return starts, np.fromiter(numbers, np.int64, int(starts[-1]))
        except KeyError as error:
            raise self._unknown(error.args[0]) from None

    def _unknown(self, axis: tuple[str, int]) -> InputError:
        name, level = axis
        levels = sum(1 for known, _ in self._numbers if known == name)
        if not levels:
            return InputError(f"There is no attribute {name!r} to count; check the schema.")
        return InputError(f"Attribute {name!r} has levels 0 to {levels - 1}, not {level}.")

    def _refuse(self, marginals: Sequence[Marginal], cells: Ints) -> None:
        wrong = np.flatnonzero(cells < 0)
        if not len(wrong):
            return
        marginal = marginals[wrong[0]]
        if cells[wrong[0]] == plain.REPEATED:
            raise InputError(
                f"The marginal {describe(marginal)} has an attribute twice; name each once."
            )
        product = 1
        for axis in marginal:
            product *= self.size(axis)
        raise InputError(
            f"The table over {describe(marginal)} would have {product:,} cells, more than the "
            f"{MAX_COUNTED_CELLS:,} that "
            "can be counted; take fewer attributes or coarser levels."
        )

    def _find_packed(self, starts: Ints, axes: Ints) -> NDArray[np.bool_]:
        """Which marginals are counted from packed bits: those of a few packed axes and, maybe, some
        of size 1.
        """
        if not len(self._packed.words):
            return np.zeros(len(starts) - 1, np.bool_)
        binary = np.cumsum(np.append(0, self._packed.place[axes] >= 0))
        single = np.cumsum(np.append(0, self._sizes[axes] == 1))
        depth = binary[starts[1:]] - binary[starts[:-1]]
        rest = np.diff(starts) - depth - (single[starts[1:]] - single[starts[:-1]])
        return np.asarray(
            (rest == 0) & (depth > 0) & (depth <= kernel_choice.load_kernels().PACKED_AXES)
        )

    def _count_packed(
        self, chosen: NDArray[np.intp], asked: layout.MarginalLayout, flat: Ints
    ) -> None:
        def work(part: NDArray[np.intp]) -> None:
            kernel_choice.load_kernels().count_packed(
                part, asked, self._sizes, self._packed, self._rows, flat
            )

        self._share(work, chosen, self._packed.words.shape[1])

    def _count_merged(
        self,
        chosen: NDArray[np.intp],
        masks: NDArray[np.uint64],
        cells: Ints,
        asked: layout.MarginalLayout,
        flat: Ints,
    ) -> None:
        """Count marginals of up to MERGED_CELLS cells, from merged tables."""
        if not len(chosen):
            return
        chosen = chosen[np.lexsort(masks[chosen].T[::-1])]  # the order that `merge` wants
        owner, by_marginal = self._merge(masks[chosen], cells[chosen])
        by_owner = np.argsort(owner, kind="stable")
        members = chosen[by_owner]
        seeds, first_member = np.unique(owner[by_owner], return_index=True)
        tables = layout.MergedTables(
            masks=by_marginal[seeds],
            members=members,
            starts=np.append(first_member, len(members)),
        )

        def work(
            part: NDArray[np.intp], columns: layout.CodeColumns, first: int, last: int, into: Ints
        ) -> None:
            kernel_choice.load_kernels().count_merged(
                part, tables, asked, self._axes, columns, first, last, into
            )

        for rows, columns in self._stretches(_axes_of(tables.masks, len(self._sizes))):
            self._share_tables_or_rows(work, np.arange(len(seeds)), rows, columns, flat)

    def _merge(self, masks: NDArray[np.uint64], cells: Ints) -> tuple[Ints, NDArray[np.uint64]]:
        owner = np.empty(len(masks), np.int64)
        tables = np.zeros_like(masks)
        kernel_choice.load_merging().merge(
            masks, cells, self._closures, self._axes, self._kept, owner, tables
        )
        return owner, tables

    def _count_alone(
        self, chosen: NDArray[np.intp], asked: layout.MarginalLayout, flat: Ints
    ) -> None:
        """Count marginals of more than MERGED_CELLS cells, one by one."""
        if not len(chosen):
            return
        each = [asked.axes[asked.starts[m] : asked.starts[m + 1]] for m in chosen]

        def work(
            part: NDArray[np.intp], columns: layout.CodeColumns, first: int, last: int, into: Ints
        ) -> None:
            kernel_choice.load_kernels().count_alone(
                part, asked, self._axes, columns, first, last, into
            )

        for rows, columns in self._stretches(np.unique(np.concatenate(each))):
            self._share_tables_or_rows(work, chosen, rows, columns, flat)

    def _codes_at(self, axis: int, rows: slice) -> NDArray[Any]:
        """The codes of some rows at an axis of any level."""
        base = self._base[axis]
        codes = self._codes.column(base)[rows]
        if base == axis:
            return codes
        return self._axes.maps[self._axes.map_start[axis] :][: self._sizes[base]][codes]

    # Sharing out the work

    def _share_tables_or_rows(
        self,
        work: Callable[[NDArray[np.intp], layout.CodeColumns, int, int, Ints], None],
        tables: NDArray[np.intp],
        rows: int,
        columns: layout.CodeColumns,
        flat: Ints,
    ) -> None:
        """Give each thread some of the tables or, if tables are few and rows many, some of the rows
        of each.
        """
        threads = self._threads
        if (
            threads == 1
            or len(tables) >= 4 * threads
            or rows * len(tables) < _THREAD_WORK
            or len(flat) > rows
        ):
            self._share(lambda part: work(part, columns, 0, rows, flat), tables, rows)
            return
        bounds = [rows * i // threads for i in range(threads + 1)]
        buffers = [np.zeros_like(flat) for _ in range(threads)]
        with ThreadPoolExecutor(threads) as pool:
            list(
                pool.map(
                    lambda i: work(tables, columns, bounds[i], bounds[i + 1], buffers[i]),
                    range(threads),
                )
            )
        for buffer in buffers:
            flat += buffer

    def _share(
        self, work: Callable[[NDArray[np.intp]], None], items: NDArray[np.intp], visits: int
    ) -> None:
        """Give each thread some of the items; several portions each, as some items take longer than
        others.
        """
        if self._threads == 1 or len(items) * visits < _THREAD_WORK:
            if len(items):
                work(items)
            return
        portions = min(len(items), 8 * self._threads)
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(lambda i: work(items[i::portions].copy()), range(portions)))


def _make_room(cells: Ints) -> tuple[Ints, Ints]:
    """Empty tables, one after the other, and where each of them starts."""
    offsets = np.zeros(len(cells) + 1, np.int64)
    np.cumsum(cells, out=offsets[1:])
    return np.zeros(int(offsets[-1]), np.int64), offsets


class _Outlined(NamedTuple):
    """Marginals as numbers of axes, with the sizes of their tables."""

    starts: Ints
    axes: Ints
    cells: Ints
    masks: NDArray[np.uint64] | None
    """Which axes each has; None where plain NumPy is to count them."""


class _Matrices:
    """Columns of codes at some axes, one matrix per code width, as the kernels want them."""

    def __init__(self, axes: NDArray[np.intp], sizes: Ints, rows: int) -> None:
        self.place = np.zeros(len(sizes), np.int64)
        self._widths = np.digitize(sizes, [257, 65537])
        matrices = []
        for width, dtype in enumerate((np.uint8, np.uint16, np.uint32)):
            members = axes[self._widths[axes] == width]
            self.place[members] = np.arange(len(members))
            matrices.append(np.empty((len(members), rows), dtype))
        self.narrow, self.middle, self.wide = matrices

    def column(self, axis: int) -> NDArray[Any]:
        """The codes at an axis, to be read or written."""
        column: NDArray[Any] = (self.narrow, self.middle, self.wide)[self._widths[axis]][
            self.place[axis]
        ]
        return column

    def with_weights(self, weights: NDArray[np.uint32]) -> layout.CodeColumns:
        """The columns with the weights of their rows, for a kernel."""
        return layout.CodeColumns(self.narrow, self.middle, self.wide, self.place, weights)

    @property
    def nbytes(self) -> int:
        """How much memory they take up."""
        return self.narrow.nbytes + self.middle.nbytes + self.wide.nbytes


def _axes_of(masks: NDArray[np.uint64], axes: int) -> NDArray[np.intp]:
    """The axes that occur in any of the masks."""
    bits = np.unpackbits(np.bitwise_or.reduce(masks, axis=0).astype(">u8").view(np.uint8))
    return np.flatnonzero(bits[:axes])
