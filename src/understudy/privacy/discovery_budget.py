"""How discovery divides its budget: by need, from public facts and a noisy number of rows.

A choice among domains needs a certain strength, whatever the number of columns: where n rows count
and one row changes the log-odds of a choice by s, about n s = 25 tells a good domain from a bad
one. Names of categories need a threshold in rows that shrinks only with the budget. So choices take
what they need, and words the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from understudy.privacy.budget import Budget, Neighbours, exact, round_down
from understudy.privacy.mechanisms import SCORE_GRID, choice_scale, table_scale

COUNT_SHARE = 0.003
"""Of the whole budget: the noisy number of rows."""

SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
"""Of the whole budget: what discovery may take where nobody says how much."""

ENOUGH_FOR_CATEGORIES = 0.01
"""Of the rows: a larger share is not taken where a category is seen in so few."""

KINDS_STRENGTH, KINDS_SHARE = 60.0, 0.15
GRIDS_STRENGTH, GRIDS_SHARE = 200.0, 0.05
RANGES_STRENGTH, RANGES_SHARE, RANGES_SHARE_WITHOUT_WORDS = 2000.0, 0.15, 0.5
"""The strength n s that each kind of choice gets, if that takes no larger share of what is left."""

WORDS_WEIGHT = 5.0
"""What a column of words gets of the rest, against one of numbers."""

MIN_STRENGTH = 40.0
"""With less, ranges are guesses."""

MAX_CATEGORY_SHARE = 0.25
"""Where a category needs more of the rows to be seen, columns of words come out empty."""


@dataclass(frozen=True, kw_only=True)
class Protection:
    """What the noise must hide: public facts of a ledger."""

    neighbours: Neighbours
    rows_per_person: int = 1

    @property
    def monotone(self) -> bool:
        """Whether counts only grow from one neighbour to the other."""
        return self.neighbours == "add_remove"

    def strength(self, cost: Budget) -> float:
        """By how much one row changes the log-odds of a choice by counts that costs ``cost``."""
        scale = choice_scale(cost.amount, cost.currency, monotone=self.monotone)
        return SCORE_GRID / (self.rows_per_person * scale)

    def price(self, strength: float, like: Budget) -> Budget:
        """What a choice of a strength costs, in the currency of another budget."""
        unit = self.strength(Budget(1.0, like.currency))
        if like.currency == "epsilon":
            return Budget(strength / unit, like.currency)
        return Budget((strength / unit) ** 2, like.currency)


def limit_price(wanted: Budget, left: Budget, share: float, parts: int) -> Budget:
    """The price of each of some questions: what is wanted, or an equal part of a share of what is
    left.
    """
    most = exact(left.amount) * exact(share) / parts
    return Budget(round_down(min(most, exact(wanted.amount))), left.currency)


def subtract(left: Budget, cost: Budget, times: int = 1) -> Budget:
    """What is left after some questions of one price."""
    rest = exact(left.amount) - times * exact(cost.amount)
    return Budget(round_down(max(rest, exact(0.0))), left.currency)


def choice_price(
    protection: Protection, left: Budget, rows: float, need: tuple[float, float], parts: int
) -> Budget:
    """The price of each of some choices that need a strength, within a share of what is left."""
    strength, share = need
    return limit_price(protection.price(strength / max(rows, 1.0), left), left, share, parts)


# --------------------------------------------------------------------------- what to expect


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What discovery can find, from public facts and the number of rows."""

    rows: float
    """About how many there are."""
    columns: int
    """How many are asked about."""
    budget: Budget
    """What there is to find it with."""
    category_rows: float
    """In about how many rows a category must occur to be seen, if half the columns hold words."""
    strength: float
    """How clearly good kinds and ranges can be made to stand out: n s, for their largest share."""

    @property
    def range_rows(self) -> float:
        """About how many rows it takes to find a range."""
        return self.rows * MIN_STRENGTH / self.strength

    @property
    def finds_ranges(self) -> bool:
        """Whether ranges of numbers can be found."""
        return self.strength >= MIN_STRENGTH

    @property
    def finds_categories(self) -> bool:
        """Whether words can be found."""
        return self.category_rows <= MAX_CATEGORY_SHARE * self.rows


def price_count(budget: Budget) -> Budget:
    """What the noisy number of rows costs."""
    return Budget(round_down(exact(budget.amount) * exact(COUNT_SHARE)), budget.currency)


def foresee(
    protection: Protection, budget: Budget, delta: float, columns: int, rows: float
) -> Outlook:
    """What discovery can find in about ``rows`` rows for a budget, the count not included."""
    kinds = choice_price(protection, budget, rows, (KINDS_STRENGTH, KINDS_SHARE), columns)
    left = subtract(budget, kinds, columns)
    ranges = choice_price(protection, left, rows, (RANGES_STRENGTH, RANGES_SHARE), columns)
    left = subtract(left, ranges, columns)
    words = max(columns / 2, 1.0)
    cost = Budget(left.amount * WORDS_WEIGHT / (WORDS_WEIGHT * words + columns / 2), left.currency)
    scale = table_scale(cost, protection.neighbours, protection.rows_per_person)
    most = protection.rows_per_person
    return Outlook(
        rows=rows,
        columns=columns,
        budget=budget,
        category_rows=2 * most + noise_tail(scale, cost.currency, delta / words / most),
        strength=rows * protection.strength(limit_price(budget, budget, KINDS_SHARE, columns)),
    )


def foresee_by_need(
    protection: Protection, budget: Budget, delta: float, columns: int, rows: float
) -> Outlook:
    """The same, with as small a share of the whole budget as will do."""
    for share in SHARES:
        part = Budget(round_down(exact(budget.amount) * exact(share)), budget.currency)
        part = subtract(part, price_count(budget))
        outlook = foresee(protection, part, delta, columns, rows)
        if outlook.category_rows <= ENOUGH_FOR_CATEGORIES * rows:
            break
    return outlook


def noise_tail(scale: float, currency: str, probability: float) -> float:
    """A number t with P(noise >= t) <= probability.

    Discrete Laplace: P(X >= t) = exp(-t/s) / (1 + exp(-1/s)) <= exp(-t/s). Discrete Gaussian: it is
    sub-Gaussian (Canonne, Kamath, Steinke 2020), so P(X >= t) <= exp(-t^2 / (2 s^2)).
    """
    logarithm = math.log(1 / probability)
    if currency == "rho":
        return scale * math.sqrt(2 * logarithm)
    return scale * logarithm
