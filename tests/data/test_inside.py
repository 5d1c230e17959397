"""What lies inside bins: values stay in their bin, on their grid, and in their range."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy import Schema
from understudy.data.encoding import decode, encode
from understudy.data.inside import Grid, Inside, fraction
from understudy.data.schema import Quantity
from understudy.errors import InputError
from understudy.reports.distributions import ShownValues

STEPS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 100)


def quantity(**entry: Any) -> Quantity:
    found = Schema.from_dict({"attributes": {"x": entry}})["x"]
    assert isinstance(found, Quantity)
    return found


def draw(attribute: Quantity, rows: int = 2000, seed: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, attribute.bins, rows).astype(np.uint16)
    table = decode({"x": codes}, Schema((attribute,)), rng, rows)
    return codes, table.columns["x"].values


@given(
    st.sampled_from([*STEPS, 3e-7, 1e-15, 5e-324, 1 / 3, 7e20]),
    st.one_of(
        st.floats(-1e300, 1e300),
        st.integers(-(2**70), 2**70),
        st.floats(-1000, 1000).map(lambda number: round(number, 2)),
    ),
    st.integers(-3, 3),
)
def test_places_on_a_grid_are_those_of_exact_fractions(
    step: float, number: float, ulps: int
) -> None:
    grid = Grid(step)
    near = float(number) + ulps * np.spacing(float(number))
    for value in (float(number), near):
        exact = fraction(value) / fraction(step)
        assert (grid.index_to(value), grid.index_from(value)) == (
            math.floor(exact),
            math.ceil(exact),
        )
        assert grid.indices_from([value, 0.0, step]) == [math.ceil(exact), 0, 1]
    place = int(np.clip(number / step, -(10**12), 10**12))
    assert grid.at(place) == float(place * fraction(step))
    assert grid.index_from(grid.at(place)) == math.ceil(fraction(grid.at(place)) / fraction(step))


@st.composite
def quantities(pick: st.DrawFn) -> Quantity:
    """Quantities of any kind with steps, segments, spikes and rounding."""
    kind = pick(st.sampled_from(["integer", "real", "date", "datetime"]))
    number = kind in ("integer", "real")
    step = pick(st.sampled_from([s for s in STEPS if kind == "real" or s == int(s)] + [None]))
    unit = Fraction(str(step or 1))
    cuts = pick(st.lists(st.integers(-500, 500), min_size=2, max_size=8, unique=True))
    edges = sorted(float(cut * unit) for cut in cuts)
    if kind != "real":
        edges = [int(edge) for edge in edges]
    last = len(edges) - 2
    detail = []
    for place, (low, high) in enumerate(pairwise(edges)):
        points = [
            float(k * unit)
            for k in range(int(Fraction(str(low)) / unit), int(Fraction(str(high)) / unit))
        ]
        if pick(st.booleans()) and len(points) > 1:
            middle = pick(st.sampled_from(points[1:]))
            detail += [[low, middle, pick(st.integers(1, 9))], [middle, high, 3]]
        elif pick(st.booleans()) and kind == "real" and place < last:
            detail.append([points[0], points[0], 5])
    plain = {"date": "integer", "datetime": "integer"}
    entry: dict[str, Any] = {"kind": plain.get(kind, kind), "edges": edges}
    if step is not None:
        entry["step"] = step
    if detail:
        entry["detail"] = detail
    if number and (step is not None or kind == "integer") and pick(st.booleans()):
        entry["heaping"] = [[float(unit * 10), 0.5], [float(unit * 2), 0.25]]
    return quantity(**entry)


@given(quantities(), st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_values_lie_in_their_bin_and_on_their_grid(attribute: Quantity, seed: int) -> None:
    codes, values = draw(attribute, 300, seed)
    edges = np.array(attribute.edges)
    assert (values >= edges[codes]).all()
    assert (values <= edges[codes + 1]).all()
    inner = codes < attribute.bins - 1
    assert (values < edges[codes + 1])[inner | attribute.whole].all()
    if attribute.step is not None:
        step = Fraction(str(attribute.step))
        for value in set(values.tolist()):
            assert (Fraction(repr(value)) / step).denominator == 1


@given(quantities())
@settings(max_examples=100, deadline=None)
def test_files_keep_what_is_known(attribute: Quantity) -> None:
    schema = Schema((attribute,))
    assert Schema.from_dict(schema.to_dict()) == schema


@given(quantities())
@settings(max_examples=60, deadline=None)
def test_shares_add_up_and_agree_with_the_rows(attribute: Quantity) -> None:
    inside = Inside(attribute)
    ends = np.array(attribute.edges, dtype=float)
    assert inside.below(ends) == pytest.approx(np.arange(attribute.bins + 1))
    if attribute.heaping:
        return
    codes, values = draw(attribute, 4000)
    for end in (attribute.edges[0] + attribute.edges[-1]) / 2, attribute.edges[-1] / 3:
        shares = np.diff(inside.below(np.clip(ends, None, end)))
        expected = shares[codes].mean()
        assert (values < end).mean() == pytest.approx(expected, abs=0.04)


def test_codes_of_drawn_values_are_the_codes_they_were_drawn_for() -> None:
    attribute = quantity(kind="real", edges=[0, 0.3, 0.7, 1], step=0.1)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 500).astype(np.uint8)
    table = decode({"x": codes}, Schema((attribute,)), rng, 500)
    assert (encode(table, Schema((attribute,))).codes["x"] == codes).all()


def test_a_whole_step_is_written_without_a_point() -> None:
    attribute = quantity(kind="real", min=0, max=100, bins=4, step=5)
    _, values = draw(attribute)
    assert values.dtype == np.int64
    assert set(np.unique(values)) <= set(range(0, 101, 5))
    assert 100 in values  # the last bin of a real ends with its upper edge


def test_listed_values_are_the_only_ones() -> None:
    attribute = quantity(kind="real", edges=[0, 1, 60], values=[0, 0.25, 2.5, 7])
    _, values = draw(attribute)
    assert set(np.unique(values)) == {0, 0.25, 2.5, 7}


def test_weights_are_kept() -> None:
    attribute = quantity(
        kind="integer", edges=[0, 100], detail=[[0, 1, 70], [40, 41, 20], [50, 60, 10]]
    )
    _, values = draw(attribute, 20_000)
    assert (values == 0).mean() == pytest.approx(0.7, abs=0.02)
    assert (values == 40).mean() == pytest.approx(0.2, abs=0.02)
    assert ((values >= 50) & (values < 60)).mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    ("entry", "cause"),
    [
        ({"step": 0}, "above 0"),
        ({"step": 0.5}, "whole number"),
        ({"step": 200}, "holds no multiple"),
        ({"step": True}, "above 0"),
        ({"values": [3, 2]}, "rise"),
        ({"values": [1.5]}, "whole numbers"),
        ({"values": [100]}, "must lie"),
        ({"values": [1], "step": 1}, "either"),
        ({"detail": [[0, 60, 1]]}, "over an edge"),
        ({"detail": [[0, 5, -1]]}, "above 0"),
        ({"detail": [[0, 5, 1], [3, 6, 1]]}, "not overlap"),
        ({"detail": [[-5, 5, 1]]}, "must lie"),
        ({"detail": [[0.5, 5, 1]]}, "whole numbers"),
        ({"detail": [[0, 5]]}, "start, end, weight"),
        ({"detail": [[0, 1, 1]] * 5000}, "at most"),
        ({"step": 10, "detail": [[1, 5, 1]]}, "no multiple"),
        ({"heaping": [[10, 1.5]]}, "shares"),
        ({"heaping": [[2.5, 0.5]]}, "multiples"),
        ({"heaping": [[10, 0.7], [5, 0.7]]}, "more than 1"),
    ],
)
def test_what_cannot_be_is_refused(entry: dict[str, Any], cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        quantity(kind="integer", edges=[0, 50, 100], **entry)


@pytest.mark.parametrize("given_shares", [[0.5, 0.6], [0.5], [-1, 2], [0.2] * 5, "x"])
def test_shares_of_missing_cells_that_cannot_be_are_refused(given_shares: Any) -> None:
    document = {
        "attributes": {n: {"kind": "boolean", "missing": True} for n in "abc"},
        "missing_cells": given_shares,
    }
    with pytest.raises(InputError, match="missing_cells"):
        Schema.from_dict(document)


# --------------------------------------------------------------------------- dates


def days_of(attribute: Quantity, seed: int = 1) -> Any:
    _, values = draw(attribute, rows=20_000, seed=seed)
    return np.asarray(values, dtype=np.int64).astype("datetime64[D]")


def test_dates_are_put_on_the_first_of_a_month() -> None:
    entry = {"kind": "date", "edges": ["2019-01-15", "2019-02-20", "2019-02-25", "2022-01-01"]}
    attribute = quantity(**entry, first_of_month=0.6)
    codes, values = draw(attribute, rows=20_000)
    days = np.asarray(values, dtype=np.int64).astype("datetime64[D]")
    first = days == days.astype("datetime64[M]")
    assert first[codes == 2].mean() == pytest.approx(0.6 + 0.4 / 30.4, abs=0.02)
    assert not first[codes == 1].any()  # no first day is in that bin: dates stay where they are
    edges = np.array(attribute.edges)
    assert ((values >= edges[codes]) & (values < edges[codes + 1])).all()
    assert quantity(**attribute.to_dict()) == attribute


def test_weekdays_and_first_days_go_together() -> None:
    entry = {"kind": "date", "min": "2010-01-01", "max": "2021-12-31", "bins": 1}
    shares = [0.2] * 5 + [0, 0]
    days = days_of(quantity(**entry, first_of_month=0.3, weekdays=shares))
    others = days[days != days.astype("datetime64[M]")]
    weekend = (others.astype(np.int64) + 3) % 7 >= 5
    assert weekend.mean() < 0.01
    assert (days == days.astype("datetime64[M]")).mean() == pytest.approx(0.323, abs=0.02)


def test_datetimes_with_a_step_keep_their_weekdays() -> None:
    entry = {"kind": "datetime", "min": "2020-01-01", "max": "2021-12-31", "bins": 4}
    attribute = quantity(**entry, step=900, weekdays=[0.2] * 5 + [0, 0])
    _, values = draw(attribute)
    assert (values % 900 == 0).all()
    assert ((values // 86400 + 3) % 7 >= 5).mean() < 0.01


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "time", "first_of_month": 0.5},
        {"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "first_of_month": 1.5},
        {"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "first_of_month": "many"},
        {
            "kind": "datetime",
            "min": "2020-01-01",
            "max": "2020-12-31",
            "step": 7000,
            "weekdays": [0.2] * 5 + [0, 0],
        },
    ],
)
def test_dates_that_cannot_be_are_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"first_of_month|weekdays"):
        quantity(**entry)


def test_a_bin_of_one_listed_value_is_called_by_it() -> None:
    entries = {
        "price": {"kind": "real", "edges": [0, 34.5, 49, 80], "values": [19.9, 34.5, 49]},
        "seats": {"kind": "integer", "edges": [0, 5, 10], "values": [1, 2, 7]},
    }
    schema = Schema.from_dict({"attributes": entries})
    assert [schema["price"].label(code) for code in range(3)] == ["19.9", "34.5", "49"]
    assert [schema["seats"].label(code) for code in range(2)] == ["0 to 4", "5 to 9"]
    assert ShownValues.of(schema["price"]).edges is None
    assert ShownValues.of(schema["seats"]).edges == (0, 5, 10)


@pytest.mark.parametrize("bounds", [{}, {"min": 0, "max": 60}])
@pytest.mark.parametrize(
    ("kind", "values"), [("integer", [1, 33, 41, 43, 49]), ("real", [0.5, 1, 2.5])]
)
def test_a_short_list_of_values_leaves_no_others(
    kind: str, values: list[float], bounds: dict[str, float]
) -> None:
    """With bins of equal width, some would hold none of them and stand for other numbers."""
    entry = {"kind": kind, "values": values, **bounds}
    schema = Schema.from_dict({"attributes": {"x": entry}})
    found = schema["x"]
    assert isinstance(found, Quantity)
    assert found.lists_values
    assert Schema.from_dict(schema.to_dict()) == schema
    codes = np.arange(found.size)
    drawn = decode({"x": codes}, schema, np.random.default_rng(0), found.size)
    assert drawn.columns["x"].values.tolist() == values


def test_a_list_of_values_beyond_its_bounds_is_refused() -> None:
    entry = {"kind": "integer", "values": [1, 70], "min": 0, "max": 60}
    with pytest.raises(InputError, match='"values" must lie from 0 to 61'):
        Schema.from_dict({"attributes": {"x": entry}})
