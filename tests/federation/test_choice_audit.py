"""What an analyst learns of a choice, against its price: by a delegate, and where holders nominate
and sums decide.

The exact law of what is told; exact losses of choices and of whole releases, an auditor answering
every question; what an analyst can do who changes what it carries; and lower bounds from real
choices of real holders.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from federated_runs import largest_log_probabilities, largest_loss, loss_of
from memory_holders import SCHEMA, holders_of, rows

from understudy.auditing.blackbox import tell_apart
from understudy.auditing.bounds import renyi_rho
from understudy.auditing.neighbours import choice_pair, worst_pairs
from understudy.counting.memory import MemoryCounter
from understudy.data.encoding import Coded, encode
from understudy.data.marginals import marginal
from understudy.federation import Federation, HolderRefused, MemoryLink, delegates, noise_shares
from understudy.federation.analyst import Session
from understudy.federation.curator import FederatedCurator
from understudy.federation.messages import Message
from understudy.federation.noise_shares import SHARED_GRID, delegate_scale, top_scale
from understudy.federation.secure_sums import SecureSum
from understudy.mechanisms.distributions import choice_log_probabilities
from understudy.privacy import answering
from understudy.privacy.budget import Budget
from understudy.privacy.mechanisms import SeededNoise, choice_scale, gaussian_scale
from understudy.privacy.scores import score_named
from understudy.privacy.wire import pack_marginals
from understudy.synthesizers.mst import MST
from understudy.synthesizers.privbayes import PrivBayes

# ------------------------------------------- by the law of what is told


def test_the_law_of_the_largest_is_one():
    """Against a sum over all that the noise can be, for noise so small that it can be written
    out.
    """
    scale, sums = 2.5, np.array([3, 5, 5, 1])
    q = math.exp(-1 / scale)
    noise = np.indices((30,) * 4).reshape(4, -1)
    weights = ((1 - q) * q**noise).prod(axis=0)
    direct = np.bincount(np.argmax(sums[:, None] + noise, axis=0), weights)
    assert np.exp(largest_log_probabilities(sums, scale)) == pytest.approx(direct, abs=1e-4)
    many = np.random.default_rng(1).integers(-5000, 5000, 20)
    assert np.exp(largest_log_probabilities(many, top_scale(0.2))).sum() == pytest.approx(
        1.0, abs=1e-9
    )


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("others", [1, 8])
def test_the_place_of_the_largest_costs_what_is_said(epsilon, others):
    """One candidate falls, and all others rise, by all that a row can move them."""
    scale, lost = top_scale(epsilon), 0.0
    for gap in range(-6 * SHARED_GRID, 6 * SHARED_GRID, 64):
        here, there = (
            largest_log_probabilities(np.array([ahead] + [0] * others), scale)
            for ahead in (gap, gap + 2 * SHARED_GRID)
        )
        lost = max(lost, float(np.abs(here - there).max()))
    assert 0.98 * epsilon < lost <= epsilon


@pytest.mark.parametrize("rho", [0.0002, 0.02])
def test_what_a_delegate_chooses_costs_what_is_said(rho):
    """Two candidates that change places by all that a row can move them; the noise in the sums is
    the same for both.
    """
    scale = delegate_scale(rho)
    for noise in (0, 300, -100_000):
        ahead = np.array([SHARED_GRID / 2 + noise, -SHARED_GRID / 2])
        behind = np.array([-SHARED_GRID / 2 + noise, SHARED_GRID / 2])
        lost = renyi_rho(
            *(choice_log_probabilities(scores, scale, "exponential") for scores in (ahead, behind))
        )
        assert lost <= rho
        if noise == 0:
            assert lost > 0.95 * rho


# ---------------------------- by an auditor who answers every question


def exact_scores(table, pair, score, candidates):
    coded, sizes = (
        encode(table, pair.schema),
        {attribute.name: attribute.size for attribute in pair.schema},
    )
    return score_named(score).evaluate(
        MemoryCounter(coded.codes, {}, sizes), candidates, pair.neighbours
    )


def choice_loss(score, neighbours, delta, price):
    """The largest loss of one choice between two candidates, over how far one of them is ahead."""
    pair = choice_pair(score, neighbours)
    names = [attribute.name for attribute in pair.schema]
    candidates = [marginal(*names[:2]), marginal(*names[2:])]
    scores = sum(
        exact_scores(table, pair, score, candidates)
        for table in (pair.table, pair.table, pair.other)
    )
    losses = []
    for ahead in scores[1] - scores[0] + np.array([-50.0, -3.0, 0.0, 3.0, 50.0]):

        def choice(links, ahead=ahead):
            with Federation(links) as federation:
                terms = {"epsilon": 50.0, "delta": delta, "neighbours": neighbours, "colluders": 0}
                curator = FederatedCurator(
                    federation.open(pair.schema, "secure", **terms), pair.schema, SeededNoise(9)
                )
                return curator.choose(candidates, score, price, np.array([ahead, 0.0]))

        losses.append(loss_of(choice, pair, neighbours))
    assert not any(loss.side_door for loss in losses)
    return max(loss.rho if delta else loss.epsilon for loss in losses)


PRICES = [(0.0, Budget(1.0)), (1e-6, Budget(0.1, "rho"))]
"""A session's delta, and what one choice costs."""


