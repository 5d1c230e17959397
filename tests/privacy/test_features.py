"""What the schema says about the steps on which numbers lie."""

from __future__ import annotations

from typing import Any

import pytest

from understudy import Schema
from understudy.privacy.features import Number, _natural_steps, put_on_grid


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
