"""Whom a holder's allowance is for: no session and no analyst takes all of it, and no session is
opened twice.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from memory_holders import rows

from asking import question, said, sentence, terms
from understudy.errors import InputError
from understudy.federation import Holder, HolderPolicy
from understudy.federation.messages import Message
from understudy.federation.party import MAX_SESSIONS
from understudy.privacy.ledger import LedgerFile


@pytest.fixture(params=["in memory", "in a file"])
def start(request, tmp_path):
    """Starts a holder with an allowance of epsilon 3 and delta 3e-6; where it has a file, again and
    again.
    """

    def started(**more):
        path = tmp_path / "h0.ledger"
        if request.param == "in memory":
            return Holder("h0", rows(50), HolderPolicy(allowance=3.0, delta=3e-6, **more))
        file = LedgerFile(path) if path.exists() else LedgerFile.create(path, 3.0, 3e-6)
        return Holder("h0", rows(50), HolderPolicy(ledger_file=file, **more))

    return started


def opening(holder, session="s1", epsilon=1.0, **more):
    return terms([holder], "voting", session=session, epsilon=epsilon, **more).to_message()


def asked_by(holder, asker, message):
    return Message.from_bytes(holder.answer(message.to_bytes(), asker))


# ---- shares


def test_one_session_takes_no_more_than_its_share(start):
    holder = start(session_share=0.5)
    assert "more than one session may take" in sentence(holder, opening(holder, epsilon=1.6))
    assert "more than one session may take" in sentence(holder, opening(holder, delta=1.6e-6))
    assert said(holder, opening(holder, epsilon=1.5, delta=1.5e-6)).kind == "opened"


def test_shares_are_exact(start):
    """A third of 3 is 1, whatever binary fractions make of it."""
    holder = start(analyst_share=Fraction(1, 3))
    assert said(holder, opening(holder, epsilon=1.0)).kind == "opened"


def test_one_analyst_takes_no_more_than_its_share(start):
    holder = start(analyst_share=0.4)
    assert asked_by(holder, "registry", opening(holder)).kind == "opened"
    refused = asked_by(holder, "registry", opening(holder, "s2", 0.3))
    assert "one analyst's share" in refused.content["sentence"]
    assert asked_by(holder, "registry", opening(holder, "s3", 0.2)).kind == "opened"
    assert asked_by(holder, "other", opening(holder, "s4")).kind == "opened"
    asked_by(holder, "other", question(session="s4"))
    asked_by(holder, "other", Message("close", {"session": "s4"}))
    refused = asked_by(holder, "other", opening(holder, "s5", 0.3))
    assert "one analyst's share" in refused.content["sentence"]


def test_an_analyst_gets_back_what_it_did_not_use(start):
    holder = start(analyst_share=0.5)
    for session in ("s1", "s2", "s3"):
        assert said(holder, opening(holder, session, 1.5)).kind == "opened"
        said(holder, Message("close", {"session": session}))


@pytest.mark.parametrize("share", [0, -0.5, 1.5, "half", float("nan"), None])
@pytest.mark.parametrize("name", ["session_share", "analyst_share"])
def test_shares_that_are_none(name, share):
    with pytest.raises(InputError, match=f"{name} must be a number above 0 and at most 1"):
        Holder("h0", rows(5), HolderPolicy(allowance=1.0, **{name: share}))


def test_what_is_left_counts_before_any_share(start):
    holder = start()
    said(holder, opening(holder, epsilon=2.5))
    assert "allow" in sentence(holder, opening(holder, "s2"))


# ---- the end of a session


def test_a_session_in_which_nothing_was_asked_costs_nothing(start):
    holder = start()
    assert said(holder, opening(holder, "s1", 3.0)).kind == "opened"
    assert "does not allow" in sentence(holder, opening(holder, "s2", 3.0))
    said(holder, Message("close", {"session": "s1"}))
    assert said(holder, opening(holder, "s3", 3.0)).kind == "opened"


def test_a_session_in_which_anything_was_asked_costs_all_of_it(start):
    holder = start()
    assert said(holder, opening(holder, "s1", 3.0)).kind == "opened"
    assert said(holder, question(what="tables", amount=1e-3)).kind == "answer"
    said(holder, Message("close", {"session": "s1"}))
    assert "does not allow" in sentence(holder, opening(holder, "s2", 0.1))


# ---- replays


def test_an_opening_is_not_taken_twice_however_many_came_between(start):
    holder = start()
    recorded = opening(holder, epsilon=0.1)
    assert said(holder, recorded).kind == "opened"
    said(holder, Message("close", {"session": "s1"}))
    for place in range(MAX_SESSIONS + 1):
        said(holder, opening(holder, f"x{place}", 0.1))
        said(holder, Message("close", {"session": f"x{place}"}))
    assert "there was a session of that name before" in sentence(holder, recorded)


@pytest.mark.parametrize("closed", [True, False])
def test_an_opening_is_not_taken_again_after_a_restart(tmp_path, closed):
    file = LedgerFile.create(tmp_path / "h0.ledger", 3.0)
    holder = Holder("h0", rows(50), HolderPolicy(ledger_file=file))
    recorded = opening(holder)
    said(holder, recorded)
    if closed:
        said(holder, Message("close", {"session": "s1"}))
    left = file.left()
    again = Holder("h0", rows(50), HolderPolicy(ledger_file=LedgerFile(tmp_path / "h0.ledger")))
    assert "there was a session of that name before" in sentence(again, recorded)
    assert "there was a session of that name before" in sentence(again, opening(again, "s1", 0.1))
    assert file.left() == left
    assert said(again, opening(again, "s2")).kind == "opened"


def test_what_an_analyst_has_taken_is_remembered_after_a_restart(tmp_path):
    file = LedgerFile.create(tmp_path / "h0.ledger", 3.0)
    asked_by(
        holder := Holder("h0", rows(50), HolderPolicy(ledger_file=file)),
        "registry",
        opening(holder),
    )
    again = Holder("h0", rows(50), HolderPolicy(ledger_file=file, analyst_share=0.5))
    refused = asked_by(again, "registry", opening(again, "s2"))
    assert "one analyst's share" in refused.content["sentence"]
    assert asked_by(again, "other", opening(again, "s3")).kind == "opened"


def test_releases_of_the_owners_own_are_nobodys_share(tmp_path):
    """The ledger may be that of a table which its owner releases from, too."""
    file = LedgerFile.create(tmp_path / "h0.ledger", 3.0)
    file.reserve("privbayes", 1.5, 0.0, "add_remove")
    holder = Holder("h0", rows(50), HolderPolicy(ledger_file=file, analyst_share=0.5))
    assert asked_by(holder, "registry", opening(holder, epsilon=1.5)).kind == "opened"


def test_sessions_that_cost_nothing_hardly_fill_the_file(tmp_path):
    file = LedgerFile.create(tmp_path / "h0.ledger", 3.0)
    holder = Holder("h0", rows(50), HolderPolicy(ledger_file=file))
    sizes = []
    for place in range(20):
        said(holder, opening(holder, f"{place}" * 20))
        said(holder, Message("close", {"session": f"{place}" * 20}))
        sizes.append(file.path.stat().st_size)
    assert file.read()["releases"] == []
    assert sizes[-1] - sizes[0] < 19 * 25
    again = Holder("h0", rows(50), HolderPolicy(ledger_file=LedgerFile(file.path)))
    for place in range(20):
        told = sentence(again, opening(again, f"{place}" * 20))
        assert "there was a session of that name before" in told


# ---- whose business it is


def test_a_ledger_that_cannot_be_settled_is_told_to_the_owner_alone(tmp_path):
    log = []
    file = LedgerFile.create(tmp_path / "h0.ledger", 3.0)
    holder = Holder("h0", rows(50), HolderPolicy(ledger_file=file), log=log.append)
    said(holder, opening(holder))
    (tmp_path / "h0.ledger").write_text("{}")
    told = sentence(holder, Message("close", {"session": "s1"}))
    assert told == "The holder h0 cannot settle its ledger; the whole price stays on it."
    assert any(str(tmp_path) in entry.get("why", "") for entry in log)
