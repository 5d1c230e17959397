"""What counts as a rule that real rows keep: how few break it, and how many would by chance."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

MAX_BROKEN = 0.01
"""The share of real rows that may break a rule."""

MIN_APART, MIN_APART_RATIO, MIN_APART_ROWS = 0.02, 5.0, 20
"""In how many rows a rule must be broken where its columns have nothing to do with each other: as a
share, as a multiple of the rows that do break it, and in rows. An age is below any income; that
says nothing.
"""

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


def keeps_rule(broken: float, apart: float, rows: int) -> bool:
    """Whether real rows keep a rule that the same columns, shuffled, would break in ``apart`` of
    the rows.
    """
    if broken > MAX_BROKEN or apart * rows < MIN_APART_ROWS:
        return False
    return apart >= max(MIN_APART, MIN_APART_RATIO * broken)


def share_broken(there: NDArray[np.bool_], broken: NDArray[np.bool_]) -> float:
    """The share of the rows in which a rule's values are there that break it."""
    rows = int(there.sum())
    if not rows:
        return 0.0
    return float((there & broken).sum() / rows)


def write_name(name: str) -> str:
    """A column's name as constraints have it: in quotes where it is no plain word."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    return '"' + name.replace('"', '""') + '"'
