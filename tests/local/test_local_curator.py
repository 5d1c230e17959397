"""From reports to rows: effects, the joint estimate, the local curator and its ledger."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy import Adaptive, Model, Schema
from understudy.data.marginals import marginal
from understudy.errors import InputError
from understudy.local.answering import answer_for_all
from understudy.local.collected import Collected, ReportTally
from understudy.local.curator import LocalCurator
from understudy.local.effects import estimate_jointly, pool_effects
from understudy.local.planning import expect_errors, plan_next_wave, plan_survey
from understudy.local.plans import CollectionPlan, ask_jointly, plan_all_pairs
from understudy.local.questions import LocalQuestion
from understudy.local.randomisers import Words, best_randomiser
from understudy.local.release import _round_up, open_local_ledger, synthesize_reports
from understudy.local.shuffling import bound_shuffled
from understudy.models.joint.classes import fit_classes
from understudy.models.joint.effects import Effect, find_effect
from understudy.privacy.budget import Budget

NAMES = ("a", "b", "c", "d")
SIZES = (2, 2, 3, 2)
PERSONS = 6_000

Codes = dict[str, NDArray[np.int64]]


def schema_of(sizes: tuple[int, ...] = SIZES) -> Schema:
    """Columns of categories."""
    named = zip("abcdefgh", sizes, strict=False)
    return Schema.from_dict(
        {
            "attributes": {
                name: {"kind": "categorical", "values": [str(code) for code in range(size)]}
                for name, size in named
            }
        }
    )


def persons(number: int = PERSONS, seed: int = 0) -> Codes:
    """Made-up persons of two kinds; a and b depend on each other beyond that."""
    rng = np.random.default_rng(seed)
    kind = rng.random(number) < 0.4
    a = rng.random(number) < np.where(kind, 0.8, 0.2)
    b = np.where(rng.random(number) < 0.7, a, rng.random(number) < 0.5)
    c = np.where(kind, rng.integers(0, 2, number), rng.integers(1, 3, number))
    d = rng.random(number) < np.where(kind, 0.7, 0.4)
    return {"a": a * 1, "b": b * 1, "c": c, "d": d * 1}


class SeededWords(Words):
    """Words from a seed: what follows is the same in each run."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng = np.random.default_rng(seed)

    def take(self, number: int) -> NDArray[np.uint64]:
        return self._rng.integers(0, 1 << 64, number, dtype=np.uint64)


def collect(plan: CollectionPlan, codes: Codes, seed: int | None = 1) -> Collected:
    """The reports of all persons, added up."""
    words = SeededWords(seed) if seed is not None else None
    tallies = {}
    for batch in answer_for_all(plan, codes, words=words):
        randomiser = plan.questions[batch.question].randomisers[batch.level]
        tallies[batch.question, batch.level] = ReportTally.of(randomiser, batch.answers)
    return Collected(plan=plan, tallies=tallies)


def true_table(codes: Codes, names: tuple[str, ...]) -> NDArray[np.float64]:
    shape = [SIZES[NAMES.index(name)] for name in names]
    places = np.ravel_multi_index([codes[name] for name in names], shape)
    counts = np.bincount(places, minlength=math.prod(shape))
    return counts.reshape(shape) / len(places)


@pytest.fixture(scope="module")
def collected() -> Collected:
    return collect(plan_survey(schema_of(), [4.0], PERSONS), persons())


@pytest.fixture(scope="module")
def model(collected: Collected) -> Model:
    return synthesize_reports(collected)


# --------------------------------------------------------------------------- effects


def test_effects_of_a_table_add_up_to_it() -> None:
    table = np.random.default_rng(0).random((2, 3, 4))
    whole = np.zeros_like(table)
    for size in range(4):
        for kept in itertools.combinations(range(3), size):
            effect = find_effect(table, kept)
            shape = [length if i in kept else 1 for i, length in enumerate(table.shape)]
            whole += effect.reshape(shape) * effect.size / table.size
    np.testing.assert_allclose(whole, table)


