"""How wrong an answer may be: noise, what the model does not know of the rows, and cut bins.

Three variances add up:

- *Noise*: that of the measured tables that tell an effect (:mod:`understudy.models.query.effects`).
  Where a model does not say which tables were measured, that of its network's tables
  (:func:`understudy.models.inference.noise_variance`).
- *Misfit*: a function of several attributes is a sum of effects: the total, one for each
  attribute, for each pair, and so on. Effects of attributes that share a measured table are told by
  it; for the others the model says what follows from the rest. Rows that were drawn from the model
  would differ from it there with a variance that is known (were the attributes independent); real
  rows differ more, by a factor.
- *Cut bins*: where a condition cuts through a bin, how its rows lie inside.

The factors of noise and misfit differ from release to release. A method may pay for a *holdout*: a
few tables that it measures and never fits. How far the model is from them tells both
(:mod:`understudy.models.query.misfits`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis, Marginal
from understudy.data.schema import Attribute, Quantity, Schema
from understudy.models.inference import TooLargeError
from understudy.models.measurements import Holdout
from understudy.models.query.effects import Precisions, compute_squared_means, effect_variance
from understudy.models.query.misfits import GroupErrors, find_factor

if TYPE_CHECKING:
    from understudy.models.model import Model

MISFIT = 3.0
"""The factor of misfit where no holdout tells it: high, to be on the safe side."""

NOISE_SPREAD = 0.25
"""The deviation of the logarithm of the factor of noise, where the holdout is too noisy to tell: it
is 1 where the fit has come to its end and no count is near 0."""

CUT_FACTOR = 6.0
"""How much more the rows inside a bin differ from its learned shape than rows drawn from it."""

CUT_ROWS = 4.0
"""A bin whose inside nobody learned: its shape is known as well as that many rows would tell."""

LEARNED_CUT_ROWS = 100.0
"""One whose inside was learned: a heap at a round number, say, may hold a tenth of its rows, and
the shape does not know it.
"""

COUNTING_VARIANCE = 0.25
"""The variance of counting whole rows."""

MAX_EFFECTS = 10
"""Of more attributes than this all effects count as not measured."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Variances of an answer, by cause."""

    noise: float
    known: float = 0.0
    """Noise that needs no factor: of the number of rows, and of attributes by themselves."""
    misfit: float = 0.0
    """Of pairs that no table tells ..."""
    larger: float = 0.0
    """... and of more attributes."""
    cut: float = 0.0
    rounding: float = 0.0
    """Of whole rows: it needs no factor, and counts as misfit."""

    def times(self, factor: float) -> Parts:
        """Those of the answer times a number."""
        squared = factor**2
        return replace(
            self,
            noise=self.noise * squared,
            known=self.known * squared,
            misfit=self.misfit * squared,
            larger=self.larger * squared,
            cut=self.cut * squared,
            rounding=self.rounding * squared,
        )


