"""What kernels could not count safely is refused before it is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError

MAX_ROWS = (1 << 31) - 1  # squares of counts must fit 64 bits, see curator.score_kernels
MAX_VALUES = 1 << 32


def check_columns(codes: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]) -> int:
    """Refuse what the kernels could not count safely; returns the number of rows."""
    if set(codes) != set(sizes):
        odd = sorted(set(codes) ^ set(sizes))
        raise InputError(
            f"Columns and domain sizes differ: {', '.join(map(repr, odd))} is in only one of them."
        )
    rows = None
    for name, column in codes.items():
        if column.ndim != 1 or column.dtype.kind != "u":
            raise InputError(f"Column {name!r} is not a one-dimensional array of unsigned codes.")
        if rows is not None and len(column) != rows:
            raise InputError(
                f"Column {name!r} has another number of rows than the columns before it."
            )
        rows = len(column)
        if not 1 <= sizes[name] <= MAX_VALUES:
            raise InputError(
                f"Attribute {name!r} has a domain of size {sizes[name]}, not 1 to {MAX_VALUES:,}."
            )
        if rows and int(column.max()) >= sizes[name]:
            raise InputError(f"Column {name!r} has codes outside its domain of size {sizes[name]}.")
    if rows is not None and rows > MAX_ROWS:
        raise InputError(
            f"A table in memory may have up to {MAX_ROWS:,} rows; count larger ones in an engine."
        )
    return rows or 0


def check_weights(weights: NDArray[Any], entries: int, columns: bool) -> int:
    """Refuse weights that do not go with the columns; returns the number of rows."""
    if weights.ndim != 1 or weights.dtype.kind not in "iu" or (columns and len(weights) != entries):
        raise InputError("There must be one weight, a whole number, for each entry of the columns.")
    rows = int(weights.sum(dtype=np.int64))
    if rows > MAX_ROWS or (len(weights) and int(weights.min()) < 0):
        raise InputError(f"Weights must not be negative, and add up to at most {MAX_ROWS:,} rows.")
    return rows


def check_generalisation(name: str, level: int, mapping: NDArray[Any], size: int) -> int:
    """Refuse a mapping that does not fit its attribute; returns the size of the level."""
    mapping = np.asarray(mapping)
    fits = mapping.shape == (size,) and mapping.dtype.kind in "iu"
    if not fits or int(mapping.min()) < 0 or int(mapping.max()) >= size:
        raise InputError(
            f"Level {level} of attribute {name!r} must give each of its {size} base codes a code "
            f"below {size}."
        )
    return int(mapping.max()) + 1
