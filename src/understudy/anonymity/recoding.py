"""Recoding: what is written for a group of rows (local) or for every value of a column (global)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.classes import EquivalenceClasses
from understudy.anonymity.hierarchies import MISSING_LABEL, SUPPRESSED_TO, write_whole_range
from understudy.anonymity.microdata import ColumnValues, Microdata
from understudy.data.columns import Column

Ints = NDArray[np.int64]


def recode_locally(
    table: Microdata, names: Sequence[str], classes: EquivalenceClasses
) -> dict[str, Column]:
    """For each group and column what all its rows become: the range or the set of their values."""
    return {name: _recode_groups(table[name], classes) for name in names}


def recode_globally(table: Microdata, levels: Mapping[str, int]) -> dict[str, Column]:
    """Each value as the label of its column's level."""
    recoded = {}
    for name, height in levels.items():
        values = table[name]
        level = values.hierarchy.levels[height]
        recoded[name] = _text_column(level.places[values.codes], level.labels)
    return recoded


def _recode_groups(values: ColumnValues, classes: EquivalenceClasses) -> Column:
    codes = values.codes[classes.order]
    lowest = np.minimum.reduceat(codes, classes.starts)
    highest = np.maximum.reduceat(codes, classes.starts)
    known: dict[str, int] = {}
    of_class = np.empty(classes.count, dtype=np.int64)
    ends = classes.starts + classes.sizes
    for place in range(classes.count):
        low, high = int(lowest[place]), int(highest[place])
        if low == high:
            label = values.names[low]
        else:
            members = np.unique(codes[classes.starts[place] : ends[place]])
            label = _write_group(values, members)
        of_class[place] = known.setdefault(label, len(known))
    return _text_column(of_class[classes.of_row], tuple(known))


def _write_group(values: ColumnValues, members: Ints) -> str:
    """A group of values: a range of numbers, a label of the hierarchy that fits it exactly or masks
    it, else the set.
    """
    absent = ""
    if values.names[-1] == MISSING_LABEL and members[-1] == values.size - 1:
        absent, members = " or missing", members[:-1]
    if len(members) == 1:
        return values.names[members[0]] + absent
    if values.numbers is not None:
        return _write_numbers(values, members) + absent
    if len(members) + bool(absent) == values.size:
        return SUPPRESSED_TO
    masked = _find_prefix(values, members)
    if masked is not None:
        return masked + absent
    return "|".join(values.names[member] for member in members) + absent


def _write_numbers(values: ColumnValues, members: Ints) -> str:
    assert values.numbers is not None
    low, high = members[0], members[-1]
    ends = values.numbers[low], values.numbers[high]
    plain = values.names[low] == f"{ends[0]:.0f}" and values.names[high] == f"{ends[1]:.0f}"
    if plain:
        return write_whole_range(int(ends[0]), int(ends[1]))
    return f"{values.names[low]} to {values.names[high]}"


def _find_prefix(values: ColumnValues, members: Ints) -> str | None:
    """The label of the lowest level that all members share, where labels are short."""
    for level in values.hierarchy.levels[1:-1]:
        found = np.unique(level.places[members])
        if len(found) == 1 and level.labels[found[0]].endswith("*"):
            return level.labels[found[0]]
    return None


def _text_column(places: Ints, words: tuple[str, ...]) -> Column:
    """A column of texts; what is missing is written as an empty cell."""
    missing = None
    if MISSING_LABEL in words:
        missing = (places == words.index(MISSING_LABEL)).astype(np.uint8)
    return Column("text", places, words, missing)
