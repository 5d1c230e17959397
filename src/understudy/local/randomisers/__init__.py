"""Randomisers: what leaves a person's device instead of the truth.

>>> from understudy.local.randomisers import best_randomiser
>>> colour = best_randomiser(size=5, epsilon=1.0)
>>> reports = colour.perturb([0, 3, 3, 1])              # on four persons' own devices
>>> counts = colour.estimate(colour.tally(reports), 4)  # at the collector's

Each is exact: a report is a function of the value and of 64-bit words from the operating system,
compared with whole numbers, so that its largest loss is known exactly and is at most epsilon.
"""

from understudy.local.randomisers.additive import LocalLaplace, SummedHistogram
from understudy.local.randomisers.base import (
    CategoricalRandomiser,
    FiniteRandomiser,
    Randomiser,
)
from understudy.local.randomisers.binning import Bins, equal_frequency_bins, equal_width_bins
from understudy.local.randomisers.choice import best_randomiser
from understudy.local.randomisers.direct import BinaryResponse, DirectEncoding
from understudy.local.randomisers.duchi import Duchi
from understudy.local.randomisers.hadamard import HadamardResponse
from understudy.local.randomisers.hashing import OptimalHashing
from understudy.local.randomisers.numeric import MeanRandomiser
from understudy.local.randomisers.piecewise import Piecewise
from understudy.local.randomisers.square_wave import SquareWave
from understudy.local.randomisers.subset import SubsetSelection
from understudy.local.randomisers.unary import OptimalUnary, SymmetricUnary, ThresholdHistogram
from understudy.local.randomisers.words import Words

__all__ = [
    "BinaryResponse",
    "Bins",
    "CategoricalRandomiser",
    "DirectEncoding",
    "Duchi",
    "FiniteRandomiser",
    "HadamardResponse",
    "LocalLaplace",
    "MeanRandomiser",
    "OptimalHashing",
    "OptimalUnary",
    "Piecewise",
    "Randomiser",
    "SquareWave",
    "SubsetSelection",
    "SummedHistogram",
    "SymmetricUnary",
    "ThresholdHistogram",
    "Words",
    "best_randomiser",
    "equal_frequency_bins",
    "equal_width_bins",
]
