"""Exact losses of choices whose scores move by more than they were said to."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.bounds import choice_losses
from understudy.privacy.mechanisms import ChoiceRule

FALLING = 500
"""With this many candidates that fall, the exponential mechanism loses nearly all that it may."""


def up_and_down_loss(low: float, high: float, scale: float, rule: ChoiceRule) -> float:
    """The loss of a choice where one row lifts one candidate from low to high and takes many others
    down.
    """
    one, many = np.array([1.0] + [0.0] * FALLING), np.array([0.0] + [1.0] * FALLING)
    scores, other = low + (high - low) * many, low + (high - low) * one
    return float(np.abs(choice_losses(scores, other, scale, rule)).max())


def _information(table: Sequence[Sequence[int]], base: float = 2.0) -> tuple[float, float]:
    """Mutual information of a table, and the same divided by the root of the entropies' product."""
    joint = np.array(table, dtype=np.float64) / np.sum(table)

    def entropy(shares: NDArray[np.float64]) -> float:
        positive = shares[shares > 0]
        return float(-(positive * np.log(positive)).sum() / math.log(base))

    x, p = entropy(joint.sum(axis=1)), entropy(joint.sum(axis=0))
    plain = x + p - entropy(joint.ravel())
    return plain, plain / math.sqrt(x * p) if x * p > 0 else 0.0


def _information_sensitivity(rows: int, base: float) -> float:
    return (math.log(rows) + (rows - 1) * math.log(rows / (rows - 1))) / rows / math.log(base)


def information_choice_loss(
    normalised: bool, base: float, sensitivity_base: float, rows: int = 10_000
) -> float:
    """The exponential mechanism at epsilon 1 over pairs, one of which gains what the others lose by
    one row.
    """
    constant, odd = [[rows, 0], [0, 0]], [[rows - 1, 0], [0, 1]]
    which = int(normalised)
    low, high = _information(constant, base)[which], _information(odd, base)[which]
    scale = 2 * _information_sensitivity(rows, sensitivity_base)
    return up_and_down_loss(low, high, scale, "exponential")
