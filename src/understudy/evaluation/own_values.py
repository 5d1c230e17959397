"""Columns in which nearly every real row has a value of its own, whatever they are called.

Such a column tells rows apart. Synthetic rows that share its values are not what the real ones are,
and a synthetic row that holds the value of a real one looks as if it told about somebody.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.data.tables import Column
from understudy.evaluation.reading import read_words
from understudy.evaluation.result import OwnValues

MIN_OWN_ROWS = 50
"""Real rows below which values are different by chance."""

MAX_SHARED = 0.05
"""The share of real rows that may share a value with another one."""

MIN_NOT_OWN, MIN_NOT_OWN_RATIO = 0.05, 3.0
"""The share of synthetic rows from which on it is said that they share values, or hold those of
real rows; and how many times more than real rows do, of which numbers are alike by chance.
"""

FEW_WORDS = 1
"""A column with as many words, or fewer, was replaced, and that is said elsewhere."""


def find_own_values(
    name: str,
    real: Column,
    synthetic: Column,
    absent: tuple[NDArray[np.bool_], NDArray[np.bool_]],
) -> OwnValues | None:
    """What became of the values of a column that tells real rows apart; ``None`` for others."""
    if real.kind not in ("text", "integer"):
        return None
    ours, theirs = (
        _read_present(column, gone) for column, gone in zip((real, synthetic), absent, strict=True)
    )
    if len(ours) < MIN_OWN_ROWS or not len(theirs):
        return None
    shared = _share_shared(ours)
    if shared > MAX_SHARED or len(np.unique(theirs)) <= FEW_WORDS:
        return None
    found = OwnValues(
        name, shared, _share_shared(theirs), float(np.isin(theirs, ours).mean()), real.kind
    )
    if max(found.shared, found.held) <= max(MIN_NOT_OWN, MIN_NOT_OWN_RATIO * shared):
        return None
    return found


def _read_present(column: Column, gone: NDArray[np.bool_]) -> NDArray[np.str_]:
    words, places = read_words(column)
    return np.array(words, dtype=np.str_)[places[~gone]]


def _share_shared(words: NDArray[np.str_]) -> float:
    """The share of rows whose value another row has, too."""
    counts = np.unique(words, return_counts=True)[1]
    return float(counts[counts > 1].sum() / len(words))
