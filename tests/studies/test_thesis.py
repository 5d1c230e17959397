"""The thesis' centralised experiments: tables, learning, divergence, conclusions."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

import thesis
from study import Options, Row
from thesis_parts import accuracy, learning, tables
from thesis_parts.accuracy import (
    centralised,
    conclude,
    differences,
    divergence,
    divergences,
    synthesizer,
)
from thesis_parts.learning import accuracies, answered, features, majority
from thesis_parts.tables import rows_of, task
from understudy import Schema, Table
from understudy.data.encoding import Coded, encode

pytestmark = pytest.mark.thorough


def heart(folder: Path, rows: int = 200, seed: int = 1) -> Path:
    """Made-up patients: the older, the iller."""
    rng = np.random.default_rng(seed)
    age = rng.integers(30, 80, rows)
    columns = {
        "age": age,
        "sex": rng.integers(0, 2, rows),
        "chest_pain": rng.integers(1, 5, rows),
        "blood_pressure": rng.integers(90, 200, rows),
        "cholesterol": rng.integers(120, 600, rows),
        "blood_sugar": rng.integers(0, 2, rows),
        "cardiogram": rng.integers(0, 3, rows),
        "max_pulse": 220 - age,
        "exercise_angina": rng.integers(0, 2, rows),
        "oldpeak": rng.integers(0, 60, rows) / 10,
        "slope": rng.integers(1, 4, rows),
        "vessels": rng.choice(["0.0", "1.0", "2.0", "3.0", "?"], rows),
        "thal": rng.choice(["3.0", "6.0", "7.0", "?"], rows),
        "diagnosis": (age - 30) // 10,
    }
    with (folder / "heart.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return folder


@pytest.fixture(autouse=True)
def forget() -> None:
    tables.coded_table.cache_clear()


def small(**codes: list[int]) -> Coded:
    """Rows of two categories (three and two values, the first may be missing) and a class of
    four.
    """
    schema = Schema.from_dict(
        {
            "attributes": {
                "a": {"kind": "categorical", "values": ["x", "y", "z"], "missing": "?"},
                "b": {"kind": "categorical", "values": ["x", "y"]},
                "class": {"kind": "categorical", "values": ["k", "l", "m", "n"]},
            }
        }
    )
    return Coded(
        schema,
        {name: np.array(values, dtype=np.uint8) for name, values in codes.items()},
        len(codes["a"]),
        (),
    )


# ---- the study as a whole


def test_the_quick_study_runs_from_the_command_line(tmp_path: Path) -> None:
    data = heart(tmp_path)
    output = tmp_path / "out"
    assert (
        thesis.STUDY.main(
            ["--quick", "--only", "accuracy", "--data", str(data), "--output", str(output)]
        )
        == 0
    )
    with (output / "accuracy.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == accuracy.HEART_REPEATS * (
        1 + len(accuracy.METHODS) * len(accuracy.QUICK_EPSILONS)
    )
    assert all(0 <= float(row["accuracy"]) <= 100 for row in rows)
    claims = json.loads((output / "conclusions.json").read_text())["accuracy"]
    assert len({claim["text"] for claim in claims}) == len(claims) == 12
    assert "<svg" in (output / "accuracy.svg").read_text()
    assert "5,000 rows" in (output / "conclusions.md").read_text()  # what was left out is said


def test_a_table_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        thesis.STUDY.main(["--quick", "--data", str(tmp_path), "--output", str(tmp_path / "out")])
        == 2
    )
    assert "heart.csv" in capsys.readouterr().err.replace("\n", "")


@pytest.mark.data
@pytest.mark.parametrize(("table", "rows"), [("heart", 303), ("poker", 25_010), ("adult", 48_842)])
def test_the_public_domains_hold_every_real_row(data: Path, table: str, rows: int) -> None:
    coded = tables.coded_table(table, data)
    assert coded.rows == rows
    assert coded.outside == ()


# ---- the split


def test_test_rows_are_kept_apart(tmp_path: Path) -> None:
    data = heart(tmp_path)
    whole = tables.coded_table("heart", data)
    on = task("heart", data, 0)
    assert (on.train.rows, on.test.rows) == (160, 40)
    together = sorted(
        zip(
            *(np.concatenate([on.train.codes[n], on.test.codes[n]]) for n in whole.codes),
            strict=True,
        )
    )
    assert together == sorted(zip(*whole.codes.values(), strict=True))
    again, other = task("heart", data, 0), task("heart", data, 1)
    assert (again.test.codes["age"] == on.test.codes["age"]).all()
    assert (other.test.codes["age"] != on.test.codes["age"]).any()


# ---- learning


def test_a_missing_value_lies_below_all_others() -> None:
    found = features(small(a=[0, 1, 2, 3], b=[0, 1, 0, 1], **{"class": [0, 1, 2, 3]}), "class")
    assert found.tolist() == [[0, 0], [0.5, 1], [1, 0], [-0.5, 1]]


def test_a_learner_names_classes_by_their_codes() -> None:
    inputs = np.repeat([[0.0], [1.0]], 20, axis=0) + np.random.default_rng(1).normal(
        0, 0.05, (40, 1)
    )
    answers = np.repeat([1, 3], 20)  # 0 and 2 do not occur: some learners want classes without gaps
    for learner in accuracy.THESIS:
        assert answered(learner, inputs, answers, np.array([[0.0], [1.0]]), 1).tolist() == [1, 3], (
            learner
        )


@pytest.mark.parametrize("learner", accuracy.THESIS)
def test_a_learner_that_saw_one_class_names_it(learner: str) -> None:
    assert answered(learner, np.zeros((5, 2)), np.full(5, 2), np.ones((3, 2)), 1).tolist() == [
        2,
        2,
        2,
    ]


def test_qda_leaves_out_classes_that_it_cannot_estimate() -> None:
    rng = np.random.default_rng(1)
    inputs, answers = rng.random((43, 3)), np.array([0] * 20 + [1] * 20 + [2] * 3)
    told = answered("QDA", inputs, answers, rng.random((50, 3)), 1)
    assert set(told.tolist()) <= {0, 1}
    # Where every class is too small the largest are kept: something must be said.
    assert set(answered("QDA", inputs[:5], np.array([0, 0, 0, 1, 1]), inputs[:5], 1).tolist()) == {
        0
    }


def test_the_majority_is_that_of_the_training_rows() -> None:
    train = small(a=[0] * 5, b=[0] * 5, **{"class": [0, 0, 0, 1, 1]})
    test = small(a=[0] * 4, b=[0] * 4, **{"class": [0, 1, 1, 1]})
    assert majority(train, test, "class") == 25


def test_slow_learners_see_fewer_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {}

    def spy(
        learner: str, inputs: np.ndarray, answers: np.ndarray, questions: np.ndarray, seed: int
    ) -> np.ndarray:
        seen[learner] = len(inputs)
        return np.zeros(len(questions))

    monkeypatch.setattr(learning, "answered", spy)
    many = small(a=[0] * 6000, b=[0] * 6000, **{"class": [0] * 6000})
    assert accuracies(many, many, "class", ("CART", "SVC"), 1) == {
        "accuracy": 100,
        "CART": 100,
        "SVC": 100,
    }
    assert seen == {"CART": 5000, "SVC": 2000}


# ---- releases


def test_the_thesis_method_has_the_degree_that_is_asked(tmp_path: Path) -> None:
    on = task("heart", heart(tmp_path), 0)
    options = Options(tmp_path, tmp_path, 1, True, False)
    for method, degree in (("k = 1", 1), ("k = 2", 2)):
        model = centralised(on.train, synthesizer(method, 1.0), options, {"method": method})
        assert model.network.degree == degree
        assert model.ledger.neighbours == "replace"
        assert model.ledger.promise() == pytest.approx((1.0, 0.0))
        assert not model.ledger.private  # seeded


def test_more_budget_brings_model_and_rows_closer(tmp_path: Path) -> None:
    on = task("heart", heart(tmp_path), 0)
    found = []
    for epsilon in (0.05, 500.0):
        options = Options(tmp_path, tmp_path, 1, True, False)
        model = centralised(on.train, synthesizer("k = 1", epsilon), options, {"epsilon": epsilon})
        rows = model.sample(on.train.rows, 1)
        assert isinstance(rows, Table)
        found.append(divergences(on.train, model, encode(rows, on.train.schema)))
    for measure in found[0]:
        assert found[1][measure] < found[0][measure] / 4


def test_divergence_of_two_tables() -> None:
    assert divergence(np.array([1, 1]), np.array([1, 0])) == pytest.approx(
        0.5 * math.log2(0.5 / 0.995) + 0.5 * math.log2(0.5 / 0.005)
    )
    assert divergence(np.array([[2, 2], [2, 2]]), np.array([[7, 7], [7, 7]])) == pytest.approx(0)
    assert divergence(np.array([4, 0]), np.array([8, 0])) == pytest.approx(-math.log2(0.995))


def test_rows_of_picks_rows() -> None:
    picked = rows_of(small(a=[0, 1, 2], b=[0, 1, 1], **{"class": [0, 1, 2]}), np.array([2, 0]))
    assert (picked.rows, picked.codes["a"].tolist()) == (2, [2, 0])


# ---- conclusions

Curves = dict[str, tuple[float, float]]
"""For each method a number at a small and at a large epsilon."""


def made_up(
    accuracy: Curves, tables: Curves, pairs: Curves, majority: float, xgboost: float
) -> list[Row]:
    """Rows of Heart; trained on real rows the accuracy is 60, and CART's is always 50."""
    rows: list[Row] = [
        {"table": "heart", "method": "real", "repeat": 0, "accuracy": 60.0, "majority": majority}
    ]
    for method in accuracy:
        for place, epsilon in enumerate((0.1, 10.0)):
            settings = {"table": "heart", "method": method, "epsilon": epsilon, "repeat": 0}
            learned = {"accuracy": accuracy[method][place], "XGBoost": xgboost, "CART": 50.0}
            kl = {"KL of tables": tables[method][place], "KL of pairs": pairs[method][place]}
            rows.append(settings | learned | kl)
    return rows


