"""Further functions of a model: sums, variances, quantiles, ranges, labels and groups.

They are made of counts, shares and means (:mod:`understudy.models.query.answers`), and of the
distribution of one attribute among the rows that fit; nothing is drawn and nothing is spent.
"""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Category, Quantity
from understudy.errors import InputError
from understudy.models.factors import Factor, Variable, function_of
from understudy.models.query.answers import Answer, answer
from understudy.models.query.answers import _eliminate as eliminate
from understudy.models.query.answers import _Event as Event
from understudy.models.query.answers import _sides as cut_sides
from understudy.models.query.answers import _values as bin_values
from understudy.models.query.conditions import Subset, compare_values
from understudy.models.query.grammar import parse
from understudy.models.query.syntax import Atom, Condition, Query, both

if TYPE_CHECKING:
    from understudy.models.model import Model

MAX_GROUPS = 1_000
"""Each group is a sum over the network of its own."""

PARTS_OF_A_BIN = 32
"""A bin of which the inside is known is cut into this many parts for its second moment."""

SURE_ROWS = 3.0
UNLIKELY_ROWS = 0.05
"""A range of the largest value begins where this many rows are expected beyond (one lies there with
a probability of 95 %), and ends where hardly any is.
"""


@dataclass(frozen=True, repr=False)
class RangeAnswer(Answer):
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


@dataclass(frozen=True)
class GroupedAnswer:
    """The answer to a query with groups, or of several conditions.

    Attributes
    ----------
    query
        The query.
    group_by
        By which attributes rows are grouped; empty for conditions that are counted at once.
    groups
        What each group is called.
    answers
        The answer for each group.
    """

    query: str
    group_by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    answers: tuple[Answer, ...]

    @property
    def value(self) -> float:
        """The value, where there is one group."""
        return self._only.value

    @property
    def error(self) -> float:
        """One standard deviation of the noise, where there is one group."""
        return self._only.error

    @property
    def low(self) -> float:
        """The lower end of the interval, where there is one group."""
        return self._only.low

    @property
    def high(self) -> float:
        """The upper end of the interval, where there is one group."""
        return self._only.high

    @property
    def _only(self) -> Answer:
        if len(self.answers) != 1:
            raise ValueError("there is an answer for each group; see answers")
        return self.answers[0]

    def __repr__(self) -> str:
        names = [", ".join(group) for group in self.groups]
        widest = max(map(len, names), default=0)
        lines = zip(names, self.answers, strict=True)
        return "\n".join(f"{name.ljust(widest)}  {show_answer(found)}" for name, found in lines)

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{html.escape(', '.join(group))}</td>"
            f"<td style='text-align:right'>{html.escape(show_answer(found))}</td></tr>"
            for group, found in zip(self.groups, self.answers, strict=True)
        )
        return f"<table><tbody>{body}</tbody></table>"

    def to_dict(self) -> dict[str, Any]:
        """The answers for JSON."""
        listed = []
        for group, found in zip(self.groups, self.answers, strict=True):
            told = found.to_dict()
            if math.isnan(found.value):
                told |= {"value": None, "error": None, "low": None, "high": None}
            listed.append({"group": list(group), **told})
        return {"query": self.query, "group_by": list(self.group_by), "answers": listed}


def show_answer(answer: Answer) -> str:
    """An answer in words; of an empty group there may be none."""
    if math.isnan(answer.value):
        return "no rows"
    return repr(answer)


def answer_query(model: Model, text: str) -> Answer | GroupedAnswer:
    """Answer any query from a model; see :meth:`understudy.models.model.Model.query`."""
    query = parse(text, model.schema)
    if query.labels:
        return _count_labels(model, text, query)
    if query.groups:
        return _answer_groups(model, text, query)
    return _answer_one(model, text, query)


def _answer_one(model: Model, text: str, query: Query) -> Answer:
    if query.kind in ("count", "share"):
        return answer(model, text, query)
    if query.kind == "mean" and query.bounds is None:
        return answer(model, text, query)
    return FUNCTIONS[query.kind](model, text, query)


# --------------------------------------------------------------------------- groups


