"""Tables of any columns, from all that was told together.

Tables that are estimated one by one are noisy, partly negative, and disagree. Here all of them come
from one estimate: latent classes (:mod:`understudy.models.joint.classes`) say what effects are
likely, and what was told moves each effect away from there, the more the surer it is (empirical
Bayes: how far effects are from what classes say is estimated from what was told itself).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.models.joint.classes import FittedClasses, LatentClasses, fit_classes
from understudy.models.joint.effects import MAX_EFFECT_COLUMNS, AxisNames, Effect, find_effect

Floats = NDArray[np.float64]

OWN_WEIGHT = 30.0
"""How far effects of an order are from the classes counts, for each of them, as much as this many
directions of its own."""

LEAST_SPREAD = 1e-4
"""Of an effect about the classes, relative to 1 / cells: never less than this."""


@dataclass(frozen=True, kw_only=True)
class Correction:
    """How an effect differs from what the classes say, and how sure that is."""

    shares: Floats
    variance: float


class JointEstimate:
    """One estimate of all tables.

    Parameters
    ----------
    sizes
        How many codes each column has, in the order of the schema.
    effects
        What was told, with its noise.
    sampling_part
        The part of the variance that comes from asking only some persons.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        effects: Mapping[AxisNames, Effect],
        sampling_part: float = 0.0,
    ) -> None:
        self.sizes = dict(sizes)
        self.sampling_part = sampling_part
        """The part of the variance that comes from asking only some persons."""
        self.fitted: FittedClasses = fit_classes(self.sizes, effects)
        self.classes: LatentClasses = self.fitted.classes
        pairs = [effect for part, effect in effects.items() if len(part) == 2]
        self._pair_freedom = float(sum(effect.freedom for effect in pairs))
        self._pair_noise = _mean_noise(pairs)
        residuals = {
            part: Effect(shares=effect.shares - self._find_expected(part), variance=effect.variance)
            for part, effect in effects.items()
        }
        self.spreads = self._find_spreads(residuals)
        self.corrections = {
            part: self._correct(part, residual) for part, residual in residuals.items()
        }

    def table(self, columns: Sequence[str]) -> Floats:
        """The joint shares of some columns: they add up to 1, and a few may be below 0."""
        told = [name for name in columns if name in self.sizes]
        table = self.classes.table(told)
        for kept, correction in self._corrections_of(told):
            outside = table.size // correction.shares.size
            shape = [size if i in kept else 1 for i, size in enumerate(table.shape)]
            order = sorted(range(len(kept)), key=lambda i: list(self.sizes).index(told[kept[i]]))
            aligned = correction.shares.transpose(np.argsort(order))
            table = table + aligned.reshape(shape) / outside
        return table.reshape([self.sizes.get(name, 1) for name in columns])

    def variance(self, part: Sequence[str]) -> float:
        """Of an effect, in each of its directions: what noise and the classes leave open."""
        ordered = self._order(part)
        if ordered in self.corrections:
            return self.corrections[ordered].variance
        followed = self._find_followed(len(ordered)) * self._pair_noise
        return (self._spread(len(ordered)) + followed) / self._cells(ordered)

    def deviation(self, columns: Sequence[str]) -> float:
        """The standard deviation of a share in a table, on average over its cells."""
        told = [name for name in columns if name in self.sizes]
        cells = self._cells(told)
        variance = 0.0
        for size in range(1, min(len(told), MAX_EFFECT_COLUMNS) + 1):
            for part in itertools.combinations(told, size):
                outside = cells // self._cells(part)
                freedom = math.prod(self.sizes[name] - 1 for name in part)
                variance += freedom / self._cells(part) * self.variance(part) / outside**2
        return math.sqrt(variance)

    def effect_size(self, part: Sequence[str]) -> float:
        """How large an effect is, as half the sum of its sizes over all cells."""
        kept = tuple(range(len(part)))
        return 0.5 * float(np.abs(find_effect(self.table(part), kept)).sum())

    def effect_deviation(self, part: Sequence[str]) -> float:
        """How far off it may be, in the same measure."""
        cells = self._cells(part)
        freedom = math.prod(self.sizes[name] - 1 for name in part)
        return 0.5 * cells * math.sqrt(freedom / cells * self.variance(part))

    # ---- effects

    def _find_expected(self, part: AxisNames) -> Floats:
        return find_effect(self.classes.table(part), tuple(range(len(part))))

    def _find_spreads(self, residuals: Mapping[AxisNames, Effect]) -> dict[int, float]:
        """For each order how far effects are from the classes: the most likely variance, times the
        number of cells.
        """
        taken = min(self.fitted.parameters / max(self.fitted.freedom, 1), 0.9)
        spreads = {}
        for order in sorted({len(part) for part in residuals}):
            mine = {part: one for part, one in residuals.items() if len(part) == order}
            scale = np.array([self._cells(part) for part in mine], dtype=np.float64)
            freedom = np.array([one.freedom for one in mine.values()], dtype=np.float64)
            noise = np.array([one.variance for one in mine.values()]) * scale
            energy = np.array([(one.shares**2).sum() for one in mine.values()]) * scale
            if order <= 2:  # the classes followed some of the noise
                energy = energy / (1 - taken)
            spreads[order] = _most_likely_spread(energy, noise, freedom)
        return spreads

    def _spread(self, order: int) -> float:
        """Of effects about the classes, times cells; of an order that nobody asked about, that of
        the one below.
        """
        for known in range(order, 0, -1):
            if known in self.spreads:
                return self.spreads[known]
        return 1.0

    def _correct(self, part: AxisNames, residual: Effect) -> Correction:
        """Shrink what differs from the classes: by the spread of its order, and by its own."""
        cells, freedom = self._cells(part), residual.freedom
        pooled = self._spread(len(part)) / cells
        # Less its standard error, as for the spread of all.
        noise = (freedom + math.sqrt(2 * freedom)) * residual.variance
        own = float((residual.shares**2).sum()) - noise
        spread = max((own + OWN_WEIGHT * pooled) / (freedom + OWN_WEIGHT), LEAST_SPREAD / cells)
        kept = spread / (spread + residual.variance)
        # What is not kept is what the classes say, who followed a part of the noise themselves.
        followed = kept + (1 - kept) * self._find_followed(len(part))
        return Correction(shares=kept * residual.shares, variance=followed * residual.variance)

    def _find_followed(self, order: int) -> float:
        """The part of the noise in effects of an order that the classes follow: all of it in
        single columns, and in pairs as much as they have parameters for; twice that, to be on the
        safe side, since what the classes miss is no more than guessed.
        """
        if order == 1:
            return 1.0
        return min(2 * self.fitted.parameters / max(self._pair_freedom, 1.0), 1.0)

    def _corrections_of(
        self, columns: Sequence[str]
    ) -> Iterator[tuple[tuple[int, ...], Correction]]:
        for size in range(1, min(len(columns), MAX_EFFECT_COLUMNS) + 1):
            for kept in itertools.combinations(range(len(columns)), size):
                part = self._order([columns[i] for i in kept])
                if part in self.corrections:
                    yield kept, self.corrections[part]

    def _order(self, part: Sequence[str]) -> AxisNames:
        order = list(self.sizes)
        return tuple(sorted(part, key=order.index))

    def _cells(self, part: Sequence[str]) -> int:
        return math.prod(self.sizes[name] for name in part)