def test_a_parity_tells_the_effect_of_its_columns_whatever_their_order() -> None:
    """Without noise (a large epsilon), the effect is that of the exact table."""
    codes = persons(200_000)
    for columns in (("a", "d"), ("d", "a")):
        parity = LocalQuestion(
            columns=columns, sizes=(2, 2), randomisers=(best_randomiser(2, 20.0),), odd=((1,), (1,))
        )
        plan = CollectionPlan(schema=schema_of(), epsilons=(20.0,), questions=(parity,))
        [(part, effect)] = pool_effects(collect(plan, codes)).items()
        assert part == ("a", "d")
        wanted = find_effect(true_table(codes, ("a", "d")), (0, 1))
        # Exact but for a few flips of probability e^-20.
        np.testing.assert_allclose(effect.shares, wanted, atol=1e-4)


def test_columns_may_stand_in_any_order_in_a_question() -> None:
    codes = persons(200_000)
    one = CollectionPlan(
        schema=schema_of(),
        epsilons=(20.0,),
        questions=(ask_jointly(("c", "a"), schema_of(), [20.0]),),
    )
    effects = pool_effects(collect(one, codes))
    wanted = find_effect(true_table(codes, ("a", "c")), (0, 1))
    np.testing.assert_allclose(effects["a", "c"].shares, wanted, atol=1e-4)


@pytest.mark.thorough
def test_variances_of_effects_are_those_of_repeated_surveys() -> None:
    """Squared errors over their variances, added up, are chi-squared: within 6 deviations."""
    codes = persons(4_000)
    energy = freedom = 0.0
    for seed in range(40):
        effects = pool_effects(collect(plan_all_pairs(schema_of(), [1.0]), codes, seed))
        for part, effect in effects.items():
            error = effect.shares - find_effect(true_table(codes, part), tuple(range(len(part))))
            energy += float((error**2).sum()) / effect.variance
            freedom += effect.freedom
    # Persons are drawn without replacement here, so a little less than the formula has.
    assert 0.85 < energy / freedom < 1 + 6 * math.sqrt(2 / freedom)


def test_averaging_weighs_by_inverse_variance() -> None:
    one = Effect(shares=np.array([0.3, -0.3]), variance=1.0)
    other = Effect(shares=np.array([0.0, 0.0]), variance=0.5)
    both = one.plus(other)
    np.testing.assert_allclose(both.shares, [0.1, -0.1])
    assert both.variance == pytest.approx(1 / 3)


# --------------------------------------------------------------------------- the estimate


@pytest.mark.thorough
def test_classes_are_found_again() -> None:
    """Exact effects of two classes: the fit says what they say, with two classes or more."""
    codes = persons(100_000)
    effects = {
        part: Effect(
            shares=find_effect(true_table(codes, part), tuple(range(len(part)))), variance=1e-6
        )
        for size in (1, 2)
        for part in itertools.combinations(NAMES, size)
    }
    sizes = dict(zip(NAMES, SIZES, strict=True))
    found = fit_classes(sizes, effects).classes
    assert len(found.shares) >= 2
    for pair in itertools.combinations(NAMES, 2):
        np.testing.assert_allclose(found.table(pair), true_table(codes, pair), atol=0.01)


def test_tables_of_one_estimate_agree(collected: Collected) -> None:
    estimate = estimate_jointly(collected)
    triple = estimate.table(("a", "b", "c"))
    np.testing.assert_allclose(triple.sum(), 1.0)
    np.testing.assert_allclose(triple.sum(axis=2), estimate.table(("a", "b")), atol=1e-12)
    np.testing.assert_allclose(estimate.table(("c", "a")), estimate.table(("a", "c")).T, atol=1e-12)


def test_the_estimate_is_nearer_than_tables_one_by_one() -> None:
    """On average over surveys at epsilon 1, by a wide margin: half of the error or less."""
    codes = persons()
    plan = plan_all_pairs(schema_of(), [1.0])
    together, alone = [], []
    for seed in range(3):
        reports = collect(plan, codes, seed)
        estimate = estimate_jointly(reports)
        for number, question in enumerate(plan.questions):
            if len(question.columns) < 2:
                continue
            told = reports.estimate(number)
            assert told is not None
            wanted = true_table(codes, question.columns)
            alone.append(np.abs(told.shares - wanted.ravel()).sum())
            together.append(np.abs(estimate.table(question.columns) - wanted).sum())
    assert np.mean(together) < 0.6 * np.mean(alone)


# --------------------------------------------------------------------------- the curator


