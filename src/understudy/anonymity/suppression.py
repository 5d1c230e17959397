"""Suppression: rows, cells and columns that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.hierarchies import SUPPRESSED_TO
from understudy.anonymity.microdata import read_microdata
from understudy.anonymity.publishing import pick_cells
from understudy.data.columns import Column, Table
from understudy.data.frames import Frame, as_table
from understudy.errors import InputError


def suppress_rows(table: Frame, names: Sequence[str], k: int) -> Table:
    """Leave out the rows whose values of some columns fewer than k rows share.

    Parameters
    ----------
    table
        A table, a frame or the path of a file.
    names
        The quasi-identifiers.
    k
        How many rows must share them.
    """
    from understudy.anonymity.checking import group_rows

    read = _read(table, names)
    classes = group_rows(read_microdata(read, tuple(names)), names)
    kept = np.flatnonzero(classes.sizes[classes.of_row] >= k)
    columns = {name: pick_cells(column, kept) for name, column in read.columns.items()}
    return Table(columns, read.source)


def suppress_cells(table: Frame, name: str, rows: NDArray[np.bool_]) -> Table:
    """Write ``*`` into some cells of a column; where a star occurs in it, as many stars as do not.

    Parameters
    ----------
    table
        A table, a frame or the path of a file.
    name
        The column.
    rows
        Which cells: one flag per row.
    """
    read = _read(table, [name])
    flags = np.asarray(rows, dtype=bool)
    if flags.shape != (read.rows,):
        raise InputError(f"There are {read.rows:,} rows, but flags for {flags.size:,}.")
    values = read_microdata(read, (name,))[name]
    star = SUPPRESSED_TO
    while star in values.names:
        star += SUPPRESSED_TO
    words = (*values.names, star)
    places = np.where(flags, len(words) - 1, values.codes)
    missing = read.columns[name].missing
    if missing is not None:
        missing = np.where(flags, 0, missing).astype(np.uint8)
    column = Column("text", places, words, missing, read.columns[name].mark)
    return replace(read, columns={**read.columns, name: column})


def suppress_columns(table: Frame, names: Sequence[str]) -> Table:
    """Leave out some columns."""
    read = _read(table, names)
    kept = {name: column for name, column in read.columns.items() if name not in names}
    return Table(kept, read.source)


def _read(table: Frame, names: Sequence[str]) -> Table:
    read, _ = as_table(table)
    check_names(read, names)
    return read


def check_names(table: Table, names: Sequence[str]) -> None:
    """Refuse columns that are not there."""
    for name in names:
        if name not in table.columns:
            raise InputError(
                f"{table.source} has no column {name!r}; its columns are {', '.join(table.names)}."
            )
