"""The whole evaluation: its result, its findings, its JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from examples import every_kind_schema, every_kind_table
from understudy.errors import InputError
from understudy.evaluation import Evaluation, evaluate
from understudy.evaluation.findings import with_findings
from understudy.evaluation.published import published
from understudy.evaluation.result import MarginalError, MarginalErrors
from understudy.tables import Column, Table

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
        *["columns", "missing", "ranges", "pairs"],
        *["learning"] * 2,
        "clustering",
        *["inference"] * 2,
        "propensity",
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
    found = evaluate(rows(1500, 0), rows(1500, 1, linked=False), target="ill", learners=["logistic regression"])
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
    finding = with_findings(replace(itself, marginals=(errors,))).findings[0]
    assert finding.sentence == (
        "Three-way tables differ by 5.1 % on average (600 of 2,000 were measured, at random); the worst is "
        "age x education x income at 14.0 %. Chance alone would make about 2 %."
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
    monkeypatch.setattr("understudy.evaluation.find_spec", lambda module: None if module == "xgboost" else module)
    with pytest.raises(InputError, match=r"pip install \"understudy\[evaluation\]\""):
        evaluate(rows(5, 0), rows(5, 1))


def test_progress_counts_up_to_its_end() -> None:
    told: list[tuple[str, int, int]] = []
    one = rows(60, 0)
    evaluate(one, one, target="ill", learners="CART", orders=(1, 2), progress=lambda *step: told.append(step))
    assert [done for _, done, _ in told] == list(range(len(told)))
    assert {of for _, _, of in told} == {told[-1][1]}
    assert ("learning ill", 6, 9) in told


@pytest.mark.data
def test_adult_s_marginals_are_those_of_the_figures(data: Path) -> None:
    real, schema = published("adult", data)
    half = [
        Table({name: Column(c.kind, c.values[start::2], c.words) for name, c in real.columns.items()})
        for start in (0, 1)
    ]
    found = evaluate(*half, schema)
    assert [(errors.measured, errors.of) for errors in found.marginals] == [(15, 15), (105, 105), (455, 455)]
    for errors in found.marginals:
        assert errors.mean == pytest.approx(errors.by_chance, rel=0.15)
    assert found.propensity.auc == pytest.approx(0.5, abs=0.02)
    assert found.propensity.ratio == pytest.approx(1, abs=0.4)
    assert {finding.grade for finding in found.findings} == {"good"}
