"""What lies inside bins: learned for a share of the budget, kept by the synthetic rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import Adaptive, Independent, Model, PrivBayes, Random, Schema
from understudy.data.encoding import encode
from understudy.data.frames import as_table
from understudy.data.inside_files import with_details
from understudy.data.schema import Quantity
from understudy.data.value_classes import GridClasses
from understudy.errors import InputError
from understudy.privacy.heaping import find_first_of_month, find_grid
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.noisy_tables import NoisyTable, find_missing_cells, find_weekdays
from understudy.privacy.refinement import is_refinable, refine

ROWS = 12_000


def loans(rows: int = ROWS) -> pd.DataFrame:
    """People who owe: amounts in hundreds, half of the debts zero, some files all but empty."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "loan": np.maximum(rng.lognormal(5.2, 0.6, rows).astype(int), 11) * 100,
            "debt": np.where(rng.random(rows) < 0.5, 0, rng.gamma(2, 3000, rows).round(2)),
            "hours": np.where(rng.random(rows) < 0.45, 40, rng.integers(1, 100, rows)),
            "rent": (rng.gamma(4, 150, rows) // 1).astype(int),
        }
    )
    rounded = rng.random(rows) < 0.6
    frame.loc[rounded, "rent"] = (frame.rent[rounded] // 50) * 50
    days = rng.integers(0, 900, rows)
    days -= np.where((days + 3) % 7 >= 5, 2, 0)  # offices are closed at weekends
    frame["opened"] = pd.Timestamp("2015-01-01") + pd.to_timedelta(days, unit="D")
    frame["bad"] = np.where(rng.random(rows) < 0.2, "yes", "no")
    empty = rng.random(rows) < 0.05
    for name in LOOSE:
        absent = np.where(empty, rng.random(rows) < 0.75, rng.random(rows) < 0.04)
        frame[name] = np.where(absent, np.nan, rng.integers(0, 12, rows))
    return frame


LOOSE = tuple(f"line{place}" for place in range(9))


def schema_of_loans(**bins: int) -> Schema:
    entries = {
        "loan": {"kind": "integer", "min": 0, "max": 99_999, **bins},
        "debt": {"kind": "real", "min": 0, "max": 50_000, **bins},
        "hours": {"kind": "integer", "min": 0, "max": 99, **bins},
        "rent": {"kind": "integer", "min": 0, "max": 4999, **bins},
        "opened": {"kind": "date", "min": "2015-01-01", "max": "2017-12-31"},
        "bad": {"kind": "categorical", "values": ["no", "yes"]},
        **{
            name: {"kind": "integer", "min": 0, "max": 11, "bins": 12, "missing": True}
            for name in LOOSE
        },
    }
    return Schema.from_dict({"attributes": entries})


@pytest.fixture(scope="module")
def real() -> pd.DataFrame:
    return loans()


@pytest.fixture(scope="module")
def model(real: pd.DataFrame) -> Model:
    method = Adaptive(epsilon=1.0, delta=1e-9)
    return method.fit(real, schema_of_loans(), noise=SeededNoise(3), notify=print)


@pytest.fixture(scope="module")
def made(model: Model) -> pd.DataFrame:
    found: pd.DataFrame = model.sample(ROWS, seed=1)
    return found


def close(found: float, share: float) -> bool:
    return abs(found - share) <= 0.25 * share


def test_multiples_of_a_hundred_stay_multiples_of_a_hundred(
    real: pd.DataFrame, made: pd.DataFrame, model: Model
) -> None:
    loan = model.schema["loan"]
    assert isinstance(loan, Quantity)
    assert loan.step == 100
    assert (made.loan % 100 == 0).mean() == (real.loan % 100 == 0).mean() == 1


def test_rounding_is_as_frequent_as_it_was(real: pd.DataFrame, made: pd.DataFrame) -> None:
    assert close((made.rent % 50 == 0).mean(), (real.rent % 50 == 0).mean())
    assert not (made.rent % 50 == 0).all()


def test_spikes_are_where_they_were(real: pd.DataFrame, made: pd.DataFrame, model: Model) -> None:
    for name, value in (("debt", 0), ("hours", 40)):
        assert (made[name] == value).mean() == pytest.approx((real[name] == value).mean(), abs=0.03)
        attribute = model.schema[name]
        assert isinstance(attribute, Quantity)
        assert value in attribute.edges  # a bin of its own
    assert (made.debt.round(2) == made.debt).all()


def test_nobody_opens_at_weekends(real: pd.DataFrame, made: pd.DataFrame) -> None:
    assert (pd.to_datetime(real.opened).dt.day_of_week >= 5).mean() == 0
    assert (pd.to_datetime(made.opened).dt.day_of_week >= 5).mean() < 0.05


def test_rows_that_lack_many_cells_are_as_frequent_as_they_were(
    real: pd.DataFrame, made: pd.DataFrame
) -> None:
    several = [(frame[list(LOOSE)].isna().sum(axis=1) >= 5).mean() for frame in (real, made)]
    assert several[0] > 0.03
    assert close(several[1], several[0])
    for name in LOOSE:
        assert made[name].isna().mean() == pytest.approx(real[name].isna().mean(), abs=0.02)


def test_without_a_refinement_they_are_lost(real: pd.DataFrame) -> None:
    method = Independent(epsilon=1.0, delta=1e-9, refinement=0)
    plain = method.fit(real, schema_of_loans(), noise=SeededNoise(3), notify=print)
    made = plain.sample(ROWS, seed=1)
    assert (made.loan % 100 == 0).mean() < 0.05
    assert (made[list(LOOSE)].isna().sum(axis=1) >= 5).mean() < 0.01
    assert not any("inside" in entry.question for entry in plain.ledger.entries)


def test_a_model_with_details_is_what_its_file_says(model: Model) -> None:
    again = Model.from_dict(model.to_dict())
    assert again == model
    assert again.schema.missing_cells


def test_the_price_stands_in_the_ledger_before_anything_is_counted(real: pd.DataFrame) -> None:
    table, _ = as_table(real)
    ledger = Ledger(1.0)
    seen = []

    def code(schema: Schema):
        seen.append(len(ledger.entries))
        return encode(table, schema)

    share, _ = ledger.budget.split(0.05, 0.95)
    refine(schema_of_loans(), code, ledger, share, SeededNoise(1))
    assert seen == sorted(seen)
    assert seen[0] > 0  # paid first
    assert sum(entry.amount for entry in ledger.entries) <= 0.05
    named = {entry.question for entry in ledger.entries}
    assert {"grid of loan", "values inside bins of loan", "missing cells per row"} <= named


def test_less_than_is_left_is_never_answered() -> None:
    ledger = Ledger(0.01)

    def code(schema: Schema):
        raise AssertionError("rows were coded for a question that is not paid for")

    with pytest.raises(Exception, match="left"):
        refine(schema_of_loans(), code, ledger, Ledger(1.0).budget, SeededNoise(1))


def test_noise_alone_makes_no_spikes() -> None:
    table, _ = as_table(loans(300))
    given = schema_of_loans(bins=16)
    changed = 0
    for seed in range(20):
        ledger = Ledger(0.5)
        share, _ = ledger.budget.split(0.05, 0.95)
        found = refine(
            given, lambda schema: encode(table, schema), ledger, share, SeededNoise(seed)
        )
        changed += sum(a.detail != () for a in found.modelled if isinstance(a, Quantity))
    assert changed <= 2


@pytest.mark.parametrize("rows", [1, 40, 300])
def test_few_rows_leave_the_schema_as_good_as_it_was(rows: int) -> None:
    frame = loans(rows)
    model = Independent(epsilon=0.1).fit(frame, schema_of_loans(), notify=lambda _: None)
    made = model.sample(200, seed=1)
    for attribute in schema_of_loans().modelled:
        if isinstance(attribute, Quantity) and attribute.kind in ("integer", "real"):
            values = made[attribute.name].dropna()
            assert ((values >= attribute.edges[0]) & (values <= attribute.edges[-1])).all()


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_few_rows_are_enough_to_see_that_most_are_zero(delta: float) -> None:
    """One row in ten has a gain: without this, zeros were spread over the first bin."""
    rng = np.random.default_rng(4)
    gains = np.where(rng.random(2500) < 0.9, 0, rng.integers(1, 50_000, 2500))
    entry = {"kind": "integer", "min": 0, "max": 99_999, "bins": 16}
    schema = Schema.from_dict({"attributes": {"gain": entry}})
    table, _ = as_table(pd.DataFrame({"gain": gains}))
    ledger = Ledger(0.02, 0.0, "add_remove", "epsilon")
    if delta:
        ledger = Ledger(0.03, delta, "add_remove", "gdp")
    found = refine(schema, lambda fine: encode(table, fine), ledger, ledger.budget, SeededNoise(1))
    gain = found["gain"]
    assert isinstance(gain, Quantity)
    drawn = gain.inside.draw(encode(table, found).codes["gain"], rng, even=True)
    assert (drawn == 0).mean() > 0.75


def test_bins_and_edges_that_the_schema_gives_stay(real: pd.DataFrame) -> None:
    given = schema_of_loans(bins=8)
    model = Independent(epsilon=2.0).fit(real, given, notify=lambda _: None)
    for before in given.modelled:
        after = model.schema[before.name]
        if isinstance(before, Quantity) and isinstance(after, Quantity):
            assert before.edges[0] == after.edges[0]
            assert set(before.edges) <= set(after.edges) or before.name == "opened"


def test_a_method_that_asks_nothing_is_not_refined(real: pd.DataFrame) -> None:
    model = Random(epsilon=0.0).fit(real, schema_of_loans(), notify=lambda _: None)
    assert not model.ledger.entries


def test_the_paper_to_the_letter_spends_nothing_on_it() -> None:
    assert PrivBayes.paper(epsilon=1.0).refinement == 0


def test_a_share_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="refinement must be"):
        Independent(epsilon=1.0, refinement=1.0)


