"""Output and objective perturbation: the bounds that their proofs rest on."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

from understudy import Schema
from understudy.data.encoding import encode
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.learners.logistic import LogisticRegression, shorten_rows
from understudy.learners.perturbation import (
    TOLERANCE,
    PerturbationPlan,
    Rows,
    bound_gradient,
    bound_rounding,
    fit_perturbed,
    minimise,
    plan_objective,
    plan_output,
    sum_gradient,
)
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise, SystemNoise

NEIGHBOURS = ("add_remove", "replace")


def _rows(features, labels, l1=3.0):
    features = np.asarray(features, dtype=float)
    l2 = min(l1, math.sqrt(features.shape[1]))
    return Rows(features=features, labels=np.asarray(labels, dtype=float), l1=l1, l2=l2)


ALPHABET = [
    (np.array([1.0, x]), y) for x in (-1.0, 0.0, 1.0) for y in (-1.0, 1.0)
]  # with an intercept: |x|_1 <= 2, |x|_2 <= sqrt(2)


def _table(rows):
    if not rows:
        return _rows(np.zeros((0, 2)), [], l1=2.0)
    return _rows([x for x, _ in rows], [y for _, y in rows], l1=2.0)


def _neighbouring_tables(relation):
    """All pairs of tables of up to three rows of a small domain that differ by one row."""
    for size in range(3):
        for common in itertools.combinations_with_replacement(ALPHABET, size):
            for extra in ALPHABET:
                if relation == "add_remove":
                    yield _table(common), _table((*common, extra))
                else:
                    for other in ALPHABET:
                        yield _table((*common, other)), _table((*common, extra))


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_the_minimiser_moves_no_further_than_output_perturbation_says(relation):
    strength, farthest = 1.5, 0.0
    moved = {"add_remove": 1, "replace": 2}[relation]
    bound = (moved + 2 * TOLERANCE) * math.sqrt(2) / strength
    known: dict[tuple[bytes, bytes], np.ndarray] = {}
    for one, other in _neighbouring_tables(relation):
        points = []
        for table in (one, other):
            key = table.features.tobytes(), table.labels.tobytes()
            if key not in known:
                known[key] = minimise(table, strength, np.zeros(2))
            points.append(known[key])
        farthest = max(farthest, float(np.linalg.norm(points[0] - points[1])))
    assert farthest <= bound
    assert farthest >= 0.2 * bound  # the search does find tables that are apart


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_the_density_of_objective_perturbation_has_the_promised_ratio(relation):
    """The ideal mechanism's density at w is that of b = -grad F(w) times det of the Hessian."""
    epsilon = 1.0
    ledger = Ledger(epsilon, neighbours=relation)
    plan = plan_objective(_table(()), Budget(epsilon), ledger, 1e-6)
    scale = plan.tilt_scale * plan.tilt_step
    grid = [np.array(w) for w in itertools.product((-3.0, -1.0, 0.0, 0.5, 2.0), repeat=2)]
    largest = 0.0
    for one, other in _neighbouring_tables(relation):
        for w in grid:
            logs = [_log_density(table, w, plan.strength, scale) for table in (one, other)]
            largest = max(largest, abs(logs[0] - logs[1]))
    assert largest <= epsilon
    assert largest >= 0.5 * epsilon


def _log_density(table, w, strength, scale):
    signed = table.labels * (table.features @ w)
    pulls = -table.labels / (1 + np.exp(signed))
    gradient = table.features.T @ pulls + strength * w
    steepness = np.abs(pulls) * (1 - np.abs(pulls))
    hessian = (table.features.T * steepness) @ table.features + strength * np.eye(len(w))
    return -np.abs(gradient).sum() / scale + np.linalg.slogdet(hessian)[1]


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("persons_rows", [1, 5])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 10.0, 1e4])
def test_the_parts_of_objective_perturbation_add_up_to_epsilon(relation, persons_rows, epsilon):
    if relation == "replace" and persons_rows > 1:
        pytest.skip("persons go with add_remove")
    table = _table(())
    ledger = Ledger(epsilon, neighbours=relation, max_rows_per_person=persons_rows)
    plan = plan_objective(table, Budget(epsilon), ledger, 1e-9)
    moved = {"add_remove": persons_rows, "replace": 2}[relation]
    noise = moved * table.l1 / (plan.tilt_scale * plan.tilt_step)
    curvature = persons_rows * math.log1p(table.l2**2 / (4 * plan.strength))
    root = math.sqrt(2)
    distance = (root * plan.tilt_step + TOLERANCE * table.l2) / plan.strength
    cover = (root * distance / plan.step + 2) / plan.scale
    assert noise + curvature + 2 * cover <= epsilon
    assert noise + curvature + 2 * cover >= 0.95 * epsilon