def test_all_conclusions_hold_where_everything_is_as_the_thesis_says() -> None:
    accuracies = {"k = 1": (55.0, 56.0), "k = 2": (51.0, 59.0), "default": (58.0, 59.5)}
    of_tables = {"k = 1": (10.0, 1.0), "k = 2": (20.0, 2.0), "default": (5.0, 1.0)}
    pairs = {"k = 1": (1.0, 0.5), "k = 2": (2.0, 0.4), "default": (1.0, 0.2)}
    claims = conclude(made_up(accuracies, of_tables, pairs, majority=45.0, xgboost=60.0))
    assert [claim.text for claim in claims if not claim.held] == []


def test_no_conclusion_holds_where_nothing_is_as_the_thesis_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(accuracy.REAL_ACCURACY, "heart", 70.0)
    accuracies = {"k = 1": (41.0, 40.0), "k = 2": (42.0, 39.0), "default": (30.0, 30.0)}
    of_tables = {"k = 1": (1.0, 10.0), "k = 2": (1.2, 20.0), "default": (5.0, 1.0)}
    pairs = {"k = 1": (1.0, 0.5), "k = 2": (2.0, 0.6), "default": (1.0, 0.2)}
    claims = conclude(made_up(accuracies, of_tables, pairs, majority=55.0, xgboost=40.0))
    assert [claim.text for claim in claims if claim.held] == []


def test_losses_are_taken_from_training_on_real_rows() -> None:
    none = {"k = 1": (0.0, 0.0)}
    rows = made_up({"k = 1": (55.0, 56.0)}, none, none, majority=45.0, xgboost=60.0)
    assert [(row["epsilon"], row["difference"]) for row in differences(rows)] == [
        (0.1, 5.0),
        (10.0, 4.0),
    ]
