"""Prices that are too low for what was asked."""

from __future__ import annotations

import math

import numpy as np

from understudy.auditing.bounds import laplace_loss, renyi_rho
from understudy.auditing.control import Control
from understudy.auditing.controls.pairs import EXTREME, ONE_MORE, UP_DOWN
from understudy.auditing.sums import lose_without_bounds, lose_without_count
from understudy.mechanisms.distributions import choice_log_probabilities, laplace_tail
from understudy.privacy.mechanisms import ChoiceRule, gaussian_scale

LONE = 0.5
"""The amount of GDP that a lone choice is said to cost."""


def _choice_rho(scale: float, rule: ChoiceRule) -> float:
    """The rho of a choice between two candidates of which one gains 1 and the other loses 1."""
    return max(
        renyi_rho(
            choice_log_probabilities(np.array([start, 0.0]), scale, rule),
            choice_log_probabilities(np.array([start - 1, 1.0]), scale, rule),
        )
        for start in np.linspace(0.0, 2.0, 9)
    )


def _lone_choice_delta() -> float:
    """The delta, at epsilon 0, of a choice between two candidates that has this amount as rho."""
    return math.tanh(math.sqrt(8 * LONE) / 4)


def compute_wrapped_rho(number: int = (1 << 32) + 1, claimed: float = 0.5) -> float:
    """What a sum costs in rho where a row's number, of which noise goes by the square, was squared
    in 64 bits: 2^32 squared is 0 there.
    """
    wrapped = int((np.array([number]) ** 2)[0])
    scale = gaussian_scale(math.sqrt(wrapped), claimed)
    return number**2 / (2 * scale**2)


def accounting_controls() -> tuple[Control, ...]:
    """Of prices, and of sums."""
    return (
        Control(
            "scores called monotonic that are not",
            "dpsynth",
            UP_DOWN,
            0.125,
            exact=lambda: _choice_rho(1.0, "exponential"),
            unit="rho",
        ),
        Control(
            "permute-and-flip at the price of the exponential",
            "a temptation of ours",
            UP_DOWN,
            0.125,
            exact=lambda: _choice_rho(2.0, "permute_and_flip"),
            unit="rho",
        ),
        Control(
            "a lone choice at the price of one before a Gaussian",
            "a temptation of ours",
            UP_DOWN,
            math.erf(math.sqrt(LONE) / 2),  # that of mu-GDP with mu^2 / 2 = LONE
            exact=_lone_choice_delta,
            unit="delta",
        ),
        Control(
            "a sum whose squares wrap around in 64 bits",
            "understudy",
            ONE_MORE,
            0.5,
            exact=compute_wrapped_rho,
            unit="rho",
        ),
        Control(
            "several rows of a person, noise for one",
            "a temptation of ours",
            "3 rows of one person",
            1.0,
            exact=lambda: laplace_loss(np.array([0]), np.array([3]), 1.0),
        ),
        Control(
            "categories named above 5, whatever delta is",
            "a temptation of ours",
            "a unique category",
            1e-6,
            exact=lambda: laplace_tail(5 - 1, 1.0),
            unit="delta",
        ),
        Control(
            "sums of numbers that are not clipped",
            "a temptation of ours",
            EXTREME,
            1.0,
            exact=lambda: lose_without_bounds(1.0),
        ),
        Control(
            "second moments, noise for as many as features",
            "a temptation of ours",
            EXTREME,
            1.0,
            exact=lambda: lose_without_count(1.0),
        ),
    )
