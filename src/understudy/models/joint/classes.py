"""Latent classes: a few kinds of persons, within which columns are independent.

Reports are noisy and there are many effects, most of which a handful of classes explains. The
classes are fitted to all effects of single columns and pairs at once, each weighted by its known
variance; how many classes there are goes by an unbiased estimate of the error of what they say.
What they do not explain is added later, as far as it stands out of the noise
(:mod:`understudy.models.joint.tables`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.models.joint.effects import AxisNames, Effect

Floats = NDArray[np.float64]

CLASS_NUMBERS = (1, 2, 3, 4, 6, 8, 12, 16)
"""How many classes are tried; more only while they help."""

SPREAD = 1.0
"""The standard deviation, before any report, of what a class adds to the logarithm of a share."""

LOOSE = 1e-3
"""The inverse variance of the logarithms that all classes have in common, and of their sizes'."""

EM_STEPS = 400
PROBE = 0.3
"""How far estimates are moved, in their deviations, to see how far the classes follow."""

MAX_PENALTY_RUNS = 2
"""Numbers of classes that do not help before no more are tried."""


def load_minimizer() -> Callable[..., Any]:
    """SciPy's; one sentence where it is missing. Ask before anything is paid for."""
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise InputError(
            "Estimating many tables together needs SciPy; install it by `pip install "
            "understudy[local]`."
        ) from None
    found: Callable[..., Any] = minimize
    return found


