"""Sparse vector, and the versions of it that were published and broken."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from chance import fits

from understudy import BudgetError, InputError, Ledger
from understudy.mechanisms import SparseVector
from understudy.mechanisms.distributions import discrete_laplace_cdf, discrete_laplace_log_pmf
from understudy.privacy.mechanisms import SeededNoise

SLACK = 1e-9


def sessions(length: int, max_above: int) -> list[tuple[bool, ...]]:
    """All answers that a session can give to so many counts: it ends at the last one above."""
    found = []
    for size in range(1, length + 1):
        for answers in itertools.product((False, True), repeat=size):
            ends = sum(answers) == max_above and answers[-1]
            if ends or (size == length and sum(answers) < max_above):
                found.append(answers)
    return found


def largest_loss(mechanism: SparseVector, counts: np.ndarray, other: np.ndarray) -> float:
    return max(
        abs(
            mechanism.log_probability(counts[: len(answers)], np.array(answers))
            - mechanism.log_probability(other[: len(answers)], np.array(answers))
        )
        for answers in sessions(len(counts), mechanism.max_above)
    )


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("max_above", [1, 2])
def test_a_session_loses_no_more_than_epsilon_on_any_neighbour(
    max_above: int, monotone: bool
) -> None:
    mechanism = SparseVector(epsilon=1.0, threshold=2, max_above=max_above, monotone=monotone)
    moves = (0, 1) if monotone else (-1, 0, 1)
    counts = np.array([0, 2, 3, 2])
    found = [
        largest_loss(mechanism, counts, counts + np.array(move))
        for move in itertools.product(moves, repeat=4)
    ]
    assert max(found) <= 1 + SLACK
    assert max(found) >= 0.25


@pytest.mark.parametrize("monotone", [False, True])
def test_counts_that_move_further_get_more_noise_and_no_other_shares(monotone: bool) -> None:
    """A hundred times as far, a hundred times the noise: how epsilon is best split does not depend
    on the unit of the counts.
    """
    one, many = (
        SparseVector(
            epsilon=1.0, threshold=0, max_above=3, sensitivity=sensitivity, monotone=monotone
        )
        for sensitivity in (1, 100)
    )
    assert many.shares == one.shares
    assert many.threshold_scale == pytest.approx(100 * one.threshold_scale)
    assert many.count_scale == pytest.approx(100 * one.count_scale)


def test_counts_that_move_by_two_lose_no_more_than_epsilon() -> None:
    mechanism = SparseVector(epsilon=1.0, threshold=2, sensitivity=2)
    counts = np.array([0, 2, 3])
    found = [
        largest_loss(mechanism, counts, counts + np.array(move))
        for move in itertools.product((-2, 0, 2), repeat=3)
    ]
    assert 0.25 <= max(found) <= 1 + SLACK


def test_a_long_session_loses_nearly_all_of_epsilon() -> None:
    """Very many counts just below the threshold fall by one, and the last, above it, rises."""
    mechanism = SparseVector(epsilon=1.0, threshold=0)
    answers = np.array([False] * 400 + [True])
    counts, other = (np.array([sign] * 400 + [-sign - 40]) for sign in (1, 0))
    other[-1] = counts[-1] + 1
    loss = abs(
        mechanism.log_probability(counts, answers) - mechanism.log_probability(other, answers)
    )
    assert 0.8 <= loss <= 1 + SLACK


def test_probabilities_of_all_sessions_add_up() -> None:
    mechanism = SparseVector(epsilon=1.0, threshold=1, max_above=2)
    counts = np.array([0, 1, 3, 1, 0])
    total = sum(
        math.exp(mechanism.log_probability(counts[: len(answers)], np.array(answers)))
        for answers in sessions(5, 2)
    )
    assert total == pytest.approx(1.0, abs=1e-9)


def test_sessions_run_as_they_say() -> None:
    mechanism, noise = SparseVector(epsilon=2.0, threshold=1), SeededNoise(1)
    counts = [0, 1, 3]
    seen = dict.fromkeys(sessions(3, 1), 0)
    for _ in range(4000):
        session = mechanism.start(Ledger(2.0), "above one?", noise=noise)
        answers: list[bool] = []
        for count in counts:
            answers.append(session.is_above(count))
            if session.ended:
                break
        seen[tuple(answers)] += 1
    chances = [
        math.exp(mechanism.log_probability(np.array(counts[: len(one)]), np.array(one)))
        for one in seen
    ]
    assert fits(np.array(list(seen.values())), np.array(chances))


def test_a_session_ends_and_is_paid_for_as_a_whole() -> None:
    ledger = Ledger(1.0)
    session = SparseVector(epsilon=1.0, threshold=10).start(ledger, "days above ten")
    assert ledger.left.amount == 0
    assert [session.is_above(-1000), session.is_above(2000)] == [False, True]
    with pytest.raises(BudgetError, match="start another one"):
        session.is_above(0)
    with pytest.raises(InputError, match="leave monotone out"):
        SparseVector(epsilon=1.0, threshold=1, monotone=True).start(
            Ledger(1.0, neighbours="replace"), "days"
        )


# --------------------------------------------------------------------------- what was broken


def broken_loss(
    scale: float,
    count_scale: float | None,
    counts: list[int],
    other: list[int],
    answers: list[bool],
) -> float:
    """The loss of a session in which the counts' noise has a scale of its own, or none."""
    noise = np.arange(-400, 401)
    weights = discrete_laplace_log_pmf(noise, scale)

    def log_probability(values: list[int]) -> float:
        margins = (noise - np.array(values)[:, None]).astype(np.float64)
        if count_scale is None:
            above = (margins <= 0).astype(np.float64)
        else:
            above = discrete_laplace_cdf(-margins, count_scale)
        chances = np.where(np.array(answers)[:, None], above, 1 - above)
        with np.errstate(divide="ignore"):
            return float(np.logaddexp.reduce(weights + np.log(chances).sum(axis=0)))

    here, there = log_probability(counts), log_probability(other)
    if math.isinf(here) or math.isinf(there):
        return 0.0 if here == there else math.inf
    return abs(here - there)


