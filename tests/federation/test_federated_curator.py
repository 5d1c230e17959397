from __future__ import annotations

import math

import numpy as np
import pytest
from memory_holders import SCHEMA, FailingLink, five, holders_of, rows

from understudy.counting.memory import MemoryCounter
from understudy.data.bits import Bits
from understudy.data.encoding import Coded
from understudy.data.marginals import marginal
from understudy.errors import BudgetError, InputError
from understudy.federation import Federation, MemoryLink
from understudy.federation.curator import FederatedCurator
from understudy.privacy.budget import Budget
from understudy.privacy.mechanisms import SeededNoise, table_scale
from understudy.privacy.wire import pack_marginals

PAIRS = [marginal("b", "a"), marginal("c", "a"), marginal("c", "b"), marginal("a", "c")]


@pytest.fixture
def opened():
    federations = []

    def curator(holders=None, way="secure", schema=SCHEMA, **more):
        holders = holders or five(neighbours=more.get("neighbours"))
        links = [holder if hasattr(holder, "ask") else MemoryLink(holder) for holder in holders]
        federation = Federation(links)
        federations.append(federation)
        return FederatedCurator(
            federation.open(schema, way, **({"epsilon": 100.0, "colluders": 0} | more)), schema
        )

    yield curator
    for federation in federations:
        federation.__exit__()


def whole(holders=None):
    parts = [holder._coded for holder in holders or five()]
    codes = {name: np.concatenate([part.codes[name] for part in parts]) for name in SCHEMA.names}
    return MemoryCounter(codes, {}, {name: SCHEMA[name].size for name in SCHEMA.names})


def top_question(candidates, amount):
    names, arrays = pack_marginals(candidates)
    return len(candidates), {"names": names, "bits": None, "amount": amount, "score": "R"}, arrays


@pytest.mark.parametrize("way", ["secure", "voting", "statistics"])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_tables_of_all_rows_with_the_noise_that_is_told(opened, way, delta):
    curator = opened(way=way, epsilon=2.0, delta=delta)
    currency = "rho" if delta else "epsilon"
    cost = curator.ledger.left.equally(2)[0]
    found = curator.measure([marginal("a", "b"), marginal("c"), ()], cost, [1.0, 2.0, 1.0])
    exact = whole().count([marginal("a", "b"), marginal("c"), ()])
    for measured, counts in zip(found, exact, strict=True):
        assert measured.counts.shape == counts.shape
        assert np.abs(measured.counts - counts).max() <= 12 * measured.deviation + 1
    assert [entry.question for entry in curator.ledger.entries] == [
        "table of a x b",
        "table of c",
        "table of (rows)",
    ]
    assert sum(entry.amount for entry in curator.ledger.entries) <= cost.amount
    scale = table_scale(cost.split(1, 2, 1)[1], "add_remove")
    if way == "secure" and currency == "epsilon":
        assert found[1].scale == scale  # as central: one noise in all
    if way != "secure":
        assert found[1].deviation > 2 * scale  # five of them


@pytest.mark.parametrize(
    ("dropouts", "colluders", "more"), [(0, 0, 1.0), (1, 0, 5 / 4), (1, 1, 5 / 3), (0, 2, 5 / 3)]
)
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_noise_for_those_that_may_drop_out_or_collude_is_told_and_there(
    opened, dropouts, colluders, more, delta
):
    """Many tables of empty cells: their deviation is what the measurement says, and that is the
    share's due.
    """
    curator = opened(
        holders_of([rows(0)] * 5), dropouts=dropouts, colluders=colluders, epsilon=1.0, delta=delta
    )
    found = curator.measure([marginal("a", "b", "c")] * 100, curator.ledger.left)
    noise = np.concatenate([measured.counts.ravel() for measured in found])
    assert noise.std() == pytest.approx(found[0].deviation, rel=0.15)
    central = table_scale(curator.ledger.budget.equally(100)[0], "add_remove")
    deviation = central if delta else central * math.sqrt(2)
    assert found[0].deviation == pytest.approx(deviation * math.sqrt(more), rel=1e-3)


