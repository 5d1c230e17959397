"""Messages to holders, one by one, as an analyst sends them who does not keep the rules."""

from __future__ import annotations

from memory_holders import SCHEMA

from understudy.data.marginals import marginal
from understudy.federation.messages import Message
from understudy.federation.terms import Terms, schema_digest
from understudy.privacy.wire import pack_marginals


def terms(holders, way="secure", **more):
    given = {
        "epsilon": 1.0,
        "delta": 0.0,
        "neighbours": "add_remove",
        "dropouts": 0,
        "colluders": 0,
    } | more
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
    keys = {
        name: [answer.content["key"], answer.content["signature"]]
        for name, answer in opened.items()
    }
    start = Message("start", {"session": more.get("session", "s1"), "keys": keys})
    for holder in holders:
        assert said(holder, start).kind == "started"
    return start


def question(
    number=1, what="tables", amount=0.1, tables=(("a", "b"),), session="s1", arrays=None, **more
):
    names, axes = pack_marginals([marginal(*table) for table in tables])
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


def agreement(present, number=1):
    return Message("agree", {"session": "s1", "round": number, "present": present})