class Effects:
    """Effects of singles and pairs in one matrix, a row and a column for each code."""

    def __init__(self, sizes: Mapping[str, int], effects: Mapping[AxisNames, Effect]) -> None:
        self.names = tuple(sizes)
        self.sizes = tuple(sizes.values())
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        codes = int(self.starts[-1])
        self.single = np.zeros(codes)
        self.single_weight = np.zeros(codes)
        self.pair = np.zeros((codes, codes))
        self.pair_weight = np.zeros((codes, codes))
        self.freedom = 0
        where = {name: self._span(place) for place, name in enumerate(self.names)}
        for part, effect in effects.items():
            if len(part) > 2:
                continue
            self.freedom += effect.freedom
            rows = where[part[0]]
            if len(part) == 1:
                self.single[rows] = effect.shares
                self.single_weight[rows] = 1 / effect.variance
            else:
                columns = where[part[1]]
                self.pair[rows, columns] = effect.shares
                self.pair[columns, rows] = effect.shares.T
                self.pair_weight[rows, columns] = 1 / effect.variance
                self.pair_weight[columns, rows] = 1 / effect.variance

    def _span(self, place: int) -> slice:
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def spans(self) -> list[slice]:
        """The codes of each column."""
        return [self._span(place) for place in range(len(self.sizes))]

    def centre(self, codes: Floats) -> Floats:
        """Without the mean over each column's codes, along the last axis."""
        means = np.add.reduceat(codes, self.starts[:-1], axis=-1) / self.sizes
        return codes - np.repeat(means, self.sizes, axis=-1)

    def probe(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Standard normal directions of all effects, each times its deviation."""
        single = self.centre(rng.normal(size=len(self.single)))
        single = single * _root_inverse(self.single_weight)
        pair = rng.normal(size=self.pair.shape)
        pair = self.centre(self.centre(np.triu(pair, 1)).T).T
        pair = np.triu(pair) + np.triu(pair, 1).T
        return single, pair * _root_inverse(self.pair_weight)


@dataclass(frozen=True, kw_only=True)
class LatentClasses:
    """Shares of classes, and for each class the shares of every column's codes.

    Attributes
    ----------
    names, sizes
        The columns, and how many codes each has.
    shares
        Of the classes.
    codes
        A row for each class, with the codes of all columns one after the other.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    shares: Floats
    codes: Floats

    @cached_property
    def _spans(self) -> dict[str, slice]:
        ends = np.cumsum(self.sizes).tolist()
        return {
            name: slice(end - size, end)
            for name, size, end in zip(self.names, self.sizes, ends, strict=True)
        }

    def table(self, columns: Sequence[str]) -> Floats:
        """The joint shares of some columns."""
        joint: Floats = self.shares.reshape(-1, 1)
        shape = []
        for name in columns:
            part = self.codes[:, self._spans[name]]
            joint = (joint[:, :, None] * part[:, None, :]).reshape(len(self.shares), -1)
            shape.append(part.shape[1])
        return np.asarray(joint.sum(axis=0).reshape(shape), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class FittedClasses:
    """Classes, and how far they follow what they are fitted to.

    Attributes
    ----------
    classes
        The classes.
    parameters
        How many effects' worth of noise they took up (generalised degrees of freedom).
    freedom
        How many directions all effects have.
    """

    classes: LatentClasses
    parameters: float
    freedom: int


def fit_classes(sizes: Mapping[str, int], effects: Mapping[AxisNames, Effect]) -> FittedClasses:
    """The classes that tell single columns and pairs best.

    The number of classes has the smallest estimated risk: squared residuals, each over its
    variance, plus twice the number of parameters. The latter is found by moving the estimates by a
    little noise and fitting again (Ramani, Blu and Unser 2008). Nothing here is drawn from private
    values: the generator is seeded, and reports are public.

    Parameters
    ----------
    sizes
        How many codes each column has.
    effects
        What reports say.
    """
    known = Effects(sizes, effects)
    best: tuple[float, FittedClasses] | None = None
    worse = 0
    for number in CLASS_NUMBERS:
        rng = np.random.default_rng(number)
        fit = _Fit(known, number)
        found = fit.run(fit.start(rng))
        single, pair = known.probe(rng)
        moved = fit.run(found, PROBE * single, PROBE * pair)
        parameters = fit.divergence(found, moved, single, pair)
        risk = fit.misfit(found) + 2 * parameters
        if best is None or risk < best[0]:
            fitted = FittedClasses(
                classes=fit.classes(found), parameters=parameters, freedom=known.freedom
            )
            best, worse = (risk, fitted), 0
        else:
            worse += 1
        if worse == MAX_PENALTY_RUNS or number * 2 > known.freedom:
            break
    assert best is not None
    return best[1]


class _Fit:
    """A penalised least-squares fit of a number of classes."""

    def __init__(self, known: Effects, number: int) -> None:
        self.known = known
        self.number = number
        self.width = len(known.single)

    def start(self, rng: np.random.Generator) -> Floats:
        """Classes that differ in one direction mostly, about the estimated shares of columns."""
        uniform = np.repeat(1 / np.array(self.known.sizes), self.known.sizes)
        likely = np.clip(self.known.single + uniform, 0.2 * uniform, None)
        common = self.known.centre(np.log(likely))
        if self.number == 1:
            return np.concatenate([np.zeros(1), common, np.zeros(self.width)])
        # The first eigenvectors of all pairs' effects, with random signs mixed in.
        values, vectors = np.linalg.eigh(self.known.pair)
        leading = vectors[:, np.argsort(-values)[: max(1, self.number // 2)]]
        mixing = rng.normal(size=(self.number, leading.shape[1]))
        scale = math.sqrt(self.width / len(self.known.sizes))
        own = scale * mixing @ leading.T + 0.2 * rng.normal(size=(self.number, self.width))
        return np.concatenate([np.zeros(self.number), common, own.ravel()])

    def run(
        self, start: Floats, single: Floats | float = 0.0, pair: Floats | float = 0.0
    ) -> Floats:
        """The best parameters, where the estimates are moved."""
        minimize = load_minimizer()
        wanted = self.known.single + single, self.known.pair + pair
        found = minimize(
            self._loss,
            start,
            args=wanted,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": EM_STEPS, "maxcor": 20, "ftol": 1e-8},
        )
        return np.asarray(found.x, dtype=np.float64)

    def classes(self, parameters: Floats) -> LatentClasses:
        """The classes that parameters stand for."""
        sizes, _, _, codes = self._unpack(parameters)
        return LatentClasses(
            names=self.known.names, sizes=self.known.sizes, shares=sizes, codes=codes
        )

    def misfit(self, parameters: Floats) -> float:
        """Squared residuals, each over its variance."""
        single, pair = self._predict(parameters)
        known = self.known
        first = float((known.single_weight * (single - known.single) ** 2).sum())
        return first + 0.5 * float((known.pair_weight * (pair - known.pair) ** 2).sum())

    def divergence(self, found: Floats, moved: Floats, single: Floats, pair: Floats) -> float:
        """How far predictions follow the noise that estimates were moved by."""
        before, after = self._predict(found), self._predict(moved)
        known = self.known
        first = float((known.single_weight * single * (after[0] - before[0])).sum())
        second = 0.5 * float((known.pair_weight * pair * (after[1] - before[1])).sum())
        return max((first + second) / PROBE, 1.0)

    def _unpack(self, parameters: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Shares of classes, common and own logarithms, shares of codes in each class."""
        number, width = self.number, self.width
        sizes = _softmax(parameters[:number])
        common = parameters[number : number + width]
        own = parameters[number + width :].reshape(-1, width)
        logs = common + own
        logs = logs - np.repeat(
            np.maximum.reduceat(logs, self.known.starts[:-1], axis=1), self.known.sizes, axis=1
        )
        codes = np.exp(logs)
        sums = np.add.reduceat(codes, self.known.starts[:-1], axis=1)
        codes /= np.repeat(sums, self.known.sizes, axis=1)
        return sizes, common, own, codes

    def _predict(self, parameters: Floats) -> tuple[Floats, Floats]:
        sizes, _, _, codes = self._unpack(parameters)
        centred = self.known.centre(codes)
        return sizes @ centred, (centred * sizes[:, None]).T @ centred

    def _loss(self, parameters: Floats, single: Floats, pair: Floats) -> tuple[float, Floats]:
        known = self.known
        sizes, common, own, codes = self._unpack(parameters)
        centred = known.centre(codes)
        first = sizes @ centred - single
        second = (centred * sizes[:, None]).T @ centred - pair
        first_force, second_force = known.single_weight * first, known.pair_weight * second
        loss = 0.5 * float(first @ first_force) + 0.25 * float((second * second_force).sum())
        tight = 1 / SPREAD**2
        loss += (
            0.5
            * LOOSE
            * float(common @ common + parameters[: self.number] @ parameters[: self.number])
        )
        loss += 0.5 * tight * float((own**2).sum())
        pulled = centred @ second_force
        by_code = known.centre(sizes[:, None] * (first_force + pulled)) * 1.0
        by_size = centred @ first_force + 0.5 * (pulled * centred).sum(axis=1)
        # Through the softmax of each column, and that of the classes.
        weighted = by_code * codes
        sums = np.add.reduceat(weighted, known.starts[:-1], axis=1)
        by_log = weighted - codes * np.repeat(sums, known.sizes, axis=1)
        gradient_sizes = sizes * (by_size - float(sizes @ by_size))
        gradient_sizes = gradient_sizes + LOOSE * parameters[: self.number]
        gradient_common = by_log.sum(axis=0) + LOOSE * common
        gradient_own = by_log + tight * own
        return loss, np.concatenate([gradient_sizes, gradient_common, gradient_own.ravel()])


def _softmax(logs: Floats) -> Floats:
    powers = np.exp(logs - logs.max())
    return np.asarray(powers / powers.sum(), dtype=np.float64)


def _root_inverse(weights: Floats) -> Floats:
    found: Floats = np.zeros_like(weights)
    np.divide(1.0, np.sqrt(weights), out=found, where=weights > 0)
    return found
