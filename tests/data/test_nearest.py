"""A number between values of a grid counts as the nearest one, told by exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import attribute, integers, reals, words
from understudy.data.cells import CellEncoder
from understudy.data.inside import fraction
from understudy.data.nearest import round_to_whole
from understudy.data.schema import Quantity
from understudy.data.tables import Column

ENTRIES: list[dict[str, Any]] = [
    {"kind": "integer", "edges": [0, 1, 5, 18, 66]},
    {"kind": "integer", "edges": [-7, 0, 3, 12, 41], "step": 3},
    {"kind": "integer", "edges": [-200, -50, 250, 1001], "step": 100},
    {"kind": "real", "edges": [-1, 0.2, 0.5, 2.25], "step": 0.25},
    {"kind": "real", "edges": [0.1, 0.25, 0.4, 4], "step": 0.1},
    {"kind": "integer", "edges": [1, 2, 8, 100], "values": [1, 2, 7, 8, 99]},
    {"kind": "real", "edges": [0, 0.5, 1.5, 2.5], "values": [0.25, 0.5, 1.5, 2.5]},
]


def find_nearest(quantity: Quantity, number: float) -> Fraction:
    """The value of the grid that is nearest to a number, the larger of two."""
    exact = fraction(number)
    if quantity.values:
        listed = [fraction(value) for value in quantity.values]
        return min(listed, key=lambda value: (abs(value - exact), -value))
    step = fraction(quantity.step or 1)
    return math.floor(exact / step + Fraction(1, 2)) * step


def bin_of(quantity: Quantity, value: Fraction) -> int:
    inner = [fraction(edge) for edge in quantity.edges[1:-1]]
    return sum(edge <= value for edge in inner)


def codes(quantity: Quantity, column: Column) -> list[int]:
    found: list[int] = CellEncoder(quantity, column).codes().tolist()
    return found


@pytest.mark.parametrize("entry", ENTRIES)
@given(numbers=st.lists(st.integers(-4_000, 40_000), min_size=1, max_size=30))
def test_a_number_has_the_code_of_the_nearest_value(
    entry: dict[str, Any], numbers: list[int]
) -> None:
    quantity = attribute(**entry)
    assert isinstance(quantity, Quantity)
    thousandths = [number / 1000 for number in numbers]
    wanted = [bin_of(quantity, find_nearest(quantity, number)) for number in thousandths]
    assert codes(quantity, reals(*thousandths)) == wanted
    assert codes(quantity, words(*map(repr, thousandths))) == wanted
    wanted = [bin_of(quantity, find_nearest(quantity, number)) for number in numbers]
    assert codes(quantity, integers(*numbers)) == wanted


def test_fractions_of_years_are_no_longer_37() -> None:
    """As in a survey whose youngest group is written 17.5."""
    age = attribute(kind="integer", min=17, max=57)
    assert isinstance(age, Quantity)
    assert [age.label(code) for code in codes(age, reals(17.5, 22.0, 36.75))] == [
        age.label(code) for code in codes(age, integers(18, 22, 37))
    ]


def test_only_what_is_nearest_to_a_value_beyond_the_range_lies_beyond_it() -> None:
    age = attribute(kind="integer", min=18, max=65)
    encoder = CellEncoder(age, reals(17.5, 65.4, 17.4, 65.5))
    encoder.codes()
    assert [found.count for found in encoder.outside] == [1, 1]


def test_the_last_number_below_a_half_is_rounded_down() -> None:
    below = math.nextafter(0.5, 0)
    found = round_to_whole(np.array([below, 0.5, -0.5, -below, 2.0**53, -math.inf, math.inf]))
    assert found.tolist() == [0, 1, 0, 0, 2.0**53, -math.inf, math.inf]