@pytest.mark.parametrize("score", ["R", "I"])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(("delta", "price"), PRICES)
def test_a_delegates_choice_loses_no_more_than_its_price(score, neighbours, delta, price):
    assert 0.8 * price.amount < choice_loss(score, neighbours, delta, price) <= price.amount


@pytest.mark.parametrize(("delta", "price"), PRICES)
def test_a_delegate_with_too_little_noise_is_flagged(delta, price, monkeypatch):
    """A control: half of the noise in the sums, or of that of the delegate's own choice."""
    monkeypatch.setattr(noise_shares, "top_scale", lambda epsilon: top_scale(epsilon) / 2)
    monkeypatch.setattr(delegates, "delegate_scale", lambda rho: delegate_scale(rho) / 2)
    assert choice_loss("R", "add_remove", delta, price) > 1.5 * price.amount


WHOLE = [
    PrivBayes(epsilon=1.0, degree=1),
    PrivBayes(epsilon=1.0, degree=1, delta=1e-6),
    PrivBayes(epsilon=1.0, degree=1, beta=0.95),
    PrivBayes(epsilon=1.0, degree=1, neighbours="replace", score="I"),
    PrivBayes(epsilon=1.0, degree=1, neighbours="replace", delta=1e-6),
    MST(epsilon=1.0, delta=1e-6),
]


def pairs_for(method):
    score = getattr(method, "score", "R")
    return [*worst_pairs(method.neighbours, 40), choice_pair(score, method.neighbours, rows=40)]


@pytest.mark.parametrize(
    "method", WHOLE, ids=lambda method: f"{method.name} {method.neighbours} {method.delta}"
)
def test_a_whole_release_with_delegates_loses_no_more_than_the_claim(method):
    assert 0.2 < largest_loss(method, "secure", pairs_for(method), colluders=0) <= 1.0 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("dropouts", [0, 1])
@pytest.mark.parametrize(
    "method", WHOLE, ids=lambda method: f"{method.name} {method.neighbours} {method.delta}"
)
def test_a_whole_release_with_delegates_loses_no_more_on_many_paths(method, dropouts):
    lost = largest_loss(
        method, "secure", pairs_for(method), paths=4, colluders=0, dropouts=dropouts
    )
    assert 0.2 < lost <= 1.0 + 1e-9


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_whole_release_with_too_little_noise_in_choices_is_flagged(delta, monkeypatch):
    """A control: choices cost 95 % of the price, and have a tenth of the noise."""
    monkeypatch.setattr(noise_shares, "top_scale", lambda epsilon: top_scale(epsilon) / 10)
    monkeypatch.setattr(delegates, "delegate_scale", lambda rho: delegate_scale(rho) / 10)
    method = PrivBayes(epsilon=1.0, degree=1, delta=delta, beta=0.95)
    assert largest_loss(method, "secure", pairs_for(method)[-1:], colluders=0) > 1.5


# ---------------------------------------------- an analyst who meddles


