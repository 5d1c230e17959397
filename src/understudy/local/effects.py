"""Effects: what reports tell, taken apart so that answers to different questions can be averaged.

A table of shares is a sum of effects: the total, what each column adds to it, what each pair adds
to that, and so on. A question about a joint index tells all effects of its columns, a parity of
columns with two values tells one. Each is told with a variance that is known before anybody
answers, up to the share of persons who are asked. So an effect is averaged over all questions that
tell it, by inverse variance, and that is the best linear estimate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.local.collected import Collected, Estimate

Table = NDArray[np.float64]
Part = tuple[str, ...]
"""Columns that share an effect, in the order of the schema."""

MAX_ORDER = 4
"""Effects of more columns than this are left to the model: no plan tells them well."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What reports say about an effect.

    Attributes
    ----------
    shares
        In the shape of the columns; sums along each of them are 0.
    variance
        Of the estimate, in each direction that the effect may take.
    """

    shares: Table
    variance: float

    @property
    def freedom(self) -> int:
        """In how many directions it may differ."""
        return math.prod(size - 1 for size in self.shares.shape)

    def plus(self, other: Effect) -> Effect:
        """Both estimates, averaged by inverse variance."""
        own, others = 1 / self.variance, 1 / other.variance
        whole = own + others
        shares = (own * self.shares + others * other.shares) / whole
        return Effect(shares=shares, variance=1 / whole)


def pool_effects(collected: Collected) -> dict[Part, Effect]:
    """Every effect that was asked about, from all questions that tell it."""
    order = {a.name: place for place, a in enumerate(collected.plan.schema.modelled)}
    pooled: dict[Part, Effect] = {}
    for number in range(len(collected.plan.questions)):
        estimate = collected.estimate(number)
        if estimate is None:
            continue
        for part, effect in _effects_of(estimate, order):
            if part in pooled:
                pooled[part] = pooled[part].plus(effect)
            else:
                pooled[part] = effect
    return pooled


def _effects_of(estimate: Estimate, order: dict[str, int]) -> Iterator[tuple[Part, Effect]]:
    columns = estimate.question.columns
    if estimate.question.odd is not None:
        yield _parity(estimate, order)
        return
    table = estimate.shares.reshape(estimate.question.sizes)
    table = table.transpose(np.argsort([order[name] for name in columns]))
    columns = tuple(sorted(columns, key=order.__getitem__))
    variance = float(estimate.deviations @ estimate.deviations) / table.size
    for size in range(1, min(len(columns), MAX_ORDER) + 1):
        for kept in itertools.combinations(range(len(columns)), size):
            effect = find_effect(table, kept)
            outside = table.size // effect.size
            part = tuple(columns[i] for i in kept)
            yield part, Effect(shares=effect, variance=variance * outside)


def _parity(estimate: Estimate, order: dict[str, int]) -> tuple[Part, Effect]:
    """The effect of a parity: its mean c, of a table with signs s over 2^k cells, is that of c s /
    2^k, whose one direction has a variance of that of c over 2^k.
    """
    question = estimate.question
    if set(question.sizes) != {2}:
        raise InputError(
            f"The question {question} is about a column with more than two codes, whose parities "
            "no table can be made of; ask for the joint index."
        )
    signs = 1.0 - 2.0 * question.parity_table()
    mean = estimate.shares[0] - estimate.shares[1]
    # Both shares have the same noise with opposite signs, so their difference has 4 times the
    # variance of either.
    variance = 4 * float(estimate.deviations[0] ** 2)
    signs = signs.transpose(np.argsort([order[name] for name in question.columns]))
    part = tuple(sorted(question.columns, key=order.__getitem__))
    return part, Effect(shares=mean * signs / signs.size, variance=variance / signs.size)


def find_effect(table: Table, kept: tuple[int, ...]) -> Table:
    """The effect of some axes in a table: their margin, centred along each of them."""
    effect = table.sum(axis=tuple(i for i in range(table.ndim) if i not in kept))
    for axis in range(effect.ndim):
        effect = effect - effect.mean(axis=axis, keepdims=True)
    return np.asarray(effect, dtype=np.float64)
