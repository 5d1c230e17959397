"""What the schema says about the steps on which numbers lie, and what a row adds in steps."""

from __future__ import annotations

from typing import Any

import pytest

from understudy import InputError, Schema
from understudy.privacy.features import Indicator, Number, _natural_steps, put_on_grid


@pytest.mark.parametrize(
    ("attribute", "steps"),
    [
        ({"kind": "categorical", "values": ["a", "b"]}, (1.0,)),
        ({"kind": "integer", "min": 0, "max": 90}, (1.0,)),
        ({"kind": "integer", "min": 0, "max": 90, "step": 5}, (5.0,)),
        ({"kind": "real", "min": 0, "max": 9, "decimals": 2}, (0.01,)),
        ({"kind": "real", "min": 0, "max": 9}, ()),
    ],
)
def test_numbers_lie_on_the_steps_of_their_schema(
    attribute: dict[str, Any], steps: tuple[float, ...]
) -> None:
    schema = Schema.from_dict({"attributes": {"x": attribute}})
    assert _natural_steps(schema["x"]) == pytest.approx(steps)


def test_a_number_beyond_all_floats_is_clipped_to_the_bounds() -> None:
    schema = Schema.from_dict({"attributes": {"x": {"kind": "real", "min": -2, "max": 3}}})
    feature = put_on_grid(Number("x", step=0.5), schema)
    numbers = (-1.7e308, -2.0, -1.8, -1.7, 0.2, 0.3, 3.0, 1.7e308)
    assert [feature.steps_to(number) for number in numbers] == [-4, -4, -4, -3, 0, 1, 6, 6]


COLUMNS = Schema.from_dict(
    {
        "attributes": {
            "rooms": {"kind": "categorical", "values": [1, 2, 5]},
            "two": {"kind": "categorical", "values": [3, 7], "missing": True},
            "far": {"kind": "categorical", "values": [0, 1_000_000]},
            "smoker": {"kind": "boolean", "missing": True},
            "age": {"kind": "integer", "min": 0, "max": 100},
            "income": {"kind": "real", "min": -4, "max": 12},
        }
    }
)
GRIDS: list[tuple[Any, float | None, list[int | None] | tuple[int, int], Any]] = [
    # A feature and the step of a ball; what each code adds, or how far numbers go; step, centre
    # and unit.
    (Number("rooms"), None, [1, 2, 5], (1, 0, 5)),
    (Number("rooms", lower=2, upper=4), None, [2, 2, 4], (1, 0, 4)),
    (Number("rooms", lower=-9), None, [1, 2, 5], (1, 0, 9)),
    (Number("rooms", centre=3, step=0.5), None, [-4, -2, 4], (0.5, 3, 2)),
    (Number("rooms", centre=2.2), None, [-1, 0, 3], (1, 2, 2.8)),
    (Number("rooms", unit=10), None, [1, 2, 5], (1, 0, 10)),
    (Number("rooms", unit=2), 0.125, [4, 8, 20], (0.25, 0, 2)),
    (Number("two"), None, [3, 7, None], (1, 0, 7)),
    (Number("two", centre=7), None, [-4, 0, None], (1, 7, 4)),
    (Number("far"), None, [0, 15_625], (64, 0, 1e6)),
    (Number("smoker"), None, [0, 1, None], (1, 0, 1)),
    (Indicator("rooms", (0, 2)), None, [1, 0, 1], (1, 0, 1)),
    (Indicator("smoker", (2,)), 0.25, [0, 0, 4], (0.25, 0, 1)),
    (Number("age"), None, (0, 100), (1, 0, 100)),
    (Number("age", lower=10, upper=50, centre=20), None, (-10, 30), (1, 20, 30)),
    (Number("age", centre=30, step=10), None, (-3, 7), (10, 30, 70)),
    (Number("age", unit=50), 0.1, (0, 20), (5, 0, 50)),
    (Number("income"), None, (-4096, 12_288), (2**-10, 0, 12)),
    (Number("income", centre=4), None, (-16_384, 16_384), (2**-11, 4, 8)),
]


@pytest.mark.parametrize(("feature", "ball_step", "steps", "grid"), GRIDS)
def test_what_a_row_adds_in_steps(feature: Any, ball_step: Any, steps: Any, grid: Any) -> None:
    found = put_on_grid(feature, COLUMNS, ball_step)
    assert (found.step, found.centre, found.unit) == grid
    if isinstance(steps, tuple):
        assert found.term.range == steps
        least, greatest = steps
        step, centre, _ = grid
        numbers = [(steps_away * step + centre) for steps_away in (least - 1, greatest + 1)]
        assert [found.steps_to(number) for number in numbers] == [least, greatest]
        assert found.steps_to(centre + step * 0.9) == 1
        assert found.steps_to(centre - step * 0.1) == 0
    else:
        assert list(found.term.values) == steps


@pytest.mark.parametrize(
    "values", [["1", "inf"], ["-inf", "2"], ["1", "Infinity", "3"], ["a", "2"]]
)
@pytest.mark.parametrize("bounds", [{}, {"lower": 0, "upper": 5}])
def test_one_value_that_is_no_number_is_enough_to_refuse_a_sum(
    values: list[str], bounds: dict[str, float]
) -> None:
    """Within bounds, too: what is infinite would count as one of them."""
    schema = Schema.from_dict({"attributes": {"x": {"kind": "categorical", "values": values}}})
    with pytest.raises(InputError, match="'x' holds values that are no numbers"):
        put_on_grid(Number("x", **bounds), schema)


def test_a_grid_has_two_numbers_at_least() -> None:
    assert put_on_grid(Number("age", step=100), COLUMNS).term.range == (0, 1)
    with pytest.raises(InputError, match="all of its numbers are one"):
        put_on_grid(Number("age", step=300), COLUMNS)
