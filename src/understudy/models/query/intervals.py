"""How wrong an answer may be: noise, what the model does not know of the rows, and cut bins.

Three variances add up:

- *Noise*: that of the measured tables, carried through the network
  (:func:`understudy.models.inference.noise_variance`).
- *Misfit*: a function of several attributes is a sum of effects: the total, one for each
  attribute, for each pair, and so on. Effects of attributes that share a measured table are told by
  it; for the others the model says what follows from the rest. Rows that were drawn from the model
  would differ from it there with a variance that is known (were the attributes independent); real
  rows differ more, by a factor.
- *Cut bins*: where a condition cuts through a bin, how its rows lie inside.

The factors of noise and misfit differ from release to release. A method may pay for a *holdout*: a
few tables that it measures and never fits. How far the model is from them tells both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis, Marginal
from understudy.data.schema import Quantity
from understudy.models.measurements import Holdout

if TYPE_CHECKING:
    from understudy.models.model import Model

NORMAL = 1.959964
"""Half the width of an interval of 95 %, in standard deviations of a normal error ..."""

FREEDOM = 5.0
HEAVY = 2.570582
"""... and in scales of an error that is t-distributed with this many degrees of freedom: misfit is
large in a few places and small in most."""

NORMAL_AS_HEAVY = 0.733
"""The squared scale of the t-distribution that fits a normal one of variance 1 best."""

MISFIT = 3.0
"""The factor of misfit where no holdout tells it: high, to be on the safe side."""

PRIOR = {"noise": (0.0, 0.6), "misfit": (0.0, 1.0)}
"""Mean and deviation of the logarithms of the factors, where the holdout is too noisy to tell: as
the formulas say, give or take what releases of made-up tables differ by."""

CUT_FACTOR = 6.0
"""How much more the rows inside a bin differ from its learned shape than rows drawn from it."""

CUT_ROWS = 4.0
"""A bin whose inside nobody learned: its shape is known as well as that many rows would tell."""

ROUNDING = 0.25
"""The variance of counting whole rows."""

MAX_EFFECTS = 10
"""Of more attributes than this all effects count as not measured."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Variances of an answer, by cause."""

    noise: float
    misfit: float = 0.0
    cut: float = 0.0
    direct: bool = False
    """Whether the answer is a sum of cells that were measured, so that its noise is known."""

    def times(self, factor: float) -> Parts:
        """Those of the answer times a number."""
        squared = factor**2
        return replace(
            self, noise=self.noise * squared, misfit=self.misfit * squared, cut=self.cut * squared
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
        if self.holdout is None:
            self.width = 1.0
        else:
            self.width = HEAVY / NORMAL

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
        squared = self.width**2
        if parts.direct:
            return parts
        if self.holdout is None:
            return Parts(noise=parts.noise, misfit=MISFIT * parts.misfit, cut=parts.cut)
        known = min(self.holdout.noise, 1.0) * parts.noise
        excess = max(self.holdout.noise - 1.0, 0.0) * parts.noise
        return Parts(
            noise=squared * known,
            misfit=squared * (excess + self.holdout.misfit * parts.misfit),
            cut=squared * parts.cut,
        )

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
        told = [
            kept
            for size in range(2, len(names) + 1)
            for kept in itertools.combinations(range(len(names)), size)
            if not self.is_measured([names[i] for i in kept])
        ]
        squares = _squared_means(truth, sides)
        return max(sum(_effect_variance(squares, kept) for kept in told), 0.0)

    def one_way_noise(self, name: str, weights: NDArray[np.float64]) -> float | None:
        """The variance of a weighted sum of an attribute's counts, from all tables that tell it;
        None where these are not known. The error of the number of rows is not in it.
        """
        sizes = {attribute.name: attribute.size for attribute in self._model.schema.modelled}
        information, of_joint = 0.0, 0.0
        for table in self._model.measurements.tables:
            if name in table.attributes and table.deviation > 0:
                summed = math.prod(sizes[other] for other in table.attributes if other != name)
                told = 1 / (table.deviation**2 * summed)
                if table.joint:  # parts of one estimate repeat each other
                    of_joint = max(of_joint, told)
                else:
                    information += told
        information += of_joint
        if not information:
            return None
        excess = 1.0
        if self.holdout is not None:
            excess = self.holdout.one_way
        return excess * float(((weights - weights.mean()) ** 2).sum()) / information

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
        return min(CUT_FACTOR * float((codes * spread).sum()) / highest, unknown)

    def _code_rows(self, name: str) -> NDArray[np.float64]:
        """How many rows have each code of an attribute."""
        known: dict[str, NDArray[np.float64]] = self.__dict__.setdefault("_known_codes", {})
        if name not in known:
            known[name] = self._model.marginal(name).table
        return known[name]


def _squared_means(
    truth: NDArray[np.float64], sides: Sequence[NDArray[np.float64]]
) -> dict[tuple[int, ...], float]:
    """For each subset of independent attributes the mean square of what it makes of a function."""
    found: dict[tuple[int, ...], float] = {}
    places = range(len(sides))
    for size in range(len(sides) + 1):
        for kept in itertools.combinations(places, size):
            table = truth
            for place in reversed(places):
                if place not in kept:
                    table = np.tensordot(table, sides[place], axes=(place, 0))
            table = table**2
            for place in reversed(kept):
                table = np.tensordot(table, sides[place], axes=(table.ndim - 1, 0))
            found[kept] = float(table)
    return found


def _effect_variance(squares: Mapping[tuple[int, ...], float], kept: tuple[int, ...]) -> float:
    """The variance of one effect, from the mean squares of what its subsets tell."""
    return sum(
        (-1) ** (len(kept) - len(part)) * squares[part]
        for size in range(len(kept) + 1)
        for part in itertools.combinations(kept, size)
    )


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


SAMPLED_CELLS = 10
"""In this many cells of a table of the holdout the noise of the model is worked out; in the others
it is read off those with about as many rows."""


def calibrate(model: Model, tables: Sequence[HeldTable], one_way: float = 1.0) -> Holdout:
    """The factors of noise and misfit that explain how far the model is from tables it never saw.

    The most likely ones, for errors that are t-distributed, with :data:`PRIOR` for the factors. The
    tables' margins over pairs count as well as their cells, and all pairs as much as all cells.
    """
    errors = ErrorModel(model)
    margins = {_Margin(table, kept): None for table in tables for kept in _subsets(table)}
    orders = sorted({len(margin.kept) for margin in margins})
    by_order = [
        [margin.compare(model, errors) for margin in margins if len(margin.kept) == order]
        for order in orders
    ]
    counts = [sum(len(found.residual) for found in one) for one in by_order]
    weight = np.concatenate([np.full(count, sum(counts) / len(counts) / count) for count in counts])
    found = [compared for one in by_order for compared in one]
    noise, misfit = _most_likely(_Compared.join(found), weight)
    return Holdout(noise=noise, misfit=misfit, one_way=one_way, tables=len(tables))


def _subsets(table: HeldTable) -> list[tuple[int, ...]]:
    places = range(len(table.marginal))
    return [
        kept for size in range(2, len(places) + 1) for kept in itertools.combinations(places, size)
    ]


@dataclass(frozen=True, kw_only=True)
class _Compared:
    """For each of some cells how far the model is off, and what might explain it."""

    residual: NDArray[np.float64]
    known: NDArray[np.float64]
    """The variance of the holdout's own noise."""
    noise: NDArray[np.float64]
    misfit: NDArray[np.float64]

    @classmethod
    def join(cls, found: Sequence[_Compared]) -> _Compared:
        return cls(
            residual=np.concatenate([one.residual for one in found]),
            known=np.concatenate([one.known for one in found]),
            noise=np.concatenate([one.noise for one in found]),
            misfit=np.concatenate([one.misfit for one in found]),
        )


@dataclass(frozen=True, eq=False)
class _Margin:
    """Some axes of a table of the holdout."""

    table: HeldTable
    kept: tuple[int, ...]

    def compare(self, model: Model, errors: ErrorModel) -> _Compared:
        marginal = self.table.marginal
        estimate = model.marginal(*((marginal[i].attribute, marginal[i].level) for i in self.kept))
        expected = estimate.table
        others = tuple(i for i in range(len(marginal)) if i not in self.kept)
        counts = self.table.counts.sum(axis=others)
        summed = self.table.counts.size / counts.size
        return _Compared(
            residual=(counts - expected).ravel(),
            known=np.full(expected.size, summed * self.table.deviation**2),
            noise=_noise_by_size(estimate, expected),
            misfit=self._misfit(errors, expected),
        )

    def _misfit(self, errors: ErrorModel, expected: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance, in rows that are drawn, of the effects that no measured table tells."""
        names = [self.table.marginal[i].attribute for i in self.kept]
        rows = max(float(expected.sum()), 1.0)
        places = range(expected.ndim)
        shares = [expected.sum(axis=tuple(j for j in places if j != i)) / rows for i in places]
        shares = [np.clip(share, 0, 1) for share in shares]
        variance = np.zeros(expected.shape)
        for size in range(2, len(names) + 1):
            for kept in itertools.combinations(places, size):
                if errors.is_measured([names[i] for i in kept]):
                    continue
                effect: NDArray[np.float64] = np.ones(())
                for i, share in enumerate(shares):
                    part = share * (1 - share) if i in kept else share**2
                    effect = np.multiply.outer(effect, part)
                variance += rows * effect
        return variance.ravel()


def _noise_by_size(estimate: Any, expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """The variance of the noise in each cell: that of a cell with about as many rows."""
    flat = expected.ravel()
    order = np.argsort(flat, kind="stable")
    places = order[np.unique(np.linspace(0, len(flat) - 1, SAMPLED_CELLS).astype(np.intp))]
    variance = estimate.deviation_at(places) ** 2
    return np.asarray(np.interp(flat, flat[places], variance), dtype=np.float64)


def _most_likely(compared: _Compared, weight: NDArray[np.float64]) -> tuple[float, float]:
    """The factors of noise and misfit, found on a grid of their logarithms."""
    (noise_mean, noise_spread), (misfit_mean, misfit_spread) = PRIOR["noise"], PRIOR["misfit"]
    best, found = math.inf, (1.0, 1.0)
    for noise in np.arange(noise_mean - 3, noise_mean + 4.01, 0.125):
        for misfit in np.arange(misfit_mean - 4, misfit_mean + 5.01, 0.25):
            scale = math.exp(noise) * compared.noise + math.exp(misfit) * compared.misfit
            scale = scale + ROUNDING + NORMAL_AS_HEAVY * compared.known
            tails = np.log1p(compared.residual**2 / (FREEDOM * scale))
            loss = float(weight @ (0.5 * np.log(scale) + (FREEDOM + 1) / 2 * tails))
            loss += ((noise - noise_mean) / noise_spread) ** 2 / 2
            loss += ((misfit - misfit_mean) / misfit_spread) ** 2 / 2
            if loss < best:
                best, found = loss, (math.exp(noise), math.exp(misfit))
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


MAX_SIDE = 8


def _coarse_level(sizes: tuple[int, ...]) -> int:
    """The finest level with few values, or the coarsest one with two or more."""
    small = [level for level, size in enumerate(sizes) if 2 <= size <= MAX_SIDE]
    if small:
        return small[0]
    return max(level for level, size in enumerate(sizes) if size >= 2)
