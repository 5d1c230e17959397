"""Answers from a model without drawing a row: exact sums over its network, each with an error bar.

The error bar is made of the noise that privacy asked for (or private draws, where the release is
those), what the model does not know of the rows, and how rows lie inside bins that a condition cuts
(:mod:`understudy.models.query.intervals`). That of a whole marginal is the noise alone.
"""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis, Marginal, describe, marginal
from understudy.data.schema import Attribute, Category, Quantity
from understudy.errors import InputError
from understudy.models.factors import Factor, Variable, function_of
from understudy.models.inference import MAX_PRODUCT_CELLS, Elimination, noise_variance
from understudy.models.query.conditions import Subset
from understudy.models.query.grammar import Atom, Compound, Condition, Kind, Query, parse
from understudy.models.query.intervals import (
    CUT_FACTOR,
    CUT_ROWS,
    LEARNED_CUT_ROWS,
    ROUNDING,
    Parts,
)

if TYPE_CHECKING:
    from understudy.models.model import Model

MAX_TABLE_LINES = 30
"""Lines that a marginal shows of itself."""


# --------------------------------------------------------------------------- queries


@dataclass(frozen=True)
class Answer:
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
    kind: Kind
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


def answer(model: Model, text: str, query: Query | None = None) -> Answer:
    """Answer a count, share or mean from a model; see
    :meth:`understudy.models.model.Model.query`.
    """
    if query is None:
        query = parse(text, model.schema)
    if query.kind == "mean":
        assert query.attribute is not None
        value, parts = _mean(model, query.attribute, query.condition)
        return with_parts(model, text, "mean", value, parts)
    event = _Event(model, query.condition)
    share = event.probability
    if query.kind == "share":
        return with_parts(model, text, "share", share, event.parts(about=share))
    rows = _rows(model)
    return with_parts(model, text, "count", rows * share, event.parts().times(rows))


def with_parts(model: Model, text: str, kind: Kind, value: float, parts: Parts) -> Answer:
    """An answer, with an error that is made of its parts and their factors."""
    scaled = model.errors.scale(parts)
    noise, misfit, cut = (math.sqrt(v) for v in (scaled.noise, scaled.misfit, scaled.cut))
    error = math.sqrt(scaled.noise + scaled.misfit + scaled.cut)
    return Answer(text, kind, value, error, noise, misfit, cut)


def _drawing_variance(model: Model, share: Any) -> Any:
    """The variance of a share in the rows that the private method drew, where it drew rows."""
    if model.draws is None:
        return 0.0
    return np.clip(share * (1 - share), 0.0, None) / model.draws


def _rows(model: Model) -> int:
    if model.rows is None:
        raise InputError(
            "This model does not know how many rows the original has; ask for a share instead of a "
            "count."
        )
    return model.rows


def rows_deviation(model: Model) -> float:
    """The standard deviation of the number of rows: 0 where it is public, else from the totals of
    the tables.
    """
    if model.ledger.neighbours == "replace":
        return 0.0
    families = [{*node.parents, Axis(node.attribute)} for node in model.network]
    information = 0.0
    for node, own in zip(model.network, families, strict=True):
        derived = any(own < other for other in families)
        if node.deviation > 0 and not derived:
            information += 1 / (node.table.size * node.deviation**2)
    if information:
        return information**-0.5
    return 0.0


def _mean(model: Model, attribute: Attribute, condition: Condition | None) -> tuple[float, Parts]:
    """The mean of an attribute over the rows that fit and have a value."""
    present = Atom(Subset(attribute).without())
    if condition is None:
        condition = present
    else:
        condition = Compound("and", (condition, present))
    values = _values(attribute)
    mass = _Event(model, condition).probability
    if mass <= 0:
        raise InputError(
            f"By this model no row with a value of {attribute.name!r} fits the condition; widen it."
        )
    mean = _Event(model, condition, attribute, values).probability / mass
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
        event = _Event(self.model, self.condition, self.attribute, slope)
        parts = event.centred_parts(self.mass)
        if parts is not None:
            return parts
        squared = _Event(self.model, self.condition, self.attribute, squared_slope)
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


def _values(attribute: Attribute) -> Any:
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


