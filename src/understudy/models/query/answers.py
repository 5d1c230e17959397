"""Answers from a model without drawing a row: exact sums over its network, each with an error bar.

The error bar is made of the noise that privacy asked for (or private draws, where the release is
those), what the model does not know of the rows, and how rows lie inside bins that a condition cuts
(:mod:`understudy.models.query.intervals`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Category, Quantity
from understudy.errors import InputError
from understudy.models.query.events import Event, require_rows
from understudy.models.query.grammar import Atom, Compound, Condition, Query, QueryKind, parse
from understudy.models.query.intervals import (
    CUT_FACTOR,
    CUT_ROWS,
    LEARNED_CUT_ROWS,
    Parts,
)
from understudy.models.query.subsets import Subset

if TYPE_CHECKING:
    from understudy.models.model import Model


@dataclass(frozen=True)
class QueryAnswer:
    """The answer to a query.

    Attributes
    ----------
    query
        The query.
    kind
        "count", "share", "mean" or another function.
    value
        What the model expects.
    error
        One standard deviation: the root of the sum of the squares of the three parts below. 0 where
        no noise was added to what the answer rests on and nothing else is unsure.
    noise
        The part of the noise that privacy asked for.
    misfit
        The part of what the model does not know: attributes that were not measured together, and
        errors of the fit.
    cut
        The part of bins that a condition cuts: how their rows lie inside.
    """

    query: str
    kind: QueryKind
    value: float
    error: float
    noise: float = 0.0
    misfit: float = 0.0
    cut: float = 0.0

    @property
    def low(self) -> float:
        """The lower end of an interval that holds the true value with a probability of about
        95 %.
        """
        low = self.value - 1.96 * self.error
        if self.kind in ("count", "share", "variance", "std"):
            return max(low, 0.0)
        return low

    @property
    def high(self) -> float:
        """The upper end of that interval."""
        high = self.value + 1.96 * self.error
        if self.kind == "share":
            return min(high, 1.0)
        return high

    def __repr__(self) -> str:
        if self.kind == "share":
            shown, error = f"{self.value:.2%}", f"{self.error:.2%}"
        elif self.kind == "count":
            shown, error = (
                f"{self.value:,.0f}",
                f"{self.error:,.0f}" if self.error >= 0.95 else f"{self.error:.1g}",
            )
        else:
            if self.error <= 0:
                places = 2
            else:
                places = min(max(1 - math.floor(math.log10(self.error)), 0), 6)
            shown, error = f"{self.value:,.{places}f}", f"{self.error:,.{places}f}"
        if self.error > 0:
            return f"{shown} ± {error}"
        return shown

    def describe_parts(self) -> str:
        """What the error bar is made of, in a line."""
        if self.error > 0 and not self.noise + self.misfit + self.cut:
            return "parts of the error are told for counts, shares, means, variances and sums"
        return (
            f"noise {self.noise:.3g}, misfit {self.misfit:.3g}, cut bins {self.cut:.3g}; 95 % "
            f"interval {self.low:.6g} to {self.high:.6g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The answer for JSON."""
        names = ("kind", "value", "error", "low", "high", "noise", "misfit", "cut")
        return {"question": self.query, **{name: getattr(self, name) for name in names}}


def answer(model: Model, text: str, query: Query | None = None) -> QueryAnswer:
    """Answer a count, share or mean from a model; see
    :meth:`understudy.models.model.Model.query`.
    """
    if query is None:
        query = parse(text, model.schema)
    if query.kind == "mean":
        assert query.attribute is not None
        value, parts = _mean(model, query.attribute, query.condition)
        return with_parts(model, text, "mean", value, parts)
    event = Event(model, query.condition)
    share = event.probability
    if query.kind == "share":
        return with_parts(model, text, "share", share, event.parts(about=share))
    rows = require_rows(model)
    return with_parts(model, text, "count", rows * share, event.parts().times(rows))


def with_parts(model: Model, text: str, kind: QueryKind, value: float, parts: Parts) -> QueryAnswer:
    """An answer, with an error that is made of its parts and their factors."""
    scaled = model.errors.scale(parts)
    noise, misfit, cut = (math.sqrt(v) for v in (scaled.noise, scaled.misfit, scaled.cut))
    error = math.sqrt(scaled.noise + scaled.misfit + scaled.cut)
    return QueryAnswer(text, kind, value, error, noise, misfit, cut)


