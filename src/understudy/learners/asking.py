"""What a learner is handed, and the questions that several learners ask."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import Coded
from understudy.data.marginals import Axis, Marginal
from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.data.tables import Table
from understudy.errors import InputError
from understudy.learners.design import Design, DesignFeature, Matrix, bounds_of
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.privacy.mechanisms import Noise, SystemNoise
from understudy.privacy.sum_sensitivity import Part

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
            "categories."
        )
    if not 2 <= len(labels) <= MAX_CLASSES:
        raise InputError(
            f"The target {attribute.name!r} has {len(labels):,} possible values; a classifier "
            f"needs 2 to {MAX_CLASSES:,}."
        )
    return labels


# --------------------------------------------------------------------------- moments


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """Released moments of scaled rows about a released centre.

    Parameters
    ----------
    rows
        How many rows there are, about.
    centre
        Of the scaled features.
    sums
        Of the scaled features less the centre.
    products
        Of any two of them.
    deviation
        The standard deviation of the noise in a product of two.
    """

    rows: float
    centre: Matrix
    sums: Matrix
    products: Matrix
    deviation: float

    @property
    def noise_norm(self) -> float:
        """About how large the noise in the products is as an operator: the largest eigenvalue of a
        symmetric matrix of independent noise is near 2 deviation sqrt(d).
        """
        return 2 * self.deviation * math.sqrt(len(self.centre))


@dataclass(frozen=True, kw_only=True)
class MomentShares:
    """How a budget is split for moments.

    Parameters
    ----------
    centre
        The share for the mean that rows are centred at; 0: the middle of the bounds is taken.
    """

    centre: float = 0.1
    counts: float = 0.05
    sums: float = 0.25
    products: float = 0.7


def release_centre(asked: Asked, features: tuple[DesignFeature, ...], budget: Budget) -> Matrix:
    """A noisy mean of scaled features, kept within their bounds."""
    questions = Design(features).questions()
    answer = asked.curator.sum(
        questions, budget, missing="centre", shares={"counts": 0.2, "sums": 0.8}
    )
    assert answer.counts is not None
    assert answer.sums is not None
    units = np.array([feature.unit for feature in features])
    rows = max(float(answer.counts.values), 1.0)
    mean = answer.sums.values / units / rows
    return np.clip(mean, -1.0, 1.0)


def release_scatter(
    asked: Asked,
    features: tuple[DesignFeature, ...],
    ball: float,
    shares: MomentShares | None = None,
) -> Scatter:
    """Noisy moments of scaled features, of rows that are shortened to a ball about a noisy mean."""
    shares = shares or MomentShares()
    parts: dict[Part, float] = {
        "counts": shares.counts,
        "sums": shares.sums,
        "moments": shares.products,
    }
    rest = asked.budget
    centre = np.zeros(len(features))
    if shares.centre > 0:
        first, rest = asked.budget.split(shares.centre, sum(parts.values()))
        centre = release_centre(asked, features, first)
        centre[[feature.code is not None for feature in features]] = 0.0
    answer = asked.curator.sum(
        Design(features).questions(centre),
        rest,
        moments="products",
        ball=ball,
        missing="centre",
        shares=parts,
    )
    assert answer.counts is not None
    assert answer.sums is not None
    assert answer.moments is not None
    units = np.array([feature.unit for feature in features])
    middles = np.array([feature.middle for feature in features])
    squared = np.outer(units, units)
    return Scatter(
        rows=max(float(answer.counts.values), 1.0),
        centre=(answer.centres - middles) / units,
        sums=answer.sums.values / units,
        products=answer.moments.values / squared,
        deviation=float((answer.moments.deviation / squared).max()),
    )


def nearest_psd(matrix: Matrix) -> Matrix:
    """The nearest symmetric matrix without a negative eigenvalue."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    repaired: NDArray[np.float64] = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return repaired
