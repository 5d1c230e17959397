"""Learning, clustering, propensity and network quality."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.evaluation.classifiers import CLASSIFIERS, FAST, THESIS, choose_classifiers
from understudy.evaluation.clustering import clustering
from understudy.evaluation.comparison import Comparison, compare_tables
from understudy.evaluation.learning import (
    classification_scores,
    examples,
    is_classification,
    learning_task,
    regression_scores,
)
from understudy.evaluation.network import network_quality
from understudy.evaluation.propensity import propensity, propensity_error
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.privbayes import PrivBayes

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

pytest.importorskip("xgboost")

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "x": {"kind": "real", "min": -4, "max": 4, "bins": 16},
            "y": {"kind": "real", "min": -8, "max": 8, "bins": 16, "missing": True},
            "colour": {"kind": "categorical", "values": ["blue", "green", "red"]},
            "ill": {"kind": "boolean"},
        }
    }
)


def people(rows: int, seed: int, *, linked: bool = True) -> Table:
    """The colour tells who is ill and x tells y, or, not linked, nothing tells anything."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    colour = rng.integers(3, size=rows)
    ill = np.where(rng.random(rows) < 0.95, colour == 2, colour != 2)
    y = 2 * x + 0.1 * rng.normal(size=rows)
    if not linked:
        colour, y = rng.permutation(colour), rng.permutation(y)
    return Table(
        {
            "x": Column("real", x),
            "y": Column("real", y, missing=(np.arange(rows) % 50 == 0).astype(np.uint8)),
            "colour": Column("text", colour, ("blue", "green", "red")),
            "ill": Column("boolean", ill),
        }
    )


def both(*, linked: bool = True, rows: int = 1500) -> Comparison:
    return compare_tables(people(1000, 0), people(rows, 1, linked=linked), SCHEMA)


# --------------------------------------------------------------------------- learners


def test_the_twelve_of_the_thesis_and_the_svm_of_the_paper_are_there() -> None:
    assert len(THESIS) == 12
    svm = CLASSIFIERS["SVM"](0)
    assert (type(svm).__name__, svm.loss, svm.C) == ("LinearSVC", "hinge", 1.0)
    assert choose_classifiers("all") == tuple(CLASSIFIERS)
    assert choose_classifiers("fast") == FAST
    assert choose_classifiers(["CART", "LDA", "CART"]) == ("CART", "LDA")
    with pytest.raises(InputError, match="There is no learner 'cart'; known are XGBoost, CART"):
        choose_classifiers("cart")
    with pytest.raises(InputError, match="No learner is named; known are XGBoost"):
        choose_classifiers([])


def test_every_classifier_learns_what_can_be_learned() -> None:
    task = learning_task(both(rows=600), "ill", tuple(CLASSIFIERS))
    assert [learner.learner for learner in task.learners] == list(CLASSIFIERS)
    assert task.notes == ()
    assert (task.train_rows, task.test_rows, task.synthetic_rows) == (800, 200, 600)
    assert 0.55 < task.majority["accuracy"] < 0.75
    for learner in task.learners:
        for scores in (learner.synthetic_to_real, learner.real_to_real, learner.real_to_synthetic):
            assert scores["accuracy"] > 0.85, learner


def test_nothing_can_be_learned_from_rows_that_hold_nothing() -> None:
    task = learning_task(both(linked=False), "ill", ["logistic regression"])
    (learner,) = task.learners
    assert learner.real_to_real["accuracy"] > 0.9
    assert learner.synthetic_to_real["accuracy"] == pytest.approx(
        task.majority["accuracy"], abs=0.05
    )
    assert learner.real_to_synthetic["accuracy"] < 0.7


