"""What single columns are worth against tables of several, from prices and released noise."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from understudy.privacy.budget import Budget
from understudy.privacy.mechanisms import mean_integer_noise
from understudy.synthesizers.adaptive_budget import (
    CLEAR_NOISE,
    DEPENDENTS_WORTH,
    MAX_CLEAR_SHARE,
    OneWayWorth,
    gap_worth,
)
from understudy.synthesizers.adaptive_rounds import (
    CELLS_PER_CHOICE,
    Limits,
    Rounds,
    Selection,
    find_selection_share,
)


def learner(sizes: dict[str, int], deviation: float, rows: float = 1000.0, merged: int = 1) -> Any:
    """One that knows single columns up to noise of a deviation, with this many values merged into
    one each.
    """
    return SimpleNamespace(
        sizes=sizes,
        rows=rows,
        one_way_noise=lambda name: 0.8 * deviation * sizes[name] * merged,
        merged_noise=lambda name: 0.8 * deviation * sizes[name],
        pool=SimpleNamespace(deviation=lambda group: deviation),
        curator=SimpleNamespace(mean_noise=lambda cost: mean_integer_noise(cost, "add_remove")),
    )


BINARY = dict.fromkeys("abcdef", 2)
LARGE = dict.fromkeys("abcdef", 10)


def test_single_columns_are_worth_less_the_better_they_are_known() -> None:
    cost = Budget(0.01, "rho")
    worth = [OneWayWorth(learner(BINARY, deviation)).rows(cost) for deviation in (50, 10, 2)]
    assert worth[0] > worth[1] > worth[2] > 0


def test_where_there_is_next_to_no_noise_all_is_known() -> None:
    worth = OneWayWorth(learner(BINARY, 10.0))
    assert worth.rows(Budget(1e4, "epsilon")) == pytest.approx(worth.rows(Budget(50.0, "epsilon")))
    members = np.array([[0, 1, -1]])
    assert np.isfinite(worth.rows_beside(Budget(1e4, "epsilon"), members, np.array([4.0]))).all()


def test_a_pair_of_two_values_each_tells_as_much_of_them_as_tables_of_their_own() -> None:
    members, cost = np.array([[0, 1, -1], [0, 1, 2]]), Budget(1e-6, "rho")
    small = OneWayWorth(learner(BINARY, 10.0))
    pair, triple = small.rows_beside(cost, members, np.array([4.0, 8.0]))
    assert pair == pytest.approx(0.0, abs=0.02 * small.rows(cost))
    assert triple == pytest.approx(small.rows(cost) / 2, rel=1e-3)  # 3/4 of it, by squares
    large = OneWayWorth(learner(LARGE, 10.0))
    [pair] = large.rows_beside(cost, members[:1], np.array([100.0]))
    assert pair == pytest.approx(np.sqrt(0.8) * large.rows(cost), rel=1e-3)


@pytest.mark.parametrize("columns", [8, 60])
@pytest.mark.parametrize("gap", [0.01, 1.0, 3.0])
def test_a_large_gap_counts_once_and_all_pairs_of_a_wide_table_count(
    columns: int, gap: float
) -> None:
    """A gap that is worth a price takes from its own table what the price takes from all of them,
    each beside its other errors.
    """
    worth = OneWayWorth(learner({f"c{place}": 10 for place in range(columns)}, 50.0))
    noise = 0.8 * 50.0 * 10  # of single attributes
    other = np.sqrt(3) * noise
    wanted = np.hypot(other, gap * noise) - other
    low, high = 1e-9, 1e3
    for _ in range(60):
        middle = np.sqrt(low * high)
        if worth.rows(Budget(middle, "rho")) < gap * noise:
            low = middle
        else:
            high = middle
    price = Budget(low, "rho")
    assert worth.rows(price) == pytest.approx(gap * noise, rel=1e-6)
    own = mean_integer_noise(price.equally(columns)[0], "add_remove") / np.sqrt(2 / np.pi)
    left = 1 / (1 / 50.0**2 + 1 / own**2) / 50.0**2
    fall = noise**2 * (1 - left)
    assert wanted == pytest.approx(
        columns * (columns - 1) / 2 * fall / (2 * other) / DEPENDENTS_WORTH, rel=1e-3
    )


def test_a_small_gap_counts_by_its_square() -> None:
    assert gap_worth(9.0, 1e9) == pytest.approx(3.0)
    assert gap_worth(1e4, 1.0) == pytest.approx(5e3, rel=1e-3)


def test_a_table_of_merged_values_tells_nothing_of_those_inside() -> None:
    """Of ten values that were merged into two it tells a twenty-fifth of the squares."""
    members, cost = np.array([[0, 1, -1]]), Budget(1e-6, "rho")
    worth = OneWayWorth(learner(BINARY, 10.0, merged=5))
    [pair] = worth.rows_beside(cost, members, np.array([4.0]))
    assert pair == pytest.approx(np.sqrt(1 - 1 / 25) * worth.rows(cost), rel=1e-3)


@pytest.mark.parametrize("currency", ["rho", "epsilon"])
def test_the_balanced_share_is_where_the_largest_gap_is_worth_its_price(currency: Any) -> None:
    """Single columns that have it are worth half of the rows in the next round."""
    whole, rounds, spent = Budget(0.02, currency), 2.0, 0.05
    if currency == "epsilon":
        whole = Budget(0.5, currency)

    def known(share: float) -> Any:
        each = whole.split(share, 1 - share)[0].equally(len(LARGE))[0]
        return learner(LARGE, mean_integer_noise(each, "add_remove") / np.sqrt(2 / np.pi))

    share = OneWayWorth(known(spent)).balance_share(whole, spent, rounds)
    assert spent < share < 1
    step = whole.equally(round(rounds * len(LARGE)))[0]
    assert OneWayWorth(known(share)).rows(step) == pytest.approx(500, rel=1e-6)


@pytest.mark.parametrize("currency", ["rho", "epsilon"])
def test_the_clear_share_leaves_little_noise_in_single_columns(currency: Any) -> None:
    """With it noise moves a twenty-fifth of the rows; single columns get no more than a cap."""
    whole, rounds, spent = Budget(0.5, currency), 2.0, 0.05
    if currency == "epsilon":
        whole = Budget(5.0, currency)

    def known(share: float) -> Any:
        each = whole.split(share, 1 - share)[0].equally(len(LARGE))[0]
        return learner(LARGE, mean_integer_noise(each, "add_remove") / np.sqrt(2 / np.pi))

    share = OneWayWorth(known(spent)).clear_share(whole, spent)
    assert spent < share
    noise = np.sqrt(OneWayWorth(known(share)).squares.mean())
    assert noise == pytest.approx(CLEAR_NOISE * 1000, rel=2e-2)
    first = OneWayWorth(known(spent)).first_share(whole, spent, rounds)
    balanced = OneWayWorth(known(spent)).balance_share(whole, spent, rounds)
    assert first == max(balanced, min(share, MAX_CLEAR_SHARE))


def test_reports_that_were_paid_for_are_worth_nothing_again() -> None:
    paid = learner(BINARY, 10.0)
    paid.curator.mean_noise = lambda cost: 0.0
    assert OneWayWorth(paid).rows(Budget(1.0, "epsilon")) == 0


@pytest.mark.parametrize(
    ("currency", "part", "prefers"),
    [("rho", 0.1, True), ("epsilon", 0.1, False), ("epsilon", 1.1, True)],
)
def test_in_epsilon_single_columns_are_not_measured_bit_by_bit(
    currency: Any, part: float, prefers: bool
) -> None:
    """A part of a pure budget buys the square of that part; in rho the parts add up."""
    known = Budget(0.6, currency)
    deviation = mean_integer_noise(known.equally(len(LARGE))[0], "add_remove") / np.sqrt(2 / np.pi)
    step = Budget(part * known.amount, currency)
    rounds: Any = object.__new__(Rounds)
    rounds.limits = Limits(
        budget=known, max_cells=1e6, rounds=2.0, selection_share=0.1, penalty=1.0
    )
    rounds.one_way = OneWayWorth(learner(LARGE, deviation))
    rounds.selecting, rounds.measuring = step.split(0.1, 0.9)
    rounds.noise, rounds.cells, rounds.places = 0.01, np.array([4.0]), np.array([0])
    assert rounds._prefers_one_way() is prefers


@pytest.mark.parametrize(("cells", "looks"), [([60.0, 90.0], True), ([90.0, 95.0], False)])
def test_strong_relations_are_looked_for_although_noise_is_large(
    cells: list[float], looks: bool
) -> None:
    """A column that tells another puts well over half of the rows elsewhere."""
    rounds: Any = object.__new__(Rounds)
    rounds.learner = learner(LARGE, 10.0, rows=1000.0)
    rounds.limits = Limits(
        budget=Budget(1.0, "rho"),
        max_cells=1e6,
        rounds=2.0,
        selection_share=0.1,
        penalty=1.0,
        weigh_one_way=False,
    )
    rounds.noise, rounds.cells, rounds.places = 10.0, np.array(cells), np.array([0, 1])
    assert rounds._could_stand_out() is looks


@pytest.mark.parametrize("weigh", [True, False])
@pytest.mark.parametrize(
    ("candidates", "noise", "looks"),
    [(100, 160.0, True), (10_000, 160.0, False), (100, 320.0, False)],
)
def test_no_table_is_looked_for_where_noise_among_many_makes_the_choice(
    candidates: int, noise: float, looks: bool, weigh: bool
) -> None:
    """Against 10,000 others a table would have to differ by 2.3 times the noise of the choice. With
    a target there is nothing else to spend the price on.
    """
    rounds: Any = object.__new__(Rounds)
    rounds.learner = learner(LARGE, 10.0, rows=1000.0)
    rounds.learner.curator.choice_noise = lambda cost: noise * cost.amount
    rounds.limits = Limits(
        budget=Budget(1.0, "rho"),
        max_cells=1e6,
        rounds=2.0,
        selection_share=0.1,
        penalty=1.0,
        weigh_one_way=weigh,
    )
    rounds.selecting, rounds.measuring = Budget(1.0, "rho"), Budget(0.001, "rho")
    rounds.noise = 100.0
    rounds.cells, rounds.places = np.full(candidates, 4.0), np.arange(candidates)
    rounds.members = np.full((candidates, 2), -1)
    rounds.one_way = SimpleNamespace(rows_beside=lambda *_: np.zeros(candidates))
    assert rounds._could_stand_out() is (looks or not weigh)


@pytest.mark.parametrize("limit", [30, 40])
def test_all_pairs_of_a_wide_table_are_looked_at(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Larger tables are drawn, so that there are no more candidates than a round may have."""
    monkeypatch.setattr("understudy.synthesizers.adaptive_rounds.MAX_ROUND_CANDIDATES", limit)
    known = learner(dict.fromkeys("abcdefgh", 2), 1.0)
    known.cells = lambda group: 2 ** len(group)
    known.is_settled = lambda group: False
    known.fit = SimpleNamespace(
        cells_with=lambda groups: 16, cells_with_each=lambda groups: np.full(len(groups), 24.0)
    )
    groups = [group for k in (3, 2) for group in itertools.combinations("abcdefgh", k)]
    limits = Limits(
        budget=Budget(1.0, "rho"), max_cells=1e6, rounds=2.0, selection_share=0.1, penalty=1.0
    )
    rounds = Rounds(known, groups, limits)
    rounds.noise = 1.0
    looks = [[groups[place] for place in rounds._find_candidates()] for _ in range(2)]
    for look in looks:
        assert len(look) == len(set(look)) == limit
        assert sum(len(group) == 2 for group in look) == 28
    assert looks[0] != looks[1]


