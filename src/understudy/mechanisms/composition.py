"""What several releases cost together, as plain sums; a :class:`~understudy.Ledger` keeps them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from understudy.errors import InputError
from understudy.privacy.budget import (
    check_delta,
    check_epsilon,
    epsilon_of,
    round_up,
    total,
)
from understudy.privacy.group_privacy import GroupPromise, group_promise

EpsilonDelta = tuple[float, float]
"""An epsilon and a delta."""


def compose(prices: Sequence[EpsilonDelta]) -> EpsilonDelta:
    """Sequential composition: releases about the same rows add up, in epsilon and in delta, even
    where each was chosen by what those before it said.

    Examples
    --------
    >>> compose([(0.1, 0.0), (0.2, 1e-6), (0.3, 1e-6)])
    (0.6, 2e-06)
    """
    _check(prices)
    epsilons, deltas = zip(*prices, strict=True)
    return round_up(total(epsilons)), round_up(total(deltas))


def compose_disjoint(prices: Sequence[EpsilonDelta]) -> EpsilonDelta:
    """Parallel composition: releases about disjoint parts of the rows cost together what the most
    expensive one does, where neighbours differ by one row more or less, since it is in one part.

    Examples
    --------
    >>> compose_disjoint([(0.1, 0.0), (0.2, 1e-6), (0.3, 0.0)])
    (0.3, 1e-06)
    """
    _check(prices)
    epsilons, deltas = zip(*prices, strict=True)
    return max(epsilons), max(deltas)


def compose_zcdp(rhos: Sequence[float], delta: float) -> EpsilonDelta:
    """Releases in zCDP: rho adds up, and is turned into epsilon at a delta once, at the end.

    Examples
    --------
    >>> epsilon, delta = compose_zcdp([0.005] * 10, 1e-6)  # each alone costs epsilon 0.47
    >>> round(epsilon, 2)
    1.47
    """
    for rho in rhos:
        if isinstance(rho, bool) or not isinstance(rho, int | float) or not 0 <= rho < math.inf:
            raise InputError(f"rho must be a finite number at or above 0, not {rho!r}.")
    if not check_delta(delta):
        raise InputError("zCDP is worth an epsilon at a delta above 0 only; give one.")
    return epsilon_of(round_up(total(rhos)), delta), delta


def for_group(epsilon: float, delta: float, members: int) -> GroupPromise:
    """What (epsilon, delta) for one is worth for a group.

    Examples
    --------
    >>> promise = for_group(0.1, 0.0, 10)
    >>> promise.epsilon, promise.delta
    (1.0, 0.0)
    """
    return group_promise(check_epsilon(epsilon), check_delta(delta), members)


def _check(prices: Sequence[EpsilonDelta]) -> None:
    if not prices:
        raise InputError("There is nothing to compose: give the prices of some releases.")
    for epsilon, delta in prices:
        if epsilon != 0:
            check_epsilon(epsilon)
        check_delta(delta)