class _Event:
    """Rows that fit a condition, each possibly weighed by a value of one attribute.

    For each attribute in the condition only this matters of its value: which of the conditions on
    it hold. That is an auxiliary variable with few values, tied to the attribute's code; a bin that
    conditions cut has several of them, by share. So any mixture of and, or and not is an exact sum
    over a small table.
    """

    def __init__(
        self,
        model: Model,
        condition: Condition | None,
        weighed: Attribute | None = None,
        values: Any = None,
    ) -> None:
        atoms: dict[str, list[Atom]] = {}
        for atom in condition.atoms if condition is not None else ():
            atoms.setdefault(atom.subset.attribute.name, []).append(atom)
        self._model = model
        self.names = tuple(atoms)
        self._weights: list[NDArray[np.float64]] = []
        functions: list[Factor] = []
        keep: list[Variable] = []
        truths: dict[Atom, NDArray[np.bool_]] = {}
        for place, (name, own) in enumerate(atoms.items()):
            attribute = model.schema[name]
            shares, holds = _sides(attribute, own, values if attribute is weighed else None)
            self._weights.append(shares)
            side: Variable = ("sides", name)
            functions.append(function_of(attribute, shares, (side,), model.bits))
            keep.append(side)
            shape = [-1 if i == place else 1 for i in range(len(atoms))]
            truths.update({atom: holds[:, i].reshape(shape) for i, atom in enumerate(own)})
        self._elimination, self._total = _eliminate(model, functions, keep)
        self._weighed = weighed is not None
        truth: NDArray[Any] = np.ones(())
        if condition is not None:
            truth = condition.truth(truths)
        self._truth = np.broadcast_to(truth, self._elimination.shape).astype(np.float64)

    @property
    def probability(self) -> float:
        """The expected value."""
        return float((self._elimination.table * self._truth).sum()) / self._total

    def parts(self, about: float = 0.0) -> Parts:
        """The variances of the probability, by cause.

        Parameters
        ----------
        about
            0 for a count, which has the error of the number of rows in it; the probability itself
            for a share, which has not.
        """
        share = self.probability
        drawing = _drawing_variance(self._model, share)
        rows = self._model.rows
        if not rows or not self.names:
            return Parts(noise=self.variance(1.0) + drawing + self._rows_variance(about))
        cut = self._cut() / rows**2
        told = self._by_effects(about)
        if told is None:
            noise = self.variance(1.0) + drawing + self._rows_variance(about)
            found = Parts(noise=noise, misfit=self._misfit() / rows)
        else:
            found = told.times(1 / rows)
        is_unsure = found.noise + found.known + found.misfit + found.larger + cut > 0
        rounding = 0.0
        if is_unsure:
            rounding = ROUNDING / rows**2
        return replace(found, rounding=rounding, cut=cut)

    def centred_parts(self, mass: float) -> Parts | None:
        """The variances of a mean of values that have the mean 0 among the rows that fit, which are
        this share of all; None where the measured tables do not tell.
        """
        rows, told = self._model.rows, self._by_effects(0.0)
        if not rows or told is None:
            return None
        return told.times(1 / (rows * mass))

    def _by_effects(self, about: float) -> Parts | None:
        if self._model.draws is not None:
            return None
        return self._model.errors.by_effects(self._truth, self._weights, self.names, about)

    def _rows_variance(self, about: float) -> float:
        """Of a count: what the number of rows, where it was measured, adds."""
        if about or not self._model.rows:
            return 0.0
        return (self.probability * rows_deviation(self._model) / self._model.rows) ** 2

    @cached_property
    def _joint(self) -> NDArray[np.float64]:
        """The probabilities of the sides."""
        return self._elimination.table / self._total

    def _side_shares(self) -> list[NDArray[np.float64]]:
        places = range(self._joint.ndim)
        return [self._joint.sum(axis=tuple(j for j in places if j != i)) for i in places]

    def _misfit(self) -> float:
        return self._model.errors.misfit(self._truth, self._side_shares(), self.names)

    def _cut(self) -> float:
        """The variance of a count from bins that conditions cut."""
        found, places = 0.0, range(self._joint.ndim)
        for i, (name, shares) in enumerate(zip(self.names, self._side_shares(), strict=True)):
            fitting = (self._joint * self._truth).sum(axis=tuple(j for j in places if j != i))
            expected = np.divide(fitting, shares, out=np.zeros_like(fitting), where=shares > 0)
            found += self._model.errors.cut(name, self._weights[i], expected)
        return found

    def variance(self, scale: float) -> float:
        """The variance of ``scale`` times that, from the noise; values that weigh rows must have
        the mean 0.
        """
        weights = self._truth
        if self._total != 1.0:  # the slope of a ratio; where the numerator is 0, of it alone
            if not self._weighed:
                weights = weights - self.probability
            weights = weights / self._total
        return float(noise_variance(self._elimination, (scale * weights)[None])[0])


def _eliminate(
    model: Model, functions: Sequence[Factor], keep: Sequence[Variable]
) -> tuple[Elimination, float]:
    """Sums over the rows that keep the model's constraints, and the probability of such rows: 1
    where there are none.
    """
    network, factors = model.constraint_factors()
    elimination = Elimination(network, model.network_schema, [*functions, *factors], keep)
    if not factors:
        return elimination, 1.0
    return elimination, float(Elimination(network, model.network_schema, factors, ()).table)


