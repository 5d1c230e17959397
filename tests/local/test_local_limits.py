"""Limits of surveys and randomisers: the last value that is allowed is taken, and the next one is
refused.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from surveys import SCHEMA, ask, codes_of, small_plan

from limits import above, assert_limits, below
from understudy import InputError
from understudy.local.answering import answer_for_all
from understudy.local.booking import AnswerBook, agree_to_level
from understudy.local.plans import CollectionPlan, whole_weights
from understudy.local.randomisers import (
    Bins,
    DirectEncoding,
    Duchi,
    HadamardResponse,
    OptimalHashing,
    OptimalUnary,
    SquareWave,
    SubsetSelection,
    SummedHistogram,
    ThresholdHistogram,
    equal_frequency_bins,
    equal_width_bins,
)
from understudy.local.randomisers.base import (
    check_codes,
    check_persons,
    check_reports,
    check_tally,
)
from understudy.local.randomisers.numeric import check_bounds, check_numbers, check_sums
from understudy.local.randomisers.thresholds import check_local_epsilon, check_whole
from understudy.local.randomisers.windows import piecewise_window, square_wave_window
from understudy.local.reports import Report

ID = "0123456789abcdef"


def plan_at(*epsilons: float, randomised: float | None = None) -> CollectionPlan:
    """A plan of these levels, whose randomisers keep to them."""
    levels = epsilons if randomised is None else (randomised,) * len(epsilons)
    return CollectionPlan(
        schema=SCHEMA, epsilons=epsilons, questions=(ask("sex", epsilons=levels),)
    )


def read(**changes: Any) -> CollectionPlan:
    return CollectionPlan.from_dict(small_plan().to_dict() | changes)


def answer(levels: Any) -> None:
    answer_for_all(plan_at(2.0, 1.0), codes_of(3), levels=levels)


LIMITS = {
    "epsilon": (check_local_epsilon, [1e-6, 30.0], [below(1e-6), above(30.0), 0, math.nan, True]),
    "whole number": (
        lambda number: check_whole(number, "n", 2, 5),
        [2, 5, np.int64(3)],
        [1, 6, 2.0, True, "2"],
    ),
    "codes": (
        lambda codes: check_codes(codes, 3),
        [[], [0, 2]],
        [[-1], [3], [0.0], [[0]], [True], ["0"]],
    ),
    "reports": (
        lambda reports: check_reports(reports, 2),
        [[], [[1, 2]]],
        [[1, 2], [[1]], [[1, 2, 3]], [[1.0, 2.0]]],
    ),
    "tally": (lambda tally: check_tally(tally, 2), [[1, 2]], [[1], [1, 2, 3], [1.0, 2.0]]),
    "tally of sums": (
        lambda tally: check_sums(tally, 2),
        [[[1, 2], [3, 4]]],
        [[[1, 2]], [1, 2], [[1.0, 2.0], [3.0, 4.0]]],
    ),
    "persons": (check_persons, [0, 5, np.int64(5)], [-1, 1.0, True]),
    "bounds": (
        lambda bounds: check_bounds(*bounds),
        [(-1e100, 1e100), (0, 1)],
        [(0, 0), (1, 0), (0, above(1e100)), (below(-1e100), 0), (False, 1), (0, math.nan)],
    ),
    "numbers": (
        lambda numbers: check_numbers(numbers, 0.0, 1.0),
        [[], [0.0, 1.0], [1]],
        [[below(0.0)], [above(1.0)], [math.nan], [math.inf], [True], ["1"]],
    ),
    "edges": (Bins, [(0, 1), (0, 1, 2)], [(), (0,), (0, 0), (0, 1, 1), (1, 0)]),
    "bins of a width": (
        lambda bins: equal_width_bins(0, 1, bins),
        [1, 1 << 16],
        [0, (1 << 16) + 1, True],
    ),
    "bins of a sample": (
        lambda bins: equal_frequency_bins([1, 2, 2, 3], bins),
        [1, 3],
        [0, 4],
    ),
    "two numbers of a sample": (
        lambda sample: equal_frequency_bins(sample, 1),
        [[1, 2]],
        [[1, 1], []],
    ),
    "bins of a square wave": (
        lambda bins: SquareWave(epsilon=1.0, low=0, high=1, bins=bins),
        [2, 1024],
        [1, 1025],
    ),
    "dimensions": (
        lambda number: Duchi(epsilon=1.0, low=0, high=1, dimensions=number),
        [1, 64],
        [0, 65],
    ),
    "epsilon of a randomiser of values": (
        lambda epsilon: DirectEncoding(size=2, epsilon=epsilon),
        [1e-6, 30.0],
        [0.0, 31.0],
    ),
    "epsilon of a randomiser of numbers": (
        lambda epsilon: Duchi(epsilon=epsilon, low=0, high=1),
        [1e-6, 30.0],
        [0.0, 31.0],
    ),
    "range of numbers": (
        lambda low: Duchi(epsilon=1.0, low=low, high=1),
        [0],
        [1, 2, math.nan],
    ),
    "edges within bounds": (Bins, [(-1e100, 1e100)], [(0, 1e101)]),
    "bounds of bins": (lambda high: equal_width_bins(0, high, 2), [1], [0, -1, 1e101]),
    "epsilon of a level": (lambda epsilon: plan_at(epsilon, randomised=1.0), [1.0], [0.0]),
    "epsilon of a column": (
        lambda epsilon: small_plan().limit_columns({"sex": epsilon}),
        [1.0],
        [0.0, -1.0, math.nan],
    ),
    "token key": (
        lambda key: small_plan(token_key=key),
        ["", "0f" * 32],
        ["0f", "0F" * 32, "0f" * 33],
    ),
    "theta": (
        lambda theta: ThresholdHistogram(epsilon=1.0, size=4, theta=theta),
        [0, 0.75, 1],
        [-1e-9, above(1.0), math.nan, True],
    ),
    "levels of privacy": (
        lambda number: plan_at(*(1 + level / 8 for level in range(number))),
        [1, 16],
        [0, 17],
    ),
    "levels of their own": (lambda levels: plan_at(*levels), [(1.0, 2.0)], [(1.0, 1.0)]),
    "epsilon of a randomiser": (
        lambda epsilon: plan_at(2.0, randomised=epsilon),
        [1.0, 2.0],
        [above(2.0)],
    ),
    "earlier waves": (
        lambda number: small_plan(
            earlier=(ID,) * number, questions=(ask("sex", wave=number + 1),)
        ),
        [0, 9],
        [10],
    ),
    "ids of waves": (
        lambda name: small_plan(earlier=(name,), questions=(ask("sex", wave=2),)),
        [ID],
        [ID[:-1], ID + "0", ID.upper(), 5],
    ),
    "wave of a question": (
        lambda wave: small_plan(
            earlier=(ID,), questions=(ask("sex", wave=wave), ask("smoker", wave=2))
        ),
        [1, 2],
        [3],
    ),
    "persons of a plan": (
        lambda persons: read(persons=persons),
        [None, 1, 1 << 40],
        [0, (1 << 40) + 1, True, 1.0],
    ),
    "title": (lambda length: read(title="x" * length), [0, 10_000], [10_001]),
    "version of a plan": (lambda version: read(version=version), [1], [0, 2, None]),
    "shares of questions": (whole_weights, [[1.0], [0.0, 0.5]], [[], [0.0], [1.0, -1e-9]]),
    "levels of persons": (answer, [0, 1, np.array([0, 1, 1])], [-1, 2, np.array([0, 1, 2])]),
    "epsilon that nobody names": (
        lambda epsilon: agree_to_level(plan_at(epsilon), None),
        [5.0],
        [above(5.0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_value_is_taken_and_the_next_is_not(name: str) -> None:
    assert_limits(*LIMITS[name])


@pytest.mark.parametrize(
    ("kind", "largest"),
    [
        (DirectEncoding, 1 << 20),
        (HadamardResponse, 1 << 20),
        (OptimalHashing, 1 << 16),
        (OptimalUnary, 1 << 16),
        (SubsetSelection, 1 << 12),
        (SummedHistogram, 1 << 12),
    ],
)
def test_a_randomiser_is_for_two_values_and_for_as_many_as_it_can_take(
    kind: Any, largest: int
) -> None:
    assert_limits(lambda size: kind(size=size, epsilon=1.0), [2, largest], [1, largest + 1, 2.0])


def test_an_epsilon_above_five_is_taken_where_it_is_named() -> None:
    assert agree_to_level(plan_at(8.0), 8.0) == 0
    assert agree_to_level(plan_at(2.0, 8.0), None) == 0


def test_a_person_who_says_nothing_allows_epsilon_ten(tmp_path: Any) -> None:
    assert AnswerBook(tmp_path / "answers.ledger").read_left() == 10.0
    assert AnswerBook(tmp_path / "new" / "folders" / "mine.ledger").read_left() == 10.0
    assert AnswerBook(tmp_path / "mine.ledger", 3.0).read_left() == 3.0
    with pytest.raises(Exception, match="has its allowance already"):
        AnswerBook(tmp_path / "mine.ledger", 3.0).read_left()


def test_weights_have_nine_digits_of_the_largest_share() -> None:
    assert whole_weights([0.5, 0.25, 0.0]) == (10**9, 5 * 10**8, 0)


def test_a_window_has_a_step_at_least() -> None:
    """At the largest epsilon the formulas give none; half of a step and more is rounded up."""
    assert piecewise_window(Fraction(30)).width == 1
    assert square_wave_window(30.0).width == 1
    assert piecewise_window(Fraction(2)).width == round((1 << 20) / math.e)


def test_a_survey_that_was_answered_is_refused_before_anything_is_drawn(tmp_path: Any) -> None:
    plan, book = plan_at(2.0), AnswerBook(tmp_path / "answers.ledger")
    book.check(plan)
    assert book.find(plan) is None
    book.book(plan, Report(plan=plan.id, question=0, level=0, answer=(0,), number=bytes(16)))
    assert book.read_left() == 8.0
    book.check(plan_at(1.0))
    with pytest.raises(InputError, match="answered"):
        book.check(plan)
    with pytest.raises(InputError, match="answered"):
        book.book(plan, Report(plan=plan.id, question=0, level=0, answer=(0,), number=bytes(16)))
    assert book.read_left() == 8.0