class ErrorModel:
    """What a model knows about its own errors.

    Parameters
    ----------
    model
        The released model.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.holdout = model.measurements.holdout

    @cached_property
    def groups(self) -> tuple[frozenset[str], ...]:
        """Attributes that were measured together."""
        tables = self._model.measurements.tables
        if tables:
            return tuple({frozenset(table.attributes): None for table in tables})
        bits = self._model.bits
        owners = {}
        if bits is not None:
            owners = {
                name: attribute.name
                for attribute in self._model.schema.modelled
                for name in bits.names(attribute)
            }
        families = (
            [node.attribute, *(a.attribute for a in node.parents)] for node in self._model.network
        )
        return tuple({frozenset(owners.get(n, n) for n in names): None for names in families})

    def is_measured(self, names: Sequence[str]) -> bool:
        """Whether one table told all of these attributes together."""
        wanted = {name for name in names if self._model.schema[name].size > 1}
        return len(wanted) < 2 or any(wanted <= group for group in self.groups)

    def scale(self, parts: Parts) -> Parts:
        """The parts with their factors, as squared standard deviations of a normal error."""
        if self.holdout is None:
            noise = parts.known + parts.noise
            misfit = MISFIT * (parts.misfit + parts.larger) + parts.rounding
            return Parts(noise=noise, misfit=misfit, cut=parts.cut)
        known = self.holdout.one_way * parts.known
        explained = min(self.holdout.noise, 1.0) * parts.noise
        excess = max(self.holdout.noise - 1.0, 0.0) * parts.noise
        misfit = self.holdout.misfit * parts.misfit + self.holdout.larger * parts.larger
        misfit += excess + parts.rounding
        return Parts(noise=known + explained, misfit=misfit, cut=parts.cut)

    @cached_property
    def precisions(self) -> Precisions | None:
        """What the measured tables tell; None where these are not known, or constraints tell more
        than they do.
        """
        tables = self._model.measurements.tables
        if not tables or self._model.schema.constraints is not None:
            return None
        return Precisions(tables, {a.name: a.size for a in self._model.schema.modelled})

    def by_effects(
        self,
        truth: NDArray[np.float64],
        weights: Sequence[NDArray[np.float64]],
        names: Sequence[str],
        about: float = 0.0,
    ) -> Parts | None:
        """The variances of a sum over rows, of noise and of what no table tells; None where the
        measured tables are not known, or the attributes are too many.

        Parameters
        ----------
        truth
            A function of the attributes' sides.
        weights
            For each attribute, a line per code: how much of it is on each side.
        names
            The attributes.
        about
            What the function is taken less, for every row.
        """
        if self.precisions is None or len(names) > MAX_EFFECTS:
            return None
        evenly = compute_squared_means(
            truth, weights, [np.full(len(w), 1 / len(w)) for w in weights]
        )
        drawn = compute_squared_means(truth, weights, [self._code_shares(name) for name in names])
        known = noise = pairs = larger = 0.0
        for kept in _all_subsets(len(names)):
            inside = [names[i] for i in kept]
            variance = self.precisions.variance(inside)
            if not kept:
                constant = evenly[kept] ** 0.5
                known += self.total_variance * (constant - about) ** 2
            elif variance is None and len(kept) < 3:
                pairs += self._rows * effect_variance(drawn, kept)
            elif variance is None:
                larger += self._rows * effect_variance(drawn, kept)
            else:
                told = self.precisions.cells(inside) * effect_variance(evenly, kept) * variance
                if len(kept) == 1:
                    known += told
                else:
                    noise += told
        return Parts(noise=noise, known=known, misfit=pairs, larger=larger)

    @property
    def _rows(self) -> float:
        return max(float(self._model.rows or 0), 1.0)

    @cached_property
    def total_variance(self) -> float:
        """That of the number of rows; 0 where it is public."""
        if self._model.ledger.neighbours == "replace" or self.precisions is None:
            return 0.0
        return self.precisions.variance(()) or 0.0

    def _code_shares(self, name: str) -> NDArray[np.float64]:
        counts = np.maximum(self._code_rows(name), 0.0)
        return counts / max(float(counts.sum()), 1e-300)

    def misfit(
        self, truth: NDArray[np.float64], sides: Sequence[NDArray[np.float64]], names: Sequence[str]
    ) -> float:
        """The variance, of one drawn row, of the effects that no measured table tells.

        Parameters
        ----------
        truth
            A function of the attributes' sides.
        sides
            For each attribute the probabilities of its sides.
        names
            The attributes.
        """
        if self.is_measured(names):
            return 0.0
        if len(names) > MAX_EFFECTS:
            return _variance(truth, sides)
        squares = compute_squared_means(truth, [np.eye(len(side)) for side in sides], sides)
        return sum(
            effect_variance(squares, kept)
            for kept in _all_subsets(len(names))
            if not self.is_measured([names[i] for i in kept])
        )

    def cut(self, name: str, weights: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
        """The variance of a count, from not knowing how rows lie in the bins of an attribute.

        Parameters
        ----------
        name
            The attribute.
        weights
            For each code and side the share of the code on that side.
        expected
            For each side the share of its rows that fit the whole condition.
        """
        attribute = self._model.schema[name]
        if not isinstance(attribute, Quantity) or self._model.rows is None:
            return 0.0
        means = weights @ expected
        spread = np.maximum(weights @ expected**2 - means**2, 0.0)
        highest = float(np.abs(expected).max(initial=0.0))
        if highest <= 0 or not spread.any():
            return 0.0
        codes = self._code_rows(name)
        unknown = float((codes**2 * spread).sum()) / (CUT_ROWS + 1)
        if not attribute.refined:
            return unknown
        heaps = float((codes**2 * spread).sum()) / (LEARNED_CUT_ROWS + 1)
        return min(CUT_FACTOR * float((codes * spread).sum()) / highest + heaps, unknown)

    def _code_rows(self, name: str) -> NDArray[np.float64]:
        """How many rows have each code of an attribute."""
        known: dict[str, NDArray[np.float64]] = self.__dict__.setdefault("_known_codes", {})
        if name not in known:
            known[name] = self._model.marginal(name).table
        return known[name]


def _all_subsets(size: int) -> list[tuple[int, ...]]:
    places = range(size)
    return [kept for k in range(size + 1) for kept in itertools.combinations(places, k)]


def _variance(truth: NDArray[np.float64], sides: Sequence[NDArray[np.float64]]) -> float:
    mean, square = truth, truth**2
    for probabilities in reversed(sides):
        mean, square = mean @ probabilities, square @ probabilities
    return max(float(square) - float(mean) ** 2, 0.0)


# --------------------------------------------------------------------------- the holdout


@dataclass(frozen=True, kw_only=True)
class HeldTable:
    """A table of the holdout: counts with noise of a known deviation."""

    marginal: Marginal
    counts: NDArray[np.int64]
    deviation: float


def calibrate(model: Model, tables: Sequence[HeldTable], one_way: float = 1.0) -> Holdout:
    """The factors of noise and misfit that explain how far the model is from tables it never saw.

    Pairs of attributes have a factor of misfit of their own: which pairs are measured is chosen by
    how much the model lacks them, so those that are left differ less than larger groups do.

    Of a large model some tables cannot be told exactly. They are left out: all is paid for by then,
    and a release must not fail for its error bars.
    """
    errors = ErrorModel(model)
    found: list[_Compared] = []
    for table in tables:
        asked = [(axis.attribute, axis.level) for axis in table.marginal]
        try:
            whole = model.marginal(*asked).table
        except TooLargeError:
            continue
        for kept in _subsets(table):
            found.append(_Margin(table, kept).compare(whole, errors, model.schema))
    noise = _noise_factor([one for one in found if not one.pairs.any() and not one.larger.any()])
    pairs = find_factor(
        [one.group_errors(noise, one.pairs) for one in found if one.pairs.any() and one.order == 2]
    )
    larger = find_factor(
        [
            one.group_errors(noise, one.larger, pairs * one.pairs)
            for one in found
            if one.larger.any()
        ]
    )
    return Holdout(noise=noise, misfit=pairs, larger=larger, one_way=one_way, tables=len(tables))


def _subsets(table: HeldTable) -> list[tuple[int, ...]]:
    places = range(len(table.marginal))
    return [
        kept for size in range(2, len(places) + 1) for kept in itertools.combinations(places, size)
    ]


@dataclass(frozen=True, kw_only=True)
class _Compared:
    """For each cell of a margin how far the model is off, and what might explain it."""

    residual: NDArray[np.float64]
    known: NDArray[np.float64]
    """The variance of the holdout's own noise, and of attributes by themselves."""
    noise: NDArray[np.float64]
    pairs: NDArray[np.float64]
    larger: NDArray[np.float64]
    """The variance of what no table tells: of pairs, and of more attributes."""
    order: int
    freedom: float

    def group_errors(
        self, noise: float, misfit: NDArray[np.float64], other: NDArray[np.float64] | float = 0.0
    ) -> GroupErrors:
        sure = self.known + noise * self.noise + other + COUNTING_VARIANCE
        return GroupErrors(residual=self.residual, sure=sure, misfit=misfit, freedom=self.freedom)


