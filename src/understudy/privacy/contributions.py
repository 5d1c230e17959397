"""How much one person can contribute: at most this many rows of each count, chosen at random, the
rest is left out.

Bounding comes before anything is counted. Which rows of a person are kept depends on no other
person's rows, so two tables that differ in all rows of one person still do so once bounded, by at
most the bound.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.tables import MARKS, Column, Table
from understudy.errors import InputError

MAX_EXACT_REAL = 2.0**53
"""Beyond it a real number may stand for several whole ones."""


@dataclass(frozen=True)
class LeftOut:
    """Rows that do not count. For the owner's eyes only."""

    beyond: int
    """Rows beyond the bound."""
    nobodys: int
    """Rows that do not tell whose they are."""
    person: str
    most: int

    def __bool__(self) -> bool:
        return self.beyond + self.nobodys > 0

    def __str__(self) -> str:
        reasons = []
        if self.beyond:
            most = f"{self.most:,} row{'' if self.most == 1 else 's'}"
            reasons.append(f"{self.beyond:,} so that nobody counts with more than {most}")
        if self.nobodys:
            reasons.append(
                f"{self.nobodys:,} because {self.person} does not tell there whose they are"
            )
        return f"rows left out: {' and '.join(reasons)}"


def limit_rows_per_person(table: Table, person: str, most: int) -> tuple[Table, LeftOut]:
    """The table with at most ``most`` rows of each person, chosen uniformly at random, in their old
    order.

    A row that does not tell whose it is could be anybody's, beside rows that do tell, and is left
    out.
    """
    column = person_column(table, person)
    known = ~_has_no_person(column)
    kept = known.copy()
    kept[known] = _choose_rows(np.unique(column.values[known], return_inverse=True)[1], most)
    left_out = LeftOut(int(known.sum() - kept.sum()), int((~known).sum()), person, most)
    if not left_out:
        return table, left_out
    return table.take(kept), left_out


@dataclass(frozen=True)
class Spellings:
    """Persons that may be the same, written in several ways. For the owner's eyes only."""

    persons: int
    """How many are told apart by the text as written: no other row changes who is who."""
    alike: int
    """How many would be if spaces at the ends, and upper and lower case, did not matter."""
    person: str
    rounded: int = 0
    """How many are told apart by a real number that may be several persons' numbers, rounded."""

    def __bool__(self) -> bool:
        return self.alike < self.persons or self.rounded > 0

    def __str__(self) -> str:
        if self.rounded:
            return (
                f"{self.person} holds real numbers beyond 2^53 ({self.rounded:,} of them), where "
                "several whole numbers are rounded to one: persons who share one are protected "
                "less; make the column text or whole numbers before you release."
            )
        return (
            f"{self.person} tells {self.persons:,} persons apart, but only {self.alike:,} if "
            f"spaces at the ends and "
            f"upper and lower case do not matter: whoever is written in two ways counts as two "
            f"persons, and is "
            f"protected less; write the same person alike before you release."
        )


def spellings(table: Table, person: str) -> Spellings:
    """How many persons the column tells apart, and how many if spelling mattered less."""
    column = person_column(table, person)
    known = np.unique(column.values[~_has_no_person(column)])
    if column.kind == "real":
        return Spellings(0, 0, person, int((np.abs(known) > MAX_EXACT_REAL).sum()))
    if column.kind != "text":
        return Spellings(0, 0, person)
    words = [column.words[place] for place in known]
    return Spellings(len(words), len({word.strip().casefold() for word in words}), person)


def person_column(table: Table, person: str) -> Column:
    """The column that tells persons apart, if it can.

    Reals do so by their value. One row without a number makes reals of whole numbers in some
    libraries, and whether there is such a row is private.
    """
    if person not in table.columns:
        raise InputError(
            f"{table.source} has no column {person!r} to tell persons apart by; check the name."
        )
    column = table.columns[person]
    if column.raw is not None:
        column = column.raw  # as written: what other rows hold must not change who is who
    if column.kind not in ("integer", "real", "text", "empty"):
        raise InputError(
            f"{table.source}, column {person!r} holds {column.kind} values, which do not tell "
            "persons apart; name a column of numbers or text."
        )
    return column


def _has_no_person(column: Column) -> NDArray[np.bool_]:
    """Where the column does not tell whose row it is."""
    if column.missing is None:
        unknown = np.zeros(len(column), dtype=bool)
    else:
        unknown = column.missing > 0
    if column.kind == "empty":
        return np.ones(len(column), dtype=bool)
    if column.kind == "real":
        unknown = unknown | np.isnan(column.values)
    if column.kind == "text":
        marks = np.array([word.strip() in MARKS for word in column.words], dtype=bool)
        unknown = unknown | marks[column.values]
    return unknown


def _choose_rows(persons: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    """Which rows are kept, given the number of the person that each belongs to."""
    chosen = np.ones(len(persons), dtype=bool)
    if len(persons):
        crowded = np.flatnonzero(np.bincount(persons)[persons] > most)
    else:
        crowded = np.empty(0, np.int64)
    if len(crowded) == 0:
        return chosen
    # In each person's group the rows stand in the order of random numbers from the operating
    # system.
    lots = np.frombuffer(os.urandom(8 * len(crowded)), dtype=np.uint64)
    crowded = crowded[np.lexsort((lots, persons[crowded]))]
    group = persons[crowded]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    rank = np.arange(len(group)) - np.repeat(starts, np.diff(starts, append=len(group)))
    chosen[crowded[rank >= most]] = False
    return chosen