def test_numbers_of_missing_cells_that_chance_explains_are_not_kept() -> None:
    chance = np.array([6065, 3033, 758, 126, 16, 2, 0])
    assert find_missing_cells(NoisyTable(chance, 5.0, False)) == ()
    together = np.array([9000, 300, 50, 20, 10, 300, 320])
    assert len(find_missing_cells(NoisyTable(together, 5.0, False))) == 7
    assert find_missing_cells(NoisyTable(together, 500.0, False)) == ()


def test_weekdays_of_no_rows_are_not_told() -> None:
    """However far from zero the noise happens to be."""
    drowned = np.array([-90, 0, 3, -5, 1, 0, 2])
    assert find_weekdays(NoisyTable(drowned, 1.0, False)) == ()
    assert find_weekdays(NoisyTable(np.abs(drowned), 1.0, False))[0] > 0.8


# ----------------------------------------------------------------- sensitivity, exhaustively


class Recorded:
    """Noise that writes down what goes into it, and answers what it was told to."""

    private = True

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.inputs: list[np.ndarray] = []

    def answer(self, counts: np.ndarray, scale: float) -> np.ndarray:
        self.inputs.append(counts.copy())
        # Answers with a spike here and there, so that all that can follow is asked.
        answer = self.rng.integers(0, 40, counts.shape)
        answer[self.rng.integers(0, len(counts), 3)] += 100_000
        return answer

    laplace = gaussian = answer