def test_no_table_is_measured_for_nothing_beside_others_that_are_paid_for(opened):
    curator = opened(epsilon=2.0)
    with pytest.raises(InputError, match="above 0"):
        curator.measure([marginal("a"), marginal("b")], Budget(1.0), [1.0, 0.0])
    assert not curator.ledger.entries


@pytest.mark.parametrize("score", ["R", "I"])
@pytest.mark.parametrize(
    "terms", [{}, {"dropouts": 1}, {"colluders": 1}, {"dropouts": 1, "colluders": 1}]
)
@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_with_a_large_budget_the_best_candidate_is_chosen(opened, score, terms, delta, neighbours):
    curator = opened(epsilon=200.0, delta=delta, neighbours=neighbours, **terms)
    budget = curator.ledger.left.equally(3)[0]
    assert curator.choose(PAIRS, score, budget) == 2
    handicaps = np.array([0.0, 0.0, -1e6, 0.0])
    assert curator.choose(PAIRS, score, budget, handicaps) in (0, 1, 3)
    spent = sum(entry.amount for entry in curator.ledger.entries)
    assert spent <= 2 * budget.amount * (1 + 1e-12)


@pytest.mark.parametrize("terms", [{}, {"colluders": 1}])
def test_misfit_compares_with_estimates_in_proportion(opened, terms):
    holders = holders_of([rows(3000, 1), rows(500, 2), rows(500, 3)])
    curator = opened(holders, epsilon=200.0, **terms)
    candidates = [marginal("a", "b"), marginal("b", "c"), marginal("a", "c")]
    estimates = [table.astype(np.float64) for table in whole(holders).count(candidates)]
    estimates[1] = np.full_like(estimates[1], estimates[1].mean())
    assert curator.choose(candidates, "misfit", Budget(60.0), estimates=estimates) == 1
    assert curator._shares["h0"] == pytest.approx(0.75, abs=0.01)


def test_votes(opened):
    curator = opened(way="voting", epsilon=200.0)
    assert curator.choose(PAIRS, "R", Budget(50.0), np.zeros(4)) == 2
    questions = [entry.question for entry in curator.ledger.entries]
    assert questions == ["number of rows of each holder", "5 votes among 4 candidates by score R"]


def test_most_votes_win_and_equal_ones_are_tossed_for(opened, monkeypatch):
    curator = opened(way="voting")
    votes = iter([[0, 1, 1, 3, 2], [0, 0, 1, 1, 3]])
    monkeypatch.setattr(
        "understudy.federation.curator._Choice.votes",
        lambda self, part: (next(votes), self.question.budget),
    )
    assert curator.choose(PAIRS, "R", Budget(1.0)) == 1
    monkeypatch.setattr(curator, "toss", lambda places: places - 1)
    assert curator.choose(PAIRS, "R", Budget(1.0)) == 1


def test_one_candidate_costs_nothing(opened):
    curator = opened()
    assert curator.choose(PAIRS[:1], "R", Budget(1.0)) == 0
    assert curator.ledger.entries == []


@pytest.mark.parametrize("kind", ["ask", "pick"])
@pytest.mark.parametrize("heard_first", [False, True])
def test_a_choice_is_survived_even_if_the_delegate_drops_out(opened, kind, heard_first):
    holders = five()
    links = [FailingLink(holders[0], kind, heard_first=heard_first), *map(MemoryLink, holders[1:])]
    curator = opened(links, dropouts=1, epsilon=200.0)
    assert (
        curator.session.place_of_largest(*top_question(PAIRS, 50.0)) is None
    )  # h0 was the first delegate
    assert curator.session.present == ["h1", "h2", "h3", "h4"]
    assert curator.choose(PAIRS, "R", Budget(50.0)) == 2


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_a_choice_goes_on_without_others(opened, delta):
    """Of five one drops out, then another: what the others masked for them is taken back by the
    delegate.
    """
    holders = five()
    links = [FailingLink(holders[3], "ask"), *(MemoryLink(holders[i]) for i in (0, 1, 2, 4))]
    curator = opened(links, dropouts=2, epsilon=200.0, delta=delta)
    cost = curator.ledger.left.equally(5)[0]
    assert curator.choose(PAIRS, "R", cost) == 2
    assert curator.choose(PAIRS, "R", cost) == 2
    curator.session._federation.links["h1"] = FailingLink(holders[1], "ask")
    assert curator.choose(PAIRS, "R", cost) == 2
    assert curator.choose(PAIRS, "R", cost) == 2
    assert curator.session.present == ["h0", "h2", "h4"]


