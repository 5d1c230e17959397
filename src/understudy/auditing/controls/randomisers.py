"""Negative controls among local randomisers: the book's listings, computed exactly, and a few more.

Most lose more than they claim. Two are private and useless: what they estimate is wrong, which is
measured as a bias, in units of the count or of the range.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.control import Control
from understudy.auditing.findings import Finding
from understudy.auditing.randomisers import loss_of_hashing, loss_of_numbers, loss_of_values
from understudy.local.randomisers import (
    DirectEncoding,
    Duchi,
    OptimalHashing,
    Piecewise,
    ThresholdHistogram,
)

Floats = NDArray[np.float64]

BIAS = 0.01
"""What is called a bias: a hundredth of the count, or of the range."""

DENSITY_POINTS = 2000


def matrix_loss(probabilities: Floats) -> float:
    """The largest log-ratio in a column of P(report | value); infinite where one is 0."""
    highest, lowest = probabilities.max(axis=0), probabilities.min(axis=0)
    if (lowest[highest > 0] == 0).any():
        return math.inf
    return float(np.log(highest[highest > 0] / lowest[highest > 0]).max())


# --------------------------------------------------------------------------- E5: direct encoding


def offset_loss(size: int, epsilon: float, first: int) -> float:
    """Direct encoding whose lies are offsets from ``first`` to size - 2 + first: with 0, as in the
    listing, a lie may be the truth, and one value is never told.
    """
    honest = math.exp(epsilon) / (math.exp(epsilon) + size - 1)
    chances = np.eye(size) * honest
    for truth in range(size):
        for offset in range(first, size - 1 + first):
            chances[truth, (truth + offset) % size] += (1 - honest) / (size - 1)
    return matrix_loss(chances)


# --------------------------------------------------------------------------- E6, E6b: Piecewise


def coin_tail_bias(truth: float, epsilon: float) -> float:
    """How far the Piecewise sampler is from the truth on average if it chooses the left or the
    right tail by a fair coin, however long they are.
    """
    half = math.exp(epsilon / 2)
    edge = (half + 1) / (half - 1)
    left = (edge + 1) / 2 * truth - (edge - 1) / 2
    right = left + edge - 1
    inside = half / (half + 1)
    tails = ((left - edge) / 2 + (right + edge) / 2) / 2
    return abs(inside * (left + right) / 2 + (1 - inside) * tails - truth)


def coin_tail_loss(truth: float, other: float, epsilon: float) -> float:
    """What that sampler loses: densities on a grid inside (-C, C). An empty tail is a point mass at
    C, which no other number has.
    """
    half = math.exp(epsilon / 2)
    edge = (half + 1) / (half - 1)
    places = np.linspace(-edge, edge, DENSITY_POINTS + 2)[1:-1]
    lines = []
    for number in (truth, other):
        left = (edge + 1) / 2 * number - (edge - 1) / 2
        right = left + edge - 1
        lengths = (left + edge, edge - right)
        if min(lengths) <= 1e-12:
            return math.inf
        tails = np.where(places < left, 0.5 / lengths[0], 0.5 / lengths[1]) / (half + 1)
        window = half / (half + 1) / (edge - 1)
        lines.append(np.where((places >= left) & (places <= right), window, tails))
    return matrix_loss(np.array(lines))


def compute_repetition_bias(dimensions: int, sampled: int) -> float:
    """The share that is missing where numbers are drawn with replacement and written over: one is
    reported with probability 1 - (1 - 1 / d)^k, and multiplied by d / k.
    """
    reported = 1 - (1 - 1 / dimensions) ** sampled
    return 1 - reported * dimensions / sampled


# --------------------------------------------------------------------------- E7: thresholds


def wrong_sign_bias(epsilon: float, theta: float) -> float:
    """How far the estimate of one person's value is from 1 if p is taken to be 1 - e^((1 - theta)
    epsilon / 2) / 2.
    """
    randomiser = ThresholdHistogram(size=2, epsilon=epsilon, theta=theta)
    p, q = float(randomiser.p), float(randomiser.q)
    wrong = 1 - math.exp((1 - theta) * epsilon / 2) / 2
    return abs((p - q) / (wrong - q) - 1)


# --------------------------------------------------------------------------- E8: Duchi


def uneven_signs_loss(dimensions: int, epsilon: float) -> float:
    """Duchi's sampler as it is coded: ties count as not agreeing, and the coin is as if there were
    none.
    """
    signs = np.array(list(itertools.product((-1, 1), repeat=dimensions)))
    honest = math.exp(epsilon) / (1 + math.exp(epsilon))
    agree = signs @ signs.T > 0
    return matrix_loss(
        np.where(
            agree,
            honest / agree.sum(axis=1, keepdims=True),
            (1 - honest) / (~agree).sum(axis=1, keepdims=True),
        )
    )


# --------------------------------------------------------------------------- others


def fitting_hash_loss(epsilon: float) -> float:
    """A hash function that is drawn again until it sends the value to bucket 0, of two buckets and
    two values: whoever sees a function that sends the other one to 1 knows the value.
    """
    honest = math.exp(epsilon) / (1 + math.exp(epsilon))
    functions = list(itertools.product((0, 1), repeat=2))
    chances = np.zeros((2, len(functions) * 2))
    for value in (0, 1):
        fitting = [place for place, function in enumerate(functions) if function[value] == 0]
        for place in fitting:
            chances[value, 2 * place] = honest / len(fitting)
            chances[value, 2 * place + 1] = (1 - honest) / len(fitting)
    return matrix_loss(chances)


def whole_epsilon_per_bit_loss(epsilon: float) -> float:
    """A unary encoding that tells each bit at all of epsilon: two bits change."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    return math.log(p / (1 - p)) * 2


