"""A holder against an analyst who does not keep the rules: terms, ledger, keys, rounds, the log."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from memory_holders import SCHEMA, five, holders_of, rows

from asking import question, said, sentence, started, terms
from understudy.counting.memory import MemoryCounter
from understudy.data.encoding import Coded
from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.federation import Holder, HolderPolicy
from understudy.federation.identity import Identity
from understudy.federation.masking import PairKeys
from understudy.federation.messages import Message
from understudy.federation.party import MAX_SESSIONS
from understudy.federation.terms import schema_digest
from understudy.privacy.ledger import LedgerFile
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.wire import pack_marginals

# ---- terms


def test_a_holder_has_no_more_rows_than_the_proofs_of_exact_sums_allow():
    codes = five()[0]._coded.codes
    Holder("h0", Coded(SCHEMA, codes, 2**31 - 1, ()), HolderPolicy(allowance=1.0))
    with pytest.raises(InputError, match="fewer than 2,147,483,648 rows"):
        Holder("h0", Coded(SCHEMA, codes, 2**31, ()), HolderPolicy(allowance=1.0))


def test_it_says_who_it_is():
    holder = five()[0]
    hello = said(holder, Message("hello"))
    assert hello.content["name"] == "h0"
    assert hello.content["schema"] == schema_digest(SCHEMA)
    assert hello.content["private"] is True


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"schema": "00"}, "another schema"),
        ({"epsilon": 1e7}, "overdraw"),
        ({"delta": 0.6}, "overdraw"),
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"way": "trust me"}, "no way"),
        (
            {"dropouts": 2, "colluders": 1},
            "need 6 holders at least, and there are 5: ask more holders, or lower dropouts",
        ),
        ({"dropouts": 5}, "all but one"),
        ({"colluders": -1}, "at or above 0"),
        ({"colluders": 1.0}, "colluders"),
        ({"colluders": 5}, "need 6 holders at least"),
        ({"holders": ["h1", "h2"]}, "not among those"),
        ({"holders": ["h0", "h0"]}, "different names"),
        ({"holders": ["h0", "stranger"]}, "no pinned certificate of stranger"),
        ({"neighbours": "swap"}, "neighbours must be"),
        ({"more": 1}, "other things"),
        ({"session": 7}, "session"),
    ],
)
def test_terms_that_are_refused(changes, why):
    holders = five()
    message = terms(holders).to_message()
    message = Message("open", {**message.content, **changes})
    assert why in sentence(holders[0], message)
    # Nothing was spent on it.
    assert said(holders[0], terms(holders, epsilon=1e6).to_message()).kind == "opened"


def test_the_order_of_columns_does_not_matter():
    swapped = Schema.from_dict(
        {"attributes": dict(reversed(SCHEMA.to_dict()["attributes"].items()))}
    )
    assert schema_digest(swapped) == schema_digest(SCHEMA)
    other = Schema.from_dict(
        {"attributes": SCHEMA.to_dict()["attributes"] | {"a": {"kind": "boolean"}}}
    )
    assert schema_digest(other) != schema_digest(SCHEMA)


def test_a_holder_that_fears_colluders_refuses_sums_that_do_not_guard_against_them():
    holders = five(colluders=2)
    assert "guards against 1; ask with colluders 2" in sentence(
        holders[0], terms(holders, colluders=1).to_message()
    )
    assert said(holders[0], terms(holders, colluders=2).to_message()).kind == "opened"


def test_a_holder_fears_one_other_unless_told_otherwise():
    """Or a fellow holder, who knows its own share of the noise, would be somebody to be trusted."""
    holder = Holder("h0", rows(10), HolderPolicy(allowance=1.0))
    assert "fears that 1 of the others may collude" in sentence(
        holder, terms([holder]).to_message()
    )
    assert said(holder, terms([holder], "voting").to_message()).kind == "opened"


def test_a_holder_may_not_take_part_in_every_way():
    holders = five(ways=("secure",))
    assert "does not take part" in sentence(holders[0], terms(holders, "voting").to_message())


def test_secure_sums_need_an_identity():
    holder = Holder("h0", rows(10), HolderPolicy(allowance=1.0, colluders=0))
    assert "no identity" in sentence(holder, terms([holder]).to_message())
    with pytest.raises(InputError, match="allowance or a ledger"):
        Holder("h0", rows(10), HolderPolicy())


def test_the_number_of_rows_is_told_only_where_it_is_public():
    holders = five(123)
    assert said(holders[0], terms(holders).to_message()).content["rows"] is None
    holders = five(123, neighbours="replace")
    assert (
        said(holders[1], terms(holders, neighbours="replace").to_message()).content["rows"] == 123
    )


# ---- ledger


def test_the_price_is_on_the_books_before_the_answer_and_settled_at_the_end(tmp_path):
    file = LedgerFile.create(tmp_path / "h0.ledger", 2.0)
    holders = holders_of([rows(100)], allowance=None, ledger_file=file)
    said(holders[0], terms(holders).to_message())
    assert file.left() == (1.0, 0.0)
    started_at = file.read()["releases"][0]
    assert (started_at["state"], started_at["epsilon"]) == ("reserved", 1.0)
    said(holders[0], terms(holders, session="s2").to_message())
    assert "does not allow it" in sentence(holders[0], terms(holders, session="s3").to_message())
    assert str(tmp_path) not in sentence(holders[0], terms(holders, session="s3").to_message())
    # Nothing was asked in s2: it is free of charge after all.
    assert said(holders[0], Message("close", {"session": "s2"})).kind == "closed"
    assert file.left() == (1.0, 0.0)
    assert said(holders[0], Message("close", {"session": "s1"})).kind == "closed"
    assert file.left() == (2.0, 0.0)


@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize("what", ["tables", "size", "scores", "top"])
def test_noise_that_is_too_large_to_be_drawn_is_refused_before_anything_is_debited(what, delta):
    holders = five()
    started(holders, delta=delta)
    tiny = 1e-9 if not delta else 1e-22
    more = {
        "scores": {"score": "R", "most_rows": None},
        "top": {"score": "R", "most_rows": None, "delegate": "h1"},
    }
    ask = question(what=what, amount=tiny, **more.get(what, {}))
    if what == "size":
        ask = Message("ask", {"session": "s1", "round": 1, "what": "size", "amount": tiny})
    assert "more noise than holders can draw" in sentence(holders[0], ask)
    assert "for less than" in sentence(holders[0], question(2, amount=1e-300))
    assert holders[0]._sessions["s1"].ledger.entries == []


def test_what_was_asked_stands_in_the_ledger_file(tmp_path):
    file = LedgerFile.create(tmp_path / "h0.ledger", 2.0)
    holders = holders_of([rows(100)], allowance=None, ledger_file=file)
    started(holders)
    said(holders[0], question())
    close = Message("close", {"session": "s1"})
    assert said(holders[0], close).kind == "closed"
    release = file.read()["releases"][0]
    assert (release["state"], release["epsilon"], file.left()) == ("settled", 1.0, (1.0, 0.0))
    assert [entry["question"] for entry in release["entries"]] == ["table of a x b"]
    # The answer may be lost on the way, and asked for again.
    assert said(holders[0], close).kind == "closed"


def test_an_overdraft_is_refused_and_costs_nothing_more():
    holders = five()
    started(holders)
    assert said(holders[0], question(1, amount=0.75)).kind == "masked"
    assert "only 0.25 of 1 is left" in sentence(holders[0], question(2, amount=0.5))
    assert said(holders[0], question(3, amount=0.25)).kind == "masked"


def test_a_holder_answers_for_one_relation_from_the_first_session_on(tmp_path):
    """Otherwise its exact number of rows could be had under replace, for nothing, and the rest
    under add_remove.
    """
    for relation, other in (("add_remove", "replace"), ("replace", "add_remove")):
        file = LedgerFile.create(tmp_path / f"{relation}.ledger", 2.0, neighbours=relation)
        for holders in (
            five(neighbours=relation),
            holders_of([rows(50)], allowance=None, ledger_file=file),
        ):
            assert "other neighbour relation" in sentence(
                holders[0], terms(holders, epsilon=1e-12, neighbours=other).to_message()
            )
            assert (
                said(holders[0], terms(holders, neighbours=relation).to_message()).kind == "opened"
            )
    assert "other neighbour relation" in sentence(
        five()[0], terms(five(), neighbours="replace").to_message()
    )


def test_seeded_noise_does_not_belong_into_a_ledger_file(tmp_path):
    file = LedgerFile.create(tmp_path / "h0.ledger", 2.0)
    with pytest.raises(InputError, match="seeded"):
        Holder("h0", rows(10), HolderPolicy(ledger_file=file), noise=SeededNoise(1))


# ---- keys


def test_a_key_that_its_owner_did_not_sign_is_refused():
    """An analyst between two holders would have to sign with a key that it does not have."""
    holders = five()
    opened = {holder.name: said(holder, terms(holders).to_message()) for holder in holders}
    keys = {
        name: [answer.content["key"], answer.content["signature"]]
        for name, answer in opened.items()
    }
    mine, analyst = PairKeys("h1", b""), Identity.new("h1")
    for forged in (
        [mine.public.hex(), keys["h1"][1]],
        [mine.public.hex(), analyst.sign(b"whatever").hex()],
        keys["h2"],
    ):
        start = Message("start", {"session": "s1", "keys": {**keys, "h1": forged}})
        assert "key of h1 is not signed" in sentence(holders[0], start)
    assert "is not" in sentence(
        holders[0], Message("start", {"session": "s1", "keys": {**keys, "h0": keys["h1"]}})
    )
    fewer = {name: key for name, key in keys.items() if name != "h4"}
    assert "a key of each holder" in sentence(
        holders[0], Message("start", {"session": "s1", "keys": fewer})
    )
    assert said(holders[0], Message("start", {"session": "s1", "keys": keys})).kind == "started"


@pytest.mark.parametrize("spoil", [lambda pair: [*pair, "00"], lambda pair: pair[:1], "".join])
def test_a_key_comes_with_one_signature(spoil):
    holders = five()
    opened = {holder.name: said(holder, terms(holders).to_message()) for holder in holders}
    keys = {
        name: [answer.content["key"], answer.content["signature"]]
        for name, answer in opened.items()
    }
    keys["h1"] = spoil(keys["h1"])
    start = Message("start", {"session": "s1", "keys": keys})
    assert "comes with its signature" in sentence(holders[0], start)


def test_what_is_secret_is_forgotten_when_a_session_closes():
    holders = five()
    started(holders)
    assert said(holders[0], question()).kind == "masked"
    session = holders[0]._sessions["s1"]
    assert session.keys is not None
    assert session.sum is not None
    assert said(holders[0], Message("close", {"session": "s1"})).kind == "closed"
    assert (session.keys, session.sum, session._views) == (None, None, {})


def test_a_key_of_another_session_is_refused():
    """A signature is for one session and its terms: an old one cannot be used again."""
    holders = five()
    old = {holder.name: said(holder, terms(holders).to_message()) for holder in holders}
    keys = {
        name: [answer.content["key"], answer.content["signature"]] for name, answer in old.items()
    }
    now = said(holders[0], terms(holders, session="s2").to_message())
    keys["h0"] = [now.content["key"], now.content["signature"]]
    assert "not signed" in sentence(holders[0], Message("start", {"session": "s2", "keys": keys}))


def test_holders_that_were_told_different_terms_do_not_meet():
    holders = five()
    opened = {
        holder.name: said(holder, terms(holders, epsilon=1.0 + place).to_message())
        for place, holder in enumerate(holders)
    }
    keys = {
        name: [answer.content["key"], answer.content["signature"]]
        for name, answer in opened.items()
    }
    assert "not signed" in sentence(holders[0], Message("start", {"session": "s1", "keys": keys}))


# ---- rounds


def test_a_message_that_comes_again_gets_the_same_answer_and_costs_nothing():
    holders = five()
    started(holders)
    raw = question(amount=0.9).to_bytes()
    assert holders[0].answer(raw) == holders[0].answer(raw)
    assert said(holders[0], question(2, amount=0.1)).kind == "masked"
    # By now it is an old one: a replay.
    assert "next round is 3" in Message.from_bytes(holders[0].answer(raw)).content["sentence"]


@pytest.mark.parametrize("number", [0, 2, 7, -1])
def test_rounds_come_in_their_order(number):
    holders = five()
    started(holders)
    assert "next round is 1" in sentence(holders[0], question(number))


def test_a_changed_question_is_refused():
    holders = five()
    started(holders)
    said(holders[0], question(1))
    assert "next round is 2" in sentence(holders[0], question(1, tables=(("a", "c"),)))


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (question(what="rows"), "nobody asks"),
        (question(what="model"), "nobody asks"),
        (question(tables=()), "nothing to count"),
        (question(tables=(("a", "a"),)), "twice"),
        (question(tables=(("z",),)), "no attribute"),
        (question(amount=-1.0), "for nothing"),
        (question(amount=True), "amount"),
        (question(bits="trits"), "binary or gray"),
        (question(session="other"), "no such session"),
        (question(what="vote", score="R", rule="toss", tables=(("a", "b"), ("a", "c"))), "no rule"),
        (
            question(what="vote", score="Z", rule="exponential", tables=(("a", "b"), ("a", "c"))),
            "no score",
        ),
        (question(what="scores", score="misfit", tables=(("a", "b"),)), "Estimates go with"),
        (
            question(
                what="vote",
                score="R",
                rule="exponential",
                shares={},
                arrays={"offsets": np.zeros(1)},
            ),
            "which share",
        ),
        *(
            (
                question(
                    what="vote",
                    score="R",
                    rule="exponential",
                    shares={"h0": share},
                    arrays={"offsets": np.zeros(1)},
                ),
                "which share",
            )
            for share in (1.5, -0.1, True, "all")
        ),
        (question(what="top", score="R", delegate="nobody"), "delegate is not among"),
        (
            question(
                what="scores", score="misfit", shares={"h0": 0.2}, arrays={"estimates": np.zeros(5)}
            ),
            "shapes of the tables",
        ),
        (Message("tell", {"session": "s1"}), "does not know what 'tell'"),
        (Message("deliver", {"session": "s1", "round": 0, "shares": {}}), "not the time"),
        (Message("reveal", {"session": "s1", "round": 0, "signatures": {}}), "not the time"),
        (Message("start", {"session": "s1", "keys": {}}), "has been started"),
    ],
)
def test_questions_that_are_refused(message, why):
    holders = five()
    started(holders)
    assert why in sentence(holders[0], message)


def test_no_more_is_counted_than_can_be_sent(monkeypatch):
    holders = five()
    started(holders)
    monkeypatch.setattr("understudy.federation.holder_rows.MAX_NUMBERS", 11)
    assert "more than 11 cells" in sentence(holders[0], question(tables=(("a", "b"), ("a", "b"))))
    assert said(holders[0], question(2, tables=(("a", "b"),))).kind == "masked"


def test_nothing_is_asked_before_keys_are_agreed_on():
    holders = five()
    said(holders[0], terms(holders).to_message())
    assert "not agreed on keys" in sentence(holders[0], question())


@pytest.mark.parametrize("raw", [b"", b"\0" * 100, b"understudy:1\xff\xff\xff\xff{}"])
def test_garbage_gets_a_sentence(raw):
    assert Message.from_bytes(five()[0].answer(raw)).kind == "refused"


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(
    ("amount", "weights", "why"),
    [(1.0, [5e-324, 2.0**53], "for nothing"), (1e308, None, "at most 1e+12")],
)
def test_prices_at_the_ends_of_what_numbers_can_say_close_nobody(delta, amount, weights, why):
    holder = holders_of([rows(50, 1)], allowance=2.0, delta=0.5)[0]
    opening = terms([holder], "voting", session="s1", delta=delta)
    said(holder, opening.to_message())
    names, arrays = pack_marginals([marginal("a"), marginal("b")])
    if weights is not None:
        arrays["weights"] = np.array(weights)
    content = {"session": "s1", "round": 1, "what": "tables", "names": names, "bits": None}
    asked = Message("ask", {**content, "amount": amount}, arrays)
    assert why in sentence(holder, asked)
    assert said(holder, Message("hello")).kind == "hello"


def fail_with(error):
    def fail(*_):
        raise error

    return fail


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("count of row 17 is 3"),
        ValueError("17"),
        MemoryError(),
        KeyError(17),
        InputError("Row 17 is too old."),  # on purpose, but not before a row was read
    ],
)
def test_a_holder_that_meets_the_unexpected_closes(monkeypatch, error):
    """Whether it does may depend on one row: that is told once at most, and nothing else with
    it.
    """
    log = []
    holders = five(log=log.append)
    started(holders)
    said(holders[0], terms(holders, "voting", session="s2").to_message())
    log.clear()
    with monkeypatch.context() as patched:
        patched.setattr(MemoryCounter, "count", fail_with(error))
        first = holders[0].answer(question().to_bytes())
    messages = (question(), question(2), Message("hello"), Message("close", {"session": "s2"}))
    assert {holders[0].answer(message.to_bytes(), "other") for message in messages} == {first}
    assert holders[0].answer(b"garbage") == first
    assert Message.from_bytes(first).content == {
        "sentence": "The holder h0 has closed; its log says where it failed, and its owner must "
        "start it again.",
        "gone": True,
    }
    (entry,) = log
    assert re.fullmatch(rf"{type(error).__name__} at test_holder\.py:\d+", entry["why"])
    assert said(holders[1], question()).kind == "masked"  # it alone


def test_an_error_before_rows_are_read_closes_a_holder_too(monkeypatch):
    holders = five()
    with monkeypatch.context() as patched:
        patched.setattr(Message, "from_bytes", fail_with(RecursionError()))
        answer = holders[0].answer(b"")
    assert b"has closed" in answer
    assert said(holders[0], Message("hello")).kind == "refused"


def test_what_ends_the_process_closes_the_holder_and_goes_on(monkeypatch):
    holders = five()
    started(holders)
    monkeypatch.setattr(MemoryCounter, "count", fail_with(SystemExit()))
    with pytest.raises(SystemExit):
        holders[0].answer(question().to_bytes())
    assert "has closed" in sentence(holders[0], Message("hello"))


def test_what_is_refused_before_rows_are_read_closes_nobody():
    holders = five()
    started(holders)
    assert "no attribute" in sentence(holders[0], question(tables=(("z",),)))
    assert said(holders[0], question(2)).kind == "masked"


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 1.0], [1e300, 1.0], [1.0] * 3, []])
def test_weights_that_are_none_are_refused_and_close_nobody(weights):
    holders = five()
    started(holders)
    two = (("a", "b"), ("c",))
    ask = question(tables=two, arrays={"weights": np.array(weights, dtype=np.float64)})
    assert "a weight for each table" in sentence(holders[0], ask)
    ask = question(2, tables=two, arrays={"weights": np.array([1.0, 3.0])})
    assert said(holders[0], ask).kind == "masked"


def test_terms_that_cannot_be_accounted_for_are_refused_before_they_are_reserved():
    holder = Holder("h0", rows(10), HolderPolicy(allowance=1e6, delta=0.5))
    message = terms([holder], "voting").to_message()
    message = Message("open", {**message.content, "epsilon": 1e6, "delta": 1e-6})
    assert "epsilon that large" in sentence(holder, message)
    assert said(holder, terms([holder], "voting", epsilon=1e6).to_message()).kind == "opened"


# ---- what one answer costs and holds


def asking_for_sizes(holders, amount, times, delta=0.0):
    """The noise in many answers of the first holder, and the ledger of the session."""
    content = {"session": "s1", "what": "size", "amount": amount}
    answers = [
        said(holders[0], Message("ask", {**content, "round": number}))
        for number in range(1, times + 1)
    ]
    sizes = np.array([answer.content["size"] for answer in answers])
    return sizes - holders[0]._coded.rows, holders[0]._sessions["s1"].ledger


@pytest.mark.parametrize("way", ["secure", "voting"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_a_size_has_the_whole_noise_of_its_price(way, relation, delta):
    """Also in the way secure, where all else has a share of the noise alone."""
    holders = five(neighbours=relation)
    agreed = {"neighbours": relation, "epsilon": 400.0, "delta": delta}
    if way == "secure":
        started(holders, **agreed)
    else:
        said(holders[0], terms(holders, way, **agreed).to_message())
    amount, times = (0.1, 400) if not delta else (0.005, 400)
    noise, ledger = asking_for_sizes(holders, amount, times)
    moved = 1 if relation == "add_remove" else 2
    deviation = math.sqrt(2) * moved / amount if not delta else math.sqrt(moved / (2 * amount))
    # Six standard errors of the mean, and of the deviation (a Laplace variable has kurtosis 6).
    assert abs(noise.mean()) < 6 * deviation / math.sqrt(times)
    assert noise.std() == pytest.approx(deviation, rel=6 * math.sqrt(5 / (4 * times)))
    assert len(ledger.entries) == times
    assert {(e.question, e.amount) for e in ledger.entries} == {
        ("number of rows of this holder", amount)
    }
    assert ledger.left.amount == pytest.approx(ledger.budget.amount - times * amount)


def test_a_size_that_is_not_paid_for_is_not_told():
    holders = five()
    said(holders[0], terms(holders, "voting").to_message())
    ask = {"session": "s1", "round": 1, "what": "size"}
    assert "only 1 of 1 is left" in sentence(holders[0], Message("ask", {**ask, "amount": 1.5}))
    assert "for nothing" in sentence(holders[0], Message("ask", {**ask, "amount": 0, "round": 2}))


@pytest.mark.parametrize("what", ["scores", "top"])
@pytest.mark.parametrize("lie", [None, 0, 1, 49, -50])
def test_a_question_that_takes_the_holder_to_have_fewer_rows_is_refused(what, lie):
    """The noise goes by the sensitivity, and that, under replace, by the number of rows."""
    holders = holders_of([rows(50), rows(20), rows(30)], neighbours="replace")
    started(holders, neighbours="replace")
    more = {"score": "I", **({"delegate": "h1"} if what == "top" else {})}
    ask = question(what=what, tables=(("a", "b"), ("a", "c")), most_rows=lie, **more)
    assert "fewer rows than it has told" in sentence(holders[0], ask)
    assert holders[0]._sessions["s1"].ledger.entries == []
    for number, most in ((2, 50), (3, 5000)):
        ask = question(number, what, tables=(("a", "b"), ("a", "c")), most_rows=most, **more)
        assert said(holders[0], ask).kind in ("masked", "sealed")


@pytest.mark.parametrize(
    "wrong",
    [
        Message("ask", {"session": "s1", "round": 1, "what": "size", "amount": 0.9, "names": 5}),
        Message("ask", {"session": "s1", "round": 1, "what": "size", "amount": 0.9, "aside": "x"}),
        Message(
            "ask",
            {"session": "s1", "round": 1, "what": "size", "amount": 0.9},
            {"axes": np.zeros(1)},
        ),
        Message("ask", {"session": "s1", "round": 1, "what": "size", "amount": "0.9"}),
        question(weights=[1.0]),
        question(score="R"),
        question(arrays={"weights": np.ones(1, dtype=np.int64)}),
        question(
            what="vote",
            score="R",
            rule="exponential",
            tables=(("a", "b"), ("a", "c")),
            most_rows="all",
        ),
        question(
            what="vote",
            score="R",
            rule="exponential",
            tables=(("a", "b"), ("a", "c")),
            delegate="h0",
        ),
    ],
)
def test_fields_that_are_not_read_or_of_another_type_are_refused_before_anything_is_debited(wrong):
    """And a repetition is refused again: no answer is kept of what the log calls refused."""
    log = []
    holders = five(log=log.append)
    said(holders[0], terms(holders, "voting").to_message())
    for _ in range(2):
        sentence(holders[0], wrong)
    assert [entry["answered"] for entry in log] == ["opened", "refused", "refused"]
    assert holders[0]._sessions["s1"].ledger.entries == []


@pytest.mark.parametrize("full", [InputError, OSError, RuntimeError])
def test_a_question_that_cannot_be_logged_is_not_answered_then_or_later(full):
    written = []

    def log(entry):
        if entry.get("asked") == "ask" and not written:
            written.append(entry)
            raise full("the disk is full")

    holders = five(log=log)
    said(holders[0], terms(holders, "voting").to_message())
    ask = question()
    for message in (ask, ask, question(2), Message("hello")):
        assert "has closed" in sentence(holders[0], message)


def test_a_repetition_stands_in_the_log():
    log = []
    holders = five(log=log.append)
    said(holders[0], terms(holders, "voting").to_message())
    raw = question().to_bytes()
    assert holders[0].answer(raw) == holders[0].answer(raw)
    close = Message("close", {"session": "s1"})
    assert said(holders[0], close) == said(holders[0], close)
    assert [entry["answered"] for entry in log] == [
        "opened",
        "answer",
        "repeated",
        "closed",
        "repeated",
    ]
    assert log[1]["question"] == log[2]["question"]


def test_a_session_that_nobody_knows_stands_in_the_log():
    log = []
    holders = five(log=log.append)
    assert said(holders[0], question()).content["gone"] is True
    assert [entry["answered"] for entry in log] == ["gone"]
    assert "no such session" in log[0]["why"]


@pytest.mark.parametrize(
    "changes",
    [{"session": "s\n05:00 closed"}, {"method": {"name": "x\x1b[2A"}}, {"session": "s" * 101}],
)
def test_names_that_would_spoil_a_log_or_a_screen_are_refused(changes):
    message = terms(five()).to_message()
    assert "plain text" in sentence(five()[0], Message("open", {**message.content, **changes}))


# ---- who asks


def test_a_session_is_its_openers_alone():
    holders = five()
    opening, ask, close = (
        terms(holders, "voting").to_message(),
        question(),
        Message("close", {"session": "s1"}),
    )

    def asked_by(asker, message):
        return Message.from_bytes(holders[0].answer(message.to_bytes(), asker))

    for message, kind in ((opening, "opened"), (ask, "answer"), (close, "closed")):
        answers = [
            asked_by("registry", message),
            asked_by("other", message),
            asked_by("registry", message),
        ]
        assert [answer.kind for answer in answers] == [kind, "refused", kind]
        assert "opened by somebody else" in answers[1].content["sentence"]


def test_nobody_crowds_out_anothers_session():
    """Of one analyst's own sessions the one that was not heard of for longest gives way."""
    holders = five()

    def asked_by(asker, message):
        return Message.from_bytes(holders[0].answer(message.to_bytes(), asker))

    asked_by("registry", terms(holders, "voting").to_message())
    for place in range(MAX_SESSIONS + 3):
        opening = terms(holders, "voting", session=f"x{place}", epsilon=0.01).to_message()
        assert asked_by("other", opening).kind == "opened"
        if place:  # it goes on with its first one all the time
            assert asked_by("other", question(place, session="x0", amount=1e-4)).kind == "answer"
    assert asked_by("registry", question()).kind == "answer"
    assert asked_by("other", Message("close", {"session": "x1"})).content["gone"] is True
    assert len(holders[0]._sessions) == MAX_SESSIONS + 1


# ---- the auditor


def test_the_log_tells_what_was_asked_and_answered_and_nothing_private():
    log = []
    holders = five(log=log.append)
    started(holders)
    said(holders[0], question())
    sentence(holders[0], question(7))
    said(holders[0], Message("close", {"session": "s1"}))
    entries = json.loads(json.dumps(log))
    opened = next(entry for entry in entries if entry.get("asked") == "open")
    assert opened["terms"]["epsilon"] == 1.0
    asked = next(entry for entry in entries if entry.get("asked") == "ask")
    assert asked["names"] == ["a x b"]
    assert (asked["amount"], asked["currency"], asked["left"]) == (0.1, "epsilon", 0.9)
    assert any("next round is 2" in entry.get("why", "") for entry in entries)


def test_a_holder_with_no_rows_answers_like_any_other():
    holders = holders_of([rows(0), rows(50), rows(50)])
    started(holders)
    assert said(holders[0], question()).arrays["numbers"].size == 6
