"""Which randomiser to use."""

from __future__ import annotations

from understudy.local.randomisers.base import CategoricalRandomiser
from understudy.local.randomisers.direct import DirectEncoding
from understudy.local.randomisers.hadamard import HadamardResponse
from understudy.local.randomisers.hashing import OptimalHashing
from understudy.local.randomisers.unary import OptimalUnary

CANDIDATES: tuple[type[CategoricalRandomiser], ...] = (
    DirectEncoding,
    OptimalUnary,
    OptimalHashing,
    HadamardResponse,
)


def best_randomiser(size: int, epsilon: float) -> CategoricalRandomiser:
    """The randomiser with the smallest variance for so many values at this epsilon.

    Parameters
    ----------
    size
        How many values there are.
    epsilon
        What a report costs.
    """
    fitting = [kind for kind in CANDIDATES if size <= kind.max_size]
    return min(
        (kind(size=size, epsilon=epsilon) for kind in fitting or CANDIDATES),
        key=lambda randomiser: randomiser.total_variance,
    )
