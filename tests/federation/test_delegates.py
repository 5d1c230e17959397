"""A delegate against an analyst who would like to put its own numbers in the place of others'."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from memory_holders import SCHEMA, five

from asking import agreement, question, said, sentence, started
from understudy.errors import InputError
from understudy.federation import Holder, HolderPolicy
from understudy.federation.delegates import MAX_OFFSET, Delegate
from understudy.federation.holder_rows import MAX_HOLDER_ROWS
from understudy.federation.masking import pair_mask
from understudy.federation.messages import Message
from understudy.federation.noise_shares import (
    MAX_SHARE_SCALE,
    SHARED_GRID,
    delegate_scale,
    score_sensitivity,
)
from understudy.federation.terms import MAX_HOLDERS
from understudy.privacy.budget import Budget
from understudy.privacy.scores import MAX_ESTIMATE, SCORES

TWO = (("a", "b"), ("a", "c"))


def top(number=1, tables=TWO, **more):
    return question(
        number, what="top", score="R", delegate="h1", tables=tables, most_rows=None, **more
    )


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
    assert "not the time" in sentence(
        holders[1], pick(boxes, **{"numbers of h0": boxes["numbers of h2"]})
    )


def test_the_delegate_takes_no_numbers_from_the_analyst():
    """Whoever adds 2^63 - T to a sum makes it wrap at T, where one-sided noise hides nothing."""
    holders = five()
    started(holders)
    boxes = sealed_by(holders, top())
    numbers = np.full(2, (1 << 63) - 1000, dtype=np.uint64)
    fewer = {name: box for name, box in boxes.items() if name != "numbers of h4"}
    for more in (
        {**boxes, "numbers": numbers},
        {**boxes, "numbers of h9": boxes["numbers of h0"]},
        fewer,
        {},
    ):
        assert "has sealed for it, and nothing else" in sentence(holders[1], pick(more))
    ones = boxes["numbers of h0"].copy()
    ones[3] ^= 1
    for wrong in (
        ones,
        boxes["numbers of h2"],
        numbers.view(np.uint8),
        np.empty(0, np.uint8),
        ones[:-1],
    ):
        assert "What h0 sealed for h1 was changed" in sentence(
            holders[1], pick({**boxes, "numbers of h0": wrong})
        )
    assert "What h0 sealed" in sentence(holders[1], pick({**boxes, "numbers of h0": numbers}))
    assert said(holders[1], pick(boxes)).kind == "answer"


def test_what_is_sealed_for_one_round_or_question_opens_in_no_other():
    holders = five()
    started(holders)
    first = sealed_by(holders, top(1))
    second = sealed_by(holders, top(2))
    assert "What h3 sealed" in sentence(
        holders[1], pick({**second, "numbers of h3": first["numbers of h3"]}, number=2)
    )
    third = sealed_by(holders[1:], top(3))
    third["numbers of h0"] = said(holders[0], top(3, amount=0.2)).arrays["box"]
    assert "What h0 sealed" in sentence(holders[1], pick(third, number=3))


def test_what_the_delegate_opens_is_masked_all_the_same():
    """It may learn the sum, and nothing of any other holder alone."""
    holders = five()
    started(holders)
    boxes = sealed_by(holders, top())
    delegated, seen = holders[1]._sessions["s1"].sum, 0
    for name in ("h0", "h2", "h3", "h4"):
        content = delegated._open_sealed(pick(boxes), name, "numbers", delegated.question, 16)
        mine = pair_mask("h1", {name: delegated.seeds[name]}, 2)
        seen = seen + content.view("<u8") + mine
        assert np.abs((content.view("<u8") + mine).view(np.int64)).min() > 2**30
    assert np.abs(seen.view(np.int64)).max() < 2**30


def dropped(holders, number=1, gone="h4"):
    """One holder does not answer; the others agree, and seal their seeds with it for the
    delegate.
    """
    left = [holder for holder in holders if holder.name != gone]
    boxes = sealed_by(left, top(number))
    present = [holder.name for holder in left]
    signatures = {
        holder.name: said(holder, agreement(present, number)).content["signature"]
        for holder in left
    }
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
    assert "What h0 sealed" in sentence(
        holders[1], pick({**boxes, **seeds, "seeds of h0": seeds["seeds of h2"]})
    )
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
    assert "not the time" in sentence(
        holders[1], reveal
    )  # the delegate has nothing to tell to anybody


def test_no_sum_is_agreed_on_without_the_delegate():
    holders = five()
    started(holders, dropouts=1)
    sealed_by(holders, top())
    for holder in holders:
        if holder.name != "h1":
            assert "Without the delegate" in sentence(holder, agreement(["h0", "h2", "h3", "h4"]))


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_a_delegate_chooses_nothing_for_nothing(delta):
    holders = five()
    started(holders, delta=delta)
    assert "for nothing" in sentence(holders[0], top(amount=0.0))
    assert holders[0]._sessions["s1"].ledger.entries == []


LIMIT = MAX_OFFSET


@pytest.mark.parametrize(
    "offsets", [[-(2**63), 0], [LIMIT + 1, 0], [0, -LIMIT - 1], [2**63 - 1, 0], [0]]
)
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
    scores = (MAX_HOLDER_ROWS + MAX_ESTIMATE) * SHARED_GRID / 0.75
    smallest = min(
        score_sensitivity(name, relation, 2, binary, top=True)
        for name in SCORES for relation in ("add_remove", "replace") for binary in (False, True)
    )  # fmt: skip
    assert smallest == 0.75
    noise = (
        2**12 * MAX_SHARE_SCALE * math.sqrt(MAX_HOLDERS)
    )  # this many deviations away, all shares being whole noises
    assert MAX_HOLDERS * scores + MAX_OFFSET + noise <= 2**53
    many = SimpleNamespace(rows=MAX_HOLDER_ROWS, schema=SCHEMA)
    with pytest.raises(InputError, match="fewer than"):
        Holder("h0", many, HolderPolicy(allowance=1.0))


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
    ask = question(
        what="top", score="R", delegate="h1", tables=(("a", "b"), ("a", "c")), most_rows=None
    )
    assert "not feared to collude" in sentence(holders[0], ask)


def test_a_delegate_draws_only_where_the_sums_have_no_noise_that_pays():
    """In epsilon the shares of noise are the choice, and the delegate takes the largest; in rho it
    chooses by itself.
    """
    terms = SimpleNamespace(colluders=0, holders=("h0", "h1"))
    ask = Message("question", {"delegate": "h1"})
    scales = {
        budget: Delegate.read_question(ask, terms, budget, 2).choice_scale
        for budget in (Budget(0.5), Budget(0.5, "rho"), Budget(0.0, "rho"))
    }
    assert list(scales.values()) == [0.0, delegate_scale(0.5), 0.0]
    with pytest.raises(InputError, match="not among the holders"):
        Delegate.read_question(Message("question", {"delegate": "h2"}), terms, Budget(0.5), 2)