class Meddling(MemoryLink):
    """A link of an analyst who changes what it carries to the delegate; it has seen everything that
    went before.
    """

    def __init__(self, holder, meddle, seen):
        super().__init__(holder)
        self.meddle, self.seen = meddle, seen

    def ask(self, message):
        asked = Message.from_bytes(message)
        if asked.kind == "pick":
            self.seen.append(asked)
            asked = Message("pick", asked.content, self.meddle(dict(asked.arrays), self.seen))
        return super().ask(asked.to_bytes())


def added_to(boxes, seen):
    """2^63 - T, so that sums of T and more wrap: known where numbers are 64-bit words under a
    stream cipher.
    """
    name = min(boxes)
    box = boxes[name].copy()
    box[7::8] ^= 0x80
    return {**boxes, name: box}


def swapped(boxes, seen):
    first, second = sorted(name for name in boxes if name.startswith("numbers"))[:2]
    return {**boxes, first: boxes[second], second: boxes[first]}


def of_another_round(boxes, seen):
    return dict(seen[-2].arrays) if len(seen) > 1 else boxes


def without_one(boxes, seen):
    return {name: box for name, box in boxes.items() if name != min(boxes)}


def with_numbers(boxes, seen):
    return {**boxes, "numbers": np.full(2, 1 << 62, dtype=np.uint64)}


@pytest.mark.parametrize("meddle", [added_to, swapped, of_another_round, without_one, with_numbers])
@pytest.mark.parametrize(
    ("agreed", "missing"),
    [({}, False), ({"delta": 1e-9}, False), ({"dropouts": 1}, False), ({"dropouts": 1}, True)],
)
def test_an_analyst_who_changes_what_it_carries_to_the_delegate_is_refused(meddle, agreed, missing):
    holders = holders_of([rows(100, seed) for seed in range(4)])
    seen = []
    with Federation([Meddling(holder, meddle, seen) for holder in holders]) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=10.0, colluders=0, **agreed)
        if missing:
            session._gone["h3"] = "The holder h3 does not answer."
        names, arrays = pack_marginals([marginal("b", "a"), marginal("c", "a")])
        content = {
            "names": names,
            "bits": None,
            "amount": 0.01,
            "score": "R",
            "most_rows": None,
            "shares": {},
        }
        if meddle is of_another_round:
            assert session.place_of_largest(2, content, arrays) in (0, 1)
        with pytest.raises(HolderRefused, match=r"has sealed for it|was changed on the way"):
            session.place_of_largest(2, content, arrays)


# ---------------------------------------- real choices of real holders


def all_zeros(*numbers):
    return [Coded(SCHEMA, {name: np.zeros(n, np.uint8) for name in "abc"}, n, ()) for n in numbers]


EVEN = (9 + 5 - (100 - 9 - 5)) * SHARED_GRID
"""The offset at which two candidates have about the same chance, where a row more shows best."""


SURE = 1 - 1e-7
"""The confidence of bounds: false alarms are this rare."""


