"""Sums that survive drop-outs, against an analyst who tells holders different stories."""

from __future__ import annotations

import pytest
from memory_holders import five

from asking import agreement, question, said, sentence, started, terms
from understudy.federation import Holder, HolderPolicy, secure_sums
from understudy.federation.messages import Message, digest
from understudy.federation.session_keys import keys_digest, sum_statement
from understudy.federation.sharing import shares_of


def shared(holders, number=1, **more):
    """The first step of a round: everybody's shares."""
    return {holder.name: said(holder, question(number, **more)).content for holder in holders}


def delivered(holder, told, among, number=1):
    shares = {name: told[name]["shares"][holder.name] for name in among if name != holder.name}
    return Message("deliver", {"session": "s1", "round": number, "shares": shares})


def test_both_secrets_of_a_holder_are_never_told():
    """The analyst tells half of the holders that h0 is in the sum, and the others that it dropped
    out.
    """
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
        assert "not the time" in sentence(
            holder, agreement(without if present == everybody else everybody)
        )
    reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": signatures})
    for holder in holders[:2]:
        assert "Only 2 of the 3" in sentence(holder, reveal)
    for holder in holders[2:]:
        answer = said(holder, reveal)
        assert "h0" not in answer.content["own"]
        assert list(answer.content["pair"]) == ["h0"]


@pytest.mark.parametrize(
    "present", [["h0", "h1", "h2"], ["h1", "h2", "h3", "h4"], ["h0", "h0", "h1", "h2", "h3"]]
)
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
    signatures = {
        holder.name: said(holder, agreement(everybody)).content["signature"] for holder in holders
    }
    forged = dict.fromkeys(everybody, signatures["h0"])
    reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": forged})
    assert "Only 1 of the 4" in sentence(holders[0], reveal)
    reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": signatures})
    answer = said(holders[0], reveal)
    assert sorted(answer.content["own"]) == everybody
    assert answer.content["pair"] == {}
    again = Message(
        "reveal", {"session": "s1", "round": 1, "signatures": {**signatures, "x": "00"}}
    )
    assert "not the time" in sentence(holders[0], again)


def test_shares_that_were_changed_or_come_from_another_round_are_refused():
    holders = five()
    started(holders, dropouts=1)
    everybody = [holder.name for holder in holders]
    first, second = shared(holders), shared(holders, 2)
    mixed = {**second, "h1": first["h1"]}
    assert "changed on the way" in sentence(holders[0], delivered(holders[0], mixed, everybody, 2))
    changed = {**second, "h1": {"shares": {"h0": "00" * 148}}}
    assert "changed on the way" in sentence(
        holders[0], delivered(holders[0], changed, everybody, 2)
    )
    assert said(holders[0], delivered(holders[0], second, everybody, 2)).kind == "masked"


def test_holders_that_were_asked_different_things_cannot_read_each_others_shares():
    holders = five()
    started(holders, dropouts=1)
    told = {
        holder.name: said(holder, question(1, amount=0.1 + 0.01 * place)).content
        for place, holder in enumerate(holders)
    }
    assert "changed on the way" in sentence(holders[0], delivered(holders[0], told, list(told)))


def test_a_colluding_holder_signs_for_two_sums_and_still_one_of_them_lacks_signatures():
    """Four holders, one may drop out, one colludes: h3 signs whatever the analyst wants."""
    holders = five()[:4]
    start = started(holders, dropouts=1, colluders=1)
    everybody = [holder.name for holder in holders]
    told = shared(holders)
    for holder in holders:
        said(holder, delivered(holder, told, everybody))
    context = digest(terms(holders, dropouts=1, colluders=1).to_message().to_bytes())
    all_keys = keys_digest(
        {name: bytes.fromhex(key) for name, (key, _) in start.content["keys"].items()}
    )

    def league(present):
        statement = sum_statement(
            context, all_keys, 1, digest(question().to_bytes()), everybody, present
        )
        return holders[3].identity.sign(statement).hex()

    without = ["h1", "h2", "h3"]
    signatures = {"h0": said(holders[0], agreement(everybody)).content["signature"]}
    for holder in holders[1:3]:
        signatures[holder.name] = said(holder, agreement(without)).content["signature"]
    for_all = Message(
        "reveal",
        {"session": "s1", "round": 1, "signatures": {**signatures, "h3": league(everybody)}},
    )
    assert "Only 2 of the 3" in sentence(holders[0], for_all)
    for_some = Message(
        "reveal", {"session": "s1", "round": 1, "signatures": {**signatures, "h3": league(without)}}
    )
    for holder in holders[1:3]:
        answer = said(holder, for_some).content
        assert (sorted(answer["own"]), list(answer["pair"])) == (without, ["h0"])


def test_a_signature_of_a_session_that_was_opened_again_in_the_same_terms_is_worth_nothing():
    """A holder that was started again has another key: what others signed for before does not count
    now.
    """
    old, before = {}, five()[:3]
    for _ in range(2):
        holders = [
            Holder(
                h.name,
                h._coded,
                HolderPolicy(allowance=9.0, colluders=0),
                identity=h.identity,
                peers=h.peers,
            )
            for h in before
        ]
        parts = {holder.name: holder for holder in holders}
        started(holders, dropouts=1)
        everybody = sorted(parts)
        told = shared(holders)
        for holder in holders:
            said(holder, delivered(holder, told, everybody))
        signatures = {
            name: said(parts[name], agreement(everybody)).content["signature"] for name in everybody
        }
        if old:
            reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": old})
            assert "Only 1 of the 2" in sentence(holders[0], reveal)
            reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": signatures})
            assert said(holders[0], reveal).kind == "revealed"
        old = signatures


def test_holders_that_were_told_of_different_masks_do_not_open_the_sum():
    """The analyst delivers the shares of different holders to each: the sums that they sign for
    differ.
    """
    holders = five()
    started(holders, dropouts=1)
    everybody = [holder.name for holder in holders]
    told = shared(holders)
    for holder in holders:
        among = everybody if holder.name < "h3" else everybody[1:]
        said(holder, delivered(holder, told, among))
    present = everybody[1:]
    signatures = {
        holder.name: said(holder, agreement(present)).content["signature"] for holder in holders[1:]
    }
    reveal = Message("reveal", {"session": "s1", "round": 1, "signatures": signatures})
    for holder in holders[1:]:
        assert "of the 4 holders that are needed signed" in sentence(holder, reveal)


def test_what_holders_share_out_is_new_in_each_round(monkeypatch):
    """Each shares the seed of a mask and a key; who can guess the seed takes the mask off."""
    secrets = []

    def keep(secret, holders, enough):
        secrets.append(secret)
        return shares_of(secret, holders, enough)

    monkeypatch.setattr(secure_sums, "shares_of", keep)
    holders = five()
    started(holders, dropouts=1)
    for number in (1, 2):
        shared(holders, number)
    assert len(set(secrets)) == len(secrets) == 2 * 2 * len(holders)