def test_objective_perturbation_in_rho_costs_what_pure_epsilon_costs_there():
    table, rho = _table(()), 0.02
    in_rho = plan_objective(table, Budget(rho, "rho"), Ledger(1, 1e-6, currency="rho"), 1.0)
    pure = plan_objective(table, Budget(math.sqrt(2 * rho)), Ledger(1), 1.0)
    assert in_rho.tilt_scale * in_rho.tilt_step == pytest.approx(pure.tilt_scale * pure.tilt_step)


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_output_perturbation_has_noise_for_its_distance(currency, relation):
    table, amount = _table(()), 0.5
    ledger = Ledger(1, 1e-6 * (currency == "rho"), neighbours=relation, currency=currency)
    plan = plan_output(table, Budget(amount, currency), ledger, 1.0)
    moved = {"add_remove": 1, "replace": 2}[relation]
    distance = (moved + 2 * TOLERANCE) * table.l2 / plan.strength / plan.step
    if currency == "epsilon":
        spent = (math.sqrt(2) * distance + 2) / plan.scale
    else:
        spent = (distance + math.sqrt(2)) ** 2 / (2 * plan.scale**2)
    assert 0.99 * amount <= spent <= amount


def test_the_bound_of_a_gradient_is_one():
    """Against the gradient in exact-enough arithmetic, at points and rows of all kinds."""
    from fractions import Fraction

    rng = np.random.default_rng(3)
    for size in (0.1, 10.0, 300.0):
        features = np.column_stack([np.ones(40), rng.uniform(-1, 1, (40, 3))])
        table = _rows(features, rng.choice([-1.0, 1.0], 40), l1=4.0)
        point, tilt = rng.normal(size=4) * size, rng.normal(size=4)
        columns = [
            sum(
                (
                    Fraction(x) * Fraction(p)
                    for x, p in zip(column, _pulls(table, point), strict=True)
                ),
                0,
            )
            for column in features.T.tolist()
        ]
        exact = [
            float(column + Fraction(0.7) * Fraction(w) + Fraction(t))
            for column, w, t in zip(columns, point.tolist(), tilt.tolist(), strict=True)
        ]
        norm = math.hypot(*exact)
        bound = bound_gradient(table, point, 0.7, tilt)
        assert norm <= bound <= norm * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize(("size", "slope"), [(1e6, 0.0), (1e6, 1e3), (1.0, 1e9), (1e-3, 1e-3)])
def test_adding_regulariser_and_tilt_rounds_no_more_than_its_bound(size, slope):
    """Without rows nothing else is rounded."""
    from fractions import Fraction

    rng, empty = np.random.default_rng(7), _rows(np.zeros((0, 4)), [], l1=4.0)
    for strength in (1e-3, 0.7, 1e5):
        point, tilt = rng.normal(size=4) * size, rng.normal(size=4) * slope
        found = sum_gradient(empty, point, strength, tilt)
        off = [
            float(Fraction(sum_) - Fraction(strength) * Fraction(w) - Fraction(t))
            for sum_, w, t in zip(found.tolist(), point.tolist(), tilt.tolist(), strict=True)
        ]
        assert 0 < math.hypot(*off) <= bound_rounding(empty, point, strength, tilt)


def _pulls(table, point):
    """Derivatives with w.x summed exactly."""
    found = []
    for row, label in zip(table.features.tolist(), table.labels.tolist(), strict=True):
        signed = label * math.fsum(x * w for x, w in zip(row, point.tolist(), strict=True))
        found.append(-label / (1 + math.exp(signed)) if signed < 700 else 0.0)
    return found


def test_the_minimiser_has_a_small_gradient_on_hard_tables():
    rng = np.random.default_rng(0)
    separable = _rows(np.column_stack([np.ones(500), np.sign(np.arange(500) - 250)]), [1.0] * 500)
    single = _rows([[1.0, -1.0]], [1.0])
    empty = _table(())
    noisy = _rows(np.column_stack([np.ones(900), rng.uniform(-1, 1, 900)]), [1.0, -1.0] * 450)
    for table, strength, tilt in itertools.product(
        (separable, single, empty, noisy), (1e-3, 1.0, 1e5), (0.0, 1e4)
    ):
        point = minimise(table, strength, np.array([tilt, -tilt]))
        bound = bound_gradient(table, point, strength, np.array([tilt, -tilt]))
        assert bound <= TOLERANCE * table.l2


@pytest.mark.parametrize("l1", [1e-6, 0.5, 5.0, 800.0])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e3])
def test_no_number_of_rows_is_too_many_for_the_proof(l1, epsilon):
    """A table in memory has fewer than 2^31 rows: for none of them is rounding in the way, so none
    is refused. The steps of the tilt are those that a plan leads to, far into their tails.
    """
    dimensions = max(2, math.ceil(l1))
    features = np.broadcast_to(np.zeros((1, dimensions)), (1 << 31, dimensions))
    rows = Rows(features=features, labels=np.zeros(0), l1=l1, l2=min(l1, dimensions**0.5))
    plan = plan_objective(rows, Budget(epsilon), Ledger(epsilon), 1.0)
    tilt = np.full(dimensions, 50 * plan.tilt_scale * plan.tilt_step)
    # At the minimiser F(w) + tilt.w is at most what it is at 0, n log 2, and its gradient is 0.
    pull, number = float(np.linalg.norm(tilt)), len(features)
    by_value = pull + math.sqrt(pull**2 + 2 * plan.strength * number * math.log(2))
    farthest = min(by_value, pull + number * rows.l2) / plan.strength
    point = np.full(dimensions, farthest / dimensions**0.5)
    assert bound_rounding(rows, point, plan.strength, tilt) <= 0.9 * TOLERANCE * rows.l2


