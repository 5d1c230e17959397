"""The whole evaluation: its result, its findings, its JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from examples import every_kind_schema, every_kind_table
from published import published
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.evaluation import Evaluation, evaluate
from understudy.evaluation.findings import with_findings
from understudy.evaluation.model_results import NetworkQuality
from understudy.evaluation.result import MarginalError, MarginalErrors

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

pytest.importorskip("xgboost")


def rows(count: int, seed: int, *, linked: bool = True) -> Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, size=count)
    ill = (rng.random(count) < (age / 100 if linked else 0.56)).astype(np.int64)
    place = rng.integers(3, size=count)
    gone = (rng.random(count) < 0.1).astype(np.uint8)
    return Table(
        {
            "age": Column("integer", age),
            "ill": Column("text", ill, ("no", "yes")),
            "place": Column("text", place, ("east", "north", "west"), gone),
        }
    )


@pytest.fixture(scope="module")
def itself() -> Evaluation:
    one = rows(400, 0)
    return evaluate(one, one, target=["ill", "age"], learners=["CART", "SVM"])


def test_a_table_compared_with_itself(itself: Evaluation) -> None:
    assert [found.order for found in itself.marginals] == [1, 2, 3]
    assert all(found.largest == 0 for found in itself.marginals)
    assert itself.ranges.mean_relative == 0
    assert all(column.total_variation == 0 for column in itself.columns)
    assert not itself.pairs.information_difference.any()
    assert all(found.missed == found.false_alarms == 0 for found in itself.inference)
    assert itself.clustering.rand == 1
    assert itself.clustering.cost_synthetic == itself.clustering.cost_real
    assert itself.propensity.auc < 0.55
    assert itself.propensity.pmse < 1e-6
    assert itself.network is None
    assert {finding.grade for finding in itself.findings} == {"good"}


def test_each_part_has_its_finding(itself: Evaluation) -> None:
    assert [finding.subject for finding in itself.findings] == [
        *["marginals"] * 3,
        *["columns", "missing", "values", "propensity", "ranges", "pairs"],
        *["learning"] * 2,
        "clustering",
        *["inference"] * 2,
    ]
    for finding in itself.findings:
        assert finding.sentence.endswith(".")
        assert "nan" not in finding.sentence


def test_json_is_plain_and_whole(itself: Evaluation) -> None:
    document = json.loads(json.dumps(itself.to_dict(), allow_nan=False))
    assert document["shape"]["columns"] == ["age", "ill", "place"]
    assert document["pairs"]["information_difference"] == [[0.0] * 3] * 3
    assert document["learning"][0]["learners"][1]["learner"] == "SVM"
    assert document["columns"][0]["name"] == "age"
    assert document["propensity"]["ratio"] < 1
    assert document["seed"] == 0


def test_what_is_undefined_becomes_null(itself: Evaluation) -> None:
    broken = replace(itself, propensity=replace(itself.propensity, pmse=float("nan")))
    assert broken.to_dict()["propensity"]["pmse"] is None


def test_a_poor_table_is_called_poor() -> None:
    found = evaluate(
        rows(1500, 0), rows(1500, 1, linked=False), target="ill", learners=["logistic regression"]
    )
    grades = {finding.subject: finding.grade for finding in found.findings}
    assert grades["columns"] == "good"
    assert grades["pairs"] == "poor"
    assert grades["learning"] == "poor"
    assert grades["inference"] != "good"


def test_the_same_seed_gives_the_same_result() -> None:
    one, other = rows(300, 0), rows(200, 1)
    first = evaluate(one, other, target="ill", learners=["CART"], seed=4).to_dict()
    assert first == evaluate(one, other, target="ill", learners=["CART"], seed=4).to_dict()
    assert first["ranges"] != evaluate(one, other, seed=5).to_dict()["ranges"]


def test_the_sentence_on_marginals(itself: Evaluation) -> None:
    worst = MarginalError(("age", "education", "income"), 0.14)
    errors = MarginalErrors(3, 600, 2000, mean=0.051, largest=0.14, by_chance=0.02, worst=(worst,))
    told = with_findings(replace(itself, marginals=(errors,))).findings
    finding = next(finding for finding in told if finding.subject == "marginals")
    assert finding.sentence == (
        "Three-way tables differ by 5.1 % on average (600 of 2,000 were measured, at random); the "
        "worst is "
        "age x education x income at 14.0 %. Chance alone would make at least 2 %."
    )
    assert finding.grade == "fair"


def test_columns_of_every_kind() -> None:
    found = evaluate(every_kind_table(), every_kind_table(), every_kind_schema())
    assert all(column.total_variation == 0 for column in found.columns)
    json.dumps(found.to_dict(), allow_nan=False)
    without = evaluate(every_kind_table(), every_kind_table())
    assert set(found.shape.columns) <= set(without.shape.columns) | set(without.shape.left_out)


def test_a_single_column_and_a_single_row() -> None:
    one = Table({"x": Column("integer", np.array([3]))})
    found = evaluate(one, one)
    assert [errors.order for errors in found.marginals] == [1]
    assert found.inference == ()
    json.dumps(found.to_dict(), allow_nan=False)
    with pytest.raises(InputError, match="'x' is the only column"):
        evaluate(one, one, target="x")


def test_packages_that_lack_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "understudy.evaluation.find_spec", lambda module: None if module == "xgboost" else module
    )
    with pytest.raises(InputError, match=r"pip install \"understudy\[evaluation\]\""):
        evaluate(rows(5, 0), rows(5, 1))


def test_progress_counts_up_to_its_end() -> None:
    told: list[tuple[str, int, int]] = []
    one = rows(60, 0)
    evaluate(
        one,
        one,
        target="ill",
        learners="CART",
        orders=(1, 2),
        progress=lambda *step: told.append(step),
    )
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert {done for _, done, _ in told} == set(range(11))
    assert {of for _, _, of in told} == {10}
    assert told[7:9] == [("learning ill", 7, 10), ("learning ill by CART", 7, 10)]


# --------------------------------------------------------------------------- what findings say


def graded(found: Evaluation) -> dict[str, str]:
    return {finding.subject: finding.grade for finding in found.findings}


def said(found: Evaluation, subject: str) -> str:
    return next(finding.sentence for finding in found.findings if finding.subject == subject)


def many_columns(count: int, seed: int) -> Table:
    """Twelve columns of six values that follow each other loosely."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(6, size=count)]
    for _ in range(11):
        columns.append(np.where(rng.random(count) < 0.35, columns[-1], rng.integers(6, size=count)))
    return Table(
        {
            f"x{place}": Column("text", values, tuple("abcdef"))
            for place, values in enumerate(columns)
        }
    )


