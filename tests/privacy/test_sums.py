"""The question sum: what is summed, with which noise, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from understudy import InputError, Ledger, Schema, open_curator
from understudy.counting.sums import MemorySummer
from understudy.data.encoding import encode
from understudy.data.frames import as_table
from understudy.data.marginals import marginal
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.domain import Domain
from understudy.privacy.features import Indicator, Number, indicator, indicators
from understudy.privacy.mechanisms import SystemNoise
from understudy.privacy.sums import Sum

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 0, "max": 100, "missing": True},
            "income": {"kind": "real", "min": 0, "max": 10_000, "missing": "-1"},
            "sex": {"kind": "categorical", "values": ["f", "m"], "missing": True},
            "rooms": {"kind": "categorical", "values": [1, 2, 5]},
            "smoker": {"kind": "boolean"},
            "note": {"kind": "text"},
        }
    }
)

FRAME = pd.DataFrame(
    {
        "age": ["31", "52", "47", "", "1000", "eight"],
        "income": [1500.0, math.nan, math.inf, -1.0, -math.inf, 2800.5],
        "sex": ["f", "m", "f", "m", None, "?"],
        "rooms": [1, 2, 5, 5, 2, 1],
        "smoker": [True, False, False, True, True, False],
        "note": ["a", "b", "c", "d", "e", "f"],
    }
)


class NoNoise:
    """What would be summed, without noise: it protects nobody."""

    private = False

    def laplace(self, counts, scale):
        return counts

    gaussian = laplace


def curator_of(frame=FRAME, schema=SCHEMA, ledger=None, noise=None):
    coded = encode(as_table(frame)[0], schema)
    return CentralCurator(coded, ledger or Ledger(1.0), noise or NoNoise())


def ask(features, **options):
    return curator_of().sum(features, Budget(1.0), **options)


# ---- what is summed


def test_numbers_are_clipped_and_incomplete_rows_left_out():
    found = ask([Number("age")], shares={"sums": 1, "counts": 1})
    assert found.counts.values == 4  # "" is missing, and "eight" is no integer
    assert found.sums.values.tolist() == [31 + 52 + 47 + 100]


def test_a_missing_number_counts_as_the_centre():
    found = ask([Number("age", centre=40)], missing="centre", shares={"sums": 1, "counts": 1})
    assert found.counts.values == 6
    assert found.sums.values.tolist() == [-9 + 12 + 7 + 60]
    assert found.centres.tolist() == [40]


def test_infinite_numbers_count_at_the_edge():
    found = ask([Number("income", step=0.5)], shares={"sums": 1, "counts": 1})
    assert found.counts.values == 4  # not a number, and the mark -1
    assert found.sums.values.tolist() == [1500 + 10_000 + 0 + 2800.5]


def test_bounds_of_the_question_go_before_those_of_the_schema():
    found = ask([Number("income", lower=2_000, upper=2_500)])
    assert found.sums.values.tolist() == [2000 + 2500 + 2000 + 2500]


def test_categories_are_summed_by_indicators_or_as_numbers():
    features = [*indicators(SCHEMA, "sex"), Number("rooms"), Number("smoker")]
    found = ask(features)
    assert found.sums.values == pytest.approx([2, 3, 1, 16, 3], abs=1e-4)
    assert indicator(SCHEMA, "sex", "m", None) == Indicator("sex", (1, 2))


def test_second_moments_are_those_of_the_centred_numbers():
    found = ask([Number("age", centre=50), Number("rooms")], moments="products")
    ages, rooms = np.array([-19, 2, -3, 50]), np.array([1, 2, 5, 2])
    assert found.moments.values == pytest.approx(
        np.array([[ages @ ages, ages @ rooms], [rooms @ ages, rooms @ rooms]]), abs=1e-2
    )
    squares = ask([Number("age", centre=50), Number("rooms")], moments="squares")
    assert squares.moments.values == pytest.approx([ages @ ages, rooms @ rooms], abs=1e-2)


def test_sums_by_groups_are_sums_of_the_groups():
    found = ask([Number("rooms")], by=marginal("sex", "smoker"), shares={"sums": 1, "counts": 1})
    assert found.counts.values.shape == (3, 2)
    assert found.sums.values.shape == (3, 2, 1)
    assert found.sums.values[..., 0].tolist() == [[5, 1], [3, 5], [0, 2]]


def test_sums_by_the_nearest_point():
    points = [[40.0, 1.0], [90.0, 5.0]]
    found = ask([Number("age"), Number("rooms")], nearest=points, shares={"counts": 1})
    assert found.counts.values.tolist() == [2, 2]  # 47 and 1000 are nearer to the second
    assert found.sums is None


def test_points_are_in_steps_from_the_centres_and_steps_count_by_units():
    features = [Number("income", centre=2500, step=50.0, unit=100.0), Number("rooms")]
    question = Sum(features=features, budget=Budget(1.0), nearest=[[3000.0, 2.0], [0, 5]])
    nearest = question.summation(Domain(SCHEMA)).nearest
    assert nearest.points == ((10.0, 2.0), (-50.0, 5.0))
    assert nearest.weights == (0.5, 0.2)


def test_a_ball_shortens_rows_and_never_lengthens_one():
    features = [Number("age", centre=50), Number("rooms")]
    wide = ask(features, ball=10.0)
    assert wide.sums.values == pytest.approx([30, 10], rel=0.01)
    narrow = ask(features, ball=0.5)
    ages, rooms = np.array([-19, 2, -3, 50]) / 50, np.array([1, 2, 5, 2]) / 5
    lengths = np.hypot(ages, rooms)
    factors = np.minimum(1, 0.5 / lengths)
    expected = [50 * (ages * factors).sum(), 5 * (rooms * factors).sum()]
    assert narrow.sums.values == pytest.approx(expected, rel=0.01)


def test_without_complete_rows_sums_are_zero():
    frame = FRAME.assign(age="?")
    found = curator_of(frame).sum([Number("age")], Budget(1.0), moments="squares")
    assert found.sums.values.tolist() == found.moments.values.tolist() == [0]


# ---- the noise


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_noise_is_as_large_as_the_answer_says(currency):
    delta = 1e-9 if currency == "rho" else 0.0
    ledger = Ledger(400.0, delta, currency=currency)
    curator = curator_of(ledger=ledger, noise=SystemNoise())
    features = [Number("age"), Number("income")]
    groups = marginal("sex", "smoker")
    share = Budget(0.05, currency)
    answers = [
        curator.sum(
            features,
            share,
            moments="products",
            by=groups,
            shares=dict.fromkeys(["counts", "sums", "moments"], 1.0),
        )
        for _ in range(40)
    ]
    for part in ("counts", "sums", "moments"):
        noisy = [getattr(answer, part) for answer in answers]
        values = np.array([one.values for one in noisy])
        spread = values.std(axis=0) / noisy[0].deviation
        # 240 draws of kurtosis 6 at most: 7 % by chance, and 6 times that is allowed.
        assert spread.reshape(6, -1).mean() == pytest.approx(1, abs=0.45)


def test_scales_are_in_the_units_of_the_columns():
    answer = ask([Number("age"), Number("income")])
    # Laplace, two slots: twice the bound over epsilon, and the rounding to the common grid.
    assert answer.sums.scale == pytest.approx([200, 20_000], rel=1e-5)
    assert answer.sums.deviation == pytest.approx(math.sqrt(2) * answer.sums.scale, rel=1e-5)
    assert answer.distribution == "laplace"


def test_indicators_of_one_column_cost_as_one():
    one = ask([Indicator("sex", (0,))])
    three = ask(indicators(SCHEMA, "sex"))
    assert one.sums.scale.tolist() == [1.0]
    assert three.sums.scale.tolist() == [1.0] * 3


# ---- the books, and what is refused


def test_every_part_stands_in_the_ledger():
    ledger = Ledger(1.0)
    curator = curator_of(ledger=ledger)
    curator.sum([Number("age")], Budget(0.5), moments="squares", by=marginal("sex"))
    lines = [(entry.question, entry.amount) for entry in ledger.entries]
    assert lines == [
        ("sums of 1 feature of age by sex", 0.25),
        ("squares of 1 feature of age by sex", 0.25),
    ]


@pytest.mark.parametrize(
    ("features", "options", "words"),
    [
        ([], {}, "1 to 2,000 features"),
        ([Number("nobody")], {}, "nobody"),
        ([Number("note")], {}, "never read"),
        ([Number("sex")], {}, "no numbers"),
        ([Number("age"), Number("age")], {}, "twice"),
        ([Number("age", lower=5, upper=5)], {}, "lower bound"),
        ([Number("age", lower=5, upper=math.inf)], {}, "finite"),
        ([Number("age", lower=5, upper=math.nan)], {}, "finite"),
        ([Number("age", centre=200)], {}, "centre"),
        ([Number("age", step=0.0)], {}, "step"),
        ([Number("age", step=1e-9)], {}, "larger step"),
        ([Number("age", lower=0, upper=1, step=10.0)], {}, "smaller step"),
        ([Number("age", unit=-1)], {}, "unit"),
        ([Number("income", lower=1e18, upper=1e18 + 256, centre=1e18)], {}, "close"),
        ([Indicator("sex", ())], {}, "codes"),
        ([Indicator("sex", (3,))], {}, "codes"),
        ([Number("age")], {"moments": "cubes"}, "cubes"),
        ([Number("age")], {"missing": "mean"}, "mean"),
        ([Number("age")], {"ball": 0.0}, "radius"),
        ([Number("age")], {"ball": math.nan}, "radius"),
        ([Number("age")], {"by": marginal("note")}, "never read"),
        ([Number("age")], {"nearest": []}, "Points"),
        ([Number("age")], {"nearest": [[1.0, 2.0]]}, "Points"),
        ([Number("age")], {"nearest": [[math.nan]]}, "Points"),
        ([Number("age")], {"shares": {}}, "Shares"),
        ([Number("age")], {"shares": {"sums": 0.0}}, "above 0"),
        ([Number("age")], {"shares": {"sums": 1, "moments": 1}}, "Moments"),
        ([Number("age")], {"moments": "squares", "shares": {"sums": 1}}, "Moments"),
    ],
)
def test_what_cannot_be_answered_is_refused_and_costs_nothing(features, options, words):
    ledger = Ledger(1.0)
    with pytest.raises(InputError, match=words):
        curator_of(ledger=ledger).sum(features, Budget(1.0), **options)
    assert not ledger.entries


def test_codes_alone_have_no_sums_of_numbers():
    ledger = Ledger(1.0)
    coded = encode(as_table(FRAME)[0], SCHEMA)
    curator = CentralCurator(replace(coded, table=None), ledger, NoNoise())
    with pytest.raises(InputError, match="only codes"):
        curator.sum([Number("age")], Budget(1.0))
    assert not ledger.entries
    assert curator.sum([Indicator("smoker", (1,))], Budget(1.0)).sums.values.tolist() == [3]


# ---- from a table to a curator


def test_a_curator_of_public_facts_reads_no_other_column(tmp_path):
    path = tmp_path / "table.csv"
    FRAME.to_csv(path, index=False)
    ledger = Ledger(1.0, max_rows_per_person=2, unit="person")
    facts = {"income": (0, 10_000), "sex": ["f", "m"]}
    with open_curator(path, facts, ledger, person="note", noise=NoNoise()) as curator:
        answer = curator.sum([Number("income")], Budget(1.0), by=marginal("sex"))
        assert curator.schema["age"].kind == "text"
    assert answer.sums.values.shape == (3, 1)
    assert answer.sums.scale == pytest.approx([20_000], rel=1e-3)


def test_questions_check_themselves_against_the_domain():
    question = Sum(features=[Number("age")], budget=Budget(1.0))
    question.check(curator_of().domain)
    assert question.summation(curator_of().domain).terms[0].range == (0, 100)
    assert Fraction(question.costs["sums"].amount) == 1


def test_each_group_has_its_own_centre():
    centres = np.array([[40.0], [50.0], [60.0]])
    found = ask([Number("age")], by=marginal("sex"), centres=centres, moments="squares")
    assert found.sums.values[:, 0].tolist() == [31 + 47 - 80, 52 - 50, 100 - 60]
    assert found.moments.values[:, 0].tolist() == [81 + 49, 4, 1600]
    assert found.centres.tolist() == centres.tolist()
    kept = ask([Number("age")], by=marginal("sex"), centres=centres, missing="centre")
    assert kept.sums.values.tolist() == found.sums.values.tolist()


def test_a_fraction_among_integers_counts_as_the_nearest() -> None:
    frame = FRAME.assign(age=["31", "52", "47", "", "1000", "8.5"])
    found = curator_of(frame).sum([Number("age")], Budget(1.0), shares={"sums": 1, "counts": 1})
    assert found.counts.values == 5
    assert found.sums.values.tolist() == [31 + 52 + 47 + 100 + 9]


def test_groups_that_are_pooled_give_one_line() -> None:
    """Rows less the centres of their groups, all together; each group by itself otherwise."""
    coded = encode(as_table(FRAME)[0], SCHEMA)
    domain = Domain(SCHEMA)
    asked = Sum(
        features=[Number("rooms")],
        budget=Budget(1.0),
        moments="squares",
        by=marginal("sex"),
        centres=np.array([[1.0], [2.0], [5.0]]),
    )
    lines = [
        summer.sum(replace(asked, pooled=pooled).summation(domain))
        for pooled in (True, False)
        for summer in [MemorySummer(SCHEMA, coded.codes, coded.table)]
    ]
    together, apart = lines
    assert together.counts.tolist() == [apart.counts.sum()] == [6]
    assert together.sums.tolist() == [[apart.sums.sum()]]
    assert together.moments.tolist() == [[apart.moments.sum()]]
    assert apart.counts.shape == (3,)
