"""Models that hold Gaussians: their file, their rows, their answers."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from understudy import InputError, Ledger, Model, Schema
from understudy.models.gaussian_fitting import (
    column_nodes,
    correlations,
    factor_covariance,
    link_blocks,
    mix_by_noise,
    repair_covariance,
    shrink_covariances,
    shrink_means,
)
from understudy.models.gaussians import Gaussians
from understudy.models.network import Network, Node

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 0, "max": 100},
            "group": {"kind": "categorical", "values": ["p", "q"]},
            "size": {"kind": "real", "min": -1, "max": 1, "decimals": 3, "missing": True},
            "id": {"kind": "identifier"},
            "half": {"kind": "real", "min": 0, "max": 10, "step": 0.5},
            "hour": {"kind": "time"},
        }
    }
)
COVARIANCE = np.array(
    [[0.06, 0.03, 0, 0], [0.03, 0.04, 0, 0], [0, 0, 0.05, -0.02], [0, 0, -0.02, 0.03]]
)
MEANS = np.array([[0.1, -0.2, 0.0, 0.2], [-0.3, 0.1, 0.2, 0.0]])


def gaussians(**changes: Any) -> Gaussians:
    parts = {
        "columns": ("age", "size", "half", "hour"),
        "label": "group",
        "lower": np.array([0.0, -1.0, 0.0, 0.0]),
        "upper": np.array([100.0, 1.0, 10.0, 86399.0]),
        "weights": np.diag([600.0, 400.0]),
        "means": MEANS,
        "factors": np.array([factor_covariance(COVARIANCE), factor_covariance(COVARIANCE / 2)]),
        "basis": None,
        "centre": np.zeros(4),
    }
    return Gaussians(**{**parts, **changes})


def model(given: Gaussians | None = None) -> Model:
    found = given or gaussians()
    missing = np.zeros((len(found.weights), 4))
    missing[:, 1] = [0.1, 0.3][: len(missing)]
    numeric = [SCHEMA[name] for name in found.columns]
    nodes = [
        Node("group", (), np.array([600.0, 400.0]), 2.0),
        *column_nodes(found, numeric, missing, np.full(4, 3.0)),
    ]
    network = Network(tuple(nodes))
    return Model({"name": "gaussian"}, SCHEMA, network, Ledger(1.0), 1000, gaussians=found)


def turned() -> Gaussians:
    """The same columns from two directions."""
    basis = np.linalg.qr(np.arange(8.0).reshape(4, 2) + np.eye(4)[:, :2])[0].T
    factors = np.array([np.tril(np.full((2, 2), 0.2)), np.zeros((2, 2))])
    return gaussians(means=np.array([[0.1, 0.2], [0.3, -0.1]]), factors=factors, basis=basis)


# --------------------------------------------------------------------------- rows


def scaled(rows: Any, name: str) -> np.ndarray:
    place = gaussians().columns.index(name)
    low, high = gaussians().lower[place], gaussians().upper[place]
    return 2 * (rows.columns[name].values - low) / (high - low) - 1


def test_rows_have_the_means_and_covariances_of_their_cells() -> None:
    rows = model().sample(40_000, seed=3)
    present = rows.columns["size"].missing == 0
    for code, factor in ((0, 1.0), (1, 0.5)):
        mine = (rows.columns["group"].values == code) & present
        found = np.array([scaled(rows, name)[mine] for name in ("age", "size", "half")])
        assert np.abs(found.mean(axis=1) - MEANS[code, :3]).max() < 0.01
        assert np.abs(np.cov(found) - factor * COVARIANCE[:3, :3]).max() < 0.004
        assert (
            abs((1 - present[rows.columns["group"].values == code]).mean() - [0.1, 0.3][code])
            < 0.015
        )


def test_values_lie_on_their_grids_and_inside_their_bounds() -> None:
    rows = model(gaussians(factors=3 * gaussians().factors)).sample(5_000, seed=1)
    assert list(rows.columns) == list(SCHEMA.names)
    age, half = rows.columns["age"].values, rows.columns["half"].values
    assert age.dtype.kind == "i"
    assert (age.min(), age.max()) == (0, 100)
    assert (half * 2 == np.rint(half * 2)).all()
    assert ((half >= 0) & (half <= 10)).all()
    size = rows.columns["size"].values
    assert np.abs(np.round(size, 3) - size).max() < 1e-12
    assert rows.columns["id"].values.tolist() == list(range(1, 5_001))
    assert all(len(word) == 8 for word in rows.columns["hour"].words)


def test_a_seed_repeats_rows_and_the_numbers_do_not_follow_the_number_of_rows() -> None:
    one, other = (model().sample(200, seed=7).columns["age"].values for _ in range(2))
    assert (one == other).all()
    assert model().sample(0, seed=7).rows == 0


def test_directions_and_centre_make_columns() -> None:
    found = gaussians(
        means=np.array([[0.3], [-0.3]]),
        factors=np.array([[[0.1]], [[0.0]]]),
        basis=np.array([[0.5, 0.5, 0.5, 0.5]]),
        centre=np.array([0.0, 0.1, 0.0, 0.0]),
    )
    rows = model(found).sample(4_000, seed=2)
    second = rows.columns["group"].values == 1
    assert np.unique(rows.columns["age"].values[second]).tolist() == [43]
    assert np.unique(rows.columns["size"].values[second]).tolist() == [-0.05]
    first = np.array([scaled(rows, name)[~second] for name in ("age", "size")])
    assert np.corrcoef(first)[0, 1] > 0.98
    assert np.allclose(found.column_means()[0], [0.15, 0.25, 0.15, 0.15])
    assert np.allclose(found.column_deviations()[0], 0.05)
    assert np.allclose(found.covariance(0), 0.0025)


def test_conditions_on_categories_and_on_numbers() -> None:
    rows = model().sample(200, seed=1, given={"group": "q", "age": (40, 45), "size": [None, 0.1]})
    assert rows.rows == 200
    assert set(rows.columns["group"].values.tolist()) == {1}
    assert (rows.columns["age"].values.min(), rows.columns["age"].values.max()) == (40, 45)
    size = rows.columns["size"]
    assert (size.values[size.missing == 0] == 0.1).all()
    assert rows.columns["id"].values.tolist() == list(range(1, 201))
    hours = model().sample(50, seed=1, given={"hour": ("06:00", "07:00")}).columns["hour"]
    assert all("06:00" <= hours.words[place] <= "07:00:00" for place in hours.values)


def test_a_condition_that_next_to_nothing_fits_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.models.gaussian_rows.MIN_TRIES", 20_000)
    monkeypatch.setattr("understudy.models.gaussian_rows.TRIES_PER_ROW", 1)
    narrow = gaussians(factors=np.zeros((2, 4, 4)))
    with pytest.raises(InputError, match=r"Only 0 of .* rows drawn fit the condition; widen it\."):
        model(narrow).sample(10, seed=1, given={"age": 100})


# --------------------------------------------------------------------------- answers


def test_questions_about_one_number_are_answered_and_have_a_deviation() -> None:
    made = model()
    rows = made.sample(100_000, seed=5)
    age, group = rows.columns["age"].values, rows.columns["group"].values
    share = made.query("share where age >= 50 and group = 'p'")
    assert abs(share.value - ((age >= 50) & (group == 0)).mean()) < 0.01
    mean = made.query("mean age where group = 'q'")
    assert abs(mean.value - age[group == 1].mean()) < 1.0
    # The noise in the sum was 3 half ranges (of 50 years) among 400 rows; what else a bar knows,
    # that bins are wide among it, makes it longer.
    noise = 3 * 50 / 400
    assert 0.8 * noise < mean.error < 2 * noise
    assert made.marginal("age", "group").table.shape == (16, 2)
    assert made.query("share where size is missing").value == pytest.approx(0.18, abs=1e-6)


def test_questions_about_several_numbers_are_refused() -> None:
    for ask in (
        lambda: model().query("count where age > 3 and size < 0"),
        lambda: model().query("mean age where half > 1"),
        lambda: model().marginal("age", "half"),
    ):
        with pytest.raises(InputError, match=r"together is answered by rows: draw some"):
            ask()


# --------------------------------------------------------------------------- files


@pytest.mark.parametrize("given", [gaussians, turned])
def test_a_model_is_what_its_file_says(given: Any) -> None:
    made = model(given())
    again = Model.from_dict(json.loads(json.dumps(made.to_dict())))
    assert again == made
    assert again.gaussians == made.gaussians
    assert again.gaussians.as_released() == again.gaussians
    one, other = (m.sample(300, seed=1).columns["half"].values for m in (made, again))
    assert (one == other).all()
    assert made != model(gaussians(means=MEANS + 0.01))


def test_only_models_with_gaussians_have_the_new_format() -> None:
    made = model()
    assert made.to_dict()["understudy_model"] == 2
    plain = Model(made.method, made.schema, made.network, made.ledger, made.rows)
    assert plain.to_dict()["understudy_model"] == 1
    assert "gaussians" not in plain.to_dict()
    assert Model.from_dict({**plain.to_dict(), "gaussians": 7}).gaussians is None


BAD: dict[str, tuple[str, Any]] = {
    "no object": ("", 5),
    "no columns": ("columns", []),
    "an unknown column": ("columns", ["age", "size", "half", "x"]),
    "a category among the columns": ("columns", ["age", "size", "half", "group"]),
    "a column twice": ("columns", ["age", "size", "half", "half"]),
    "a number as name": ("columns", [1, 2, 3, 4]),
    "an unknown label": ("label", "x"),
    "a label that is a column": ("label", "age"),
    "a label that is not read": ("label", "id"),
    "no cells": ("means", []),
    "too few means": ("means", [[0.1, 0.2, 0.3, 0.4]]),
    "means of another length": ("means", [[0.1], [0.2]]),
    "an endless mean": ("means", [[0.1, 0.2, 0.3, float("inf")], [0.0] * 4]),
    "no number": ("means", [[0.1, 0.2, 0.3, "1"], [0.0] * 4]),
    "a truth value": ("means", [[0.1, 0.2, 0.3, True], [0.0] * 4]),
    "a factor of another shape": ("factors", [[0.0] * 9, [0.0] * 10]),
    "a negative weight": ("weights", [[-1.0, 0.0], [0.0, 1.0]]),
    "weights of another shape": ("weights", [[1.0, 1.0]]),
    "bounds out of order": ("upper", [100.0, -1.0, 10.0, 86399.0]),
    "a basis of another width": ("basis", [[1.0, 2.0]]),
    "too large a basis": ("basis", [[0.0] * 4] * 5),
    "no centre": ("centre", None),
}


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_file_is_refused(name: str) -> None:
    document = deepcopy(model().to_dict())
    place, value = BAD[name]
    if place:
        document["gaussians"][place] = value
    else:
        document["gaussians"] = value
    with pytest.raises(InputError, match=r"The model cannot be used: .*Gaussians.*\.$"):
        Model.from_dict(document)


def test_a_network_that_does_not_go_with_the_gaussians_is_refused() -> None:
    document = model().to_dict()
    [node] = [node for node in document["network"] if node["attribute"] == "age"]
    node["parents"], node["counts"] = [], [1.0] * 16
    with pytest.raises(InputError, match="the parents of 'age' do not go with its Gaussians"):
        Model.from_dict(document)
    document = {**model().to_dict(), "bits": "binary"}
    with pytest.raises(InputError, match="cannot be used"):
        Model.from_dict(document)


# --------------------------------------------------------------------------- fitting


@pytest.mark.parametrize("seed", range(5))
def test_a_repaired_matrix_is_a_covariance_with_the_same_trace(seed: int) -> None:
    rng = np.random.default_rng(seed)
    noisy = np.diag(rng.uniform(0, 2, 6)) + rng.normal(size=(6, 6))
    noisy = (noisy + noisy.T) / 2
    repaired = repair_covariance(noisy)
    assert np.linalg.eigvalsh(repaired).min() > -1e-9
    assert np.trace(repaired) == pytest.approx(max(np.trace(noisy), 0), abs=1e-9)
    assert np.allclose(repair_covariance(repaired), repaired)


def test_a_repaired_matrix_has_no_eigenvalue_below_the_floor() -> None:
    found = np.linalg.eigvalsh(repair_covariance(np.diag([5.0, 1.0, -0.5, 0.5]), 0.2))
    assert found.min() == pytest.approx(0.2)
    assert found.sum() == pytest.approx(6.0)
    low = repair_covariance(np.diag([-1.0, -2.0]), 0.5)
    assert np.allclose(low, 0.5 * np.eye(2))


@pytest.mark.parametrize("rank", [0, 1, 3, 5])
def test_a_factor_is_lower_triangular_and_gives_the_covariance_back(rank: int) -> None:
    part = np.random.default_rng(rank).normal(size=(5, rank))
    factor = factor_covariance(part @ part.T)
    assert np.allclose(factor @ factor.T, part @ part.T, atol=1e-9)
    assert np.allclose(factor, np.tril(factor))


def test_means_that_are_all_noise_become_one_and_clear_ones_stay() -> None:
    rng = np.random.default_rng(1)
    counts, deviation = np.full(8, 100.0), np.full(30, 50.0)
    noise = rng.normal(size=(8, 30)) * 0.5
    drawn = shrink_means(noise, counts, deviation)
    assert ((drawn - drawn.mean(axis=0)) ** 2).sum() < 0.5 * (
        (noise - noise.mean(axis=0)) ** 2
    ).sum()
    clear = np.outer(np.linspace(-20, 20, 8), np.ones(30))
    found = shrink_means(clear + noise, counts, deviation)
    assert ((found - clear) ** 2).sum() < 0.7 * (noise**2).sum()
    assert (shrink_means(noise[:1], counts[:1], deviation) == noise[:1]).all()


def test_covariances_are_drawn_to_what_is_shared_by_as_much_as_noise_explains() -> None:
    shared, own = np.eye(3), 5 * np.eye(3)
    kept, given_up = shrink_covariances(
        np.array([own, shared + 0.1]), np.array([0.01, 9.0]), shared
    )
    assert np.abs(kept - own).max() < 0.02
    assert np.allclose(given_up, shared)
    assert mix_by_noise(own, 0.0, shared, 0.0) is own
    assert np.allclose(mix_by_noise(own, 1.0, shared, 3.0), 4 * np.eye(3))


def test_blocks_by_average_linkage() -> None:
    covariance = np.array([[4.0, 1.9, 0.1], [1.9, 1.0, 0.0], [0.1, 0.0, -0.2]])
    found = correlations(covariance)
    assert found[0, 1] == pytest.approx(0.95)
    assert found[2].tolist() == [0.0, 0.0, 1.0]
    assert link_blocks(found, 0.3) == ((0, 1), (2,))
    assert link_blocks(-found, 0.3) == ((0, 1), (2,))
    # Joined to either of two blocks, the average over all pairs decides.
    chain = np.array([[1, 0.8, 0.0], [0.8, 1, 0.7], [0.0, 0.7, 1]])
    assert link_blocks(chain, 0.3) == ((0, 1, 2),)
    assert link_blocks(chain, 0.4) == ((0, 1), (2,))
    assert link_blocks(np.eye(1), 0.1) == ((0,),)
