"""What an analyst in league with holders can find out, against the claim.

They see the sum, know their own counts, noise and masks, and take them off: what is left are the counts of the honest
holders with the noise of the honest holders. Exact losses from the law of that noise; exact losses of whole runs, one
holder's questions answered one by one; and lower bounds from real sums of real holders.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from memory_holders import SCHEMA, holders_of, rows
from test_noise_shares import added, polya_pmf

from understudy.audit.blackbox import tell_apart
from understudy.audit.bounds import choice_log_probabilities, discrete_gaussian_log_pmf, renyi_rho
from understudy.audit.doors import exact_loss
from understudy.audit.neighbours import choice_pair, worst_pairs
from understudy.counting.memory import MemoryCounter
from understudy.curator.budget import Budget, epsilon_of
from understudy.curator.federated import FederatedCurator
from understudy.curator.mechanisms import SCORE_GRID, SeededNoise, choice_scale, table_scale
from understudy.curator.scores import score_named
from understudy.encoding import Coded, encode
from understudy.federation import Federation, Holder, HolderRefused, MemoryLink, federate
from understudy.federation.holder import Terms, score_sensitivity, scores_scale
from understudy.federation.identity import Identity
from understudy.federation.messages import Message, packed
from understudy.federation.noise_shares import (
    SHARED_GRID,
    ShareNoise,
    delegated_scale,
    gaussian_share,
    shared_grid,
    top_scale,
)
from understudy.marginals import marginal
from understudy.schema import Schema
from understudy.synthesizers.independent import Independent
from understudy.synthesizers.mst import MST
from understudy.synthesizers.privbayes import PrivBayes

TERMS = [(5, 0, 0), (5, 1, 0), (5, 0, 1), (5, 1, 1), (3, 1, 0), (7, 2, 2), (4, 0, 3)]


def terms(holders: int, dropouts: int, colluders: int) -> Terms:
    names = tuple(f"h{place}" for place in range(holders))
    return Terms("s", "", "secure", {}, 1.0, 0.0, "add_remove", names, dropouts, colluders)


# --------------------------------------------------------------------------- tables, by the law of the noise


def laplace_loss(scale: float, enough: int, honest: int) -> float:
    """The largest log-ratio over outcomes where one row more stands in a cell, with so many honest shares in it."""
    one_sided = added(polya_pmf(1 / enough, scale, 200), honest)[:201]
    law = np.convolve(one_sided, one_sided[::-1])[140:261]  # the middle: far out, what was cut off would be seen
    return float(np.abs(np.diff(np.log(law))).max())


def gaussian_loss(scale: float, enough: int, honest: int) -> float:
    reach = 80
    pmf = np.exp(discrete_gaussian_log_pmf(np.arange(-reach, reach + 1), gaussian_share(scale, enough)))
    law = added(pmf, honest)
    law = law[law > 1e-30]
    return renyi_rho(np.log(law[1:]), np.log(law[:-1]))


@pytest.mark.parametrize("agreed", TERMS)
def test_tables_lose_no_more_than_the_claim_to_an_analyst_with_colluders(agreed):
    """In the worst case as many drop out, or are said to, as may, and as many collude as may."""
    holders, dropouts, colluders = agreed
    left = holders - dropouts - colluders
    enough = terms(*agreed).honest
    assert laplace_loss(table_scale(Budget(1.0), "add_remove"), enough, left) == pytest.approx(1.0, abs=1e-6)
    rho = 0.02
    assert gaussian_loss(table_scale(Budget(rho, "rho"), "add_remove"), enough, left) <= rho * (1 + 1e-6)
    if left < holders:  # if all are honest and there, they lose less
        assert laplace_loss(1.0, enough, holders) < 1.0


@pytest.mark.parametrize(("holders", "colluding"), [(5, 1), (5, 2), (3, 1)])
def test_noise_that_is_sized_for_all_is_flagged_where_some_collude(holders, colluding):
    """A control: shares for M holders, and t of them in league with the analyst."""
    assert laplace_loss(1.0, holders, holders - colluding) > 1.1
    assert gaussian_loss(5.0, holders, holders - colluding) > 1 / (2 * 5.0**2) * 1.15


def test_drop_outs_and_colluders_add_up():
    """A control: sized for t dropped *or* colluding, t = 1, and one of either."""
    assert laplace_loss(1.0, 4, 3) > 1.1
    assert terms(5, 1, 1).honest == 3


# --------------------------------------------------------------------------- choices, by their probabilities


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_votes_and_sums_of_scores_cost_what_is_said(epsilon):
    """Half for a vote, half for a nominee's sum of scores: one holder's rows answer each once."""
    vote, scores = Budget(epsilon).equally(2)
    one = np.array([1.0] + [0.0] * 300)
    scale = choice_scale(vote.amount, "epsilon")
    here, there = (
        choice_log_probabilities(np.rint(gap * SCORE_GRID), scale, "permute_and_flip") for gap in (one, 1 - one)
    )
    lost = float(np.abs(here - there).max())
    # Five nominees, all of whose scores move by all that a row can move them.
    moved = shared_grid(np.full(5, 2.0), 2.0) - shared_grid(np.zeros(5), 2.0)
    lost += float(np.abs(moved).sum()) / scores_scale(scores, 5, top=False)
    assert 0.95 * epsilon < lost <= epsilon


def test_sums_of_scores_cost_what_is_said_in_rho():
    scale = scores_scale(Budget(0.01, "rho"), 4, top=False)
    moved = 4 * float(SHARED_GRID) ** 2 / (2 * scale**2)
    assert 0.98 * 0.01 < moved <= 0.01


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_the_place_of_the_largest_costs_what_is_said(epsilon):
    """Two candidates on the real grid: P(first) has a closed form, as geometric noise has no memory.

    With both noises geometric, P(noise of one - noise of the other >= k) = q^k / (1 + q) for k above 0.
    """
    q = math.exp(-1 / top_scale(epsilon))

    def first_wins(gap: int) -> float:
        """The first is ahead by the gap, and wins where they are equal."""
        return 1 - q ** (gap + 1) / (1 + q) if gap >= 0 else q ** (-gap) / (1 + q)

    lost = 0.0
    for gap in range(-6 * SHARED_GRID, 6 * SHARED_GRID, 64):
        other = gap + 2 * SHARED_GRID
        for p, other_p in ((first_wins(gap), first_wins(other)), (1 - first_wins(gap), 1 - first_wins(other))):
            lost = max(lost, abs(math.log(p / other_p)))
    assert 0.98 * epsilon < lost <= epsilon


@pytest.mark.parametrize("rho", [0.0002, 0.02])
def test_a_delegates_choice_costs_what_is_said(rho):
    """Two candidates that change places by all that a row can move them; the noise in the sums is the same for both."""
    scale = delegated_scale(rho)
    for noise in (0, 300, -100_000):
        ahead = np.array([SHARED_GRID / 2 + noise, -SHARED_GRID / 2])
        behind = np.array([-SHARED_GRID / 2 + noise, SHARED_GRID / 2])
        lost = renyi_rho(*(choice_log_probabilities(scores, scale, "exponential") for scores in (ahead, behind)))
        assert lost <= rho
        if noise == 0:
            assert lost > 0.95 * rho


def test_a_row_moves_score_f_by_one_and_not_by_the_half_range():
    """Where all scores are told, as opposed to the place of the largest, what moves all alike shows too."""
    sizes = {"a": 2, "b": 2}
    table = MemoryCounter({"a": np.array([0, 1], np.uint8), "b": np.array([0, 1], np.uint8)}, {}, sizes)
    other = MemoryCounter({"a": np.array([0, 1, 0], np.uint8), "b": np.array([0, 1, 1], np.uint8)}, {}, sizes)
    score = score_named("F")
    moved = abs(score.evaluate(table, [marginal("a", "b")])[0] - score.evaluate(other, [marginal("a", "b")])[0])
    assert score_sensitivity("F", "add_remove", None, True, top=True) < moved
    assert moved <= score_sensitivity("F", "add_remove", None, True, top=False)


# --------------------------------------------------------------------------- whole runs, question by question


class WholeNoise(ShareNoise):
    """All of the honest holders' noise added by one of them, whose questions are answered: the same law, in one place.

    The other honest holders, who have seeded noise, add none.
    """

    def __init__(self, enough, own):
        self.enough, self.own, self.private = enough, own, own.private

    def laplace(self, counts, scale):
        return counts if isinstance(self.own, SeededNoise) else self.own.laplace(counts, scale)

    def gaussian(self, counts, scale):
        return counts if isinstance(self.own, SeededNoise) else self.own.gaussian(counts, scale)


IDENTITIES = [Identity.new(f"h{place}") for place in range(3)]
PEERS = {identity.name: identity.certificate for identity in IDENTITIES}


def run_on(pair, method, way, monkeypatch, **agreed):
    """A whole release by three holders; the first has the table, the others always the same rows and dice."""
    monkeypatch.setattr("understudy.federation.holder.ShareNoise", WholeNoise)

    def run(table, noise):
        tables = [encode(table, pair.schema), encode(pair.table, pair.schema), encode(pair.other, pair.schema)]
        holders = [
            Holder(
                identity.name, coded, allowance=1e6, delta=0.5, identity=identity, peers=PEERS,
                noise=noise if place == 0 else SeededNoise(place), neighbours=method.neighbours,
            )
            for place, (identity, coded) in enumerate(zip(IDENTITIES, tables, strict=True))
        ]  # fmt: skip
        return federate(holders, pair.schema, method, way, noise=SeededNoise(9), **agreed).to_dict()

    return run


def largest_loss(method, way, monkeypatch, pairs, **agreed):
    losses = [exact_loss(run_on(pair, method, way, monkeypatch, **agreed), pair, paths=1) for pair in pairs]
    assert not any(loss.side_door for loss in losses)
    if method.delta:
        return max(epsilon_of(loss.rho, method.delta) for loss in losses)
    return max(loss.epsilon for loss in losses)


@pytest.mark.parametrize(
    ("way", "method"),
    [
        ("secure", Independent(epsilon=1.0)),
        ("secure", PrivBayes(epsilon=1.0, degree=1)),
        ("secure", PrivBayes(epsilon=1.0, degree=1, neighbours="replace")),
        ("secure", PrivBayes(epsilon=1.0, degree=1, delta=1e-6)),
        ("secure", MST(epsilon=1.0)),
        ("statistics", PrivBayes(epsilon=1.0, degree=1)),
        ("voting", PrivBayes(epsilon=1.0, degree=1)),
        ("voting", PrivBayes.paper(1.0, degree=1, score="I", encoding="vanilla")),
        ("models", PrivBayes(epsilon=1.0, degree=1)),
    ],
    ids=lambda part: part if isinstance(part, str) else f"{part.name} {part.neighbours} {part.delta}",
)
def test_a_whole_release_loses_no_more_than_the_claim(way, method, monkeypatch):
    """Everything that leaves the holder is answered on both tables alike; the log-ratios add up along the path."""
    agreed = {"colluders": 1} if way == "secure" else {}
    pairs = [*worst_pairs(method.neighbours, 40), choice_pair("R", method.neighbours, rows=40)]
    lost = largest_loss(method, way, monkeypatch, pairs, **agreed)
    assert 0.2 < lost <= 1.0 + 1e-9


def test_a_holder_that_forgets_to_scale_its_noise_is_flagged(monkeypatch):
    """A control: half of the noise."""
    laplace = WholeNoise.laplace
    monkeypatch.setattr(WholeNoise, "laplace", lambda self, counts, scale: laplace(self, counts, scale / 2))
    pairs = worst_pairs("add_remove", 40)
    assert largest_loss(Independent(epsilon=1.0), "secure", monkeypatch, pairs, colluders=1) > 1.5


def test_a_holder_that_sends_exact_counts_is_flagged(monkeypatch):
    """A control: no noise at all in small tables."""
    laplace = WholeNoise.laplace
    monkeypatch.setattr(
        WholeNoise,
        "laplace",
        lambda self, counts, scale: counts if counts.size == 1 else laplace(self, counts, scale),
    )
    pair = worst_pairs("add_remove", 40)[0]
    run = run_on(pair, PrivBayes(epsilon=1.0, degree=1), "secure", monkeypatch, colluders=1)
    assert exact_loss(run, pair, paths=1).side_door


# --------------------------------------------------------------------------- real sums of real holders


CELLS = 6000
WIDE = Schema.from_dict({"attributes": {"a": {"kind": "categorical", "values": list(range(CELLS))}}})


def colluding_view(counts, colluding, **agreed):
    """A real sum, less what the colluding holders know that they put in: the honest holders' cells."""
    codes = [np.repeat(np.arange(CELLS, dtype=np.uint16), per_cell) for per_cell in counts]
    holders = holders_of([Coded(WIDE, {"a": mine}, len(mine), ()) for mine in codes])
    known = []
    for holder in holders[len(holders) - colluding :]:
        begin = holder._begin_sum

        def spying(session, asked, numbers, begin=begin):
            known.append(numbers)
            return begin(session, asked, numbers)

        holder._begin_sum = spying
    with Federation(map(MemoryLink, holders)) as federation:
        session = federation.open(WIDE, "secure", epsilon=1.0, **agreed)
        found = FederatedCurator(session, WIDE).measure([marginal("a")], Budget(1.0))[0]
    return (found.counts - sum(known, np.int64(0))).astype(np.float64).reshape(-1, 1)