def _answer_groups(model: Model, text: str, query: Query) -> GroupedAnswer:
    number = math.prod(len(group.cells) for group in query.groups)
    if number > MAX_GROUPS:
        raise InputError(
            f"The query has {number:,} groups; a model answers for up to {MAX_GROUPS:,} at once."
        )
    found = []
    for cells in itertools.product(*(group.cells for group in query.groups)):
        group: Condition = Atom(cells[0])
        for cell in cells[1:]:
            group = both(group, Atom(cell))
        found.append(_answer_group(model, text, query, group))
    labels = itertools.product(*(group.labels for group in query.groups))
    names = tuple(group.attribute.name for group in query.groups)
    return GroupedAnswer(text, names, tuple(labels), tuple(found))


def _answer_group(model: Model, text: str, query: Query, group: Condition) -> Answer:
    alone = replace(query, groups=())
    if query.kind == "share":
        return _share_of_group(model, text, query.condition, group)
    inside = group
    if query.condition is not None:
        inside = both(query.condition, group)
    try:
        return _answer_one(model, text, replace(alone, condition=inside))
    except InputError:
        if query.kind in ("count", "sum"):
            raise
        # By the model the group is empty: there is no mean of nothing.
        return Answer(text, query.kind, math.nan, 0.0)


def _share_of_group(
    model: Model, text: str, condition: Condition | None, group: Condition
) -> Answer:
    """The share of a group's rows that fit."""
    if condition is None:
        return Answer(text, "share", 1.0, 0.0)
    fits = answer(model, text, Query(kind="share", condition=both(group, condition)))
    whole = answer(model, text, Query(kind="share", condition=group))
    return _ratio(text, fits, whole)


def _ratio(text: str, part: Answer, whole: Answer) -> Answer:
    """A part over a whole, as a share; rows in the part and all others have noise each by
    itself.
    """
    if whole.value <= 0:
        return Answer(text, "share", math.nan, 0.0)
    share = min(part.value / whole.value, 1.0)
    others = math.sqrt(max(whole.error**2 - part.error**2, 0.0))
    error = math.hypot((1 - share) * part.error, share * others) / whole.value
    return Answer(text, "share", share, error)


def _count_labels(model: Model, text: str, query: Query) -> GroupedAnswer:
    """How many rows fit each condition."""
    if query.groups:
        raise InputError(
            "Of a model several conditions are counted without groups; ask for each by where."
        )
    if query.max_labels < len(query.labels):
        raise InputError(
            "A model counts every condition that holds for a row; leave out 'at most', which is "
            "for questions to private rows."
        )
    found = []
    for label in query.labels:
        inside = label.condition
        if query.condition is not None:
            inside = both(query.condition, inside)
        found.append(answer(model, text, Query(kind="count", condition=inside)))
    return GroupedAnswer(text, (), tuple((label.text,) for label in query.labels), tuple(found))


# --------------------------------------------------------------------------- moments


def _present(query: Query) -> Condition:
    """The condition, and that the attribute has a value."""
    assert query.attribute is not None
    return both(query.condition, Atom(Subset(query.attribute).without()))


def _clipped(query: Query, attribute: Attribute) -> Callable[..., NDArray[np.float64]]:
    """The mean value of a piece of the domain, no further than the query's bounds."""
    values = bin_values(attribute)
    if query.bounds is None:
        return values
    low, high = query.bounds
    return lambda start, end: np.clip(values(start, end), low, high)


def _moments(model: Model, query: Query) -> tuple[float, float]:
    """The probability of the rows that fit, and their mean."""
    assert query.attribute is not None
    condition = _present(query)
    mass = Event(model, condition).probability
    if mass <= 0:
        raise InputError(
            f"By this model no row with a value of {query.attribute.name!r} fits the condition; "
            "widen it."
        )
    values = _clipped(query, query.attribute)
    return mass, Event(model, condition, query.attribute, values).probability / mass