@pytest.mark.parametrize("kind", ["agree", "reveal"])
def test_one_that_drops_out_after_the_agreement_takes_the_choice_along(opened, kind):
    holders = five()
    links = [
        FailingLink(holders[3], "ask"),
        FailingLink(holders[4], kind),
        *map(MemoryLink, holders[:3]),
    ]
    curator = opened(links, dropouts=2, epsilon=200.0)
    assert curator.session.place_of_largest(*top_question(PAIRS, 50.0)) is None
    assert curator.choose(PAIRS, "R", Budget(50.0)) == 2
    assert curator.session.present == ["h0", "h1", "h2"]


def test_a_candidate_is_chosen_from_once(opened):
    curator = opened()
    with pytest.raises(InputError, match="stands twice"):
        curator.choose([*PAIRS, PAIRS[0]], "R", Budget(1.0))
    assert curator.ledger.entries == []


@pytest.mark.parametrize("gray", [False, True])
def test_bits(opened, gray):
    curator = opened(epsilon=200.0)
    bits = Bits(SCHEMA, gray)
    apart = curator.in_bits(bits)
    assert apart.ledger is curator.ledger
    found = apart.measure([marginal("c bit 1", "b bit 2")], Budget(50.0))[0]
    codes = [Coded(bits.schema, bits.split(holder._coded.codes), 2000, ()) for holder in five()]
    exact = sum(
        MemoryCounter(part.codes, {}, dict.fromkeys(bits.schema.names, 2)).count([found.marginal])[
            0
        ]
        for part in codes
    )
    assert np.abs(found.counts - exact).max() <= 3
    assert apart.choose(
        [marginal("c bit 1", "b bit 1"), marginal("c bit 1", "a")], "F", Budget(50.0)
    ) in (0, 1)


def test_the_number_of_rows_where_it_is_public(opened):
    assert opened(neighbours="replace").rows == 10_000
    assert opened().rows is None


def test_questions_are_refused_before_anything_is_debited(opened):
    curator = opened(epsilon=1.0)
    one = Budget(0.5)
    for refused in (
        lambda: curator.measure([marginal("z")], one),
        lambda: curator.measure([marginal("a", "a")], one),
        lambda: curator.measure([marginal(("a", 3))], one),
        lambda: curator.measure([marginal("a")], Budget(0.0)),
        lambda: curator.choose([], "R", one),
        lambda: curator.choose(PAIRS, "R", Budget(0.0)),
        lambda: curator.choose(PAIRS, "R", one, np.zeros(3)),
        lambda: curator.choose(PAIRS, "misfit", one, estimates=[np.zeros((2, 2))] * 4),
        lambda: curator.draw(marginal("a"), 5, one),
    ):
        with pytest.raises(InputError):
            refused()
    with pytest.raises(BudgetError, match="only 1 of 1 is left"):
        curator.measure([marginal("a")], Budget(1.5))
    assert curator.ledger.entries == []
    assert curator.measure([], one) == []


def test_tosses_are_fair_and_free(opened):
    curator = opened()
    tossed = np.bincount([curator.toss(4) for _ in range(400)], minlength=4)
    assert tossed.min() > 50
    assert curator.ledger.entries == []


def test_seeded_noise_is_told_by_the_ledger(opened):
    curator = opened([*five()[:4], *holders_of([rows(10)], noise=SeededNoise(1))], way="voting")
    assert curator.ledger.private is False
    assert "NOT PRIVATE" in curator.ledger.statement()