def bound(colluding, **agreed):
    """A lower bound on epsilon. Each cell is an experiment: the first holder has a row more in it, or not."""
    here, there = (colluding_view([first, 2, 0, 1, 2], colluding, **agreed) for first in (3, 2))
    return tell_apart(here, there, 0.99999).epsilon


@pytest.mark.parametrize("colluders", [0, 1, 2])
def test_an_analyst_with_colluders_measures_no_more_than_the_claim(colluders):
    measured = bound(colluders, colluders=colluders)
    assert 0.1 < measured <= 1.0


def test_an_analyst_with_more_colluders_than_agreed_measures_more():
    """A control: nobody was feared, and three of five collude."""
    assert bound(3) > 1.0


# --------------------------------------------------------------------------- real choices of real holders


class Meddling(MemoryLink):
    """A link of an analyst who changes what it carries to the delegate; it has seen everything that went before."""

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
    """2^63 - T, so that sums of T and more wrap: known where numbers are 64-bit words under a stream cipher."""
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
    ("agreed", "missing"), [({}, False), ({"delta": 1e-9}, False), ({"dropouts": 1}, False), ({"dropouts": 1}, True)]
)
def test_an_analyst_who_changes_what_it_carries_to_the_delegate_is_refused(meddle, agreed, missing):
    holders = holders_of([rows(100, seed) for seed in range(4)])
    seen = []
    with Federation([Meddling(holder, meddle, seen) for holder in holders]) as federation:
        session = federation.open(SCHEMA, "secure", epsilon=10.0, **agreed)
        if missing:
            session._gone["h3"] = "The holder h3 does not answer."
        names, arrays = packed([marginal("b", "a"), marginal("c", "a")])
        content = {"names": names, "bits": None, "amount": 0.01, "score": "R", "most_rows": None, "shares": {}}
        if meddle is of_another_round:
            assert session.place_of_largest(2, content, arrays) in (0, 1)
        with pytest.raises(HolderRefused, match=r"has sealed for it|was changed on the way"):
            session.place_of_largest(2, content, arrays)