def test_a_number_is_learned_by_least_squares() -> None:
    tables = both()
    task = learning_task(tables, "y", FAST)
    (learner,) = task.learners
    assert (task.task, task.measures, learner.learner) == (
        "regression",
        ("r2", "mse"),
        "linear regression",
    )
    assert task.majority["r2"] == pytest.approx(0, abs=0.05)
    assert learner.synthetic_to_real["mse"] == pytest.approx(0.01, rel=0.5)
    assert learner.synthetic_to_real["r2"] > 0.99
    (learner,) = learning_task(both(linked=False), "y", FAST).learners
    assert learner.synthetic_to_real["r2"] < 0.3
    assert len(examples(tables.real, SCHEMA, "y")) == 980  # rows without a target are no examples


def test_a_number_of_two_values_is_a_class() -> None:
    kinds = {
        "attributes": {
            "a": {"kind": "integer", "min": 0, "max": 1},
            "b": {"kind": "integer", "min": 0, "max": 2},
        }
    }
    schema = Schema.from_dict(kinds)
    assert is_classification(schema["a"])
    assert not is_classification(schema["b"])


def test_features_are_the_same_columns_on_both_sides() -> None:
    one_colour = people(20, 3)
    columns = dict(one_colour.columns) | {
        "colour": Column("text", np.zeros(20, dtype=np.int64), ("green",))
    }
    tables = compare_tables(people(50, 0), Table(columns), SCHEMA)
    real, synthetic = (examples(side, SCHEMA, "ill") for side in tables)
    assert real.flags.shape[1] == synthetic.flags.shape[1] == 4  # is y missing; three colours
    assert synthetic.flags[:, 1:].sum(axis=0).tolist() == [0, 20, 0]
    assert real.flags[:, 1:].sum() == 50
    assert np.isnan(real.numbers[0, 1])


def test_a_synthetic_target_that_is_constant_is_always_said() -> None:
    constant = dict(people(100, 1).columns) | {"ill": Column("boolean", np.ones(100, dtype=bool))}
    task = learning_task(compare_tables(people(1000, 0), Table(constant), SCHEMA), "ill", ["CART"])
    (learner,) = task.learners
    assert learner.synthetic_to_real["accuracy"] == pytest.approx(1 - task.majority["accuracy"])


def test_a_learner_that_cannot_be_trained_is_named() -> None:
    lone = dict(people(30, 1).columns) | {"ill": Column("boolean", np.arange(30) == 0)}
    task = learning_task(
        compare_tables(people(200, 0), Table(lone), SCHEMA), "ill", ["QDA", "CART"]
    )
    assert math.isnan(task.learners[0].synthetic_to_real["accuracy"])
    assert math.isfinite(task.learners[1].synthetic_to_real["accuracy"])
    assert len(task.notes) == 1
    assert task.notes[0].startswith("QDA could not be trained on the synthetic rows: ")


def test_whatever_a_learner_raises_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def fit(self, features: object, target: object) -> None:
            raise RuntimeError("out of luck\nat line 3")

    monkeypatch.setitem(CLASSIFIERS, "CART", lambda seed: Broken())
    task = learning_task(both(rows=100), "ill", ["CART", "LDA"])
    assert math.isnan(task.learners[0].real_to_real["accuracy"])
    assert math.isfinite(task.learners[1].real_to_real["accuracy"])
    assert "CART could not be trained on the real rows: out of luck" in task.notes


def in_order(count: int, classes: int, seed: int, kind: str = "text") -> Table:
    """x tells the class, in order, so that no line parts a middle one from the rest."""
    rng = np.random.default_rng(seed)
    answer = rng.integers(classes, size=count)
    words = tuple(f"class {place:03}" for place in range(classes)) if kind == "text" else ()
    x = answer + rng.uniform(-0.4, 0.4, size=count)
    return Table({"x": Column("real", x), "answer": Column(kind, answer, words)})


def test_the_svm_tells_more_than_two_classes() -> None:
    (svm,) = learning_task(
        compare_tables(in_order(400, 5, 0), in_order(400, 5, 1)), "answer", ["SVM"]
    ).learners
    assert svm.synthetic_to_real["accuracy"] > 0.9


