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
from understudy.asking.intervals import RISK, KnownNoise, Shares, variance_interval
from understudy.asking.layout import Grid, Layout, find_grid
from understudy.errors import InputError
from understudy.models.query.raw import RawQuantity
from understudy.models.query.syntax import Query
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.linear import LinearQueries, QueryMatrix
from understudy.privacy.mechanisms import describe_noise, distribution_of
from understudy.privacy.questions import Question
from understudy.privacy.ranks import ChooseRank, Margin, find_margin

MAX_ANSWERS = 100_000

NO_BOUNDS = (
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
        if len(labels) > MAX_ANSWERS:
            raise InputError(
                f"The question has {len(labels):,} groups; at most {MAX_ANSWERS:,} are answered."
            )
        self.labels = labels

    def _find_grid(self) -> Grid | None:
        if not self.needs_grid:
            return None
        attribute = self.query.attribute
        assert isinstance(attribute, RawQuantity)
        return find_grid(attribute, bounds_of(self.query, attribute))

    @property
    def asked_grid(self) -> Grid:
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


def bounds_of(query: Query, attribute: RawQuantity) -> tuple[float, float]:
    """The public bounds of a question's attribute; refuses one that has none."""
    public = attribute.bounds
    if query.bounds is None:
        if public is None:
            missing = NO_BOUNDS.format(name=attribute.name)
            raise InputError(f"A {query.kind} of {attribute.name!r} {missing}.")
        return public
    if public is not None and (query.bounds[1] < public[0] or public[1] < query.bounds[0]):
        low, high = attribute.write(public[0]), attribute.write(public[1])
        raise InputError(
            f"The bounds in the question leave out every value of {attribute.name!r}, which lies "
            f"between {low} and {high}."
        )
    return query.bounds


# --------------------------------------------------------------------------- counts


class Counts(Function):
    """Rows of each group, or rows for which each of several conditions holds."""

    @cached_property
    def _question(self) -> LinearQueries:
        return self.linear(self._matrix())

    def _matrix(self) -> QueryMatrix:
        return QueryMatrix.counting(self.classes, len(self.labels))

    def questions(self) -> Sequence[Question]:
        """One vector of counts."""
        return [self._question]

    def expect(self) -> Expected:
        """The noise is all there is."""
        noise = self.noise_of(self._question)
        return Expected(
            question=self.priced.text,
            mechanism=self.describe(self._question),
            error=noise.reach(),
            sentence=f"off by at most {noise.reach():,} rows in 95 of 100 runs",
        )

    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """A count is not below 0, nor above the rows where their number is public."""
        [(counts, scale)] = answers
        noise = KnownNoise(distribution_of(self.priced.budget.currency), scale)
        most = math.inf
        if self.priced.rows is not None:
            most = self.priced.rows
        return [
            Answer(
                group=label,
                value=count,
                error=noise.deviation,
                low=min(max(count - noise.reach(), 0), most),
                high=min(max(count + noise.reach(), 0), most),
            )
            for label, count in zip(self._names(), counts.tolist(), strict=True)
        ]

    def _names(self) -> list[tuple[str, ...]]:
        return self.labels


class LabelCounts(Counts):
    """How many rows have each of several labels; of a row's labels, the first few count.

    A row adds 1 to at most ``max_labels`` counts, whatever it holds: which ones is a function of
    the row alone.
    """

    def _matrix(self) -> QueryMatrix:
        truths = [self.layout.truth(label.condition) for label in self.query.labels]
        held = np.zeros(self.layout.shape, dtype=np.int64)
        rows, columns = [], []
        for place, truth in enumerate(truths):
            counts = truth & (held < self.query.max_labels) & (self.classes >= 0)
            held += counts
            cells = np.flatnonzero(counts.ravel())
            columns.append(cells)
            rows.append(self.classes.ravel()[cells] * len(truths) + place)
        every = np.concatenate(rows)
        return QueryMatrix(
            len(self.labels) * len(truths),
            held.size,
            every,
            np.concatenate(columns),
            np.ones(len(every), dtype=np.int64),
        )

    def _names(self) -> list[tuple[str, ...]]:
        texts = [label.text for label in self.query.labels]
        return [(*group, text) for group in self.labels for text in texts]

    @property
    def note(self) -> str:
        """How many labels of a row count."""
        most, number = self.query.max_labels, len(self.query.labels)
        if most == number:
            return f"A row may count for all {number} conditions."
        return f"A row counts for the first {most} of the {number} conditions that hold for it."


class Share(Function):
    """The share of rows that fit, of all rows or of each group.

    Rows that fit and rows that do not are two counts, of which a row is in one. Where the number of
    rows is public and there is one group, the first count is enough.
    """

    @cached_property
    def _whole(self) -> int | None:
        if self.query.groups:
            return None
        return self.priced.rows

    @cached_property
    def _question(self) -> LinearQueries:
        fits = self.layout.truth(self.query.condition)
        groups = self.layout.groups()
        if self._whole is not None:
            return self.linear(QueryMatrix.counting(np.where(fits, groups, -1), 1))
        classes = np.where(groups >= 0, 2 * groups + ~fits, -1)
        return self.linear(QueryMatrix.counting(classes, 2 * len(self.labels)))

    @cached_property
    def _shares(self) -> Shares:
        return Shares(self.noise_of(self._question))

    def questions(self) -> Sequence[Question]:
        """Both counts of each group."""
        return [self._question]

    def expect(self) -> Expected:
        """In proportion to one over the rows."""
        reach = float(self.noise_of(self._question).reach())
        if self._whole is None:
            reach = self._shares.worst()
        return Expected(
            question=self.priced.text,
            mechanism=self.describe(self._question),
            error_times_rows=reach,
            sentence=per_rows(reach, " of each group" * bool(self.query.groups)),
        )

    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """Shares with their intervals."""
        [(counts, scale)] = answers
        noise = KnownNoise(distribution_of(self.priced.budget.currency), scale)
        if self._whole is not None:
            rows = max(self._whole, 1)
            ends = [(int(counts[0]) + sign * noise.reach()) / rows for sign in (-1, 0, 1)]
            low, value, high = (min(max(end, 0.0), 1.0) for end in ends)
            return [Answer(value=value, error=noise.deviation / rows, low=low, high=high)]
        found = []
        for label, (fit, other) in zip(self.labels, counts.reshape(-1, 2).tolist(), strict=True):
            low, high = self._shares.interval(fit, other)
            value = share_of(fit, other, low, high)
            error = share_error(noise, value, fit + other)
            found.append(Answer(group=label, value=value, error=error, low=low, high=high))
        return found


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
    shown = ", ".join(f"{error / rows:.2g} at {rows:,}" for rows in (100, 1_000, 10_000))
    return f"off by at most {error:,.3g} over the number of rows{whose} ({shown})"


# --------------------------------------------------------------------------- sums and moments


class Sum(Function):
    """The sum of clipped numbers."""

    needs_grid = True

    @cached_property
    def _question(self) -> LinearQueries:
        steps = np.maximum(self.layout.points(), 0) + self.asked_grid.first
        return self.linear(QueryMatrix.weighing(self.classes, len(self.labels), steps[None]))

    def questions(self) -> Sequence[Question]:
        """One sum per group."""
        return [self._question]

    def expect(self) -> Expected:
        """The noise is all there is."""
        error = self.noise_of(self._question).reach() * self.asked_grid.step
        return Expected(
            question=self.priced.text,
            mechanism=self.describe(self._question),
            error=error,
            sentence=f"off by at most {error:,.4g} in 95 of 100 runs",
        )

    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """Sums in the unit of the column."""
        [(sums, scale)] = answers
        noise = KnownNoise(distribution_of(self.priced.budget.currency), scale)
        step, found = self.asked_grid.step, []
        for label, number in zip(self.labels, sums.tolist(), strict=True):
            low, high = (number - noise.reach()) * step, (number + noise.reach()) * step
            if self.asked_grid.first >= 0:
                low, high = max(low, 0.0), max(high, 0.0)
            if self.asked_grid.last <= 0:
                low, high = min(low, 0.0), min(high, 0.0)
            value = min(max(number * step, low), high)
            error = noise.deviation * step
            found.append(Answer(group=label, value=value, error=error, low=low, high=high))
        return found


class Mean(Function):
    """The mean of clipped numbers.

    With u = (x - low) / (high - low), a row adds u to one number and 1 - u to another, so both
    together move by 1 and get noise for the whole price; the mean is the first over their sum.
    """

    needs_grid = True

    @cached_property
    def _reach(self) -> int:
        return max(self.asked_grid.last - self.asked_grid.first, 1)

    @cached_property
    def _question(self) -> LinearQueries:
        steps = np.maximum(self.layout.points(), 0)
        weights = np.stack([steps, self._reach - steps])
        return self.linear(QueryMatrix.weighing(self.classes, len(self.labels), weights))

    @cached_property
    def _shares(self) -> Shares:
        return Shares(self.noise_of(self._question))

    def questions(self) -> Sequence[Question]:
        """Two numbers per group."""
        return [self._question]

    def expect(self) -> Expected:
        """In proportion to the width of the bounds over the rows."""
        error = self._shares.worst() * self.asked_grid.step
        return Expected(
            question=self.priced.text,
            mechanism=self.describe(self._question),
            error_times_rows=error,
            sentence=per_rows(error, self._whose),
        )

    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """Means, with the intervals of shares, stretched to the bounds."""
        [(numbers, scale)] = answers
        noise = KnownNoise(distribution_of(self.priced.budget.currency), scale)
        grid, found = self.asked_grid, []
        width = self._reach * grid.step
        for label, (up, down) in zip(self.labels, numbers.reshape(-1, 2).tolist(), strict=True):
            low, high = self._shares.interval(up, down)
            share = share_of(up, down, low, high)
            error = share_error(noise, share, up + down) * width
            ends = grid.low + width * low - grid.rounding, grid.low + width * high + grid.rounding
            found.append(
                Answer(
                    group=label,
                    value=grid.low + width * share,
                    error=error,
                    low=max(ends[0], grid.low),
                    high=min(ends[1], grid.low + width),
                )
            )
        return found


class Variance(Function):
    """The variance of clipped numbers, over the rows (not one less), or its root.

    With u as for a mean, a row adds (1 - u)^2, 2 u (1 - u) and u^2 to three numbers: together 1.
    """

    needs_grid = True

    @cached_property
    def _reach(self) -> int:
        return max(self.asked_grid.last - self.asked_grid.first, 1)

    @cached_property
    def _question(self) -> LinearQueries:
        up = np.maximum(self.layout.points(), 0)
        down = self._reach - up
        weights = np.stack([down**2, 2 * up * down, up**2])
        return self.linear(QueryMatrix.weighing(self.classes, len(self.labels), weights))

    def questions(self) -> Sequence[Question]:
        """Three numbers per group."""
        return [self._question]

    def expect(self) -> Expected:
        """In proportion to the squared width of the bounds over the rows."""
        noise = self.noise_of(self._question)
        step = self.asked_grid.step
        weights = np.array([[m * m, m * m - m, (1 - m) ** 2] for m in (0.0, 0.5, 1.0)])
        error = float(noise.bound(weights, RISK).max()) * step**2
        said = per_rows(error, self._whose)
        if self.query.kind == "std":
            said = f"its square, the variance, {said}"
        return Expected(
            question=self.priced.text,
            mechanism=self.describe(self._question),
            error_times_rows=error,
            sentence=said,
        )

    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """Variances or standard deviations."""
        [(numbers, scale)] = answers
        noise = KnownNoise(distribution_of(self.priced.budget.currency), scale)
        return [
            self._read_one(label, line.astype(np.float64), noise)
            for label, line in zip(self.labels, numbers.reshape(-1, 3), strict=True)
        ]

    def _read_one(
        self, label: tuple[str, ...], numbers: NDArray[np.float64], noise: KnownNoise
    ) -> Answer:
        low, high = variance_interval(numbers, noise)
        rows, mean = float(numbers.sum()), 0.5
        variance = (low + high) / 2
        if rows > 0:
            mean = float((numbers[1] / 2 + numbers[2]) / rows)
            variance = float(numbers[2] / rows) - mean**2
        variance = min(max(variance, low), high)
        slopes = [mean**2 - variance, mean**2 - variance - mean, (1 - mean) ** 2 - variance]
        error = noise.deviation * float(np.linalg.norm(slopes)) / max(rows, float(self._reach**2))
        width, rounding = self._reach * self.asked_grid.step, self.asked_grid.rounding
        ends = [math.sqrt(end) * width for end in (low, variance, high)]
        ends = [max(ends[0] - rounding, 0.0), ends[1], min(ends[2] + rounding, width / 2)]
        error = min(error, 1.0) * width**2
        if self.query.kind == "std":
            error = min(error / max(2 * ends[1], 1e-300), width)
        else:
            ends = [end**2 for end in ends]
        return Answer(group=label, value=ends[1], error=error, low=ends[0], high=ends[2])


# --------------------------------------------------------------------------- quantiles


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


FUNCTIONS: dict[str, type[Function]] = {
    "count": Counts,
    "labels": LabelCounts,
    "share": Share,
    "sum": Sum,
    "mean": Mean,
    "variance": Variance,
    "std": Variance,
    "median": Quantile,
    "quantile": Quantile,
    "min": Extreme,
    "max": Extreme,
}


def prepare(priced: Priced) -> Function:
    """The function of a question; refuses one whose groups or bounds are not public."""
    for group in priced.query.groups:
        if not group.cells:
            name = group.attribute.name
            raise InputError(f"Grouping by {name!r} {NO_GROUPS.format(name=name)}.")
    return FUNCTIONS[priced.query.kind](priced)
