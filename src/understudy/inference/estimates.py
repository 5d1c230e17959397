"""Estimates with intervals that know how the rows were made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.errors import InputError
from understudy.inference.misfit import find_unmeasured, misfit_variance
from understudy.inference.repetitions import observe, repeat_release
from understudy.inference.statistics import Statistic
from understudy.models.model import Model

MIN_REPETITIONS = 10


@dataclass(frozen=True, kw_only=True)
class Inference:
    """An estimate with what can be said about its error.

    Attributes
    ----------
    value
        The estimate, without the bias that repetitions show.
    deviation
        One standard deviation: sampling, noise, method and misfit together.
    low, high
        An interval of 95 %.
    p
        Of the hypothesis that the true value is ``null``: how likely an estimate at least as far
        from it would be.
    null
        That value.
    unmeasured
        Pairs of the statistic's columns that no measured table holds together. How they depend on
        each other was never asked, so the interval is about the model, not about the people.
    """

    value: float
    deviation: float
    low: float
    high: float
    p: float
    null: float
    unmeasured: tuple[tuple[str, str], ...] = ()


def estimate(
    model: Model,
    statistic: Statistic,
    *,
    null: float = 0.0,
    repetitions: int = 50,
    seed: int = 0,
) -> Inference:
    """Estimate a statistic of the people that the real rows were drawn from.

    Parameters
    ----------
    model
        The released model.
    statistic
        A function of a table, such as :func:`mean`, :func:`proportion`, :func:`difference` or
        :func:`coefficient` give it.
    null
        The value that a p-value is given for.
    repetitions
        How often the release is repeated; at least 10.
    seed
        Makes the estimate repeatable.
    """
    if repetitions < MIN_REPETITIONS:
        raise InputError(
            f"An interval needs at least {MIN_REPETITIONS} repetitions, not {repetitions}."
        )
    found = statistic(observe(model, seed=seed))
    repeated = [statistic(t) for t in repeat_release(model, repetitions, seed=seed)]
    inferred = infer_from(
        found, repeated, misfit=misfit_variance(model, statistic, seed), null=null
    )
    return replace(inferred, unmeasured=find_unmeasured(model, statistic))


def infer_from(
    found: float, repeated: Sequence[float], *, misfit: float = 0.0, null: float = 0.0
) -> Inference:
    """An interval from what a statistic is in the rows of a release, and in repetitions of it.

    For several statistics of one release: the repetitions take the time, and serve all of them.

    Parameters
    ----------
    found
        The statistic in rows of the release (:func:`observe`).
    repeated
        In each repetition (:func:`repeat_release`); ten or more.
    misfit
        The variance that misfit adds (:func:`misfit_variance`).
    null
        The value that a p-value is given for.
    """
    if len(repeated) < MIN_REPETITIONS:
        raise InputError(
            f"An interval needs at least {MIN_REPETITIONS} repetitions, not {len(repeated)}."
        )
    count = len(repeated)
    scatter = float(np.var(repeated, ddof=1)) * (1 + 1 / count)
    value = found - (float(np.mean(repeated)) - found)
    deviation = math.sqrt(scatter + misfit)
    freedom = math.inf
    if scatter > 0:  # of a sum of variances, of which only the first is estimated (Satterthwaite)
        freedom = (count - 1) * (deviation**2 / scatter) ** 2
    return _infer(value, deviation, null, freedom)


def combine(estimates: Sequence[float], variances: Sequence[float], null: float = 0.0) -> Inference:
    """Combine one statistic over tables of :func:`repeat_release`'s kind (Rubin's rules).

    For tables that each follow from a *plausible model*, drawn given the release, such as several
    noise-aware ones. Tables that are drawn from one and the same model know nothing of its noise:
    for those use :func:`estimate`.

    Parameters
    ----------
    estimates
        What each table gives.
    variances
        The usual squared standard error in each table.
    """
    count = len(estimates)
    if count < 2 or len(variances) != count:
        raise InputError("Combining takes two tables or more, with a variance for each estimate.")
    between = float(np.var(estimates, ddof=1)) * (1 + 1 / count)
    within = float(np.mean(variances))
    total = between + within
    freedom = math.inf
    if between > 0:
        freedom = (count - 1) * (total / between) ** 2
    return _infer(float(np.mean(estimates)), math.sqrt(total), null, freedom)


def _infer(value: float, deviation: float, null: float, freedom: float) -> Inference:
    from scipy.special import stdtr, stdtrit

    freedom = min(freedom, 1e6)
    half = float(stdtrit(freedom, 0.975)) * deviation
    p = 1.0
    if deviation > 0:
        p = 2 * float(stdtr(freedom, -abs(value - null) / deviation))
    elif value != null:
        p = 0.0
    return Inference(
        value=value, deviation=deviation, low=value - half, high=value + half, p=p, null=null
    )
