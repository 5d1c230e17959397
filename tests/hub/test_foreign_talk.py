"""What is said to a foreign algorithm, and how much it may ask: without its process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from examples import small_schema
from limits import assert_limits
from understudy.data.bits import Bits
from understudy.data.encoding import Coded
from understudy.data.marginals import marginal
from understudy.errors import InputError
from understudy.federation.messages import Message
from understudy.hub.foreign import keeper, questions
from understudy.hub.foreign.confinement import ResourceLimits
from understudy.hub.foreign.keeper import AlgorithmFailed, Conversation
from understudy.hub.foreign.pipes import PipeBroken
from understudy.hub.foreign.questions import read_question, write_question
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.domain import Domain
from understudy.privacy.features import Indicator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.questions import Choose, Draw, Measure
from understudy.privacy.sums import Sum

SCHEMA = small_schema()
DOMAIN = Domain(SCHEMA)
MODEL = Message("model", {}, {"model": np.frombuffer(b"{}", np.uint8)})
START = Message("start")


def table(amount: float = 0.25, *names: str, bits: str | None = None) -> Message:
    asked = [marginal(name) for name in names or ("a",)]
    return write_question(Measure(marginals=asked, budget=Budget(amount)), bits)


def talk(*said: Message | Exception, limit: int = 3, epsilon: float = 1.0) -> Any:
    """A conversation in which the algorithm says this; what it heard, and what became of it."""
    rows = {one.name: np.full(10, one.size - 1, np.uint8) for one in SCHEMA.modelled}
    curator = CentralCurator(Coded(SCHEMA, rows, 10, ()), Ledger(epsilon), SeededNoise(0))
    waiting, heard, shown = list(said), [], []

    def receive() -> Message:
        following = waiting.pop(0)
        if isinstance(following, Exception):
            raise following
        return following

    pipe: Any = SimpleNamespace(send=heard.append, receive=receive)
    limits = ResourceLimits(questions=limit)
    held = Conversation(curator, pipe, limits, lambda *step: shown.append(step))
    found = SimpleNamespace(heard=heard, shown=shown, ledger=curator.ledger, failed="", model=b"")
    try:
        found.model = held.run(START)
    except AlgorithmFailed as error:
        found.failed = str(error)
    assert heard[0] is START
    return found


def test_a_question_is_paid_and_answered_with_its_price() -> None:
    found = talk(table(0.25, "a", "b"), MODEL)
    [_, answer] = found.heard
    assert (answer.kind, found.model) == ("answer", b"{}")
    entries = [[e.question, e.amount, e.delta, e.mechanism] for e in found.ledger.entries]
    assert answer.content["paid"] == entries
    assert [entry[:2] for entry in entries] == [["table of a", 0.125], ["table of b", 0.125]]
    assert found.ledger.left.amount == 0.75


def test_a_refusal_costs_nothing_and_says_whether_it_is_for_the_budget() -> None:
    for asked, budget in [
        (table(1.01), True),
        (table(-1.0), False),
        (table(0.1, bits="ternary"), False),
        (table(0.1, "nobody"), False),
        (Message("size", {"amount": 0.1}), False),
    ]:
        found = talk(asked, table(1.0), MODEL)
        [_, refused, answer] = found.heard
        assert (refused.kind, refused.content["budget"], answer.kind) == (
            "refused", budget, "answer",
        )  # fmt: skip
        assert len(found.ledger.entries) == 1


def test_a_refusal_after_the_debit_ends_the_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may depend on the rows."""

    def refuse(self: CentralCurator, question: Any) -> None:
        self.ledger.debit("x", Budget(0.1), "m")
        raise InputError("of the rows")

    monkeypatch.setattr(CentralCurator, "_answer", refuse)
    with pytest.raises(InputError, match="of the rows"):
        talk(table(0.1), MODEL)


def test_the_last_value_has_other_bits_in_gray() -> None:
    """Of three values 2 is 10, and 11 in Gray code; all ten rows have it."""
    for code, bits in [("binary", [0, 0, 10, 0]), ("gray", [0, 0, 0, 10])]:
        names = [axis for axis in Bits(SCHEMA, code == "gray").schema.names if axis[0] == "b"]
        asked = Measure(marginals=[marginal(*names)], budget=Budget(1e6))
        found = talk(write_question(asked, code), MODEL, epsilon=2e6)
        assert found.heard[1].arrays["numbers"].tolist() == bits


