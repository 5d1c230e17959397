"""Query restriction, for teaching: a database that answers exactly or refuses, and the tracker that
gets everything out of it.

Statistical databases once answered sums and counts exactly, refused small query sets and large
overlaps, and gave a range instead of a maximum. :class:`RestrictedDatabase` does that.
:func:`track` asks it only what it allows, and still learns a single person's value (Denning,
Denning and Schwartz 1979). A refusal tells something too. The answer with differential privacy
stands beside it; nothing here is on the path of a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.mechanisms import Geometric
from understudy.privacy.ledger import Ledger

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


class RefusedError(InputError):
    """The database does not answer this query."""


@dataclass
class RestrictedDatabase:
    """Answers counts and sums exactly, or refuses.

    Attributes
    ----------
    values
        The sensitive numbers, one per person.
    min_query_set
        A query set must have at least this many people, and leave out at least as many.
    max_overlap
        Two query sets may have at most this many people in common; ``None``: no limit.
    range_width
        The width of the range that is given instead of a maximum.

    Examples
    --------
    >>> salaries = RestrictedDatabase(np.array([30.0, 40.0, 85.0, 50.0, 45.0]), min_query_set=2)
    >>> salaries.total(np.array([True, True, False, False, False]))
    70.0
    >>> salaries.highest(np.array([True, True, True, False, False]))
    (50.0, 100.0)
    >>> salaries.total(np.array([False, False, True, False, False]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    understudy.anonymity.inference_control.RefusedError: The query set has 1 person; ...
    """

    values: Floats
    min_query_set: int = 5
    max_overlap: int | None = None
    range_width: float = 50.0
    _asked: list[Flags] = field(default_factory=list, init=False, repr=False)

    def count(self, people: Flags) -> int:
        """How many people are in a query set."""
        self._allow(people)
        return int(people.sum())

    def total(self, people: Flags) -> float:
        """The sum of their values."""
        self._allow(people)
        return float(self.values[people].sum())

    def highest(self, people: Flags) -> tuple[float, float]:
        """The range in which their largest value lies."""
        self._allow(people)
        low = math.floor(float(self.values[people].max()) / self.range_width) * self.range_width
        return low, low + self.range_width

    def _allow(self, people: Flags) -> None:
        size, rest = int(people.sum()), int((~people).sum())
        if size < self.min_query_set:
            noun = "person" if size == 1 else "people"
            raise RefusedError(
                f"The query set has {size} {noun}; at least {self.min_query_set} are needed."
            )
        if rest < self.min_query_set:
            raise RefusedError(
                f"The query set leaves out {rest} people; it must leave out {self.min_query_set}."
            )
        for earlier in self._asked:
            common = int((earlier & people).sum())
            if self.max_overlap is not None and common > self.max_overlap:
                raise RefusedError(
                    f"The query set shares {common} people with an earlier one; at most "
                    f"{self.max_overlap} are allowed."
                )
        self._asked.append(people.copy())


@dataclass(frozen=True)
class Tracked:
    """What a tracker learned: the value of one person, or why not."""

    value: float | None
    queries: int
    sentence: str


def track(database: RestrictedDatabase, person: Flags, attributes: Sequence[Flags]) -> Tracked:
    """Learn one person's value by a general tracker.

    A set T that may be asked, and whose complement may be asked, gives the total of all people; the
    person and T, and the person and not T, give the same total plus her value once more. She is in
    T or not, so: value = total(T or her) + total(not T or her) - total(T) - total(not T).

    Parameters
    ----------
    database
        The database.
    person
        Who: one flag per person, one of them set.
    attributes
        Sets of people that the attacker can name, as she does not see rows: women, people over
        fifty. One of them must be a tracker, neither too small nor too large.
    """
    if int(person.sum()) != 1:
        raise InputError("A tracker looks for one person.")
    asked = 0
    for tracker in attributes:
        try:
            parts = []
            for people in (tracker | person, ~tracker | person, tracker, ~tracker):
                asked += 1
                parts.append(database.total(people))
        except RefusedError:
            continue
        value = parts[0] + parts[1] - parts[2] - parts[3]
        return Tracked(
            value, asked, f"Four allowed sums give the value of one person exactly: {value:g}."
        )
    return Tracked(None, asked, "No set of people that was tried is a tracker.")


def answer_privately(
    values: Floats, bounds: tuple[int, int], epsilon: float, ledger: Ledger
) -> Callable[[Flags], int]:
    """The same sums with differential privacy: each costs epsilon from a ledger, and four of them
    tell as little of one person as the ledger says.

    Parameters
    ----------
    values
        The sensitive numbers.
    bounds
        Public whole numbers between which each value is clipped; values are rounded to whole
        numbers, so that sums are exact before the noise.
    epsilon
        The price of one answer.
    ledger
        Pays; when it is empty there are no more answers.
    """
    low, high = bounds
    whole = np.rint(np.clip(values, low, high)).astype(np.int64)
    mechanism = Geometric(epsilon=epsilon, sensitivity=max(abs(low), abs(high), 1))

    def total(people: Flags) -> int:
        return int(mechanism.release(int(whole[people].sum()), ledger, "a sum over a query set"))

    return total
