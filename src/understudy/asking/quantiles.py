"""Quantiles, and ranges of the smallest and largest value."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from understudy.asking.answers import Answer, Expected
from understudy.asking.functions import Function
from understudy.asking.intervals import RISK
from understudy.privacy.budget import Budget
from understudy.privacy.questions import Question
from understudy.privacy.ranks import ChooseRank, Margin, find_margin


class Quantile(Function):
    """A quantile, as a choice among the points of the grid; two more choices keep to one side of it
    each, and are the interval.
    """

    needs_grid = True

    @cached_property
    def _budgets(self) -> tuple[Budget, ...]:
        return self.priced.budget.split(2, 1, 1)

    def _choose(
        self, budget: Budget, shift: float, no_claim: float | None, what: str
    ) -> ChooseRank:
        return ChooseRank(
            axes=self.layout.axes,
            places=self.layout.points(),
            candidates=self.asked_grid.points,
            groups=self.classes,
            groups_size=len(self.labels),
            level=self.level,
            shift=shift,
            budget=budget,
            text=f"{self.priced.text} ({what})",
            no_claim=no_claim,
        )

    @property
    def level(self) -> float:
        """Which share of the rows lies below."""
        return self.query.level

    def margin(self, budget: Budget, risk: float) -> Margin:
        """How far an end keeps away from the rank."""
        points = self.asked_grid.points
        ledger, groups = self.priced.ledger, len(self.labels)
        return find_margin(budget, self.level, groups, points, ledger, risk)

    def questions(self) -> Sequence[Question]:
        """The quantile, and both ends of its interval."""
        value, low, high = self._budgets
        margin = self.margin(low, RISK / 2)
        return [
            self._choose(value, 0.0, None, "value"),
            self._choose(low, -margin.ranks, margin.no_claim, "lower end"),
            self._choose(high, margin.ranks, margin.no_claim, "upper end"),
        ]

    def expect(self) -> Expected:
        """Ranks do not depend on the rows; what they are worth does."""
        ranks = 2 * self.margin(self._budgets[1], RISK / 2).ranks
        return Expected(
            question=self.priced.text,
            mechanism=str(self.questions()[0].ledger_line()[2]),  # type: ignore[attr-defined]
            ranks=ranks,
            sentence=f"an interval of about {ranks:,.0f} rows or fewer to either side",
        )

    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """Values at the chosen points."""
        found = []
        for label, value, low, high in zip(self.labels, *answers, strict=True):
            ends = self.ends(low, high)
            middle = self.at(value)
            found.append(
                Answer(
                    group=label,
                    value=min(max(middle, ends[0]), ends[1]),
                    error=None,
                    low=ends[0],
                    high=ends[1],
                )
            )
        return found

    def at(self, place: int) -> float:
        """The number at a point."""
        return (self.asked_grid.first + place) * self.asked_grid.step

    def ends(self, low: int, high: int) -> tuple[float, float]:
        """An interval; where nothing could be said, to the bound."""
        grid = self.asked_grid
        first, last = grid.low, grid.high
        if low < grid.points:
            first = max(self.at(low) - grid.rounding, grid.low)
        if high < grid.points:
            last = min(self.at(high) + grid.rounding, grid.high)
        return min(first, last), max(first, last)


class Extreme(Quantile):
    """The smallest or the largest value, as a range.

    One row decides it, so nothing private can tell it: what can be told is a value that some rows
    reach, and the public bound.
    """

    @property
    def level(self) -> float:
        """All rows lie below the largest."""
        return float(self.query.kind == "max")

    def questions(self) -> Sequence[Question]:
        """The end that is not public."""
        budget = self.priced.budget
        margin = self.margin(budget, RISK)
        shift = margin.ranks
        if self.query.kind == "max":
            shift = -shift
        return [self._choose(budget, shift, margin.no_claim, "range")]

    def expect(self) -> Expected:
        """How many rows lie beyond."""
        ranks = 2 * self.margin(self.priced.budget, RISK).ranks
        return Expected(
            question=self.priced.text,
            mechanism=str(self.questions()[0].ledger_line()[2]),  # type: ignore[attr-defined]
            ranks=ranks,
            sentence=f"a range beyond which, on its inner side, some {ranks:,.0f} rows lie at most",
        )

    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """Ranges."""
        [places] = answers
        points, found = self.asked_grid.points, []
        for label, place in zip(self.labels, places, strict=True):
            if self.query.kind == "max":
                low, high = self.ends(place, points)
            else:
                low, high = self.ends(points, place)
            found.append(Answer(group=label, value=None, error=None, low=low, high=high))
        return found