def test_many_classes_are_learned_by_cheap_learners_only() -> None:
    told: list[str] = []
    tables = compare_tables(in_order(600, 60, 0), in_order(600, 60, 1))
    task = learning_task(tables, "answer", ["XGBoost", "CART", "SVM"], notify=told.append)
    assert told == [learner.learner for learner in task.learners] == ["CART"]
    assert task.notes == ("Of 60 values, answer was learned by CART only: others are slow.",)
    assert learning_task(tables, "answer", ["XGBoost"]).learners[0].learner == "CART"


def test_a_number_of_few_values_is_said_to_be_a_number() -> None:
    task = learning_task(
        compare_tables(in_order(80, 5, 0, "integer"), in_order(80, 5, 1, "integer")), "answer", FAST
    )
    assert (task.task, task.floor) == ("regression", "the mean")
    assert "answer is a number, so linear regression was used and no classifier" in task.notes[0]
    assert learning_task(both(rows=100), "y", FAST).notes == ()


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("constant", "constant in the real table"),
        ("id", "identifier or text"),
        ("all", "There is no attribute 'all'"),
    ],
)
def test_targets_that_cannot_be_learned_are_refused(target: str, sentence: str) -> None:
    columns = {
        "id": Column("integer", np.arange(5)),
        "constant": Column("integer", np.zeros(5, dtype=np.int64)),
        "x": Column("integer", np.arange(5)),
    }
    tables = compare_tables(Table(columns), Table(columns))
    with pytest.raises(InputError, match=sentence):
        learning_task(tables, target, ["CART"])


def test_scores_by_hand() -> None:
    truth, said = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    assert classification_scores(truth, said) == pytest.approx(
        {"accuracy": 0.75, "f1": (2 / 3 + 4 / 5) / 2}
    )
    assert regression_scores(np.array([1.0, 3.0]), np.array([1.0, 2.0])) == {"r2": 0.5, "mse": 0.5}
    assert math.isnan(regression_scores(np.array([1.0, 1.0]), np.array([1.0, 2.0]))["r2"])


# --------------------------------------------------------------------------- clusters


def blobs(middles: list[float], seed: int) -> Table:
    rng = np.random.default_rng(seed)
    return Table(
        {name: Column("real", rng.normal(np.repeat(middles, 100), 0.3)) for name in ("x", "z")}
    )


BLOBS = Schema.from_dict(
    {"attributes": {name: {"kind": "real", "min": -10, "max": 10} for name in "xz"}}
)


def test_centres_of_a_faithful_table_serve_the_real_rows() -> None:
    found = clustering(compare_tables(blobs([-5, 5], 0), blobs([-5, 5], 1), BLOBS))
    assert found.rand == found.information == 1
    assert found.cost_synthetic == pytest.approx(found.cost_real, rel=0.05)
    # Variance by the square of the real range, which is some 11.4 wide.
    assert found.cost_real == pytest.approx(2 * 0.3**2 / 11.4**2, rel=0.2)
    assert found.cost_one == pytest.approx(2 * 25 / 11.4**2, rel=0.05)


def test_centres_of_another_table_do_not() -> None:
    found = clustering(compare_tables(blobs([-5, 5], 0), blobs([4, 6], 1), BLOBS))
    assert found.cost_synthetic > 20 * found.cost_real


def test_rows_that_are_all_alike_have_one_centre() -> None:
    alike = Table({name: Column("real", np.ones(10)) for name in ("x", "z")})
    found = clustering(compare_tables(alike, alike, BLOBS))
    assert max(found.cost_one, found.cost_real, found.cost_synthetic) < 1e-12
    assert found.rand == 1


# --------------------------------------------------------------------------- propensity


def test_samples_of_one_population_cannot_be_told_apart() -> None:
    found = propensity(both())
    assert found.auc == pytest.approx(0.5, abs=0.05)
    assert found.auc_values == pytest.approx(0.5, abs=0.05)
    assert 0.4 < found.ratio < 2


