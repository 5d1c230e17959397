"""A holder against an analyst who does not keep the rules."""

from __future__ import annotations

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from memory_holders import SCHEMA, five, holders_of, rows

from understudy.curator.ledger import LedgerFile
from understudy.curator.mechanisms import SeededNoise
from understudy.curator.scores import LARGEST_ESTIMATE, SCORES
from understudy.errors import InputError
from understudy.federation import Holder
from understudy.federation.holder import (
    LARGEST_OFFSET,
    MOST_HOLDERS,
    MOST_ROWS,
    MOST_SESSIONS,
    Terms,
    keys_digest,
    schema_digest,
    score_sensitivity,
    sum_statement,
)
from understudy.federation.identity import Identity
from understudy.federation.masking import PairKeys, pair_mask
from understudy.federation.messages import Message, digest, packed
from understudy.federation.noise_shares import LARGEST_SCALE, SHARED_GRID
from understudy.marginals import marginal
from understudy.schema import Schema


def terms(holders, way="secure", **more):
    given = {"epsilon": 1.0, "delta": 0.0, "neighbours": "add_remove", "dropouts": 0, "colluders": 0} | more
    names = tuple(sorted(holder.name for holder in holders))
    return Terms(
        given.pop("session", "s1"),
        given.pop("schema", schema_digest(SCHEMA)),
        way,
        {"name": "x"},
        holders=names,
        **given,
    )


def said(holder, message):
    return Message.from_bytes(holder.answer(message.to_bytes()))


def sentence(holder, message):
    answer = said(holder, message)
    assert answer.kind == "refused", answer
    return answer.content["sentence"]


def started(holders, **more):
    """All holders opened and started a secure session."""
    opened = {holder.name: said(holder, terms(holders, **more).to_message()) for holder in holders}
    keys = {name: [answer.content["key"], answer.content["signature"]] for name, answer in opened.items()}
    start = Message("start", {"session": more.get("session", "s1"), "keys": keys})
    for holder in holders:
        assert said(holder, start).kind == "started"
    return start


def question(number=1, what="tables", amount=0.1, tables=(("a", "b"),), session="s1", arrays=None, **more):
    names, axes = packed([marginal(*table) for table in tables])
    content = {
        "session": session,
        "round": number,
        "what": what,
        "names": names,
        "bits": None,
        "amount": amount,
        **more,
    }
    return Message("ask", content, {**axes, **(arrays or {})})


# ---- terms


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
        ({"dropouts": 2, "colluders": 1}, "no sum is secure"),
        ({"dropouts": 5}, "all but one"),
        ({"colluders": -1}, "all but one"),
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
    swapped = Schema.from_dict({"attributes": dict(reversed(SCHEMA.to_dict()["attributes"].items()))})
    assert schema_digest(swapped) == schema_digest(SCHEMA)
    other = Schema.from_dict({"attributes": SCHEMA.to_dict()["attributes"] | {"a": {"kind": "boolean"}}})
    assert schema_digest(other) != schema_digest(SCHEMA)


def test_a_holder_that_fears_colluders_refuses_sums_that_do_not_guard_against_them():
    holders = five(colluders=2)
    assert "guards against 1" in sentence(holders[0], terms(holders, colluders=1).to_message())
    assert said(holders[0], terms(holders, colluders=2).to_message()).kind == "opened"


def test_a_holder_may_not_take_part_in_every_way():
    holders = five(ways=("secure",))
    assert "does not take part" in sentence(holders[0], terms(holders, "voting").to_message())


def test_secure_sums_need_an_identity():
    holder = Holder("h0", rows(10), allowance=1.0)
    assert "no identity" in sentence(holder, terms([holder]).to_message())
    with pytest.raises(InputError, match="allowance or a ledger"):
        Holder("h0", rows(10))


