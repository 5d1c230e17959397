"""Answers from private rows: exact where nothing is added, whatever the schema's bins are."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from asked_people import EXACTLY, SCHEMA, people

from understudy import InputError, LedgerFile, ask
from understudy.asking.answers import Answers
from understudy.data.forms import Form
from understudy.privacy.mechanisms import SeededNoise

PEOPLE = people()
ADULT = Path(__file__).parents[2].parent / "shared" / "data" / "adult.csv"


def value(text: str, **options: Any) -> Any:
    answer = ask(PEOPLE, text, **{**EXACTLY, **options})
    assert isinstance(answer, Answers)
    if len(answer.answers) > 1 or answer.group_by:
        return {", ".join(found.group): found.value for found in answer.answers}
    return answer.value


# --------------------------------------------------------------------------- conditions

CONDITIONS: dict[str, Any] = {
    "age >= 44 and age < 55": (PEOPLE.age >= 44) & (PEOPLE.age < 55),
    "age > 99": PEOPLE.age > 99,
    "age = 47.5": PEOPLE.age == 47.5,
    "age not between 30 and 60": ~PEOPLE.age.between(30, 60),
    "height <= 1.7": PEOPLE.height <= 1.7,
    "height > 1.701": PEOPLE.height > 1.701,
    "not (height <= 1.7)": ~(PEOPLE.height <= 1.7),
    "height is missing": PEOPLE.height.isna(),
    "sex = 'f'": PEOPLE.sex == "f",
    "sex != 'f'": PEOPLE.sex != "f",
    "town in ('Oslo', 'Ulm')": PEOPLE.town.isin(["Oslo", "Ulm"]),
    "town is not missing": PEOPLE.town.notna(),
    "smoker = true": PEOPLE.smoker,
    "smoker = false and sex = 'm'": ~PEOPLE.smoker & (PEOPLE.sex == "m"),
    "stars >= 3": PEOPLE.stars >= 3,
    "stars in (2, 5)": PEOPLE.stars.isin([2, 5]),
    "seen >= '2020-03-15'": PEOPLE.seen >= "2020-03-15",
    "seen < '2020-03-15' or age > 60 or not sex = 'm'": (PEOPLE.seen < "2020-03-15")
    | (PEOPLE.age > 60)
    | (PEOPLE.sex != "m"),
}


@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["no schema", "schema"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_holds_for_the_value_itself(condition: str, schema: Any) -> None:
    exact = int(CONDITIONS[condition].sum())
    assert value(f"count where {condition}", schema=schema) == exact


def test_all_rows() -> None:
    assert value("count") == len(PEOPLE)
    assert value("share") == pytest.approx(1.0)


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult table is not there")
def test_counts_of_a_textbook() -> None:
    train = pd.read_csv(ADULT)[:32561]
    assert [
        answer.value
        for answer in ask(
            train, ["count where age > 50", "count where age >= 44 and age < 55"], **EXACTLY
        )
    ] == [6460, 6577]


# --------------------------------------------------------------------------- functions


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_functions_of_a_number(relation: Any) -> None:
    ages = PEOPLE.age.clip(0, 99)
    old = ages[PEOPLE.sex == "f"]
    options: Any = {"schema": SCHEMA, "neighbours": relation}
    assert value("sum age", **options) == ages.sum()
    assert value("mean age", **options) == pytest.approx(ages.mean(), abs=1e-6)
    assert value("variance age", **options) == pytest.approx(ages.var(ddof=0), abs=1e-5)
    assert value("std age", **options) == pytest.approx(ages.std(ddof=0), abs=1e-5)
    assert np.sort(ages)[199] <= value("median age", **options) <= np.sort(ages)[200]
    assert value("quantile 0.9 age", **options) == np.sort(ages)[math.ceil(0.9 * len(ages)) - 1]
    assert value("mean age where sex = 'f'", **options) == pytest.approx(old.mean(), abs=1e-6)
    assert value("share where sex = 'f'", **options) == pytest.approx((PEOPLE.sex == "f").mean())


def test_rows_without_a_number_do_not_count() -> None:
    heights = PEOPLE.height.dropna()
    answer = ask(PEOPLE, "mean height from 1.0 to 2.2", **EXACTLY)
    assert answer.value == pytest.approx(heights.mean(), abs=1e-3)
    assert answer.low <= heights.mean() <= answer.high
    assert "rounded to multiples of 0.0005" in answer.note


def test_bounds_clip_and_come_from_question_options_or_schema() -> None:
    clipped = PEOPLE.age.clip(20, 50).mean()
    assert value("mean age from 20 to 50") == pytest.approx(clipped, abs=0.01)
    assert value("mean age", bounds={"age": (20, 50)}) == pytest.approx(clipped, abs=0.01)
    assert value("mean age from 20 to 50", schema=SCHEMA) == pytest.approx(clipped, abs=1e-6)
    assert value("mean stars", schema=SCHEMA) == pytest.approx(PEOPLE.stars.mean(), abs=1e-6)


def test_dates_have_medians_and_ranges() -> None:
    answer = ask(PEOPLE, "median seen", schema=SCHEMA, **EXACTLY)
    found = answer.to_dict()["answers"][0]["value"]
    ordered = sorted(PEOPLE.seen)
    assert ordered[len(ordered) // 2 - 1] <= found <= ordered[len(ordered) // 2]
    assert found in repr(answer)
    ranged = ask(PEOPLE, "max seen", schema=SCHEMA, **EXACTLY)
    assert ranged.value is None
    assert ranged.to_dict()["answers"][0]["high"] == "2020-12-31"


def test_the_largest_value_is_a_range_up_to_the_public_bound() -> None:
    answer = ask(PEOPLE, "max age from 0 to 150", epsilon=1e6, noise=SeededNoise(0))
    assert (answer.value, answer.high) == (None, 150.0)
    assert answer.low == pytest.approx(120, abs=0.1)
    smallest = ask(PEOPLE, "min age from 0 to 150", epsilon=1e6, noise=SeededNoise(0))
    assert smallest.low == 0.0
    assert smallest.high == pytest.approx(PEOPLE.age.min(), abs=0.1)


# --------------------------------------------------------------------------- groups and labels


def test_groups_of_a_schema() -> None:
    assert value("count group by sex", schema=SCHEMA) == {
        "f": (PEOPLE.sex == "f").sum(),
        "m": (PEOPLE.sex == "m").sum(),
    }
    towns = value("count group by town", schema=SCHEMA)
    assert towns["elsewhere"] == (PEOPLE.town == "Paris").sum()
    assert towns["missing"] == PEOPLE.town.isna().sum()
    stars = value("histogram stars", schema=SCHEMA)
    assert stars == {str(star): (PEOPLE.stars == star).sum() for star in (1, 2, 3, 5)}
    ages = value("histogram age", schema=SCHEMA)
    assert ages["90 to 99"] == (PEOPLE.age >= 90).sum()  # beyond the bounds counts at the edge
    assert sum(ages.values()) == len(PEOPLE)


def test_groups_that_the_question_lists() -> None:
    found = value(
        "mean age from 0 to 99 where age > 30 group by sex in ('f', 'm'), smoker in (true)"
    )
    fits = PEOPLE[(PEOPLE.age > 30) & PEOPLE.smoker]
    ages = fits.age.clip(0, 99).groupby(fits.sex).mean()
    assert found == pytest.approx({"f, True": ages["f"], "m, True": ages["m"]}, abs=0.01)
    widths = value("histogram age from 20 to 60 by 20")
    assert widths == {
        "[20, 40)": PEOPLE.age.between(20, 39).sum(),
        "[40, 60]": PEOPLE.age.between(40, 60).sum(),
    }


def test_shares_medians_and_ranges_in_groups() -> None:
    shares = value("share where age > 50 group by sex", schema=SCHEMA)
    exact = (PEOPLE.age > 50).groupby(PEOPLE.sex).mean()
    assert shares == pytest.approx({"f": exact["f"], "m": exact["m"]})
    medians = value("median age group by sex", schema=SCHEMA)
    for sex, found in medians.items():
        ages = np.sort(PEOPLE.age[PEOPLE.sex == sex])
        assert ages[(len(ages) - 1) // 2] <= found <= ages[len(ages) // 2]


def test_labels_count_up_to_a_bound_per_row() -> None:
    labels = [PEOPLE.sex == "f", PEOPLE.age > 50, PEOPLE.smoker]
    text = "count each sex = 'f', age > 50, smoker = true"
    exact = [int(label.sum()) for label in labels]
    assert list(value(text).values()) == exact
    first_two = value(f"{text} at most 2")
    assert list(first_two.values())[:2] == exact[:2]
    assert list(first_two.values())[2] == int((labels[2] & ~(labels[0] & labels[1])).sum())
    assert list(first_two) == ["sex = 'f'", "age > 50", "smoker = true"]


def test_labels_cost_as_many_counts_as_one_row_may_touch() -> None:
    text = "count each sex = 'f', age > 50, smoker = true"
    assert ask(PEOPLE, text, epsilon=1.0).mechanism == "discrete Laplace, scale 3"
    assert ask(PEOPLE, f"{text} at most 2", epsilon=1.0).mechanism == "discrete Laplace, scale 2"


# --------------------------------------------------------------------------- price and books


def test_several_questions_share_the_price(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", epsilon=2.0)
    answers = ask(PEOPLE, ["count", "median age"], epsilon=1.0, schema=SCHEMA, ledger=book)
    assert [answer.epsilon for answer in answers] == [1.0, 1.0]
    assert book.left() == (1.0, 0.0)
    [release] = book.read()["releases"]
    assert [entry["amount"] for entry in release["entries"]] == [0.5, 0.25, 0.125, 0.125]
    assert release["entries"][0]["question"] == "count"


def test_a_ledger_knows_its_table(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", epsilon=2.0)
    ask(PEOPLE, "count", epsilon=1.0, ledger=book)
    with pytest.raises(InputError, match="kept for another table"):
        ask(people(seed=1), "count", epsilon=1.0, ledger=book)


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
def test_each_person_counts_with_a_few_rows() -> None:
    answer = ask(
        PEOPLE, "count", person="who", max_rows_per_person=1, epsilon=1e9, noise=SeededNoise(0)
    )
    assert answer.value == 200
    two = ask(PEOPLE, "count", person="who", max_rows_per_person=2, epsilon=1.0)
    assert two.mechanism == "discrete Laplace, scale 2"


def test_groups_and_bounds_are_discovered_at_a_price() -> None:
    frame = pd.concat([people(3000, seed) for seed in range(3)])
    answers = ask(
        frame,
        ["count group by sex", "mean age"],
        epsilon=20.0,
        delta=1e-6,
        discovery=0.5,
        noise=SeededNoise(1),
    )
    found = {", ".join(one.group): one.value for one in answers[0].answers}
    assert found["f"] == pytest.approx((frame.sex == "f").sum(), abs=30)
    assert answers[1].value == pytest.approx(frame.age.mean(), abs=1.0)


def test_a_delta_buys_gaussian_noise() -> None:
    assert ask(PEOPLE, "count", epsilon=1.0, delta=1e-6).mechanism.startswith("discrete Gaussian")


def test_large_numbers_are_written_with_an_exponent() -> None:
    answer = ask(PEOPLE, "sum age from 0 to 1e99", **EXACTLY)
    assert len(repr(answer)) < 60


def test_a_notebook_shows_a_table() -> None:
    answer = ask(PEOPLE, "count group by sex in ('f', '<b>')", **EXACTLY)
    shown = answer._repr_html_()
    assert shown.count("<tr>") == 2
    assert "&lt;b&gt;" in shown


def test_what_a_form_leaves_open_is_found_out_at_a_price_or_given() -> None:
    """A schema with null where nobody knows, as `understudy schema` writes it."""
    document = SCHEMA.to_dict()
    document["attributes"]["age"] |= {"min": None, "max": None, "edges": None}
    document["attributes"]["town"] |= {"values": None}
    document["attributes"]["stars"] = {"kind": None}
    form = Form.from_dict(document)
    frame = people(3000)
    noise = SeededNoise(0)
    counted = ask(frame, "count where age >= 44", epsilon=50, schema=form, noise=noise)
    assert counted.value == pytest.approx((frame.age >= 44).sum(), abs=2)
    grouped = ask(frame, "count group by sex", epsilon=50, schema=form, noise=noise)
    assert [answer.group for answer in grouped.answers] == [("f",), ("m",)]
    with pytest.raises(InputError, match="discovery"):
        ask(frame, "mean age", epsilon=50, schema=form, noise=noise)
    with pytest.raises(InputError, match="discovery"):
        ask(frame, "count group by town", epsilon=50, schema=form, noise=noise)
    given = ask(frame, "mean age", epsilon=50, schema=form, bounds={"age": (0, 99)}, noise=noise)
    found = ask(
        frame,
        ["mean age", "count group by town"],
        epsilon=50,
        delta=1e-6,
        discovery=0.5,
        schema=form,
        noise=noise,
    )
    assert found[0].value == pytest.approx(given.value, abs=1)
    towns = {answer.group[0] for answer in found[1].answers}
    assert {"Oslo", "Rome", "Ulm", "Paris"} <= towns


def test_a_form_of_other_columns_is_refused() -> None:
    form = Form.from_dict({"attributes": {"agee": {"kind": "integer", "min": None, "max": None}}})
    with pytest.raises(InputError, match="no column 'agee'"):
        ask(people(50), "count where agee > 3", epsilon=1, schema=form)
