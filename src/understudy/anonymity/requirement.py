"""What a table must fulfil to be called k-anonymous, l-diverse and t-close."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.classes import EquivalenceClasses
from understudy.anonymity.measures import (
    Distance,
    choose_distance,
    count_distinct,
    entropy_diversity,
    recursive_ratio,
)
from understudy.anonymity.microdata import ColumnValues, Microdata
from understudy.errors import InputError

Diversity = Literal["distinct", "entropy", "recursive"]
DIVERSITIES = ("distinct", "entropy", "recursive")
CLOSENESS = ("auto", "equal", "ordered", "hierarchical", "difference")

Flags = NDArray[np.bool_]

_ROUNDING = 1e-9
"""How far an entropy or a distance may be off by rounding."""


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """What every equivalence class must fulfil.

    Attributes
    ----------
    k
        At least this many rows.
    l
        At least this many values of each sensitive column; ``None``: not asked for.
    diversity
        How values are counted: "distinct"; "entropy", as many as the entropy is worth; "recursive",
        the most frequent one is below ``c`` times all from the l-th most frequent one on.
    c
        For recursive diversity.
    t
        At most this far from the whole table in each sensitive column; ``None``: not asked for.
    distance
        How far is measured: see :func:`understudy.anonymity.measures.choose_distance`.
    """

    k: int = 5
    l: int | None = None  # noqa: E741 (its name in the field)
    diversity: Diversity = "distinct"
    c: float = 3.0
    t: float | None = None
    distance: str = "auto"

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise InputError(f"k must be a whole number from 1 on, not {self.k!r}.")
        if self.l is not None and (
            isinstance(self.l, bool) or not isinstance(self.l, int | float) or not self.l >= 1
        ):
            raise InputError(f"l must be a number from 1 on, not {self.l!r}.")
        if self.t is not None and not (
            isinstance(self.t, int | float) and math.isfinite(self.t) and self.t >= 0
        ):
            raise InputError(f"t must be a number from 0 to 1, not {self.t!r}.")
        if not (math.isfinite(self.c) and self.c > 0):
            raise InputError(f"c must be a number above 0, not {self.c!r}.")
        for name, value, known in (
            ("diversity", self.diversity, DIVERSITIES),
            ("distance", self.distance, CLOSENESS),
        ):
            if value not in known:
                raise InputError(f"The {name} {value!r} is unknown; use one of {', '.join(known)}.")

    @property
    def about_sensitive(self) -> bool:
        """Whether anything is asked of sensitive columns."""
        return self.l is not None or self.t is not None

    def __str__(self) -> str:
        """``k = 5, l = 2 (distinct), t = 0.2``."""
        parts = [f"k = {self.k}"]
        if self.l is not None:
            how: str = self.diversity
            if how == "recursive":
                how = f"recursive, c = {self.c:g}"
            parts.append(f"l = {self.l:g} ({how})")
        if self.t is not None:
            parts.append(f"t = {self.t:g}")
        return ", ".join(parts)


class Judge:
    """Judges the classes of one table by a requirement.

    Parameters
    ----------
    requirement
        What is asked for.
    table
        The table, with its sensitive columns.
    sensitive
        Their names. The distribution that t-closeness compares with is that of this table.
    """

    def __init__(
        self, requirement: Requirement, table: Microdata, sensitive: Sequence[str]
    ) -> None:
        self.requirement = requirement
        self.sensitive = [table[name] for name in sensitive]
        self._check(table)

    def _check(self, table: Microdata) -> None:
        needed = self.requirement
        if needed.k > table.rows:
            raise InputError(
                f"The table has {table.rows:,} rows, so no group of them can have k = "
                f"{needed.k:,}; ask for a smaller k."
            )
        if needed.about_sensitive and not self.sensitive:
            raise InputError(
                "l-diversity and t-closeness are about sensitive columns; name one (--sensitive, "
                'or "role": "sensitive" in the schema).'
            )
        for values in self.sensitive:
            if needed.l is not None and needed.l > values.size:
                raise InputError(
                    f"The sensitive column {values.name!r} has {values.size} values, so no group "
                    f"can have l = {needed.l:g} of them; ask for at most {values.size}."
                )
            if needed.distance == "hierarchical" and values.taxonomy is None:
                raise InputError(
                    f"The sensitive column {values.name!r} has no taxonomy along which a distance "
                    "could be measured; give one in the schema, or another distance."
                )

    def find_fulfilled(
        self, classes: EquivalenceClasses, rows: NDArray[np.int64] | None = None
    ) -> Flags:
        """Which classes fulfil everything.

        Parameters
        ----------
        classes
            The classes of the whole table, or of some of its rows.
        rows
            Which rows these are; all of them when not given.
        """
        good = classes.sizes >= self.requirement.k
        if not self.requirement.about_sensitive or not good.any():
            return good
        for values in self.sensitive:
            codes = values.codes
            if rows is not None:
                codes = codes[rows]
            good &= self._judge_values(classes, values, codes)
        return good

    def _judge_values(
        self, classes: EquivalenceClasses, values: ColumnValues, codes: NDArray[np.int64]
    ) -> Flags:
        found = []
        distance = self.distance(values)
        for counts in classes.tabulate(codes, values.size):
            good = np.ones(len(counts), dtype=bool)
            if self.requirement.l is not None:
                good &= self._is_diverse(counts)
            if self.requirement.t is not None:
                good &= distance.measure(counts, values.shares) <= self.requirement.t + _ROUNDING
            found.append(good)
        return np.concatenate(found)

    def _is_diverse(self, counts: NDArray[np.int64]) -> Flags:
        needed = self.requirement
        assert needed.l is not None
        if needed.diversity == "distinct":
            return count_distinct(counts) >= needed.l
        if needed.diversity == "entropy":
            return entropy_diversity(counts) >= needed.l - _ROUNDING
        return recursive_ratio(counts, int(needed.l)) < needed.c

    def distance(self, values: ColumnValues) -> Distance:
        """How far classes are measured to be from the table, for a sensitive column."""
        return choose_distance(
            self.requirement.distance, values.ordered, values.taxonomy, values.names
        )