def test_what_chance_does_is_not_called_poor() -> None:
    found = evaluate(many_columns(8000, 0), many_columns(250, 1))
    assert "poor" not in graded(found).values()
    assert found.inference[0].by_chance > 0
    assert "(chance alone: about " in said(found, "pairs")


def test_of_a_handful_of_rows_nothing_is_known() -> None:
    one = rows(1, 1)
    for found in (evaluate(rows(400, 0), one, target="ill", learners=["CART"]), evaluate(one, one)):
        assert set(graded(found).values()) == {"unknown"}
        assert all(
            finding.sentence.endswith("There are too few rows to tell.")
            for finding in found.findings
        )
        json.dumps(found.to_dict(), allow_nan=False)


def test_where_chance_makes_much_nothing_is_called_good(itself: Evaluation) -> None:
    worst = MarginalError(("age",), 0.4)
    for mean, grade in ((0.04, "good"), (0.35, "unknown"), (0.45, "poor")):
        errors = MarginalErrors(1, 2, 2, mean=mean, largest=0.5, by_chance=0.2, worst=(worst,))
        found = with_findings(replace(itself, marginals=(errors,)))
        assert graded(found)["marginals"] == grade


def test_numbers_too_large_for_a_learner_are_no_trouble(recwarn: pytest.WarningsRecorder) -> None:
    one, other = (
        Table({**table.columns, "size": Column("real", table.columns["age"].values * 1e300)})
        for table in (rows(200, 0), rows(200, 1))
    )
    found = evaluate(one, other, target=["ill", "size"], learners=["XGBoost", "CART"])
    assert all(
        np.isfinite(learner.synthetic_to_real["accuracy"]) for learner in found.learning[0].learners
    )
    assert [task.notes == () for task in found.learning] == [True, False]
    assert [str(warning.message) for warning in recwarn] == []
    json.dumps(found.to_dict(), allow_nan=False)


def test_sentences_on_bad_tables_are_true_in_english(itself: Evaluation) -> None:
    regression = itself.learning[1]
    linear = replace(regression.learners[0], synthetic_to_real={"r2": -43.2, "mse": 9.0})
    column = replace(itself.columns[2], real_missing=0.0, synthetic_missing=1.0)
    groups = replace(itself.clustering, cost_synthetic=9 * itself.clustering.cost_one, rand=-0.1)
    bad = with_findings(
        replace(
            itself,
            learning=(replace(regression, learners=(linear,)),),
            columns=(*itself.columns[:2], column),
            clustering=groups,
        )
    )
    assert "explains nothing (no fit: always saying the mean does better) when trained on" in said(
        bad, "learning"
    )
    assert said(bad, "missing").startswith(
        "Missing cells are not as frequent as in the real table; the furthest is"
    )
    assert "serve the real rows worse than a single centre would; the groups agree to 0 %" in said(
        bad, "clustering"
    )
    assert "off by at most 0 % in half of 500 queries" in said(bad, "ranges")
    assert [graded(bad)[subject] for subject in ("learning", "missing", "clustering")] == [
        "poor"
    ] * 3