def test_measuring_costs_nothing_and_tells_deviations_by_cell(collected: Collected) -> None:
    ledger = open_local_ledger(collected)
    curator = LocalCurator(collected, ledger)
    entries = len(ledger.entries)
    [measured] = curator.measure([marginal("a", "c")], Budget(1.0))
    assert len(ledger.entries) == entries
    assert ledger.left.amount == 0
    assert measured.deviations is not None
    assert measured.deviations.shape == (2, 3)
    assert measured.deviation == pytest.approx(math.sqrt(np.mean(measured.deviations**2)))
    assert curator.rows == PERSONS
    assert abs(measured.counts.sum() - PERSONS) <= 3  # of six rounded cells
    assert measured.effect_variances is not None
    assert set(measured.effect_variances) == {(), ("a",), ("c",), ("a", "c")}


def test_choosing_takes_the_pair_that_depends_most(collected: Collected) -> None:
    curator = LocalCurator(collected, open_local_ledger(collected))
    pairs = [marginal("c", "d"), marginal("b", "d"), marginal("a", "b")]
    assert curator.choose(pairs, "R", Budget(1.0)) == 2


def test_sums_are_refused_in_a_sentence(collected: Collected) -> None:
    curator = LocalCurator(collected, open_local_ledger(collected))
    with pytest.raises(InputError, match="Collected tables tell what follows"):
        curator.draw(marginal("a"), 10, Budget(1.0))


@pytest.mark.parametrize("method", ["adaptive", "mst", "independent", "privbayes", "marginals"])
def test_every_method_runs_on_reports(collected: Collected, method: str) -> None:
    found = synthesize_reports(collected, method)
    assert found.rows == PERSONS
    assert found.ledger.promise() == (4.0, 0.0)
    assert found.sample(10, seed=1).rows == 10


def test_rows_are_near_the_persons(model: Model) -> None:
    """Seeded, so the same in each run: pairs within 0.05 of the truth."""
    codes = persons()
    for pair in itertools.combinations(NAMES, 2):
        shares = model.marginal(*pair).table / PERSONS
        assert 0.5 * np.abs(shares - true_table(codes, pair)).sum() < 0.05


def test_the_ledger_names_epsilon_reports_and_trust(model: Model) -> None:
    statement = model.ledger.statement()
    assert "epsilon = 4" in statement
    assert "6,000 persons sent one report" in statement
    assert "no one but the person is trusted" in statement
    assert "Shuffled" not in statement
    [entry] = model.ledger.entries
    assert entry.amount == 4.0
    again = Model.from_dict(model.to_dict())
    assert again.ledger.trust == model.ledger.trust


def test_a_method_must_say_the_epsilon_of_the_reports(collected: Collected) -> None:
    with pytest.raises(InputError, match="local epsilon 4"):
        synthesize_reports(collected, Adaptive(epsilon=1.0))
    with pytest.raises(InputError, match="does not run on reports"):
        synthesize_reports(collected, "gaussian")


def test_no_reports_are_refused() -> None:
    plan = plan_survey(schema_of(), [1.0], 100)
    with pytest.raises(InputError, match="no reports"):
        synthesize_reports(Collected(plan=plan, tallies={}))


# --------------------------------------------------------------------------- shuffling


def test_the_shuffled_bound_is_stated_on_request(collected: Collected) -> None:
    trust = open_local_ledger(collected, 1e-6).trust
    bound = bound_shuffled(4.0, PERSONS, 1e-6)
    if bound is None:
        assert "too few reports" in trust
    else:
        assert bound <= shuffled_epsilon(trust) < 1.01 * bound
    many = bound_shuffled(1.0, 21_574, 1e-6)
    assert many is not None
    power = math.e
    wanted = math.log(
        1
        + (power - 1)
        / (power + 1)
        * (8 * math.sqrt(power * math.log(4e6)) / math.sqrt(21_574) + 8 * power / 21_574)
    )
    assert many == pytest.approx(wanted)


def shuffled_epsilon(trust: str) -> float:
    return float(trust.partition("private with epsilon ")[2].partition(" and")[0])


