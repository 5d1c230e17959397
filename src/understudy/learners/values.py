"""Values that a learner is given: parameters, labels and cells of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.learners.design import Matrix

MIN_ROW_NORM, MAX_ROW_NORM = 0.05, 1e6

NO_CLASSES = (
    "A classifier needs the public list of classes, classes=[...]; a list that is read off the "
    "rows would tell about them. If everybody knows which there are, classes='observed' takes "
    "those in y as public, and the ledger says so."
)


def check_classes(classes: Any) -> NDArray[Any]:
    """The public list of classes, in order; refuses what is none."""
    if classes is None:
        raise InputError(NO_CLASSES)
    try:
        found = np.unique(np.asarray(classes))
    except TypeError:
        found = np.array([])
    if np.ndim(classes) != 1 or len(found) < 2 or len(found) < len(classes):
        raise InputError(
            f"classes must list at least two classes, each once, not {classes!r}; or say "
            "'observed'."
        )
    return found


def check_positive(name: str, value: Any) -> float:
    """A parameter that must be a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(f"{name} must be a number above 0, not {value!r}.")
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} must be a finite number above 0, not {value!r}.")
    return float(value)


def check_row_norm(value: Any) -> None:
    """A length that rows can be shortened to, on the grid that sums are taken on."""
    if value is not None and not MIN_ROW_NORM <= check_positive("row_norm", value) <= MAX_ROW_NORM:
        raise InputError(
            f"row_norm must be a number from {MIN_ROW_NORM:g} to {MAX_ROW_NORM:,.0f}, not "
            f"{value!r}."
        )


def read_numbers(name: str, given: Any, shape: tuple[int, ...]) -> Matrix:
    """Finite numbers of a shape, from a file."""
    try:
        found = np.array(given, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        found = np.array(np.nan)
    if found.shape != shape or not np.isfinite(found).all():
        raise InputError(f"{name} is not an array of {shape} finite numbers")
    return found


def find_places(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:
    """The place of each label among the classes; of one that is not there, the last place."""
    order = {label: place for place, label in enumerate(classes.tolist())}
    last = len(classes) - 1
    places = [order.get(label, last) if _is_hashable(label) else last for label in y.tolist()]
    return np.array(places, dtype=np.int64)


def _is_hashable(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True


def numbers_of(y: Any) -> Matrix:
    """A target of numbers; what is none of them, in a column of objects, is missing."""
    y = np.asarray(y)
    if y.dtype.kind in "SU":
        raise ValueError(f"y is of type {y.dtype}, not a number; a regression predicts numbers.")
    if y.dtype.kind != "O":
        return y.astype(np.float64)
    return np.array([_number_of(cell) for cell in y.tolist()], dtype=np.float64)


def _number_of(cell: Any) -> float:
    if isinstance(cell, str | bytes):
        return math.nan
    try:
        return float(cell)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def read_cells(rows: Sequence[Any]) -> Matrix:
    """A list of rows as numbers, cell by cell; what is none is missing.

    How many columns there are is public, and the first row says it: a shorter row lacks the rest, a
    longer one is cut. The type of an array that NumPy makes of a list may depend on one cell.
    """
    if not rows or not isinstance(rows[0], list | tuple | np.ndarray):
        return np.zeros(len(rows))  # not a table, and refused as such
    width = len(rows[0])
    found = np.full((len(rows), width), np.nan)
    for place, row in enumerate(rows):
        if isinstance(row, list | tuple | np.ndarray) and np.ndim(row[:1]) == 1:
            cells = [_number_of(cell) for cell in row[:width]]
            found[place, : len(cells)] = cells
    return found


def refuse_objects(X: Any) -> None:  # noqa: N803
    """Refuse columns of Python objects by their type: which cell holds a text is not told."""
    types = getattr(X, "dtypes", None)
    if types is None:
        kinds = [np.asarray(X).dtype] if not hasattr(X, "toarray") else []
    else:
        kinds = list(np.atleast_1d(np.array(types, dtype=object)))
    for place, kind in enumerate(kinds):
        if getattr(kind, "kind", "O") in "OSU" and not _is_number_type(kind):
            where = f"Column {place} of X" if types is not None else "X"
            raise ValueError(
                f"{where} is of type {kind}, not a number; a learner takes columns of numbers, and "
                "tables with texts go with a schema (understudy learn)."
            )


def _is_number_type(kind: Any) -> bool:
    return str(kind).lower().startswith(("int", "uint", "float", "bool"))