def randomiser_controls() -> tuple[Control, ...]:
    """Local randomisers that lose too much, or whose estimates are wrong."""
    value, ends = "one value changed", "all signs may change"
    return (
        Control(
            "direct encoding with offsets from 0",
            "book E5",
            value,
            1.0,
            exact=lambda: offset_loss(14, 1.0, 0),
        ),
        Control(
            "Piecewise tails by a fair coin",
            "book E6",
            "from 0.99 to -0.99",
            1.0,
            exact=lambda: coin_tail_loss(0.99, -0.99, 1.0),
        ),
        Control(
            "Piecewise tails by a fair coin, on average",
            "book E6",
            "0.5",
            BIAS,
            exact=lambda: coin_tail_bias(0.5, 1.0),
            unit="bias",
        ),
        Control(
            "dimensions drawn with replacement",
            "book E6b",
            "5 of 5 numbers",
            BIAS,
            exact=lambda: compute_repetition_bias(5, 5),
            unit="bias",
        ),
        Control(
            "thresholded histogram, p with the wrong sign",
            "book E7",
            "theta 0.25",
            BIAS,
            exact=lambda: wrong_sign_bias(5.0, 0.25),
            unit="bias",
        ),
        Control(
            "Duchi's sampler with uneven halves",
            "book E8",
            ends,
            1.0,
            exact=lambda: uneven_signs_loss(2, 1.0),
        ),
        Control(
            "a hash function that fits the value",
            "a temptation of ours",
            value,
            1.0,
            exact=lambda: fitting_hash_loss(1.0),
        ),
        Control(
            "unary encoding, each bit at all of epsilon",
            "a temptation of ours",
            value,
            1.0,
            exact=lambda: whole_epsilon_per_bit_loss(1.0),
        ),
    )


def sound_randomiser_controls(epsilon: float) -> tuple[Control, ...]:
    """The same done right."""
    direct = DirectEncoding(size=14, epsilon=epsilon)
    even = Duchi(epsilon=epsilon, dimensions=4)
    window = Piecewise(epsilon=epsilon)
    hashed = OptimalHashing(size=3, epsilon=epsilon)
    losses = {
        "direct encoding, exactly": ("one value changed", lambda: loss_of_values(direct)),
        "Duchi, 4 numbers": ("all signs may change", lambda: loss_of_numbers(even)),
        "Piecewise, tails by length": ("from -1 to 1", lambda: loss_of_numbers(window)),
        "local hashing, any function": ("one value changed", lambda: loss_of_hashing(hashed)),
    }

    def sound(name: str, pair: str, found: Callable[[], Finding]) -> Control:
        return Control(name, "sound", pair, epsilon, exact=lambda: found().measured, broken=False)

    return tuple(sound(name, pair, found) for name, (pair, found) in losses.items())