def test_without_noise_in_the_counts_all_is_lost() -> None:
    """Stoddard and others (2014): one count above, an equal one below cannot happen."""
    assert broken_loss(2.0, None, [0, 1], [1, 0], [False, True]) == math.inf


def test_noise_that_does_not_grow_with_the_answers_loses_more() -> None:
    """Lee and Clifton (2014): a scale for one answer above, and many are given."""
    many = 20
    counts, other = [0] * many + [1] * many, [1] * many + [0] * many
    answers = [False] * many + [True] * many
    assert broken_loss(4.0, 4.0 / 3, counts, other, answers) > 1.5
    mechanism = SparseVector(epsilon=1.0, threshold=0, max_above=many)
    sound = abs(
        mechanism.log_probability(np.array(counts), np.array(answers))
        - mechanism.log_probability(np.array(other), np.array(answers))
    )
    assert sound <= 1 + SLACK


def test_the_noisy_count_as_an_answer_would_tell_the_threshold() -> None:
    """Roth (2011): a noisy count that is shown lies above the noisy threshold, which is thereby
    bounded; below it, each "no" to a count costs anew.
    """
    noise, scale, many, value = np.arange(-400, 401), 4.0, 30, -60
    weights = np.exp(discrete_laplace_log_pmf(noise, scale))

    def chance(first: int, last: int) -> float:
        """``many`` counts are below, the last one is above and shown as ``value``."""
        below = discrete_laplace_cdf((noise - 1 - first).astype(np.float64), scale) ** many
        shown = math.exp(float(discrete_laplace_log_pmf(np.array(value - last), scale)))
        return float((weights * below * (noise <= value)).sum()) * shown

    # Noise for epsilon 1, were the value not shown.
    assert math.log(chance(0, 1) / chance(1, 0)) > 5
