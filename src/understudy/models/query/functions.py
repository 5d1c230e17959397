"""Further functions of a model: sums, variances, quantiles, ranges, labels and groups.

They are made of counts, shares and means (:mod:`understudy.models.query.answers`), and of the
distribution of one attribute among the rows that fit; nothing is drawn and nothing is spent.
"""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Quantity
from understudy.errors import InputError
from understudy.models.query.answers import (
    Centred,
    QueryAnswer,
    answer,
    bin_values,
    spread_inside,
    with_parts,
)
from understudy.models.query.distributions import (
    add_present,
    answer_extreme,
    answer_quantile,
    divide_answers,
)
from understudy.models.query.events import Event
from understudy.models.query.grammar import parse
from understudy.models.query.one_answer import OneAnswer
from understudy.models.query.syntax import Atom, Condition, Query, both

if TYPE_CHECKING:
    from understudy.models.model import Model

MAX_SUMMED_GROUPS = 1_000
"""Each group is a sum over the network of its own."""

PARTS_OF_A_BIN = 32
"""A bin of which the inside is known is cut into this many parts for its second moment."""


@dataclass(frozen=True)
class GroupedAnswer(OneAnswer[QueryAnswer]):
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
    answers: tuple[QueryAnswer, ...]

    @property
    def value(self) -> float:
        """The value, where there is one group."""
        return self._only.value

    @property
    def error(self) -> float:
        """One standard deviation of the noise, where there is one group."""
        return self._only.error

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
        return {"question": self.query, "group_by": list(self.group_by), "answers": listed}


def show_answer(answer: QueryAnswer) -> str:
    """An answer in words; of an empty group there may be none."""
    if math.isnan(answer.value):
        return "no rows"
    return repr(answer)


def answer_query(model: Model, text: str) -> QueryAnswer | GroupedAnswer:
    """Answer any query from a model; see :meth:`understudy.models.model.Model.query`."""
    query = parse(text, model.schema)
    if model.gaussians is not None:
        model.gaussians.check_question(query.names)
    if model.generator is not None:
        model.generator.check_question(query.names)
    if query.labels:
        return _count_labels(model, text, query)
    if query.groups:
        return _answer_groups(model, text, query)
    return _answer_one(model, text, query)


def _answer_one(model: Model, text: str, query: Query) -> QueryAnswer:
    if query.kind in ("count", "share"):
        return answer(model, text, query)
    if query.kind == "mean" and query.bounds is None:
        return answer(model, text, query)
    return FUNCTIONS[query.kind](model, text, query)


# --------------------------------------------------------------------------- groups


def _answer_groups(model: Model, text: str, query: Query) -> GroupedAnswer:
    number = math.prod(len(group.cells) for group in query.groups)
    if number > MAX_SUMMED_GROUPS:
        raise InputError(
            f"The query has {number:,} groups; a model answers for up to {MAX_SUMMED_GROUPS:,} at "
            "once."
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


def _answer_group(model: Model, text: str, query: Query, group: Condition) -> QueryAnswer:
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
        return QueryAnswer(text, query.kind, math.nan, 0.0)


def _share_of_group(
    model: Model, text: str, condition: Condition | None, group: Condition
) -> QueryAnswer:
    """The share of a group's rows that fit."""
    if condition is None:
        return QueryAnswer(text, "share", 1.0, 0.0)
    fits = answer(model, text, Query(kind="share", condition=both(group, condition)))
    whole = answer(model, text, Query(kind="share", condition=group))
    return divide_answers(text, fits, whole)


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


def _clip_values(query: Query, attribute: Attribute) -> Callable[..., NDArray[np.float64]]:
    """The mean value of a piece of the domain, no further than the query's bounds."""
    values = bin_values(attribute)
    if query.bounds is None:
        return values
    low, high = query.bounds
    return lambda start, end: np.clip(values(start, end), low, high)


def _moments(model: Model, query: Query) -> tuple[float, float]:
    """The probability of the rows that fit, and their mean."""
    assert query.attribute is not None
    condition = add_present(query)
    mass = Event(model, condition).probability
    if mass <= 0:
        raise InputError(
            f"By this model no row with a value of {query.attribute.name!r} fits the condition; "
            "widen it."
        )
    values = _clip_values(query, query.attribute)
    return mass, Event(model, condition, query.attribute, values).probability / mass


def _mean(model: Model, text: str, query: Query) -> QueryAnswer:
    """A mean of clipped values."""
    assert query.attribute is not None
    mass, mean = _moments(model, query)
    values = _clip_values(query, query.attribute)
    parts = _centre(model, query, mass).parts(
        lambda low, high: values(low, high) - mean,
        lambda low, high: (values(low, high) - mean) ** 2,
    )
    inside = spread_inside(model, query.attribute, _inside_bounds(query))
    parts = replace(parts, cut=parts.cut + inside)
    return with_parts(model, text, "mean", mean, parts)


def _centre(model: Model, query: Query, mass: float) -> Centred:
    assert query.attribute is not None
    return Centred(model=model, condition=add_present(query), attribute=query.attribute, mass=mass)


def _inside_bounds(query: Query) -> NDArray[np.float64] | float:
    """For each bin 1 where values in it are not clipped, else 0."""
    attribute = query.attribute
    if query.bounds is None or not isinstance(attribute, Quantity):
        return 1.0
    edges = np.array(attribute.edges, dtype=np.float64)
    low, high = query.bounds
    return ((edges[1:] > low) & (edges[:-1] < high)).astype(np.float64)


def _sum(model: Model, text: str, query: Query) -> QueryAnswer:
    """A mean times the number of rows that have a value."""
    count = answer(model, text, Query(kind="count", condition=add_present(query)))
    mean = _answer_one(model, text, replace(query, kind="mean"))

    def join(part: str) -> float:
        by_count = mean.value * getattr(count, part)
        return math.hypot(by_count, count.value * getattr(mean, part))

    return QueryAnswer(
        text,
        "sum",
        mean.value * count.value,
        *(join(part) for part in ("error", "noise", "misfit", "cut")),
    )


def _variance(model: Model, text: str, query: Query) -> QueryAnswer:
    """The variance over the rows that fit, or its root."""
    attribute = query.attribute
    assert attribute is not None
    mass, mean = _moments(model, query)
    squares = _squares(query, attribute, mean)
    variance = Event(model, add_present(query), attribute, squares).probability / mass
    parts = _centre(model, query, mass).parts(
        lambda low, high: squares(low, high) - variance,
        lambda low, high: (squares(low, high) - variance) ** 2,
    )
    if isinstance(attribute, Quantity):
        edges = np.array(attribute.edges, dtype=np.float64)
        slopes = 2 * np.abs((edges[1:] + edges[:-1]) / 2 - mean) * _inside_bounds(query)
        parts = replace(parts, cut=parts.cut + spread_inside(model, attribute, slopes))
    if query.kind == "variance":
        return with_parts(model, text, "variance", variance, parts)
    deviation = math.sqrt(max(variance, 0.0))
    parts = parts.times(1 / max(2 * deviation, 1e-300))
    return with_parts(model, text, "std", deviation, parts)


def _squares(query: Query, attribute: Attribute, mean: float) -> Callable[..., NDArray[np.float64]]:
    """The mean squared distance of a piece's values from a number."""
    values = _clip_values(query, attribute)
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


FUNCTIONS: dict[str, Callable[[Model, str, Query], QueryAnswer]] = {
    "mean": _mean,
    "sum": _sum,
    "variance": _variance,
    "std": _variance,
    "median": answer_quantile,
    "quantile": answer_quantile,
    "min": answer_extreme,
    "max": answer_extreme,
}
