"""Negative controls that misuse a mechanism, as the book's listings do; and the same done right
with :mod:`understudy.mechanisms`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.blackbox import Features
from understudy.auditing.bounds import laplace_loss
from understudy.auditing.control import Control, draw_laplace
from understudy.mechanisms import Exponential, Geometric, Laplace, Vector

MANY_CANDIDATES = 2000
"""Candidates among which a choice loses nearly all that it may, at small epsilons too."""

Floats = NDArray[np.float64]


# --------------------------------------------------------------------------- E4: the wrong unit


def marital_choice_loss(epsilon: float, unit: float, sensitivity: float) -> float:
    """A choice by counts of people in units of ``unit`` people, at a stated sensitivity: one
    person more, and all candidates but one gain.
    """
    mechanism = Exponential(epsilon=epsilon, sensitivity=sensitivity, monotone=True)
    here, there = (
        mechanism.probabilities({**dict.fromkeys(range(MANY_CANDIDATES), count / unit), 0: 0.0})
        for count in (0.0, 1.0)
    )
    return math.log(here[0] / there[0])


# --------------------------------------------------------------------------- E9: naive Bayes


def class_statistics(rows: Sequence[float]) -> Floats:
    """Of one class: how many rows, their mean and their variance."""
    values = np.array(rows, dtype=np.float64)
    return np.array([len(values), values.mean(), values.var()])


def naive_bayes_loss(epsilon: float, parts: int) -> float:
    """Count, mean and variance of a class of values from 0 to 1, each with noise for epsilon /
    ``parts``, at the right sensitivities: 1, 1 / (n + 1) and n / (n + 1)^2.
    """
    rows = 40
    sensitivities = np.array([1, 1 / (rows + 1), rows / (rows + 1) ** 2])
    here, there = class_statistics([0.0] * rows), class_statistics([0.0] * rows + [1.0])
    return float((np.abs(here - there) / sensitivities).sum()) * epsilon / parts


# --------------------------------------------------------------------------- E11: vectors


def independent_noise_loss(size: int, epsilon: float) -> float:
    """A minimiser that moves by 2 / (n lambda) in Euclidean length, evenly in all numbers, with
    independent Laplace noise of scale 2 / (n lambda epsilon).
    """
    moved = np.full(size, 1 / math.sqrt(size))
    return laplace_loss(np.zeros(size), moved, 1 / epsilon)


def vector_loss(size: int, epsilon: float) -> float:
    """The same with noise of a random direction."""
    mechanism = Vector(epsilon=epsilon, sensitivity=1.0, size=size)
    moved = np.full(size, 1 / math.sqrt(size))
    far = 50 * moved
    return float(mechanism.log_density(far) - mechanism.log_density(far + moved))


# --------------------------------------------------------------------------- E12: histograms


def histogram_loss(claimed: float, used: float) -> float:
    """A histogram whose mechanism was built for another epsilon than the one that is claimed."""
    assert claimed > 0
    scale = Geometric(epsilon=used).scale
    return laplace_loss(np.array([20, 20, 0]), np.array([20, 20, 1]), scale)


# --------------------------------------------------------------------------- E24: salaries


def _top_salary(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """A sum of salaries with noise for the highest one in the database: how wide it is says who is
    there.
    """
    salaries = np.array([10_000.0] * 40 + [290_000.0] * neighbour)
    return salaries.sum() + draw_laplace(rng, salaries.max(), (runs,))


def salary_loss(epsilon: float) -> float:
    """The same with a public cap, to which salaries are cut."""
    cap = 100_000.0
    mechanism = Laplace(epsilon=epsilon, sensitivity=cap)
    here, there = (np.minimum([10_000.0] * 40 + [290_000.0] * more, cap).sum() for more in (0, 1))
    return float(abs(here - there)) / (mechanism.scale * float(mechanism.step))


# --------------------------------------------------------------------------- E25: k-means


def kmeans_loss(count_scale: float, sum_scale: float, rounds: int = 5, numbers: int = 4) -> float:
    """Counts and sums of clusters in every round, where a row of all ones is new in one cluster."""
    counts = laplace_loss(np.array([20]), np.array([21]), count_scale)
    sums = laplace_loss(np.zeros(numbers), np.ones(numbers), sum_scale)
    return rounds * (counts + sums)


# --------------------------------------------------------------------------- scalers


def sum_scaled_squares(rows: Sequence[float], mean: float, deviation: float) -> float:
    """The sum of squares of scaled values, cut at 3."""
    scaled = (np.array(rows, dtype=np.float64) - mean) / deviation
    return float((np.clip(scaled, -3, 3) ** 2).sum())


def scaler_loss(epsilon: float, fitted: bool) -> float:
    """Second moments of scaled values with noise for a row's 9; the scaler is fitted on the private
    rows, or has public parameters.
    """
    found = []
    for more in (0, 1):
        rows = [-1.0, 1.0] * 20 + [1000.0] * more
        if fitted:
            mean, deviation = float(np.mean(rows)), float(np.std(rows))
        else:
            mean, deviation = 0.0, 1.0
        found.append(sum_scaled_squares(rows, mean, deviation))
    return abs(found[0] - found[1]) / (9 / epsilon)


# --------------------------------------------------------------------------- the lists


def mechanism_controls() -> tuple[Control, ...]:
    """Mechanisms misused."""
    one_more, extreme = "one row more", "an extreme value"
    rounds, numbers = 5, 4
    return (
        Control(
            "counts in thousands, sensitivity of one person",
            "book E4",
            one_more,
            1.0,
            exact=lambda: marital_choice_loss(1.0, 1000, 1.0),
            least=0.8,
        ),
        Control(
            "counts of persons, sensitivity in hundreds",
            "book E4, turned round",
            one_more,
            1.0,
            exact=lambda: marital_choice_loss(1.0, 1, 0.01),
        ),
        Control(
            "count, mean and variance, each at all of epsilon",
            "book E9",
            one_more,
            1.0,
            exact=lambda: naive_bayes_loss(1.0, 1),
        ),
        Control(
            "a minimiser with independent Laplace noise",
            "book E11",
            "all 16 weights move evenly",
            1.0,
            exact=lambda: independent_noise_loss(16, 1.0),
        ),
        Control(
            "a histogram that ignores epsilon",
            "book E12",
            one_more,
            0.01,
            exact=lambda: histogram_loss(0.01, 1.0),
        ),
        Control("noise for the highest salary there", "book E24", extreme, 1.0, _top_salary),
        Control(
            "k-means, counts and sums each at all of epsilon",
            "book E25",
            one_more,
            1.0,
            exact=lambda: kmeans_loss(rounds, rounds * numbers),
        ),
        Control(
            "a scaler fitted on private rows",
            "book E13, scikit-learn pipelines",
            extreme,
            1.0,
            exact=lambda: scaler_loss(1.0, True),
        ),
    )


def sound_mechanism_controls(epsilon: float) -> tuple[Control, ...]:
    """The same done right."""
    one_more, extreme = "one row more", "an extreme value"
    rounds, numbers = 5, 4
    scale = (numbers + 1) * rounds / epsilon
    losses = {
        "counts of persons, sensitivity of one person": (
            one_more,
            lambda: marital_choice_loss(epsilon, 1, 1.0),
        ),
        "count, mean and variance, a third of epsilon each": (
            one_more,
            lambda: naive_bayes_loss(epsilon, 3),
        ),
        "a minimiser with noise of a random direction": (
            "all 16 weights move evenly",
            lambda: vector_loss(16, epsilon),
        ),
        "a histogram at its epsilon": (one_more, lambda: histogram_loss(epsilon, epsilon)),
        "salaries cut at a public cap": (extreme, lambda: salary_loss(epsilon)),
        "k-means, counts and sums at one scale": (one_more, lambda: kmeans_loss(scale, scale)),
        "a scaler with public parameters": (extreme, lambda: scaler_loss(epsilon, False)),
    }
    return tuple(
        Control(name, "sound", pair, epsilon, exact=loss, broken=False)
        for name, (pair, loss) in losses.items()
    )