def chosen(more: int, times: int, epsilon: float, offset: int) -> np.ndarray:
    """Which of two candidates a delegate chooses; a row more takes the one up, and the other down, by all it can."""
    holders = holders_of([Coded(SCHEMA, {name: np.zeros(n, np.uint8) for name in "abc"}, n, ()) for n in (9 + more, 5)])
    names, arrays = packed([marginal("a"), marginal("b")])
    shares = {"h0": 0.5, "h1": 0.5}
    content = {"names": names, "bits": None, "amount": epsilon, "score": "misfit", "most_rows": None, "shares": shares}
    arrays["estimates"] = np.array([0.0, 0.0, 100.0, 0.0, 0.0])
    arrays["offsets"] = np.array([0, offset])
    found = []
    with Federation(map(MemoryLink, holders)) as federation:
        for _ in range(times // 50):
            session = federation.open(SCHEMA, "secure", epsilon=50 * epsilon)
            found += [session.place_of_largest(2, content, arrays) for _ in range(50)]
            session.close()
    return np.array(found, dtype=np.float64).reshape(-1, 1)


@pytest.mark.parametrize(("priced", "flagged"), [(1.0, False), (3.0, True)])
def test_an_analyst_measures_no_more_than_the_price_of_a_choice(priced, flagged):
    """At the offset where it shows best; the same test sees a choice that costs three times as much."""
    even = (9 + 5 - (100 - 9 - 5)) * SHARED_GRID
    here, there = (chosen(more, 1000, priced, even) for more in (0, 1))
    measured = tell_apart(here, there, 0.99999).epsilon
    assert measured > 0.1
    assert (measured > 1.0) == flagged