def test_bits_are_asked_of_the_same_ledger() -> None:
    name = next(one.name for one in SCHEMA.modelled if one.size == 2)
    found = talk(table(0.5, name, bits="binary"), table(0.5, name, bits="gray"), table(0.1), MODEL)
    assert [one.kind for one in found.heard[1:]] == ["answer", "answer", "refused"]
    assert found.ledger.left.amount == 0.0


def test_questions_and_reports_without_end_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "MAX_PROGRESS", 2)
    step = Message("progress", {"step": "x" * 99 + "\x1bab", "done": 1, "steps": 3})
    found = talk(step, table(0.1), step, table(0.1), table(0.1), MODEL)
    assert (found.model, found.failed) == (b"{}", "")
    assert found.shown == [("algorithm: " + "x" * 99, 1, 3)] * 2
    assert "reports progress without end" in talk(step, step, step, MODEL).failed
    found = talk(*[table(0.1)] * 4, MODEL)
    assert "asks without end" in found.failed
    assert len(found.heard) == 4
    assert len(found.ledger.entries) == 3


def test_an_algorithm_that_fails_is_quoted_in_part() -> None:
    found = talk(Message("failed", {"sentence": "a\x1bb" + "c" * 600}))
    assert found.failed == "The algorithm failed: ab" + "c" * 597
    assert "ended without a model" in talk(PipeBroken()).failed


def test_a_ledger_stays_short_enough_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "MAX_ENTRIES", 5)
    draw = write_question(Draw(axes=marginal("a"), draws=1, budget=Budget(0.1)), None)
    for first, second, kind in [
        (table(0.1, "a", "b"), draw, "answer"),
        (table(0.1, "a", "b", "c"), draw, "refused"),
        (table(0.1, "a", "b", "c"), table(0.1, "a", "b"), "answer"),
        (table(0.1, "a", "b", "c"), table(0.1, "a", "b", "c"), "refused"),
    ]:
        assert [one.kind for one in talk(first, second, MODEL).heard[1:]] == ["answer", kind]


def test_answers_fit_into_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of all tables together; of sums, in each group one, and one per feature and pair."""

    def read(question: Any) -> None:
        found = read_question(write_question(question, None), DOMAIN, "epsilon")
        assert type(found) is type(question)
        assert found.budget == question.budget

    def draws(number: int) -> None:
        read(Draw(axes=marginal("a"), draws=number, budget=Budget(0.1)))

    assert_limits(draws, [1, 1 << 24], [0, (1 << 24) + 1])
    size = DOMAIN.sizes[marginal("a")[0]]
    tables = Measure(marginals=[marginal("a"), marginal("a")], budget=Budget(0.1))
    one = Draw(axes=marginal("a"), draws=1, budget=Budget(0.1))
    features = [Indicator("a", (0,)), Indicator("b", (0,))]
    sums = Sum(features=features, budget=Budget(0.1), by=marginal("a"))
    lines = Sum(features=features, budget=Budget(0.1), ball=1.0, directions=np.eye(2)[[0, 1, 0]])
    for question, numbers in [(tables, 2 * size), (one, size), (sums, 6 * size), (lines, 10)]:
        monkeypatch.setattr(questions, "MAX_NUMBERS", numbers)
        read(question)
        monkeypatch.setattr(questions, "MAX_NUMBERS", numbers - 1)
        with pytest.raises(InputError, match="numbers at most"):
            read(question)
    content, arrays = tables.to_wire()
    with pytest.raises(InputError, match="from one table"):
        read_question(Message("draw", {**content, "draws": 1}, arrays), DOMAIN, "epsilon")
    with pytest.raises(InputError, match="nobody"):
        read(Draw(axes=marginal("nobody"), draws=1, budget=Budget(0.1)))
    choice = Choose(candidates=[marginal("a"), marginal("b")], score="R", budget=Budget(0.1))
    monkeypatch.setattr(questions, "MAX_CANDIDATES", 2)
    read(choice)
    monkeypatch.setattr(questions, "MAX_CANDIDATES", 1)
    with pytest.raises(InputError, match="candidates at most"):
        read(choice)
