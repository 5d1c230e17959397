"""Hierarchies: how the values of a column merge, level by level, until nothing is left to tell.

Level 0 is the values themselves, the last level is ``*``. Each level is a map from the places of
values to the places of labels, and a label of one level lies inside one label of the next, so that
rows that are equal stay equal.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.generalisation import Taxonomy, cut_taxonomy
from understudy.errors import InputError

Ints = NDArray[np.int64]

SUPPRESSED_TO = "*"
"""What stands where nothing is told."""

MISSING_LABEL = "(missing)"
"""What stands for an empty cell among the values of a column."""

MAX_LEVELS = 40


@dataclass(frozen=True)
class Level:
    """One level: the label that each value becomes."""

    places: Ints
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Hierarchy:
    """The levels of one column, from the values to ``*``."""

    levels: tuple[Level, ...]

    def __len__(self) -> int:
        return len(self.levels)

    @cached_property
    def losses(self) -> tuple[NDArray[np.float64], ...]:
        """For each level and value: which share of the other values it can no longer be told
        from (0: itself alone, 1: any).
        """
        found = []
        for level in self.levels:
            sizes = np.bincount(level.places)
            found.append((sizes[level.places] - 1) / max(len(level.places) - 1, 1))
        return tuple(found)


def build_levels(names: Sequence[str], coarser: Sequence[Level]) -> Hierarchy:
    """The values, some coarser levels, and ``*``; levels that merge nothing are left out."""
    finest = Level(np.arange(len(names)), tuple(names))
    levels = [finest]
    for level in coarser:
        fewer = len(np.unique(level.places)) < len(np.unique(levels[-1].places))
        if fewer and len(np.unique(level.places)) > 1:
            levels.append(level)
    if len(names) > 1:
        levels.append(Level(np.zeros(len(names), dtype=np.int64), (SUPPRESSED_TO,)))
    return Hierarchy(tuple(levels))


def no_levels(names: Sequence[str]) -> Hierarchy:
    """Nothing between the values and ``*``."""
    return build_levels(names, ())


def make_prefixes(names: Sequence[str]) -> Hierarchy:
    """Codes that lose their last character level by level: 23620, 2362*, 236**, 23***, ..."""
    longest = max(map(len, names), default=0)
    if longest > MAX_LEVELS:
        raise InputError(
            f"Texts of {longest} characters are no codes whose beginning says much; give a "
            "taxonomy instead of prefixes."
        )
    coarser = []
    for cut in range(1, longest):
        masked = [name[: max(longest - cut, 0)] for name in names]
        shown = [
            head + "*" * (len(name) - len(head)) for head, name in zip(masked, names, strict=True)
        ]
        coarser.append(_label_level(shown))
    return build_levels(names, coarser)


def make_ranges(
    numbers: NDArray[np.float64], names: Sequence[str], width: float | None = None
) -> Hierarchy:
    """Ranges that double: of numbers in tens, 20-29, 20-39, 0-39, ...

    Ranges begin at multiples of their width, so that they are the same in every table. Without a
    width the first is the round number (1, 2 or 5 times a power of ten) that makes at most about
    twenty ranges. A value that is missing (not a number) stays by itself until the last level.
    """
    there = np.isfinite(numbers)
    if not there.any():
        return no_levels(names)
    low, high = float(numbers[there].min()), float(numbers[there].max())
    if width is None:
        width = _round_width((high - low) / 20)
    elif not (math.isfinite(width) and width > 0):
        raise InputError(f"A range cannot be {width:g} wide; give a width above 0.")
    whole = bool((numbers[there] == np.floor(numbers[there])).all()) and width == round(width)
    coarser: list[Level] = []
    while len(coarser) < MAX_LEVELS:
        steps = np.floor(np.where(there, numbers, 0.0) / width)
        labels = [
            _write_range(step * width, width, whole) if known else MISSING_LABEL
            for step, known in zip(steps.tolist(), there.tolist(), strict=True)
        ]
        coarser.append(_label_level(labels))
        if steps[there].min() == steps[there].max() or width > 4 * (high - low) + 1:
            break
        width *= 2
    return build_levels(names, coarser)


def make_calendar(
    days: NDArray[np.float64], names: Sequence[str], width: float | None = None
) -> Hierarchy:
    """Months, years and decades; with a width, ranges of that many days, which double.

    Parameters
    ----------
    days
        Days since 1970; not a number where the date is missing.
    names
        The dates as they are written.
    width
        Of the first ranges, in days.
    """
    there = np.isfinite(days)
    if not there.any():
        return no_levels(names)
    whole = np.where(there, np.floor(days), 0.0).astype(np.int64)
    coarser = []
    for labels in _date_labels(whole, there, width):
        known = [
            label if each else MISSING_LABEL for label, each in zip(labels, there, strict=True)
        ]
        coarser.append(_label_level(known))
    return build_levels(names, coarser)


def _date_labels(
    days: NDArray[np.int64], there: NDArray[np.bool_], width: float | None
) -> Iterator[list[str]]:
    if width is None:
        dates = days.astype("datetime64[D]")
        years = dates.astype("datetime64[Y]").astype(np.int64) + 1970
        yield dates.astype("datetime64[M]").astype(str).tolist()
        yield years.astype(str).tolist()
        yield [write_whole_range(year // 10 * 10, year // 10 * 10 + 9) for year in years.tolist()]
        return
    if not (math.isfinite(width) and width >= 1 and width == round(width)):
        raise InputError(f"A range of dates cannot be {width:g} days wide; give a whole number.")
    step = int(width)
    for _ in range(MAX_LEVELS):
        first = days // step * step
        ends = first.astype("datetime64[D]"), (first + step - 1).astype("datetime64[D]")
        yield [f"{low} to {high}" for low, high in zip(*ends, strict=True)]
        if len(np.unique(first[there])) == 1:
            return
        step *= 2


def cut_levels(tree: Taxonomy, names: Sequence[str], column: str) -> Hierarchy:
    """The levels of a taxonomy; a label lists the values that it stands for."""
    known = set(list_leaves(tree))
    strangers = [name for name in names if name not in known and name != MISSING_LABEL]
    if strangers:
        raise InputError(
            f"The taxonomy of {column!r} does not cover {strangers[0]!r} and "
            f"{len(strangers) - 1} other values of the table; add them to it."
            if len(strangers) > 1
            else f"The taxonomy of {column!r} does not cover the value {strangers[0]!r}; add it."
        )
    coarser = []
    for places in cut_taxonomy(tree, tuple(names), len(names)):
        members: dict[int, list[str]] = {}
        for name, place in zip(names, places.tolist(), strict=True):
            members.setdefault(place, []).append(name)
        coarser.append(_label_level(["|".join(members[place]) for place in places.tolist()]))
    return build_levels(names, coarser)


def read_hierarchy(
    given: Any,
    names: Sequence[str],
    numbers: NDArray[np.float64] | None,
    column: str,
    *,
    dates: bool = False,
) -> Hierarchy:
    """A hierarchy as a user gives it: "prefix", a width, nested lists, or labels level by level.

    Parameters
    ----------
    given
        ``"prefix"``; a number, the width of the first ranges; nested lists, a taxonomy; or an
        object that gives for each value its labels from level 1 on (``{"23620": ["236**"]}``).
    dates
        Whether the numbers are days, so that a width is one of days.
    """
    if given == "prefix":
        return make_prefixes(names)
    if isinstance(given, int | float) and not isinstance(given, bool):
        if numbers is None:
            raise InputError(f"The column {column!r} holds no numbers, so it has no ranges.")
        if abs(given) > sys.float_info.max:
            raise InputError(f"The ranges of {column!r} cannot be so wide; give a smaller width.")
        if dates:
            return make_calendar(numbers, names, float(given))
        return make_ranges(numbers, names, float(given))
    if isinstance(given, list | tuple):
        return cut_levels(as_taxonomy(given), names, column)
    if isinstance(given, Mapping):
        return _read_labels(given, names, column)
    raise InputError(
        f"The hierarchy {given!r} of {column!r} is none; give prefix, a width, nested lists of "
        "values, or the labels of each value."
    )


def _read_labels(given: Mapping[str, Any], names: Sequence[str], column: str) -> Hierarchy:
    rows = []
    for name in names:
        labels = given.get(name)
        if name == MISSING_LABEL and labels is None:
            labels = [MISSING_LABEL] * min(map(len, given.values()), default=0)
        if not isinstance(labels, list | tuple):
            raise InputError(f"The hierarchy of {column!r} does not cover the value {name!r}.")
        rows.append([str(label) for label in labels])
    heights = {len(labels) for labels in rows}
    if len(heights) != 1:
        raise InputError(f"The values of {column!r} have labels at different numbers of levels.")
    coarser = [_label_level(list(labels)) for labels in zip(*rows, strict=True)]
    for finer, level in itertools.pairwise(coarser):
        pairs = set(zip(finer.places.tolist(), level.places.tolist(), strict=True))
        if len(pairs) != len(finer.labels):
            raise InputError(
                f"The hierarchy of {column!r} is none: values that are equal on one level differ "
                "on the next."
            )
    return build_levels(names, coarser)


def _label_level(labels: Sequence[str]) -> Level:
    known = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    return Level(np.array([known[label] for label in labels], dtype=np.int64), tuple(known))


def _round_width(width: float) -> float:
    """The next of 1, 2, 5, 10, 20, ... (or a tenth, a hundredth of it)."""
    if width <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(power * unit for unit in (1, 2, 5, 10) if power * unit >= width * (1 - 1e-12))


def _write_range(low: float, width: float, whole: bool) -> str:
    if not whole:
        return f"[{low:g}, {low + width:g})"
    first, last = int(low), int(low + width) - 1
    if first == last:
        return str(first)
    return write_whole_range(first, last)


def write_whole_range(first: int, last: int) -> str:
    """A range of integers; with a word where a dash could be read as a sign."""
    if first < 0:
        return f"{first} to {last}"
    return f"{first}-{last}"


def list_leaves(tree: Taxonomy) -> list[str]:
    """The values of a taxonomy, neighbours beside each other."""
    found: list[str] = []
    for node in tree:
        if isinstance(node, tuple):
            found.extend(list_leaves(node))
        else:
            found.append(str(node))
    return found


def as_taxonomy(tree: Any, depth: int = 1) -> Taxonomy:
    """Nested lists as a taxonomy of texts."""
    if depth > MAX_LEVELS:
        raise InputError(f"A taxonomy may have at most {MAX_LEVELS} levels; leave some out.")
    return tuple(
        as_taxonomy(node, depth + 1) if isinstance(node, list | tuple) else str(node)
        for node in tree
    )
