"""What the schema says about the steps on which numbers lie."""

from __future__ import annotations

from typing import Any

import pytest

from understudy import Schema
from understudy.privacy.features import _natural_steps


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
