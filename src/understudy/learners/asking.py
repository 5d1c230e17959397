"""What a learner is handed, and the questions that several learners ask."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.attributes import BOOLEAN_VALUES
from understudy.data.encoding import Coded
from understudy.data.marginals import Axis, Marginal
from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.data.tables import Table
from understudy.errors import InputError
from understudy.learners.design import Design, DesignFeature, Matrix, bounds_of
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.privacy.mechanisms import Noise, SystemNoise

MAX_CLASSES = 1_000


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a learner is handed: a curator, what is public about its rows, and a price.

    Parameters
    ----------
    curator
        Who is asked.
    design
        The features.
    target
        The column to predict; ``None`` where there is none.
    budget
        What all questions together may cost.
    coded
        The rows themselves, where they are in memory: only
        :mod:`understudy.learners.perturbation` looks at them, once it has paid.
    noise
        What its noise comes from.
    """

    curator: Curator
    design: Design
    budget: Budget
    target: str | None = None
    coded: Coded | None = None
    noise: Noise | None = None

    @property
    def schema(self) -> Schema:
        """What is public about the rows."""
        return self.curator.schema

    @property
    def noise_source(self) -> Noise:
        """Where noise comes from; the operating system where nobody said otherwise."""
        if self.noise is None:
            return SystemNoise()
        return self.noise

    @property
    def table(self) -> Table:
        """The rows, where they are in memory."""
        if self.coded is None or self.coded.table is None:
            raise InputError(
                "Perturbation needs all rows in memory in one place; use solver='moments', which "
                "runs on every curator."
            )
        return self.coded.table

    @property
    def target_attribute(self) -> Attribute:
        """What is public about the target."""
        assert self.target is not None
        return self.schema[self.target]

    @property
    def by_class(self) -> Marginal:
        """The marginal of the target."""
        assert self.target is not None
        return (Axis(self.target),)


def target_feature(attribute: Attribute) -> DesignFeature:
    """A target as a number with public bounds."""
    if not isinstance(attribute, Quantity):
        raise InputError(
            f"The target {attribute.name!r} is {attribute.kind}, not a number; a regression "
            "needs one with public bounds."
        )
    lower, upper = bounds_of(attribute)
    if not lower < upper:
        raise InputError(
            f"The target {attribute.name!r} can only be {lower:g}: there is nothing to learn."
        )
    return DesignFeature(name=attribute.name, column=attribute.name, lower=lower, upper=upper)


def class_labels(attribute: Attribute) -> tuple[Any, ...]:
    """The classes of a target, one per code ("missing" is none); refuses what has no classes."""
    if isinstance(attribute, Category):
        labels: tuple[Any, ...] = attribute.domain
        if attribute.kind == "boolean" and labels == BOOLEAN_VALUES:
            labels = (False, True)
    elif isinstance(attribute, Quantity) and attribute.whole and not attribute.is_moment:
        if attribute.bins != attribute.edges[-1] - attribute.edges[0]:
            raise InputError(
                f"The target {attribute.name!r} is a number; a classifier needs categories: list "
                'its values under "values" in the schema, or use a regression.'
            )
        labels = tuple(int(edge) for edge in attribute.edges[:-1])
    else:
        raise InputError(
            f"The target {attribute.name!r} is of kind {attribute.kind}; a classifier needs "
            "categories, a regression (--model linear) numbers."
        )
    if not 2 <= len(labels) <= MAX_CLASSES:
        raise InputError(
            f"The target {attribute.name!r} has {len(labels):,} possible values; a classifier "
            f"needs 2 to {MAX_CLASSES:,}."
        )
    return labels


# --------------------------------------------------------------------------- moments


@dataclass(frozen=True, kw_only=True)
class Centre:
    """What the rows are centred at, and what is left of the budget then.

    Parameters
    ----------
    place
        Of the scaled features: their noisy mean, or 0, the middle of the bounds.
    is_mean
        Whether it is the mean.
    left
        The rest of the budget.
    """

    place: Matrix
    is_mean: bool
    left: Budget


CENTRE_SHARE = 0.15
"""The share of the budget for a mean to centre rows at."""

MAX_CENTRE_NOISE = 0.25
"""The mean is asked for where its noise will be shorter than this share of the rows' length."""


def release_centre(
    asked: Asked, design: Design, budget: Budget, rows: float, ball: float
) -> Centre:
    """Where to centre rows: at their noisy mean, if they are enough for one, else at the middle of
    the bounds, at no price. What is decided by is public or released.
    """
    if not asked.curator.adaptive_sums:
        return Centre(place=np.zeros(len(design)), is_mean=False, left=budget)
    first, rest = budget.split(CENTRE_SHARE, 1 - CENTRE_SHARE)
    columns = design.longest(1)
    if first.currency == "epsilon":
        deviation = math.sqrt(2) * columns / first.amount
    else:
        deviation = math.sqrt(columns / (2 * first.amount))
    if deviation * math.sqrt(len(design)) > MAX_CENTRE_NOISE * ball * rows:
        return Centre(place=np.zeros(len(design)), is_mean=False, left=budget)
    answer = asked.curator.sum(design.questions(), first, missing="centre")
    assert answer.sums is not None
    mean = np.clip(answer.sums.values / design.units / rows, -1.0, 1.0)
    return Centre(place=mean, is_mean=True, left=rest)


def count_rows(asked: Asked, design: Design, budget: Budget) -> float:
    """About how many rows there are; at least 1."""
    answer = asked.curator.sum(
        design.questions()[:1], budget, missing="centre", shares={"counts": 1.0}
    )
    assert answer.counts is not None
    return max(float(answer.counts.values), 1.0)


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """Released moments of scaled rows, which were shortened to a ball about a centre.

    Parameters
    ----------
    mean
        Of the scaled features: the centre where that is the mean, else that of shortened rows.
    covariance
        The sum over rows of the products of any two features, each less its mean.
    deviation
        The standard deviation of the noise in such a sum.
    """

    mean: Matrix
    covariance: Matrix
    deviation: float

    @property
    def noise_norm(self) -> float:
        """About how large the noise is as an operator: the largest eigenvalue of a symmetric matrix
        of independent noise is near 2 deviation sqrt(d).
        """
        return 2 * self.deviation * math.sqrt(len(self.mean))


def release_scatter(
    asked: Asked, design: Design, budget: Budget, rows: float, ball: float
) -> Scatter:
    """Noisy second moments of scaled features about their mean."""
    centre = release_centre(asked, design, budget, rows, ball)
    answer = asked.curator.sum(
        design.questions(centre.place),
        centre.left,
        moments="products",
        ball=ball,
        missing="centre",
        shares={"sums": 0.25, "moments": 0.75},
    )
    assert answer.sums is not None
    assert answer.moments is not None
    place = (answer.centres - design.middles) / design.units
    apart = answer.sums.values / design.units / rows
    mean = centre.place
    if not centre.is_mean:
        mean = np.clip(place + apart, -1.0, 1.0)
    squared = np.outer(design.units, design.units)
    return Scatter(
        mean=mean,
        covariance=answer.moments.values / squared - rows * np.outer(apart, apart),
        deviation=float((answer.moments.deviation / squared).max()),
    )


def nearest_psd(matrix: Matrix) -> Matrix:
    """The nearest symmetric matrix without a negative eigenvalue."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    repaired: NDArray[np.float64] = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return repaired
