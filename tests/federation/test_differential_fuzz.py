"""The same questions to a holder and to one whose table differs in a row: their kinds of answer
agree.

What an answer says has noise in it. Whether there is one, which sentence refuses it, whether the
holder closes, and how long and of which type an answer is have none: in these nothing may depend on
one row. 600 questions in an ordinary run; ``make fuzz`` sets UNDERSTUDY_FUZZ=20000.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from random_questions import METHODS, NASTY, SCHEMA, neighbours_of, question

from understudy.data.encoding import Coded
from understudy.errors import InputError
from understudy.federation import Holder, HolderPolicy
from understudy.federation.delegates import box_name
from understudy.federation.identity import Identity
from understudy.federation.messages import Message
from understudy.federation.terms import WAYS, Terms, schema_digest
from understudy.privacy.scores import Assignment

QUESTIONS = int(os.environ.get("UNDERSTUDY_FUZZ", "600"))
QUESTIONS_PER_SESSION = 6

IDENTITIES = [Identity.new(f"h{place}") for place in range(3)]
PEERS = {identity.name: identity.certificate for identity in IDENTITIES}
FELLOWS = [neighbours_of(np.random.default_rng(place), "add_remove")[0] for place in (1, 2)]

Kind = tuple[Any, ...]


class Group:
    """Three holders, of whom the first has the table in question, and what it is known to
    answer.
    """

    def __init__(self, coded: Coded, terms: Terms) -> None:
        self.terms = terms
        self.holders = {
            identity.name: Holder(
                identity.name,
                part,
                HolderPolicy(allowance=1e12, delta=0.5, colluders=0, neighbours=terms.neighbours),
                identity=identity,
                peers=PEERS,
            )
            for identity, part in zip(IDENTITIES, [coded, *FELLOWS], strict=True)
        }
        self.seen: list[Kind] = []
        """The kinds of all answers of the first holder."""

    def say(self, name: str, message: Message) -> Message:
        raw = message.to_bytes()
        answer = Message.from_bytes(self.holders[name].answer(raw))
        if name == "h0":
            self.seen.append(kind_of(answer))
        return answer

    def say_to_all(self, message: Message) -> dict[str, Message]:
        return {name: self.say(name, message) for name in self.terms.holders}

    def open(self) -> None:
        opened = self.say_to_all(self.terms.to_message())
        if self.terms.way == "secure":
            keys = {
                name: [answer.content["key"], answer.content["signature"]]
                for name, answer in opened.items()
            }
            self.say_to_all(Message("start", {"session": self.terms.session, "keys": keys}))

    def ask(self, asked: Message, spoil: Any) -> bool:
        """Ask the first holder and, where it is a sum, go on to its end; whether there was an
        answer.
        """
        if self.terms.way != "secure":
            return self.say("h0", asked).kind != "refused"
        answers = self.say_to_all(asked)
        kinds = {answer.kind for answer in answers.values()}
        if kinds in ({"shared"}, {"sealed"}):
            self._go_on(asked, answers, spoil)
        return answers["h0"].kind != "refused"

    def _go_on(self, asked: Message, answers: Mapping[str, Message], spoil: Any) -> None:
        """The steps of a sum, with ``spoil`` in place of something, unless it is None."""
        here = {"session": self.terms.session, "round": asked.content["round"]}
        if answers["h0"].kind == "sealed":
            delegate = asked.content["delegate"]
            boxes = {
                box_name("numbers", name): answers[name].arrays["box"]
                for name in self.terms.holders
                if name != delegate
            }
            self.say(delegate, Message("pick", here, boxes))
            return
        shares = {name: told.content["shares"] for name, told in answers.items()}
        for name in self.terms.holders:
            theirs: Any = {peer: shares[peer][name] for peer in shares if peer != name}
            if spoil is not None and name == "h0":
                theirs = spoil
            self.say(name, Message("deliver", {**here, "shares": theirs}))
        present = list(self.terms.holders[:2]) if spoil is None else spoil
        agreed = self.say_to_all(Message("agree", {**here, "present": present}))
        signatures = {name: a.content.get("signature") for name, a in agreed.items()}
        if spoil is not None:
            signatures["h1"] = spoil
        self.say_to_all(Message("reveal", {**here, "signatures": signatures}))


def kind_of(answer: Message) -> Kind:
    """All of an answer but what noise, masks and keys make of it."""
    if answer.kind == "refused":
        return "refused", answer.content["sentence"], answer.content["gone"]
    content = {
        name: len(value) if isinstance(value, str | list | dict) else type(value).__name__
        for name, value in answer.content.items()
    }
    arrays = {
        name: (array.dtype.str, None if name == "model" else array.size)
        for name, array in answer.arrays.items()
    }
    return answer.kind, content, arrays


@dataclass
class Found:
    """What came of many questions."""

    asked: int = 0
    answered: int = 0
    closed: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    disagreements: list[tuple[Message, Kind, Kind]] = field(default_factory=list)


def compare(questions: int, seed: int, *, until_found: bool = False) -> Found:
    """Ask groups of holders that differ in one row the same questions, session after session."""
    rng, found = np.random.default_rng(seed), Found()
    while found.asked < questions and not (until_found and found.disagreements):
        terms = random_terms(rng, f"s{found.asked}")
        groups = [Group(coded, terms) for coded in neighbours_of(rng, terms.neighbours)]
        for group in groups:
            group.open()
        number = 1 if terms.way == "models" else QUESTIONS_PER_SESSION
        for _ in range(number):
            ask_both(rng, groups, found)
            if len(set(map(str, (group.seen[-1] for group in groups)))) > 1:
                break  # they are out of step
        odd = odd_message(rng, terms.session)
        for group in groups:
            group.say("h0", odd)
        note(groups, Message("close", {"session": terms.session}), found)
    return found


def ask_both(rng: Generator, groups: Sequence[Group], found: Found) -> None:
    terms = groups[0].terms
    session = groups[0].holders["h0"]._sessions.get(terms.session)
    rows = 300 if terms.neighbours == "replace" else None
    asked = question(
        rng,
        way=terms.way,
        session=terms.session,
        number=session.round + 1 if session else 1,
        rows=rows,
    )
    spoil = NASTY[rng.integers(len(NASTY))] if rng.random() < 0.3 else None
    answered = [group.ask(asked, spoil) for group in groups]
    found.asked += 1
    found.answered += answered[0]
    if answered[0]:
        found.kinds[f"{terms.way} {asked.content['what']}"] += 1
    note(groups, asked, found)


def note(groups: Sequence[Group], asked: Message, found: Found) -> None:
    """Compare what the first holders have said since the last time."""
    one, other = (group.seen for group in groups)
    for first, second in zip(one, other, strict=False):
        if first != second:
            found.disagreements.append((asked, first, second))
    if len(one) != len(other):
        found.disagreements.append((asked, ("length", len(one)), ("length", len(other))))
    found.closed += any(h._closed for group in groups for h in group.holders.values())
    for group in groups:
        group.seen = group.seen[-1:]


def random_terms(rng: Generator, session: str) -> Terms:
    way = str(rng.choice(WAYS, p=[0.25, 0.05, 0.4, 0.3]))
    delta = float(rng.choice([0.0, 1e-6]))
    epsilon = float(rng.choice([0.01, 1.0, 10.0])) if way == "models" else 500.0
    dropouts = int(way == "secure" and rng.random() < 0.3)
    relation = ("add_remove", "replace")[rng.integers(2)]
    method = dict(METHODS[rng.integers(len(METHODS))]) if way == "models" else {"name": "x"}
    if way == "models" and rng.random() < 0.7:
        method = dict(METHODS[rng.integers(len(METHODS) - 9)])
    if method:
        method |= {"epsilon": epsilon, "delta": delta, "neighbours": relation}
    return Terms(
        session=session,
        schema=schema_digest(SCHEMA),
        way=way,
        method=method,
        epsilon=epsilon,
        delta=delta,
        neighbours=relation,  # type: ignore[arg-type]
        holders=("h0", "h1", "h2"),
        dropouts=dropouts,
        colluders=0,
    )


def odd_message(rng: Generator, session: str) -> Message:
    """One that is not the next in its order, or is none at all."""
    kinds = ("hello", "open", "start", "ask", "deliver", "agree", "reveal", "pick", "close", "tell")
    value = NASTY[rng.integers(len(NASTY))]
    name = str(rng.choice(["keys", "round", "shares", "present", "signatures", "session", "way"]))
    return Message(str(rng.choice(kinds)), {"session": session, name: value})


def test_one_row_does_not_change_the_kind_of_an_answer() -> None:
    found = compare(QUESTIONS, seed=20)
    print(
        f"{found.asked:,} questions, {found.answered / found.asked:.1%} answered, {found.closed} "
        f"closed, {len(found.disagreements)} disagreements; answered: {dict(found.kinds)}"
    )
    assert found.disagreements == []
    assert found.closed == 0
    assert found.answered >= found.asked / 2


# ---- the control: score F as it was


def check_largest(self: Assignment, children: Sequence[int]) -> None:
    if max(children) > 2:
        raise InputError("Score F is for attributes with two values.")


def evaluate_halves(
    self: Assignment, counter: Any, candidates: Sequence[Any], neighbours: str = "replace"
) -> np.ndarray:
    """Halve whatever table comes, look at the first exit of the search, and only then at shapes."""
    found = []
    for table in counter.count(candidates):
        half = table.size // 2
        zeros, ones = table.ravel()[:half], table.ravel()[half:]
        heavy, light = zeros, ones[:half]
        kept, other = heavy[heavy >= light].sum(), light[heavy < light].sum()
        if 2 * max(kept, other) > counter.rows and zeros.shape != ones.shape:
            raise ValueError("operands could not be broadcast together")
        found.append(kept + other - counter.rows)
    return np.array(found, dtype=np.float64)


@pytest.mark.parametrize("seed", range(4))
def test_the_old_score_f_is_found(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """One session in sixteen finds it: all of 600 questions miss it for one seed in 6,000."""
    monkeypatch.setattr(Assignment, "check", check_largest)
    monkeypatch.setattr(Assignment, "evaluate", evaluate_halves)
    found = compare(600, seed, until_found=True)
    _, *kinds = found.disagreements[0]
    assert [kind[0] for kind in kinds].count("refused") == 1