@pytest.mark.parametrize(
    ("columns", "left", "spent"), [(8, 1.0, 0.01), (200, 1.0, 0.12), (200, 0.07, 0.07)]
)
def test_single_columns_of_a_wide_table_get_several_prices_at_once(
    columns: int, left: float, spent: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no table stands out; else there would be a round for each small part of the budget."""
    known = learner({f"c{i}": 2 for i in range(columns)}, 1.0)
    known.cells = lambda group: 2 ** len(group)
    limits = Limits(
        budget=Budget(1.0, "rho"), max_cells=1e6, rounds=2.0, selection_share=0.1, penalty=1.0
    )
    rounds = Rounds(known, [("c0", "c1")], limits)
    rounds.left, rounds.measuring = Budget(left, "rho"), Budget(0.01, "rho")
    paid: list[Budget] = []
    monkeypatch.setattr(rounds, "_prefers_one_way", lambda: True)
    monkeypatch.setattr(rounds, "_measure_one_way", paid.append)
    rounds.anneal(Selection(groups=[], costs=[], expected=[], noise=1.0))
    [cost] = paid
    assert cost.amount == pytest.approx(spent)
    assert rounds.left.amount == pytest.approx(left - spent)


@pytest.mark.parametrize(("currency", "power"), [("rho", 1), ("epsilon", 2)])
def test_single_columns_divide_a_price_such_that_their_noise_falls_most(
    currency: Any, power: int
) -> None:
    """Those with many values get more; any other division leaves a larger sum of squares."""
    sizes = {"a": 2, "b": 7, "c": 16, "d": 41}
    asked: list[tuple[Any, Any]] = []
    known = learner(sizes, 10.0)
    known.measure = lambda groups, costs: asked.append((groups, costs))
    OneWayWorth(known).measure(Budget(0.5, currency))
    [(groups, costs)] = asked
    assert groups == [(name,) for name in sizes]
    amounts = np.array([cost.amount for cost in costs])
    assert 0.5 * (1 - 1e-9) <= amounts.sum() <= 0.5
    assert (np.diff(amounts) > 0).all()

    def sum_of_squares(amounts: Any) -> float:
        return float((np.array(list(sizes.values())) ** 2 / amounts**power).sum())

    rng = np.random.default_rng(1)
    for _ in range(50):
        other = amounts * rng.uniform(0.7, 1.4, 4)
        other *= amounts.sum() / other.sum()
        assert sum_of_squares(amounts) <= sum_of_squares(other) * (1 + 1e-9)


def test_a_selection_costs_more_where_tables_are_small() -> None:
    """The share is the one at which the noise of a choice and that of a table do least harm."""
    for cells in (4.0, 8.0, 100.0):
        share = find_selection_share(np.array([cells / 2, cells * 2]))
        others = np.linspace(0.001, 0.999, 999)
        harm = CELLS_PER_CHOICE / np.sqrt(others) + cells / np.sqrt(1 - others)
        assert share == pytest.approx(others[np.argmin(harm)], abs=0.001)
    assert find_selection_share(np.array([4.0])) < 0.3
    assert find_selection_share(np.array([100.0])) < 0.1


def test_a_large_domain_does_not_take_what_all_single_columns_get() -> None:
    """Before its rare values are merged, nearly all of its counts are noise."""
    asked: list[Any] = []
    for sizes in ({"a": 4, "b": 4, "large": 5000}, {"large": 5000, "larger": 9000}):
        known = learner(sizes, 10.0)
        known.measure = lambda groups, costs: asked.append([cost.amount for cost in costs])
        OneWayWorth(known).measure(Budget(0.6, "rho"))
    assert asked[0] == pytest.approx([0.2, 0.2, 0.2])
    assert asked[1] == pytest.approx([0.3, 0.3])
