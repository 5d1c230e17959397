"""The doors are exact: noise and choices have their distributions, at sample sizes that would see a
5 % error in scale.

Every test of the noise as it is has a false-alarm rate of one in a million; every wrong scale must
be seen.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from understudy.auditing.bounds import draw_log_probabilities
from understudy.mechanisms.distributions import (
    choice_log_probabilities,
    discrete_gaussian_log_pmf,
    discrete_laplace_log_pmf,
)
from understudy.privacy.mechanisms import ChoiceRule, SystemNoise

FALSE_ALARM = 1e-9
LIMIT = float(stats.norm.isf(FALSE_ALARM / 2))
DRAWS = 100_000
WRONG = (1 / 1.05, 1.05)


def log_pmf(kind: str, values: Any, scale: float) -> Any:
    return (discrete_laplace_log_pmf if kind == "laplace" else discrete_gaussian_log_pmf)(
        values, scale
    )


def deviations_from(kind: str, scale: float, drawn: Any) -> float:
    """How many standard errors the mean size of the noise (its mean square, for Gaussians) is off
    that of a scale.
    """
    values = np.arange(-math.ceil(60 * scale), math.ceil(60 * scale) + 1)
    chances = np.exp(log_pmf(kind, values, scale))
    power = 1 if kind == "laplace" else 2
    sizes = np.abs(values.astype(float)) ** power
    mean = float(chances @ sizes)
    variance = float(chances @ sizes**2) - mean**2
    return (float((np.abs(drawn.astype(float)) ** power).mean()) - mean) / math.sqrt(
        variance / drawn.size
    )


@pytest.mark.parametrize(
    ("kind", "scale"), [("laplace", 1.0), ("laplace", 40.0), ("gaussian", 1.0), ("gaussian", 30.0)]
)
def test_noise_has_its_scale_and_one_that_is_5_percent_off_would_show(
    kind: str, scale: float
) -> None:
    drawn = getattr(SystemNoise(), kind)(np.full(DRAWS, 1000), scale) - 1000
    assert abs(deviations_from(kind, scale, drawn)) < LIMIT
    for wrong in WRONG:
        assert abs(deviations_from(kind, scale * wrong, drawn)) > LIMIT
    # And its shape: as many draws as expected at every value, those far out together.
    reach = math.ceil(4 * scale)
    values = np.arange(-50 * reach, 50 * reach + 1)
    expected = (
        np.bincount(np.clip(values, -reach, reach) + reach, np.exp(log_pmf(kind, values, scale)))
        * DRAWS
    )
    observed = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=2 * reach + 1)
    assert (
        stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > FALSE_ALARM
    )


def correlated(first: Any, second: Any) -> set[str]:
    """What goes together in two tables of pure noise."""
    pairs = {
        "cells of a row": (first[:, 0], first[:, 1]),
        "a cell and the next": (first[:-1, 0], first[1:, 0]),
        "two runs": (first[:, 0], second[:, 0]),
    }
    return {
        what
        for what, (one, other) in pairs.items()
        for way in (np.asarray, np.abs, np.sign)
        if abs(np.corrcoef(way(one), way(other))[0, 1]) * math.sqrt(len(one)) > LIMIT
    }


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_noise_is_independent_between_cells_and_between_runs_and_if_it_were_not_it_would_show(
    kind: str,
) -> None:
    noise = SystemNoise()
    first, second = (
        getattr(noise, kind)(np.zeros((20_000, 2), dtype=np.int64), 5.0) for _ in range(2)
    )
    assert correlated(first, second) == set()
    one_draw_a_row, one_draw_for_two = (
        np.repeat(first[:, :1], 2, axis=1),
        np.repeat(first[::2], 2, axis=0),
    )
    assert correlated(one_draw_a_row, second) == {"cells of a row"}
    assert correlated(one_draw_for_two, second) == {"a cell and the next"}
    assert correlated(first, first) == {"two runs"}
    assert correlated(first, np.abs(first)) == {"two runs"}  # the sign alone is new


RULES: tuple[ChoiceRule, ...] = ("exponential", "permute_and_flip")


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_choices_have_their_chances_and_a_scale_5_percent_off_would_show(rule: ChoiceRule) -> None:
    """Many choices, each a call: with the full audit. Fewer are looked at with the mechanisms."""
    scores, scale, choices = np.array([0.0, 2.0]), 1.0, 200_000
    noise = SystemNoise()
    last = sum(noise.choose(scores, scale, rule) == 0 for _ in range(choices))
    for factor in (1.0, *WRONG):
        chance = math.exp(choice_log_probabilities(scores, scale * factor, rule)[0])
        off = abs(last - choices * chance) / math.sqrt(choices * chance * (1 - chance))
        assert (off < LIMIT) == (factor == 1.0)


def test_draws_have_their_chances_and_smoothing_5_percent_off_would_show() -> None:
    counts, smoothing, draws = np.array([[0, 3], [5, 0]]), 2.0, 6 * DRAWS
    drawn = SystemNoise().draw(counts, draws, Fraction(2)).ravel()

    def p_value(added: float) -> float:
        return float(
            stats.chisquare(
                drawn, draws * np.exp(draw_log_probabilities(counts.ravel(), added))
            ).pvalue
        )

    assert p_value(smoothing) > FALSE_ALARM
    assert all(p_value(smoothing * wrong) < FALSE_ALARM for wrong in WRONG)
