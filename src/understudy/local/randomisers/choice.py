"""Which randomiser to use."""

from __future__ import annotations

from understudy.local.randomisers.base import CategoricalRandomiser
from understudy.local.randomisers.direct import DirectEncoding
from understudy.local.randomisers.hadamard import HadamardResponse
from understudy.local.randomisers.hashing import OptimalHashing
from understudy.local.randomisers.subset import SubsetSelection
from understudy.local.randomisers.thresholds import check_local_epsilon, check_whole
from understudy.local.randomisers.unary import OptimalUnary

CANDIDATES: tuple[type[CategoricalRandomiser], ...] = (
    DirectEncoding,
    HadamardResponse,
    OptimalHashing,
    SubsetSelection,
    OptimalUnary,
)
"""From the shortest report to the longest."""

VARIANCE_TOLERANCE = 1.01
"""A shorter report may have this many times the smallest variance."""


def best_randomiser(size: int, epsilon: float) -> CategoricalRandomiser:
    """The randomiser to use for this many values at this epsilon: that with the smallest
    variance, or one that is within a hundredth of it and has shorter reports.

    What is compared is the variance of all estimated counts together, by the exact formula; but for
    Hadamard response it does not depend on who has which value.

    Parameters
    ----------
    size
        How many values there are.
    epsilon
        What a report costs.

    Examples
    --------
    >>> [best_randomiser(size, 1.0).kind for size in (2, 5, 100, 10_000)]
    ['direct', 'direct', 'subset selection', 'optimal hashing']
    """
    check_local_epsilon(epsilon)
    check_whole(size, "size", 2, max(kind.max_size for kind in CANDIDATES))
    fitting = [kind(size=size, epsilon=epsilon) for kind in CANDIDATES if size <= kind.max_size]
    smallest = min(randomiser.total_variance for randomiser in fitting)
    return next(each for each in fitting if each.total_variance <= VARIANCE_TOLERANCE * smallest)
