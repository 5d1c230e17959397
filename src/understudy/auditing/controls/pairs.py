"""The two inputs that a control is run on, in words and as tables."""

from __future__ import annotations

from understudy.auditing.neighbours import Pair, worst_pairs
from understudy.privacy.budget import Neighbours

ONE_MORE = "one row more"
ONLY_ROW = "an empty cell gains its only row"
CONSTANT = "a constant column gains one value"
EXTREME = "an extreme value"
UP_DOWN = "one score up, one down"
ONE_CONFIGURATION = "a parent configuration with one row"
ODD_CELL = "a text among numbers"
NO_MARK = "the only mark for a missing value"
THIRD_NUMBER = "the third row with a number"
ONE_MISSING = "one more row, with a missing value"

EMPTY, WITH_ONLY_ROW = (20.0, 20.0, 0.0), (20.0, 20.0, 1.0)
"""A histogram with an empty cell, and with its only row."""


def constant_pair(neighbours: Neighbours) -> Pair:
    """Tables with a constant column, to one of which one row adds another value."""
    return worst_pairs(neighbours)[0]