@dataclass(frozen=True, eq=False)
class _Margin:
    """Some axes of a table of the holdout."""

    table: HeldTable
    kept: tuple[int, ...]

    def compare(self, whole: NDArray[np.float64], errors: ErrorModel, schema: Schema) -> _Compared:
        """What the model, by its own table over the same axes, makes of these."""
        others = tuple(i for i in range(whole.ndim) if i not in self.kept)
        expected = whole.sum(axis=others)
        counts = self.table.counts.sum(axis=others)
        summed = self.table.counts.size / counts.size
        known, noise = self._noise(errors, schema)
        return _Compared(
            residual=(counts - expected).ravel(),
            known=summed * self.table.deviation**2 + known.ravel(),
            noise=noise.ravel(),
            pairs=self._misfit(errors, expected, {2}),
            larger=self._misfit(errors, expected, set(range(3, expected.ndim + 1))),
            order=expected.ndim,
            freedom=float(np.prod([side - 1 for side in expected.shape])),
        )

    def _noise(
        self, errors: ErrorModel, schema: Schema
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The variance of the noise in each cell: of attributes by themselves, and of several."""
        axes = [self.table.marginal[i] for i in self.kept]
        shares = [_code_shares_by_level(schema[axis.attribute], axis.level) for axis in axes]
        known, noise = np.zeros([len(s) for s in shares]), np.zeros([len(s) for s in shares])
        if errors.precisions is None:
            return known, noise
        for kept in _all_subsets(len(axes)):
            names = [axes[i].attribute for i in kept]
            variance = errors.precisions.variance(names)
            if not kept:
                variance = errors.total_variance
            if variance is None:
                continue
            effect: NDArray[np.float64] = np.ones(())
            for i, share in enumerate(shares):
                part = share * (1 - share) if i in kept else share**2
                effect = np.multiply.outer(effect, part)
            told = errors.precisions.cells(names) * variance * effect
            if len(kept) < 2:
                known += told
            else:
                noise += told
        return known, noise

    def _misfit(
        self, errors: ErrorModel, expected: NDArray[np.float64], orders: set[int]
    ) -> NDArray[np.float64]:
        """The variance, in rows that are drawn, of the effects of this many attributes that no
        measured table tells.
        """
        names = [self.table.marginal[i].attribute for i in self.kept]
        rows = max(float(expected.sum()), 1.0)
        places = range(expected.ndim)
        shares = [expected.sum(axis=tuple(j for j in places if j != i)) / rows for i in places]
        shares = [np.clip(share, 0, 1) for share in shares]
        variance = np.zeros(expected.shape)
        for size in orders:
            for kept in itertools.combinations(places, size):
                if errors.is_measured([names[i] for i in kept]):
                    continue
                effect: NDArray[np.float64] = np.ones(())
                for i, share in enumerate(shares):
                    part = share * (1 - share) if i in kept else share**2
                    effect = np.multiply.outer(effect, part)
                variance += rows * effect
        return variance.ravel()


def _code_shares_by_level(attribute: Attribute, level: int) -> NDArray[np.float64]:
    """For each value of a level the share of the codes that it stands for."""
    if level == 0:
        return np.full(attribute.size, 1 / attribute.size)
    codes = np.asarray(attribute.generalisations[level - 1])
    return np.bincount(codes) / len(codes)


def _noise_factor(told: Sequence[_Compared]) -> float:
    """The factor of noise where tables tell everything; it is near 1, since the noise is known."""
    best, found = math.inf, 1.0
    for exponent in np.arange(-1.0, 3.01, 0.05):
        factor = math.exp(exponent)
        loss = (exponent / NOISE_SPREAD) ** 2 / 2
        for one in told:
            variance = one.known + factor * one.noise + COUNTING_VARIANCE
            terms = np.log(variance) + one.residual**2 / variance
            loss += 0.5 * float(terms.mean()) * one.freedom
        if loss < best:
            best, found = loss, factor
    return found


def holdout_marginals(model_sizes: Mapping[str, tuple[int, ...]], tables: int) -> list[Marginal]:
    """Random groups of three attributes (or of all, where there are fewer), each at a coarse level.

    Which ones is public: it depends on the schema alone.

    Parameters
    ----------
    model_sizes
        For each attribute how many values it has at each level.
    tables
        How many at most.
    """
    names = list(model_sizes)
    size = min(3, len(names))
    rng = np.random.default_rng(len(names))
    found: dict[Marginal, None] = {}
    for _ in range(20 * tables):
        if len(found) == tables or size < 2:
            break
        chosen = sorted(rng.choice(len(names), size, replace=False).tolist())
        axes = tuple(Axis(names[i], _coarse_level(model_sizes[names[i]])) for i in chosen)
        found[axes] = None
    return list(found)


MAX_COARSE_VALUES = 8


def _coarse_level(sizes: tuple[int, ...]) -> int:
    """The finest level with few values, or the coarsest one with two or more."""
    small = [level for level, size in enumerate(sizes) if 2 <= size <= MAX_COARSE_VALUES]
    if small:
        return small[0]
    return max(level for level, size in enumerate(sizes) if size >= 2)
