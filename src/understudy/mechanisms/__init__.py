"""Mechanisms: exact noise and choices for your own questions, each debited from a ledger
before it is drawn.

>>> from understudy import Ledger
>>> from understudy.mechanisms import Geometric
>>> ledger = Ledger(epsilon=1.0)
>>> count = Geometric(epsilon=0.1).release(6460, ledger, "people over fifty")
>>> ledger.left
Budget(amount=0.9, currency='epsilon')

All noise is whole numbers on a stated grid, from the operating system's randomness. Each mechanism
knows its probabilities and its variance. The value that goes in is private; what comes out is not.
"""

from understudy.mechanisms.additive import Geometric, Laplace
from understudy.mechanisms.base import Mechanism
from understudy.mechanisms.choosing import Exponential, NoisyMax, PermuteAndFlip
from understudy.mechanisms.composition import (
    compose,
    compose_disjoint,
    compose_zcdp,
    for_group,
)
from understudy.mechanisms.gaussian import GaussianMechanism, gaussian_multiplier
from understudy.mechanisms.refused import Wishart
from understudy.mechanisms.responses import RandomisedResponse, TwoCoinResponse
from understudy.mechanisms.sparse import SparseSession, SparseVector
from understudy.mechanisms.staircase import Staircase
from understudy.mechanisms.vector import Vector

__all__ = [
    "Exponential",
    "GaussianMechanism",
    "Geometric",
    "Laplace",
    "Mechanism",
    "NoisyMax",
    "PermuteAndFlip",
    "RandomisedResponse",
    "SparseSession",
    "SparseVector",
    "Staircase",
    "TwoCoinResponse",
    "Vector",
    "Wishart",
    "compose",
    "compose_disjoint",
    "compose_zcdp",
    "for_group",
    "gaussian_multiplier",
]
