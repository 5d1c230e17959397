"""Questions as values: their prices, their ledger lines, and the way over a wire and back.

That all curators refuse the same ones in the same words is tested with the curators of federations.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from examples import small_schema
from understudy import InputError, Ledger
from understudy.data.marginals import marginal
from understudy.federation.messages import Message
from understudy.privacy.budget import Budget
from understudy.privacy.domain import Domain
from understudy.privacy.questions import Choose, Draw, Measure

DOMAIN = Domain(small_schema())
A, B, PAIR = marginal("a"), marginal("b"), marginal("b", ("c", 1))


def test_a_question_stays_what_it_is() -> None:
    question = Measure(marginals=[A], budget=Budget(1.0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        question.budget = Budget(0.0)  # type: ignore[misc]
    with pytest.raises(TypeError):
        Measure([A], Budget(1.0))  # type: ignore[misc]


def test_the_lines_of_tables() -> None:
    question = Measure(marginals=[A, PAIR], budget=Budget(1.0), weights=[1.0, 3.0])
    scales = question.scales(Ledger(1.0))
    assert list(question.ledger_lines(scales)) == [
        ("table of a", Budget(0.25), "discrete Laplace, scale 4"),
        ("table of b x c^1", Budget(0.75), "discrete Laplace, scale 1.33333"),
    ]
    [line, _] = question.ledger_lines(scales, "by each of 3 holders")
    assert line[2] == "discrete Laplace, scale 4, by each of 3 holders"


def test_the_lines_of_choices_and_draws() -> None:
    question = Choose(candidates=[A, B], score="R", budget=Budget(0.5))
    assert question.ledger_line("exponential")[0] == "choice among 2 candidates by score R"
    votes = question.ledger_line("exponential", what="5 votes")
    assert votes == ("5 votes among 2 candidates by score R", Budget(0.5), "exponential")
    assert question.ledger_line_of_sums("noise")[0] == "2 sums of scores R"
    draw = Draw(axes=PAIR, draws=1200, budget=Budget(1.0))
    assert draw.ledger_line(draw.smoothing(Ledger(1.0)))[0] == (
        "1,200 draws from the table of b x c^1"
    )


@pytest.mark.parametrize("draws", [0, -1])
def test_draws_that_are_none_are_refused(draws: int) -> None:
    with pytest.raises(InputError, match=f"at least 1, not {draws}"):
        Draw(axes=A, draws=draws, budget=Budget(1.0)).check(DOMAIN)
    with pytest.raises(InputError, match="cannot be drawn for nothing"):
        Draw(axes=A, draws=1, budget=Budget(0.0)).check(DOMAIN)


def test_in_rho_choices_are_exponential() -> None:
    question = Choose(candidates=[A, B], score="R", budget=Budget(0.5))
    assert question.paid_rule == "permute_and_flip"
    assert dataclasses.replace(question, budget=Budget(0.5, "rho")).paid_rule == "exponential"


def test_a_few_of_the_candidates() -> None:
    estimates = [np.zeros(2), np.zeros(3), np.ones((3, 4))]
    question = Choose(
        candidates=[A, B, PAIR],
        score="misfit",
        budget=Budget(0.5),
        offsets=np.array([1.0, 2.0, 3.0]),
        estimates=estimates,
    )
    few = question.narrow(np.array([0, 2]), Budget(0.25))
    few.check(DOMAIN)
    assert (few.candidates, few.budget) == ([A, PAIR], Budget(0.25))
    assert few.offsets is not None
    assert few.offsets.tolist() == [1.0, 3.0]
    assert few.estimates is not None
    assert [table.shape for table in few.estimates] == [(2,), (3, 4)]


def sent(content: Any, arrays: Any) -> Message:
    """What comes out at the other end of a wire."""
    return Message.from_bytes(Message("ask", content, arrays).to_bytes())


@pytest.mark.parametrize("weights", [None, [1.0, 2.5]])
def test_tables_go_over_a_wire_and_come_back(weights: Any) -> None:
    question = Measure(marginals=[A, PAIR], budget=Budget(0.5), weights=weights)
    assert Measure.from_wire(sent(*question.to_wire()), Budget(0.5)) == question


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_choices_go_over_a_wire_and_come_back(share: float) -> None:
    question = Choose(
        candidates=[A, PAIR],
        score="misfit",
        budget=Budget(0.5),
        offsets=np.array([1.0, -2.0]),
        rule="exponential",
        estimates=[np.array([8.0, 4.0]), np.arange(12.0).reshape(3, 4)],
    )
    assert question.offsets is not None
    assert question.estimates is not None
    back = Choose.from_wire(sent(*question.to_wire()), Budget(0.5), DOMAIN, share)
    back.check(DOMAIN)
    assert (back.candidates, back.score, back.rule) == ([A, PAIR], "misfit", "exponential")
    assert back.offsets is not None
    assert back.offsets.tolist() == (question.offsets * share).tolist()
    assert back.estimates is not None
    for came, went in zip(back.estimates, question.estimates, strict=True):
        np.testing.assert_array_equal(came, went * share)
    scored = Choose.scores_from_wire(sent(*question.scores_to_wire()), Budget(0.5), DOMAIN)
    assert scored.offsets is None
    assert scored.rule == "permute_and_flip"


def test_a_wire_without_tables_is_refused() -> None:
    with pytest.raises(InputError, match="lacks a proper 'names'"):
        Measure.from_wire(Message("ask"), Budget(0.5))


def test_offsets_are_finite_numbers_for_each_candidate() -> None:
    for offsets in ([], [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], [1.0, np.nan], [np.inf, 1.0]):
        question = Choose(
            candidates=[A, B], score="R", budget=Budget(0.5), offsets=np.array(offsets)
        )
        with pytest.raises(InputError, match="Offsets"):
            question.check(DOMAIN)


def test_estimates_on_a_wire_are_as_long_as_their_tables() -> None:
    estimates = [np.zeros(DOMAIN.shape(axes)) for axes in (A, PAIR)]
    question = Choose(candidates=[A, PAIR], score="misfit", budget=Budget(0.5), estimates=estimates)
    content, arrays = question.to_wire()
    flat = arrays["estimates"]
    for wrong in (flat[:-1], np.append(flat, 0.0), flat[:0]):
        wire = Message("ask", content, {**arrays, "estimates": wrong})
        with pytest.raises(InputError, match="shapes of the tables"):
            Choose.from_wire(wire, Budget(0.5), DOMAIN)
