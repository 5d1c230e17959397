"""The distribution of one attribute among the rows that fit: quantiles and ranges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Category, Quantity
from understudy.errors import InputError
from understudy.models.factors import Factor, Variable, function_of
from understudy.models.query.answers import QueryAnswer, answer
from understudy.models.query.events import cut_sides, eliminate
from understudy.models.query.subsets import Subset, compare_values
from understudy.models.query.syntax import Atom, Condition, Query, both

if TYPE_CHECKING:
    from understudy.models.model import Model

SURE_ROWS = 3.0
UNLIKELY_ROWS = 0.05
"""A range of the largest value begins where this many rows are expected beyond (one lies there with
a probability of 95 %), and ends where hardly any is.
"""


@dataclass(frozen=True, repr=False)
class RangeAnswer(QueryAnswer):
    """An answer whose interval need not lie evenly about its value, or that is a range and no more.

    Attributes
    ----------
    ends
        The interval.
    attribute
        Whose values they are.
    """

    ends: tuple[float, float] = (0.0, 0.0)
    attribute: Attribute | None = None

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.ends[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.ends[1]

    def __repr__(self) -> str:
        interval = f"{self._write(self.low)} to {self._write(self.high)}"
        if self.kind in ("min", "max"):
            return interval
        return f"{self._write(self.value)} ({interval})"

    def _write(self, number: float) -> str:
        if isinstance(self.attribute, Quantity) and self.attribute.whole:
            return self.attribute.write(round(number))
        return f"{number:,.6g}"


def add_present(query: Query) -> Condition:
    """The condition, and that the attribute has a value."""
    assert query.attribute is not None
    return both(query.condition, Atom(Subset(query.attribute).without()))


def divide_answers(text: str, part: QueryAnswer, whole: QueryAnswer) -> QueryAnswer:
    """A part over a whole, as a share; rows in the part and all others have noise each by
    itself.
    """
    if whole.value <= 0:
        return QueryAnswer(text, "share", math.nan, 0.0)
    share = min(part.value / whole.value, 1.0)
    others = math.sqrt(max(whole.error**2 - part.error**2, 0.0))
    error = math.hypot((1 - share) * part.error, share * others) / whole.value
    return QueryAnswer(text, "share", share, error)


@dataclass(frozen=True)
class _Distribution:
    """Where the values of an attribute lie among the rows that fit: pieces in order, with shares
    that add up to 1.
    """

    attribute: Attribute
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    shares: NDArray[np.float64]

    def quantile(self, level: float) -> float:
        """The value below which a share of the rows lies."""
        up_to = np.cumsum(self.shares)
        place = int(np.searchsorted(up_to, min(max(level, 0.0), up_to[-1]), side="left"))
        place = min(place, len(self.shares) - 1)
        before = up_to[place] - self.shares[place]
        inside = 0.0
        if self.shares[place] > 0:
            inside = min(max((level - before) / self.shares[place], 0.0), 1.0)
        low, high = float(self.lows[place]), float(self.highs[place])
        if isinstance(self.attribute, Quantity) and self.attribute.whole:
            return min(math.floor(low + inside * (high - low)), high - 1)
        return low + inside * (high - low)


def _distribute(model: Model, query: Query) -> _Distribution:
    """The distribution of the attribute among the rows that fit."""
    attribute = query.attribute
    assert attribute is not None
    cells, lows, highs = _order_cells(attribute)
    condition = query.condition
    atoms = dict.fromkeys(condition.atoms) if condition is not None else {}
    atoms |= dict.fromkeys(Atom(cell) for cell in cells)
    table, truths = _joint_truths(model, list(atoms))
    shares = np.empty(len(cells))
    for place, cell in enumerate(cells):
        inside = both(condition, Atom(cell))
        shares[place] = float((table * np.broadcast_to(inside.truth(truths), table.shape)).sum())
    shares = np.maximum(shares, 0.0)
    if not shares.sum() > 0:
        raise InputError(
            f"By this model no row with a value of {attribute.name!r} fits the condition; widen it."
        )
    if query.bounds is not None:
        lows, highs = (np.clip(ends, *query.bounds) for ends in (lows, highs))
    return _Distribution(attribute, lows, highs, shares / shares.sum())


def _order_cells(
    attribute: Attribute,
) -> tuple[list[Subset], NDArray[np.float64], NDArray[np.float64]]:
    """The values of an attribute, smallest first: bins, or numbers that are listed."""
    if isinstance(attribute, Quantity):
        cells = [Subset(attribute, (stretch,)) for stretch in itertools.pairwise(attribute.edges)]
        edges = np.array(attribute.edges, dtype=np.float64)
        return cells, edges[:-1], edges[1:]
    assert isinstance(attribute, Category)
    order = sorted(range(len(attribute.domain)), key=lambda code: float(attribute.domain[code]))
    numbers = np.array([float(attribute.domain[code]) for code in order])
    return [Subset(attribute, codes=frozenset({code})) for code in order], numbers, numbers


def _joint_truths(
    model: Model, atoms: Sequence[Atom]
) -> tuple[NDArray[np.float64], dict[Atom, NDArray[np.bool_]]]:
    """The probabilities of all classes of values that some conditions tell apart, and where each
    condition holds.
    """
    by_name: dict[str, list[Atom]] = {}
    for atom in atoms:
        by_name.setdefault(atom.subset.attribute.name, []).append(atom)
    functions: list[Factor] = []
    keep: list[Variable] = []
    truths: dict[Atom, NDArray[np.bool_]] = {}
    for place, (name, own) in enumerate(by_name.items()):
        attribute = model.schema[name]
        shares, holds = cut_sides(attribute, own, None)
        side: Variable = ("sides", name)
        functions.append(function_of(attribute, shares, (side,), model.bits))
        keep.append(side)
        shape = [-1 if i == place else 1 for i in range(len(by_name))]
        truths.update({atom: holds[:, i].reshape(shape) for i, atom in enumerate(own)})
    elimination, total = eliminate(model, functions, keep)
    return elimination.table / total, truths


def answer_quantile(model: Model, text: str, query: Query) -> QueryAnswer:
    """A median or quantile; its interval is that of the share of rows below it."""
    found = _distribute(model, query)
    value = found.quantile(query.level)
    assert query.attribute is not None
    low = high = value
    if isinstance(query.attribute, Quantity) or value > found.lows[0]:
        number: Any = value
        if isinstance(query.attribute, Quantity) and query.attribute.is_moment:
            number = query.attribute.write(value)
        below = compare_values(query.attribute, "<", number)
        part = Query(kind="share", condition=both(query.condition, Atom(below)))
        whole = Query(kind="share", condition=add_present(query))
        share = divide_answers(text, answer(model, text, part), answer(model, text, whole))
        low = found.quantile(query.level - 1.96 * share.error)
        high = found.quantile(query.level + 1.96 * share.error)
    error = (high - low) / (2 * 1.96)
    ends = low, high
    return RangeAnswer(text, query.kind, value, error, ends=ends, attribute=query.attribute)


def answer_extreme(model: Model, text: str, query: Query) -> QueryAnswer:
    """The smallest or largest value as a range: where it lies with a probability of about 95 %."""
    found = _distribute(model, query)
    rows = max(answer(model, text, Query(kind="count", condition=add_present(query))).value, 1.0)
    levels = [min(SURE_ROWS / rows, 0.5), UNLIKELY_ROWS / rows]
    if query.kind == "max":
        levels = [1 - level for level in levels]
    low, high = sorted(found.quantile(level) for level in levels)
    error = (high - low) / (2 * 1.96)
    middle, ends = (low + high) / 2, (low, high)
    return RangeAnswer(text, query.kind, middle, error, ends=ends, attribute=query.attribute)
