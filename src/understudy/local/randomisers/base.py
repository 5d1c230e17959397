"""What all randomisers have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.local.randomisers.thresholds import check_local_epsilon, check_whole
from understudy.local.randomisers.words import WHOLE, Words

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Reports = NDArray[Any]
"""A line of :attr:`Randomiser.width` whole numbers for each person."""

RANDOMISER_KINDS: dict[str, type[Randomiser]] = {}
"""Every randomiser by its name."""


@dataclass(frozen=True, kw_only=True)
class Randomiser(ABC):
    """A way to report a value such that nobody can be sure of it: epsilon-locally differentially
    private. It is public, and so is everything that is computed from its reports.

    Parameters
    ----------
    epsilon
        Any report is at most e^epsilon times as likely under one value as under any other.
    """

    kind: ClassVar[str] = ""
    epsilon: float

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.kind:
            RANDOMISER_KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        check_local_epsilon(self.epsilon)

    # ------------------------------------------------------------------- on the person's side

    @abstractmethod
    def encode(self, values: Any) -> Integers:
        """The whole numbers that values stand for, or an error where one cannot be reported."""

    def perturb(self, values: Any, words: Words | None = None) -> Reports:
        """The reports of values, one line of whole numbers each.

        Parameters
        ----------
        values
            One per person.
        words
            The stream of random words; by default the operating system's.
        """
        return self._draw(self.encode(values), words or Words())

    @abstractmethod
    def _draw(self, codes: Integers, words: Words) -> Reports: ...

    # ------------------------------------------------------------------- on the collector's side

    @property
    @abstractmethod
    def width(self) -> int:
        """How many whole numbers a report has."""

    @abstractmethod
    def is_possible(self, reports: Any) -> NDArray[np.bool_]:
        """For each line, whether it can be a report."""

    @abstractmethod
    def tally(self, reports: Any) -> Integers:
        """What is counted in reports. Tallies of several batches add up to that of all of them."""

    @abstractmethod
    def estimate(self, tally: Any, persons: int) -> Floats:
        """What the tally of this many persons' reports says."""

    # ------------------------------------------------------------------- what it promises

    @property
    @abstractmethod
    def loss(self) -> float:
        """The largest privacy loss of a report, from the numbers that are really drawn by: at most
        epsilon.
        """

    @abstractmethod
    def thresholds(self) -> dict[str, int]:
        """The whole numbers that words are compared with."""

    # ------------------------------------------------------------------- in files

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a plan. Thresholds are text: they have more digits than a JavaScript
        number.
        """
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        written = {name: str(number) for name, number in self.thresholds().items()}
        return {"kind": self.kind, **given, "thresholds": written}

    @staticmethod
    def from_dict(document: Any) -> Randomiser:
        """Check what stands in a plan and build the randomiser. Thresholds that are not those of
        its epsilon are refused.
        """
        kind = None
        if isinstance(document, Mapping) and isinstance(document.get("kind"), str):
            kind = RANDOMISER_KINDS.get(document["kind"])
        if kind is None:
            raise InputError(
                f"A randomiser must be an object with a kind of {', '.join(RANDOMISER_KINDS)}."
            )
        wanted = {each.name for each in fields(kind)}
        if {*document} - {"kind", "thresholds"} != wanted:
            raise InputError(
                f"The randomiser {kind.kind} must have {', '.join(sorted(wanted))} and no more."
            )
        made = kind(**{name: document[name] for name in wanted})
        stated = document.get("thresholds", made.to_dict()["thresholds"])
        if stated != made.to_dict()["thresholds"]:
            raise InputError(
                f"The thresholds of {made} are not those of its epsilon; make the plan again."
            )
        return made


@dataclass(frozen=True, kw_only=True)
class FiniteRandomiser(Randomiser):
    """A randomiser with finitely many reports, whose probabilities are fractions."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio, exactly, of the probabilities of a report under two values: at most
        e^epsilon.
        """

    @property
    def loss(self) -> float:
        """The logarithm of the largest ratio."""
        return math.log1p(self.ratio - 1)

    @abstractmethod
    def probability(self, report: Sequence[int], code: Any) -> Fraction:
        """The probability of a report where this is the true code, exactly."""

    @abstractmethod
    def possible_reports(self) -> Iterator[tuple[int, ...]]:
        """Every report, for the audit of small sizes."""


@dataclass(frozen=True, kw_only=True)
class CategoricalRandomiser(Randomiser):
    """A randomiser for one of ``size`` values, which are counted.

    Parameters
    ----------
    size
        How many values there are: 0 to size - 1.
    """

    size: int
    max_size: ClassVar[int] = 1 << 16

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "size", check_whole(self.size, "size", 2, self.max_size))

    def encode(self, values: Any) -> Integers:
        """The codes, if they are whole numbers from 0 to size - 1."""
        return check_codes(values, self.size)

    def is_possible_tally(self, tally: Integers, persons: int) -> bool:
        """Whether this many reports can have a tally, as far as is known."""
        return len(tally) == self.size

    @abstractmethod
    def variance(self, persons: int, counts: Any = None) -> Floats:
        """The variance of each estimated count.

        Parameters
        ----------
        persons
            How many report.
        counts
            How many have each value, or an estimate of that; by default equally many.
        """

    @property
    def total_variance(self) -> float:
        """Of all estimated counts together, per person, where values are equally frequent."""
        return float(self.variance(1).sum())

    def _check_counts(self, persons: int, counts: Any) -> Floats:
        check_persons(persons)
        if counts is None:
            return np.full(self.size, persons / self.size)
        given = to_array(counts)
        numbers = given.dtype.kind in "iuf" and given.shape == (self.size,)
        if not numbers or not np.isfinite(given).all():
            raise InputError(f"counts must be {self.size:,} finite numbers, one per value.")
        return np.clip(given.astype(np.float64), 0, persons)


@dataclass(frozen=True, kw_only=True)
class SupportRandomiser(CategoricalRandomiser, FiniteRandomiser):
    """A randomiser whose report speaks for some of the values: for the true one with probability p,
    for each other one with probability q.

    Then c reports that speak for a value, of n, give the unbiased count (c - n q) / (p - q), whose
    variance is (m p (1 - p) + (n - m) q (1 - q)) / (p - q)^2 where m persons have the value. Added
    up over all values this does not depend on who has which.
    """

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """The probability that a report speaks for the true value."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """The probability that a report speaks for another given value."""

    def is_possible_tally(self, tally: Integers, persons: int) -> bool:
        """Whether each value has at most as many reports as there are."""
        possible = super().is_possible_tally(tally, persons)
        return possible and bool(((tally >= 0) & (tally <= persons)).all())

    def estimate(self, tally: Any, persons: int) -> Floats:
        """How many persons have each value, without bias; estimates may be negative."""
        counts = check_tally(tally, self.size).astype(np.float64)
        check_persons(persons)
        return (counts - persons * float(self.q)) / float(self.p - self.q)

    def variance(self, persons: int, counts: Any = None) -> Floats:
        """The variance of each estimated count.

        Parameters
        ----------
        persons
            How many report.
        counts
            How many have each value, or an estimate of that; by default equally many.
        """
        having = self._check_counts(persons, counts)
        gap = (self.p - self.q) ** 2
        own = float(self.p * (1 - self.p) / gap)
        other = float(self.q * (1 - self.q) / gap)
        return having * own + (persons - having) * other


# --------------------------------------------------------------------------- checks


def to_array(given: Any) -> NDArray[Any]:
    """What was given as an array, if it has a shape."""
    try:
        return np.asarray(given)
    except (ValueError, TypeError, OverflowError):
        raise InputError("Lists must have lines of one length, of plain numbers.") from None


def check_codes(values: Any, size: int) -> Integers:
    """Codes from 0 to size - 1, as an array of one dimension."""
    array = to_array(values)
    if array.dtype.kind not in "iu" and array.size:
        raise InputError(
            f"Values are reported by their codes, whole numbers from 0 to {size - 1:,}; these are "
            f"{_kind_of(array)}."
        )
    if array.ndim != 1:
        raise InputError("Values are reported as a list of codes, one per person.")
    if array.size and not (array.min() >= 0 and array.max() < size):
        raise InputError(
            f"A value has a code outside 0 to {size - 1:,}; give values outside the domain a code "
            "of their own."
        )
    return array.astype(np.int64)


def check_reports(reports: Any, width: int) -> Reports:
    """Lines of whole numbers."""
    array = to_array(reports)
    if array.size == 0:
        return np.empty((0, width), dtype=np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != width:
        raise InputError(f"Reports must be lines of {width:,} whole numbers each.")
    return array


def check_tally(tally: Any, size: int) -> Integers:
    """A tally of as many whole numbers as it must have."""
    array = to_array(tally)
    if array.dtype.kind not in "iu" or array.shape != (size,):
        raise InputError(f"A tally must be {size:,} whole numbers.")
    return array.astype(np.int64)


def check_persons(persons: Any) -> int:
    """A number of persons."""
    if isinstance(persons, bool) or not isinstance(persons, int | np.integer) or persons < 0:
        raise InputError(f"persons must be a whole number, 0 or more, not {persons!r}.")
    return int(persons)


def _kind_of(array: NDArray[Any]) -> str:
    kinds = {"f": "decimal numbers", "b": "truth values"}
    return kinds.get(array.dtype.kind, "text or other objects")


def in_range(reports: Reports, *limits: int) -> NDArray[np.bool_]:
    """For each line, whether each number is at least 0 and below its limit."""
    return np.logical_and.reduce(
        [(column >= 0) & (column < limit) for column, limit in zip(reports.T, limits, strict=True)]
    )


@dataclass(frozen=True, kw_only=True)
class WordRandomiser(SupportRandomiser):
    """One whose p and q are shares of the 2^64 words that the system's randomness can give."""

    @property
    @abstractmethod
    def _words(self) -> tuple[int, int]:
        """How many words speak for the true value, and how many for another given one."""

    @property
    def p(self) -> Fraction:
        """The probability that a report speaks for the true value."""
        return Fraction(self._words[0], WHOLE)

    @property
    def q(self) -> Fraction:
        """The probability that a report speaks for another given value."""
        return Fraction(self._words[1], WHOLE)
