"""How discovery divides its budget: by need, from public facts and a noisy number of rows.

A choice among domains needs a certain strength, whatever the number of columns: where n rows count
and one row changes the log-odds of a choice by s, about n s = 25 tells a good domain from a bad
one. Names of categories need a threshold in rows that shrinks only with the budget. So choices take
what they need, and words the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from understudy.privacy.budget import Budget, Neighbours, exact, round_down
from understudy.privacy.mechanisms import SCORE_GRID, choice_scale, table_scale

COUNT_SHARE = 0.003
"""Of the whole budget: the noisy number of rows."""

GROUPS_SHARE, MIN_GROUPS_PARTS = 0.009, 3
"""Of the whole budget: how many different values identifiers have, in at least so many parts."""

MAX_GROUPS, CERTAIN_GROUPS = 0.6, 1.0
"""Of the rows: an identifier with fewer different values, by so many deviations of the noise, does
not tell rows apart: several rows share one.
"""

DISCOVERY_SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
"""Of the whole budget: what discovery may take where nobody says how much."""

MAX_TOP_UP, TOP_UPS = 0.5, 10
"""Of the whole budget: what words get on top where they need it, in this many parts, if all columns
hold words; in proportion if some do. What is not named is lost, while a model of everything else
still works with less.
"""

ENOUGH_FOR_CATEGORIES = 0.01
"""Of the rows: no more is spent on all words where a category is seen in this many."""

MIN_RARE, MIN_NAMED = 0.02, 0.3
"""Of the rows: where words without a name hold more than the first share, and those with one more
than the second, a column is looked at again.
"""

RARE_SHARE, MIN_PARTS = 0.06, 2
"""Of the whole budget: what second looks may take together, in at least this many parts."""

ENOUGH_FOR_RARE = 0.0025
"""Of the rows: a second look costs no more than it takes to see a word in this many."""

ENOUGH_FOR_NUMBERS, NUMBERS_SHARE, MIN_NUMBERS_PARTS = 0.02, 0.06, 4
"""Of the rows: a number that no grid tells is named where this many share it, if that takes no
larger share of the whole budget for all such columns, in at least as many parts.
"""

PRESENT_DEVIATION, PRESENT_SHARE = 0.05, 0.03
"""Of the rows: the noise in the number of cells that are not empty, if that takes no larger share
of what is left.
"""

FEW_TELLING, TELLING_DEVIATION, TELLING_SHARE = 0.3, 0.01, 0.03
"""Of the rows: where fewer cells seem to be neither empty nor zero, they are counted again, with
this noise, if that takes no larger share of what is left.
"""

SEEN_CELLS, MAX_HIDDEN_CELLS = 2.0, 0.2
"""Deviations of the noise: a column of which no count of cells is larger is taken for empty, unless
that is a larger part of the rows.
"""

TEXTS_SHARE = 0.05
"""Of what is left: the most that is spent on telling free text from words that are too rare."""

KINDS_STRENGTH, KINDS_SHARE = 60.0, 0.2
CERTAIN_KINDS_STRENGTH, CERTAIN_KINDS_SHARE = 240.0, 0.05
GRIDS_STRENGTH, GRIDS_SHARE = 200.0, 0.1
RANGES_STRENGTH, RANGES_SHARE, RANGES_SHARE_BESIDE_WORDS = 2000.0, 0.5, 0.25
"""The strength n s that each kind of choice gets, if that takes no larger share of what is left;
the last share is for ranges where words would lack the rest.
"""

RANGES_NEED, MAX_NEED_SHARE = 100.0, 0.4
"""The strength that a range gets first, of the cells that are neither empty nor zero, for at most
this part of what all ranges get: equal prices find no range of a column that is mostly zero.
"""

MIN_RANGE_EVIDENCE = 60.0
"""Where most cells are zero, and the others change the odds of a range by less, only round ranges
from zero are candidates.
"""

COMMAS_SHARE = 0.05
"""Of what is left: the most that questions about commas take, where kinds leave them open."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """A count of the commonest words of some columns."""

    deviation: float
    """Of its noise, as a part of the rows that a word needs to be named."""
    margin: float
    """By how many deviations more rows than that are called enough."""
    share: float
    """Of what is left: the most that it takes."""


COMMONEST_LOOKS = (
    Look(deviation=1.0, margin=2.0, share=0.05),
    Look(deviation=1 / 3, margin=-1.2, share=0.2),
)
"""First roughly: columns of a few words, of which one is in many rows, are done with. Then those
that are left: words that are all rare are taken for enough in 4 % of cases, and a word with 1.6
times the rows that it needs for too rare in one of a thousand.
"""

WORDS_WEIGHT = 5.0
"""What a column of words gets of the rest, against one of numbers."""

MIN_STRENGTH = 45.0
"""With less, kinds are wrong too often (see :func:`bound_kind_failure`), and ranges are guesses."""

MAX_CATEGORY_SHARE = 0.25
"""Where a category needs more of the rows to be seen, columns of words come out empty."""


@dataclass(frozen=True, kw_only=True)
class Protection:
    """What the noise must hide: public facts of a ledger."""

    neighbours: Neighbours
    max_rows_per_person: int = 1

    @property
    def monotone(self) -> bool:
        """Whether counts only grow from one neighbour to the other."""
        return self.neighbours == "add_remove"

    def strength(self, cost: Budget) -> float:
        """By how much one row changes the log-odds of a choice by counts that costs ``cost``."""
        scale = choice_scale(cost.amount, cost.currency, monotone=self.monotone)
        return SCORE_GRID / (self.max_rows_per_person * scale)

    def histogram_price(self, deviation: float, like: Budget) -> Budget:
        """What counts with noise of a deviation cost, in the currency of another budget."""
        scale = table_scale(Budget(1.0, like.currency), self.neighbours, self.max_rows_per_person)
        if like.currency == "epsilon":
            return Budget(scale * 2**0.5 / deviation, like.currency)
        return Budget((scale / deviation) ** 2, like.currency)

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


def present_price(protection: Protection, left: Budget, rows: float, columns: int) -> Budget:
    """The price of each count of the cells that are not empty."""
    wanted = protection.histogram_price(PRESENT_DEVIATION * max(rows, 1.0), left)
    return limit_price(wanted, left, PRESENT_SHARE, columns)


def kinds_prices(protection: Protection, left: Budget, present: Sequence[float]) -> list[Budget]:
    """The prices of choices of kinds, given about how many cells of each column are not empty: what
    each needs, and where that is cheap, what makes it certain. A column with half of its cells
    empty needs four times as much (in rho); where not all can have what they need, those that need
    little have it.
    """
    prices = []
    for strength, share in (
        (KINDS_STRENGTH, KINDS_SHARE),
        (CERTAIN_KINDS_STRENGTH, CERTAIN_KINDS_SHARE),
    ):
        prices.append(_share_by_need(protection, left, (strength, share), present))
    return [Budget(max(both), left.currency) for both in zip(*prices, strict=True)]


def grids_prices(protection: Protection, left: Budget, telling: Sequence[float]) -> list[Budget]:
    """The prices of choices of grids, given about how many cells of each column are neither empty
    nor zero: zero lies on all grids.
    """
    prices = _share_by_need(protection, left, (GRIDS_STRENGTH, GRIDS_SHARE), telling)
    return [Budget(price, left.currency) for price in prices]


def ranges_prices(
    protection: Protection, left: Budget, rows: float, share: float, telling: Sequence[float]
) -> list[Budget]:
    """The prices of choices of ranges: equal ones, but for columns that need more."""
    need = RANGES_NEED, share * MAX_NEED_SHARE
    needed = _share_by_need(protection, left, need, telling)
    rest, parts = exact(left.amount) * exact(share), len(telling)
    equal = rest / parts
    for price in sorted(needed, reverse=True):
        if price <= equal:
            break
        rest, parts = rest - exact(price), parts - 1
        equal = rest / max(parts, 1)
    wanted = exact(protection.price(RANGES_STRENGTH / max(rows, 1.0), left).amount)
    usual = round_down(min(equal, wanted))
    return [Budget(max(price, usual), left.currency) for price in needed]


def _share_by_need(
    protection: Protection, left: Budget, need: tuple[float, float], cells: Sequence[float]
) -> list[float]:
    """What choices that need a strength get of a share of what is left, given by how many cells
    each is told; where not all can have what they need, those that need little have it.
    """
    strength, share = need
    wanted = [exact(protection.price(strength / count, left).amount) for count in cells]
    rest, given = exact(left.amount) * exact(share), {}
    for done, place in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        given[place] = min(wanted[place], rest / (len(wanted) - done))
        rest -= given[place]
    return [round_down(given[place]) for place in range(len(wanted))]


def kinds_price(protection: Protection, left: Budget, rows: float, columns: int) -> Budget:
    """The price of each choice of a kind where no cells are empty."""
    return kinds_prices(protection, left, [max(rows, 1.0)] * columns)[0]


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
    top_up: Budget
    """What columns of words get beyond that, if half the columns hold words."""
    second_look: Budget
    """What second looks at columns of words may take beyond that, where frequent words are seen."""
    numbers: Budget
    """What numbers that many rows share may take beyond that, if no column has a grid."""
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


def price_groups(budget: Budget, columns: int) -> Budget:
    """What it costs to count the different values of each of some identifiers."""
    parts = max(columns, MIN_GROUPS_PARTS)
    return Budget(round_down(exact(budget.amount) * exact(GROUPS_SHARE) / parts), budget.currency)


def rows_to_be_seen(protection: Protection, cost: Budget, delta: float) -> float:
    """In how many noisy rows a word must occur to be named, at a price."""
    scale = table_scale(cost, protection.neighbours, protection.max_rows_per_person)
    most = protection.max_rows_per_person
    return 2 * most + noise_tail(scale, cost.currency, delta / most)


def top_up_words(
    protection: Protection, whole: Budget, cost: Budget, delta: float, rows: float, columns: int
) -> Budget:
    """What a column of words gets beyond a cost, of the whole budget for all columns."""
    part = exact(whole.amount) * exact(MAX_TOP_UP) / (TOP_UPS * columns)
    more = Budget(0.0, whole.currency)
    for parts in range(TOP_UPS + 1):
        more = Budget(round_down(part * parts), whole.currency)
        raised = Budget(cost.amount + more.amount, cost.currency)
        if rows_to_be_seen(protection, raised, delta) <= ENOUGH_FOR_CATEGORIES * rows:
            break
    return more


def rare_words_price(protection: Protection, most: Budget, delta: float, rows: float) -> Budget:
    """What a second look at a column of words costs: what it takes to see rare ones, or most."""
    return _least_price(protection, most, delta, ENOUGH_FOR_RARE * rows)


def frequent_numbers_price(
    protection: Protection, whole: Budget, delta: float, rows: float, columns: int
) -> Budget:
    """What it costs to name the numbers that many rows of a column share, of some such columns."""
    parts = max(columns, MIN_NUMBERS_PARTS)
    most = Budget(round_down(exact(whole.amount) * exact(NUMBERS_SHARE) / parts), whole.currency)
    return _least_price(protection, most, delta, ENOUGH_FOR_NUMBERS * rows)


def _least_price(protection: Protection, most: Budget, delta: float, seen: float) -> Budget:
    """The least of some parts of a price at which a word in ``seen`` rows is named, or all."""
    price = most
    for parts in range(1, TOP_UPS + 1):
        price = Budget(round_down(exact(most.amount) * parts / TOP_UPS), most.currency)
        if rows_to_be_seen(protection, price, delta) <= seen:
            break
    return price


def foresee(
    protection: Protection, budget: Budget, delta: float, columns: int, rows: float
) -> Outlook:
    """What discovery can find in about ``rows`` rows for a budget, the count not included."""
    return _foresee(protection, budget, None, delta, columns, rows)


def _foresee(
    protection: Protection,
    budget: Budget,
    whole: Budget | None,
    delta: float,
    columns: int,
    rows: float,
) -> Outlook:
    kinds = kinds_price(protection, budget, rows, columns)
    left = subtract(budget, kinds, columns)
    ranges = choice_price(
        protection, left, rows, (RANGES_STRENGTH, RANGES_SHARE_BESIDE_WORDS), columns
    )
    left = subtract(left, ranges, columns)
    words = max(columns / 2, 1.0)
    cost = Budget(left.amount * WORDS_WEIGHT / (WORDS_WEIGHT * words + columns / 2), left.currency)
    more = Budget(0.0, budget.currency)
    if whole is not None:
        more = top_up_words(protection, whole, cost, delta / words, rows, columns)
        cost = Budget(cost.amount + more.amount, cost.currency)
    return Outlook(
        rows=rows,
        columns=columns,
        budget=budget,
        top_up=Budget(round_down(exact(more.amount) * exact(words)), more.currency),
        second_look=Budget(0.0, budget.currency),
        numbers=Budget(0.0, budget.currency),
        category_rows=rows_to_be_seen(protection, cost, delta / words),
        strength=rows * protection.strength(limit_price(budget, budget, KINDS_SHARE, columns)),
    )


def foresee_by_need(
    protection: Protection, budget: Budget, delta: float, columns: int, rows: float
) -> Outlook:
    """The same, with as small a share of the whole budget as will do."""
    for share in DISCOVERY_SHARES:
        part = Budget(round_down(exact(budget.amount) * exact(share)), budget.currency)
        part = subtract(part, price_count(budget))
        outlook = foresee(protection, part, delta, columns, rows)
        if outlook.category_rows <= ENOUGH_FOR_CATEGORIES * rows:
            break
    else:
        outlook = _foresee(protection, part, budget, delta, columns, rows)
    if outlook.category_rows <= ENOUGH_FOR_CATEGORIES * rows:
        outlook = replace(outlook, second_look=price_second_looks(budget))
    cost = frequent_numbers_price(protection, budget, delta / columns, rows, columns)
    return replace(outlook, numbers=Budget(columns * cost.amount, cost.currency))


def price_second_looks(budget: Budget) -> Budget:
    """What second looks at columns of words cost together, at most."""
    return Budget(round_down(exact(budget.amount) * exact(RARE_SHARE)), budget.currency)


def noise_tail(scale: float, currency: str, probability: float) -> float:
    """A number t with P(noise >= t) <= probability.

    Discrete Laplace: P(X >= t) = exp(-t/s) / (1 + exp(-1/s)) <= exp(-t/s). Discrete Gaussian: the
    terms exp(-k^2 / (2 s^2)) fall for k >= t >= 1, so their sum is at most the integral from t - 1
    on, and the sum over all k is at least sqrt(2 pi) s (Poisson summation: all its terms are
    positive). So P(X >= t) <= Q((t - 1) / s), Q being the tail of the standard normal distribution.
    Rounded Gaussian: P(X >= t) = Q((t - 1/2) / s) for a whole t, which is less.
    """
    if currency == "epsilon":
        return scale * math.log(1 / probability)
    return 1 + scale * -NormalDist().inv_cdf(min(probability, 0.5))