SMALL = Schema.from_dict(
    {
        "attributes": {
            "n": {"kind": "integer", "min": 0, "max": 9999},
            "x": {"kind": "real", "min": -1, "max": 1, "bins": 2, "missing": True},
            "y": {"kind": "integer", "min": 0, "max": 1, "missing": True},
            "d": {"kind": "date", "min": "2020-01-01", "max": "2039-12-31", "missing": True},
        }
    }
)
CELLS = [
    (7000, 0.5, 1, "2020-03-01"),
    (7001, None, None, None),
    (-5, 0.123456789, 0, "2035-07-09"),
    (10**6, -0.0, None, "2020-03-01"),
]


def inputs_of(rows: list[tuple], seed: int, delta: float) -> list[np.ndarray]:
    frame = pd.DataFrame(rows, columns=list("nxyd")).astype(
        {"n": "Int64", "x": "Float64", "y": "Int64", "d": "datetime64[ns]"}
    )
    table, _ = as_table(frame)
    ledger = Ledger(1.0, delta, currency="rho" if delta else "epsilon")
    noise = Recorded(seed)
    refine(SMALL, lambda schema: encode(table, schema), ledger, ledger.budget, noise)
    return noise.inputs


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_row_changes_one_count_of_each_question_by_one(seed: int, delta: float) -> None:
    """Whatever was answered before: over all small tables and all rows that may join them."""
    bodies = [[row] for row in CELLS] + [[CELLS[0], CELLS[2]]]
    for body in bodies:
        before = inputs_of(body, seed, delta)
        assert len(before) > 6  # grids, cells and closer looks
        for extra in CELLS:
            after = inputs_of([*body, extra], seed, delta)
            assert [one.shape for one in before] == [one.shape for one in after]
            for one, other in zip(before, after, strict=True):
                assert np.abs(other - one).sum() == 1