def _mean(model: Model, attribute: Attribute, condition: Condition | None) -> tuple[float, Parts]:
    """The mean of an attribute over the rows that fit and have a value."""
    present = Atom(Subset(attribute).without())
    if condition is None:
        condition = present
    else:
        condition = Compound("and", (condition, present))
    values = bin_values(attribute)
    mass = Event(model, condition).probability
    if mass <= 0:
        raise InputError(
            f"By this model no row with a value of {attribute.name!r} fits the condition; widen it."
        )
    mean = Event(model, condition, attribute, values).probability / mass
    # With the mean subtracted the sum is 0, and its slope is that of the ratio.
    centred = Centred(model=model, condition=condition, attribute=attribute, mass=mass)
    parts = centred.parts(
        lambda low, high: values(low, high) - mean,
        lambda low, high: (values(low, high) - mean) ** 2,
    )
    return mean, replace(parts, cut=parts.cut + spread_inside(model, attribute))


@dataclass(frozen=True, kw_only=True)
class Centred:
    """A ratio of sums over the rows that fit, by values of one attribute.

    Parameters
    ----------
    condition
        Which rows fit; those without a value do not.
    attribute
        Whose values.
    mass
        The share of the rows that fit.
    """

    model: Model
    condition: Condition
    attribute: Attribute
    mass: float

    def parts(self, slope: Any, squared_slope: Any) -> Parts:
        """The variances of the ratio, whose change by a row with a value is the slope there; that
        has the mean 0 among the rows that fit.
        """
        event = Event(self.model, self.condition, self.attribute, slope)
        parts = event.find_centred_parts(self.mass)
        if parts is not None:
            return parts
        squared = Event(self.model, self.condition, self.attribute, squared_slope)
        one_row = squared.probability / self.mass**2
        noise = event.variance(1 / self.mass)
        if self.model.draws is not None:
            noise += one_row / self.model.draws
        misfit = 0.0
        if self.model.rows and not self.model.errors.is_measured(squared.names):
            misfit = one_row / self.model.rows
        return Parts(noise=noise, misfit=misfit)


def spread_inside(model: Model, attribute: Attribute, slopes: Any = 1.0) -> float:
    """The variance of a mean from not knowing where the rows of each bin lie inside it.

    Inside a bin of width w a mean could be off by a few per cent of w, about as much as a sum of
    the shares of its halves.

    Parameters
    ----------
    slopes
        For each bin how much the answer changes with a value there, as a multiple of a mean.
    """
    if not isinstance(attribute, Quantity) or not model.rows:
        return 0.0
    shares = model.marginal(attribute.name).table[: attribute.bins] / model.rows
    widths = np.diff(np.array(attribute.edges, dtype=np.float64))
    if attribute.whole:
        widths = widths - 1
    rows = np.maximum(shares * model.rows, 1.0)
    unsure: Any = 1 / (CUT_ROWS + 1)
    if attribute.refined:
        unsure = np.minimum(CUT_FACTOR / rows + 1 / (LEARNED_CUT_ROWS + 1), unsure)
    return float((shares**2 * (slopes * widths) ** 2 / 12 * unsure).sum())


def bin_values(attribute: Attribute) -> Any:
    """The mean value of a piece of an attribute's domain."""
    if isinstance(attribute, Quantity) and attribute.kind in ("integer", "real"):
        if attribute.refined:
            return _means_inside(attribute)
        if attribute.whole:
            gap = 1.0
        else:
            gap = 0.0
        return lambda low, high: (low + high - gap) / 2
    if isinstance(attribute, Category) and not isinstance(attribute.domain[0], str):
        numbers = np.array(attribute.domain, dtype=np.float64)
        return lambda low, high: numbers[low.astype(np.intp)]
    raise InputError(f"A mean is of numbers; {attribute.name!r} is {attribute.kind}.")


def _means_inside(attribute: Quantity) -> Any:
    """The mean value of a piece, by what is known of the inside of bins."""
    inside = attribute.inside

    def means(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = inside.below(high) - inside.below(low)
        sums = inside.sums_below(high) - inside.sums_below(low)
        return np.where(shares > 0, sums / np.where(shares > 0, shares, 1), low)

    return means
