"""Sums, variances, quantiles, ranges, labels and groups of a model: what its own rows would say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import InputError, Marginals, Model, Schema
from understudy.models.query.functions import GroupedAnswer
from understudy.privacy.mechanisms import SeededNoise

ROWS = 3000

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 0, "max": 99, "bins": 100},
            "height": {"kind": "real", "min": 1.0, "max": 2.2, "bins": 60, "missing": True},
            "sex": {"kind": "categorical", "values": ["f", "m"]},
            "stars": {"kind": "categorical", "values": [1, 2, 3, 5]},
            "seen": {"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 366},
        }
    }
)


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], ROWS)
    height = np.round(rng.normal(1.7, 0.1, ROWS), 3)
    height[:100] = np.nan
    days = pd.to_timedelta(rng.integers(0, 366, ROWS), "D")
    return pd.DataFrame(
        {
            "age": np.clip(rng.normal(40 + 5 * (sex == "m"), 12).round(), 18, 90).astype(int),
            "height": height,
            "sex": sex,
            "stars": rng.choice([1, 2, 3, 5], ROWS),
            "seen": (pd.to_datetime("2020-01-01") + days).strftime("%Y-%m-%d"),
        }
    )


TABLE = rows()


@pytest.fixture(scope="module")
def model() -> Model:
    """One that knows each attribute with the sex, and hardly any noise."""
    pairs = [("age", "sex"), ("height", "sex"), ("stars", "sex"), ("seen", "sex")]
    method = Marginals(epsilon=1e6, marginals=pairs, refinement=0.0)
    return method.fit(TABLE, SCHEMA, noise=SeededNoise(0))


def test_functions_of_whole_numbers_are_those_of_the_rows(model: Model) -> None:
    ages = TABLE.age
    for text, exact in {
        "sum age": ages.sum(),
        "mean age from 30 to 50": ages.clip(30, 50).mean(),
        "variance age": ages.var(ddof=0),
        "std age": ages.std(ddof=0),
        "std age where sex = 'f'": ages[TABLE.sex == "f"].std(ddof=0),
        "variance stars": TABLE.stars.var(ddof=0),
        "sum stars where sex = 'm'": TABLE.stars[TABLE.sex == "m"].sum(),
    }.items():
        answer = model.query(text)
        assert answer.value == pytest.approx(exact, rel=2e-3), text


def test_quantiles_are_those_of_the_rows(model: Model) -> None:
    ages = np.sort(TABLE.age)
    for level in (0.1, 0.5, 0.9):
        answer: Any = model.query(f"quantile {level} age")
        assert answer.value == ages[math.ceil(level * ROWS) - 1]
        assert answer.low <= answer.value <= answer.high
    median: Any = model.query("median stars")
    assert median.value == np.median(TABLE.stars)
    heights: Any = model.query("median height where sex = 'm'")
    assert heights.value == pytest.approx(TABLE.height[TABLE.sex == "m"].median(), abs=0.01)
    ordered = sorted(TABLE.seen)
    seen = repr(model.query("median seen"))[:10]
    assert ordered[ROWS // 2 - 1] <= seen <= ordered[ROWS // 2]


def test_the_inside_of_wide_bins_counts_for_a_variance() -> None:
    schema = Schema.from_dict(
        {"attributes": {"x": {"kind": "real", "min": 0, "max": 12, "bins": 1}}}
    )
    frame = pd.DataFrame({"x": np.linspace(0, 12, 1001)})
    wide = Marginals(epsilon=1e6, marginals=[("x",)], refinement=0.0).fit(
        frame, schema, noise=SeededNoise(0)
    )
    answer: Any = wide.query("variance x")
    assert answer.value == pytest.approx(12.0, rel=0.01)


def test_the_largest_value_is_a_range(model: Model) -> None:
    answer: Any = model.query("max age")
    assert answer.low <= TABLE.age.max() <= answer.high + 1
    assert " to " in repr(answer)
    smallest: Any = model.query("min age where sex = 'f'")
    assert smallest.low - 1 <= TABLE.age[TABLE.sex == "f"].min() <= smallest.high


def test_groups(model: Model) -> None:
    counted: Any = model.query("count group by sex, stars")
    assert isinstance(counted, GroupedAnswer)
    assert counted.group_by == ("sex", "stars")
    exact = TABLE.groupby(["sex", "stars"]).size()
    for (sex, stars), answer in zip(counted.groups, counted.answers, strict=True):
        assert answer.value == pytest.approx(exact[sex, int(stars)], abs=1)
    shares: Any = model.query("share where age > 40 group by sex")
    older = (TABLE.age > 40).groupby(TABLE.sex).mean()
    values = [answer.value for answer in shares.answers]
    assert values == pytest.approx([older["f"], older["m"]], abs=1e-3)
    document = shares.to_dict()
    assert [one["group"] for one in document["answers"]] == [["f"], ["m"]]


def test_one_group_has_a_value_and_several_have_not(model: Model) -> None:
    one = model.query("count group by sex in ('f')")
    assert one.low <= one.value <= one.high
    assert one.error >= 0
    with pytest.raises(ValueError, match="for each group"):
        model.query("count group by sex").value  # noqa: B018


def test_a_histogram_is_a_count_by_groups(model: Model) -> None:
    cut: Any = model.query("histogram age from 20 to 60 by 20")
    exact = [TABLE.age.between(20, 39).sum(), TABLE.age.between(40, 60).sum()]
    assert [answer.value for answer in cut.answers] == pytest.approx(exact, abs=1)
    assert cut.groups == (("[20, 40)",), ("[40, 60]",))
    whole: Any = model.query("histogram height")
    assert whole.groups[-1] == ("missing",)
    assert whole.answers[-1].value == pytest.approx(100, abs=1)


def test_labels_are_counts_of_each_condition(model: Model) -> None:
    found: Any = model.query("count each age > 40, sex = 'f' and stars = 5")
    exact = [(TABLE.age > 40).sum(), ((TABLE.sex == "f") & (TABLE.stars == 5)).sum()]
    assert [answer.value for answer in found.answers] == pytest.approx(exact, abs=1)
    assert found.groups == (("age > 40",), ("sex = 'f' and stars = 5",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("count each age > 40, sex = 'f' at most 1", "leave out 'at most'"),
        ("count each age > 40 group by sex", "without groups"),
        ("count group by age, height", "a model answers for up to 1,000"),
        ("median sex", "is of numbers"),
        ("sum seen", "is of numbers"),
        ("mean stars from 1 to 2", "bounds are of numbers"),
        ("median age where age is missing", "never missing"),
        ("median height where height is missing", "no row with a value"),
    ],
)
def test_what_a_model_does_not_answer(model: Model, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.query(text)


def test_a_group_that_is_empty_has_no_mean(model: Model) -> None:
    found: Any = model.query("mean age where age = 97 group by sex")
    assert [math.isnan(answer.value) for answer in found.answers] == [True, True]
    assert found.to_dict()["answers"][0]["value"] is None
    assert "no rows" in repr(found)