def test_a_learner_is_compared_with_itself(itself: Evaluation) -> None:
    task = itself.learning[0]
    best, other = (
        replace(
            task.learners[0],
            learner=name,
            real_to_real={"accuracy": real},
            synthetic_to_real={"accuracy": got},
        )
        for name, real, got in (("CART", 0.9, 0.75), ("SVM", 0.8, 0.8))
    )
    sure = replace(task, learners=(best, other), majority={"accuracy": 0.5}, test_rows=10_000)
    found = with_findings(replace(itself, learning=(sure,)))
    assert said(found, "learning") == (
        "Trained on synthetic rows, CART, the best of 2 on real rows, gets ill right in 75.0 % of "
        "real cases; trained "
        "on real rows, in 90.0 %; always saying the commonest, in 50.0 %."
    )
    assert graded(found)["learning"] == "poor"
    few = with_findings(replace(itself, learning=(replace(sure, test_rows=20),)))
    assert graded(few)["learning"] == "unknown"


def test_bits_that_noise_adds_to_a_network_are_called_noise(itself: Evaluation) -> None:
    for synthetic, end in (
        (2.46, "2.46 in the synthetic one: 0.46 bits more, noise that looks like dependence."),
        (1.5, "1.50 in the synthetic one."),
    ):
        found = with_findings(replace(itself, network=NetworkQuality(2.0, synthetic, ())))
        assert said(found, "network").endswith(end)


def test_values_that_lie_elsewhere_inside_their_bins_are_told() -> None:
    rng = np.random.default_rng(0)
    schema = Schema.from_dict(
        {"attributes": {"pay": {"kind": "real", "min": 0, "max": 8, "bins": 4}}}
    )
    # Values next to the left ends of the schema's bins, against values all over them.
    round_numbers = 2.0 * rng.integers(4, size=2000) + 0.01 * rng.integers(20, size=2000)
    spread = 8 * rng.random(2000)
    found = evaluate(
        Table({"pay": Column("real", round_numbers)}),
        Table({"pay": Column("real", spread)}),
        schema,
    )
    assert "Inside bins, pay is not spread as the real values are (2" in said(found, "values")
    assert found.columns[0].kolmogorov_smirnov > 0.2
    assert found.columns[0].kolmogorov_smirnov_binned < 0.05
    assert "pay is a multiple of 0.01 in 100.0 % of the real rows" in said(found, "values")
    assert graded(found)["values"] == "poor"


@pytest.mark.parametrize(("count", "grade"), [(3, "fair"), (80, "poor")])
def test_values_that_the_schema_does_not_allow_are_told_and_count_as_error(
    count: int, grade: str
) -> None:
    schema = Schema.from_dict({"attributes": {"x": {"kind": "integer", "min": 0, "max": 9}}})
    inside = np.arange(400) % 10
    outside = np.where(np.arange(400) < count, 99, inside)
    found = evaluate(
        Table({"x": Column("integer", outside)}), Table({"x": Column("integer", inside)}), schema
    )
    told = next(finding for finding in found.findings if "schema allows" in finding.sentence)
    assert told.grade == grade
    assert f"x in {0.25 * count:.2g} % of the real rows" in told.sentence.replace("20.0", "20")
    assert found.columns[0].total_variation == pytest.approx(count / 400)  # it counts as error
    assert found.columns[0].real_outside == count / 400
    assert found.shape.real_outside == {"x": count / 400}


@pytest.mark.data
def test_five_hundred_people_are_a_good_table_of_their_population(data: Path) -> None:
    real, _ = published("br2000", data)
    order = np.random.default_rng(2).permutation(real.rows)
    parts = (order[500:19_500], order[:500])
    one, other = (
        Table({name: Column(c.kind, c.values[part], c.words) for name, c in real.columns.items()})
        for part in parts
    )
    found = evaluate(one, other, orders=(1, 2), target="b1", learners=["Gaussian NB"])
    assert "poor" not in graded(found).values()


@pytest.mark.data
def test_adult_s_marginals_are_those_of_the_figures(data: Path) -> None:
    real, schema = published("adult", data)
    half = [
        Table(
            {name: Column(c.kind, c.values[start::2], c.words) for name, c in real.columns.items()}
        )
        for start in (0, 1)
    ]
    found = evaluate(*half, schema)
    assert [(errors.measured, errors.of) for errors in found.marginals] == [
        (15, 15),
        (105, 105),
        (455, 455),
    ]
    for errors in found.marginals:
        assert errors.mean == pytest.approx(errors.by_chance, rel=0.15)
    assert found.propensity.auc == pytest.approx(0.5, abs=0.02)
    assert found.propensity.ratio == pytest.approx(1, abs=0.4)
    assert {finding.grade for finding in found.findings} == {"good"}