def test_the_number_of_rows_is_told_only_where_it_is_public():
    holders = five(123)
    assert said(holders[0], terms(holders).to_message()).content["rows"] is None
    holders = five(123, neighbours="replace")
    assert said(holders[1], terms(holders, neighbours="replace").to_message()).content["rows"] == 123


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
    more = {"scores": {"score": "R", "most_rows": None}, "top": {"score": "R", "most_rows": None, "delegate": "h1"}}
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
    """Otherwise its exact number of rows could be had under replace, for nothing, and the rest under add_remove."""
    for relation, other in (("add_remove", "replace"), ("replace", "add_remove")):
        file = LedgerFile.create(tmp_path / f"{relation}.ledger", 2.0, neighbours=relation)
        for holders in (five(neighbours=relation), holders_of([rows(50)], allowance=None, ledger_file=file)):
            assert "other neighbour relation" in sentence(
                holders[0], terms(holders, epsilon=1e-12, neighbours=other).to_message()
            )
            assert said(holders[0], terms(holders, neighbours=relation).to_message()).kind == "opened"
    assert "other neighbour relation" in sentence(five()[0], terms(five(), neighbours="replace").to_message())


def test_seeded_noise_does_not_belong_into_a_ledger_file(tmp_path):
    file = LedgerFile.create(tmp_path / "h0.ledger", 2.0)
    with pytest.raises(InputError, match="seeded"):
        Holder("h0", rows(10), ledger_file=file, noise=SeededNoise(1))


# ---- keys


def test_a_key_that_its_owner_did_not_sign_is_refused():
    """An analyst between two holders would have to sign with a key that it does not have."""
    holders = five()
    opened = {holder.name: said(holder, terms(holders).to_message()) for holder in holders}
    keys = {name: [answer.content["key"], answer.content["signature"]] for name, answer in opened.items()}
    mine, analyst = PairKeys("h1", b""), Identity.new("h1")
    for forged in (
        [mine.public.hex(), keys["h1"][1]],
        [mine.public.hex(), analyst.sign(b"whatever").hex()],
        keys["h2"],
    ):
        start = Message("start", {"session": "s1", "keys": {**keys, "h1": forged}})
        assert "key of h1 is not signed" in sentence(holders[0], start)
    assert "is not" in sentence(holders[0], Message("start", {"session": "s1", "keys": {**keys, "h0": keys["h1"]}}))
    fewer = {name: key for name, key in keys.items() if name != "h4"}
    assert "a key of each holder" in sentence(holders[0], Message("start", {"session": "s1", "keys": fewer}))
    assert said(holders[0], Message("start", {"session": "s1", "keys": keys})).kind == "started"


def test_a_key_of_another_session_is_refused():
    """A signature is for one session and its terms: an old one cannot be used again."""
    holders = five()
    old = {holder.name: said(holder, terms(holders).to_message()) for holder in holders}
    keys = {name: [answer.content["key"], answer.content["signature"]] for name, answer in old.items()}
    now = said(holders[0], terms(holders, session="s2").to_message())
    keys["h0"] = [now.content["key"], now.content["signature"]]
    assert "not signed" in sentence(holders[0], Message("start", {"session": "s2", "keys": keys}))