@pytest.mark.parametrize(
    ("edges", "refined"), [((3.0, 5.0, 7.5, 10.0, 10.25), False), ((3.0, 7.5, 10.25), True)]
)
def test_listed_values_with_a_bin_each_have_nothing_inside(
    edges: tuple[float, ...], refined: bool
) -> None:
    """A closer look would pay for values that are not listed, such as the last edge."""
    rate = Quantity("rate", "real", edges=edges)
    assert is_refinable(with_details(rate, {"values": [3, 5, 7.5, 10]})) == refined


@pytest.mark.parametrize(
    ("kind", "step", "edges", "refined"),
    [
        ("integer", None, (0, 1, 2, 3), False),
        ("integer", None, (0, 2, 4, 6), True),
        ("integer", None, (0, 1, 2, 4), True),
        ("date", None, (0, 1, 3), True),
        ("integer", 5.0, (0, 5, 10), False),
        ("integer", 5.0, (0, 5, 15), True),
        ("real", None, (0, 1, 2), True),
    ],
)
def test_bins_of_several_values_are_looked_into_and_bins_of_one_are_not(
    kind: Any, step: float | None, edges: tuple[float, ...], refined: bool
) -> None:
    assert is_refinable(Quantity("x", kind, edges=edges, step=step)) == refined


# ----------------------------------------------------------------- grids, dates


def test_steps_that_are_no_multiples_of_each_other_are_told_apart() -> None:
    steps = (100.0, 50.0, 25.0, 20.0, 10.0, 5.0, 1.0)
    by_25 = np.array([0, 250, 250, 500, 0, 0, 0, 0, 0])
    by_20 = np.array([0, 200, 0, 0, 800, 0, 0, 0, 0])
    both = np.array([0, 225, 125, 250, 400, 0, 0, 0, 0])
    assert find_grid(steps, by_25, 10.0) == (25.0, ())
    assert find_grid(steps, by_20, 10.0) == (20.0, ())
    assert find_grid(steps, both, 10.0)[0] == 5.0