def _mean(model: Model, text: str, query: Query) -> Answer:
    """A mean of clipped values."""
    assert query.attribute is not None
    mass, mean = _moments(model, query)
    values = _clipped(query, query.attribute)
    centred = Event(
        model, _present(query), query.attribute, lambda low, high: values(low, high) - mean
    )
    return Answer(text, "mean", mean, math.sqrt(centred.variance(1 / mass)))


def _sum(model: Model, text: str, query: Query) -> Answer:
    """A mean times the number of rows that have a value."""
    count = answer(model, text, Query(kind="count", condition=_present(query)))
    mean = _answer_one(model, text, replace(query, kind="mean"))
    error = math.hypot(mean.value * count.error, count.value * mean.error)
    return Answer(text, "sum", mean.value * count.value, error)


def _variance(model: Model, text: str, query: Query) -> Answer:
    """The variance over the rows that fit, or its root."""
    attribute = query.attribute
    assert attribute is not None
    mass, mean = _moments(model, query)
    squares = _squares(query, attribute, mean)
    condition = _present(query)
    variance = Event(model, condition, attribute, squares).probability / mass
    centred = Event(model, condition, attribute, lambda low, high: squares(low, high) - variance)
    error = math.sqrt(centred.variance(1 / mass))
    if query.kind == "variance":
        return Answer(text, "variance", variance, error)
    deviation = math.sqrt(max(variance, 0.0))
    return Answer(text, "std", deviation, error / max(2 * deviation, 1e-300))


def _squares(query: Query, attribute: Attribute, mean: float) -> Callable[..., NDArray[np.float64]]:
    """The mean squared distance of a piece's values from a number."""
    values = _clipped(query, attribute)
    if not isinstance(attribute, Quantity):
        return lambda low, high: (values(low, high) - mean) ** 2

    def squares(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
        found, weights = np.zeros(len(low)), np.zeros(len(low))
        cuts = np.linspace(low, high, PARTS_OF_A_BIN + 1)
        if attribute.whole:
            cuts = np.ceil(cuts)
        for start, end in itertools.pairwise(cuts):
            share = _weight(attribute, start, end)
            inside = np.where(share > 0, values(start, np.maximum(end, start)), 0.0)
            found += share * (inside - mean) ** 2
            weights += share
        return found / np.where(weights > 0, weights, 1)

    return squares


def _weight(
    attribute: Quantity, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How much of a bin lies between two numbers, up to a factor."""
    if attribute.refined:
        return np.maximum(attribute.inside.below(high) - attribute.inside.below(low), 0.0)
    return np.maximum(high - low, 0.0)


# --------------------------------------------------------------------------- distributions


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
    cells, lows, highs = _ordered_cells(attribute)
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


def _ordered_cells(
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


def _quantile(model: Model, text: str, query: Query) -> Answer:
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
        whole = Query(kind="share", condition=_present(query))
        share = _ratio(text, answer(model, text, part), answer(model, text, whole))
        low = found.quantile(query.level - 1.96 * share.error)
        high = found.quantile(query.level + 1.96 * share.error)
    error = (high - low) / (2 * 1.96)
    ends = low, high
    return RangeAnswer(text, query.kind, value, error, ends=ends, attribute=query.attribute)


def _extreme(model: Model, text: str, query: Query) -> Answer:
    """The smallest or largest value as a range: where it lies with a probability of about 95 %."""
    found = _distribute(model, query)
    rows = max(answer(model, text, Query(kind="count", condition=_present(query))).value, 1.0)
    levels = [min(SURE_ROWS / rows, 0.5), UNLIKELY_ROWS / rows]
    if query.kind == "max":
        levels = [1 - level for level in levels]
    low, high = sorted(found.quantile(level) for level in levels)
    error = (high - low) / (2 * 1.96)
    middle, ends = (low + high) / 2, (low, high)
    return RangeAnswer(text, query.kind, middle, error, ends=ends, attribute=query.attribute)


FUNCTIONS: dict[str, Callable[[Model, str, Query], Answer]] = {
    "mean": _mean,
    "sum": _sum,
    "variance": _variance,
    "std": _variance,
    "median": _quantile,
    "quantile": _quantile,
    "min": _extreme,
    "max": _extreme,
}
