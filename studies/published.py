"""The published tables that methods are compared on: how each is read and cut, so that figures can
be compared.

The files themselves are not part of Understudy; a folder that holds them is given.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from understudy.data.files import read_json
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table, read_table
from understudy.errors import InputError

_ADULT_BOUNDS = {
    "age": (0, 95),
    "fnlwgt": (0, 1_499_999),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 4_999),
    "hours_per_week": (0, 99),
}
_BR2000_SIZES = (2, 7, 22, 10, 16, 2, 2, 2, 2, 4, 16, 2, 16, 2)


def published(name: str, folder: str | Path) -> tuple[Table, Schema]:
    """A table and its schema.

    Parameters
    ----------
    name
        "adult" (the 45,222 complete rows), "br2000", "nltcs" or "acs".
    folder
        Where the CSV files and taxonomies lie.
    """
    try:
        read = _READERS[name]
    except KeyError:
        raise InputError(
            f"There is no published table {name!r}; known are {', '.join(_READERS)}."
        ) from None
    return read(Path(folder))


def _adult(folder: Path) -> tuple[Table, Schema]:
    table = complete_rows(read_table(folder / "adult.csv"), "?")
    taxonomies = read_json(folder / "adult-taxonomy.json", "taxonomy")
    attributes: dict[str, Any] = {}
    for name, column in table.columns.items():
        if name in _ADULT_BOUNDS:
            low, high = _ADULT_BOUNDS[name]
            attributes[name] = {"kind": "integer", "min": low, "max": high, "bins": 16}
        else:
            attributes[name] = {"kind": "categorical", "values": list(column.words)}
            if name in taxonomies:
                attributes[name]["taxonomy"] = taxonomies[name]
    return table, Schema.from_dict({"attributes": attributes})


def _br2000(folder: Path) -> tuple[Table, Schema]:
    table = read_table(folder / "br2000.csv")
    taxonomies = read_json(folder / "br2000-taxonomy.json", "taxonomy")
    attributes: dict[str, Any] = {}
    for name, size in zip(table.names, _BR2000_SIZES, strict=True):
        if name in taxonomies:
            attributes[name] = {
                "kind": "categorical",
                "values": list(range(size)),
                "taxonomy": taxonomies[name],
            }
        else:
            attributes[name] = {"kind": "integer", "min": 0, "max": size - 1, "bins": size}
    return table, Schema.from_dict({"attributes": attributes})


def _binary(file: str) -> Callable[[Path], tuple[Table, Schema]]:
    def read(folder: Path) -> tuple[Table, Schema]:
        table = read_table(folder / file)
        attribute = {"kind": "categorical", "values": [0, 1]}
        return table, Schema.from_dict({"attributes": dict.fromkeys(table.names, attribute)})

    return read


_READERS = {
    "adult": _adult,
    "br2000": _br2000,
    "nltcs": _binary("nltcs.csv"),
    "acs": _binary("acs.csv"),
}


def complete_rows(table: Table, mark: str) -> Table:
    """The rows without a missing value; ``mark`` is how text columns write one."""
    keep = np.ones(table.rows, dtype=bool)
    for column in table.columns.values():
        if column.missing is not None:
            keep &= column.missing == 0
        if mark in column.words:
            keep &= column.values != column.words.index(mark)
    return rows_where(table, keep)


def rows_where(table: Table, keep: Any) -> Table:
    """The rows of a mask."""
    return Table(
        {name: _rows_of(column, keep) for name, column in table.columns.items()}, table.source
    )


def _rows_of(column: Column, keep: Any) -> Column:
    values = column.values[keep]
    if column.kind != "text":
        return Column(column.kind, values)
    held, places = np.unique(values, return_inverse=True)
    words = tuple(column.words[place] for place in held)
    return Column("text", places.astype(np.min_scalar_type(len(words))), words)