def test_rounding_is_told_with_steps_that_are_no_multiples_of_each_other() -> None:
    rng = np.random.default_rng(1)
    numbers = rng.integers(1, 10_000, 100_000)
    numbers = np.where(rng.random(100_000) < 0.3, numbers // 25 * 25, numbers)
    classes = GridClasses(
        "x", "integer", "", (0, 10_000), steps=(100.0, 50.0, 25.0, 20.0, 10.0, 1.0)
    )
    counts = np.bincount(classes.code(numbers), minlength=classes.values_size)
    step, heaps = find_grid(classes.steps, counts, 100.0)
    assert step == 1.0
    assert [coarse for coarse, _ in heaps] == [25.0]
    assert heaps[0][1] == pytest.approx(0.3, abs=0.02)


def test_the_first_of_a_month_is_seen_where_dates_are_put_on_it() -> None:
    even = np.array([100] * 28 + [90, 80, 50])
    assert find_first_of_month(even, 10.0) == 0
    assert find_first_of_month(even + 4500 * (np.arange(31) == 0), 10.0) == pytest.approx(
        4500 / 7520, abs=0.01
    )
    assert find_first_of_month(even + 4500 * (np.arange(31) == 0), 3000.0) == 0


def test_dates_put_on_the_first_stay_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    days = (
        pd.Timestamp("2001-03-05") + pd.to_timedelta(rng.integers(0, 6000, 8000), "D")
    ).to_series()
    days = days.where(rng.random(8000) < 0.3, days.dt.to_period("M").dt.start_time)
    frame = pd.DataFrame({"hired": days.to_numpy(), "sex": rng.choice(["f", "m"], 8000)})
    entries = {
        "hired": {"kind": "date", "min": "2000-01-01", "max": "2019-12-31"},
        "sex": {"kind": "categorical", "values": ["f", "m"]},
    }
    schema = Schema.from_dict({"attributes": entries})
    model = Independent(epsilon=3.0).fit(frame, schema, noise=SeededNoise(1), notify=print)
    made = pd.to_datetime(model.sample(8000, seed=1)["hired"])
    assert (made.dt.day == 1).mean() == pytest.approx((days.dt.day == 1).mean(), abs=0.05)
    frame.to_csv(tmp_path / "hired.csv", index=False)
    by_engine = Independent(epsilon=3.0).fit(
        tmp_path / "hired.csv", schema, engine="duckdb", noise=SeededNoise(1), notify=print
    )
    assert by_engine.schema == model.schema


def test_a_step_of_datetimes_is_learned_alike_by_all(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    stamps = pd.Timestamp("2020-01-01") + pd.to_timedelta(15 * rng.integers(0, 60_000, 8000), "m")
    frame = pd.DataFrame({"at": stamps, "clock": pd.Series(stamps).dt.strftime("%H:%M")})
    entries = {
        "at": {"kind": "datetime", "min": "2020-01-01", "max": "2021-12-31"},
        "clock": {"kind": "time"},
    }
    schema = Schema.from_dict({"attributes": entries})
    found = []
    for engine, suffix in (("memory", "csv"), ("duckdb", "csv"), ("duckdb", "parquet")):
        path = tmp_path / f"stamps.{suffix}"
        if suffix == "csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path, index=False)
        model = Independent(epsilon=3.0).fit(
            path, schema, engine=engine, noise=SeededNoise(1), notify=print
        )
        found.append(model.schema)
    assert found[0] == found[1] == found[2]
    for name in ("at", "clock"):
        assert found[0][name].step == 900  # type: ignore[attr-defined]


def test_a_spike_is_no_rounding() -> None:
    """Every second row works 40 hours; the others are not rounded to tens for that."""
    rng = np.random.default_rng(1)
    hours = np.where(rng.random(12_000) < 0.5, 40, rng.integers(0, 100, 12_000))
    schema = Schema.from_dict({"attributes": {"hours": {"kind": "integer", "min": 0, "max": 99}}})
    frame = pd.DataFrame({"hours": hours})
    model = Independent(epsilon=3.0).fit(frame, schema, noise=SeededNoise(1), notify=print)
    made = model.sample(12_000, seed=1)["hours"]
    others = made[made != 40]
    assert (others % 10 == 0).mean() == pytest.approx(0.09, abs=0.05)


@pytest.mark.parametrize("seed", [0, 1, 2, 21, 23, 24, 33])
def test_whatever_is_found_can_be_read_again(seed: int) -> None:
    """Bins that an owner cut anywhere, and single values that many rows share."""
    rng = np.random.default_rng(seed)
    low, bins = int(rng.integers(0, 40)), int(rng.integers(2, 40))
    high = low + int(rng.integers(bins, 400))
    spikes = rng.integers(low, high + 1, 3)
    values = np.where(rng.random(2000) < 0.5, rng.choice(spikes, 2000), 0)
    values = np.where(values, values, rng.integers(low, high + 1, 2000))
    entry = {"min": low, "max": high, "bins": bins}
    schema = Schema.from_dict(
        {"attributes": {kind: {"kind": kind, **entry} for kind in ("real", "integer")}}
    )
    table, _ = as_table(pd.DataFrame({"real": values.astype(float), "integer": values}))
    ledger = Ledger(20.0)
    found = refine(
        schema, lambda fine: encode(table, fine), ledger, ledger.budget, SeededNoise(seed)
    )
    assert Schema.from_dict(found.to_dict()) == found