def _sides(
    attribute: Attribute, atoms: Sequence[Atom], values: Any
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Cut an attribute into classes of values that its conditions do not tell apart.

    Returns
    -------
    shares
        For each code and class, the share of the code that is in the class (times its mean value,
        if asked for).
    holds
        For each class and condition, whether the condition holds there.
    """
    pieces = list(_pieces(attribute, atoms))
    codes = np.array([code for code, _, _ in pieces])
    low, high = (np.array([piece[i] for piece in pieces], dtype=np.float64) for i in (1, 2))
    weights = _piece_shares(attribute, codes, low, high)
    if values is not None:
        present = codes < attribute.values_size
        weights = weights * np.where(
            present, values(np.where(present, low, 0), np.where(present, high, 0)), 0.0
        )
    table = np.array(
        [[_within(attribute, atom.subset, piece) for atom in atoms] for piece in pieces], dtype=bool
    )
    holds, sides = np.unique(table, axis=0, return_inverse=True)
    shares = np.zeros((attribute.size, len(holds)))
    np.add.at(shares, (codes, sides.reshape(-1)), weights)
    return shares, holds


def _piece_shares(
    attribute: Attribute,
    codes: NDArray[Any],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64]:
    """For each piece the share of its code that it is."""
    if isinstance(attribute, Quantity) and attribute.refined:
        present = codes < attribute.values_size
        shares = attribute.inside.below(high) - attribute.inside.below(low)
        return np.where(present, np.clip(shares, 0, 1), 1.0)
    whole = np.zeros(attribute.size)
    np.add.at(whole, codes, high - low)
    shares = (high - low) / whole[codes]
    return shares


def _pieces(attribute: Attribute, atoms: Sequence[Atom]) -> Iterator[tuple[int, float, float]]:
    """The domain in pieces that no condition cuts: code, start and end."""
    if isinstance(attribute, Quantity):
        ends = {end for atom in atoms for interval in atom.subset.intervals for end in interval}
        cuts = sorted(
            {*attribute.edges, *(e for e in ends if attribute.edges[0] < e < attribute.edges[-1])}
        )
        starts = np.searchsorted(np.array(attribute.edges), np.array(cuts[:-1]), side="right") - 1
        for code, (low, high) in zip(starts, itertools.pairwise(cuts), strict=True):
            yield int(code), low, high
    else:
        yield from ((code, float(code), float(code + 1)) for code in range(attribute.values_size))
    if attribute.missing is not None:
        yield attribute.values_size, 0.0, 1.0


def _within(attribute: Attribute, subset: Subset, piece: tuple[int, float, float]) -> bool:
    code, low, high = piece
    if code == attribute.values_size:
        return subset.missing
    if isinstance(attribute, Quantity):
        return any(start <= low and high <= end for start, end in subset.intervals)
    return code in subset.codes


# --------------------------------------------------------------------------- marginals


@dataclass(frozen=True, repr=False)
class Estimate:
    """Estimated counts over some attributes.

    Attributes
    ----------
    axes
        The attributes, each at a level.
    labels
        For each axis what its codes stand for.
    table
        Estimated counts, a side for each axis.
    """

    axes: Marginal
    labels: tuple[tuple[str, ...], ...]
    table: NDArray[np.float64]
    _elimination: Elimination = field(compare=False)
    _rows: float = 0.0
    _rows_deviation: float = 0.0
    _drawing_variance: NDArray[np.float64] | float = 0.0
    _total: float = 1.0

    @cached_property
    def deviation(self) -> NDArray[np.float64]:
        """For each count, one standard deviation of the known noise in it. Takes longer than the
        counts themselves.
        """
        return self.deviation_at(np.arange(self.table.size)).reshape(self.table.shape)

    def deviation_at(self, places: NDArray[Any]) -> NDArray[np.float64]:
        """The same for some cells of the flattened table."""
        counts = self.table.ravel()[places]
        variance = np.empty(len(places))
        step = max(1, MAX_PRODUCT_CELLS // 8 // max(self._elimination.largest, 1))
        for first in range(0, len(places), step):
            part = places[first : first + step]
            seeds = np.zeros((len(part), self.table.size))
            seeds[np.arange(len(part)), part] = self._rows
            if self._total != 1.0:  # the slope of a ratio
                seeds = (seeds - counts[first : first + step, None]) / self._total
            variance[first : first + step] = noise_variance(
                self._elimination, seeds.reshape(-1, *self.table.shape)
            )
        shares = counts / max(self._rows, 1e-300)
        drawn = np.broadcast_to(self._drawing_variance, self.table.shape).ravel()[places]
        return np.sqrt(variance + self._rows**2 * drawn + (shares * self._rows_deviation) ** 2)

    @property
    def error(self) -> NDArray[np.float64]:
        """Another name for :attr:`deviation`."""
        return self.deviation

    def __repr__(self) -> str:
        names = [str(axis) for axis in self.axes]
        lines = list(self._lines())
        grid = [[*names, "count"], *([*labels, text] for labels, text in lines)]
        widths = [max(len(line[i]) for line in grid) for i in range(len(grid[0]))]
        shown = []
        for line in grid:
            cells = [word.ljust(width) for word, width in zip(line[:-1], widths[:-1], strict=True)]
            shown.append("  ".join([*cells, line[-1].rjust(widths[-1])]).rstrip())
        return "\n".join(shown + self._more())

    def _repr_html_(self) -> str:
        head = (
            "".join(f"<th>{html.escape(str(axis))}</th>" for axis in self.axes) + "<th>count</th>"
        )
        body = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(label)}</td>" for label in labels)
            + f"<td style='text-align:right'>{text}</td></tr>"
            for labels, text in self._lines()
        )
        more = "".join(f"<p>{line}</p>" for line in self._more())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _lines(self) -> Iterator[tuple[list[str], str]]:
        errors = None
        if self.table.size <= 4096:
            errors = self.deviation
        for place in itertools.islice(np.ndindex(self.table.shape), MAX_TABLE_LINES):
            if errors is None:
                error = ""
            else:
                error = f" ± {errors[place]:,.0f}"
            yield (
                [labels[i] for labels, i in zip(self.labels, place, strict=True)],
                f"{self.table[place]:,.0f}{error}",
            )

    def _more(self) -> list[str]:
        left = self.table.size - MAX_TABLE_LINES
        if left > 0:
            return [f"and {left:,} more"]
        return []


def estimate(model: Model, parts: Sequence[str | tuple[str, int]]) -> Estimate:
    """Estimated counts from a model; see :meth:`understudy.models.model.Model.marginal`."""
    if not parts:
        raise InputError("A marginal needs at least one attribute.")
    axes = marginal(*parts)
    if len({axis.attribute for axis in axes}) < len(axes):
        raise InputError(
            f"An attribute appears twice in the marginal {describe(axes)}; name each once."
        )
    if model.gaussians is not None:
        model.gaussians.check_question({axis.attribute for axis in axes})
    if model.generator is not None:
        model.generator.check_question({axis.attribute for axis in axes})
    functions: list[Factor] = []
    keep: list[Variable] = []
    for axis in axes:
        attribute = model.schema[axis.attribute]
        if not attribute.modelled:
            raise InputError(
                f"{axis.attribute!r} is {attribute.kind} and not modelled, so nothing is known of "
                "it."
            )
        sizes = attribute.sizes_by_level()
        if not 0 <= axis.level < len(sizes):
            raise InputError(
                f"{axis.attribute!r} has levels 0 to {len(sizes) - 1}, not {axis.level}."
            )
        if axis.level == 0 and model.bits is None:
            keep.append(axis.attribute)
            continue
        side: Variable = ("level", axis.attribute)
        tie = np.zeros((attribute.size, sizes[axis.level]))
        tie[np.arange(attribute.size), _groups(attribute, axis.level)] = 1
        functions.append(function_of(attribute, tie, (side,), model.bits))
        keep.append(side)
    elimination, total = _eliminate(model, functions, keep)
    rows = float(_rows(model))
    labels = tuple(axis_labels(model.schema[axis.attribute], axis.level) for axis in axes)
    shares = elimination.table / total
    drawing = _drawing_variance(model, shares)
    return Estimate(
        axes, labels, rows * shares, elimination, rows, rows_deviation(model), drawing, total
    )


def axis_labels(attribute: Attribute, level: int) -> tuple[str, ...]:
    """What the codes of an attribute stand for at a level."""
    groups = _groups(attribute, level)
    members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    return tuple(_group_label(attribute, codes) for codes in members)


def _groups(attribute: Attribute, level: int) -> NDArray[Any]:
    if level:
        return attribute.generalisations[level - 1]
    return np.arange(attribute.size)


def _group_label(attribute: Attribute, codes: NDArray[Any]) -> str:
    first, last = int(codes[0]), int(codes[-1])
    if first == last:
        return attribute.label(first)
    if isinstance(attribute, Quantity):
        low, high = attribute.edges[first], attribute.edges[last + 1]
        if attribute.whole:
            return f"{attribute.write(low)} to {attribute.write(high - 1)}"
        return f"[{low:g}, {high:g}{']' if last == attribute.bins - 1 else ')'}"
    names = [attribute.label(int(code)) for code in codes[:3]]
    return ", ".join(names) + (f" and {len(codes) - 3} more" if len(codes) > 3 else "")