def test_reports_of_another_wave_or_level_hide_nobody() -> None:
    """Both stand in each report, so that the smallest group tells how much shuffling adds."""
    plan = plan_survey(schema_of(), [1.0, 0.5])
    later = plan.next_wave([ask_jointly(("a", "b"), plan.schema, plan.epsilons)])
    sizes = {(0, 0): 90_000, (0, 1): 80_000, (len(plan.questions), 0): 4_000}
    tallies = {
        place: ReportTally(reports=reports, support=np.zeros(1, np.int64))
        for place, reports in sizes.items()
    }
    collected = Collected(plan=later, tallies=tallies)
    worst = bound_shuffled(1.0, 4_000, 1e-6)
    assert worst is not None
    ledger = open_local_ledger(collected, 1e-6)
    assert worst <= shuffled_epsilon(ledger.trust) < 1.01 * worst
    assert ledger.epsilon == 1.0  # that of the persons who chose the least privacy
    tallies[len(plan.questions), 1] = ReportTally(reports=50, support=np.zeros(1, np.int64))
    assert "too few reports of one wave" in open_local_ledger(collected, 1e-6).trust


@pytest.mark.parametrize("epsilon", [0.123, 0.1239, 0.99901, 1.0, 1.2349, 12.341, 3.0000001e-5])
def test_a_stated_epsilon_is_not_rounded_down(epsilon: float) -> None:
    assert epsilon <= float(_round_up(epsilon)) < 1.011 * epsilon


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.5])
def test_the_bound_says_nothing_beyond_its_condition(delta: float) -> None:
    reports = 1_000
    largest = math.log(reports / (16 * math.log(2 / delta)))
    assert bound_shuffled(largest + 1e-9, reports, delta) is None
    found = bound_shuffled(largest - 1e-9, reports, delta)
    assert found is None or found < largest


# --------------------------------------------------------------------------- planning


def test_a_plan_costs_one_report_and_expects_errors() -> None:
    plan = plan_survey(schema_of(), [1.0, 0.5], 5_000)
    assert plan.epsilons == (1.0, 0.5)
    assert all(len(question.randomisers) == 2 for question in plan.questions)
    few, many = expect_errors(plan, 500), expect_errors(plan, 50_000)
    assert 0 < many.two_way < few.two_way < 1
    assert "50,000 persons" in str(many)


def test_small_epsilons_ask_few_columns_and_large_ones_more() -> None:
    schema = schema_of((2,) * 8)
    orders = [
        max(len(question.columns) for question in plan_survey(schema, [epsilon], 20_000).questions)
        for epsilon in (0.5, 5.0)
    ]
    assert orders[0] <= 3 < orders[1]


def test_the_expected_error_is_about_the_one_that_comes_out() -> None:
    """Within a factor of 2.5, as its prior is about made-up tables; the mean over six pairs."""
    codes = persons()
    plan = plan_survey(schema_of(), [2.0], PERSONS)
    estimate = estimate_jointly(collect(plan, codes, 3))
    found = np.mean(
        [
            0.5 * np.abs(estimate.table(pair) - true_table(codes, pair)).sum()
            for pair in itertools.combinations(NAMES, 2)
        ]
    )
    expected = expect_errors(plan).two_way
    assert expected / 2.5 < found < 2.5 * expected


def test_another_wave_asks_most_about_what_depends_most() -> None:
    first = collect(plan_survey(schema_of(), [4.0], PERSONS), persons())
    later = plan_next_wave(first, 3_000)
    assert later.wave == 2
    assert later.survey == first.plan.id
    asked = {
        question.columns: share
        for question, share in zip(later.questions, later.shares.tolist(), strict=True)
        if question.wave == 2
    }
    assert asked["a", "b"] > asked["b", "d"]
    both = first + collect(later, persons(3_000, seed=5), 2)
    assert both.reports == PERSONS + 3_000
    assert synthesize_reports(both, "mst").rows == PERSONS + 3_000


@pytest.mark.thorough
def test_error_bars_hold_the_truth() -> None:
    """Of 80 answers from 20 surveys about as many as the bars of 95 % promise; reports are seeded,
    so that the number is the same in each run.
    """
    held = []
    for seed in range(20):
        codes = persons(seed=seed)
        # Another seed than that of the persons, or their reports would depend on it.
        reports = collect(plan_survey(schema_of(), [2.0], PERSONS), codes, 1_000 + seed)
        model = synthesize_reports(reports)
        for cell in ({"a": 1}, {"a": 1, "b": 1}, {"c": 2, "d": 0}, {"a": 1, "c": 0, "d": 1}):
            condition = " and ".join(f"{name} = '{code}'" for name, code in cell.items())
            truth = np.logical_and.reduce([codes[name] == code for name, code in cell.items()])
            answer = model.query(f"count where {condition}")
            held.append(answer.low <= truth.sum() <= answer.high)
    assert np.mean(held) >= 0.88