def _mean_noise(pairs: Sequence[Effect]) -> float:
    """The mean variance of effects of pairs, times the number of cells."""
    if not pairs:
        return 0.0
    freedom = sum(effect.freedom for effect in pairs)
    return sum(e.freedom * e.variance * e.shares.size for e in pairs) / freedom


def parts_of(columns: Sequence[str]) -> Iterator[AxisNames]:
    """All groups of some columns, down to single ones."""
    for size in range(1, len(columns) + 1):
        yield from itertools.combinations(columns, size)


def _most_likely_spread(energy: Floats, noise: Floats, freedom: Floats) -> float:
    """The variance s that makes residuals likely whose squares add up to ``energy`` where each of
    ``freedom`` directions has the variance s + noise: found by scoring, less its standard error,
    since too much of a correction costs more than too little.
    """
    spread = LEAST_SPREAD
    for _ in range(100):
        weights = freedom / (spread + noise) ** 2
        found = float((weights * (energy / freedom - noise)).sum() / weights.sum())
        if abs(max(found, LEAST_SPREAD) - spread) < 1e-9:
            break
        spread = max(found, LEAST_SPREAD)
    error = math.sqrt(2 / float((freedom / (spread + noise) ** 2).sum()))
    return max(spread - error, LEAST_SPREAD)
