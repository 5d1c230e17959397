"""Rounds over links that fail in every way that links can."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from memory_holders import SCHEMA, FailingLink, five, holders_of, rows

from understudy.counting.memory import MemoryCounter
from understudy.data.marginals import marginal
from understudy.errors import InputError, UnderstudyError
from understudy.federation import Federation, HolderGone, HolderRefused, MemoryLink
from understudy.federation.messages import Message
from understudy.privacy.wire import pack_marginals

EPSILON = 1e3
"""So large that tables have hardly any noise, and sums can be recognised."""


def exact(holders, tables):
    total = 0
    for holder in holders:
        coded = holder._coded
        counter = MemoryCounter(coded.codes, {}, {name: SCHEMA[name].size for name in SCHEMA.names})
        total = total + counter.count_flat(tables)[0]
    return total


def asked(session, tables, epsilon=EPSILON / 10):
    names, arrays = pack_marginals(tables)
    cells = sum(int(np.prod([SCHEMA[axis.attribute].size for axis in axes])) for axes in tables)
    return session.add_up(
        "tables", cells, {"names": names, "bits": None, "amount": epsilon}, arrays
    )


TABLES = [marginal("a", "b"), marginal("c")]


@pytest.mark.parametrize(
    ("number", "dropouts", "colluders"),
    [(1, 0, 0), (2, 0, 1), (3, 1, 0), (5, 0, 0), (5, 1, 1), (5, 2, 0)],
)
def test_the_sum_is_the_sum(number, dropouts, colluders):
    holders = five()[:number]
    with Federation(map(MemoryLink, holders)) as federation:
        session = federation.open(
            SCHEMA, "secure", epsilon=EPSILON, dropouts=dropouts, colluders=colluders
        )
        for _ in range(3):
            found, over = asked(session, TABLES)
            assert over == number
            assert np.abs(found - exact(holders, TABLES)).max() <= 3
        session.close()


STEPS = ["ask", "deliver", "agree", "reveal"]


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("heard_first", [False, True])
@pytest.mark.parametrize("who", ["h0", "h2", "h4"])
def test_a_holder_that_drops_out_at_any_step_is_survived(kind, heard_first, who):
    """Its numbers are in the sum or not, and so is what others masked for it; later rounds go on
    without it.
    """
    holders = five()
    sentences = []
    links = [
        FailingLink(holder, kind, heard_first=heard_first)
        if holder.name == who
        else MemoryLink(holder)
        for holder in holders
    ]
    left = [holder for holder in holders if holder.name != who]
    with Federation(links, sentences.append) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=EPSILON, dropouts=1)
        found, over = asked(session, TABLES)
        in_the_sum = holders if kind in ("agree", "reveal") else left
        assert over == len(in_the_sum)
        assert np.abs(found - exact(in_the_sum, TABLES)).max() <= 3
        found, over = asked(session, TABLES)
        assert over == 4
        assert np.abs(found - exact(left, TABLES)).max() <= 3
        session.close()
    assert sentences == [f"The holder {who} does not answer."]


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(STEPS, 2)))
def test_two_that_drop_out_at_different_steps(first, second):
    holders = five()
    links = [
        FailingLink(holders[0], first),
        FailingLink(holders[3], second),
        *map(MemoryLink, holders[1:3]),
    ]
    links.append(MemoryLink(holders[4]))
    with Federation(links) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=EPSILON, dropouts=2, colluders=0)
        found, over = asked(session, TABLES)
        gone = {"h0"} if first in ("ask", "deliver") else set()
        gone |= {"h3"} if second in ("ask", "deliver") else set()
        in_the_sum = [holder for holder in holders if holder.name not in gone]
        assert over == len(in_the_sum)
        assert np.abs(found - exact(in_the_sum, TABLES)).max() <= 3


@pytest.mark.parametrize("kind", STEPS)
def test_more_than_the_threshold_end_the_run_with_a_sentence(kind):
    holders = five()
    links = [*(FailingLink(holder, kind) for holder in holders[:2]), *map(MemoryLink, holders[2:])]
    with Federation(links) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=EPSILON, dropouts=1)
        with pytest.raises(
            HolderGone,
            match=r"^The holder h0 does not answer; no more than 1 of the holders may drop",
        ):
            asked(session, TABLES)


def test_nobody_may_drop_out_unless_that_was_agreed():
    holders = five()
    links = [FailingLink(holders[0], "ask"), *map(MemoryLink, holders[1:])]
    with Federation(links) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=EPSILON)
        with pytest.raises(HolderGone, match="no holder may be missing"):
            asked(session, TABLES)


@pytest.mark.parametrize("kind", ["hello", "open", "start"])
def test_at_the_beginning_everybody_must_be_there(kind):
    holders = five()
    links = [FailingLink(holders[0], kind), *map(MemoryLink, holders[1:])]
    with Federation(links) as federation, pytest.raises(HolderGone, match="h0 does not answer"):
        federation.open(SCHEMA, "secure", epsilon=1.0, dropouts=2, colluders=0)


@pytest.mark.parametrize(
    "instead",
    [
        lambda _: b"<html>502 Bad Gateway</html>",
        lambda _: Message("masked", {}, {"numbers": np.zeros(3, dtype=np.uint64)}).to_bytes(),
        lambda _: Message("masked", {}, {"numbers": np.zeros(10)}).to_bytes(),
        lambda _: Message("answer").to_bytes(),
    ],
)
def test_garbage_counts_as_no_answer(instead):
    holders = five()
    links = [FailingLink(holders[0], "deliver", instead), *map(MemoryLink, holders[1:])]
    with Federation(links) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=EPSILON, dropouts=1)
        found, over = asked(session, TABLES)
        assert over == 4
        assert np.abs(found - exact(holders[1:], TABLES)).max() <= 3


def test_a_holder_that_was_started_again_has_dropped_out():
    holders = five()
    again = five()[0]  # the same rows, and no memory of sessions
    again.identity, again.peers = holders[0].identity, holders[0].peers
    links = [MemoryLink(holder) for holder in holders]
    with Federation(links) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=EPSILON, dropouts=1)
        asked(session, TABLES)
        links[0].holder = again
        found, over = asked(session, TABLES)
        assert over == 4
        assert np.abs(found - exact(holders[1:], TABLES)).max() <= 3


def test_a_refusal_ends_the_run_with_the_holders_own_sentence():
    holders = [*five()[:4], *holders_of([rows(10)], allowance=0.1)]
    with (
        Federation(map(MemoryLink, holders)) as federation,
        pytest.raises(HolderRefused, match="overdraw its allowance"),
    ):
        federation.open(SCHEMA, "voting", epsilon=1.0, dropouts=3)


def test_a_link_to_somebody_else_is_noticed():
    one, other = five()[:2]
    link = MemoryLink(one)
    link.holder = other
    link_name = type("Renamed", (MemoryLink,), {"name": "h0"})
    with (
        Federation([link_name(other)]) as federation,
        pytest.raises(InputError, match="says that it is 'h1'"),
    ):
        federation.open(SCHEMA, "voting", epsilon=1.0)


def test_masks_do_not_cancel_over_different_questions(monkeypatch):
    """An analyst who asks one holder for less noise than the others reads nothing at all, look as
    it may.
    """
    monkeypatch.setattr("understudy.federation.analyst.MAX_SUM", (1 << 63) - 1)
    holders = five()
    names, arrays = pack_marginals([marginal("a")])

    def stretched(message):
        changed = Message.from_bytes(message)
        return holders[0].answer(
            Message("ask", {**changed.content, "amount": 20.0}, changed.arrays).to_bytes()
        )

    links = [FailingLink(holders[0], "ask", stretched), *map(MemoryLink, holders[1:])]
    with Federation(links) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=EPSILON)
        found, _ = session.add_up(
            "tables", 2, {"names": names, "bits": None, "amount": 10.0}, arrays
        )
    assert np.abs(found).min() > 2**40  # either number is that small once in 2^23 runs


def test_too_much_at_once_is_refused_before_anything_is_asked():
    with Federation(map(MemoryLink, five())) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=1.0)
        with pytest.raises(InputError, match="at a time"):
            session.add_up("tables", 1 << 30, {}, {})


class Changing(MemoryLink):
    """A link on which answers to some kinds of messages are changed."""

    def __init__(self, holder, change, *kinds):
        super().__init__(holder)
        self.change, self.kinds = change, kinds

    def ask(self, message):
        answer = super().ask(message)
        return self.change(answer) if Message.from_bytes(message).kind in self.kinds else answer


@pytest.mark.parametrize(("dropouts", "kind"), [(0, "ask"), (1, "deliver")])
def test_numbers_that_are_others_than_were_asked_for_end_the_run_with_a_sentence(dropouts, kind):
    """They look as they should, so nobody can say whose they are."""
    holders = five()
    random = np.random.default_rng(1).integers(0, 1 << 63, 10, dtype=np.uint64)
    made_up = Message("masked", {}, {"numbers": random}).to_bytes()
    with Federation(
        [Changing(holders[0], lambda _: made_up, kind), *map(MemoryLink, holders[1:])]
    ) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=EPSILON, dropouts=dropouts)
        with pytest.raises(
            HolderGone, match=r"masks .* do not cancel: one of them sent something else"
        ):
            asked(session, TABLES)


@pytest.mark.parametrize(("dropouts", "kind"), [(0, "ask"), (1, "ask"), (1, "deliver")])
def test_an_answer_that_was_given_before_ends_the_run_with_a_sentence(dropouts, kind):
    holders, given = five(), []

    def first_given(answer):
        given.append(answer)
        return given[0]

    with Federation(
        [Changing(holders[0], first_given, kind), *map(MemoryLink, holders[1:])]
    ) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=EPSILON, dropouts=dropouts)
        asked(session, TABLES)
        with pytest.raises(UnderstudyError, match=r"do not cancel|was changed on the way"):
            asked(session, TABLES)


def test_there_must_be_a_holder():
    with pytest.raises(InputError, match="a holder at least"):
        Federation([])


@pytest.mark.parametrize(
    "told", [{"own": {}, "pair": {}}, {"own": dict.fromkeys(["h0", "h1", "h2", "h3", "h4"], "xyz")}]
)
def test_secrets_that_cannot_be_read_end_the_run_with_a_sentence(told):
    holders = five()
    garbled = Message("revealed", {"pair": {}, **told}).to_bytes()
    links = [FailingLink(holders[0], "reveal", lambda _: garbled), *map(MemoryLink, holders[1:])]
    with Federation(links) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=EPSILON, dropouts=1)
        with pytest.raises(HolderGone, match="h0 told secrets that cannot be read"):
            asked(session, TABLES)
