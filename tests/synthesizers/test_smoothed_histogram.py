"""The smoothed histogram: draws that keep the budget they are given, and a model that is those
draws.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import coded, schema_of, small_schema
from understudy import BudgetError, InputError, Ledger, Model, Table
from understudy.data.encoding import encode
from understudy.data.marginals import marginal
from understudy.data.tables import Column
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import SeededNoise, SystemNoise, _numbers_below, draw_smoothing
from understudy.synthesizers.perturbed_histogram import PerturbedHistogram
from understudy.synthesizers.smoothed_histogram import (
    MAX_ROWS_IN_ORDER,
    SmoothedHistogram,
    best_draws,
)

# --------------------------------------------------------------------------- the guarantee

RELATIONS: tuple[Any, ...] = ("replace", "add_remove")


def neighbouring(cells: int, most_rows: int, relation: str, change: int = 1) -> Any:
    """All pairs of small tables of counts that are neighbours; ``change`` rows come or go under
    add_remove.
    """
    tables = [
        t for t in itertools.product(range(most_rows + 1), repeat=cells) if sum(t) <= most_rows
    ]
    for here, there in itertools.permutations(map(np.array, tables), 2):
        moved = there - here
        if relation == "replace" and moved.sum() == 0 and np.abs(moved).sum() == 2:
            yield here, there
        if relation == "add_remove" and (moved >= 0).all() and moved.sum() <= change:
            yield here, there
            yield there, here


def log_ratios(here: Any, there: Any, smoothing: Fraction) -> Any:
    p, q = here + float(smoothing), there + float(smoothing)
    return np.log(p / p.sum()) - np.log(q / q.sum())


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("epsilon", "draws"), [(0.5, 1), (1.0, 10), (8.0, 3), (0.01, 500)])
def test_no_neighbours_lose_more_than_epsilon(relation: Any, epsilon: float, draws: int) -> None:
    smoothing = draw_smoothing(Budget(epsilon), draws, relation)
    worst = max(
        float(np.abs(log_ratios(*pair, smoothing)).max()) for pair in neighbouring(3, 4, relation)
    )
    assert draws * worst <= epsilon
    if relation == "replace":  # where it is attained, so that less smoothing would not do
        assert draws * worst == pytest.approx(epsilon, rel=1e-6)


def test_under_add_remove_the_loss_comes_near_epsilon_in_large_tables() -> None:
    smoothing = draw_smoothing(Budget(1.0), 10, "add_remove")
    here = np.array([0, 10**9])
    assert 10 * log_ratios(here + np.array([1, 0]), here, smoothing).max() == pytest.approx(
        1.0, rel=1e-6
    )


@pytest.mark.parametrize("most", [1, 2, 3])
def test_all_rows_of_a_person_are_covered(most: int) -> None:
    smoothing = draw_smoothing(Budget(1.0), 10, "add_remove", most)
    pairs = neighbouring(3, 4, "add_remove", most)
    assert 10 * max(float(np.abs(log_ratios(*pair, smoothing)).max()) for pair in pairs) <= 1.0


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rho", [0.001, 0.05, 2.0])
def test_the_price_in_rho_covers_every_renyi_divergence(relation: Any, rho: float) -> None:
    smoothing = draw_smoothing(Budget(rho, "rho"), 1, relation)
    for cells in (2, 4):
        for here, there in neighbouring(cells, 3, relation):
            q = (there + float(smoothing)) / (there + float(smoothing)).sum()
            ratios = log_ratios(here, there, smoothing)
            for order in (1.001, 1.5, 2.0, 5.0, 20.0, 200.0):
                divergence = np.logaddexp.reduce(np.log(q) + order * ratios) / (order - 1)
                assert divergence <= rho * order * (1 + 1e-9)


@given(st.floats(1e-9, 1e4), st.integers(1, 10**6), st.integers(1, 50))
def test_the_smoothing_is_rounded_to_the_safe_side(epsilon: float, draws: int, most: int) -> None:
    smoothing = draw_smoothing(Budget(epsilon), draws, "add_remove", most)
    # draws * log(1 + M / a) <= epsilon, in whole numbers as far as they go
    assert draws * math.log1p(most / float(smoothing)) <= epsilon * (1 + 1e-11)
    if epsilon / draws < 5:
        assert draws * math.log1p(most / float(smoothing)) >= epsilon * (1 - 1e-5)


def test_the_project_s_misprinted_m_would_not_be_private() -> None:
    """With m = 1/100 where 1 over the area of a cell is 100, what is added is ten thousand times
    too little.
    """
    right = draw_smoothing(Budget(1.0), 1000, "replace")
    here, there = np.zeros(100), np.zeros(100)
    here[0] = there[1] = 1
    assert 1000 * np.abs(log_ratios(here, there, right / 10**4)).max() > 2000


# --------------------------------------------------------------------------- draws


@pytest.mark.parametrize("noise", [SystemNoise(), SeededNoise(3)])
def test_draws_have_the_smoothed_distribution(noise: Any) -> None:
    counts = np.array([[0, 5, 10], [1, 0, 3]])
    drawn = noise.draw(counts, 60_000, Fraction(1, 2))
    assert drawn.shape == counts.shape
    assert drawn.dtype == np.int64
    assert drawn.sum() == 60_000
    expected = (counts + 0.5) / (counts + 0.5).sum() * 60_000
    # Chi-squared with 5 degrees of freedom exceeds 41 with a probability below 1e-7.
    assert ((drawn - expected) ** 2 / expected).sum() < 41


def test_draws_come_from_the_operating_system_and_are_fresh() -> None:
    counts = np.arange(50)
    assert (
        SystemNoise().draw(counts, 500, Fraction(1)) != SystemNoise().draw(counts, 500, Fraction(1))
    ).any()
    assert (
        SeededNoise(1).draw(counts, 500, Fraction(1))
        == SeededNoise(1).draw(counts, 500, Fraction(1))
    ).all()


@pytest.mark.parametrize("bound", [1, 2, 3, 8, 200, 256, 257, 10**30])
def test_whole_numbers_are_uniform_below_their_bound(bound: int) -> None:
    numbers = _numbers_below(bound, 4000)
    assert len(numbers) == 4000
    assert all(0 <= number < bound for number in numbers)
    if bound > 1:
        mean, deviation = (bound - 1) / 2, math.sqrt((bound**2 - 1) / 12 / 4000)
        assert abs(sum(numbers) / 4000 - mean) < 6 * deviation
    if bound <= 8:
        assert set(numbers) == set(range(bound))


def curator(noise: Any = None, **guarantee: Any) -> CentralCurator:
    return CentralCurator(
        coded(1000), Ledger(**{"epsilon": 1.0, **guarantee}), noise or SeededNoise(1)
    )


def test_the_door_is_priced_before_it_counts() -> None:
    asked = curator()
    drawn = asked.draw(marginal("a", "b"), 40, Budget(0.4))
    assert drawn.shape == (2, 3)
    assert drawn.sum() == 40
    [entry] = asked.ledger.entries
    assert (entry.question, entry.amount) == ("40 draws from the table of a x b", 0.4)
    assert entry.mechanism == "smoothed histogram, 99.5008 added to each cell"

    class Broken:
        def count(self, marginals: Any) -> Any:
            assert len(asked.ledger.entries) == 2
            raise RuntimeError("the engine is gone")

    asked._rows.counter = Broken()  # type: ignore[assignment]
    with pytest.raises(RuntimeError):
        asked.draw(marginal("a"), 5, Budget(0.1))
    assert len(asked.ledger.entries) == 2


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda c: c.draw(marginal("a"), 5, Budget(1.1)), BudgetError),
        (lambda c: c.draw(marginal("a"), 0, Budget(0.5)), InputError),
        (lambda c: c.draw(marginal("a"), 5, Budget(0.0)), InputError),
        (lambda c: c.draw(marginal("nobody"), 5, Budget(0.5)), InputError),
        (lambda c: c.draw(marginal("a"), 5, Budget(0.5, "rho")), BudgetError),
    ],
)
def test_what_cannot_be_answered_is_refused_before_anything_is_asked(ask: Any, error: Any) -> None:
    asked = curator()
    with pytest.raises(error):
        ask(asked)
    assert not asked.ledger.entries


def test_seeded_draws_are_marked_as_not_private() -> None:
    assert not curator(SeededNoise(1)).ledger.private
    assert curator(SystemNoise()).ledger.private


# --------------------------------------------------------------------------- the synthesizer


def table(rows: int = 20_000) -> Table:
    rng = np.random.default_rng(0)
    a = rng.random(rows) < 0.2
    b = np.where(rng.random(rows) < 0.7, a, rng.choice(3, rows))
    return Table(
        {
            "a": Column("boolean", a),
            "b": Column("integer", b.astype(np.int64)),
            "c": Column("integer", rng.binomial(7, 0.3, rows)),
        }
    )


def cells_of(frame: Any) -> Any:
    codes = encode(frame, small_schema()).codes
    place = np.ravel_multi_index(tuple(codes[name] for name in "abc"), (2, 3, 8))
    return np.bincount(place, minlength=48).reshape(2, 3, 8)


@pytest.mark.parametrize("draws", [1, 37, 5000])
def test_the_default_sample_is_exactly_what_was_drawn(draws: int, tmp_path: Path) -> None:
    model = SmoothedHistogram(epsilon=1.0, draws=draws).fit(
        table(), small_schema(), noise=SeededNoise(2)
    )
    drawn = curator_draws(draws, SeededNoise(2))
    assert (model.network["c"].table == drawn).all()
    assert (cells_of(model.sample(seed=5)) == drawn).all()
    model.save(tmp_path / "m.json")
    again = Model.load(tmp_path / "m.json")
    assert again.draws == draws
    assert (cells_of(again.sample()) == drawn).all()
    assert again.sample(10).rows == 10
    # What was never drawn never comes up: more rows from the model are drawn from those that are
    # there.
    assert not cells_of(again.sample(3 * draws))[drawn == 0].any()


def curator_draws(draws: int, noise: Any) -> Any:
    keeper = CentralCurator(encode(table(), small_schema()), Ledger(1.0), noise)
    return keeper.draw(marginal("a", "b", "c"), draws, Budget(1.0))


@pytest.mark.parametrize(
    ("guarantee", "questions", "rows"),
    [
        ({}, ["table of (rows)", "draws"], None),
        ({"draws": 60}, ["60 draws"], None),
        ({"neighbours": "replace"}, ["draws"], 20_000),
        ({"neighbours": "replace", "draws": 60, "delta": 1e-6}, ["60 draws"], 20_000),
    ],
)
def test_all_of_the_budget_is_spent_on_what_is_needed(
    guarantee: Any, questions: list[str], rows: int | None
) -> None:
    model = SmoothedHistogram(epsilon=1.0, **guarantee).fit(
        table(), small_schema(), noise=SeededNoise(1)
    )
    assert len(model.ledger.entries) == len(questions)
    assert all(
        part in entry.question for part, entry in zip(questions, model.ledger.entries, strict=True)
    )
    assert model.ledger.spent()[0] == pytest.approx(1.0)
    if "neighbours" in guarantee:
        assert model.rows == rows
    elif "draws" in guarantee:
        assert model.rows is None
    else:
        assert model.rows != 20_000
        assert model.rows == pytest.approx(20_000, rel=0.1)


def test_error_bars_are_those_of_so_many_draws() -> None:
    method = SmoothedHistogram(epsilon=20.0, draws=400, neighbours="replace")
    models = [method.fit(table(), small_schema(), noise=SeededNoise(seed)) for seed in range(80)]
    for query in ("share where a = true", "mean c", "mean c where a = false"):
        answers = [model.query(query) for model in models]
        spread = float(np.std([answer.value for answer in answers]))
        assert np.mean([answer.error for answer in answers]) == pytest.approx(spread, rel=0.25)
    estimates = [model.marginal("b") for model in models]
    spreads = np.std([estimate.table for estimate in estimates], axis=0)
    assert np.mean([e.deviation for e in estimates], axis=0) == pytest.approx(spreads, rel=0.3)


def test_the_default_number_of_draws_balances_two_errors() -> None:
    few, many = best_draws(10_000, 100, Budget(1.0)), best_draws(1_000_000, 100, Budget(1.0))
    assert 10 < few < many < 10_000
    assert best_draws(0, 48, Budget(1.0)) == 1
    assert best_draws(10**9, 2, Budget(100.0)) <= MAX_ROWS_IN_ORDER

    def distance(draws: int) -> float:
        method = SmoothedHistogram(epsilon=1.0, draws=draws, neighbours="replace")
        truth = cells_of(table()) / 20_000
        found = [method.fit(table(), small_schema(), noise=SeededNoise(seed)) for seed in range(12)]
        return float(
            np.mean([np.abs(m.network["c"].table / draws - truth).sum() / 2 for m in found])
        )

    best = best_draws(20_000, 48, Budget(1.0), "replace")
    assert distance(best) < min(distance(max(best // 8, 1)), distance(best * 16))


def test_with_a_delta_the_same_draws_take_less_smoothing() -> None:
    pure = draw_smoothing(Ledger(1.0).budget, 1000, "add_remove")
    mixed = draw_smoothing(Ledger(1.0, 1e-6, currency="rho").budget, 1000, "add_remove")
    assert mixed < pure / 5


def test_the_perturbed_histogram_is_far_more_accurate_at_the_same_budget() -> None:
    truth = cells_of(table()) / 20_000

    def distance(method: Any) -> float:
        found = method.fit(table(), small_schema(), noise=SeededNoise(1)).network["c"].table
        return float(np.abs(found / found.sum() - truth).sum() / 2)

    assert distance(PerturbedHistogram(epsilon=1.0)) < distance(SmoothedHistogram(epsilon=1.0)) / 10


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("draws", [0, -1, 1.5, True, "10", MAX_ROWS_IN_ORDER + 1])
def test_a_number_of_draws_that_makes_no_sense_is_refused(draws: Any) -> None:
    with pytest.raises(InputError, match="draws must be a whole number from 1 to 262,144"):
        SmoothedHistogram(epsilon=1.0, draws=draws).fit(table(), small_schema())


def test_a_domain_that_is_too_large_is_refused_in_one_sentence() -> None:
    schema = schema_of(
        **{name: {"kind": "integer", "min": 0, "max": 999, "bins": 1000} for name in "abc"}
    )
    wide = Table({name: Column("integer", np.arange(9)) for name in "abc"})
    with pytest.raises(
        InputError, match=r"a x b x c has 1,000,000,000 cells, more than .* the method privbayes"
    ) as told:
        SmoothedHistogram(epsilon=1.0).fit(wide, schema)
    assert str(told.value).count(".") == 1


def test_attributes_with_one_value_are_no_hindrance() -> None:
    schema = schema_of(a={"kind": "categorical", "values": ["x"]}, b={"kind": "boolean"})
    frame = Table(
        {
            "a": Column("text", np.zeros(50, dtype=np.uint32), ("x",)),
            "b": Column("boolean", np.arange(50) > 9),
        }
    )
    model = SmoothedHistogram(epsilon=1.0, draws=20).fit(frame, schema)
    assert model.sample().rows == 20
    alone = schema_of(a={"kind": "categorical", "values": ["x"]})
    assert (
        SmoothedHistogram(epsilon=1.0).fit(Table({"a": frame.columns["a"]}), alone).sample().rows
        >= 1
    )


def test_a_model_file_with_impossible_draws_is_refused(tmp_path: Path) -> None:
    document = SmoothedHistogram(epsilon=1.0, draws=9).fit(table(), small_schema()).to_dict()
    for draws in (0, "9", True, 10**9):
        document["method"]["draws"] = draws
        with pytest.raises(InputError, match="its number of draws is"):
            Model.from_dict(document)