@pytest.mark.parametrize("row_norm", [1e-9, 1e-3])
@pytest.mark.parametrize("solver", ["objective", "output"])
def test_very_short_rows_are_fitted_like_others(solver, row_norm):
    X = np.linspace(-1, 1, 300)[:, None]
    learner = LogisticRegression(
        1.0, bounds=(-1, 1), classes=[False, True], solver=solver, row_norm=row_norm
    )
    assert np.isfinite(learner.fit(X, X[:, 0] > 0).coef_).all()


def test_shortened_rows_keep_their_norm():
    rng = np.random.default_rng(1)
    rows = shorten_rows(rng.uniform(-1, 1, (2000, 7)), 2.5)
    assert np.abs(rows).sum(axis=1).max() <= 2.5 * (1 + 1e-9)


def test_noise_has_the_planned_scale():
    """A table without rows: what comes out is the noise alone, tilt and output both."""
    table = _table(())
    plan = PerturbationPlan(how="output", strength=1.0, step=0.5, scale=8.0)
    noise = SeededNoise(0)
    found = np.array([fit_perturbed(table, plan, noise) for _ in range(4000)]).ravel()
    assert np.std(found) == pytest.approx(0.5 * 8 * math.sqrt(2), rel=0.1)
    plan = PerturbationPlan(
        how="objective", strength=2.0, tilt_step=0.25, tilt_scale=16, step=1e-6, scale=1e-3
    )
    found = np.array([fit_perturbed(table, plan, noise) for _ in range(4000)]).ravel()
    assert np.std(found) == pytest.approx(0.25 * 16 * math.sqrt(2) / 2.0, rel=0.1)


def test_noise_of_the_operating_system_differs_each_time():
    plan = plan_objective(_table(()), Budget(1.0), Ledger(1.0), 1.0)
    drawn = {tuple(fit_perturbed(_table(()), plan, SystemNoise())) for _ in range(5)}
    assert len(drawn) == 5


def test_a_budget_that_leaves_only_noise_is_refused():
    with pytest.raises(InputError, match="give it more"):
        plan_output(_table(()), Budget(1e-12), Ledger(1.0), 1.0)


@pytest.mark.parametrize("row_norm", [None, 0.5, 100.0])
@pytest.mark.parametrize("solver", ["objective", "output"])
def test_no_row_is_longer_than_what_was_paid_for(monkeypatch, solver, row_norm):
    """Whatever stands in it: the norms of what is fitted are those of the plan."""
    seen = []

    def look(rows, plan, noise):
        seen.append(rows)
        return np.zeros(rows.dimensions)

    monkeypatch.setattr("understudy.learners.logistic.fit_perturbed", look)
    odd = [-1e300, -7.0, -1.0, 0.0, 2.0, 50.0, math.inf, -math.inf, math.nan]
    X = np.array(list(itertools.product(odd, repeat=3)))
    y = np.arange(len(X)) % 2
    learner = LogisticRegression(
        epsilon=1.0, bounds=(-1, 2), classes=[0, 1], solver=solver, row_norm=row_norm
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(X, y)
    [rows] = seen
    assert len(rows.features) == len(X)
    assert np.abs(rows.features).sum(axis=1).max() <= rows.l1
    assert np.linalg.norm(rows.features, axis=1).max() <= rows.l2
    assert np.abs(rows.features).max() <= 1


def _coded_rows():
    schema = Schema.from_dict(
        {
            "attributes": {
                "x": {"kind": "real", "min": 0, "max": 1},
                "y": {"kind": "categorical", "values": ["a", "b"]},
            }
        }
    )
    columns = {
        "x": Column("real", np.linspace(0, 1, 20)),
        "y": Column("text", np.arange(20, dtype=np.uint32) % 2, ("a", "b")),
    }
    return encode(Table(columns, "t"), schema)


def test_seeded_noise_of_a_learner_is_told_to_the_curators_ledger():
    """The curator's own noise may come from the operating system: it is not what is added here."""
    coded = _coded_rows()
    for noise in (SystemNoise(), SeededNoise(0)):
        ledger = Ledger(1.0)
        curator = CentralCurator(coded, ledger)
        LogisticRegression(epsilon=1.0, noise=noise).fit_curator(curator, "y", coded=coded)
        assert ledger.private == noise.private


@pytest.mark.parametrize("solver", ["output", "objective"])
def test_a_fit_by_perturbation_has_no_price_in_gdp(solver):
    coded, ledger = _coded_rows(), Ledger(1.0, 1e-6, currency="gdp")
    learner = LogisticRegression(solver=solver)
    with pytest.raises(InputError, match="no price in GDP"):
        learner.fit_curator(CentralCurator(coded, ledger), "y", coded=coded)
    assert not ledger.entries