def chosen(more, times, epsilon, carry=MemoryLink):
    """Which of two candidates a delegate chooses; a row more takes the one up, and the other down,
    by all it can.
    """
    names, arrays = pack_marginals([marginal("a"), marginal("b")])
    shares = {"h0": 0.5, "h1": 0.5}
    content = {
        "names": names,
        "bits": None,
        "amount": epsilon,
        "score": "misfit",
        "most_rows": None,
        "shares": shares,
    }
    arrays["estimates"] = np.array([0.0, 0.0, 100.0, 0.0, 0.0])
    arrays["offsets"] = np.array([0, EVEN])
    found = []
    with Federation(map(carry, holders_of(all_zeros(9 + more, 5)))) as federation:
        for _ in range(times // 50):
            session = federation.open(SCHEMA, "secure", epsilon=50 * epsilon, colluders=0)
            found += [session.place_of_largest(2, content, arrays) for _ in range(50)]
            session.close()
    return np.array(found, dtype=np.float64).reshape(-1, 1)


@pytest.mark.parametrize(
    ("times", "priced", "flagged"),
    [(300, 1.0, False), (600, 10.0, True), pytest.param(4000, 1.0, False, marks=pytest.mark.slow)],
)
def test_an_analyst_measures_no_more_than_the_price_of_a_choice(times, priced, flagged):
    """At the offset where it shows best; the same test sees a choice that costs ten times as
    much, unless fewer than 85 of 300 fair coins show heads.
    """
    here, there = (chosen(more, times, priced) for more in (0, 1))
    assert (tell_apart(here, there, SURE).epsilon > 1.0) == flagged


def test_without_the_seal_an_analyst_measures_more(monkeypatch):
    """A control: it adds so much to the first sum that this wraps where the noise would have to be
    negative.
    """
    monkeypatch.setattr(delegates, "seal_content", lambda key, content, about: content)
    monkeypatch.setattr(delegates, "open_content", lambda key, content, about: content)
    wrapping = np.uint64((1 << 63) - (10 + 5) * SHARED_GRID)

    def wrapped(boxes, seen):
        (name,) = boxes
        numbers = boxes[name].view("<u8").copy()
        numbers[:1] += wrapping
        return {name: numbers.view(np.uint8)}

    here, there = (
        chosen(more, 400, 1.0, lambda holder: Meddling(holder, wrapped, [])) for more in (0, 1)
    )
    assert tell_apart(here, there, 0.9999).epsilon > 1.0


PRICE = Budget(1.0, "rho")
"""Of a choice by nominations, half of which is for the votes and half for the sums."""


def nominated(more, times):
    """The first holder's vote, and the sums less what the two others, who collude, put in; a row
    more is the first's.

    Each of the others has a favourite of its own, so there are always two nominees.
    """
    holders = holders_of(all_zeros(25 + more, 90, 0))
    candidates, estimates = (
        [marginal("a"), marginal("b")],
        [np.zeros(2), np.array([102.0, 0.0, 0.0])],
    )
    votes, sums, known = [], [], []

    def spying(self, begin=SecureSum.begin):
        if self.name != "h0":
            known.append(self.numbers.view(np.int64))
        return begin(self)

    def asked(self, *question, ask=Session.ask):
        answers = ask(self, *question)
        votes.append(answers["h0"].content["vote"])
        return answers

    def added_up(self, *question, add_up=Session.add_up):
        found = add_up(self, *question)
        sums.append(found[0] - known.pop() - known.pop())
        return found

    with pytest.MonkeyPatch.context() as spied, Federation(map(MemoryLink, holders)) as federation:
        spied.setattr(SecureSum, "begin", spying)
        spied.setattr(Session, "ask", asked)
        spied.setattr(Session, "add_up", added_up)
        for _ in range(times // 20):
            session = federation.open(SCHEMA, "secure", epsilon=100.0, delta=1e-6, colluders=2)
            curator = FederatedCurator(session, SCHEMA)
            curator._shares = {"h0": 0.5, "h1": 0.25, "h2": 0.25}
            for _ in range(20):
                curator.choose(candidates, "misfit", PRICE, estimates=estimates)
            session.close()
    return np.array(votes, dtype=np.float64).reshape(-1, 1), np.array(sums, dtype=np.float64)


@pytest.mark.parametrize(
    ("times", "noise"),
    [(240, 1.0), (160, 1 / 8), pytest.param(2000, 1.0, marks=pytest.mark.slow)],
)
def test_an_analyst_with_colluders_measures_no_more_than_the_price_of_a_nomination(
    times, noise, monkeypatch
):
    """The same test sees that there is an eighth of the noise.

    An exponential choice of rho is one of epsilon = root of 8 rho, and Gaussian noise of rho one of
    mu = root of 2 rho.
    """
    monkeypatch.setattr(answering, "choice_scale", lambda *price: noise * choice_scale(*price))
    monkeypatch.setattr(
        noise_shares, "gaussian_scale", lambda *price: noise * gaussian_scale(*price)
    )
    (votes, sums), (other_votes, other_sums) = (nominated(more, times) for more in (0, 1))
    assert len(sums) > 0.9 * times
    confidence = SURE if noise == 1 else 0.9999
    epsilon = tell_apart(votes, other_votes, confidence).epsilon
    mu = tell_apart(sums, other_sums, confidence).mu
    half = PRICE.amount / 2
    assert (epsilon > math.sqrt(8 * half)) == (noise < 1)
    assert (mu > math.sqrt(2 * half)) == (noise < 1)