def test_holders_that_were_told_different_terms_do_not_meet():
    holders = five()
    opened = {
        holder.name: said(holder, terms(holders, epsilon=1.0 + place).to_message())
        for place, holder in enumerate(holders)
    }
    keys = {name: [answer.content["key"], answer.content["signature"]] for name, answer in opened.items()}
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
        (question(what="vote", score="Z", rule="exponential", tables=(("a", "b"), ("a", "c"))), "no score"),
        (question(what="scores", score="misfit", tables=(("a", "b"),)), "Estimates go with"),
        (
            question(what="vote", score="R", rule="exponential", shares={}, arrays={"offsets": np.zeros(1)}),
            "which share",
        ),
        (question(what="top", score="R", delegate="nobody"), "delegate is not among"),
        (
            question(what="scores", score="misfit", shares={"h0": 0.2}, arrays={"estimates": np.zeros(5)}),
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
    monkeypatch.setattr("understudy.federation.holder.MOST_NUMBERS", 11)
    assert "more than 11 cells" in sentence(holders[0], question(tables=(("a", "b"), ("a", "b"))))
    assert said(holders[0], question(2, tables=(("a", "b"),))).kind == "masked"


def test_nothing_is_asked_before_keys_are_agreed_on():
    holders = five()
    said(holders[0], terms(holders).to_message())
    assert "not agreed on keys" in sentence(holders[0], question())


@pytest.mark.parametrize("raw", [b"", b"\0" * 100, b"understudy:1\xff\xff\xff\xff{}"])
def test_garbage_gets_a_sentence(raw):
    assert Message.from_bytes(five()[0].answer(raw)).kind == "refused"


def test_whatever_goes_wrong_inside_stays_inside(monkeypatch):
    holders = five()
    started(holders)
    log = []
    holders[0]._log = log.append

    def fail(*_):
        raise RuntimeError("count of row 17 is 3")

    monkeypatch.setattr("understudy.federation.holder.HolderRows.measure", fail)
    told = sentence(holders[0], question())
    assert "17" not in told
    assert "its log says where" in told
    assert len(log) == 1
    assert re.fullmatch(r"RuntimeError at test_holder\.py:\d+", log[0]["why"])


@pytest.mark.parametrize(
    "wrong",
    [
        Message("ask", {"session": "s1", "round": 1, "what": "size", "amount": 0.9, "names": 5}),
        Message("ask", {"session": "s1", "round": 1, "what": "size", "amount": 0.9, "aside": "x"}),
        Message("ask", {"session": "s1", "round": 1, "what": "size", "amount": 0.9}, {"axes": np.zeros(1)}),
        Message("ask", {"session": "s1", "round": 1, "what": "size", "amount": "0.9"}),
        question(weights=[1.0]),
        question(score="R"),
        question(arrays={"weights": np.ones(1, dtype=np.int64)}),
        question(what="vote", score="R", rule="exponential", tables=(("a", "b"), ("a", "c")), most_rows="all"),
        question(what="vote", score="R", rule="exponential", tables=(("a", "b"), ("a", "c")), delegate="h0"),
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


def test_a_question_that_cannot_be_logged_is_not_answered_then_or_later():
    written = []

    def log(entry):
        if entry.get("asked") == "ask" and not written:
            written.append(entry)
            raise RuntimeError("the disk is full")

    holders = five(log=log)
    said(holders[0], terms(holders, "voting").to_message())
    ask = question()
    assert said(holders[0], ask).kind == "refused"
    assert "next round is 2" in sentence(holders[0], ask)


def test_a_repetition_stands_in_the_log():
    log = []
    holders = five(log=log.append)
    said(holders[0], terms(holders, "voting").to_message())
    raw = question().to_bytes()
    assert holders[0].answer(raw) == holders[0].answer(raw)
    close = Message("close", {"session": "s1"})
    assert said(holders[0], close) == said(holders[0], close)
    assert [entry["answered"] for entry in log] == ["opened", "answer", "repeated", "closed", "repeated"]
    assert log[1]["question"] == log[2]["question"]


@pytest.mark.parametrize(
    "changes", [{"session": "s\n05:00 closed"}, {"method": {"name": "x\x1b[2A"}}, {"session": "s" * 101}]
)
def test_names_that_would_spoil_a_log_or_a_screen_are_refused(changes):
    message = terms(five()).to_message()
    assert "plain text" in sentence(five()[0], Message("open", {**message.content, **changes}))


# ---- who asks


def test_a_session_is_its_openers_alone():
    holders = five()
    opening, ask, close = terms(holders, "voting").to_message(), question(), Message("close", {"session": "s1"})

    def asked_by(asker, message):
        return Message.from_bytes(holders[0].answer(message.to_bytes(), asker))

    for message, kind in ((opening, "opened"), (ask, "answer"), (close, "closed")):
        answers = [asked_by("registry", message), asked_by("other", message), asked_by("registry", message)]
        assert [answer.kind for answer in answers] == [kind, "refused", kind]
        assert "opened by somebody else" in answers[1].content["sentence"]


def test_nobody_crowds_out_anothers_session():
    """Of one analyst's own sessions the one that was not heard of for longest gives way."""
    holders = five()

    def asked_by(asker, message):
        return Message.from_bytes(holders[0].answer(message.to_bytes(), asker))

    asked_by("registry", terms(holders, "voting").to_message())
    for place in range(MOST_SESSIONS + 3):
        opening = terms(holders, "voting", session=f"x{place}", epsilon=0.01).to_message()
        assert asked_by("other", opening).kind == "opened"
        if place:  # it goes on with its first one all the time
            assert asked_by("other", question(place, session="x0", amount=1e-4)).kind == "answer"
    assert asked_by("registry", question()).kind == "answer"
    assert asked_by("other", Message("close", {"session": "x1"})).content["gone"] is True
    assert len(holders[0]._sessions) == MOST_SESSIONS + 1


# ---- a malicious analyst and sums that survive drop-outs


def shared(holders, number=1, **more):
    """The first step of a round: everybody's shares."""
    return {holder.name: said(holder, question(number, **more)).content for holder in holders}


def delivered(holder, told, among, number=1):
    shares = {name: told[name]["shares"][holder.name] for name in among if name != holder.name}
    return Message("deliver", {"session": "s1", "round": number, "shares": shares})


def agreement(present, number=1):
    return Message("agree", {"session": "s1", "round": number, "present": present})


def test_both_secrets_of_a_holder_are_never_told():
    """The analyst tells half of the holders that h0 is in the sum, and the others that it dropped out."""
    holders = five()
    started(holders, dropouts=2)
    everybody = [holder.name for holder in holders]
    told = shared(holders)
    for holder in holders:
        assert said(holder, delivered(holder, told, everybody)).kind == "masked"
    without = everybody[1:]
    signatures = {}
    for holder in holders:
        present = everybody if holder.name in ("h0", "h1") else without
        answer = said(holder, agreement(present))
        signatures[holder.name] = answer.content["signature"]
        # It does not sign for another sum afterwards.
        assert "not the time" in sentence(holder, agreement(without if present == everybody else everybody))
    reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": signatures})
    for holder in holders[:2]:
        assert "Only 2 of the 3" in sentence(holder, reveal)
    for holder in holders[2:]:
        answer = said(holder, reveal)
        assert "h0" not in answer.content["own"]
        assert list(answer.content["pair"]) == ["h0"]


@pytest.mark.parametrize("present", [["h0", "h1", "h2"], ["h1", "h2", "h3", "h4"], ["h0", "h0", "h1", "h2", "h3"]])
def test_sums_of_too_few_of_others_or_twice_of_one_are_not_signed(present):
    holders = five()
    started(holders, dropouts=1)
    everybody = [holder.name for holder in holders]
    told = shared(holders)
    for holder in holders:
        said(holder, delivered(holder, told, everybody))
    assert said(holders[0], agreement(present)).kind == "refused"


def test_masks_of_too_few_are_not_made():
    holders = five()
    started(holders, dropouts=1)
    told = shared(holders)
    assert "3 holders are in the sum, and 4 must be" in sentence(
        holders[0], delivered(holders[0], told, ["h0", "h1", "h2"])
    )


def test_shares_are_told_only_for_signatures_of_peers():
    holders = five()
    started(holders, dropouts=1)
    everybody = [holder.name for holder in holders]
    told = shared(holders)
    for holder in holders:
        said(holder, delivered(holder, told, everybody))
    signatures = {holder.name: said(holder, agreement(everybody)).content["signature"] for holder in holders}
    forged = dict.fromkeys(everybody, signatures["h0"])
    reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": forged})
    assert "Only 1 of the 4" in sentence(holders[0], reveal)
    reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": signatures})
    answer = said(holders[0], reveal)
    assert sorted(answer.content["own"]) == everybody
    assert answer.content["pair"] == {}
    again = Message("reveal", {"session": "s1", "round": 1, "signatures": {**signatures, "x": "00"}})
    assert "not the time" in sentence(holders[0], again)


def test_shares_that_were_changed_or_come_from_another_round_are_refused():
    holders = five()
    started(holders, dropouts=1)
    everybody = [holder.name for holder in holders]
    first, second = shared(holders), shared(holders, 2)
    mixed = {**second, "h1": first["h1"]}
    assert "changed on the way" in sentence(holders[0], delivered(holders[0], mixed, everybody, 2))
    changed = {**second, "h1": {"shares": {"h0": "00" * 148}}}
    assert "changed on the way" in sentence(holders[0], delivered(holders[0], changed, everybody, 2))
    assert said(holders[0], delivered(holders[0], second, everybody, 2)).kind == "masked"


def test_holders_that_were_asked_different_things_cannot_read_each_others_shares():
    holders = five()
    started(holders, dropouts=1)
    told = {
        holder.name: said(holder, question(1, amount=0.1 + 0.01 * place)).content
        for place, holder in enumerate(holders)
    }
    assert "changed on the way" in sentence(holders[0], delivered(holders[0], told, list(told)))


# ---- the delegate


TWO = (("a", "b"), ("a", "c"))


def top(number=1, tables=TWO, **more):
    return question(number, what="top", score="R", delegate="h1", tables=tables, most_rows=None, **more)


def pick(boxes, number=1, **more):
    return Message("pick", {"session": "s1", "round": number}, {**boxes, **more})


def sealed_by(holders, ask):
    """What each holder but the delegate seals for it."""
    answers = {holder.name: said(holder, ask) for holder in holders}
    assert {answer.kind for answer in answers.values()} == {"sealed"}
    assert answers.pop("h1").arrays["box"].size == 0
    return {f"numbers of {name}": answer.arrays["box"] for name, answer in answers.items()}


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_only_the_delegate_picks_and_only_once(delta):
    holders = five()
    started(holders, delta=delta)
    boxes = sealed_by(holders, top(amount=0.01))
    assert "not the time" in sentence(holders[0], pick(boxes))
    assert said(holders[1], pick(boxes)).content["place"] in (0, 1)
    assert "not the time" in sentence(holders[1], pick(boxes, **{"numbers of h0": boxes["numbers of h2"]}))


def test_the_delegate_takes_no_numbers_from_the_analyst():
    """Whoever adds 2^63 - T to a sum makes it wrap at T, where one-sided noise hides nothing."""
    holders = five()
    started(holders)
    boxes = sealed_by(holders, top())
    numbers = np.full(2, (1 << 63) - 1000, dtype=np.uint64)
    fewer = {name: box for name, box in boxes.items() if name != "numbers of h4"}
    for more in ({**boxes, "numbers": numbers}, {**boxes, "numbers of h9": boxes["numbers of h0"]}, fewer, {}):
        assert "has sealed for it, and nothing else" in sentence(holders[1], pick(more))
    ones = boxes["numbers of h0"].copy()
    ones[3] ^= 1
    for wrong in (ones, boxes["numbers of h2"], numbers.view(np.uint8), np.empty(0, np.uint8), ones[:-1]):
        assert "What h0 sealed for h1 was changed" in sentence(holders[1], pick({**boxes, "numbers of h0": wrong}))
    assert "What h0 sealed" in sentence(holders[1], pick({**boxes, "numbers of h0": numbers}))
    assert said(holders[1], pick(boxes)).kind == "answer"


def test_what_is_sealed_for_one_round_or_question_opens_in_no_other():
    holders = five()
    started(holders)
    first = sealed_by(holders, top(1))
    second = sealed_by(holders, top(2))
    assert "What h3 sealed" in sentence(holders[1], pick({**second, "numbers of h3": first["numbers of h3"]}, number=2))
    third = sealed_by(holders[1:], top(3))
    third["numbers of h0"] = said(holders[0], top(3, amount=0.2)).arrays["box"]
    assert "What h0 sealed" in sentence(holders[1], pick(third, number=3))


def test_what_the_delegate_opens_is_masked_all_the_same():
    """It may learn the sum, and nothing of any other holder alone."""
    holders = five()
    started(holders)
    boxes = sealed_by(holders, top())
    session, seen = holders[1]._sessions["s1"], 0
    for name in ("h0", "h2", "h3", "h4"):
        content = holders[1]._opened(session, pick(boxes), name, "numbers", session.work.question, 16)
        mine = pair_mask("h1", {name: session.work.seeds[name]}, 2)
        seen = seen + content.view("<u8") + mine
        assert np.abs((content.view("<u8") + mine).view(np.int64)).min() > 2**30
    assert np.abs(seen.view(np.int64)).max() < 2**30


def dropped(holders, number=1, gone="h4"):
    """One holder does not answer; the others agree, and seal their seeds with it for the delegate."""
    left = [holder for holder in holders if holder.name != gone]
    boxes = sealed_by(left, top(number))
    present = [holder.name for holder in left]
    signatures = {holder.name: said(holder, agreement(present, number)).content["signature"] for holder in left}
    reveal = Message("reveal", {"session": "s1", "round": number, "signatures": signatures})
    seeds = {f"seeds of {h.name}": said(h, reveal).arrays["box"] for h in left if h.name != "h1"}
    return left, boxes, seeds


def test_the_delegate_adds_up_over_those_that_were_agreed_on_and_no_others():
    holders = five()
    started(holders, dropouts=1)
    late = said(holders[4], top()).arrays["box"]
    _, boxes, seeds = dropped(holders)
    refused = "has sealed for it, and nothing else"
    assert refused in sentence(holders[1], pick(boxes))
    assert refused in sentence(holders[1], pick({**boxes, **seeds, "numbers of h4": late}))
    assert "What h0 sealed" in sentence(holders[1], pick({**boxes, **seeds, "seeds of h0": seeds["seeds of h2"]}))
    assert "What h0 sealed" in sentence(holders[1], pick({**boxes, **seeds, "numbers of h0": late}))
    assert said(holders[1], pick({**boxes, **seeds})).content["place"] in (0, 1)


def test_seeds_are_sealed_once_for_one_agreement_that_enough_signed():
    holders = five()
    started(holders, dropouts=1)
    sealed_by(holders, top())
    everybody = [holder.name for holder in holders]
    signatures = {}
    for holder in holders:  # the analyst tells h0 another story than the others
        present = everybody[:4] if holder.name == "h0" else everybody[:3] + everybody[4:]
        if holder.name in present:
            signatures[holder.name] = said(holder, agreement(present)).content["signature"]
    reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": signatures})
    for place in (0, 2, 4):
        assert "of the 4 holders that are needed signed" in sentence(holders[place], reveal)
    assert "not the time" in sentence(holders[1], reveal)  # the delegate has nothing to tell to anybody


def test_no_sum_is_agreed_on_without_the_delegate():
    holders = five()
    started(holders, dropouts=1)
    sealed_by(holders, top())
    for holder in holders:
        if holder.name != "h1":
            assert "Without the delegate" in sentence(holder, agreement(["h0", "h2", "h3", "h4"]))


LIMIT = LARGEST_OFFSET


@pytest.mark.parametrize("offsets", [[-(2**63), 0], [LIMIT + 1, 0], [0, -LIMIT - 1], [2**63 - 1, 0], [0]])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_offsets_that_are_too_large_are_refused_before_anything_is_debited(offsets, delta):
    holders = five()
    started(holders, delta=delta)
    ask = top(arrays={"offsets": np.array(offsets, dtype=np.int64)}, amount=0.001)
    for holder in holders:
        assert "Offsets must be" in sentence(holder, ask)
        assert holder._sessions["s1"].ledger.entries == []
    ask = top(2, arrays={"offsets": np.array([-LIMIT, LIMIT])}, amount=0.001)
    assert said(holders[1], pick(sealed_by(holders, ask), 2)).content["place"] == 1


def test_a_delegates_sums_are_exact_as_floating_point_numbers():
    """Scores of all holders, offsets and noise: by public limits, below 2^53."""
    scores = (MOST_ROWS + LARGEST_ESTIMATE) * SHARED_GRID / 0.75
    smallest = min(
        score_sensitivity(name, relation, 2, binary, top=True)
        for name in SCORES for relation in ("add_remove", "replace") for binary in (False, True)
    )  # fmt: skip
    assert smallest == 0.75
    noise = 2**12 * LARGEST_SCALE * math.sqrt(MOST_HOLDERS)  # so many deviations away, all shares being whole noises
    assert MOST_HOLDERS * scores + LARGEST_OFFSET + noise <= 2**53
    many = SimpleNamespace(rows=MOST_ROWS, schema=SCHEMA)
    with pytest.raises(InputError, match="fewer than"):
        Holder("h0", many, allowance=1.0)


@pytest.mark.parametrize("what", ["vote", "scores", "top"])
def test_a_candidate_that_stands_twice_is_refused_before_anything_is_debited(what):
    holders = five()
    started(holders)
    more = {"vote": {"rule": "exponential"}, "scores": {}, "top": {"delegate": "h1"}}[what]
    ask = question(what=what, score="R", tables=(*TWO, TWO[0]), most_rows=None, **more)
    assert "stands twice" in sentence(holders[0], ask)
    assert holders[0]._sessions["s1"].ledger.entries == []


def test_no_delegate_where_colluders_are_feared():
    holders = five()
    started(holders, colluders=1)
    ask = question(what="top", score="R", delegate="h1", tables=(("a", "b"), ("a", "c")), most_rows=None)
    assert "not feared to collude" in sentence(holders[0], ask)


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


def test_a_colluding_holder_signs_for_two_sums_and_still_one_of_them_lacks_signatures():
    """Four holders, one may drop out, one colludes: h3 signs whatever the analyst wants."""
    holders = five()[:4]
    start = started(holders, dropouts=1, colluders=1)
    everybody = [holder.name for holder in holders]
    told = shared(holders)
    for holder in holders:
        said(holder, delivered(holder, told, everybody))
    context = digest(terms(holders, dropouts=1, colluders=1).to_message().to_bytes())
    all_keys = keys_digest({name: bytes.fromhex(key) for name, (key, _) in start.content["keys"].items()})

    def league(present):
        statement = sum_statement(context, all_keys, 1, digest(question().to_bytes()), everybody, present)
        return holders[3].identity.sign(statement).hex()

    without = ["h1", "h2", "h3"]
    signatures = {"h0": said(holders[0], agreement(everybody)).content["signature"]}
    for holder in holders[1:3]:
        signatures[holder.name] = said(holder, agreement(without)).content["signature"]
    for_all = Message("reveal", {"session": "s1", "round": 1, "signatures": {**signatures, "h3": league(everybody)}})
    assert "Only 2 of the 3" in sentence(holders[0], for_all)
    for_some = Message("reveal", {"session": "s1", "round": 1, "signatures": {**signatures, "h3": league(without)}})
    for holder in holders[1:3]:
        answer = said(holder, for_some).content
        assert (sorted(answer["own"]), list(answer["pair"])) == (without, ["h0"])


def test_a_signature_of_a_session_that_was_opened_again_in_the_same_terms_is_worth_nothing():
    """A holder that was started again has another key: what others signed for before does not count now."""
    holders = five()[:3]
    parts = {holder.name: holder for holder in holders}
    old = {}
    for _ in range(2):
        started(holders, dropouts=1)
        everybody = sorted(parts)
        told = shared(holders)
        for holder in holders:
            said(holder, delivered(holder, told, everybody))
        signatures = {name: said(parts[name], agreement(everybody)).content["signature"] for name in everybody}
        if old:
            reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": old})
            assert "Only 1 of the 2" in sentence(holders[0], reveal)
            reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": signatures})
            assert said(holders[0], reveal).kind == "revealed"
        old = signatures
        for holder in holders:
            holder._sessions.clear()


def test_holders_that_were_told_of_different_masks_do_not_open_the_sum():
    """The analyst delivers the shares of different holders to each: the sums that they sign for differ."""
    holders = five()
    started(holders, dropouts=1)
    everybody = [holder.name for holder in holders]
    told = shared(holders)
    for holder in holders:
        among = everybody if holder.name < "h3" else everybody[1:]
        said(holder, delivered(holder, told, among))
    present = everybody[1:]
    signatures = {holder.name: said(holder, agreement(present)).content["signature"] for holder in holders[1:]}
    reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": signatures})
    for holder in holders[1:]:
        assert "of the 4 holders that are needed signed" in sentence(holder, reveal)
