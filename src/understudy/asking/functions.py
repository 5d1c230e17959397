"""What each function asks of a curator, what its answer will be worth, and how it is read."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.asking.answers import Answer, Expected
from understudy.asking.intervals import KnownNoise, ShareIntervals
from understudy.asking.layout import BoundedGrid, Layout, find_grid
from understudy.errors import InputError
from understudy.models.query.raw import RawQuantity
from understudy.models.query.syntax import Query
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.linear import LinearQueries, QueryMatrix
from understudy.privacy.mechanisms import describe_noise, distribution_of
from understudy.privacy.questions import Question

MAX_GROUPS_ASKED = 100_000

NEEDS_BOUNDS = (
    "needs public bounds: write them into the question ({name} from 0 to 100), give them with "
    "--bounds, give a schema, or pay for finding them with --discovery"
)
NO_GROUPS = (
    "needs public groups: list them (group by {name} in ('a', 'b')), give a schema, or pay for "
    "finding them with --discovery"
)


@dataclass(frozen=True, kw_only=True)
class Priced:
    """A question with its price.

    Attributes
    ----------
    text, query
        What is asked.
    budget
        What it may cost.
    ledger
        Where it is booked: neighbours and rows per person stand there.
    rows
        The number of rows, where it is public.
    """

    text: str
    query: Query
    budget: Budget
    ledger: Ledger
    rows: int | None = None


class Function(ABC):
    """One function over a question's rows."""

    needs_grid = False

    def __init__(self, priced: Priced) -> None:
        self.priced = priced
        self.query = priced.query
        self.grid = self._find_grid()
        self.layout = Layout(self.query, self.grid)
        labels = self.layout.group_labels()
        if len(labels) > MAX_GROUPS_ASKED:
            raise InputError(
                f"The question has {len(labels):,} groups; at most {MAX_GROUPS_ASKED:,} "
                "are answered."
            )
        self.labels = labels

    def _find_grid(self) -> BoundedGrid | None:
        if not self.needs_grid:
            return None
        attribute = self.query.attribute
        assert isinstance(attribute, RawQuantity)
        return find_grid(attribute, bounds_of(self.query, attribute))

    @property
    def asked_grid(self) -> BoundedGrid:
        """The grid of a function that has one."""
        assert self.grid is not None
        return self.grid

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """For each cell its group, or -1 where the condition does not hold, or there is no
        number.
        """
        found = np.where(self.layout.truth(self.query.condition), self.layout.groups(), -1)
        if self.needs_grid:
            found = np.where(self.layout.points() >= 0, found, -1)
        return found

    @property
    def _whose(self) -> str:
        """Whose number of rows an answer is divided by, as the end of a sentence."""
        if self.query.groups:
            return " of each group that count"
        if self.query.condition is not None:
            return " that fit"
        return ""

    def linear(self, matrix: QueryMatrix) -> LinearQueries:
        """A question that takes the whole budget."""
        return LinearQueries(
            axes=self.layout.axes,
            matrix=matrix,
            budget=self.priced.budget,
            text=self.priced.text,
        )

    def noise_of(self, question: LinearQueries) -> KnownNoise:
        """The noise that an answer will have."""
        currency = self.priced.budget.currency
        return KnownNoise(distribution_of(currency), question.scale(self.priced.ledger))

    def describe(self, question: LinearQueries) -> str:
        """The noise in words."""
        scale = question.scale(self.priced.ledger)
        return describe_noise(self.priced.budget.currency, scale)

    @abstractmethod
    def questions(self) -> Sequence[Question]:
        """What is asked of the curator, in order."""

    @abstractmethod
    def expect(self) -> Expected:
        """What the answer will be worth."""

    @abstractmethod
    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """Answers, from what the curator said."""

    @property
    def mechanism(self) -> str:
        """How it is answered, in words."""
        return self.expect().mechanism

    @property
    def note(self) -> str:
        """What is to be known about all answers."""
        if self.grid is None:
            return ""
        low, high = f"{self.grid.low:.12g}", f"{self.grid.high:.12g}"
        attribute = self.query.attribute
        assert isinstance(attribute, RawQuantity)
        if attribute.is_moment:
            low, high = attribute.write(self.grid.low), attribute.write(self.grid.high)
        said = f"Values beyond {low} and {high} count as these"
        if self.grid.exact:
            return f"{said}."
        return f"{said}; all are rounded to multiples of {self.grid.step:.12g}."


class LinearFunction(Function):
    """A function of noisy sums over the rows, all asked for by one question."""

    @property
    @abstractmethod
    def _question(self) -> LinearQueries:
        """The sums that are needed."""

    @cached_property
    def _shares(self) -> ShareIntervals:
        return ShareIntervals(self.noise_of(self._question))

    def questions(self) -> Sequence[Question]:
        """All sums at once."""
        return [self._question]


def bounds_of(query: Query, attribute: RawQuantity) -> tuple[float, float]:
    """The public bounds of a question's attribute; refuses one that has none."""
    public = attribute.bounds
    if query.bounds is None:
        if public is None:
            missing = NEEDS_BOUNDS.format(name=attribute.name)
            raise InputError(f"A {query.kind} of {attribute.name!r} {missing}.")
        return public
    if public is not None and (query.bounds[1] < public[0] or public[1] < query.bounds[0]):
        low, high = attribute.write(public[0]), attribute.write(public[1])
        raise InputError(
            f"The bounds in the question leave out every value of {attribute.name!r}, which lies "
            f"between {low} and {high}."
        )
    return query.bounds


def share_of(fit: float, other: float, low: float, high: float) -> float:
    """A share inside its interval; the middle of it where there seem to be no rows."""
    if fit + other <= 0:
        return (low + high) / 2
    return min(max(fit / (fit + other), low), high)


def share_error(noise: KnownNoise, share: float, rows: float) -> float:
    """One standard deviation of a share, to first order; of no more than all."""
    spread = noise.deviation * math.hypot(share, 1 - share)
    return min(spread / max(rows, 1.0), 1.0)


def per_rows(error: float, whose: str) -> str:
    """An error that goes by the number of rows, in words."""
    shown = ", ".join(f"{show_size(error / rows, 2)} at {rows:,}" for rows in (100, 1_000, 10_000))
    return f"off by at most {show_size(error, 3)} over the number of rows{whose} ({shown})"


def show_size(number: float, digits: int = 4) -> str:
    """A size with few digits, and without an exponent where it need not have one."""
    if 1 <= abs(number) < 1e15:
        rounded = float(f"{number:.{digits}g}")
        return f"{rounded:,.{max(digits - 1 - math.floor(math.log10(rounded)), 0)}f}"
    return f"{number:.{digits}g}"