def test_lost_dependence_is_seen_by_trees_and_lost_values_by_both() -> None:
    unlinked = propensity(both(linked=False))
    assert unlinked.auc > 0.8
    assert unlinked.ratio < 2  # each column by itself is right
    shifted = dict(people(1000, 1).columns) | {
        "x": Column("real", people(1000, 1).columns["x"].values + 2)
    }
    moved = propensity(compare_tables(people(1000, 0), Table(shifted), SCHEMA))
    assert moved.auc > 0.9
    assert moved.giveaways[0][0] in ("x", "y")
    assert moved.ratio > 10


def test_expected_pmse_is_what_samples_of_one_population_show() -> None:
    rng = np.random.default_rng(0)
    synthetic = np.repeat([0, 1], [400, 200])
    ratios = []
    for _ in range(60):
        codes = np.column_stack([rng.integers(4, size=600), rng.integers(3, size=600)])
        codes = np.column_stack(
            [codes, codes[:, 0]]
        )  # a column that tells nothing new counts for nothing
        pmse, expected = propensity_error(codes, synthetic)
        ratios.append(pmse / expected)
    assert expected == pytest.approx(5 * (1 / 3) * (2 / 3) / 600)
    assert np.mean(ratios) == pytest.approx(
        1, abs=0.25
    )  # deviation of the mean: sqrt(2 / 5 / 60) = 0.08


def test_two_rows_are_not_told_apart(recwarn: pytest.WarningsRecorder) -> None:
    found = propensity(compare_tables(people(50, 0), people(1, 1), SCHEMA))
    assert math.isnan(found.auc)
    assert found.giveaways == ()
    assert len(recwarn) == 0


# --------------------------------------------------------------------------- the network


@pytest.mark.parametrize("encoding", ["hierarchical", "gray"])
def test_network_quality_is_the_sum_of_mutual_information(encoding: Any) -> None:
    real = people(400, 0)
    # Without refinement the model's bins are those of the schema.
    method = PrivBayes(epsilon=50, encoding=encoding, refinement=0.0)
    model = method.fit(real, SCHEMA, noise=SeededNoise(0))
    found = network_quality(compare_tables(real, model.sample(400, seed=0), SCHEMA), model)
    codes: dict[str, NDArray[Any]] = dict(compare_tables(real, real, SCHEMA).real.coded.codes)
    if model.bits is not None:
        codes = dict(model.bits.split(codes))
    total = 0.0
    for node, entry in zip(model.network, found.nodes, strict=True):
        schema = model.network_schema
        parents = [
            codes[axis.attribute]
            if axis.level == 0
            else schema[axis.attribute].generalisations[axis.level - 1][codes[axis.attribute]]
            for axis in node.parents
        ]
        wanted = _information(codes[node.attribute], parents)
        assert entry.real == pytest.approx(wanted, abs=1e-9)
        total += wanted
    assert found.real == pytest.approx(total)
    assert found.real > 1
    assert found.synthetic == pytest.approx(found.real, rel=0.3)


def _information(child: NDArray[Any], parents: list[NDArray[Any]]) -> float:
    def entropy(columns: list[NDArray[Any]]) -> float:
        counts = (
            np.unique(np.column_stack(columns), axis=0, return_counts=True)[1]
            if columns
            else np.array([1])
        )
        shares = counts / counts.sum()
        return float(-(shares * np.log2(shares)).sum())

    return entropy([child]) + entropy(parents) - entropy([child, *parents])


def test_a_network_is_judged_under_the_model_s_schema() -> None:
    real = people(300, 0)
    model = PrivBayes(epsilon=50).fit(real, SCHEMA, noise=SeededNoise(0))
    synthetic = model.sample(300, seed=0)
    own = network_quality(compare_tables(real, synthetic, SCHEMA), model)
    assert network_quality(compare_tables(real, synthetic), model) == own
    without = [
        Table({name: table.columns[name] for name in itertools.islice(table.names, 3)})
        for table in (real, synthetic)
    ]
    with pytest.raises(
        InputError, match="The model has an attribute 'ill' that the tables do not have"
    ):
        network_quality(compare_tables(*without), model)
