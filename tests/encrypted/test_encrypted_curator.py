"""Methods and learners on encrypted tables and sums: unchanged, and as good as the noise allows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas
import pytest
from encrypted_parties import SCHEMA, draw_rows, gather

from understudy import MST, Adaptive, Independent, Marginals, PrivBayes, SmoothedHistogram
from understudy.counting.memory import MemoryCounter
from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.encrypted.curator import EncryptedCurator
from understudy.encrypted.learning import federate_learner_encrypted, find_questions
from understudy.encrypted.plans import SCORE_MOVE, SCORE_STEPS
from understudy.encrypted.session import EncryptedSession
from understudy.encrypted.ways import federate_encrypted, open_session, tells_all_pairs
from understudy.errors import InputError
from understudy.federation.opening import open_rows
from understudy.learners import PCA, LinearRegression
from understudy.privacy.budget import Budget
from understudy.privacy.features import Number
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.scores import score_named
from understudy.privacy.sums import Sum

pytestmark = pytest.mark.usefixtures("small_keys")

OWNERS = 3


@pytest.fixture(scope="module")
def parties():
    return gather([draw_rows(2000, seed) for seed in range(OWNERS)], epsilon=1e6)


def exact(*names: str) -> np.ndarray:
    rows = [draw_rows(2000, seed) for seed in range(OWNERS)]
    codes = {name: np.concatenate([one.codes[name] for one in rows]) for name in "abc"}
    sizes = {attribute.name: attribute.size for attribute in SCHEMA.modelled}
    return MemoryCounter(codes, {}, sizes).count([marginal(*names)])[0]


@pytest.mark.parametrize("collected", [False, True])
def test_a_study_is_repeatable_tosses_and_all(collected: bool) -> None:
    """A network begins with a column that is tossed for: with one seed, always the same."""
    rows = [draw_rows(200, seed) for seed in range(2)]

    def study(seed: int) -> list[int]:
        parties = gather(rows, noise=SeededNoise(seed))
        link, store, noise = parties.link, parties.store, SeededNoise(seed)
        method = PrivBayes(epsilon=2.0)
        with open_session(link, store, method, colluders=0, noise=noise) as session:
            curator = EncryptedCurator(session)
            if collected:
                curator = curator.collect(Budget(1.0))
            return [curator.toss(1000) for _ in range(3)]

    assert study(1) == study(1) != study(2)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "method",
    [
        Independent(epsilon=2.0),
        Marginals(epsilon=2.0),
        MST(epsilon=5.0),
        Adaptive(epsilon=5.0),
        PrivBayes(epsilon=5.0),
    ],
    ids=lambda method: method.name,
)
def test_methods_run_on_encrypted_tables(parties, method):
    model = federate_encrypted(parties.link, parties.store, method)
    spent, _ = model.ledger.spent()
    assert 0.9 * method.epsilon < spent <= method.epsilon
    assert model.method["federation"]["way"] == "encrypted"
    assert model.rows == pytest.approx(6000, abs=200)
    shares = model.marginal("a").table
    assert np.abs(shares / shares.sum() - exact("a") / 6000).max() < 0.05


@pytest.mark.parametrize("method", [MST(epsilon=10.0), Adaptive(epsilon=10.0)], ids=["mst", "ada"])
def test_choices_find_what_depends_on_what(parties, method):
    """b depends on a and c on b: the pairs are kept, which independent columns would not do."""
    model = federate_encrypted(parties.link, parties.store, method)
    for pair in ("ab", "bc"):
        joint = model.marginal(*pair).table
        assert np.abs(joint / joint.sum() - exact(*pair) / 6000).sum() / 2 < 0.05


def test_a_table_within_one_of_the_plan_is_added_up(parties):
    with EncryptedSession(parties.link, parties.store, epsilon=1e5) as session:
        turned, total = EncryptedCurator(session).measure([marginal("c", "b"), ()], Budget(1e5))
    assert turned.counts.tolist() == exact("c", "b").tolist()
    assert total.counts == 6000


def test_what_is_not_in_the_plan_is_refused_before_anything_is_paid(parties):
    with EncryptedSession(parties.link, parties.store, epsilon=1.0) as session:
        curator = EncryptedCurator(session)
        with pytest.raises(InputError, match="lies in none of the plan"):
            curator.measure([marginal("a", "b", "c")], Budget(1.0))
        with pytest.raises(InputError, match="not in the plan"):
            curator.sum([Number("c")], Budget(1.0))
        with pytest.raises(InputError, match="cannot be drawn"):
            curator.draw(marginal("a"), 3, Budget(1.0))
        assert curator.ledger.left.amount == 1.0


def test_a_choice_costs_nothing_once_tables_are_surveyed(parties):
    with EncryptedSession(parties.link, parties.store, epsilon=1.0) as session:
        curator = EncryptedCurator(session)
        curator.survey(Budget(0.5))
        pairs = [marginal("a", "b"), marginal("a", "c")]
        independent = [np.full((2, 3), 1000.0), np.full((2, 4), 750.0)]
        for _ in range(3):
            curator.choose(pairs, "misfit", Budget(0.1), estimates=independent)
        assert curator.ledger.left.amount == pytest.approx(0.5)
        # What they would have cost goes to the next table.
        curator.measure([marginal("a")], Budget(0.1))
        assert curator.ledger.left.amount == pytest.approx(0.1)


def test_all_tables_at_once_are_paid_for_once(parties):
    with EncryptedSession(parties.link, parties.store, epsilon=1.0) as session:
        collected = EncryptedCurator(session).collect(Budget(1.0))
        assert session.ledger.left.amount < 1e-12  # parts of a split are rounded down
        spent = len(session.ledger.entries)
        pairs = [marginal("a", "b"), marginal("b", "c")]
        first, second = collected.measure(pairs, Budget(1.0))
        collected.choose(pairs, "misfit", Budget(1.0), estimates=[np.ones((2, 3)), np.ones((3, 4))])
        assert len(session.ledger.entries) == spent
    # Tables of one estimate agree, up to rounding.
    assert np.abs(first.counts.sum(axis=0) - second.counts.sum(axis=1)).max() <= 4


def test_a_plan_of_other_tables_is_asked_for_what_is_chosen(parties):
    assert tells_all_pairs(parties.plan)
    assert not tells_all_pairs(replace(parties.plan, tables=parties.plan.tables[:-1]))


def test_a_method_that_draws_is_refused(parties):
    with pytest.raises(InputError, match="does not run on encrypted tables"):
        federate_encrypted(parties.link, parties.store, SmoothedHistogram(epsilon=1.0, draws=10))


def test_other_neighbours_than_the_plans_are_refused(parties):
    with pytest.raises(InputError, match="plan is for neighbours add_remove"):
        federate_encrypted(
            parties.link, parties.store, Independent(epsilon=1.0, neighbours="replace")
        )


# ---- sums

NUMBERS = Schema.from_dict(
    {"attributes": {name: {"kind": "real", "min": -4, "max": 4} for name in ("x", "y", "z")}}
)


def points(seed: int, number: int = 3000):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=number)
    columns = {"x": x, "y": 0.9 * x + 0.2 * rng.normal(size=number), "z": rng.normal(size=number)}
    return pandas.DataFrame({name: np.round(c, 2).clip(-4, 4) for name, c in columns.items()})


def coded(frame):
    return open_rows(frame, NUMBERS, notify=lambda _: None)[0]


@pytest.fixture(scope="module")
def number_owners():
    learners = PCA(2, epsilon=2.0), LinearRegression(epsilon=2.0)
    asked = find_questions(learners[0], NUMBERS)
    more = find_questions(learners[1], NUMBERS, "z")
    return gather(
        [coded(points(seed)) for seed in range(OWNERS)],
        NUMBERS,
        tables=(),
        sums=(*asked.sums, *more.sums),
        epsilon=1e6,
    )


def test_pca_runs_on_encrypted_sums(number_owners):
    """As it runs on any curator; the sums are about the middle of the bounds, since owners do not
    know a mean that is released later.
    """
    pca = PCA(2, epsilon=10.0)
    trained = federate_learner_encrypted(number_owners.link, number_owners.store, pca)
    assert abs(pca.components_[0] @ np.array([1, 0.9, 0]) / np.hypot(1, 0.9)) > 0.97
    assert trained.ledger.spent()[0] <= 10.0


def test_a_regression_runs_on_encrypted_sums(number_owners):
    learner = LinearRegression(epsilon=20.0)
    federate_learner_encrypted(number_owners.link, number_owners.store, learner, "z")
    assert np.abs(learner.coef_).max() < 0.5


def test_sums_are_those_of_all_rows(number_owners):
    frame = pandas.concat([points(seed) for seed in range(OWNERS)])
    features = [Number(name, -4.0, 4.0, unit=4.0) for name in NUMBERS.names]
    question = Sum(features=features, budget=Budget(1.0), moments="products")
    parts = [coded(points(seed)) for seed in range(OWNERS)]
    three = gather(parts, NUMBERS, tables=(), sums=(question,), epsilon=1e9)
    with EncryptedSession(three.link, three.store, epsilon=1e6) as session:
        found = EncryptedCurator(session).answer(replace(question, budget=Budget(1e6)))
    # On a grid of 1,024 steps to a bound, each owner's sums are rounded down.
    assert np.abs(found.sums.values - frame.sum()).max() < OWNERS * 4 / 1024 + 0.1
    products = frame.to_numpy().T @ frame.to_numpy()
    assert np.abs(found.moments.values - products).max() < OWNERS * 16 / 1024 + 0.1


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_noise_in_scores_covers_what_a_row_moves(relation):
    """Rounded down, a score moves by as many steps as its sensitivity has, at most."""
    moved = SCORE_STEPS * score_named("R").sensitivity(relation, 10**9, binary=False)
    assert moved < SCORE_MOVE[relation] <= moved + 2


def test_a_plan_for_replaced_rows_has_noise_for_both_cells_of_a_row():
    two = gather([draw_rows(500, seed) for seed in range(2)], neighbours="replace", scores=True)
    for method in (Independent(epsilon=4.0, neighbours="replace"), MST(epsilon=4.0)):
        given = replace(method, neighbours="replace")
        ledger = federate_encrypted(two.link, two.store, given).ledger
        assert ledger.neighbours == "replace"
    with EncryptedSession(two.link, two.store, epsilon=4.0, colluders=0) as session:
        [table] = EncryptedCurator(session).measure([marginal("a")], Budget(1.0))
    assert table.scale == pytest.approx(2.0)
    with pytest.raises(InputError, match="plan is for neighbours replace"):
        federate_encrypted(two.link, two.store, Independent(epsilon=1.0))
    assert type(two.plan).from_dict(two.plan.to_dict()).digest == two.plan.digest


def test_the_sums_of_a_plan_for_replaced_rows_move_as_far_as_the_central_ones():
    question = Sum(features=(Number("c"),), budget=Budget(1.0))
    two = gather(
        [draw_rows(500, seed) for seed in range(2)],
        neighbours="replace",
        tables=(),
        sums=(question,),
    )
    assert two.plan.blocks(0) == question.blocks(two.plan.domain, "replace", 1)
    assert two.plan.blocks(0) != question.blocks(two.plan.domain, "add_remove", 1)
    with EncryptedSession(two.link, two.store, epsilon=1.0, colluders=0) as session:
        EncryptedCurator(session).sum([Number("c")], Budget(1.0))
        assert session.ledger.left.amount == 0.0
