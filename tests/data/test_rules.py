"""Whether bins leave rules any room, against all values that there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.data.grids import ValueGrid, draw_inside
from understudy.data.room import place
from understudy.data.rules import Rules
from understudy.data.schema import Schema

NAMES = ("a", "b", "c", "d")


def schema_of(entries, constraints):
    return Schema.from_dict({"attributes": entries, "constraints": constraints})


def rules_of(schema):
    return Rules(schema.constraints.rules, schema)


def all_codes(rules):
    sizes = [rules.schema[name].size for name in rules.names]
    places = np.indices(sizes).reshape(len(sizes), -1)
    return dict(zip(rules.names, places, strict=True))


def values_by_code(attribute):
    """All values of each code; None for missing."""
    grid = ValueGrid(attribute)
    if np.isnan(grid.lowest[0]):
        values = [[float("nan")] for _ in range(attribute.values_size)]
    else:
        unit = 1 if attribute.kind != "real" else 10**attribute.places
        values = [
            [step / unit for step in range(round(low * unit), round(high * unit) + 1)]
            for low, high in zip(grid.lowest, grid.highest, strict=True)
            if not np.isnan(low)
        ]
    return [*values, *([[None]] if attribute.missing is not None else [])]


def room_by_enumeration(rules, codes):
    """For each row of codes, whether some values keep all rules."""
    own = [values_by_code(rules.schema[name]) for name in rules.names]
    found = []
    for row in zip(*(codes[name] for name in rules.names), strict=True):
        choices = [values[code] for values, code in zip(own, row, strict=True)]
        lines = list(itertools.product(*choices))
        columns = {
            name: np.array([np.nan if v is None else v for v in column], dtype=float)
            for name, column in zip(rules.names, zip(*lines, strict=True), strict=True)
        }
        repeated = {name: np.full(len(lines), c) for name, c in zip(rules.names, row, strict=True)}
        found.append(bool(rules.holds(columns, repeated).any()))
    return np.array(found)


@st.composite
def quantities(draw, count=3, span=9):
    entries = {}
    for name in NAMES[:count]:
        low = draw(st.integers(-4, 4))
        bins = draw(st.integers(1, 3))
        entries[name] = {
            "kind": "integer",
            "min": low,
            "max": low + draw(st.integers(bins, span)),
            "bins": bins,
            "missing": draw(st.booleans()),
        }
    return entries


@st.composite
def inequalities(draw, count=3, weights=(-2, -1, 1, 2), terms=3):
    names = draw(st.permutations(NAMES[:count]))[: draw(st.integers(1, min(count, terms)))]
    parts = [f"{draw(st.sampled_from(weights))} * {name}" for name in names]
    sign = draw(st.sampled_from(["<", "<=", ">", ">="]))
    return {"inequality": f"{' + '.join(parts)} {sign} {draw(st.integers(-8, 8))}"}


@given(quantities(), inequalities())
def test_room_for_one_inequality_is_exact(entries, constraint):
    rules = rules_of(schema_of(entries, [constraint]))
    codes = all_codes(rules)
    found, values = place(rules, codes)
    np.testing.assert_array_equal(found, room_by_enumeration(rules, codes))
    assert rules.holds(values, codes)[found].all()


@st.composite
def order_rules(draw, count=4):
    first, second = draw(st.permutations(NAMES[:count]))[:2]
    shift = draw(st.integers(-3, 3))
    return {"inequality": f"{first} + {shift} {draw(st.sampled_from(['<', '<=']))} {second}"}


@given(quantities(4, 6), st.lists(order_rules(), min_size=2, max_size=4))
def test_room_for_order_rules_that_overlap_is_exact(entries, constraints):
    rules = rules_of(schema_of(entries, constraints))
    codes = all_codes(rules)
    np.testing.assert_array_equal(place(rules, codes)[0], room_by_enumeration(rules, codes))


@given(quantities(3, 6), st.lists(inequalities(), min_size=2, max_size=3))
def test_values_that_were_found_keep_any_rules(entries, constraints):
    rules = rules_of(schema_of(entries, constraints))
    codes = all_codes(rules)
    found, values = place(rules, codes)
    assert rules.holds(values, codes)[found].all()
    assert rules.fits(values, codes)[found].all()
    assert (room_by_enumeration(rules, codes) | ~found).all()


@st.composite
def conditions(draw):
    low = draw(st.integers(-4, 6))
    return draw(st.sampled_from([low, [low, low + 2], {"max": low}, {"min": low, "max": low + 2}]))


@given(quantities(2), conditions(), conditions(), st.sampled_from(["forbidden", "when", "only"]))
def test_room_for_conditions_is_exact(entries, first, second, kind):
    constraint = {
        "forbidden": {"forbidden": {"a": first, "b": second}},
        "when": {"when": {"a": first}, "then": {"b": second}},
        "only": {"combinations": ["a", "b"], "only": [[first, second], [second, first]]},
    }[kind]
    rules = rules_of(schema_of(entries, [constraint]))
    codes = all_codes(rules)
    np.testing.assert_array_equal(place(rules, codes)[0], room_by_enumeration(rules, codes))


@given(quantities(2, 6), st.lists(st.tuples(conditions(), conditions()), min_size=2, max_size=4))
def test_room_for_conditions_that_overlap_is_exact(entries, pairs):
    constraints = [
        {"combinations": ["a", "b"], "only": [pairs[0], pairs[1]]},
        *({"when": {"a": first}, "then": {"b": second}} for first, second in pairs[2:]),
        {"inequality": "a <= b + 1"},
    ]
    rules = rules_of(schema_of(entries, constraints))
    codes = all_codes(rules)
    np.testing.assert_array_equal(place(rules, codes)[0], room_by_enumeration(rules, codes))


def test_sums_of_columns_with_a_common_bound_overlap():
    entries = {n: {"kind": "integer", "min": 0, "max": 8, "bins": 3} for n in NAMES}
    constraints = [
        {"inequality": "a + b <= c"},
        {"inequality": "c < d"},
        {"inequality": "2 * a <= d"},
    ]
    rules = rules_of(schema_of(entries, constraints))
    codes = all_codes(rules)
    np.testing.assert_array_equal(place(rules, codes)[0], room_by_enumeration(rules, codes))
    assert [set(group.names) for group in rules.groups] == [set(NAMES)]


@pytest.mark.parametrize("places", [0, 1, 2])
def test_the_grid_of_a_real(places):
    entry = {"kind": "real", "min": -1, "max": 2, "bins": 7, "decimals": places}
    attribute = Schema.from_dict({"attributes": {"x": entry}})["x"]
    grid = ValueGrid(attribute)
    unit = 10**places
    steps = np.arange(-3 * unit, 3 * unit) / unit
    np.testing.assert_array_equal(grid.down(steps), steps)
    np.testing.assert_array_equal(grid.up(steps), steps)
    np.testing.assert_allclose(grid.down(steps, strict=True), steps - 1 / unit)
    np.testing.assert_allclose(grid.up(steps, strict=True), steps + 1 / unit)
    codes = np.repeat(np.arange(7), 2000)
    drawn = draw_inside(attribute, codes, np.random.default_rng(1))
    assert (drawn >= grid.lowest[codes]).all()
    assert (drawn <= grid.highest[codes]).all()


@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_the_grid_is_next_to_any_number(number, places):
    entry = {"kind": "real", "min": 0, "max": 1, "decimals": places}
    grid = ValueGrid(Schema.from_dict({"attributes": {"x": entry}})["x"])
    numbers = np.array([number])
    low, high = grid.down(numbers)[0], grid.up(numbers)[0]
    assert low <= number <= high
    assert grid.down(numbers, strict=True)[0] < number < grid.up(numbers, strict=True)[0]
    assert high - low <= 1.5 * 10.0**-places
